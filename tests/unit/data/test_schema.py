"""Schemas: public declarations that bound a table row by row."""

import json
import math
import tomllib
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import (
    Category,
    LinearRegression,
    LogisticRegression,
    Number,
    Pure,
    Schema,
)
from confide import Target as Aim
from confide.data import Boolean, Date
from confide.data.schema.parse_values import level_codes
from confide.data.schema.sections import write_toml
from confide.errors import InvalidData, InvalidParameter
from confide.mechanisms import OutputPerturbation
from support.clinic import DOSES, FULL, SCHEMA, clinic

TOML = """
name = "clinic"

[target]
column = "ill"
labels = ["no", "yes"]

[columns.age]
kind = "number"
lower = 18
upper = 98

[columns.town]
kind = "category"
levels = ["north", "south", "west"]

[columns.income]
kind = "number"
lower = -1000.0
upper = 1000.0

[columns.rooms]
kind = "category"
levels = [1, 2]
"""


def one(**changes):
    row = {"age": 58, "town": "north", "income": 0.0, "rooms": 1} | changes
    return SCHEMA.encode(pd.DataFrame([row]))[0]


def test_the_encoding_is_known_in_advance():
    assert SCHEMA.features == (
        "age",
        "town=north",
        "town=south",
        "town=west",
        "income",
        "rooms=1",
        "rooms=2",
    )
    np.testing.assert_array_equal(one(), [0, 1, 0, 0, 0, 1, 0])


@pytest.mark.parametrize(
    ("changes", "column", "becomes"),
    [
        ({"age": 98}, 0, 1.0),
        ({"age": 1e300}, 0, 1.0),
        ({"age": np.inf}, 0, 1.0),
        ({"age": -np.inf}, 0, -1.0),
        ({"age": 3}, 0, -1.0),
        ({"age": np.nan}, 0, 0.0),
        ({"age": None}, 0, 0.0),
        ({"age": "58"}, 0, 0.0),
        ({"town": "east"}, slice(1, 4), 0.0),
        ({"town": None}, slice(1, 4), 0.0),
        ({"town": np.nan}, slice(1, 4), 0.0),
        ({"rooms": 3}, slice(5, 7), 0.0),
        ({"rooms": True}, slice(5, 7), [1.0, 0.0]),
        ({"rooms": 2.0}, slice(5, 7), [0.0, 1.0]),
    ],
    ids=str,
)
def test_missing_unknown_and_distant_values_have_a_fixed_meaning(changes, column, becomes):
    assert np.all(one(**changes)[column] == becomes)


@given(
    age=st.floats(allow_nan=True, allow_infinity=True),
    income=st.floats(allow_nan=True, allow_infinity=True),
    town=st.sampled_from(["north", "south", "west", "east", None]),
    rooms=st.sampled_from([1, 2, 3]),
)
def test_no_row_is_longer_than_1(age, income, town, rooms):
    row = pd.DataFrame([{"age": age, "income": income, "town": town, "rooms": rooms}])
    assert np.linalg.norm(SCHEMA.design(row)) <= 1 + 1e-12


def test_a_row_is_encoded_without_looking_at_the_others():
    table = clinic()
    alone = np.vstack([SCHEMA.design(table.iloc[[i]]) for i in range(20)])
    np.testing.assert_array_equal(SCHEMA.design(table)[:20], alone)


def test_weights_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        SCHEMA.weights[0] = 5.0


def test_a_toml_file_says_the_same(tmp_path):
    path = tmp_path / "clinic.toml"
    path.write_text(TOML, encoding="utf-8")
    assert Schema.from_toml(path) == SCHEMA
    assert Schema.from_toml(str(path)).features == SCHEMA.features


