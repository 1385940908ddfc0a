"""Intervals that fits release are about as wide as their plans foretold.

Compared are root mean squares over coefficients, the median of a few seeded fits against
the plan. They agree within 5 % here; 20 % are asked for.

Where it does not hold: where noise on the curvature is as large as the curvature in some
direction. Then widths vary by a multiple from fit to fit (Poisson with wide bounds, or
levels of a category next to an intercept on few rows); for a schema the plan says so.
"""

import numpy as np
import pandas as pd
import pytest
from bench.planned_widths import compared, few_columns, fitted_lines, planned_lines
from bench.real_tables import parts
from scipy.special import expit

from confide import Category, Number, Schema, Target
from confide.data import Boolean
from confide.estimators import LinearRegression, LinearSVC, LogisticRegression
from confide.inference import Intervals
from confide.planning import make_plan, plan_fit
from confide.privacy import Approx, Pure, Zcdp

FITS = 15
ESTIMATORS = {"logistic": LogisticRegression, "linear": LinearRegression, "svm": LinearSVC}
BOUNDS = {"logistic": {}, "svm": {}, "linear": {"target_bound": 10.0}}


def simulate(plan, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((plan.rows, plan.columns))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    eta = rows @ np.where(np.arange(plan.columns) % 2, -1.0, 1.0)
    if plan.model == "linear":
        return rows, 10 / 3 / np.sqrt(2) * (eta + rng.standard_normal(plan.rows))
    return rows, np.where(rng.random(plan.rows) < expit(eta), 1, -1)


def shown_width(plan, share, seed):
    labels = {} if plan.model == "linear" else {"classes": [-1, 1]}
    model = ESTIMATORS[plan.model](
        plan.budget,
        mechanism=plan.mechanism,
        intervals=share,
        random_state=seed,
        row_norm=1.0,
        **BOUNDS[plan.model],
        **labels,
    ).fit(*simulate(plan, seed))
    lines = model.intervals_.rows[:-1]
    return np.sqrt(np.mean([(line.upper - line.lower) ** 2 for line in lines]))


@pytest.mark.parametrize(
    ("rows", "columns", "budget", "model", "mechanism"),
    [
        (5000, 5, Approx(1, 1e-6), "logistic", "objective"),
        pytest.param(2000, 10, Pure(4), "logistic", "objective", marks=pytest.mark.slow),
        (20_000, 10, Pure(2), "logistic", "output"),
        (5000, 5, Zcdp(0.2), "linear", "objective"),
        (20_000, 8, Pure(2), "svm", "objective"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "share", [True, pytest.param(0.2, marks=pytest.mark.slow)], ids=["auto", "0.2"]
)
def test_fits_show_the_planned_width(rows, columns, budget, model, mechanism, share):
    plan = make_plan(
        rows,
        columns,
        budget,
        model=model,
        mechanism=mechanism,
        intervals=share,
        **BOUNDS[model],
    )
    widths = [shown_width(plan, share, seed) for seed in range(FITS)]
    assert plan.interval_width == pytest.approx(np.median(widths), rel=0.2)


# ------------------------------------------------------------------------- with a schema

CLINIC = Schema(
    (
        Number("age", 0, 120, typical=(30, 70), unit="year"),
        Number("income", 0, 1e7, typical=(20_000, 90_000)),
        Boolean("smoker", share=0.3),
        Category("town", ("north", "south", "west"), share=(0.5, 0.3, 0.2)),
    ),
    Target("ill", labels=(0, 1), share=(0.8, 0.2)),
    "clinic",
)


def people(rows, seed):
    """Draw a table of which the schema says what is typical, with unrelated columns."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 20 / 1.2816, rows)
    income = np.exp(rng.normal(np.log(42_400), 0.587, rows))
    smoker = rng.random(rows) < 0.3
    town = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    odds = -1.75 + 0.03 * (age - 50) + 0.6 * (smoker - 0.3) + 0.4 * (town - 0.7)
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "smoker": smoker,
            "town": np.array(["north", "south", "west"])[town],
            "ill": (rng.random(rows) < expit(odds)).astype(int),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("of", ["plain", "penalised"])
@pytest.mark.parametrize("budget", [Approx(1, 1e-6), Approx(4, 1e-6), Zcdp(0.2)], ids=str)
def test_fits_on_a_table_with_known_marginals_show_the_planned_widths(budget, of):
    """Medians of seven fits, within 0.5 to 2 of the plan: columns may be related, and are
    not here, so that fits are narrower rather than wider. Every run is seeded."""
    settings = {"schema": CLINIC, "intervals": Intervals(of=of)}
    plan = plan_fit(LogisticRegression(budget, **settings), 30_000)
    found = {}
    for seed in range(7):
        model = LogisticRegression(budget, random_state=seed, **settings)
        for line in model.fit(people(30_000, seed)).intervals_.rows:
            if line.upper is not None:
                found.setdefault(line.name, []).append(line.upper - line.lower)
    compared = 0
    for line in plan.lines:
        if line.identified < 0.9 or len(found.get(line.name, ())) < 5:
            continue
        compared += 1
        assert 0.4 < np.median(found[line.name]) / line.width < 2, line.name
    assert compared >= 4


@pytest.mark.slow
@pytest.mark.parametrize("table", ["Adult", "Bank", "ACS", "warfarin"])
def test_real_tables_have_planned_widths(data_folder, table):
    """Two fits on the first eight columns, of which two thirds of the lines are within
    0.5 to 2 of a plan that never saw the table; docs/planning.md has all figures."""
    schema = few_columns(parts(table)[0])
    fits = [fitted_lines(table, schema, "1", seed, True) for seed in range(2)]
    plan = planned_lines(table, schema, "1", fits[0][1], True, left_out=True)
    figures = compared([fit for fit, _ in fits], plan)
    assert figures["count"] >= 8
    assert figures["within"] >= 0.66
    assert 0.5 < figures["median"] < 1.6
