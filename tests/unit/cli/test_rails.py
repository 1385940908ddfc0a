"""What the command line says before it spends, and what it does not let pass."""

import json
import warnings
from pathlib import Path

import pytest

from confide import LogisticRegression, LooseBudget, Schema, compare_models
from confide.data import compare_table
from confide.errors import BudgetExceeded
from confide.ledger import Ledger
from confide.privacy import Approx, Pure
from support.clinic import SCHEMA as CLINIC
from support.clinic import clinic
from support.commands import SCHEMA, run, run_main

FIT = ("fit", "loans.csv", "--schema", "loans.toml", "--ledger", "book.db")
DESCRIBE = ("describe", *FIT[1:])
RANGES = ("ranges", *FIT[1:], "--out", "bought.toml")


@pytest.mark.parametrize("words", [FIT, DESCRIBE, RANGES], ids=lambda words: words[0])
def test_a_book_for_one_relation_is_charged_for_it(folder, words):
    """A charge for add-remove would count double in a book for replace-one."""
    limit = ("--epsilon", "5", "--neighbours", "replace-one")
    run("budget", "book.db", "--dataset", "loans", *limit)
    told = run(*words, "--epsilon", "1")
    assert told.exit_code == 0, told.output
    assert "left: ε = 4, replace-one neighbours" in told.output.replace("\n", " ")
    assert "removal" not in told.output


@pytest.mark.parametrize("words", [FIT, DESCRIBE, RANGES], ids=lambda words: words[0])
def test_what_will_be_left_is_said_before_anything_is_charged(folder, monkeypatch, words):
    run("budget", "book.db", "--dataset", "loans", "--epsilon", "5")

    def charge(*_, **__):
        raise RuntimeError("charged")

    monkeypatch.setattr(Ledger, "charge", charge)
    told = run(*words, "--epsilon", "1")
    assert str(told.exception) == "charged"
    said = told.stderr.replace("\n", " ")
    assert (
        "About to charge ε = 1 to loans, add-remove neighbours; ε = 4 will be left" in said
    )


def test_a_forecast_is_what_the_charge_leaves(tmp_path):
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("people", Approx(3, "1e-5"), neighbours="replace-one")
    for relation in ("replace-one", "add-remove"):
        foretold = book.forecast("people", Pure("0.5"), neighbours=relation)
        assert foretold == book.charge("people", Pure("0.5"), neighbours=relation).left
    before = len(book.entries())
    with pytest.raises(BudgetExceeded):
        book.forecast("people", Pure(2), neighbours="replace-one")
    with pytest.raises(BudgetExceeded, match="limit"):
        book.forecast("nobody", Pure(2))
    assert len(book.entries()) == before


LOOSE = {
    "epsilon": (("--epsilon", "11"), "epsilon is over 10"),
    "delta": (("--epsilon", "1", "--delta", "0.002"), "delta is over 0.001"),
    "rows": (("--epsilon", "1", "--delta", "0.0009"), "number of rows (2,000)"),
}


@pytest.mark.filterwarnings("default::confide.errors.LooseBudget")
@pytest.mark.parametrize("name", LOOSE)
@pytest.mark.parametrize("words", [FIT, DESCRIBE, RANGES], ids=lambda words: words[0])
def test_a_budget_that_promises_little_is_pointed_out(folder, words, name):
    options, warning = LOOSE[name]
    Path("loans.toml").write_text("rows = 2000\n" + SCHEMA, "utf-8")
    words = [word for word in words if word not in ("--ledger", "book.db")]
    told = run(*words, *options)
    assert told.exit_code == 0, told.output
    assert warning in told.stderr.replace("\n", " ")
    quiet = run(*[word if word != "bought.toml" else "b.toml" for word in words], "-e", "1")
    assert "warning" not in quiet.stderr


@pytest.mark.filterwarnings("default::confide.errors.LooseBudget")
@pytest.mark.parametrize("against", [(), ("--against", "model.json")], ids=len)
@pytest.mark.parametrize("name", LOOSE)
def test_a_score_points_out_a_budget_that_promises_little(folder, name, against):
    options, warning = LOOSE[name]
    Path("loans.toml").write_text("rows = 2000\n" + SCHEMA, "utf-8")
    run("fit", "loans.csv", "--schema", "loans.toml", "-e", "1", "--out", "model.json")
    words = ("score", "model.json", "loans.csv", *against)
    told = run(*words, *options)
    assert told.exit_code == 0, told.output
    assert warning in told.stderr.replace("\n", " ")
    assert "warning" not in run(*words, "-e", "1").stderr


