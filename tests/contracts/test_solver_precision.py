"""Solvers on wide tables and many rows, and what arithmetic can certify."""

import math

import numpy as np
import pytest
from scipy import sparse

from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import bound_rows
from confide.errors import ConfideError
from confide.mechanisms import ObjectivePerturbation
from confide.mechanisms.tolerance import certain_tolerance
from confide.objectives import (
    L1,
    Box,
    Clipped,
    HuberizedHinge,
    L1Ball,
    L2Ball,
    Logistic,
    Nuclear,
    Objective,
    Poisson,
    Scad,
    Squared,
    has_exact_prox,
    prox,
)
from confide.objectives.twofold import Twofold
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.solvers import TableShape, finest_share, finest_tolerance, minimise
from confide.solvers.problem import Problem
from support.plain_solvers import COUNT, DIMENSION, SLOPES, TOLERANCE, made_up

WIDE = 1600
FINEST = [
    {},
    {"penalty": L1(0.3)},
    {"constraint": L2Ball(0.01)},
    {"constraint": L1Ball(0.02)},
]


@pytest.mark.parametrize("l2", [20.0, 1.0])
@pytest.mark.parametrize(
    "parts",
    [{}, {"penalty": L1(0.5)}, {"constraint": L1Ball(2.0)}],
    ids=["smooth", "l1", "l1 ball"],
)
def test_more_columns_than_a_hessian_holds(parts, l2, monkeypatch):
    """With few steps allowed, so that a solver that stalls fails at once."""
    monkeypatch.setattr("confide.solvers.composite.MOST_INNER", 1500)
    monkeypatch.setattr("confide.solvers.smooth.MOST_SWEEPS", 300)
    rng = np.random.default_rng(0)
    features = sparse.random_array(
        (1500, WIDE),
        density=8 / WIDE,
        format="csr",
        rng=rng,
        data_sampler=lambda size: rng.normal(size=size) / 4,
    )
    target = np.where(features @ rng.normal(size=WIDE) > 0, 1.0, -1.0)
    linear = rng.normal(size=WIDE)
    objective = Objective(Logistic(), WIDE, l2=l2, **parts)
    rows = bound_rows(features, target, 1.0, 0.0)
    found = minimise(objective, rows, linear, TOLERANCE)
    short = rows.factor[:, None] * features.toarray()
    reference = proximal_gradient_wide(objective, short, target, linear)
    assert found.distance <= TOLERANCE
    assert np.linalg.norm(found.theta - reference) <= found.distance + 1e-11


def proximal_gradient_wide(objective, features, target, linear):
    """As `proximal_gradient`, with a step that fits the logistic loss more closely."""
    features = sparse.csr_array(features)
    top = float(sparse.linalg.svds(features, k=1, return_singular_vectors=False)[0])
    steepest = 1.01 * top**2 / 4 + objective.l2
    theta = np.zeros(objective.dimension)
    for _ in range(400):
        slope = SLOPES["logistic"](features @ theta, target)
        gradient = features.T @ slope + objective.l2 * theta + linear
        theta = prox(
            objective.nonsmooth_part,
            objective.constraint,
            theta - gradient / steepest,
            1 / steepest,
        )
    return theta


def newton_in_extended_precision(features, target, l2):
    """Minimise the logistic objective by Newton's method on gradients in long doubles."""
    features, theta = features.astype(np.longdouble), np.zeros(features.shape[1])
    theta = theta.astype(np.longdouble)
    for _ in range(60):
        chance = 1 / (1 + np.exp(target * (features @ theta)))
        gradient = -(target * chance) @ features + l2 * theta
        weights = chance * (1 - chance)
        hessian = (features * weights[:, None]).T @ features + l2 * np.eye(len(theta))
        step = np.linalg.solve(hessian.astype(float), gradient.astype(float))
        theta = theta - step
        if np.linalg.norm(step) < 1e-17:
            break
    return theta


