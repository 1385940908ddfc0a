"""What a description says, what it refuses, and what later fits have of it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import confide
from confide import (
    Approx,
    Boolean,
    Category,
    Date,
    Ledger,
    LogisticRegression,
    Number,
    Pure,
    Schema,
    Target,
    Zcdp,
    describe,
)
from confide.data import open_table
from confide.description.intervals import laplace_and_normal
from confide.errors import BudgetExceeded, InvalidData, InvalidParameter

ROWS = 4000
SCHEMA = Schema(
    (
        Number("age", 0, 200),
        Number("gain"),
        Number("income", 1.0, 1e7, transform="log"),
        Category("region", ("north", "south")),
        Boolean("smoker"),
        Date("joined", "1990-01-01", "2029-12-31"),
    ),
    Target("ill", labels=("no", "yes"), missing="drop"),
    name="people",
)
RICH = Approx(200, "1e-6")


def people(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    days = pd.to_datetime("2010-01-01") + pd.to_timedelta(rng.integers(0, 1000, rows), "D")
    region = rng.choice(np.array(["north", "south", "west"], dtype=object), rows)
    region[:200] = None
    ill = rng.choice(np.array(["no", "yes"], dtype=object), rows, p=[0.7, 0.3])
    ill[:100] = None
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, rows),
            "gain": np.where(rng.random(rows) < 0.8, 0.0, rng.uniform(100, 1000, rows)),
            "income": rng.lognormal(10, 0.5, rows),
            "region": region,
            "smoker": rng.choice(["yes", "no"], rows),
            "joined": days.strftime("%Y-%m-%d"),
            "ill": ill,
        }
    )


TABLE = people()


def lines(found, column, statistic):
    frame = found.to_frame()
    kept = frame[(frame["column"] == column) & (frame["statistic"] == statistic)]
    return kept.set_index("of")


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_with_a_rich_budget_it_says_what_the_table_holds(relation):
    found = describe(
        TABLE, SCHEMA, RICH, neighbours=relation, pairs=[("smoker", "ill")], random_state=1
    )
    assert found.rows.value == pytest.approx(ROWS, abs=2)
    shares = lines(found, "region", "share")["estimate"]
    exact = TABLE["region"].value_counts() / ROWS
    assert shares["north"] == pytest.approx(exact["north"], abs=1e-3)
    assert shares["undeclared"] == pytest.approx(exact["west"], abs=1e-3)
    assert shares["missing"] == pytest.approx(0.05, abs=1e-3)
    medians = {
        name: lines(found, name, "quantile")["estimate"]["0.5"]
        for name in ("age", "gain", "income")
    }
    assert medians["age"] == TABLE["age"].median()
    assert medians["gain"] == 0.0
    assert "e-3" not in found.summary()
    assert medians["income"] == pytest.approx(TABLE["income"].median(), rel=0.02)
    low, high = np.quantile(TABLE["age"], [0.01, 0.99])
    mean = lines(found, "age", "mean")["estimate"].item()
    assert mean == pytest.approx(TABLE["age"].clip(low, high).mean(), abs=0.5)
    together = lines(found, "smoker × ill", "count")["estimate"]
    exact = ((TABLE["smoker"] == "yes") & (TABLE["ill"] == "no")).sum()
    assert together["yes, no"] == pytest.approx(exact, abs=3)
    assert together["no, missing"] > 20


def test_under_replace_one_the_number_of_rows_is_public():
    found = describe(TABLE, SCHEMA, Zcdp("0.1"), neighbours="replace-one", random_state=1)
    assert (found.rows.value, found.rows.lower, found.rows.upper) == (ROWS, ROWS, ROWS)
    with pytest.raises(InvalidData, match="one row or more"):
        describe(TABLE[:0], SCHEMA, Zcdp("0.1"), neighbours="replace-one")
    empty = describe(TABLE[:0], SCHEMA, Zcdp("0.1"), random_state=1)
    assert empty.rows.lower == 0


@pytest.mark.parametrize("budget", [Pure(3), RICH], ids=str)
def test_a_stream_tells_what_memory_tells(tmp_path, budget):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    here = describe(tmp_path / "people.csv", SCHEMA, budget, random_state=5)
    there = describe(open_table(tmp_path / "people.csv"), SCHEMA, budget, random_state=5)
    pd.testing.assert_frame_equal(here.to_frame(), there.to_frame())


@pytest.mark.slow
def test_a_cluster_tells_what_memory_tells(tmp_path):
    pytest.importorskip("distributed")
    from confide.parallel.dask_cluster import connected

    TABLE.to_parquet(tmp_path / "people.parquet")
    here = describe(TABLE, SCHEMA, RICH, random_state=5)
    with connected(workers=1) as client:
        table = open_table(tmp_path / "people.parquet", cluster=client)
        there = describe(table, SCHEMA, RICH, random_state=5)
    pd.testing.assert_frame_equal(here.to_frame(), there.to_frame())


@pytest.fixture
def sweeps(monkeypatch):
    seen = []
    honest = confide.description.counts.TableRows.count

    def watched(rows, queries, tables):
        seen.append((len(queries), len(tables)))
        return honest(rows, queries, tables)

    monkeypatch.setattr("confide.description.counts.TableRows.count", watched)
    return seen


def test_one_sweep_is_enough_unless_ranges_are_bought(sweeps):
    known = SCHEMA.with_ranges({"gain": (0.0, 1000.0)})
    describe(TABLE, known, RICH, ranges="public", random_state=1)
    assert sweeps == [(0, 7)]
    describe(TABLE, SCHEMA, RICH, random_state=1)
    assert sweeps[1:] == [(4, 7), (0, 4)]


def test_later_fits_and_plans_use_what_was_bought(tmp_path):
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("people", Approx(500, "1e-4"))
    found = describe(TABLE, SCHEMA, RICH, ledger=book)
    (tmp_path / "people.toml").write_text(found.schema.to_toml(), "utf-8")
    known = Schema.from_toml(tmp_path / "people.toml")
    assert known == found.schema
    ranges, told = known.bought
    assert (ranges.kind, told.kind) == ("ranges", "description")
    assert ranges.entry == told.entry == "2"
    assert known.parts["age"].range == "public"
    assert known.parts["age"].upper < 130
    assert known.parts["region"].share[0] == pytest.approx(0.32, abs=0.05)
    assert known.rows == pytest.approx(ROWS, abs=5)
    model = LogisticRegression(Pure(1), schema=known).fit(TABLE)
    assert model.release_.ranges is None
    assert any("released before" in line for line in model.release_.guarantee.assumptions)
    kinds = [entry.kind for entry in book.entries("people")]
    assert kinds == ["limit", "charge", "release"]
    again = describe(TABLE, known, Pure(1), random_state=1)
    assert len(again.schema.bought) == 3


def test_nothing_is_charged_for_what_is_refused(tmp_path):
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("people", Pure(1))
    with pytest.raises(BudgetExceeded):
        describe(TABLE, SCHEMA, Pure(2), ledger=book)
    strange = TABLE.assign(age=["old"] * ROWS)
    with pytest.raises(InvalidData, match="age"):
        describe(strange, SCHEMA, Pure("0.5"), ledger=book)
    with pytest.raises(InvalidData, match="region"):
        describe(TABLE.assign(region=1.5), SCHEMA, Pure("0.5"), ledger=book)
    assert book.account("people").charges == 0


WRONG = {
    "no such column": {"pairs": [("age", "height")]},
    "one column": {"pairs": ["age"]},
    "the same column": {"pairs": [("age", "age")]},
    "a pair twice": {"pairs": [("age", "ill"), ("ill", "age")]},
    "ranges": {"ranges": "auto"},
    "no limits": {"ranges": "public"},
    "level": {"level": 1.0},
    "neighbours": {"neighbours": "both"},
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_settings_are_refused(name):
    with pytest.raises(InvalidParameter):
        describe(TABLE, SCHEMA, Pure(1), **WRONG[name])


def test_a_pair_of_too_many_cells_is_refused_before_anything_is_read():
    many = tuple(f"level {k}" for k in range(400))
    columns = (Category("a", many), Category("b", many))
    schema = Schema(columns, Target("y", labels=(0, 1)))
    with pytest.raises(InvalidParameter, match="cells"):
        describe("no such file", schema, Pure(1), pairs=[("a", "b")])


def test_a_seed_is_not_private_and_repeats():
    first, second = (describe(TABLE, SCHEMA, Pure(1), random_state=3) for _ in range(2))
    assert not first.guarantee.private
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())
    assert "NOT PRIVATE" in first.schema.bought[0].budget


def test_persons_with_several_rows_cost_more_noise():
    several = replace(SCHEMA, rows_per_person=4)
    one, four = (describe(TABLE, s, Pure(1), random_state=3) for s in (SCHEMA, several))
    assert four.noise.scale == pytest.approx(4 * one.noise.scale, rel=1e-9)
    assert any("4 rows per person" in line for line in four.guarantee.assumptions)


def test_every_medium_shows_it():
    found = describe(TABLE, SCHEMA, RICH, pairs=[("age", "region")], random_state=1)
    text, page, cell = found.summary(), found.to_html(), found._repr_html_()
    for shown in (text, page, cell):
        assert "smoker" in shown
        assert "median" in shown
        assert "age by region" in shown
    assert text.index("Guarantee") < text.index("median")
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    record = json.loads(json.dumps(found.record()))
    assert record["guarantee"]["status"] == "PROVED"
    assert len(record["lines"]) == len(found.to_frame())


FAR = [
    {"lower": -1e150, "upper": 1e150},
    {"lower": -8.9e307, "upper": 8.9e307},
    {"lower": 1e308, "upper": 1.7e308},
    {"lower": 1.0, "upper": 1e308, "transform": "log"},
    {"lower": 0.0, "upper": 1e308, "transform": "sqrt"},
]


@pytest.mark.parametrize("limits", FAR, ids=lambda limits: f"{limits['upper']:g}")
def test_limits_whose_squares_no_double_holds_fail_nothing(limits):
    schema = Schema((Number("x", **limits),), Target("ill", labels=("no", "yes")))
    table = pd.DataFrame({"x": [limits["upper"], np.nan] * 50, "ill": ["no", "yes"] * 50})
    for budget in (Pure(1), Zcdp(1)):
        found = describe(table, schema, budget, ranges="public", random_state=0)
        json.dumps(found.record(), allow_nan=False)
        for line in found.lines():
            estimate = line.estimate
            assert estimate.lower <= estimate.value <= estimate.upper


def test_names_from_the_table_do_not_become_markup():
    columns = (Category("<b>x</b>", ("<i>", "</table>")),)
    schema = Schema(columns, Target("y", labels=(0, 1)))
    frame = pd.DataFrame({"<b>x</b>": ["<i>"] * 50, "y": [0, 1] * 25})
    page = describe(frame, schema, RICH, random_state=1).to_html()
    assert "<b>x</b>" not in page
    assert page.count("</table>") == 1


def test_a_sum_of_laplace_and_normal_noise_has_its_quantile():
    """Exact at both ends, and by a million draws between them (error below 1 %)."""
    assert laplace_and_normal(0.05, 2.0, 0.0) == pytest.approx(2 * np.log(20))
    assert laplace_and_normal(0.05, 1e-3, 1.0) == pytest.approx(1.959964, abs=1e-4)
    rng = np.random.default_rng(0)
    drawn = np.abs(rng.laplace(scale=2.0, size=10**6) + 1.5 * rng.standard_normal(10**6))
    assert laplace_and_normal(0.05, 2.0, 1.5) == pytest.approx(
        np.quantile(drawn, 0.95), rel=0.01
    )


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Pure(2), Approx(2, "1e-6")], ids=str)
def test_intervals_hold_as_often_as_they_say(budget):
    """100 samples of a known population: at 95 % fewer than 88 hold once in 200 times."""
    shares, ages = [], []
    for seed in range(100):
        found = describe(people(seed=seed), SCHEMA, budget, random_state=seed)
        share = lines(found, "smoker", "share").loc["yes"]
        shares.append(share["lower"] <= 0.5 <= share["upper"])
        middle = lines(found, "age", "quantile").loc["0.5"]
        ages.append(middle["lower"] <= 49 <= middle["upper"])
    assert np.mean(shares) >= 0.88
    assert np.mean(ages) >= 0.88