SCORES = {
    "score": lambda model, *given, **more: model.private_score(*given, **more),
    "comparison": lambda model, *given, **more: compare_models(
        model, model, *given, **more
    ),
}


@pytest.mark.filterwarnings("error::confide.errors.LooseBudget")
@pytest.mark.parametrize("method", SCORES)
def test_a_score_of_a_loose_budget_can_stop_before_the_charge(tmp_path, method):
    """Under replace-one delta is compared with the public number of scored rows."""
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("clinic", Approx(5, "0.1"), neighbours="replace-one")
    model = LogisticRegression(
        Approx(1, "1e-6"), schema=CLINIC, neighbours="replace-one", random_state=0
    ).fit(clinic(400))
    with pytest.raises(LooseBudget, match=r"number of rows \(1,000\)"):
        SCORES[method](model, clinic(1000), Approx(1, "1e-3"), ledger=book)
    assert book.account("clinic").charges == 0


def check(rows):
    Path("people.csv").write_text(
        "\n".join(["age,region,defaulted", *rows]) + "\n", "utf-8"
    )
    told = run("schema", "check", "loans.toml", "--table", "people.csv")
    return told.exit_code, told.output.replace("\n", " ")


UNMATCHED = {
    "labels": (["30,north,No", "40,south,Yes"], "No value in defaulted matches no, yes"),
    "a label": (["30,north,no", "40,south,yse"], "No value in defaulted matches yes."),
    "levels": (["30,North,no", "40,SOUTH,yes"], "No value in region matches north"),
    "range": (["3,north,no", "4,south,yes"], "No value in age matches its range"),
}


@pytest.mark.parametrize("name", UNMATCHED)
def test_what_matches_nothing_fails_the_check(folder, name):
    rows, complaint = UNMATCHED[name]
    code, said = check(rows)
    assert code == 2, said
    assert complaint in said


def test_a_level_that_nobody_has_is_no_mistake(folder):
    assert check(["30,north,no", "40,north,yes"])[0] == 0


def test_the_check_names_case_blanks_and_delimiters(folder):
    rows = ["30,north,No", '40,"  south",Yes']
    _, said = check(rows)
    assert "(the case differs)" in said
    assert "Look at the case" in said
    assert "(a blank differs)" in said
    Path("people.csv").write_text("age|region|defaulted\n30|north|no\n", "utf-8")
    told = run("schema", "check", "loans.toml", "--table", "people.csv")
    assert told.exit_code == 2
    assert "'|' in its name" in told.output.replace("\n", " ")
    assert "holds 0 rows" not in told.output, "rows of no declared column are not counted"
    Path("people.csv").write_text("age region defaulted\n30 north no\n", "utf-8")
    told = run("schema", "check", "loans.toml", "--table", "people.csv")
    assert told.exit_code == 2
    assert "a blank in its name" in told.output.replace("\n", " ")


def test_blanks_at_the_end_of_a_field_mean_nothing(folder):
    rows = ["age ,region , defaulted ", "30 ,north , no", "40, south  ,yes ", "50,NA ,no"]
    Path("blanks.csv").write_text("\n".join(rows) + "\n", "utf-8")
    found = compare_table(Schema.from_toml("loans.toml"), "blanks.csv")
    assert not found.absent
    assert sum(finding.undeclared for finding in found.findings) == 0
    assert sum(finding.missing for finding in found.findings) == 1
    fitted = run("fit", "blanks.csv", "--schema", "loans.toml", "--epsilon", "1", "--json")
    assert fitted.exit_code == 0, fitted.output


def test_json_says_that_the_check_failed(folder):
    Path("people.csv").write_text("age,region,defaulted\n30,north,No\n", "utf-8")
    words = ("schema", "check", "loans.toml", "--table", "people.csv", "--json")
    record = json.loads(run(*words).output)
    assert (record["failed"], record["refused"]) == (True, False)


def test_a_warning_made_an_error_stops_before_the_charge(folder, monkeypatch, capsys):
    run("budget", "book.db", "--dataset", "loans", "--epsilon", "50")
    with warnings.catch_warnings():
        warnings.simplefilter("error", LooseBudget)
        code, text = run_main(monkeypatch, capsys, *FIT, "--epsilon", "20")
    assert code == 2
    assert "epsilon is over 10" in text.err
    assert Ledger.open("book.db").account("loans").charges == 0
