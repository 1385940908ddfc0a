"""Spherical Laplace noise for (epsilon, delta): its loss, and releases that it protects."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import gammaln, ndtr, roots_legendre

from confide.accounting import (
    ApproxEvent,
    LossLines,
    PureEvent,
    gaussian_part,
    spherical_delta,
)
from confide.accounting import spherical_shift as rules
from confide.mechanisms import (
    AdaptiveObjectivePerturbation,
    ObjectivePerturbation,
    OutputPerturbation,
)
from confide.mechanisms.intervals.budget import divide_budget
from confide.noise import SphericalLaplace
from confide.objectives import L1, Clipped, HuberizedHinge, Logistic, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGET = Approx(1, 1e-4)
NODES, WEIGHTS = roots_legendre(60)


def polar_delta(dimension, shift, epsilon, bound=lambda loss: loss):
    """Return E(1 − e^{ε−W})₊ by lengths and angles, W increasing in the loss."""
    lengths = np.linspace(0, 5 * dimension + 60, 6001)
    lengths = (lengths[1:] + lengths[:-1]) / 2
    mass = np.exp((dimension - 1) * np.log(lengths) - lengths - gammaln(dimension))
    mass *= lengths[1] - lengths[0]
    constant = math.exp(gammaln(dimension / 2) - gammaln((dimension - 1) / 2))
    ends = np.linspace(0, math.pi, 41)
    total = 0.0
    for low, high in pairwise(ends):
        angles = low + (NODES + 1) * (high - low) / 2
        turn = np.sin(angles) ** (dimension - 2) * constant / math.sqrt(math.pi)
        square = lengths[:, None] ** 2 + shift**2
        square = square + 2 * shift * lengths[:, None] * np.cos(angles)
        losses = bound(np.sqrt(square) - lengths[:, None])
        gains = np.maximum(-np.expm1(epsilon - losses), 0.0)
        total += float(mass @ gains @ (turn * WEIGHTS)) * (high - low) / 2
    return total


@pytest.mark.parametrize("dimension", [3, 4, 9, 20])
@pytest.mark.parametrize(("epsilon", "shift"), [(1.0, 1.1), (0.1, 0.17), (3.0, 5.0)])
def test_delta_is_above_the_integral_over_lengths_and_angles(dimension, epsilon, shift):
    exact = polar_delta(dimension, shift, epsilon)
    assert 1 <= spherical_delta(dimension, shift, epsilon) / exact <= 1.02
    lines = LossLines(np.array([0.2, 0.05]), np.array([0.4, 1.0]))
    exact = polar_delta(
        dimension, shift, epsilon, lambda loss: np.maximum(0.2 + 0.4 * loss, 0.05 + loss)
    )
    assert (
        1 <= spherical_delta(dimension, shift, epsilon, lines.chords(shift)) / exact <= 1.03
    )


@pytest.mark.parametrize("dimension", [3, 4, 50])
def test_a_shift_within_epsilon_costs_no_delta(dimension):
    assert spherical_delta(dimension, 1.0, 1.0) == 0
    assert 0 < spherical_delta(dimension, 1.01, 1.0) < 0.01
    assert spherical_delta(dimension, 1e4, 1.0) > 0.99
    assert (
        spherical_delta(dimension, 0.5, 1.0, LossLines(np.ones(1), np.zeros(1)).chords(0.5))
        <= 1e-6
    )


@pytest.mark.parametrize("dimension", [1, 2])
def test_in_one_and_two_dimensions_only_pure_noise_is_known(dimension):
    assert spherical_delta(dimension, 1.0, 1.0) == 0
    assert spherical_delta(dimension, 1.0001, 1.0) == 1


def test_a_ratio_of_bessel_functions_is_right():
    mpmath = pytest.importorskip("mpmath")
    for dimension in (3, 4, 7, 12, 101):
        for shift in (1e-3, 0.4, 3.0, 40.0):
            with mpmath.workdps(40):
                top = mpmath.besselk(mpmath.mpf(dimension) / 2, mpmath.mpf(shift) / 2)
                low = mpmath.besselk(mpmath.mpf(dimension) / 2 - 1, mpmath.mpf(shift) / 2)
                exact = 2 * shift * (dimension - 1) * top / low
            assert rules._beside(dimension, shift) == pytest.approx(float(exact), 1e-11)


# --------------------------------------------- releases whose rows all point the same way


def line_delta(objective, scale, first, second, epsilon):
    """Return δ(ε) of the minimisers of two tables of records (x·e₁, y, times)."""
    p, losses = line_law(objective, scale, first, second)
    return float((p * np.maximum(-np.expm1(epsilon - losses), 0)).sum())


def line_law(objective, scale, first, second, points=700):
    """Return chances under one table of records (x·e₁, y, times), and losses.

    Across the line the minimiser is −b/Λ under both tables, so lengths there are enough.
    """
    ridge = objective.strong_convexity
    longest = np.linspace(-1, 1, points) * scale * (4 * objective.dimension + 35)
    thetas = np.linspace(-80, 80, 400_001)

    def image(records):
        total, bend = ridge * thetas, np.full_like(thetas, ridge)
        for x, y, times in records:
            label = np.full_like(thetas, y)
            total = total + times * x * objective.loss.slope(x * thetas, label)
            bend += times * x * x * objective.loss.curvature(x * thetas, label)
        return -total, bend

    one, other = image(first), image(second)
    at = np.interp(-longest, -one[0], thetas)
    means = [np.interp(at, thetas, part) for part in (*one, *other)]
    beside = (np.arange(points) + 0.5) / points * scale * (4 * objective.dimension + 35)
    logs = []
    for centre, bend in ((means[0], means[1]), (means[2], means[3])):
        length = np.hypot(centre[:, None], beside) / scale
        logs.append(np.log(bend)[:, None] - length)
    weight = np.gradient(at)[:, None] * -1 * beside ** (objective.dimension - 2.0)
    weight = np.abs(weight) * np.exp(-logs[0].max())
    p = np.exp(logs[0]) * weight
    return p / p.sum(), logs[0] - logs[1]


CROWD, SIDES = [(1.0, -1.0, 3000)], [(1.0, 1.0, 3), (-1.0, 1.0, 3)]
PAIRS = {
    "alone": ([(1.0, 1.0, 1)], []),
    "among many": ([*CROWD, (1.0, 1.0, 1)], CROWD),
    "short": ([*CROWD, (0.5, 1.0, 1)], CROWD),
    "two sides": ([*SIDES, (1.0, -1.0, 1)], SIDES),
}


def worst_share(mechanism, target, relation, factor=1.0):
    """Return the largest delta over the claim's, by exact integration."""
    found = mechanism.calibrate(target, BUDGET, relation)
    assert found.noise.kind == "spherical-laplace"
    assert isinstance(found.events[0], ApproxEvent)
    main = BUDGET.share(1 - mechanism.precision_share)
    worst = 0.0
    for more, less in PAIRS.values():
        second = less if relation is ADD else [*less, (-1.0, 1.0, 1)]
        for pair in ((more, second), (second, more)):
            delta = line_delta(
                found.objective, factor * found.noise.scale, *pair, float(main.epsilon)
            )
            worst = max(worst, delta / float(main.delta))
    return worst


