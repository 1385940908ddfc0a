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
    Scad,
    SmoothedHinge,
    Squared,
    has_exact_prox,
    prox,
)
from confide.solvers import finest_tolerance, minimise
from confide.solvers.problem import Problem

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


def hinge_by_its_dual(features, target, linear, ridge, top):
    """Return a point and how far it is from the minimiser of Σ top·hinge plus ridge."""
    signed = features * target[:, None]

    def theta_of(share):
        return (share @ signed - linear) / ridge

    def dual(share):
        theta = theta_of(share)
        return theta @ (ridge * theta) / 2 - share.sum(), signed @ theta - 1

    share = minimize(
        dual,
        np.full(len(target), top / 2),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, top)] * len(target),
        options={"ftol": 1e-17, "gtol": 1e-12, "maxiter": 5000, "maxfun": 20_000},
    ).x
    theta = theta_of(share)
    short = 1 - signed @ theta
    gap = float((top * np.maximum(short, 0) - share * short).sum())
    return theta, math.sqrt(2 * max(gap, 0.0) / np.min(ridge))


@pytest.mark.parametrize("penalty", [None, Ridge((1.0, 0.0, 2.0, 0.5))], ids=str)
def test_the_hinge_is_solved_and_its_certificate_is_true(penalty):
    features, target = made_up(60, DIMENSION)
    linear = np.array([0.5, -1.0, 0.2, 0.0])
    objective = Objective(Hinge(), DIMENSION, l2=2.0, penalty=penalty)
    found = minimise(objective, bound_rows(features, target, 1.0, 0.0), linear, 1e-5)
    reference, error = hinge_by_its_dual(features, target, linear, objective.ridge, 1.0)
    assert error < 1e-3
    assert found.distance <= 1e-5
    assert np.linalg.norm(found.theta - reference) <= found.distance + error


def test_a_clipped_hinge_is_refused_rather_than_solved_as_a_whole_one():
    rows = bound_rows(np.ones((1, 1)), np.ones(1), 1.0, 0.0)
    objective = Objective(Clipped(Hinge(), 0.25), 1, l2=2.0)
    with pytest.raises(ConfideError, match="plain hinge"):
        minimise(objective, rows, np.zeros(1), 1e-5)


def test_the_hinge_agrees_with_scikit_learn():
    features, target = made_up(150, DIMENSION)
    found = minimise(
        Objective(Hinge(), DIMENSION, l2=2.0),
        bound_rows(features, target, 1.0, 0.0),
        np.zeros(DIMENSION),
        1e-5,
    )
    model = LinearSVC(
        C=0.5, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=200_000, random_state=0
    ).fit(features, target)
    np.testing.assert_allclose(found.theta, model.coef_[0], atol=1e-4)


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
@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=["logistic", "hinge"])
def test_dense_sparse_and_single_precision_rows_give_one_answer(loss, parts):
    if parts and not loss.smooth:
        parts = {"penalty": Ridge(0.5)}
    features, target = made_up(400, DIMENSION)
    features = features.astype(np.float32)
    objective = Objective(loss, DIMENSION, l2=1.0, **parts)
    tolerance = TOLERANCE if loss.smooth else 1e-5
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
        expected = prox(objective.kink, objective.constraint, -linear / 2, 0.5)
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


WIDE = 1600


@pytest.mark.parametrize("l2", [20.0, 1.0])
@pytest.mark.parametrize(
    "parts",
    [{}, {"penalty": L1(0.5)}, {"constraint": L1Ball(2.0)}],
    ids=["smooth", "l1", "l1 ball"],
)
def test_more_columns_than_a_hessian_holds(parts, l2, monkeypatch):
    """With few steps allowed, so that a solver that stalls fails at once."""
    monkeypatch.setattr("confide.solvers.composite.MOST_INNER", 1500)
    monkeypatch.setattr("confide.solvers.quasi_newton.MOST_SWEEPS", 300)
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
            objective.kink, objective.constraint, theta - gradient / steepest, 1 / steepest
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
def test_extended_precision_certifies_where_doubles_cannot(penalty, monkeypatch):
    features, target = made_up(2000, 3)
    rows = bound_rows(features, target, 1.0, 0.0)
    objective = Objective(Logistic(), 3, l2=0.02, penalty=penalty)
    precisions = set()
    plain = Problem.gradient

    def watched(self, theta):
        precisions.add(theta.dtype)
        return plain(self, theta)

    monkeypatch.setattr(Problem, "gradient", watched)
    for room in ("quasi_newton", "split_gradient"):
        monkeypatch.setattr(f"confide.solvers.{room}.can_split", lambda task: False)
    found = minimise(objective, rows, np.zeros(3), TOLERANCE)
    reference = newton_in_extended_precision(features, target, 0.02)
    assert np.dtype(np.longdouble) in precisions
    assert found.theta.dtype == np.float64
    assert found.distance <= TOLERANCE
    assert np.linalg.norm((found.theta - reference).astype(float)) <= found.distance


@pytest.mark.parametrize("dimension", [1, 3, 40])
@pytest.mark.parametrize("count", [50, 40_000])
def test_the_finest_tolerance_can_be_certified(dimension, count, monkeypatch):
    """Labels that nothing explains keep every slope at a half, far from easy."""
    monkeypatch.setattr("confide.solvers.quasi_newton.MOST_SWEEPS", 25)
    rng = np.random.default_rng(0)
    features = np.full((count, dimension), 1 / math.sqrt(dimension))
    features *= rng.choice([-1.0, 1.0], size=(count, 1))
    target = rng.choice([-1.0, 1.0], size=count)
    objective = Objective(Logistic(), dimension, l2=1.0)
    rows = bound_rows(features, target, 1.0 + 1e-9, 0.0)
    tolerance = finest_tolerance(objective, rows)
    found = minimise(objective, rows, np.zeros(dimension), tolerance)
    assert found.distance <= tolerance


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


@pytest.mark.parametrize("seed", [0, 10, 16])
def test_the_hinge_is_solved_on_many_rows(seed, monkeypatch):
    """Hundreds of rows sit on the margin; few sweeps are allowed, so stalling fails."""
    monkeypatch.setattr("confide.solvers.quasi_newton.MOST_SWEEPS", 300)
    objective = Objective(Hinge(), 20, row_norm=1.0 + 1e-9, l2=1.0)
    found = minimise(objective, many_rows(seed), np.zeros(20), 1e-3)
    assert found.distance <= 1e-3


@pytest.mark.parametrize("width", [0.1, 0.01])
@pytest.mark.parametrize(
    "parts", [{"penalty": L1(0.1)}, {"constraint": L2Ball(2.0)}], ids=["l1", "ball"]
)
def test_a_narrow_band_is_solved_on_many_rows(parts, width):
    """A curvature that comes and goes within a hundredth of the margin."""
    objective = Objective(HuberizedHinge(width), 20, row_norm=1.0 + 1e-9, l2=1.0, **parts)
    found = minimise(objective, many_rows(0), np.zeros(20), 1e-8)
    assert found.distance <= 1e-8
