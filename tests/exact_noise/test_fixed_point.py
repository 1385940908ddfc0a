"""Whole-number bounds hold fifty-digit values, and are tight."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from confide.noise import fixed_point
from support.exact_noise import FEW, MANY

SIZES = [pytest.param(FEW), pytest.param(MANY, marks=pytest.mark.slow)]


def holds(bounds, value, bits, width):
    low, high = bounds
    assert low <= value * mpmath.mpf(2) ** bits <= high
    assert high - low <= width


@pytest.mark.parametrize("count", SIZES)
def test_exponentials_lie_between_their_bounds(count):
    rng = np.random.default_rng(1)
    with mpmath.workdps(120):
        for exponent, bits in zip(
            rng.choice([1e-9, 1e-3, 1.0, 40.0, 300.0], count) * rng.normal(size=count),
            rng.choice([40, 64, 96, 200], count),
            strict=True,
        ):
            x = int(Fraction(exponent) * 2 ** int(bits))
            value = mpmath.exp(mpmath.mpf(x) / mpmath.mpf(2) ** int(bits))
            width = 2 + int(value)
            holds(fixed_point.exp(x, int(bits)), value, int(bits), width)


def test_exponentials_of_extreme_numbers():
    assert fixed_point.exp(0, 64)[0] <= 2**64 <= fixed_point.exp(0, 64)[1]
    assert fixed_point.exp(-(10**300) << 64, 64) == (0, 1)


@pytest.mark.parametrize("count", SIZES)
def test_logarithms_lie_between_their_bounds(count):
    rng = np.random.default_rng(2)
    with mpmath.workdps(120):
        for top, bottom, bits in zip(
            rng.integers(1, 2**62, count),
            2.0 ** rng.uniform(0, 62, count),
            rng.choice([40, 64, 96, 200], count),
            strict=True,
        ):
            x = Fraction(int(top), int(bottom))
            value = mpmath.log(mpmath.mpf(int(top)) / int(bottom))
            holds(fixed_point.log(x, int(bits)), value, int(bits), 2)


@pytest.mark.parametrize("bits", [32, 64, 80, 96, 128, 300])
def test_constants_lie_between_their_bounds(bits):
    with mpmath.workdps(120):
        holds(fixed_point.log_two(bits), mpmath.log(2), bits, 2)
        root = 1 / mpmath.sqrt(2 * mpmath.pi)
        holds(fixed_point.inverse_root_two_pi(bits), root, bits, 2)
