"""Plain words, model card and page: correct, careful, and deaf to markup in names."""

import dataclasses
import io
import json
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from confide.errors import InvalidParameter, MixedBudgets
from confide.privacy import (
    Approx,
    Guarantee,
    Neighbours,
    Pure,
    Status,
    Zcdp,
    zcdp_to_approx,
)
from confide.reporting import (
    Coefficient,
    EffectScale,
    ReleasedPlot,
    Summary,
    model_card,
    plain_words,
    report_page,
    summary_record,
)
from confide.reporting.coefficients import shown_columns
from confide.reporting.format import chance_text, factor_text, percent_of
from confide.reporting.terminal import (
    coefficient_notes,
    coefficient_table,
    guarantee_panel,
)
from support.summaries import (
    APPROX,
    ATTACK,
    BUDGETS,
    PURE,
    REFUTED,
    THEOREM,
    ZCDP,
    Reader,
    a_summary,
    bounded,
)


def test_card_and_page_say_what_the_model_is_of():
    said = (("Target", "dose, from 0 to 200 mg"), ("Fitted", "2026-01-31"))
    summary = dataclasses.replace(a_summary(), about=(*said, ("Columns", ATTACK)))
    page, card = report_page(summary), model_card(summary)
    reader = Reader(page)
    assert "script" not in reader.tags
    for name, value in said:
        assert f"{name} {value}" in reader.text
        assert f"- {name}: {value}" in card
        assert value in str(summary)
    assert ATTACK not in page + card


def the_number(pattern, text):
    return float(re.search(pattern, text).group(1).replace(",", ""))


def test_epsilon_becomes_an_odds_factor_that_is_never_understated():
    words = plain_words(PURE)
    assert "factor of at most 2.72 (e^ε with ε = 1" in words
    assert "at most 73.2% likely" in words
    assert "may fail" not in words


@given(st.floats(1e-9, 16))
def test_factors_are_rounded_up_and_not_by_much(epsilon):
    shown = float(factor_text(epsilon).replace(",", ""))
    assert math.expm1(epsilon) * (1 - 1e-6) <= shown - 1 <= 1.15 * math.expm1(epsilon)


def test_huge_factors_are_powers_of_ten_and_called_weak():
    assert factor_text(23.1) == "10¹¹"
    assert factor_text(1e12) == "10⁴³⁴²⁹⁴⁴⁸¹⁹⁰⁴"
    strong = Guarantee(Pure(2), Neighbours.ADD_REMOVE, Status.PROVED, THEOREM)
    weak = Guarantee(Pure(20), Neighbours.ADD_REMOVE, Status.PROVED, THEOREM)
    assert "weak guarantee" in plain_words(weak)
    assert "weak guarantee" not in plain_words(strong)


def test_delta_is_the_chance_that_the_bound_fails():
    words = plain_words(APPROX)
    assert "may fail with probability at most δ = 1e-06 (one in 1,000,000)" in words
    assert "factor of at most 7.39" in words


@given(st.floats(1e-11, 0.99))
def test_chances_are_never_understated(delta):
    stated = int(chance_text(delta).removeprefix("one in ").replace(",", ""))
    assert 1 / stated >= delta * (1 - 1e-9)


def test_zcdp_is_told_by_what_it_implies_at_a_millionth():
    words = plain_words(ZCDP)
    implied = float(zcdp_to_approx(Zcdp("0.05"), "1e-6").epsilon)
    stated = the_number(r"implies ε = ([\d.]+),", words)
    assert implied <= stated <= implied * 1.001
    assert "ρ = 0.05" in words
    assert "δ = 1e-06" in words


def test_each_relation_says_what_it_protects():
    presence, values = plain_words(PURE), plain_words(APPROX)
    assert "presence of any one row" in presence
    assert "The number of rows in the table is protected" in presence
    assert "values in any one row" in values
    assert "number of rows in the table is treated as public" in values
    assert "presence" not in values


