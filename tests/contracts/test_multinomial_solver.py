"""Fits of several scores: derivatives, bounds on rounding, and certified distances."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from confide import Schema
from confide.data import Category, Number, Target, bound_rows
from confide.errors import InvalidParameter, UnmetNeeds
from confide.mechanisms import MECHANISMS
from confide.objectives import L1, L2Ball, Multinomial, Objective
from confide.objectives.twofold import Twofold
from confide.privacy import Approx, Neighbours
from confide.solvers import minimise
from confide.solvers.problem import Problem
from confide.solvers.twofold_gradient import twofold_gradient

CLASSES = 4
weighs_or_not = pytest.mark.parametrize("weighs", [False, True], ids=["alike", "weighed"])


def problem(
    count=3000,
    columns=5,
    stretch=1.0,
    height=0.3,
    l2=1.0,
    kind=np.asarray,
    *,
    weighs=False,
):
    rng = np.random.default_rng(8)
    features = rng.normal(size=(count, columns)) * stretch / np.sqrt(columns)
    target = rng.integers(-1, CLASSES, count).astype(float)
    rows = bound_rows(kind(features), target, stretch, height * stretch)
    size = (columns + bool(height)) * (CLASSES - 1)
    norm, longest = stretch * np.hypot(1, height), None
    if weighs:
        norm, longest = norm / 3, norm
        rows = rows.weighed(norm)
    objective = Objective(
        Multinomial(CLASSES), size, norm, l2, responses=CLASSES - 1, longest_row=longest
    )
    linear = rng.normal(size=size)
    return Problem(objective, rows, linear, objective.ridge), rng


@weighs_or_not
def test_gradient_and_hessian_are_those_of_the_value(weighs):
    task, rng = problem(weighs=weighs)
    theta = rng.normal(size=task.objective.dimension)
    gradient, mass, hessian = task.gradient_and_hessian(theta, double=True)
    again, same = task.gradient(theta)
    np.testing.assert_allclose(gradient, again, rtol=1e-12)
    assert mass == pytest.approx(same)
    for j in (0, 7, theta.size - 1):
        step = 1e-5 * np.eye(theta.size)[j]
        rise = (task.value(theta + step) - task.value(theta - step)) / 2e-5
        assert rise == pytest.approx(gradient[j], abs=1e-5)
        bend = (task.gradient(theta + step)[0] - task.gradient(theta - step)[0]) / 2e-5
        np.testing.assert_allclose(bend, hessian[j], atol=1e-5)
    assert (task.diagonal(theta) >= np.diag(hessian) * (1 - 1e-12)).all()


@pytest.mark.parametrize("stretch", [1.0, 1e-3, 37.0])
@pytest.mark.parametrize("height", [0.0, 0.3])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@weighs_or_not
def test_rounding_stays_below_its_bounds(stretch, height, kind, weighs):
    task, rng = problem(stretch=stretch, height=height, kind=kind, weighs=weighs)
    theta = rng.normal(size=task.objective.dimension) / stretch
    found, bound = twofold_gradient(task, theta)
    truth = exact_gradient(task, theta)
    wide = found.high.astype(np.longdouble) + found.low
    units = 1e3 * float(np.finfo(np.longdouble).eps) * task.rows.count * stretch
    assert np.linalg.norm((wide - truth).astype(float)) <= bound + units
    plain, mass = task.gradient(theta)
    error = np.linalg.norm((plain - truth).astype(float))
    assert error <= task.rounding(theta, mass)
    assert bound < 1e-3 * task.rounding(theta, mass)


def exact_gradient(task, theta):
    """Return the gradient in the extended format, written out."""
    x = task.rows.toarray().astype(np.longdouble)
    loss = task.objective.loss
    eta = x @ theta.reshape(-1, CLASSES - 1).astype(np.longdouble)
    slope = loss.slope(eta, task.rows.target)
    if task.rows.weight is not None:
        slope = slope * task.rows.weight[:, None].astype(np.longdouble)
    return (x.T @ slope).ravel() + task.ridge * theta + task.linear


@pytest.mark.parametrize("count", [0, 1, 300, 20_000])
@pytest.mark.parametrize("l2", [0.05, 20.0])
@weighs_or_not
def test_a_certified_distance_holds(count, l2, weighs):
    task, _ = problem(count, l2=l2, weighs=weighs)
    tolerance = 1e-9 / min(l2, 1.0)
    found = minimise(task.objective, task.rows, task.linear, tolerance)
    assert found.distance <= tolerance
    near = minimise(task.objective, task.rows, task.linear, tolerance / 1e3)
    assert np.linalg.norm(found.theta - near.theta) <= found.distance + near.distance
    gradient, error = twofold_gradient(task, Twofold.of(near.theta))
    assert np.linalg.norm(gradient.high) <= l2 * near.distance + error + 1e-11 * (1 + count)


def test_wide_tables_have_no_hessian():
    task, _ = problem(40, columns=600)
    assert task.objective.dimension > 1500
    assert minimise(task.objective, task.rows, task.linear, 1e-9).distance <= 1e-9


def test_rows_of_categories_give_the_same_minimiser():
    rng = np.random.default_rng(1)
    levels = ("a", "b", "c")
    schema = Schema(
        columns=(Number("n", 0, 1), Category("k", levels)),
        target=Target("y", labels=("p", "q", "r")),
    )
    table = pd.DataFrame({"n": rng.uniform(size=500), "k": rng.choice(levels, 500)})
    matrix = schema.compact_design(table)
    target = rng.integers(0, 3, 500).astype(float)
    coded = bound_rows(matrix, target, 1.0, 0.3)
    dense = bound_rows(matrix.toarray(), target, 1.0, 0.3)
    size = 2 * coded.dimension
    objective = Objective(Multinomial(3), size, np.hypot(1, 0.3), 1.0, responses=2)
    linear = rng.normal(size=size)
    points = [minimise(objective, rows, linear, 1e-11).theta for rows in (coded, dense)]
    np.testing.assert_allclose(*points, atol=3e-11)


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"objective", "output"}))
def test_mechanisms_of_one_score_refuse_several(name):
    kinds = {"select", "thresholding"}
    if name in kinds:
        pytest.skip("needs settings; refused by the needs that all have in common")
    objective = Objective(Multinomial(3), 6, l2=1.0, responses=2)
    with pytest.raises((UnmetNeeds, InvalidParameter), match=r"linear predictor|target"):
        MECHANISMS[name]().calibrate(objective, Approx(1, 1e-6), Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("extra", [{"penalty": L1(0.1)}, {"constraint": L2Ball(1.0)}])
@pytest.mark.parametrize("name", ["objective", "output"])
def test_penalties_and_constraints_are_refused(name, extra):
    objective = Objective(Multinomial(3), 6, l2=1.0, responses=2, **extra)
    with pytest.raises(UnmetNeeds, match="one-vs-rest"):
        MECHANISMS[name]().calibrate(objective, Approx(1, 1e-6), Neighbours.ADD_REMOVE)
