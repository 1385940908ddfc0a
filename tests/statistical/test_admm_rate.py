"""Averaged ADMM with noisy gradients converges as its theorem says: like 1/√t.

The bound is d·√(2(C² + pσ²))/√t + (ρ‖θ*‖² + β²/ρ)/(2t) for the gap of the averaged iterate
at steps d/√(2(C² + pσ²)k); C bounds gradients, σ is the deviation of their noise, d the
distance that iterates keep from θ*, β the slope of the loss (on the scale of a mean). The
code returns the penalty's map of the mean instead of the mean of the map's values, which
the theorem is about; the bound holds for it here all the same.
"""

import math

import numpy as np
import pytest

from confide.data import bound_rows
from confide.mechanisms.gradient.clipped_gradient import clipped_gradient
from confide.mechanisms.gradient.iterations import Admm, Steps
from confide.noise import Entropy
from confide.objectives import L1, Logistic, Objective
from confide.solvers import minimise

ROWS, WIDTH, NOISE, RHO, RUNS = 300, 5, 0.3, 0.25, 12
TIMES = (64, 256, 1024, 4096)


def task():
    entropy = Entropy.seeded(31)
    features = entropy.normal(ROWS * WIDTH).reshape(ROWS, WIDTH)
    features /= np.linalg.norm(features, axis=1)[:, None]
    target = np.sign(features @ np.array([2.0, -1.0, 1.0, 0.0, 0.0]) + entropy.normal(ROWS))
    rows = bound_rows(features, target, 1.0, 0.0)
    return rows, Objective(Logistic(), WIDTH, 1.0, 1e-3, L1(3.0))


@pytest.mark.slow
def test_the_gap_of_the_average_falls_like_one_over_root_t():
    rows, objective = task()
    exact = minimise(objective, rows, np.zeros(WIDTH), 1e-6).theta
    gradient = clipped_gradient(objective.loss, rows, 1.0)

    def value(theta):
        (total,) = rows.sum(
            lambda b: (objective.loss.value(b.margin(theta), b.target).sum(),)
        )
        return (total + objective.penalty.value(theta)) / ROWS

    size = float(np.linalg.norm(exact))
    distance = 2 * size
    spread = math.sqrt(2 * (1 + WIDTH * NOISE**2))
    steps = Steps("sqrt", distance / spread)
    admm = Admm(objective, RHO, averaged=True, return_z=True)
    gaps = []
    for time in TIMES:
        found = []
        for seed in range(RUNS):
            entropy = Entropy.seeded(seed)

            def noisy(theta, entropy=entropy):
                return gradient(theta) + ROWS * NOISE * entropy.normal(WIDTH)

            theta = admm.run(noisy, steps.sizes(objective, time, 1.0), float(ROWS))
            found.append(value(theta) - value(exact))
        gaps.append(np.mean(found))
        bound = distance * spread / math.sqrt(time)
        bound += (RHO * size**2 + 1 / RHO) / (2 * time)
        assert 0 < gaps[-1] <= bound
    slope = np.polyfit(np.log(TIMES), np.log(gaps), 1)[0]
    assert -1.2 < slope < -0.4
