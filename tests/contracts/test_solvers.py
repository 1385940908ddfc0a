"""Solvers reach their tolerance, and their certificates are true.

References come from methods that share nothing with the solvers but the proximal maps,
which have tests of their own: a plain proximal gradient iteration with losses written
out again, and scikit-learn.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.linear_model import Ridge as RidgeRegression

from confide.data.matrix import sums
from confide.data.rows.in_memory import bound_rows
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
    SmoothedHinge,
    Squared,
    prox,
)
from confide.solvers import composite, minimise
from support.plain_solvers import (
    COUNT,
    DIMENSION,
    SLOPES,
    TOLERANCE,
    made_up,
    proximal_gradient,
)

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


def slope_of(name):
    """Return the slope of a loss by its name, written independently of the library."""
    if not name.startswith("clipped "):
        return SLOPES[name]
    inner, bound = SLOPES[name.removeprefix("clipped ")], LOSS_CASES[name].bound
    return lambda eta, y: np.clip(inner(eta, y), -bound, bound)


def test_every_registered_part_is_tried():
    assert set(LOSSES) - set(LOSS_CASES) == {"hinge"}
    assert set(PENALTIES) - set(PENALTY_CASES) == NOT_CONVEX
    assert set(CONSTRAINTS) == set(CONSTRAINT_CASES) - {"none"}
    assert len(PRODUCT) >= 180


@pytest.mark.parametrize(("loss", "penalty", "constraint"), PRODUCT)
def test_every_combination_is_solved_and_its_certificate_is_true(loss, penalty, constraint):
    check_combination(loss, penalty, constraint)


@pytest.mark.parametrize(("loss", "penalty", "constraint"), PRODUCT[::4])
def test_some_combinations_are_solved_without_a_hessian(
    loss, penalty, constraint, monkeypatch
):
    monkeypatch.setattr(composite, "WIDEST_HESSIAN", 0)
    check_combination(loss, penalty, constraint)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "penalty", "constraint"), PRODUCT)
def test_every_combination_is_solved_without_a_hessian(
    loss, penalty, constraint, monkeypatch
):
    monkeypatch.setattr(composite, "WIDEST_HESSIAN", 0)
    check_combination(loss, penalty, constraint)


def check_combination(loss, penalty, constraint):
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
    found = minimise(objective, bound_rows(features, target, 1.0, 0.0), linear, TOLERANCE)
    reference = proximal_gradient(objective, slope_of(loss), features, target, linear)
    assert found.distance <= TOLERANCE
    assert np.linalg.norm(found.theta - reference) <= found.distance + 1e-13
    if objective.constraint is not None:
        inside = objective.constraint.project(found.theta)
        np.testing.assert_allclose(inside, found.theta, atol=1e-14)


@pytest.mark.parametrize("l2", [30.0, 1.0, 0.01])
def test_logistic_regression_agrees_with_scikit_learn(l2):
    features, target = made_up(200, 5)
    found = minimise(
        Objective(Logistic(), 5, l2=l2),
        bound_rows(features, target, 1.0, 0.0),
        np.zeros(5),
        TOLERANCE,
    )
    model = LogisticRegression(
        C=1 / l2, fit_intercept=False, solver="newton-cholesky", tol=1e-13
    ).fit(features, target)
    np.testing.assert_allclose(found.theta, model.coef_[0], rtol=1e-8, atol=2e-9)


def test_poisson_regression_agrees_with_scikit_learn():
    """Its loss is a mean, ours a sum; a ball that does not bind changes nothing."""
    features, target = made_up(200, 5, targets="counts")
    model = PoissonRegressor(alpha=3.0 / 200, fit_intercept=False, tol=1e-13).fit(
        features, target
    )
    reach = 2 * float(np.linalg.norm(model.coef_))
    for loss, ball in ((Poisson(), L2Ball(reach)), (Clipped(Poisson(), 50.0), None)):
        found = minimise(
            Objective(loss, 5, l2=3.0, constraint=ball, target_bound=3.0),
            bound_rows(features, target, 1.0, 0.0),
            np.zeros(5),
            TOLERANCE,
        )
        np.testing.assert_allclose(found.theta, model.coef_, atol=1e-6)


def test_ridge_regression_agrees_with_scikit_learn():
    features, target = made_up(200, 5, targets="numbers")
    found = minimise(
        Objective(Squared(), 5, l2=3.0, constraint=L2Ball(50.0), target_bound=2.0),
        bound_rows(features, target, 1.0, 0.0),
        np.zeros(5),
        TOLERANCE,
    )
    model = RidgeRegression(alpha=3.0, fit_intercept=False).fit(features, target)
    np.testing.assert_allclose(found.theta, model.coef_, atol=2e-9)


@pytest.mark.parametrize("loss", [Hinge(), Clipped(Hinge(), 0.25)], ids=str)
def test_a_loss_with_a_kink_is_refused(loss):
    rows = bound_rows(np.ones((1, 1)), np.ones(1), 1.0, 0.0)
    objective = Objective(loss, 1, l2=2.0)
    with pytest.raises(ConfideError, match="smooth loss"):
        minimise(objective, rows, np.zeros(1), 1e-5)


COMPOSITES = {
    "smooth": {},
    "l1": {"penalty": L1(1.0)},
    "ball": {"constraint": L2Ball(0.8)},
    "groups in an l1 ball": {
        "penalty": GroupL2(0.5, ((0, 1), (2, 3))),
        "constraint": L1Ball(1.0),
    },
}


every_composite = pytest.mark.parametrize("parts", COMPOSITES.values(), ids=COMPOSITES)


@every_composite
@pytest.mark.parametrize("tolerance", [TOLERANCE, 1e-13])
def test_dense_sparse_and_single_precision_rows_give_one_answer(tolerance, parts):
    features, target = made_up(400, DIMENSION)
    features = features.astype(np.float32)
    objective = Objective(Logistic(), DIMENSION, l2=1.0, **parts)
    forms = (
        features,
        features.astype(np.float64),
        np.asfortranarray(features),
        sparse.csr_array(features),
        sparse.csr_matrix(features.astype(np.float64)),
    )
    found = [
        minimise(objective, bound_rows(x, target, 2.0, 0.0), np.zeros(DIMENSION), tolerance)
        for x in forms
    ]
    for one, other in itertools.pairwise(found):
        assert np.linalg.norm(one.theta - other.theta) <= one.distance + other.distance


@every_composite
def test_the_number_of_threads_changes_no_bit(parts, monkeypatch):
    monkeypatch.setattr(sums, "CACHE_BYTES", 4096)
    features, target = made_up(9000, DIMENSION)
    rows = bound_rows(features, target, 1.0, 0.0)
    objective = Objective(Logistic(), DIMENSION, l2=1.0, **parts)
    answers = set()
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found = minimise(objective, rows, np.zeros(DIMENSION), TOLERANCE)
        answers.add((found.theta.tobytes(), found.distance))
    assert len(answers) == 1


@every_composite
def test_the_size_of_a_block_changes_nothing_but_rounding(parts, monkeypatch):
    features, target = made_up(3000, DIMENSION)
    objective = Objective(Logistic(), DIMENSION, l2=1.0, **parts)
    found = []
    for size in (512, 20_000, 2**20):
        monkeypatch.setattr(sums, "CACHE_BYTES", size)
        rows = bound_rows(features, target, 1.0, 0.0)
        found.append(minimise(objective, rows, np.zeros(DIMENSION), TOLERANCE))
    for one, other in itertools.pairwise(found):
        assert np.linalg.norm(one.theta - other.theta) <= one.distance + other.distance


@every_composite
def test_long_rows_are_shortened_and_an_intercept_is_a_column(parts):
    features, target = made_up(300, DIMENSION - 1)
    features *= np.linspace(0.2, 9.0, 300)[:, None]
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    short = features * np.minimum(1.0, 0.8 / lengths)
    written_out = np.column_stack([short, np.full(300, 0.6)])
    objective = Objective(Logistic(), DIMENSION, l2=1.0, **parts)
    answers = [
        minimise(objective, rows, np.zeros(DIMENSION), TOLERANCE)
        for rows in (
            bound_rows(features, target, 0.8, 0.6),
            bound_rows(sparse.csr_array(features), target, 0.8, 0.6),
            bound_rows(written_out, target, 1.0 + 1e-12, 0.0),
        )
    ]
    for one, other in itertools.pairwise(answers):
        gap = np.linalg.norm(one.theta - other.theta)
        assert gap <= one.distance + other.distance + 1e-12


@every_composite
def test_the_objective_is_a_sum_not_a_mean(parts):
    """Twice the rows with twice the ridge, the penalty and the noise: the same point."""
    features, target = made_up(100, DIMENSION)
    linear = np.array([0.5, -1.0, 0.2, 0.0])
    penalty = parts.get("penalty")
    doubled = {
        None: None,
        L1(1.0): L1(2.0),
        GroupL2(0.5, ((0, 1), (2, 3))): GroupL2(1.0, ((0, 1), (2, 3))),
    }[penalty]
    once = minimise(
        Objective(Logistic(), DIMENSION, l2=1.0, **parts),
        bound_rows(features, target, 1.0, 0.0),
        linear,
        TOLERANCE,
    )
    twice = minimise(
        Objective(Logistic(), DIMENSION, l2=2.0, **parts | {"penalty": doubled}),
        bound_rows(np.vstack([features] * 2), np.tile(target, 2), 1.0, 0.0),
        2 * linear,
        TOLERANCE,
    )
    gap = np.linalg.norm(once.theta - twice.theta)
    assert gap <= once.distance + twice.distance
    alone = minimise(
        Objective(Logistic(), DIMENSION, l2=2.0, **parts | {"penalty": doubled}),
        bound_rows(features, target, 1.0, 0.0),
        2 * linear,
        TOLERANCE,
    )
    assert np.linalg.norm(once.theta - alone.theta) > 0.01


@every_composite
@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_rows_and_rows_of_zeros(parts, count):
    """No rows, or rows of zeros: the ridge and the linear term alone decide."""
    linear = np.array([0.5, -1.0, 0.2, 0.0])
    objective = Objective(Logistic(), DIMENSION, l2=2.0, **parts)
    for features in (np.zeros((count, DIMENSION)), sparse.csr_array((count, DIMENSION))):
        rows = bound_rows(features, np.ones(count), 1.0, 0.0)
        found = minimise(objective, rows, linear, TOLERANCE)
        expected = prox(objective.nonsmooth_part, objective.constraint, -linear / 2, 0.5)
        assert np.linalg.norm(found.theta - expected) <= found.distance + 1e-15


@pytest.mark.parametrize(
    "parts",
    [{}, {"penalty": L1(0.3)}, {"constraint": L2Ball(1.0)}],
    ids=["smooth", "l1", "ball"],
)
@pytest.mark.parametrize("copies", [1, 4])
def test_more_columns_than_rows_and_columns_that_repeat(parts, copies):
    features, target = made_up(25, 60 // copies)
    features = np.hstack([features] * copies) / math.sqrt(copies)
    objective = Objective(Logistic(), 60, l2=0.05, **parts)
    found = minimise(
        objective, bound_rows(features, target, 1.0, 0.0), np.zeros(60), TOLERANCE
    )
    reference = proximal_gradient(
        objective, SLOPES["logistic"], features, target, 0.0, sweeps=30_000
    )
    assert found.distance <= TOLERANCE
    assert np.linalg.norm(found.theta - reference) <= found.distance + 1e-10
