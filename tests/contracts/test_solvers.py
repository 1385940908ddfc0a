"""Solvers reach their tolerance, and their certificates are true.

References come from methods that share nothing with the solvers but the proximal maps,
which have tests of their own: a plain proximal gradient iteration with losses written
out again, a dual method for the hinge, and scikit-learn.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.linear_model import Ridge as RidgeRegression
from sklearn.svm import LinearSVC

from confide.data import rows as rows_module
from confide.data.rows import enclose
from confide.errors import ConfideError
from confide.objectives import (
    CONSTRAINTS,
    L1,
    LOSSES,
    PENALTIES,
    Box,
    Clipped,
    ElasticNet,
    GroupL2,
    Hinge,
    HuberizedHinge,
    L1Ball,
    L2Ball,
    Logistic,
    Nonnegative,
    Nuclear,
    Objective,
    Poisson,
    Ridge,
    Scad,
    SmoothedHinge,
    Squared,
    has_exact_prox,
    prox,
)
from confide.solvers import finest_tolerance, minimise
from confide.solvers.sums import Problem

DIMENSION, COUNT, TOLERANCE = 4, 30, 1e-9

SLOPES = {
    "logistic": lambda eta, y: -y * expit(-y * eta),
    "huberized-hinge": lambda eta, y: -y * np.interp(y * eta, [0.5, 1.5], [1.0, 0.0]),
    "smoothed-hinge": lambda eta, y: -y * np.interp(y * eta, [0.0, 1.0], [1.0, 0.0]),
    "squared": lambda eta, y: eta - y,
    "poisson": lambda eta, y: np.expm1(eta) + 1 - y,
}
LOSS_CASES = {
    "logistic": Logistic(),
    "huberized-hinge": HuberizedHinge(0.5),
    "smoothed-hinge": SmoothedHinge(),
    "squared": Squared(),
    "poisson": Poisson(),
    "clipped logistic": Clipped(Logistic(), 0.4),
    "clipped squared": Clipped(Squared(), 0.8),
    "clipped poisson": Clipped(Poisson(), 1.5),
}
PENALTY_CASES = {
    "none": None,
    "ridge": Ridge((1.0, 0.0, 2.0, 0.5)),
    "l1": L1((0.0, 1.0, 2.0, 0.5)),
    "elastic-net": ElasticNet(2.0, 0.6),
    "group-l2": GroupL2(1.0, ((0, 3), (2,))),
    "nuclear": Nuclear(1.0, (2, 2)),
}
CONSTRAINT_CASES = {
    "none": None,
    "l2-ball": L2Ball(0.9),
    "l1-ball": L1Ball(1.1),
    "box": Box(-0.3, 0.6),
    "nonnegative": Nonnegative(),
}
NOT_CONVEX = {"scad", "mcp"}
BOUNDED = {"l2-ball", "l1-ball", "box"}
PRODUCT = [
    (loss, penalty, constraint)
    for loss, penalty, constraint in itertools.product(
        LOSS_CASES, PENALTY_CASES, CONSTRAINT_CASES
    )
    if (loss not in {"squared", "poisson"} or constraint in BOUNDED)
    and (penalty != "nuclear" or constraint in {"none", "l2-ball"})
]


def made_up(count, dimension, seed=0, targets="signs"):
    """Return rows of length at most 1 and labels that a linear model explains in part."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, dimension))
    features /= np.maximum(1.0, np.linalg.norm(features, axis=1, keepdims=True))
    score = features @ rng.normal(size=dimension) + 0.3 * rng.normal(size=count)
    match targets:
        case "signs":
            target = np.where(score > 0, 1.0, -1.0)
        case "numbers":
            target = np.clip(score, -2.0, 2.0)
        case "counts":
            target = np.minimum(rng.poisson(np.exp(score)), 3).astype(float)
    return features, target


def slope_of(name):
    """Return the slope of a loss by its name, written independently of the library."""
    if not name.startswith("clipped "):
        return SLOPES[name]
    inner, bound = SLOPES[name.removeprefix("clipped ")], LOSS_CASES[name].bound
    return lambda eta, y: np.clip(inner(eta, y), -bound, bound)


def proximal_gradient(objective, slope, features, target, linear, sweeps=4000):
    """Minimise by the plainest method there is, until nothing moves any more."""
    steepest = float(np.linalg.norm(features, 2) ** 2) * 8.0 + float(objective.ridge.max())
    theta = np.zeros(objective.dimension)
    for _ in range(sweeps):
        pull = slope(features @ theta, target) @ features
        ahead = theta - (pull + objective.ridge * theta + linear) / steepest
        moved = prox(objective.kink, objective.constraint, ahead, 1 / steepest)
        if np.linalg.norm(moved - theta) <= 1e-16:
            break
        theta = moved
    return moved


def test_every_registered_part_is_tried():
    assert set(LOSSES) - set(LOSS_CASES) == {"hinge"}
    assert set(PENALTIES) - set(PENALTY_CASES) == NOT_CONVEX
    assert set(CONSTRAINTS) == set(CONSTRAINT_CASES) - {"none"}
    assert len(PRODUCT) >= 180


@pytest.mark.parametrize(("loss", "penalty", "constraint"), PRODUCT)
def test_every_combination_is_solved_and_its_certificate_is_true(loss, penalty, constraint):
    chosen = LOSS_CASES[loss]
    features, target = made_up(COUNT, DIMENSION, targets=chosen.targets)
    linear = np.array([0.5, -1.0, 0.2, 0.0])
    objective = Objective(
        chosen,
        DIMENSION,
        l2=2.0,
        penalty=PENALTY_CASES[penalty],
        constraint=CONSTRAINT_CASES[constraint],
        target_bound=3.0,
    )
    found = minimise(objective, enclose(features, target, 1.0, 0.0), linear, TOLERANCE)
    reference = proximal_gradient(objective, slope_of(loss), features, target, linear)
    assert found.distance <= TOLERANCE
    assert np.linalg.norm(found.theta - reference) <= found.distance + 1e-13
    if objective.constraint is not None:
        inside = objective.constraint.project(found.theta)
        np.testing.assert_allclose(inside, found.theta, atol=1e-14)
