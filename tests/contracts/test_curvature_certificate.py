"""Curvature as a certificate: no point is farther from the minimiser than it says."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from confide.data import bound_rows
from confide.objectives import Clipped, Logistic, Objective, Squared
from confide.solvers import smooth
from confide.solvers import smooth as descent
from confide.solvers.problem import CurvatureCertificate, Problem
from confide.solvers.smooth import minimise_smooth


def on_a_line(count, ridge):
    """Return slope and minimiser of count·log(1 + exp(−θ)) + ½·ridge·θ²."""

    def slope(theta):
        return -count / (1 + math.exp(theta)) + ridge * theta

    return slope, brentq(slope, -50, 50, xtol=1e-15)


@pytest.mark.parametrize("centre", [-3.0, 0.0, 2.0])
@pytest.mark.parametrize("apart", [-0.2, 1e-6, 0.01, 0.3])
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 30.0])
def test_it_holds_where_the_curvature_falls_off(centre, apart, ridge):
    """At the centre a logistic loss is far more curved than near its minimiser."""
    count = 1000
    slope, lowest = on_a_line(count, ridge)
    point = lowest + apart
    share = 1 / (1 + math.exp(-centre))
    least = count * share * (1 - share) + ridge
    certificate = CurvatureCertificate(np.array([centre]), least, 1.0)
    assert certificate.distance(np.array([point]), abs(slope(point))) >= abs(apart) * (
        1 - 1e-9
    )


def test_without_the_fall_of_curvature_it_would_not_hold():
    """The same points, with the curvature of the centre taken for that of all of space."""
    count, apart = 1000, 0.3
    slope, lowest = on_a_line(count, 1.0)
    length = abs(slope(lowest + apart))
    assert length / (count / 4 + 1) < 0.2 * apart
    certificate = CurvatureCertificate(np.zeros(1), count / 4 + 1, 1.0)
    assert certificate.distance(np.array([lowest + apart]), length) >= apart


def test_it_is_sharp_next_to_the_centre():
    slope, lowest = on_a_line(1000, 1.0)
    share = 1 / (1 + math.exp(-lowest))
    certificate = CurvatureCertificate(
        np.array([lowest]), 1000 * share * (1 - share) + 1.0, 1.0
    )
    point = np.array([lowest + 1e-6])
    assert certificate.distance(point, abs(slope(point[0]))) <= 1.01e-6


def problem(count=20_000, columns=6, ridge=0.5, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, columns)) / np.sqrt(columns)
    chance = 1 / (1 + np.exp(-features @ rng.normal(size=columns)))
    target = np.where(rng.random(count) < chance, 1.0, -1.0)
    objective = Objective(Logistic(), columns + 1, float(np.hypot(1, 0.3)), ridge)
    rows = bound_rows(features, target, 1.0, 0.3)
    return Problem(objective, rows, rng.normal(size=columns + 1), objective.ridge), rng


def test_a_hessian_in_single_precision_never_promises_too_much():
    for seed in range(5):
        task, rng = problem(seed=seed)
        centre = rng.normal(size=7)
        single = task.gradient_and_hessian(centre)[2]
        exact = task.gradient_and_hessian(centre, double=True)[2]
        certificate = CurvatureCertificate.of(task, centre, single)
        lowest = np.linalg.eigvalsh(exact)[0]
        assert 0.9 * lowest < certificate.least < lowest


def test_other_losses_and_flat_directions_promise_nothing():
    task, _ = problem()
    other = Objective(Clipped(Squared(), 1.0), 7, 1.1, 0.5, target_bound=1.0)
    hessian = task.gradient_and_hessian(np.zeros(7))[2]
    clipped = Problem(other, task.rows, task.linear, other.ridge)
    assert CurvatureCertificate.of(clipped, np.zeros(7), hessian) is None
    flat = hessian.copy()
    flat[0], flat[:, 0] = 0, 0
    flat[0, 0] = 0.5
    assert CurvatureCertificate.of(task, np.zeros(7), flat) is None
    certificate = CurvatureCertificate.of(task, np.zeros(7), hessian)
    assert certificate.distance(np.zeros(7), certificate.least) == math.inf
    assert certificate.distance(np.full(7, 1e3), 1e-30) == math.inf


@pytest.mark.parametrize("seed", range(3))
def test_a_solver_that_stops_by_curvature_is_where_it_says(seed, monkeypatch):
    task, _ = problem(count=60_000, seed=seed)
    monkeypatch.setattr(smooth, "_worth_a_hessian", lambda *_, hidden: True)
    found = minimise_smooth(task, 1e-9)
    split = []
    honest = descent.precise_gradient
    monkeypatch.setattr(
        descent, "precise_gradient", lambda *given: split.append(1) or honest(*given)
    )
    monkeypatch.setattr(smooth.CurvatureCertificate, "of", lambda *_: None)
    again = minimise_smooth(task, 1e-12)
    assert found.distance <= 1e-9
    assert np.linalg.norm(found.theta - again.theta) <= 1e-10 * np.linalg.norm(found.theta)
    assert split
