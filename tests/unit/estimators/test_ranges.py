"""Fits that buy ranges of their columns, and ranges that are bought once for all fits."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from confide import (
    Approx,
    Category,
    Date,
    Ledger,
    LinearRegression,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Ranges,
    Schema,
    Target,
    Zcdp,
    buy_ranges,
    load_model,
)
from confide.data import open_table
from confide.data.schema.sections import Purchase
from confide.errors import InvalidData, InvalidParameter
from confide.estimators.ranges import queries_of

BUDGET = Approx(1, "1e-6")
TOWNS = ("north", "south")


def people(rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    age, income = rng.normal(45, 12, rows), np.exp(rng.normal(10.5, 0.7, rows))
    town = rng.integers(0, 2, rows)
    score = (age - 45) / 12 + (np.log(income) - 10.5) + town - 0.5
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "town": np.array(TOWNS)[town],
            "ill": np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no"),
            "dose": 40 + 5 * score + rng.normal(0, 3, rows),
            "visits": rng.poisson(np.exp(0.5 * score)),
        }
    )


TABLE = people()
COLUMNS = (Number("age"), Number("income", lower=0, upper=1e9), Category("town", TOWNS))
ILL = Schema(COLUMNS, Target("ill", labels=("no", "yes")), "people")
DOSE = Schema(COLUMNS, Target("dose", range="private"), "people")
VISITS = Schema(COLUMNS, Target("visits", range="private"), "people")
TYPED = Schema(
    (Number("age", 18, 90), Number("income", 0, 1e5), Category("town", TOWNS)), ILL.target
)


def accuracy(model, table=None):
    table = TABLE if table is None else table
    return np.mean(model.predict(table) == table["ill"])


@pytest.mark.parametrize("budget", [BUDGET, Zcdp("0.1"), Pure(2)], ids=str)
def test_nobody_has_to_guess_a_range(budget):
    model = LogisticRegression(budget, schema=ILL, random_state=0).fit(TABLE)
    lower, upper = model.release_.ranges.ranges["age"]
    assert 0 <= lower < 30
    assert 60 < upper <= 128
    assert model.release_.guarantee.budget == budget
    assert accuracy(model) > 0.69
    narrow = model.schema_.columns[0]
    assert (narrow.lower, narrow.upper) == (lower, upper)
    assert model.schema is ILL
    assert "effects hold inside" in str(model.summary())


def test_generous_limits_cost_next_to_nothing():
    scores = {}
    for width in (1e5, 1e9):
        columns = (Number("age", 0, width / 1e3), Number("income", 0, width), COLUMNS[2])
        schema = Schema(columns, ILL.target)
        for mode in ("public", "private"):
            fits = [
                LogisticRegression(BUDGET, schema=schema, ranges=mode, random_state=seed)
                for seed in range(3)
            ]
            scores[mode, width] = np.mean([accuracy(fit.fit(TABLE)) for fit in fits])
    assert scores["private", 1e9] > scores["private", 1e5] - 0.01
    assert scores["private", 1e9] > scores["public", 1e9] + 0.05


def test_a_target_without_limits():
    model = LinearRegression(BUDGET, schema=DOSE, random_state=0).fit(TABLE)
    lower, upper = model.release_.ranges.ranges["dose"]
    assert 0 <= lower < 25
    assert 54 < upper <= 96
    assert model.score(TABLE, TABLE["dose"]) > 0.5
    assert model.predict(TABLE).max() <= upper


def test_counts_without_any_bound():
    model = PoissonRegression(BUDGET, schema=VISITS, random_state=0).fit(TABLE)
    assert model.release_.ranges.ranges["visits"][0] == 0
    found, truth = model.predict(TABLE), TABLE["visits"]
    assert np.corrcoef(found, truth)[0, 1] > 0.4
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.2)


def test_a_model_file_keeps_what_was_bought(tmp_path):
    for kind, schema in ((LogisticRegression, ILL), (PoissonRegression, VISITS)):
        model = kind(BUDGET, schema=schema, intervals=0.2, random_state=1).fit(TABLE)
        model.save(tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        assert loaded.release_.ranges == model.release_.ranges
        assert str(loaded.summary()) == str(model.summary())
        assert np.array_equal(loaded.predict(TABLE[:50]), model.predict(TABLE[:50]))


def test_ranges_and_fit_are_one_charge(tmp_path):
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("people", BUDGET)
    LogisticRegression(BUDGET, schema=ILL, ledger=book).fit(TABLE)
    assert book.account("people").left.epsilon == 0


def test_a_stream_gives_what_memory_gives(tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet", row_group_size=3000)
    settings = {"schema": ILL, "random_state": 3}
    whole = LogisticRegression(BUDGET, **settings).fit(TABLE)
    streamed = LogisticRegression(BUDGET, **settings).fit(
        open_table(tmp_path / "t.parquet")
    )
    assert streamed.release_.ranges == whole.release_.ranges
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-6)


@pytest.mark.slow
def test_who_buys_what():
    def bought(schema, **settings):
        model = LogisticRegression(BUDGET, schema=schema, random_state=0, **settings)
        ranges = model.fit(TABLE).release_.ranges
        return set() if ranges is None else set(ranges.ranges)

    assert bought(TYPED) == {"age", "income"}
    assert bought(TYPED, ranges="public") == set()
    fixed = (Number("age", 18, 90, range="public"), *TYPED.columns[1:])
    assert bought(Schema(fixed, ILL.target)) == {"income"}
    assert bought(Schema(fixed, ILL.target), ranges="private") == {"income"}
    few = Schema(TYPED.columns, ILL.target, rows=100)
    assert bought(few) == set()
    assert bought(few, neighbours="replace-one") == {"age", "income"}
    asked = (Number("age", 18, 90, range="private"), *TYPED.columns[1:])
    assert bought(Schema(asked, ILL.target, rows=100)) == {"age"}


def test_no_limits_and_public_ranges_do_not_go_together():
    with pytest.raises(InvalidParameter, match=r"have no limits: \['age'\]"):
        LogisticRegression(BUDGET, schema=ILL, ranges="public").fit(TABLE)
    with pytest.raises(InvalidParameter, match="ranges must be 'auto'"):
        LogisticRegression(BUDGET, schema=ILL, ranges="some").fit(TABLE)
    with pytest.raises(InvalidParameter, match="in the unit of the target"):
        LinearRegression(BUDGET, schema=DOSE, slope_bound=3.0).fit(TABLE)
    with pytest.raises(InvalidParameter, match="share of ranges"):
        Ranges(share=0)
    with pytest.raises(InvalidParameter, match="less than 1"):
        LogisticRegression(BUDGET, schema=ILL, ranges=Ranges(share=1)).fit(TABLE)


@pytest.mark.parametrize(
    "values",
    [
        np.full(40, 7.0),
        np.full(40, np.nan),
        np.array([3.0]),
        np.array([np.inf, -np.inf] * 20),
        np.full(40, 1e300),
        np.array([2**60 + 1] * 40, dtype=object),
        np.array([], dtype=float),
    ],
)
@pytest.mark.parametrize("number", [Number("x"), Number("x", lower=100, upper=200)])
def test_no_value_makes_a_fit_fail(values, number):
    table = pd.DataFrame(
        {"x": values, "y": ["a", "b"] * (len(values) // 2) or ["a"] * len(values)}
    )
    schema = Schema((number,), Target("y", labels=("a", "b")))
    model = LogisticRegression(Pure(5), schema=schema, ranges="private", random_state=0)
    model.fit(table)
    assert np.isfinite(model.coef_).all()
    lower, upper = model.release_.ranges.ranges["x"]
    assert lower < upper
    bought = buy_ranges(table, schema, Pure(5), random_state=0)
    ends = bought.schema.bought[0].facts["x"]
    assert ends == (bought.schema.columns[0].lower, bought.schema.columns[0].upper)
    assert ends[0] < ends[1]


@pytest.mark.parametrize("transform", ["log", "signed-log", "sqrt"])
def test_declared_transforms(transform):
    columns = (COLUMNS[0], Number("income", transform=transform), COLUMNS[2])
    model = LogisticRegression(BUDGET, schema=Schema(columns, ILL.target), random_state=0)
    assert accuracy(model.fit(TABLE)) > 0.69
    assert f"{transform}(income)" in str(model.summary())
    told = model.schema_.columns[1]
    assert 0 <= told.lower < 2e4
    assert 6e4 < told.upper < 1e7


@pytest.mark.parametrize(
    "column",
    [
        {"lower": 0, "upper": 5, "transform": "log"},
        {"lower": -1, "upper": 5, "transform": "sqrt"},
        {"transform": "cube"},
        {"range": "guess"},
        {"upper": float("inf")},
    ],
)
def test_bad_columns_are_refused(column):
    with pytest.raises(InvalidParameter, match="'x'"):
        Number("x", **column)


def test_ranges_are_bought_once_for_all_fits(tmp_path):
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("people", Approx(2, "1e-5"))
    bought = buy_ranges(TABLE, ILL, Approx("0.2", "1e-6"), ledger=book, random_state=0)
    assert float(book.account("people").spent.epsilon) == pytest.approx(0.2)
    path = tmp_path / "ranges.toml"
    path.write_text(bought.schema.to_toml(), encoding="utf-8")
    schema = Schema.from_toml(path)
    assert schema == bought.schema
    assert [one.kind for one in schema.bought] == ["ranges"]
    model = LogisticRegression(BUDGET, schema=schema, random_state=0).fit(TABLE)
    assert model.release_.ranges is None
    assert any(
        "charged separately" in line for line in model.release_.guarantee.assumptions
    )
    assert any("entry 2 of the ledger" in one for one in schema.assumptions)
    ends = {one.name: (one.lower, one.upper) for one in schema.columns[:2]}
    assert schema.bought[0].facts == ends
    other = Schema(schema.columns, schema.target, "others", bought=schema.bought)
    model = LogisticRegression(BUDGET, schema=other, random_state=0).fit(TABLE)
    lines = model.release_.guarantee.assumptions
    assert any("released from 'people'" in line and "public here" in line for line in lines)


def test_bought_ranges_of_counts_serve_poisson():
    bought = buy_ranges(TABLE, VISITS, BUDGET, random_state=0)
    model = PoissonRegression(BUDGET, schema=bought.schema, random_state=0).fit(TABLE)
    assert np.mean(model.predict(TABLE)) == pytest.approx(TABLE["visits"].mean(), rel=0.2)


def test_nothing_to_buy_is_said():
    schema = Schema((Category("town", TOWNS),), ILL.target)
    with pytest.raises(InvalidParameter, match="a column whose range may be estimated"):
        buy_ranges(TABLE, schema, BUDGET)


def noisy_table(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"x": np.exp(rng.normal(size=rows)), "y": ["a", "b"] * (rows // 2), "z": 1.0}
    )


AB = Target("y", labels=("a", "b"))


@pytest.mark.parametrize("transform", ["log", "signed-log", "sqrt"])
def test_what_noise_finds_is_a_range_of_a_transform(transform):
    """Forty rows are hidden by noise: any cell of the grid may be the fullest."""
    schema, table = Schema((Number("x", transform=transform),), AB), noisy_table()
    for seed in range(10):
        model = LogisticRegression(Pure(1), schema=schema, random_state=seed).fit(table)
        assert np.isfinite(model.coef_).all()
        column = model.schema_.columns[0]
        assert np.allclose(column.ends, model.release_.ranges.ranges["x"], rtol=1e-6)


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (Number("x", transform="log"), np.inf),
        (Number("x", transform="log"), -3.0),
        (Number("x", transform="signed-log"), -np.inf),
        (Number("x", 1e-250, 1.0, transform="log"), 1e-200),
        (Number("x", 0, 2e-100), 1e-100),
        (Number("x", 1, float(np.nextafter(1, 2))), 1.0),
        (Number("x", float(np.nextafter(2, 0)), 1000), 1.0),
        (Number("x", lower=1e308), 1.0),
        (Number("x", upper=-1e308), 1.0),
    ],
    ids=str,
)
def test_no_range_is_too_odd_to_be_used(number, value):
    table = noisy_table(4000).assign(x=value)
    model = LogisticRegression(
        Pure(5), schema=Schema((number,), AB), ranges="private", random_state=0
    )
    assert np.isfinite(model.fit(table).coef_).all()


@pytest.mark.parametrize("ends", [(0, 2e-100), (1, 1 + 3e-16), (6e99, None)], ids=str)
def test_no_range_of_a_target_is_too_odd_to_be_used(ends):
    target = Target("z", lower=ends[0], upper=ends[1], range="private")
    schema = Schema((Number("x", 0, 9),), target)
    model = LinearRegression(Pure(50), schema=schema, random_state=0).fit(noisy_table())
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("upper", [0.1, 1.5, 3.0, 7 / 3, 1e-7])
@pytest.mark.parametrize("most", [3.7, 100])
def test_scaled_counts_keep_their_bound_to_the_last_bit(most, upper):
    schema = Schema(COLUMNS, Target("visits", lower=0, upper=most), "people")
    model = PoissonRegression(BUDGET, schema=schema)
    rule = model._rule(schema).with_range(0.0, upper)
    spec = rule.spec(rule.look(None, 0))
    assert spec.target_bound == 4.0
    assert spec.read(np.array([upper, 9 * upper]), 2).max() == 4.0


def test_counts_with_an_upper_limit_alone():
    schema = Schema(COLUMNS, Target("visits", upper=50, range="private"), "people")
    model = PoissonRegression(BUDGET, schema=schema, random_state=0).fit(TABLE)
    assert 0 < model.release_.ranges.ranges["visits"][1] <= 50


@pytest.mark.parametrize(
    "as_given", [list, tuple, np.array, pd.Series, lambda y: y.astype(str)]
)
def test_a_target_beside_the_table_is_counted_as_it_is_fitted(as_given):
    schema = Schema((Number("age"),), Target("dose", range="private"))
    settings = {"schema": schema, "random_state": 0}
    inside = LinearRegression(BUDGET, **settings).fit(TABLE)
    beside = LinearRegression(BUDGET, **settings).fit(
        TABLE[["age"]], as_given(TABLE["dose"].to_numpy())
    )
    assert beside.release_.ranges == inside.release_.ranges


def test_a_seeded_purchase_says_so_to_later_fits():
    bought = buy_ranges(TABLE, ILL, BUDGET, random_state=0)
    assert "NOT PRIVATE" in bought.schema.assumptions[0]
    assert "NOT PRIVATE" not in buy_ranges(TABLE, ILL, BUDGET).schema.assumptions[0]


def test_a_purchase_says_how_many_rows_a_person_may_have():
    schema = Schema(ILL.columns, ILL.target, "people", rows_per_person=3)
    bought = buy_ranges(TABLE, schema, BUDGET)
    assert any("at most 3 rows" in line for line in bought.guarantee.assumptions)
    assert not any("one row" in line for line in bought.guarantee.assumptions)


def test_a_purchase_bears_the_name_that_the_ledger_books_under(tmp_path):
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("people", Approx(2, "1e-5"))
    unnamed = Schema(ILL.columns, ILL.target)
    named = book.for_dataset("people")
    bought = buy_ranges(TABLE, unnamed, Approx("0.2", "1e-6"), ledger=named)
    assert bought.schema.bought[0].dataset == "people"
    assert "are public here" in bought.schema.assumptions[0]


def test_a_ledger_records_that_ranges_were_released(tmp_path):
    book = Ledger.open(tmp_path / "book.db").for_dataset("people")
    book.set_limit("people", BUDGET)
    buy_ranges(TABLE, ILL, BUDGET, ledger=book)
    assert [entry.kind for entry in book.entries("people")][-2:] == ["charge", "release"]


def test_a_ledger_without_a_name_is_refused_before_the_table_is_read(tmp_path):
    unnamed = Schema(ILL.columns, ILL.target)
    with pytest.raises(InvalidParameter, match="name of the dataset"):
        buy_ranges(tmp_path / "none.csv", unnamed, BUDGET, ledger=tmp_path / "book.db")


def test_more_rows_than_counts_can_hold_are_refused_unpaid(tmp_path, monkeypatch):
    monkeypatch.setattr("confide.estimators.ranges.MAX_ROWS", len(TABLE) - 1)
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("people", Approx(2, "1e-5"))
    unknown = TABLE.assign(age=np.nan, income=np.nan)
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    for table in (TABLE, unknown, open_table(tmp_path / "people.csv")):
        with pytest.raises(InvalidData, match="at most 19,999 rows"):
            buy_ranges(table, ILL, Approx("0.2", "1e-6"), ledger=book)
    assert book.account("people").charges == 0


def test_a_purchase_for_intervals_is_what_a_fit_with_intervals_buys():
    price = Zcdp("0.05")
    schema = Schema((*ILL.columns[:2], Number("rare")), ILL.target)
    rng = np.random.default_rng(0)
    table = TABLE.assign(rare=np.where(rng.random(len(TABLE)) < 0.02, 50.0, 0.0))
    usual, narrow = (
        buy_ranges(table, schema, price, intervals=which, random_state=0)
        for which in (False, True)
    )
    assert [one.schema.bought[0].use for one in (usual, narrow)] == [
        "predictions",
        "plain intervals",
    ]
    income = [one.schema.columns[1] for one in (usual, narrow)]
    assert income[1].upper < income[0].upper
    assert narrow.schema.columns[2].upper > 40, "a column that is mostly 0 is no step"
    spec = LogisticRegression(
        Zcdp("0.5"), schema=schema, ranges="private", intervals="auto"
    ).calibrated(len(table))
    bought = queries_of(schema, None, intervals=True)
    assert spec.calibration.queries == bought


def test_purchases_of_earlier_versions_do_not_say_what_for(tmp_path):
    content = buy_ranges(TABLE, ILL, BUDGET).schema.to_toml()
    lines = [line for line in content.splitlines() if not line.startswith("use = ")]
    path = tmp_path / "earlier.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert Schema.from_toml(path).bought[0].use == ""


def test_what_noise_hides_is_said():
    """Forty values of pure noise 20 long: none stand out, in fit and purchase alike."""
    columns = (Number("x"), Number("z", -5, 1e6))
    schema, table = Schema(columns, AB), noisy_table()
    model = LogisticRegression(Pure("0.5"), schema=schema, random_state=1).fit(table)
    assert model.release_.ranges.hidden == ("x", "z")
    assert "Hidden" in " ".join(str(model.summary()).split())
    assert "no range could be found above the noise" in " ".join(
        str(model.summary()).split()
    )
    bought = buy_ranges(table, schema, Pure("0.1"), random_state=2)
    assert bought.release.hidden == ("x", "z")
    assert bought.schema.columns[1].ends == (-5, 1e6)
    assert bought.caution.startswith("x; z: no range")
    many = LogisticRegression(BUDGET, schema=ILL, random_state=0).fit(TABLE)
    assert many.release_.ranges.hidden == ()
    assert "Hidden" not in str(many.summary())


def test_hidden_columns_are_kept_in_model_files(tmp_path):
    schema, table = Schema((Number("x"),), AB), noisy_table()
    model = LogisticRegression(Pure("0.5"), schema=schema, random_state=1).fit(table)
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").release_.ranges.hidden == ("x",)


def days(rows=20_000):
    """Dates of 2015 to 2020, later ones ill more often."""
    rng = np.random.default_rng(0)
    since = rng.integers(0, 2000, rows)
    ill = np.where(rng.random(rows) < since / 2000, "b", "a")
    return pd.DataFrame({"day": np.datetime64("2015-01-01") + since, "y": ill})


def test_ranges_of_dates_are_bought(tmp_path):
    wide = Date("day", date(1900, 1, 1), date(2200, 1, 1))
    schema, table = Schema((wide,), AB, "days"), days()
    model = LogisticRegression(BUDGET, schema=schema, random_state=0).fit(table)
    found = model.schema_.columns[0]
    assert date(2013, 1, 1) < found.lower < date(2015, 4, 1)
    assert date(2020, 4, 1) < found.upper < date(2022, 9, 1)
    assert f"{found.lower} to {found.upper}" in str(model.summary())
    public = LogisticRegression(BUDGET, schema=schema, ranges="public", random_state=0)
    truth = table["y"]
    right = np.mean(model.predict(table) == truth)
    assert right > np.mean(public.fit(table).predict(table) == truth)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert (again.predict(table) == model.predict(table)).all()
    bought = buy_ranges(table, schema, BUDGET, random_state=0).schema
    assert Schema.from_mapping(bought.to_mapping()) == bought
    path = tmp_path / "days.toml"
    path.write_text(bought.to_toml(), encoding="utf-8")
    assert Schema.from_toml(path) == bought


@pytest.mark.parametrize(
    "values", [{}, {"age": object()}, [1, 2], {1: 2}], ids=["none", "object", "list", "key"]
)
def test_facts_that_files_cannot_keep_are_refused(values):
    with pytest.raises(InvalidParameter, match=r"in a \[bought.NAME\] section"):
        Purchase("ranges", "people", values, "1", "add-remove", "2024-01-01")


def test_facts_of_any_kind_are_kept(tmp_path):
    facts = {"rows": 31.5, "age": (17, 90), "note": "round", "since": date(2020, 1, 1)}
    one = Purchase("description", "people", facts, "0.1", "add-remove", "2024-01-01", "7")
    schema = Schema(TYPED.columns, TYPED.target, "people", bought=(one,))
    path = tmp_path / "facts.toml"
    path.write_text(schema.to_toml(), encoding="utf-8")
    assert Schema.from_toml(path) == schema == Schema.from_mapping(schema.to_mapping())
    assert Schema.from_toml(path).bought[0].facts["since"] == "2020-01-01"
    assert "description of rows, age, note and 1 more" in schema.assumptions[0]
