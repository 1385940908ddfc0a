"""What the ledger books for replaced records, against the true divergences on a line.

Every mechanism here is proved for add-remove alone. Its law on two tables that differ in
a replaced record is compared with what `cost` counts for it under replace-one.
"""

from fractions import Fraction

import numpy as np
import pytest

from confide.accounting import (
    GaussianEvent,
    PureEvent,
    SubsampledGaussianEvent,
    ZcdpEvent,
    epsilon_for,
)
from confide.attacks import exact_pair, hockey_stick, max_log_ratio
from confide.ledger.amounts import cost
from confide.mechanisms import ObjectivePerturbation
from confide.privacy import Approx, Neighbours, Pure, Zcdp, gaussian_mu
from support.cases import objective, replace_pairs
from support.checks import GRID_ERROR

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
GRID = np.linspace(-120, 120, 480_001)
CELL = GRID[1] - GRID[0]


def normal(mean, sd):
    return np.exp(-0.5 * ((GRID - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))


def laplace(mean, scale):
    return np.exp(-np.abs(GRID - mean) / scale) / (2 * scale)


def true_delta(p, q, epsilon):
    """The hockey-stick divergence of two densities on the grid."""
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum() * CELL)


def booked(budget, events, kind=None):
    """What a charge proved for add-remove counts under replace-one."""
    return cost(budget, events, ADD, kind or budget, REPLACE)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-3), (0.5, 1e-5), (2, 1e-6)])
def test_a_sum_with_normal_noise_needs_all_that_is_booked(epsilon, delta):
    """A sum of numbers in [-1, 1]: the record -1 becomes 1."""
    mu = gaussian_mu(epsilon, delta)
    p, q = normal(-1.0, 1 / mu), normal(1.0, 1 / mu)
    found = booked(Approx(epsilon, delta), (GaussianEvent(mu),))
    true = true_delta(p, q, float(found.epsilon))
    assert true <= float(found.delta) * (1 + 1e-6)
    assert true > float(found.delta) * (1 - 1e-4)
    assert true_delta(p, q, epsilon) > 5 * delta
    assert true <= float(booked(Approx(epsilon, delta), ()).delta)


def test_a_sum_with_laplace_noise_needs_twice_epsilon():
    p, q = laplace(-1.0, 2.0), laplace(1.0, 2.0)
    found = booked(Pure("0.5"), (PureEvent(Fraction(1, 2)),))
    assert np.log(p / q).max() == pytest.approx(float(found.epsilon), rel=1e-9)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_a_sum_with_normal_noise_needs_four_times_rho(order):
    rho, sd = 0.02, 5.0
    found = booked(Zcdp(repr(rho)), (ZcdpEvent(Fraction(1, 50)),))
    logs = [-0.5 * ((GRID - mean) / sd) ** 2 for mean in (-1.0, 1.0)]
    terms = np.exp(order * logs[0] + (1 - order) * logs[1])
    divergence = np.log(terms.sum() * CELL / (sd * np.sqrt(2 * np.pi))) / (order - 1)
    assert divergence == pytest.approx(float(found.rho) * order, rel=1e-6)


@pytest.mark.parametrize("multiplier", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_a_random_batch_stays_below_what_its_budget_books(multiplier, delta):
    rate = Fraction(3, 10)
    event = SubsampledGaussianEvent(multiplier, rate, 1, "poisson")
    epsilon = epsilon_for(multiplier, 1, delta, rate=rate)
    found = booked(Approx(repr(epsilon), delta), (event,), Approx(99, 0.9))
    absent, broken = normal(0.0, multiplier), False
    for one, other in ((-1.0, 1.0), (1.0, 0.2), (0.0, 1.0)):
        p, q = (
            float(1 - rate) * absent + float(rate) * normal(mean, multiplier)
            for mean in (one, other)
        )
        for pair in ((p, q), (q, p)):
            assert true_delta(*pair, float(found.epsilon)) <= float(found.delta)
            broken |= true_delta(*pair, epsilon) > delta
    assert broken


@pytest.mark.parametrize("budget", [Pure("0.5"), Approx("0.5", 1e-3)], ids=str)
def test_objective_perturbation_for_add_remove_holds_what_is_booked(budget):
    """And breaks its own budget: a replaced record is more than it was proved for."""
    found = ObjectivePerturbation().calibrate(objective("huber"), budget, ADD)
    counted = booked(budget, found.events)
    above = 0
    for title, first, second in replace_pairs("huber"):
        p, q = exact_pair(found.objective, found.noise, first, second)
        if isinstance(budget, Pure):
            loss = max_log_ratio(p, q)
            assert loss <= float(counted.epsilon) * (1 + 1e-6), title
            above += loss > float(budget.epsilon)
        else:
            true = hockey_stick(p, q, float(counted.epsilon))
            assert true <= float(counted.delta) * (1 + GRID_ERROR), title
            above += hockey_stick(p, q, float(budget.epsilon)) > float(budget.delta)
    assert above > 0


def delta_of_both(first, second, epsilon):
    """The hockey-stick divergence of two independent releases, given as pairs of laws."""
    losses, masses = zip(
        *((np.log(p / q)[::200], p[::200] * CELL * 200) for p, q in (first, second)),
        strict=True,
    )
    gains = np.maximum(-np.expm1(epsilon - np.add.outer(*losses)), 0)
    return float((np.outer(*masses) * gains).sum())


def test_a_mixed_sum_of_laplace_releases_holds_and_a_plain_sum_does_not():
    """One for add-remove at 0.5 and one for replace-one at 0.3: 1.3 and not 0.8."""
    old, new, limit = Pure("0.5"), Pure("0.3"), Pure(9)
    total = cost(old, (), ADD, limit, REPLACE) + cost(new, (), REPLACE, limit, REPLACE)
    assert total.epsilon == Fraction(13, 10)
    pairs = [[laplace(m, scale) for m in (-1.0, 1.0)] for scale in (1 / 0.5, 2 / 0.3)]
    assert delta_of_both(*pairs, float(total.epsilon)) < 1e-12
    assert delta_of_both(*pairs, float(old.epsilon + new.epsilon)) > 0.1


def test_a_mixed_sum_of_normal_releases_holds_and_a_plain_sum_does_not():
    old, new, limit = Approx("0.5", 1e-3), Approx("0.3", 1e-3), Approx(9, "0.5")
    shifts = [gaussian_mu(float(b.epsilon), float(b.delta)) for b in (old, new)]
    total = cost(old, (GaussianEvent(shifts[0]),), ADD, limit, REPLACE)
    total += cost(new, (GaussianEvent(shifts[1]),), REPLACE, limit, REPLACE)
    pairs = [[normal(m, sd) for m in (-1.0, 1.0)] for sd in (1 / shifts[0], 2 / shifts[1])]
    plain = old + new
    assert delta_of_both(*pairs, float(total.epsilon)) <= float(total.delta)
    assert delta_of_both(*pairs, float(plain.epsilon)) > float(plain.delta)