def test_lists_do_as_well_as_tuples():
    listed = Schema(
        [Number("age", 18, 98), Category("town", ["a", "b"])], Aim("ill", labels=[0, 1])
    )
    assert hash(listed) == hash(
        Schema(
            (Number("age", 18, 98), Category("town", ("a", "b"))), Aim("ill", labels=(0, 1))
        )
    )


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("acs_income", 100),
        ("acs_over_50000", 100),
        ("adult", 105),
        ("bank", 47),
        ("california_housing", 8),
        ("kddcup99", 122),
        ("kddcup99_groups", 122),
        ("randhie", 9),
        ("warfarin", 17),
    ],
)
def test_bundled_schemas_load(name, features):
    schema = Schema.bundled(name)
    assert name.startswith(schema.name)
    assert len(schema.features) == features
    np.testing.assert_allclose(
        sum(schema.weights[_first(schema, column)] ** 2 for column in schema.columns), 1
    )


def _first(schema, column):
    return schema.features.index(column.features[0])


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("kind = 3 3", "valid TOML"),
        ('name = "x"', r"\[target\]"),
        (TOML + "[more]\n", r"\[target\]"),
        (TOML.replace('kind = "category"', 'kind = "level"'), "kind of column 'town'"),
        (TOML.replace('kind = "category"', 'kind = "categry"'), "mean 'category'"),
        (TOML.replace('kind = "number"', ""), r"\[columns.age\] must be given kind"),
        (
            TOML.replace('kind = "number"', 'kind = "date"').replace("upper = 98", ""),
            r"\[columns.age\] must be given upper; .*Write upper = 2024-12-31 under",
        ),
        (
            TOML.replace("upper = 98", 'range = "public"'),
            'given lower and upper if range = "public"',
        ),
        (TOML.replace("levels", "level"), r"\[columns.town\].*Did you mean 'levels'"),
        (TOML.replace("upper = 98", "upper = 98\nmiddle = 1"), r"\[columns.age\]"),
        (TOML.replace("upper = 98", "uper = 98"), "Did you mean 'upper'"),
        (TOML.replace("[target]", "[Target]"), "Did you mean 'target'"),
        (TOML.replace("[columns.age]", "[column.age]"), "Did you mean 'columns'"),
        (TOML.replace('column = "ill"', ""), r"\[target\] must be given column; .*Write"),
        (TOML.replace('labels = ["no", "yes"]', "lower = 0"), "must be given upper"),
        (TOML.replace("labels", "label"), r"\[target\].*Did you mean 'labels'"),
        (TOML.replace("upper = 98", "upper = 18"), "range of column 'age'"),
        (TOML.replace("upper = 98", 'upper = "98"'), "range of column 'age'"),
        (TOML.replace("upper = 98", "upper = nan"), "range of column 'age'"),
        (TOML.replace("[1, 2]", "[1, 1]"), "levels of column 'rooms'"),
        (TOML.replace("[1, 2]", "[]"), "levels of column 'rooms'"),
        (TOML.replace("[1, 2]", '"12"'), "levels of column 'rooms'"),
        (TOML.replace("[1, 2]", "[[1], [2]]"), "levels of column 'rooms'"),
        (TOML.replace('["no", "yes"]', '["no"]'), "labels of target 'ill'"),
        (TOML.replace('["no", "yes"]', '"no"'), "labels of target 'ill'"),
        (TOML.replace('labels = ["no", "yes"]', "bound = 0"), "bound of target"),
        (TOML.replace('labels = ["no", "yes"]', 'bound = "1"'), "bound of target"),
        (TOML.replace('labels = ["no", "yes"]', ""), "of labels"),
        (
            TOML.replace('["no", "yes"]', '["no", "yes"]\nbound = 1'),
            "declared by exactly one of",
        ),
        (TOML.replace('column = "ill"', 'column = "age"'), "from the target 'age'"),
        ('columns = 3\n[target]\ncolumn = "y"\nbound = 1', r"\[columns.NAME\]"),
        ('[columns]\nage = 3\n[target]\ncolumn = "y"\nbound = 1', r"\[columns.NAME\]"),
        (
            '[columns]\n[target]\ncolumn = "y"\nbound = 1',
            "columns must be a list of at least one column",
        ),
    ],
)
def test_a_broken_file_is_explained(tmp_path, broken, says):
    path = tmp_path / "broken.toml"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(InvalidParameter, match=says):
        Schema.from_toml(path)


