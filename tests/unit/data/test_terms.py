"""Terms of a schema: bounded by construction, one line of text each, shown in units."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import Boolean, Category, Date, Number, Schema, Target
from confide.data import CaseWeights
from confide.data.schema.effect_moments import even_nodes, moments_of
from confide.data.schema.terms import read_term, text_of
from confide.data.schema.terms.kinds import PolynomialTerm, SplineTerm
from confide.errors import InvalidParameter

COLUMNS = (
    Number("age", 20, 80, unit="year"),
    Number("hours-per-week", 0, 100),
    Number("pay", 1, 1000, transform="log"),
    Category("race", ("a", "b", "c")),
    Category("sex", ("f", "m"), missing="refuse"),
    Boolean("smokes"),
    Date("seen", "2000-01-01", "2020-01-01"),
)
BY_NAME = {column.name: column for column in COLUMNS}
TARGET = Target("ill", labels=("no", "yes"))
TEXTS = (
    "age",
    "`hours-per-week`",
    "bs(age, df=5)",
    "bs(`hours-per-week`, df=3)",
    "bs(age, knots=[30.0, 55.5], degree=2)",
    "bs(pay, knots=[10.0, 100.0])",
    "bs(seen, df=4)",
    "poly(age, 3)",
    "poly(seen, 1)",
    "race:sex",
    "age:smokes",
    "sex:age:smokes",
    "sex:bs(age, df=4)",
    "race:poly(pay, 2)",
    "bs(age, df=4):bs(pay, df=3)",
)


def people(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(10, 90, rows),
            "hours-per-week": rng.choice([0, 20, 40, 100, np.nan], rows),
            "pay": np.exp(rng.normal(4, 3, rows)),
            "race": rng.choice(["a", "b", "c"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "smokes": rng.random(rows) < 0.5,
            "seen": pd.Timestamp("1999-01-01")
            + pd.to_timedelta(rng.integers(0, 9000, rows), "D"),
        }
    )
    frame["ill"] = rng.choice(["no", "yes"], rows)
    return frame


def schema(*terms, **more):
    return Schema(COLUMNS, TARGET, terms=terms, **more)


@pytest.mark.parametrize("text", TEXTS)
def test_a_term_is_the_text_it_is_read_from(text, tmp_path):
    term = read_term(text, BY_NAME)
    assert text_of(term) == text
    whole = schema(text, "smokes") if text != "smokes" else schema(text)
    assert Schema.from_mapping(whole.to_mapping()) == whole
    path = tmp_path / "s.toml"
    path.write_text(whole.to_toml(), "utf-8")
    assert Schema.from_toml(path) == whole


@pytest.mark.parametrize("text", TEXTS)
def test_no_row_of_a_term_is_longer_than_its_share(text):
    one = schema(text)
    design = one.compact_design(people()).toarray()
    assert np.array_equal(design, one.design(people()))
    assert np.linalg.norm(design, axis=1).max() <= 1
    assert one.compact_design(people()).reach <= 1
    assert len(one.features) == design.shape[1] == len(set(one.features))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=20),
    st.integers(1, 5),
    st.integers(0, 8),
)
def test_bases_are_no_longer_than_1_at_any_place(places, degree, more):
    at = np.array([*places, -1.0, 1.0, 0.0])
    spline = SplineTerm(COLUMNS[0], degree + more, degree).basis(at)
    assert spline.min() >= 0
    assert spline.sum(axis=0) == pytest.approx(np.ones(len(at)), rel=1e-9)
    for table in (spline, PolynomialTerm(COLUMNS[0], degree).basis(at)):
        assert np.sum(table**2, axis=0).max() <= 1


@pytest.mark.parametrize("text", TEXTS)
def test_each_row_is_encoded_as_if_there_were_no_other(text):
    one, frame = schema(text), people(50)
    whole = one.design(frame)
    for row in (0, 17, 49):
        assert np.array_equal(one.design(frame.iloc[[row]])[0], whole[row])


@pytest.mark.parametrize(
    "terms",
    [
        ("sex:age", "age"),
        ("bs(age, df=4)", "smokes", "poly(pay, 2)", "age"),
        ("race:smokes", "race", "age", "sex:bs(age, df=4)", "race:sex", "smokes"),
    ],
)
def test_a_design_answers_for_itself_whatever_the_order_of_terms(terms):
    """Products, Gram matrices and arrays of the compact design are those of the rows."""
    one, frame = schema(*terms), people(300)
    rows, compact = one.design(frame), one.compact_design(frame)
    rng = np.random.default_rng(0)
    theta, weights = rng.normal(size=rows.shape[1]), rng.random(300)
    assert np.array_equal(compact.toarray(), rows)
    assert compact @ theta == pytest.approx(rows @ theta, abs=1e-12)
    assert compact.weighted_sum(weights) == pytest.approx(rows.T @ weights, abs=1e-12)
    gram = compact.gram(weights, None, 0.0, double=True)
    assert gram == pytest.approx((rows.T * weights) @ rows, abs=1e-10)
    kept = compact.columns([1, 0]).toarray()
    assert kept == pytest.approx(rows[:, [1, 0]], abs=1e-15)
    by_hand = np.column_stack([schema(term).encode(frame) for term in terms])
    assert one.encode(frame) == pytest.approx(by_hand, abs=1e-15)


def test_without_terms_every_column_is_an_effect():
    plain = Schema(COLUMNS, TARGET)
    assert plain.effects == plain.columns == plain.predictors
    listed = schema(*(text_of(column) for column in COLUMNS))
    frame = people()
    assert np.array_equal(plain.design(frame), listed.design(frame))
    assert listed.display_map().names == plain.display_map().names
    assert np.array_equal(listed.display_map().matrix, plain.display_map().matrix)


def test_columns_in_no_term_are_not_read():
    one = schema("age:sex")
    assert [column.name for column in one.predictors] == ["age", "sex"]
    frame = people()[["age", "sex"]]
    assert one.design(frame).shape == (400, 2)


def test_a_range_that_is_bought_moves_knots_and_products():
    one = schema("bs(age, df=4)", "age:smokes")
    narrow = one.with_ranges({"age": (30.0, 40.0)})
    frame = people(3).assign(age=[30.0, 35.0, 99.0], smokes=True)
    found = narrow.encode(frame)
    assert found[:, -1] == pytest.approx([-1, 0, 1])
    assert found[0, 0] == pytest.approx(1)
    assert found[2, 4] == pytest.approx(1)
    assert narrow.display_map().names[0] == "age at 30"


def test_knots_that_are_placed_keep_the_range_public():
    placed = schema("bs(age, knots=[30, 50])")
    assert placed.columns[0].range == "public"
    private = (replace(COLUMNS[0], range="private"), *COLUMNS[1:])
    with pytest.raises(InvalidParameter, match="'public' if knots are given"):
        Schema(private, TARGET, terms=("bs(age, knots=[30, 50])",))


# --------------------------------------------------------------------------- what is shown


def shown(one, theta, frame):
    """Return the linear predictor as the lines of a summary state it."""
    display = one.display_map()
    return dict(zip(display.names, display.show(theta), strict=True))


def test_powers_of_a_polynomial_are_in_the_columns_own_unit():
    one = schema("poly(age, 3)")
    rng = np.random.default_rng(0)
    theta = rng.normal(size=4)
    frame = people().query("20 <= age <= 80")
    predictor = one.design(frame) @ theta[:-1] + theta[-1]
    lines = shown(one, theta, frame)
    age = frame["age"].to_numpy()
    by_hand = lines["(intercept)"] + sum(
        lines[name] * age**k
        for k, name in enumerate(
            ["age (per year)", "age (per year)^2", "age (per year)^3"], 1
        )
    )
    assert by_hand == pytest.approx(predictor, abs=1e-9)


def test_a_curve_is_shown_at_places_against_its_average():
    one = schema("bs(age, df=5)")
    theta = np.random.default_rng(1).normal(size=7)
    lines = shown(one, theta, None)
    names = [name for name in lines if name != "(intercept)"]
    ages = [float(name.removeprefix("age at ")) for name in names]
    frame = people(6).assign(age=[20, 26.667, 40, 60, 73.333, 80])
    predictor = one.design(frame) @ theta[:-1] + theta[-1]
    assert ages == pytest.approx(frame["age"], rel=1e-3)
    curve = np.array([lines[name] for name in names]) + lines["(intercept)"]
    assert curve == pytest.approx(predictor, abs=1e-3)
    even = people(20000).assign(age=np.linspace(20, 80, 20000))
    mean = (one.design(even) @ theta[:-1]).mean() + theta[-1]
    assert lines["(intercept)"] == pytest.approx(mean, abs=1e-3)


def test_levels_and_their_interaction_add_up_to_the_predictor():
    one = schema("race", "sex", "race:sex", "smokes")
    rng = np.random.default_rng(2)
    theta = rng.normal(size=len(one.features) + 1)
    frame = people()
    predictor = one.design(frame) @ theta[:-1] + theta[-1]
    lines = shown(one, theta, frame)
    by_hand = [
        lines["(intercept)"]
        + lines[f"race={race}"]
        + lines[f"sex={sex}"]
        + lines[f"race={race}:sex={sex}"]
        + lines["smokes"] * smokes
        for race, sex, smokes in zip(
            frame["race"], frame["sex"], frame["smokes"], strict=True
        )
    ]
    assert by_hand == pytest.approx(predictor, abs=1e-9)
    pairs = [[lines[f"race={r}:sex={s}"] for s in "fm"] for r in "abc"]
    assert np.sum(pairs, axis=0) == pytest.approx([0, 0], abs=1e-12)
    assert np.sum(pairs, axis=1) == pytest.approx([0, 0, 0], abs=1e-12)


@pytest.mark.parametrize(
    "terms",
    [
        ("race", "sex", "race:sex"),
        ("race:sex",),
        ("sex", "sex:bs(age, df=4)", "bs(age, df=4)"),
        ("sex:bs(age, df=4)",),
        ("age", "bs(age, df=5)", "race"),
        ("poly(age, 2)", "bs(age, df=5)"),
        ("age", "smokes", "age:smokes", "race:age", "race"),
        ("race:sex:smokes", "race:smokes", "sex", "smokes"),
    ],
)
@pytest.mark.parametrize("height", [0.3, 0.0])
def test_what_rows_cannot_tell_is_known_beforehand(terms, height):
    """As many directions as the rank of rows that hold everything lacks."""
    one, frame = schema(*terms), people(3000)
    design = one.design(frame)
    if height:
        design = np.column_stack([design, np.full(len(design), height)])
    still = one.unidentified_directions(height)
    assert np.abs(design @ still).max(initial=0) < 1e-9
    scaled = design / np.linalg.norm(design, axis=0)
    assert design.shape[1] - still.shape[1] == np.linalg.matrix_rank(scaled, tol=1e-6)


def test_moments_are_those_of_rows_spread_evenly():
    one = schema("age", "bs(age, df=4)", "race", "race:smokes", "smokes:age")
    rng = np.random.default_rng(0)
    frame = people(60000).assign(age=rng.uniform(20, 80, 60000))
    nodes = {column.name: even_nodes(column) for column in one.predictors}
    mean, second = moments_of(one.effects, nodes)
    features = one.encode(frame)
    assert mean == pytest.approx(features.mean(axis=0), abs=0.02)
    assert second == pytest.approx(features.T @ features / len(features), abs=0.02)
    for effect in one.effects:
        own = [one.features.index(name) for name in effect.features]
        expected, spread = effect.moments()
        assert expected == pytest.approx(mean[own], abs=2e-3)
        whole = second[np.ix_(own, own)] - np.outer(mean[own], mean[own])
        assert spread == pytest.approx(whole, abs=2e-3)


# ------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agee", "Did you mean 'age'"),
        ("sin(age)", "one of \\['bs', 'poly'\\]"),
        ("bs(race, df=4)", "numbers or dates"),
        ("bs(smokes, df=4)", "numbers or dates"),
        ("bs(age)", "given either df or knots"),
        ("bs(age, df=4, knots=[30])", "given either df or knots"),
        ("bs(age, df=2)", "from 3 to 100"),
        ("bs(age, df=4.5)", "a whole number"),
        ("bs(age, knots=[10])", "inside the declared range"),
        ("bs(age, knots=[50, 30])", "increasing numbers"),
        ("bs(age, knots=[])", "inside the declared range"),
        ("bs(seen, knots=[3])", "inside the declared range"),
        ("bs(age, dof=4)", "Did you mean 'df'"),
        ("poly(age, 0)", "from 1 to 10"),
        ("age:age", "different columns"),
        ("age:bs(age, df=4)", "different columns"),
        ("age ** 2", "a column, bs"),
        ("age:", "a column, bs"),
        ("", "text"),
        (7, "text"),
        ("bs(__import__('os'), 4)", "a column, bs"),
        ("bs(age, df=print(3))", "a column, bs"),
    ],
)
def test_terms_that_mean_nothing_are_refused_in_words(text, words):
    with pytest.raises(InvalidParameter, match=words):
        schema(text)


def test_terms_are_listed_once_each():
    with pytest.raises(InvalidParameter, match="listed without duplicates"):
        schema("age", "age")
    with pytest.raises(InvalidParameter, match="a list of terms"):
        Schema(COLUMNS, TARGET, terms="age")


def test_a_factor_of_one_level_is_no_term():
    one = (Category("only", ("a",)), COLUMNS[0])
    Schema(one, TARGET)
    for terms in (("only",), ("age", "only:age")):
        with pytest.raises(InvalidParameter, match="at least two levels"):
            Schema(one, TARGET, terms=terms)


def test_what_belongs_to_records_has_names_of_its_own():
    with pytest.raises(InvalidParameter, match="named differently from each other"):
        schema("age", case_weights=CaseWeights("age", 3))
    with pytest.raises(InvalidParameter, match="lower and upper"):
        schema("age", offset=Number("days"))
    with pytest.raises(InvalidParameter, match="labels of the target"):
        schema("age", case_weights=CaseWeights(classes={"maybe": 2}))


def test_weights_and_offsets_are_the_same_once_they_were_written(tmp_path):
    labels = Target("ill", labels=("<=50K", ">50K"))
    weights = CaseWeights("times", 5, classes={">50K": 3}, missing="drop", typical=2)
    offset = Number("days", 1, 365, transform="log", missing="refuse")
    whole = Schema(COLUMNS, labels, case_weights=weights, offset=offset)
    assert Schema.from_mapping(whole.to_mapping()) == whole
    path = tmp_path / "s.toml"
    path.write_text(whole.to_toml(), "utf-8")
    assert Schema.from_toml(path) == whole
    assert list(whole.parts)[-3:] == ["ill", "days", "times"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "a column or classes"),
        ({"column": "times"}, "given with a column of weights"),
        ({"cap": 3}, "left out if there is no column"),
        ({"column": "times", "cap": 0}, "a positive number"),
        ({"column": "times", "cap": "3"}, "a positive number"),
        ({"column": "times", "cap": 3, "typical": 4}, "no larger than the cap"),
        ({"column": "times", "cap": 3, "missing": "zero"}, "'refuse' or 'drop'"),
        ({"column": 3, "cap": 3}, "text"),
        ({"classes": {"yes": -1}}, "a positive number"),
        ({"classes": [1, 2]}, "a weight for each label"),
    ],
)
def test_weights_that_mean_nothing_are_refused_in_words(settings, words):
    with pytest.raises(InvalidParameter, match=words):
        CaseWeights(**settings)
