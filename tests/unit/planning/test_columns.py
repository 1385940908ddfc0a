"""A plan column by column: in the units of the schema, and near what fits show."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from typer.testing import CliRunner

from confide import (
    Approx,
    Category,
    LinearRegression,
    LogisticRegression,
    Number,
    Pure,
    Schema,
    Target,
    Zcdp,
    cli,
)
from confide.data import Boolean, Date
from confide.planning import (
    budget_to_be_useful,
    make_plan,
    noise_ratio,
    plan_columns,
    rows_to_be_useful,
)

COLUMNS = (
    Number("age", 18, 90, unit="year"),
    Category("town", ("north", "south", "west")),
    Boolean("smoker"),
)
ILL = Schema(COLUMNS, Target("ill", labels=(0, 1)), "clinic")
DOSE = Schema(COLUMNS, Target("dose", lower=0, upper=100, unit="mg"), "clinic")
BUDGET = Approx(1, 1e-6)


def people(rows, seed, effects):
    """Draw what a plan supposes: even ages, equal levels, unrelated columns."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 90, rows)
    town = rng.integers(0, 3, rows)
    smoker = rng.integers(0, 2, rows)
    eta = effects[0] * (age - 54) + effects[1] * (town - 1) + effects[2] * (smoker - 0.5)
    towns = np.array(["north", "south", "west"])[town]
    return pd.DataFrame({"age": age, "town": towns, "smoker": smoker}), eta, rng


@pytest.mark.parametrize("schema", [ILL, DOSE], ids=["classes", "number"])
@pytest.mark.parametrize("budget", [BUDGET, Approx(0.2, 1e-6)], ids=str)
def test_errors_are_near_those_of_fits(schema, budget):
    rows, numeric = 3000, schema is DOSE
    model = "linear" if numeric else "logistic"
    bound = {"target_bound": 50.0} if numeric else {}
    plan = make_plan(rows, len(schema.features), budget, model=model, **bound)
    told = plan_columns(plan, schema)
    effects = [column.typical for column in told]
    effects[1] *= np.sqrt(1.5)
    errors = []
    for seed in range(25):
        table, eta, rng = people(rows, seed, effects)
        table["dose"] = 50 + eta + rng.normal(0, 50 / 3 / np.sqrt(2), rows)
        table["ill"] = rng.random(rows) < expit(eta)
        kind = LinearRegression if numeric else LogisticRegression
        fitted = kind(budget, schema=schema, ranges="public").fit(table)
        lines = {row.name: row.estimate for row in fitted.summary().rows}
        errors.append(
            [
                lines["age (per year)"] - effects[0],
                lines["town=west"] - effects[1],
                lines["smoker"] - effects[2],
            ]
        )
    found = np.sqrt(np.mean(np.square(errors), axis=0))
    expected = np.array([column.error for column in told])
    assert np.all(found < 2 * expected)
    assert np.all(found > expected / 2)


def test_units_follow_the_range():
    def error(upper):
        schema = Schema((Number("age", 0, upper), *COLUMNS[1:]), ILL.target)
        return plan_columns(make_plan(3000, 5, BUDGET), schema)[0].error

    assert error(720) == pytest.approx(error(72) / 10)


def test_every_kind_of_column_says_per_what():
    columns = (
        *COLUMNS,
        Date("joined", "2010-01-01", "2020-01-01"),
        Category("one", ("a",)),
        Number("plain", 0, 1),
    )
    schema = Schema(columns, ILL.target)
    told = plan_columns(make_plan(3000, len(schema.features), BUDGET), schema)
    assert [column.per for column in told] == [
        "year",
        "level, of 3",
        "yes against no",
        "year",
        "level against none",
        "1",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget", [Approx(0.05, 1e-6), Zcdp("0.0001"), Pure(0.05)], ids=str
)
def test_the_advice_is_enough(budget):
    def plan(rows, one):
        return make_plan(rows, 5, one)

    poor = plan(2000, budget)
    assert noise_ratio(plan_columns(poor, ILL)) > 0.5
    rows = rows_to_be_useful(2000, ILL, lambda rows: plan(rows, budget))
    assert noise_ratio(plan_columns(plan(rows, budget), ILL)) == pytest.approx(0.5, rel=0.1)
    more = budget_to_be_useful(budget, ILL, lambda one: plan(2000, one))
    assert noise_ratio(plan_columns(plan(2000, more), ILL)) == pytest.approx(0.5, rel=0.1)
    assert type(more) is type(budget)


def test_no_budget_mends_too_few_rows():
    assert budget_to_be_useful(BUDGET, ILL, lambda one: make_plan(9, 5, one)) is None


def planned(folder, *words):
    (folder / "clinic.toml").write_text(DOSE.to_toml(), encoding="utf-8")
    base = ["plan", "--schema", str(folder / "clinic.toml"), "--delta", "1e-6"]
    return CliRunner().invoke(cli.app, [*base, *words]).output


def test_the_command_shows_columns_in_their_units(tmp_path):
    text = planned(tmp_path, "--rows", "9000", "--epsilon", "1")
    assert "What to expect, in mg" in text
    assert "level, of 3" in text
    assert "Warning" not in text
    record = json.loads(planned(tmp_path, "--rows", "9000", "--epsilon", "1", "--json"))
    assert [column["column"] for column in record["columns"]] == ["age", "town", "smoker"]
    assert record["warning"] == ""


def test_the_command_warns_of_noise_and_says_what_it_takes(tmp_path):
    text = planned(tmp_path, "--rows", "300", "--epsilon", "0.05")
    assert "Warning: at this budget the model will be mostly noise" in text
    assert "rows" in text.split("Warning")[1]
    assert "a budget of about" in text.split("Warning")[1]
