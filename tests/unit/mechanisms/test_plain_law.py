"""What a release says about coefficients without a penalty, and what it leaves open."""

import math

import numpy as np
import pytest

from confide.errors import InvalidParameter
from confide.mechanisms import Intervals
from confide.mechanisms.intervals.laws import plain_law, uncertainty
from confide.mechanisms.intervals.moments import Moments
from confide.mechanisms.release import LARGEST_PULL, NoiseRecord
from confide.objectives import Logistic, Objective

CURVATURE = np.array([[50.0, 10.0, 0.0], [10.0, 40.0, 5.0], [0.0, 5.0, 30.0]])
SCATTER = CURVATURE * 0.9
THETA = np.array([0.2, -0.1, 0.3])
ON_TERM = NoiseRecord("gaussian", 4.0, "linear term")


def objective(ridge=2.0, height=0.3):
    return Objective(Logistic(), 3, 1.0, ridge, height=height)


def moments(curvature=CURVATURE, deviation=1e-6):
    return Moments(curvature, SCATTER, deviation, deviation)


def law(noise=ON_TERM, found=None, ridge=2.0, **more):
    return plain_law(objective(ridge), THETA, noise, found or moments(), None, **more)


def test_the_pull_of_the_ridge_is_taken_back():
    np.testing.assert_allclose(
        law().shift, np.linalg.solve(CURVATURE, 2.0 * THETA), rtol=1e-5
    )


def test_without_noise_on_the_moments_the_law_is_the_sandwich_without_a_ridge():
    inverse = np.linalg.inv(CURVATURE)
    error = law().error
    np.testing.assert_allclose(error.sampling, inverse @ SCATTER @ inverse, rtol=1e-5)
    np.testing.assert_allclose(error.privacy, 16.0 * inverse @ inverse, rtol=1e-5)


def test_noise_on_coefficients_moves_with_the_correction():
    error = law(NoiseRecord("gaussian", 0.1, "coefficients")).error
    moved = np.eye(3) + np.linalg.inv(CURVATURE) * 2.0
    np.testing.assert_allclose(error.privacy, 0.01 * moved @ moved.T, rtol=1e-5)


def test_a_tiny_ridge_makes_plain_and_penalised_alike():
    plain = law(ridge=1e-9)
    penalised = uncertainty(objective(1e-9), THETA, ON_TERM, moments(), None)
    every = np.eye(3)
    np.testing.assert_allclose(
        plain.half_lengths(every, 0.95), penalised.half_lengths(every, 0.95), rtol=1e-4
    )
    np.testing.assert_allclose(plain.shift, 0, atol=1e-9)


def test_noise_on_the_curvature_widens_by_what_the_ridge_pulled():
    """The covariance of E u is half the variance of a diagonal entry times |u|² + uuᵀ."""
    rng = np.random.default_rng(1)
    draws = 200_000
    u = np.array([0.7, -0.4, 0.2])
    upper = rng.normal(size=(draws, 3, 3))
    noise = np.triu(upper, 1) / math.sqrt(2)
    noise = noise + np.swapaxes(noise, 1, 2) + upper * np.eye(3)
    seen = np.cov((noise @ u).T)
    np.testing.assert_allclose(seen, (u @ u * np.eye(3) + np.outer(u, u)) / 2, atol=0.01)
    narrow, wide = (
        law(found=moments(deviation=one)).half_lengths(np.eye(3), 0.95) for one in (1e-6, 3)
    )
    assert (wide > narrow).all()


def test_directions_that_noise_hides_are_weak_and_what_leans_on_them_is_not_identified():
    values = np.diag([50.0, 40.0, 0.5])
    found = law(found=moments(values, deviation=2.0))
    np.testing.assert_allclose(np.abs(found.weak), [[0.0], [0.0], [1.0]], atol=1e-12)
    every = np.vstack([np.eye(3), [1.0, 0.0, 0.1], [1.0, 0.0, 1.0]])
    assert found.identified(every).tolist() == [True, True, False, True, False]


def test_negative_curvature_is_noise_and_weak():
    found = law(found=moments(np.diag([50.0, 40.0, -3.0]), deviation=2.0))
    assert found.weak.shape == (3, 1)
    assert np.isfinite(found.half_lengths(np.eye(3), 0.95)).all()


def test_directions_that_no_row_has_are_never_identified():
    absent = np.array([[1.0], [1.0], [0.0]])
    found = law(unidentified=absent)
    lines = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert found.identified(lines).tolist() == [True, False, True]
    assert abs(found.shift @ absent[:, 0]) < 1e-12


def test_a_heavy_ridge_cannot_be_undone():
    light, heavy = (law(ridge=ridge) for ridge in (2.0, 3000.0))
    assert light.identified(np.eye(3)).all()
    assert heavy.pull > LARGEST_PULL
    assert not heavy.identified(np.eye(3)).any()


def test_a_mapped_law_is_that_of_the_mapped_coefficients():
    found = law(found=moments(np.diag([50.0, 40.0, 0.5]), deviation=2.0))
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    mapped = found.mapped(turn)
    back = np.eye(3) @ turn.T
    np.testing.assert_allclose(
        mapped.half_lengths(back, 0.9), found.half_lengths(np.eye(3), 0.9), rtol=1e-9
    )
    assert mapped.identified(back).tolist() == found.identified(np.eye(3)).tolist()


def test_what_intervals_are_about_is_plain_unless_they_are_as_published():
    assert Intervals().of == "plain"
    assert Intervals(variant="published").of == "penalised"
    assert Intervals(of="penalised").of == "penalised"
    with pytest.raises(InvalidParameter, match="penalised"):
        Intervals(variant="published", of="plain")
    with pytest.raises(InvalidParameter, match="plain"):
        Intervals(of="ridge")