TASKS = {
    "logistic": Objective(Logistic(), 9, 1.0, 1.2),
    "little ridge": Objective(Logistic(), 9, 1.0, 0.6),
    "huberised hinge": Objective(HuberizedHinge(0.5), 9, 1.0, 16.0),
    "clipped squares": Objective(Clipped(Squared(), 1.0), 9, 1.0, 16.0, target_bound=1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "relation"),
    [
        *((name, ADD) for name in TASKS),
        *((name, REPLACE) for name in TASKS if name != "little ridge"),
    ],
    ids=str,
)
def test_objective_perturbation_keeps_delta_exactly(name, relation):
    worst = worst_share(ObjectivePerturbation(), TASKS[name], relation)
    assert worst <= 1.003
    if name == "logistic" and relation is ADD:
        assert worst >= 0.9


@pytest.mark.slow
def test_the_claim_is_kept_and_used_up_and_less_noise_would_be_noticed():
    worst = worst_share(ObjectivePerturbation(), TASKS["logistic"], ADD)
    assert 0.9 <= worst <= 1.003
    assert worst_share(ObjectivePerturbation(), TASKS["logistic"], ADD, 0.98) > 1.2


def test_forgetting_the_log_determinant_would_be_noticed(monkeypatch):
    """A hinge that is rounded off has curvature where it is steep."""
    honest = spherical_delta
    monkeypatch.setattr(
        "confide.mechanisms.objective.calibration.spherical_delta",
        lambda size, shift, epsilon, chords=None: honest(size, shift, epsilon),
    )
    target = Objective(HuberizedHinge(0.5), 9, 1.0, 4.0)
    assert worst_share(ObjectivePerturbation(), target, ADD) > 2


