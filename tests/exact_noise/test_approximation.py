"""Doubles that stand for a real vector are as near to it as they say, always."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from confide.errors import InvalidParameter
from confide.noise import Entropy
from confide.noise.lattice import approximate
from confide.noise.real_vector import (
    Draws,
    ScaledDraws,
    exponential,
    gumbel,
    laplace,
    normal,
    spherical_laplace,
)
from confide.noise.staircase import NORMAL, Real
from support.exact_noise import FALSE_ALARM, LAWS

NOISES = [normal, laplace, exponential, gumbel, spherical_laplace]


def squared_distance(found, noise):
    """Return the squared length of value + rest − b, from deep digits."""
    total = Fraction(0)
    for index in range(len(found.value)):
        low, high = noise.enclose(index, 6)
        here = Fraction(float(found.value[index])) + Fraction(float(found.rest[index]))
        total += max(abs(here - low), abs(here - high)) ** 2
    return total


@pytest.mark.parametrize("draw", NOISES)
@pytest.mark.parametrize("scale", [1.0, 3e-140, 7e140])
def test_vectors_are_within_their_distance(draw, scale):
    entropy = Entropy.seeded(71)
    for count in (1, 2, 40):
        noise = draw(count, scale, entropy)
        found = approximate(noise, 2.0**-40 * scale)
        assert squared_distance(found, noise) <= Fraction(found.distance) ** 2
        assert found.distance <= 2.0**-40 * scale
        assert not found.rest.any()


@pytest.mark.parametrize("draw", NOISES)
def test_a_finer_tolerance_takes_a_second_double(draw):
    noise = draw(5, 1.0, Entropy.seeded(72))
    found = approximate(noise, 2.0**-90)
    assert squared_distance(found, noise) <= Fraction(found.distance) ** 2
    assert found.distance <= 2.0**-90
    assert found.rest.any()


@pytest.mark.parametrize("size", [10**6, 10**20, 10**30])
def test_vectors_far_out_are_as_near(size):
    """A number that large never comes; if it did, its digits would be there."""
    draws = Draws.of(NORMAL, 3, Entropy.seeded(73))
    real = Real(size * 2**80 + 12345, 1, 80)
    values = np.array([draws.values[0], real.value, draws.values[2]])
    far = replace(draws, known={**draws.known, 1: real}, values=values)
    noise = ScaledDraws.of(far, 1.0)
    found = approximate(noise, 2.0**-40)
    assert squared_distance(found, noise) <= Fraction(found.distance) ** 2
    assert found.distance <= 2.0**-40
    assert (found.rest[1] != 0) == (size > 10**3)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("bits", [4, 30, 52])
def test_radii_hold_with_a_tenth_to_spare(law, bits):
    noise = ScaledDraws.of(Draws.of(law, 3000, Entropy.seeded(74), bits), 0.7)
    for index in range(3000):
        low, high = noise.enclose(index, 2)
        value = Fraction(float(noise.values[index]))
        off = max(abs(value - low), abs(value - high))
        assert off <= Fraction(float(noise.radii[index])) * Fraction(9, 10)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 5, 6])
def test_a_spherical_laplace_has_its_radius(dimension):
    """Its length over the scale is Gamma(p); Kolmogorov–Smirnov, false alarm 1e-6."""
    entropy = Entropy.seeded(75)
    radii = [
        np.linalg.norm(spherical_laplace(dimension, 0.5, entropy).values)
        for _ in range(3000)
    ]
    law = stats.gamma(dimension, scale=0.5)
    assert stats.kstest(radii, law.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.inf, math.nan])
def test_a_tolerance_is_positive(tolerance):
    with pytest.raises(InvalidParameter, match="tolerance"):
        approximate(normal(2, 1.0, Entropy.seeded(1)), tolerance)