@pytest.mark.parametrize("penalty", [None, L1(0.0)], ids=["smooth", "composite"])
@pytest.mark.parametrize("tolerance", [TOLERANCE, 1e-14])
def test_distances_are_certified_that_doubles_cannot(penalty, tolerance):
    features, target = made_up(2000, 3)
    features *= 0.999  # rows of just the bound's length are shortened by a rounding
    rows = bound_rows(features, target, 1.0, 0.0)
    objective = Objective(Logistic(), 3, l2=0.02, penalty=penalty)
    found = minimise(objective, rows, np.zeros(3), tolerance)
    reference = newton_in_extended_precision(features, target, 0.02)
    assert found.theta.dtype == np.float64
    assert found.distance <= tolerance
    assert np.linalg.norm((found.theta - reference).astype(float)) <= found.distance


@pytest.mark.parametrize("parts", FINEST, ids=str)
@pytest.mark.parametrize("dimension", [1, 3, 40])
@pytest.mark.parametrize("count", [50, 40_000])
def test_the_finest_tolerance_can_be_certified(parts, dimension, count, monkeypatch):
    """Labels that nothing explains keep every slope at a half, far from easy."""
    monkeypatch.setattr("confide.solvers.smooth.MOST_SWEEPS", 25)
    rng = np.random.default_rng(0)
    features = np.full((count, dimension), 1 / math.sqrt(dimension))
    features *= rng.choice([-1.0, 1.0], size=(count, 1))
    target = rng.choice([-1.0, 1.0], size=count)
    objective = Objective(Logistic(), dimension, 1.0 + 1e-9, l2=1.0, **parts)
    rows = bound_rows(features, target, 1.0 + 1e-9, 0.0)
    tolerance = finest_tolerance(objective, TableShape.of(rows, count))
    reach = tolerance / (2 * finest_share(objective, TableShape.of(rows)))
    found = minimise(objective, rows, np.zeros(dimension), tolerance)
    assert found.distance <= tolerance
    assert np.linalg.norm(found.theta) <= reach * (1 + 1e-12)


@pytest.mark.parametrize("pull", [1e6, 1e12, 1e30])
@pytest.mark.parametrize("parts", [{}, {"penalty": L1(0.5)}], ids=str)
def test_a_long_linear_term_gives_a_shortened_minimiser(pull, parts):
    """Coefficients beyond the reach lie on its sphere, towards the minimiser."""
    features, target = made_up(400, 3)
    rows = bound_rows(features, target, 1.0, 0.0)
    objective = Objective(Logistic(), 3, l2=0.5, **parts)
    direction = np.array([0.6, -0.48, 0.64])
    tolerance = 1e-10
    found = minimise(objective, rows, -pull * direction, tolerance)
    reach = tolerance / (2 * finest_share(objective, TableShape.of(rows)))
    length = min(reach, 2 * pull)
    assert np.linalg.norm(found.theta) == pytest.approx(length, rel=1e-3)
    assert found.distance <= tolerance
    assert found.theta / length == pytest.approx(direction, abs=1e3 / pull + 1e-12)


def test_a_linear_term_may_have_more_digits_than_doubles():
    """A millionth of a unit in the last place of b moves the minimiser by 1/Λ times it."""
    rows = bound_rows(np.zeros((1, 2)), np.ones(1), 1.0, 0.0)
    objective = Objective(Logistic(), 2, l2=1e-6)
    rest = np.array([2.0**-60, -(2.0**-61)])
    b = Twofold.of(np.array([1.0, -1.0])) + rest
    one, other = (minimise(objective, rows, linear, 1e-9).theta for linear in (b, b.high))
    np.testing.assert_allclose(one - other, -rest / 1e-6, atol=2e-9)