def share_beside_a_shift(factor=1.0):
    """Return delta of coefficients and of a shift of a normal together, over the claim."""
    target = Objective(Logistic(), 9, 1.0)
    main, rest, joint = divide_budget(
        ObjectivePerturbation(), target, BUDGET, ADD, copies=1, reserve=Fraction(1, 10)
    )
    assert main.noise.kind == "spherical-laplace"
    assert joint == (ApproxEvent(BUDGET.epsilon, BUDGET.delta),)
    mu = math.sqrt(2 * float(rest.rho) + gaussian_part(main.events)[0])
    worst = 0.0
    for more, less in PAIRS.values():
        for pair in ((more, less), (less, more)):
            p, losses = line_law(main.objective, factor * main.noise.scale, *pair)
            left = 1.0 - losses
            each = ndtr(mu / 2 - left / mu) - np.exp(left) * ndtr(-mu / 2 - left / mu)
            worst = max(worst, float((p * each).sum()) / 1e-4)
    return worst


@pytest.mark.slow
def test_beside_a_shift_both_together_keep_delta():
    assert 0.85 <= share_beside_a_shift() <= 1.003
    assert share_beside_a_shift(0.97) > 1.05


# ------------------------------------------------------------------------------- choices


def test_coefficients_beside_a_shift_say_what_they_cost_at_most():
    """The scale is not that of the part of the budget that it was first calibrated to."""
    budget = Approx(1, "1e-6")
    main, _, joint = divide_budget(
        ObjectivePerturbation(),
        Objective(Logistic(), 9, 1.0),
        budget,
        ADD,
        copies=1,
        reserve=Fraction(1, 10),
    )
    assert main.noise.kind == SphericalLaplace.kind
    assert main.events == joint
    assert main.budget == budget


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize(
    ("columns", "most"), [(3, 1.0), (5, 0.98), (8, 0.935), (12, 0.872), (16, 0.814)]
)
def test_a_few_columns_have_less_noise_than_epsilon_alone_buys(
    kind, relation, columns, most
):
    target = Objective(Logistic(), columns + 1, 1.0, 6.0)
    small, pure = (
        kind().calibrate(target, one, relation).noise.deviation(columns + 1)
        for one in (Approx(1, 1e-6), Pure(1))
    )
    assert small <= most * pure * (1 + 1e-12)


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_what_composes_better_can_be_asked_for(kind):
    target = Objective(Logistic(), 9, 1.0, 6.0)
    found = kind(noise="composable").calibrate(target, Approx(1, 1e-6), ADD)
    assert isinstance(found.events[0], PureEvent)
    many = Objective(Logistic(), 60, 1.0, 6.0)
    assert kind().calibrate(many, Approx(1, 1e-6), ADD).noise.kind == "spherical-laplace"
    found = kind(noise="composable").calibrate(many, Approx(1, 1e-6), ADD)
    assert found.noise.kind == "gaussian"


def test_a_profile_is_that_of_the_noise_that_was_chosen():
    mechanism = ObjectivePerturbation()
    found = mechanism.calibrate(Objective(Logistic(), 12, 1.0, 6.0), Approx(1, 1e-6), ADD)
    profile = mechanism.profile(found)
    assert isinstance(found.noise, SphericalLaplace)
    assert 0.99e-6 * 0.98 <= profile(0.99) <= 0.99e-6
    assert profile(0.5) > 1e-3 > profile(1.5)


@pytest.mark.slow
def test_two_looks_keep_to_noises_that_compose():
    mechanism = AdaptiveObjectivePerturbation()
    target = Objective(Logistic(), 12, 1.0, penalty=L1(2.0))
    found = mechanism.calibrate(target, Approx(1, 1e-6), ADD)
    kinds = {one.noise.kind for one in (found, found.first)}
    assert kinds <= {"gaussian"} or all(isinstance(e, PureEvent) for e in found.events)
