"""Released intervals contain what they estimate as often as they say.

The population is a small table of which rows are drawn with replacement, so that the
minimiser of the population is known exactly. Over 300 fits with four coefficients each,
a coverage of 0.95 has a standard error below 0.008 (coefficients of a fit are taken for
dependent): the bounds are 3.5 of them away, a false alarm of 1 in 2,000 per case.
"""

import numpy as np
import pytest
from sklearn.base import clone

from confide import (
    Approx,
    Intervals,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegression,
    Pure,
    Zcdp,
)
from confide.data import INTERCEPT_HEIGHT, bound_rows
from confide.objectives import (
    USUAL_CLIP,
    Clipped,
    HuberizedHinge,
    Logistic,
    Objective,
    Poisson,
    Squared,
)
from confide.solvers import minimise

FITS = 300
ROWS = 4000
NO_RIDGE = 1e-3
RNG = np.random.default_rng(20)
FEATURES = RNG.uniform(-0.55, 0.55, size=(60, 3))
SCORE = FEATURES @ [2.0, -1.0, 0.5]
LABELS = (SCORE + RNG.logistic(size=60) > 0).astype(float)
NUMBERS = np.clip(SCORE / 3 + RNG.normal(size=60) / 4, -1, 1)
COUNTS = RNG.poisson(np.exp(SCORE / 2)).clip(0, 6).astype(float)
SIGNS = 2 * LABELS - 1
CASES = [
    (LogisticRegression(Pure(2), classes=[0, 1], l2=20.0, row_norm=1.0), LABELS),
    (LogisticRegression(Approx(1, 1e-6), classes=[0, 1], l2=20.0, row_norm=1.0), LABELS),
    (LogisticRegression(Zcdp("0.1"), classes=[0, 1], l2=40.0, row_norm=1.0), LABELS),
    (
        LogisticRegression(
            Zcdp(1), classes=[0, 1], l2=20.0, neighbours="add-remove", row_norm=1.0
        ),
        LABELS,
    ),
    (
        LogisticRegression(
            Zcdp(1), classes=[0, 1], l2=200.0, mechanism="output", row_norm=1.0
        ),
        LABELS,
    ),
    (LinearSVC(Approx(2, 1e-6), classes=[0, 1], l2=20.0, row_norm=1.0), LABELS),
    (LinearRegression(Approx(2, 1e-6), target_bound=1.0, l2=20.0, row_norm=1.0), NUMBERS),
    (
        PoissonRegression(
            Zcdp(2), target_bound=6.0, slope_bound=4.0, l2=100.0, row_norm=1.0
        ),
        COUNTS,
    ),
]
LOSSES = {
    LogisticRegression: (Logistic(), SIGNS),
    LinearSVC: (HuberizedHinge(), SIGNS),
    LinearRegression: (Clipped(Squared(), USUAL_CLIP), NUMBERS),
    PoissonRegression: (Clipped(Poisson(), 4.0), COUNTS),
}
"""What every model minimises, and its target as the loss takes it."""


def truth(model, l2):
    """Return the minimiser of the population, with the ridge of a sample."""
    loss, target = LOSSES[type(model)]
    longest = float(np.hypot(1.0, INTERCEPT_HEIGHT))
    ridge, bound = l2 * len(target) / ROWS, getattr(model, "target_bound", None)
    whole = Objective(loss, 4, longest, ridge, target_bound=bound)
    rows = bound_rows(FEATURES, target, 1.0, INTERCEPT_HEIGHT)
    value = minimise(whole, rows, np.zeros(4), 1e-9).theta
    value[-1] *= INTERCEPT_HEIGHT
    return value


def lines_of_fits(model, target, case, of):
    """Yield the intervals of fits to samples of the population."""
    rng = np.random.default_rng(case)
    for seed in range(FITS):
        drawn = rng.integers(len(target), size=ROWS)
        model.set_params(intervals=Intervals(of=of), random_state=1000 * case + seed)
        yield model.fit(FEATURES[drawn], target[drawn]).intervals_.rows


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)))
def test_penalised_intervals_cover_the_penalised_minimiser(case):
    model, target = CASES[case]
    aim = truth(model, model.l2)
    held = [
        [row.lower <= x <= row.upper for row, x in zip(lines, aim, strict=True)]
        for lines in lines_of_fits(model, target, case, "penalised")
    ]
    assert 0.922 <= np.mean(held) <= 0.978


@pytest.mark.slow
@pytest.mark.parametrize("case", [1, 2, 3, 5, 6, 7])
def test_plain_intervals_cover_the_minimiser_without_a_ridge(case):
    """Cautious on purpose: too wide is no fault, but that all is marked would be one."""
    fixed, target = CASES[case]
    model = clone(fixed).set_params(l2="auto")
    aim = truth(model, NO_RIDGE)
    held = [
        row.lower <= x <= row.upper
        for lines in lines_of_fits(model, target, case, "plain")
        for row, x in zip(lines, aim, strict=True)
        if row.identified
    ]
    assert len(held) > FITS
    assert np.mean(held) >= 0.922


@pytest.mark.slow
def test_penalised_intervals_miss_the_minimiser_without_a_ridge():
    """What the plain ones are for: with this ridge the others hold it half of the time."""
    model, target = CASES[2]
    aim = truth(model, NO_RIDGE)
    held = [
        [row.lower <= x <= row.upper for row, x in zip(lines, aim, strict=True)]
        for lines in lines_of_fits(model, target, 2, "penalised")
    ]
    assert np.mean(held) < 0.85