def test_rounding_bounds_the_error_of_a_gradient():
    features, target = made_up(5000, DIMENSION)
    objective = Objective(Logistic(), DIMENSION, l2=1.0)
    rows = bound_rows(features, target, 1.0, 0.0)
    problem = Problem(objective, rows, np.zeros(DIMENSION), objective.ridge)
    for seed in range(3):
        theta = 5 * np.random.default_rng(seed).normal(size=DIMENSION)
        coarse, mass = problem.gradient(theta)
        fine, _ = problem.gradient(theta.astype(np.longdouble))
        error = float(np.linalg.norm((coarse - fine).astype(float)))
        assert 0 < error <= problem.rounding(theta, mass)


@pytest.mark.parametrize(
    "parts",
    [
        {"penalty": Nuclear(1.0, (2, 2)), "constraint": Box(-0.2, 0.6)},
        {"penalty": Scad(3.0)},
    ],
    ids=["no exact proximal map", "not convex"],
)
def test_what_cannot_be_certified_is_refused(parts):
    assert not has_exact_prox(parts["penalty"], parts.get("constraint", Box()))
    features, target = made_up(COUNT, DIMENSION)
    objective = Objective(Logistic(), DIMENSION, l2=0.5, **parts)
    with pytest.raises(ConfideError):
        minimise(objective, bound_rows(features, target, 1.0, 0.0), np.zeros(4), 1e-9)


def many_rows(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(20_000, 20))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    score = features @ rng.normal(size=20) + 0.3 * rng.normal(size=20_000)
    return bound_rows(features, np.where(score > 0, 1.0, -1.0), 1.0 + 1e-9, 0.0)


@pytest.mark.parametrize("width", [0.1, 0.01])
@pytest.mark.parametrize(
    "parts", [{"penalty": L1(0.1)}, {"constraint": L2Ball(2.0)}], ids=["l1", "ball"]
)
def test_a_narrow_band_is_solved_on_many_rows(parts, width):
    """A curvature that comes and goes within a hundredth of the margin."""
    objective = Objective(HuberizedHinge(width), 20, row_norm=1.0 + 1e-9, l2=1.0, **parts)
    found = minimise(objective, many_rows(0), np.zeros(20), 1e-8)
    assert found.distance <= 1e-8


BILLION = [
    (Logistic(), None),
    (Clipped(Squared(), 0.5), 1.0),
    (HuberizedHinge(0.5), None),
    (Clipped(Poisson(), 5.0), 9.0),
]
"""Losses, and bounds of their targets."""


@pytest.mark.parametrize("case", BILLION, ids=lambda case: str(case[0]))
@pytest.mark.parametrize("budget", [Approx(1, 1e-6), Pure(1), Zcdp(0.125)], ids=str)
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    "columns", [2, 4, 21, *(pytest.param(k, marks=pytest.mark.slow) for k in (11, 101))]
)
def test_a_billion_rows_are_certified_and_the_second_noise_does_not_show(
    case, budget, relation, columns
):
    """The second noise is below a tenth of the first, for every table, where it can be.

    It cannot for Poisson losses of few columns: their slopes are not known so well.
    The noise of the linear term moves coefficients least where rows curve most. Curvatures
    of all directions add up to at most N κ X², and the mean of their inverse squares is
    least where they are equal.
    """
    loss, bound = case
    objective = Objective(
        loss, columns, math.hypot(1, 0.3), None, target_bound=bound, height=0.3
    )
    found = ObjectivePerturbation().calibrate(objective, budget, relation)
    shape = TableShape(MAX_ROWS, columns)
    finest = finest_tolerance(found.objective, shape, found.largest_ridge)
    assert finest <= found.tolerance
    most = MAX_ROWS * found.objective.smoothness / columns
    first = found.noise.expected_norm(columns) / (most + found.objective.strong_convexity)
    second = found.solver_noise.expected_norm(columns)
    limit = certain_tolerance(found.objective)
    assert second <= first / 10 or found.tolerance == pytest.approx(limit)
    assert second <= first / 10 or (columns <= 4 and loss.targets == "counts")
