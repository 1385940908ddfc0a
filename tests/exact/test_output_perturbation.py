"""Witness pairs: a claimed sensitivity is attained and not exceeded."""

import numpy as np
import pytest

from confide.data import bound_rows
from confide.mechanisms import OutputPerturbation
from confide.objectives import L1, LOSSES, Clipped, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp, gaussian_delta
from confide.solvers import minimise
from support.witness import Linear, sensitivity_ratio

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize(("slope", "norm", "l2"), [(1.0, 1.0, 0.2), (3.0, 2.0, 7.0)])
def test_claimed_sensitivity_is_attained_and_not_exceeded(relation, slope, norm, l2):
    assert 0.999 <= sensitivity_ratio(relation, slope, norm, l2) <= 1.0


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"squared", "poisson"}))
@pytest.mark.parametrize("penalty", [None, L1(0.3)], ids=["ridge", "l1"])
def test_no_neighbour_moves_the_minimiser_further(relation, name, penalty):
    rng = np.random.default_rng(7)
    objective = Objective(LOSSES[name](), 3, 1.0, l2=0.5, penalty=penalty)
    claim = OutputPerturbation().sensitivity(objective, relation)
    solved = OutputPerturbation().calibrate(objective, Pure(1), relation).objective
    worst = 0.0
    for _ in range(25):
        x = rng.standard_normal((8, 3))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        y = rng.choice([-1.0, 1.0], 8)
        others = (x[:-1], y[:-1])
        if relation is REPLACE:
            others = (np.vstack([x[:-1], -x[-1:]]), y)
        a, b = (
            minimise(solved, bound_rows(f, t, 1.0, 0.0), np.zeros(3), 1e-4).theta
            for f, t in ((x, y), others)
        )
        worst = max(worst, float(np.linalg.norm(a - b)) / (claim + 2e-4))
    assert worst <= 1.0


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_noise_follows_from_the_sensitivity(relation):
    mechanism = OutputPerturbation()
    objective = Objective(Clipped(Squared(), 2.0), 4, 1.5, l2=3.0, target_bound=1.0)
    reach = mechanism.sensitivity(objective, relation)
    pure = mechanism.calibrate(objective, Pure(0.7), relation)
    assert pure.noise.scale == pytest.approx(reach / 0.7)
    approx = mechanism.with_noise("gaussian").calibrate(
        objective, Approx(0.7, 1e-5), relation
    )
    assert gaussian_delta(0.7, reach / approx.noise.scale) == pytest.approx(1e-5, rel=1e-6)
    zcdp = mechanism.calibrate(objective, Zcdp(0.1), relation)
    assert zcdp.noise.scale == pytest.approx(reach / np.sqrt(0.2))


def test_a_linear_loss_is_a_loss():
    eta = np.linspace(-2, 2, 5)
    assert np.all(Linear(2.0).slope(eta, np.ones(5)) == 2.0)