def test_a_misspelt_column_is_looked_for():
    with pytest.raises(InvalidData, match=r"lacks .'town'.*Did you mean 'Towns'"):
        SCHEMA.design(clinic().rename(columns={"town": "Towns"}))


def test_a_file_that_cannot_be_read_is_explained(tmp_path):
    with pytest.raises(InvalidParameter, match="No such file"):
        Schema.from_toml(tmp_path / "absent.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes("name = 'Zürich'".encode("latin-1"))
    with pytest.raises(InvalidParameter, match="UTF-8"):
        Schema.from_toml(path)
    with pytest.raises(InvalidParameter, match="Did you mean 'adult'"):
        Schema.bundled("../adult")


@pytest.mark.parametrize("level", [None, np.nan, pd.NA])
def test_a_missing_value_is_no_level(level):
    with pytest.raises(InvalidParameter, match="without duplicates or missing values"):
        Category("town", ("north", level))


def test_levels_match_by_value_whatever_the_column_is_stored_as():
    for values in (
        pd.Series(["a", "z", None, "b"]),
        pd.Series(["a", "z", None, "b"], dtype=object),
        pd.Series(["a", "z", None, "b"], dtype="category"),
    ):
        assert level_codes(values, ("b", "a"), "y").tolist() == [1, -1, -1, 0]
    for values in (
        pd.Series([True, False]),
        pd.Series([True, False], dtype=object),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([1, 0]),
        pd.Series([1.0, 0.0]),
        pd.Series([1, 0], dtype="Int64"),
    ):
        assert level_codes(values, (0, 1), "y").tolist() == [1, 0]
        assert level_codes(values, (False, True), "y").tolist() == [1, 0]
    nothing = pd.Series([np.nan, np.nan])
    assert level_codes(nothing, ("a", "b"), "y").tolist() == [-1, -1]


MECHANISM = OutputPerturbation()


@pytest.mark.parametrize("kind", ["binary", "several", "number"])
def test_coefficients_in_units_reproduce_the_model_on_raw_columns(kind):
    table = clinic()
    settings = {"mechanism": MECHANISM, "l2": 1.0, "random_state": 1, "ranges": "public"}
    if kind == "number":
        table["ill"] = table["age"] / 10
        schema = Schema(SCHEMA.columns, Aim("ill", bound=12.0))
        model = LinearRegression(Pure(10), schema=schema, **settings).fit(table)
        found = model.predict(table)
    else:
        labels = ("no", "yes") if kind == "binary" else ("no", "yes", "maybe")
        schema = Schema(SCHEMA.columns, Aim("ill", labels=labels))
        model = LogisticRegression(Pure(10), schema=schema, **settings).fit(table)
        found = model.decision_function(table)
    raw = [table["age"], table["income"]]
    raw += [table["town"] == town for town in ("north", "south", "west")]
    raw += [table["rooms"] == 1, table["rooms"] == 2]
    order = [0, 4, 1, 2, 3, 5, 6]
    coef = np.atleast_2d(model.coef_)[:, order]
    expected = np.column_stack(raw).astype(float) @ coef.T + model.intercept_
    if kind == "number":
        expected = np.clip(expected, -12.0, 12.0)  # predictions keep to the declared bound
        assert np.ptp(expected) > 1
    np.testing.assert_allclose(np.squeeze(expected), found, rtol=1e-9, atol=1e-9)


def test_a_table_is_enough_to_fit_and_more_columns_do_no_harm():
    table = clinic().assign(name="somebody")
    model = LogisticRegression(Pure(100), schema=SCHEMA).fit(table)
    assert model.score(table, table["ill"]) > 0.7
    assert model.classes_.tolist() == ["no", "yes"]
    assert [row["name"] for row in model.summary().records()] == [
        *SCHEMA.features[:4],
        "town (missing or undeclared)",
        *SCHEMA.features[4:],
        "rooms (missing or undeclared)",
        "(intercept)",
    ]
    holes = table.assign(age=np.nan, town=None)
    assert model.predict(holes).shape == (200,)


@pytest.mark.parametrize("schema", [SCHEMA, FULL, DOSES, Schema.bundled("adult")], ids=str)
def test_a_schema_survives_json_and_toml(schema):
    again = Schema.from_mapping(json.loads(json.dumps(schema.to_mapping())))
    assert again == schema
    assert repr(again) == repr(schema)
    assert repr(Schema.from_mapping(tomllib.loads(schema.to_toml()))) == repr(schema)


WORDS = st.text(st.characters(exclude_categories=("Cs",)))
VALUES = st.one_of(
    WORDS, st.booleans(), st.integers(), st.floats(allow_nan=False), st.dates()
)
ENTRIES = st.dictionaries(WORDS, st.one_of(VALUES, st.lists(VALUES, max_size=4)))


@pytest.mark.slow
@given(
    st.recursive(ENTRIES, lambda inner: st.dictionaries(WORDS, st.one_of(VALUES, inner)))
)
def test_whatever_is_written_as_toml_is_read_back(content):
    assert tomllib.loads(write_toml(content)) == content


def test_units_are_part_of_the_name():
    assert FULL.features[0] == "weight (per kg)"
    assert FULL.features[4:8] == (
        "town=2.5",
        "town=other",
        "smoker",
        "joined (per year)",
    )


def encoded(column, *values):
    schema = Schema((column,), Aim("y", bound=1))
    return schema.encode(pd.DataFrame({column.name: list(values)})).tolist()


def test_booleans_come_in_many_spellings():
    flag = Boolean("flag")
    assert encoded(flag, True, False) == [[1.0], [-1.0]]
    assert encoded(flag, 1, 0) == [[1.0], [-1.0]]
    assert encoded(flag, 1.0, np.nan, 0.0) == [[1.0], [0.0], [-1.0]]
    assert encoded(flag, "YES", "no", " True", "fALSE", "1", "0.0", None) == [
        *([1.0], [-1.0]) * 3,
        [0.0],
    ]
    for bad in (2, -1, "maybe", "2", 0.5, date(2020, 1, 1)):
        with pytest.raises(InvalidData, match="column 'flag' is declared as a boolean"):
            encoded(flag, 1, bad)


def test_dates_become_their_place_in_the_range():
    day = Date("day", "2020-01-01", "2020-01-11")
    middle = [[0.0]]
    for value in (
        "2020-01-06",
        "20200106",
        "2020-01-06T23:59:59",
        "2020-01-06 00:00+05:00",
        date(2020, 1, 6),
        datetime(2020, 1, 6, 12),  # noqa: DTZ001
        pd.Timestamp("2020-01-06 23:00", tz="Pacific/Auckland"),
        np.datetime64("2020-01-06"),
        None,
        pd.NaT,
    ):
        assert encoded(day, value) == middle, value
    assert encoded(day, "0001-01-01", "9999-12-31") == [[-1.0], [1.0]]
    for bad in ("06.01.2020", "soon", 20200106, 3.5):
        with pytest.raises(InvalidData, match="column 'day' is declared as a date"):
            encoded(day, bad)


def test_a_coefficient_of_a_date_is_per_year():
    schema = Schema((Date("day", "2000-01-01", "2040-01-01"),), Aim("y", bound=1))
    (slope,), constant = schema.in_units(np.ones(1))
    start, later = (
        schema.encode(pd.DataFrame({"day": [day]}))[0, 0]
        for day in ("2000-01-01", "2010-01-01")
    )
    assert later - start == pytest.approx(10 * slope, rel=1e-3)
    assert constant == pytest.approx(start) == -1


def test_undeclared_and_missing_categories_differ_where_declared():
    town = Category("town", ("n", "s"), other=True)
    assert encoded(town, "s", "x", None) == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert encoded(Category("town", ("n", "s")), "x", "n") == [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (Number("it", 0, 1, missing="refuse"), 0.5),
        (Boolean("it", missing="refuse"), True),
        (Date("it", "2020-01-01", "2021-01-01", missing="refuse"), "2020-02-02"),
        (Category("it", ("a",), missing="refuse"), "a"),
    ],
    ids=lambda part: getattr(part, "kind", ""),
)
def test_missing_values_can_be_refused(column, value):
    assert len(encoded(column, value)) == 1
    with pytest.raises(InvalidData, match="column 'it' must have no missing values"):
        encoded(column, value, None)
    if column.kind == "category":
        assert encoded(column, "undeclared") == [[0.0]]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Number("a", 0, True), "range of column 'a'"),
        (lambda: Number("a", 0, 10**400), "range of column 'a'"),
        (lambda: Number("a", 0, 5e-324), "range of column 'a'"),
        (lambda: Number("a", 0, 1, unit=3), "unit of column 'a'"),
        (lambda: Number("a", 0, 1, missing="mean"), "missing of column 'a'"),
        (lambda: Number("", 0, 1), "name of a column"),
        (lambda: Number(3, 0, 1), "name of a column"),
        (lambda: Boolean("a", missing="category"), "missing of column 'a'"),
        (lambda: Date("a", "2020-01-01", "2020-01-01"), "range of column 'a'"),
        (lambda: Date("a", 1, 2), "range of column 'a'"),
        (lambda: Date("a", "1.1.2020", "2.1.2020"), "range of column 'a'"),
        (lambda: Category("a", ("b", "other"), other=True), "without 'other'"),
        (lambda: Category("a", ("b",), other="yes"), "other of column 'a'"),
        (lambda: Category("a", ("b",), missing="zero"), "missing of column 'a'"),
        (lambda: Category("a", (math.inf,)), "finite"),
        (lambda: Category("a", (date(2020, 1, 1),)), "text, finite numbers"),
        (lambda: Schema((Number("a", 0, 1),), "y"), "target must be"),
        (lambda: Schema(("a",), Aim("y", bound=1)), "columns must be"),
        (lambda: Aim(3, bound=1), "column of the target"),
        (lambda: Aim("y", lower=0), "upper of target 'y'"),
        (lambda: Aim("y", upper=0), "lower of target 'y'"),
        (lambda: Aim("y", lower=0, upper=math.inf), "upper of target 'y'"),
        (lambda: Aim("y", lower=math.nan, upper=1), "lower of target 'y'"),
        (lambda: Aim("y", lower=True, upper=3), "lower of target 'y'"),
        (lambda: Aim("y", lower=1, upper=1), "range of target 'y'"),
        (lambda: Aim("y", lower=0, upper=1, bound=1), "declared by exactly one of"),
        (lambda: Aim("y", lower=0, upper=1, labels=(0, 1)), "declared by exactly one of"),
        (lambda: Aim("y", labels=(0, 1), unit="mg"), "unit of target 'y'"),
        (lambda: Aim("y", bound=1, unit=3), "unit of target 'y'"),
        (lambda: Schema((Number("a", 0, 1),), Aim("y", bound=1), ""), "name must be"),
        *(
            (lambda k=k: Schema(SCHEMA.columns, SCHEMA.target, "x", k), "rows_per_person")
            for k in (0, -1, 1.5, True, "2", 10**9)
        ),
    ],
)
def test_a_bad_declaration_is_explained(make, says):
    with pytest.raises(InvalidParameter, match=says):
        make()


@given(
    weight=st.floats(allow_nan=False),
    town=st.sampled_from(["north", "elsewhere", 3]),
    smoker=st.sampled_from([True, False, None]),
    joined=st.dates(),
    odd=st.floats(),
)
def test_no_row_of_any_kind_is_longer_than_1(weight, town, smoker, joined, odd):
    values = (weight, town, smoker, joined, odd)
    row = {c.name: [v] for c, v in zip(FULL.columns, values, strict=True)}
    assert np.linalg.norm(FULL.design(pd.DataFrame(row))) <= 1 + 1e-12