def test_under_add_remove_two_versions_of_a_row_cost_twice():
    both = Guarantee(Approx(1, "1e-6"), Neighbours.ADD_REMOVE, Status.PROVED, THEOREM)
    assert "two possible contents of a row change by a factor of at most 7.39" in (
        plain_words(PURE)
    )
    stated = the_number(r"except with probability at most ([\d.e-]+)\.", plain_words(both))
    exact = 1e-6 * (1 + math.e)
    assert exact <= stated <= 1.001 * exact
    assert "two versions" not in plain_words(APPROX)


def test_status_theorem_and_every_assumption_are_named():
    words = plain_words(PURE.assuming("the moon is full"))
    assert "PROVED" in words
    assert "theorem objective-pure in docs/proofs/objective-perturbation.md" in words
    listed = [line for line in words.splitlines() if line.startswith("- ")]
    assert len(listed) == len(PURE.assumptions) + 1
    assert listed[-1] == "- the moon is full"
    assert "If it is true:" in plain_words(ZCDP)
    assert "If it is true:" not in words


def test_seeds_and_refutations_come_first_and_loud():
    assert plain_words(PURE.seeded()).startswith("NOT PRIVATE.")
    assert "NOT PRIVATE" not in plain_words(PURE)
    for refuted in (
        REFUTED,
        Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.REFUTED, "x"),
    ):
        words = plain_words(refuted)
        assert words.startswith("This release has NO privacy guarantee.")
        assert "factor" not in words


@given(BUDGETS, st.sampled_from(Neighbours), st.sampled_from(Status), st.booleans())
def test_any_budget_can_be_put_into_words(budget, neighbours, status, fresh):
    guarantee = Guarantee(budget, neighbours, status, THEOREM)
    guarantee = guarantee if fresh else guarantee.seeded()
    words = plain_words(guarantee)
    assert ("NOT PRIVATE" in words) == (not fresh and status is not Status.REFUTED)
    assert "nan" not in words
    assert "inf" not in words.replace("infer", "")
    Reader(report_page(a_summary(guarantee), spent=budget, limit=budget))


def test_what_is_spent_is_stated_for_a_relation():
    spent = {"spent": Pure("1.5"), "limit": Pure(4)}
    for counted_for, words in (
        (Neighbours.REPLACE_ONE, "spent ε = 1.5, counted for replace-one neighbours."),
        (None, "spent ε = 1.5, for a neighbour relation that the ledger does not record."),
    ):
        for write in (model_card, report_page):
            assert words in write(a_summary(), **spent, counted_for=counted_for)


def test_the_card_says_what_is_promised_and_what_is_not():
    card = model_card(
        a_summary(), dataset="clinic", spent=Pure("1.5"), limit=Pure(4), version="9.8.7"
    )
    assert card.startswith("# Model card: LogisticRegression\n")
    lines = card.splitlines()
    headings = [line[3:] for line in lines if line.startswith("## ")]
    assert headings == [
        "Model",
        "Guarantee",
        "Against whom",
        "What is not protected",
        "Intended use",
        "How to cite the guarantee",
        "Budget spent so far",
    ]
    for unprotected in (
        "Groups and populations",
        "Several rows of one person",
        "Anything computed elsewhere",
        "Choices made by looking at the data",
        "The schema itself",
        "Side channels",
        "Floating point",
    ):
        assert f"- **{unprotected}.** " in card
    assert "Against anyone" in card
    assert "released with ε = 1 (record-level differential privacy, add-remove" in card
    assert "confide 9.8.7" in card
    assert "ε: 1.5 of 4 spent (37.5%)" in card


def test_the_card_of_a_release_without_guarantee_defends_against_nobody():
    for guarantee in (PURE.seeded(), REFUTED):
        card = model_card(a_summary(guarantee))
        assert "Against anyone" not in card
        assert "Against nobody" in card
        assert "were released with" not in card
        assert "Budget spent" not in card


def test_markdown_in_names_stays_text():
    card = model_card(a_summary(title="a\n# b"), dataset="*x* | _y_ <b> [l](u)\n## z")
    assert "# Model card: a \\# b\n" in card
    assert r"- Dataset: \*x\* \| \_y\_ &lt;b&gt; \[l\](u) \#\# z" in card


