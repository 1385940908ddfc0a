"""Intervals that fits release are as wide as the plan with intervals foretold.

Compared are root mean squares over coefficients, the median of a few seeded fits against
the plan. They agree within 5 % here; 20 % are asked for.

Where it does not hold: where noise on the curvature is as large as the curvature in some
direction. Then widths vary by a multiple from fit to fit (Poisson with wide bounds, or
levels of a category next to an intercept on few rows); for a schema the plan says so.
"""

import numpy as np
import pytest
from scipy.special import expit

from confide.estimators import LinearRegression, LinearSVC, LogisticRegression
from confide.planning import make_plan
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
