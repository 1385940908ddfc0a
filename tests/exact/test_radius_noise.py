"""Noise with a radius that is too short promises next to nothing; integrals, no samples."""

import math

import numpy as np
import pytest
from scipy.special import gammaln

from confide.accounting import spherical_delta
from confide.errors import InvalidParameter
from confide.noise import generator
from confide.studies.regression.radius_noise import excess_loss, promised


def plane_excess(epsilon, scale, shape, step):
    """Return δ(ε) in the plane from its two densities, over squares of this side."""
    along = np.arange(-12 * scale, 12 * scale, step) + step / 2
    across = np.arange(0, 12 * scale, step) + step / 2
    constant = gammaln(shape) + shape * math.log(scale) + math.log(2 * math.pi)

    def density(x):
        length = np.hypot(x, across)
        return np.exp((shape - 2) * np.log(length) - length / scale - constant)

    gains = [
        np.maximum(density(x) - math.exp(epsilon) * density(x - 1), 0).sum() for x in along
    ]
    return 2 * step**2 * sum(gains)


@pytest.mark.parametrize(
    ("epsilon", "scale", "shape"), [(0.3, 1.0, 2), (0.5, 1.0, 1), (1.2, 0.7, 1)]
)
def test_the_polar_integral_is_that_over_the_plane(epsilon, scale, shape):
    # The error is of the order of a side where the density has a pole at the centre.
    fine, coarse = (plane_excess(epsilon, scale, shape, step) for step in (0.01, 0.02))
    exact = 2 * fine - coarse if shape == 1 else fine
    assert excess_loss(epsilon, scale, 2, shape) == pytest.approx(exact, abs=3e-4)


@pytest.mark.parametrize("dimension", [3, 9, 14])
def test_the_right_radius_keeps_its_promise(dimension):
    stated = 0.5
    assert excess_loss(stated, 1 / stated, dimension, dimension) < 1e-12
    assert excess_loss(0.4, 1 / stated, dimension, dimension) > 0
    known = spherical_delta(dimension, stated, 0.3)
    assert excess_loss(0.3, 1 / stated, dimension, dimension) <= known * (1 + 1e-9)


@pytest.mark.parametrize(("dimension", "shape"), [(5, 3), (14, 1)])
def test_the_integral_is_the_mean_over_draws(dimension, shape):
    """400,000 draws have a standard error below 8e-4; five of them are allowed."""
    rng, scale, epsilon = generator(3), 5.0, 0.2
    directions = rng.standard_normal((400_000, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = rng.gamma(shape, scale, len(directions))
    points = radius[:, None] * directions
    points[:, 0] -= 1
    other = np.linalg.norm(points, axis=1)
    loss = (other - radius) / scale + (dimension - shape) * np.log(other / radius)
    gains = np.maximum(-np.expm1(epsilon - loss), 0)
    found = excess_loss(epsilon, scale, dimension, shape)
    assert found == pytest.approx(gains.mean(), abs=5 * gains.std() / len(gains) ** 0.5)


def test_an_exponential_radius_in_14_dimensions_is_not_private():
    """The paper on private regression states ε = 0.2 for 14 columns; δ = 0."""
    stated = 0.2
    assert excess_loss(stated, 1 / stated, 14, 1) == pytest.approx(0.4395, abs=1e-4)
    # Even where the move is 0.4 of what the noise is for, as with its constants at R = 1.
    assert excess_loss(stated, 2.5 / stated, 14, 1) > 0.23
    assert promised(1e-6, 1 / stated, 14, 1) > 150
    losses = [excess_loss(epsilon, 5.0, 14, 1) for epsilon in (0.2, 1, 5, 20, 80)]
    assert losses == sorted(losses, reverse=True)
    # The loss has no bound: a radius below r has chance 1 − e^(−r/s), a loss −13·ln r.
    assert losses[-1] > 1e-5


def test_promised_is_where_the_excess_is_as_allowed():
    found = promised(0.01, 5.0, 14, 1)
    assert excess_loss(found, 5.0, 14, 1) == pytest.approx(0.01, rel=1e-4)
    assert promised(0.9, 5.0, 14, 14) == 0.0


@pytest.mark.parametrize("bad", [(-1, 1, 3, 1), (1, 0, 3, 1), (1, 1, 1, 1), (1, 1, 3, 4)])
def test_what_cannot_be_is_refused(bad):
    with pytest.raises(InvalidParameter):
        excess_loss(*bad)
    with pytest.raises(InvalidParameter):
        promised(1.5, 1.0, 3, 1)