def test_budgets_of_two_kinds_are_not_drawn_against_each_other():
    with pytest.raises(MixedBudgets, match="convert one of them"):
        report_page(a_summary(), spent=Pure(1), limit=Zcdp(1))
    with pytest.raises(InvalidParameter, match="a privacy budget"):
        model_card(a_summary(), spent=1.0)


def test_the_bar_is_as_long_as_what_is_spent():
    page = report_page(
        a_summary(), spent=Approx(1, "2e-6"), limit=Approx(4, "1e-6"), card=False
    )
    assert page.count('role="meter"') == 2
    assert '<span style="width:25.00%">' in page
    assert '<div class="meter over"' in page
    assert '<span style="width:100.00%">' in page
    assert "δ: 2e-06 of 1e-06 spent (200%, over the limit)" in page
    assert 'role="meter"' not in report_page(a_summary(), spent=Pure(1))
    assert 'id="budget"' not in report_page(a_summary())
    assert "The limit is ε = 4." in report_page(a_summary(), limit=Pure(4), card=False)


def test_the_guarantee_stands_before_the_numbers():
    page = report_page(a_summary())
    order = [page.index(s) for s in ("What is guaranteed", "2.72", "<svg", "<table")]
    assert order == sorted(order)
    assert '<span class="badge proved">PROVED</span>' in page
    assert "NOT PRIVATE" not in page


def test_a_seeded_page_wears_no_proved_badge():
    page = report_page(a_summary(PURE.seeded()))
    assert '<span class="badge seeded">NOT PRIVATE</span>' in page
    assert 'badge proved"' not in page
    assert "With fresh noise it would be ε = 1" in page


ATTACKED = Summary(
    ATTACK,
    Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, ATTACK, (ATTACK,)),
    (Coefficient(ATTACK, 1.0, 0.5, 2.0), Coefficient("\x00\ud800\u202e", 2.0)),
    ((ATTACK, ATTACK),),
)


def test_nothing_a_user_writes_becomes_markup():
    attacked = ATTACKED
    plot = ReleasedPlot(ATTACK, ((0.0, 1.0),), attacked.guarantee, ATTACK, ATTACK)
    page = report_page(
        attacked, title=ATTACK, dataset=ATTACK, version=ATTACK, paid_plots=(plot,)
    )
    page.encode("utf-8")
    tame = a_summary(rows=(Coefficient("a", 1.0, 0.5, 2.0),))
    harmless = Reader(report_page(tame, paid_plots=(ReleasedPlot("t", ((0, 1),), PURE),)))
    read = Reader(page)
    assert not read.open
    assert set(read.tags) <= set(harmless.tags)
    assert not {"script", "img"} & set(read.tags)
    assert not {"onerror", "src", "href"} & {name for name, _ in read.attributes}
    assert read.text.count(" ".join(ATTACK.split())) > 10
    assert not set("\x00\ud800\u202e") & set(page)


def test_nothing_a_user_writes_becomes_markup_in_a_notebook():
    read = Reader(ATTACKED._repr_html_())
    assert not read.open
    assert set(read.tags) <= set(Reader(bounded()._repr_html_()).tags)
    assert {name for name, _ in read.attributes} <= {
        *("class", "data-head", "scope", "style", "title", "value")
    }
    assert read.text.count(" ".join(ATTACK.split())) == 6


def on_a_terminal(*parts):
    console = Console(width=200, file=io.StringIO(), highlight=False)
    for part in parts:
        console.print(part)
    return console.file.getvalue()


def test_nothing_a_user_writes_becomes_markup_on_a_terminal():
    name = "[red]age[/red]"
    summary = a_summary(
        Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, "[b]x[/b]"),
        [Coefficient(name, 1.0)],
    )
    shown = on_a_terminal(
        guarantee_panel(summary.guarantee), coefficient_table(summary.table)
    )
    assert name in shown
    assert "[b]x[/b]" in shown


