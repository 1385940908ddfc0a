"""Released intervals hold what they estimate as often as they say.

The population is a small table of which rows are drawn with replacement, so that the
minimiser of the population is known exactly. Over 300 fits with four coefficients each,
a coverage of 0.95 has a standard error below 0.008 (coefficients of a fit are taken for
dependent): the bounds are 3.5 of them away, a false alarm of 1 in 2,000 per case.
"""

import numpy as np
import pytest

from confide import (
    Approx,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegression,
    Pure,
    Zcdp,
)
from confide.solvers import minimise

FITS = 300
ROWS = 4000
RNG = np.random.default_rng(20)
FEATURES = RNG.uniform(-0.55, 0.55, size=(60, 3))
SCORE = FEATURES @ [2.0, -1.0, 0.5]
LABELS = (SCORE + RNG.logistic(size=60) > 0).astype(float)
NUMBERS = np.clip(SCORE / 3 + RNG.normal(size=60) / 4, -1, 1)
COUNTS = RNG.poisson(np.exp(SCORE / 2)).clip(0, 6).astype(float)
CASES = [
    (LogisticRegression(Pure(2), classes=[0, 1], l2=20.0), LABELS),
    (LogisticRegression(Approx(1, 1e-6), classes=[0, 1], l2=20.0), LABELS),
    (LogisticRegression(Zcdp("0.1"), classes=[0, 1], l2=40.0), LABELS),
    (LogisticRegression(Zcdp(1), classes=[0, 1], l2=20.0, neighbours="add-remove"), LABELS),
    (LogisticRegression(Zcdp(1), classes=[0, 1], l2=200.0, mechanism="output"), LABELS),
    (LinearSVC(Approx(2, 1e-6), classes=[0, 1], l2=20.0), LABELS),
    (LinearRegression(Approx(2, 1e-6), target_bound=1.0, l2=20.0), NUMBERS),
    (PoissonRegression(Zcdp(2), target_bound=6.0, slope_bound=4.0, l2=100.0), COUNTS),
]


def truth(model, target):
    """Return the minimiser of the population, with the ridge of a sample."""
    spec = model._spec()
    task = spec.target.spec(spec.target.look(target, len(target)))
    bounding, objective = spec.bounding, spec.objective(task, 3)
    share = len(target) / ROWS
    whole = type(objective)(
        objective.loss,
        4,
        objective.row_norm,
        objective.l2 * share,
        None,
        None,
        objective.target_bound,
    )
    rows = bounding.enclose(FEATURES, task.codings[0](task.read(target, len(target))))
    value = minimise(whole, rows, np.zeros(4), 1e-9).theta * model._units()[0]
    value[-1] *= bounding.height
    return value


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)))
def test_intervals_cover_the_population_minimiser(case):
    model, target = CASES[case]
    held, rng = [], np.random.default_rng(case)
    for seed in range(FITS):
        drawn = rng.integers(len(target), size=ROWS)
        model.set_params(intervals=True, random_state=1000 * case + seed)
        lines = model.fit(FEATURES[drawn], target[drawn]).intervals_
        aim = truth(model, target)
        held.append(
            [row.lower <= x <= row.upper for row, x in zip(lines, aim, strict=True)]
        )
    assert 0.922 <= np.mean(held) <= 0.978
