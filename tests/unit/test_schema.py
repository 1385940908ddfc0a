"""Schemas: public declarations that bound a table row by row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import Category, LinearRegression, LogisticRegression, Number, Pure, Schema
from confide import Target as Aim
from confide.data.columns import level_codes
from confide.errors import InvalidParameter
from confide.mechanisms import OutputPerturbation

SCHEMA = Schema(
    columns=(
        Number("age", 18, 98),
        Category("town", ("north", "south", "west")),
        Number("income", -1000.0, 1000.0),
        Category("rooms", (1, 2)),
    ),
    target=Aim("ill", labels=("no", "yes")),
    name="clinic",
)
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


def clinic(rows=200):
    rng = np.random.default_rng(3)
    age = rng.uniform(18, 98, rows)
    town = rng.choice(["north", "south", "west"], rows)
    chance = 1 / (1 + np.exp(-(age - 58) / 10 - (town == "west")))
    return pd.DataFrame(
        {
            "ill": np.where(rng.random(rows) < chance, "yes", "no"),
            "town": town,
            "age": age,
            "income": rng.uniform(-1000, 1000, rows),
            "rooms": rng.integers(1, 3, rows),
        }
    )


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
    np.testing.assert_array_equal(one(), [0.5, 1, 0, 0, 0.5, 1, 0])


@pytest.mark.parametrize(
    ("changes", "column", "becomes"),
    [
        ({"age": 98}, 0, 1.0),
        ({"age": 1e300}, 0, 1.0),
        ({"age": np.inf}, 0, 1.0),
        ({"age": -np.inf}, 0, 0.0),
        ({"age": 3}, 0, 0.0),
        ({"age": np.nan}, 0, 0.5),
        ({"age": None}, 0, 0.5),
        ({"age": "58"}, 0, 0.5),
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


@pytest.mark.parametrize(("name", "features"), [("adult", 105), ("randhie", 9)])
def test_bundled_schemas_load(name, features):
    schema = Schema.bundled(name)
    assert schema.name == name
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
        (TOML.replace("upper = 98", ""), "column 'age' must be described by"),
        (TOML.replace("upper = 98", "upper = 98\nmiddle = 1"), "column 'age'"),
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
        (TOML.replace('labels = ["no", "yes"]', ""), "by labels"),
        (TOML.replace('["no", "yes"]', '["no", "yes"]\nbound = 1'), "not by both"),
        (TOML.replace('column = "ill"', 'column = "age"'), "not as the target 'age'"),
        ('columns = 3\n[target]\ncolumn = "y"\nbound = 1', r"\[columns.NAME\]"),
        ('[columns]\nage = 3\n[target]\ncolumn = "y"\nbound = 1', r"\[columns.NAME\]"),
        ('[columns]\n[target]\ncolumn = "y"\nbound = 1', "columns must be one or more"),
    ],
)
def test_a_broken_file_is_explained(tmp_path, broken, says):
    path = tmp_path / "broken.toml"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(InvalidParameter, match=says):
        Schema.from_toml(path)


def test_a_file_that_cannot_be_read_is_explained(tmp_path):
    with pytest.raises(InvalidParameter, match="No such file"):
        Schema.from_toml(tmp_path / "absent.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes("name = 'Zürich'".encode("latin-1"))
    with pytest.raises(InvalidParameter, match="UTF-8"):
        Schema.from_toml(path)
    with pytest.raises(InvalidParameter, match="'adult'"):
        Schema.bundled("../adult")


@pytest.mark.parametrize("level", [None, np.nan, pd.NA])
def test_a_missing_value_is_no_level(level):
    with pytest.raises(InvalidParameter, match="none missing"):
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
    settings = {"mechanism": MECHANISM, "l2": 1.0, "random_state": 1}
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
    np.testing.assert_allclose(np.squeeze(expected), found, rtol=1e-9, atol=1e-9)


def test_a_table_is_enough_to_fit_and_more_columns_do_no_harm():
    table = clinic().assign(name="somebody")
    model = LogisticRegression(Pure(100), schema=SCHEMA).fit(table)
    assert model.score(table, table["ill"]) > 0.7
    assert model.classes_.tolist() == ["no", "yes"]
    assert [row["name"] for row in model.summary().records()] == [
        *SCHEMA.features,
        "(intercept)",
    ]
    holes = table.assign(age=np.nan, town=None)
    assert model.predict(holes).shape == (200,)