def test_every_medium_shows_every_column_and_marks_what_is_reliable():
    summary = bounded(caution="few rows")
    shown = on_a_terminal(coefficient_table(summary.table), *coefficient_notes(summary))
    written = [str(summary), shown, Reader(report_page(summary)).text]
    written += [
        Reader(summary._repr_html_()).text,
        Reader(summary.table._repr_html_()).text,
    ]
    for text in written:
        for head in ("coefficient", "estimate", "lower", "upper", "widened by"):
            assert head in text
    for text in written[1:]:
        assert "age *" in text
        assert "income *" not in text
    assert "Warning: few rows." in shown
    assert "* the interval excludes zero at level 90 %" in shown
    assert [len(line) for line in summary.table.cells(3)] == [5] * 4


def test_a_column_without_values_is_not_shown():
    assert [column.key for column in a_summary().table.columns] == ["estimate"]
    rows = [Coefficient("a", 1.0, 0.5, 2.0)]
    keys = [column.key for column in a_summary(rows=rows).table.columns]
    assert keys == ["estimate", "lower", "upper"]


def test_json_holds_what_the_summary_says():
    summary = dataclasses.replace(bounded(), about=(("Target", "dose"),))
    record = json.loads(json.dumps(summary_record(summary), allow_nan=True))
    assert record["guarantee"]["budget"] == "ε = 1"
    assert record["guarantee"]["status"] == "PROVED"
    assert record["coefficients"] == summary.records()
    assert record["target"] == "dose"
    assert record["noise"] == "spherical Laplace 1.02"


def test_a_guarantee_is_a_list_of_facts_and_folds_only_its_reason():
    reason = "word " * 40
    guarantee = Guarantee(
        Pure(1), Neighbours.ADD_REMOVE, Status.CLAIMED, THEOREM, reason=reason
    )
    names = [name for name, _ in guarantee.seeded().facts]
    assert names == ["NOT PRIVATE", "Guarantee", "Status", "Reason", "Assuming"]
    lines = str(guarantee).splitlines()
    assert len(lines) == 7
    assert all(len(line) <= 76 for line in lines if "word" in line)
    assert {line[:13].strip() for line in lines} == {*names[1:], ""}


def test_the_page_is_whole_and_alone():
    page = report_page(a_summary(), spent=Pure(1), limit=Pure(2))
    read = Reader(page)
    assert not read.open
    assert ("lang", "en") in read.attributes
    assert not re.search(r"https?:|//|url\(|@import|src=|href=", page.replace("<!", ""))
    ids = [value for name, value in read.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    named = [v for name, v in read.attributes if name == "aria-labelledby"]
    assert {part for value in named for part in value.split()} <= set(ids)
    assert read.tags.count("table") == read.tags.count("caption")


@pytest.mark.parametrize(("ending", "covered"), [("", False), ("-exact", True)])
def test_the_card_says_whether_last_digits_are_covered(ending, covered):
    theorem = f"objective-perturbation.md#objective-pure{ending}"
    made = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    card = model_card(a_summary(made))
    assert ("last digits of double-precision noise" not in card) == covered


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Fraction(1, 3), "33.3%"),
        (Fraction(2, 3), "66.7%"),
        (Fraction(0), "0%"),
        (Fraction(1, 10**6), "0.1%"),
        (1 - Fraction(1, 10**6), "99.9%"),
        (Fraction(1), "100%"),
        (1 + Fraction(1, 10**6), "100.1%"),
    ],
)
def test_a_share_is_rounded_and_never_reaches_a_limit_by_rounding(part, text):
    assert percent_of(part, Fraction(1)) == text


def test_a_long_table_is_looked_through_once(monkeypatch):
    looks = []

    def counted(rows):
        looks.append(rows)
        return shown_columns(rows)

    monkeypatch.setattr("confide.reporting.summary.shown_columns", counted)
    rows = [Coefficient(f"level {i}", 0.5) for i in range(60)]
    summary = a_summary(rows=rows)
    assert len(summary.table.cells(3)) == 61
    assert len(looks) == 1
    assert "level 59" in report_page(summary)
    assert len(looks) < 10


@pytest.mark.parametrize(
    ("unit", "effects"),
    [("day", "in days of"), ("mg/week", "in mg/week of"), ("", "in units of")],
)
def test_effects_are_in_units_of_the_target(unit, effects):
    assert effects in EffectScale("identity", "stay", unit=unit).meaning
