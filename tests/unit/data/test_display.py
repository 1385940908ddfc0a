"""What a summary shows of a category: levels against their average."""

import numpy as np
import pytest

from confide import (
    Category,
    LogisticRegression,
    Pure,
    Schema,
)
from confide import Target as Aim
from support.clinic import FULL, SCHEMA, clinic

TOWNS = ["town=north", "town=south", "town=west"]


def shown(schema, **more):
    model = LogisticRegression(Pure(10), schema=schema, random_state=2, **more)
    model.fit(clinic())
    return model, {row.name: row.estimate for row in model.summary().rows}


def test_levels_are_shown_against_the_average_of_their_column():
    model, lines = shown(SCHEMA)
    assert sum(lines[town] for town in TOWNS) == pytest.approx(0, abs=1e-12)
    raw = dict(zip(SCHEMA.features, model.coef_[0], strict=True))
    for town in TOWNS:
        assert lines[town] - lines[TOWNS[0]] == pytest.approx(raw[town] - raw[TOWNS[0]])
    assert lines["age"] == pytest.approx(raw["age"])


def test_the_lines_shown_say_of_every_row_what_the_model_says():
    table = clinic(60)
    table.loc[::7, "town"] = None
    table.loc[::5, "town"] = "elsewhere"
    for intercept in (True, False):
        model, lines = shown(SCHEMA, fit_intercept=intercept)
        none = "(missing or undeclared)"
        told = table["age"] * lines["age"] + table["income"] * lines["income"]
        told += lines["(intercept)"]
        told += [lines.get(f"town={t}", lines[f"town {none}"]) for t in table["town"]]
        told += [lines[f"rooms={r}"] for r in table["rooms"]]
        np.testing.assert_allclose(told, model.decision_function(table), atol=1e-9)


def test_a_line_for_rows_without_a_level_stands_where_there_can_be_some():
    def names(**rules):
        column = Category("town", ("n", "s"), **rules)
        return Schema((column,), Aim("y", bound=1)).display_map().names

    both = ("town=n", "town=s")
    assert names() == (*both, "town (missing or undeclared)", "(intercept)")
    assert names(missing="refuse") == (*both, "town (undeclared)", "(intercept)")
    other = (*both, "town=other")
    assert names(other=True) == (*other, "town (missing)", "(intercept)")
    assert names(other=True, missing="refuse") == (*other, "(intercept)")


def test_a_single_level_is_shown_against_the_rest():
    lines = Schema((Category("town", ("n",)),), Aim("y", bound=1)).display_map()
    assert lines.names == ("town=n", "(intercept)")
    np.testing.assert_allclose(lines.show(np.array([3.0, 2.0])), [3.0, 2.0])


def test_what_is_shown_is_an_affine_map_of_the_coefficients():
    lines = FULL.display_map()
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, len(FULL.features) + 1))
    np.testing.assert_allclose(lines.show(a) + lines.show(b), lines.show(a + b))
    slopes, constant = FULL.in_units(a[:-1])
    assert lines.show(a)[0] == pytest.approx(slopes[0])
    assert lines.show(a)[-1] == pytest.approx(constant + a[-1] + slopes[1:6].mean())
