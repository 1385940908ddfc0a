"""Twofold numbers, and the functions tabulated for them, against 90 digits."""

import operator

import mpmath
import numpy as np
import pytest

from confide.objectives import (
    Clipped,
    HuberizedHinge,
    Logistic,
    Nuclear,
    Poisson,
    Squared,
)
from confide.objectives.proximal import twofold_prox
from confide.objectives.tabulated import EXP_ERROR, TANH_ERROR, exp_of, tanh_of_half
from confide.objectives.twofold import TWOFOLD_UNIT, Twofold, two_product, two_sum

COUNT = 2000


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(90):
        yield


def drawn(rng, count=COUNT):
    """Return numbers of many sizes with digits in both parts."""
    high = rng.normal(size=count) * 10.0 ** rng.integers(-12, 12, count)
    return Twofold.sum_of(high, high * rng.normal(size=count) * 2.0**-54)


def exact(number):
    return [
        mpmath.mpf(float(high)) + mpmath.mpf(float(low))
        for high, low in zip(np.ravel(number.high), np.ravel(number.low), strict=True)
    ]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_arithmetic_keeps_its_bound(name):
    rng = np.random.default_rng(0)
    one, other = drawn(rng), drawn(rng)
    function = getattr(operator, name)
    for found, a, b in zip(
        exact(function(one, other)), exact(one), exact(other), strict=True
    ):
        assert abs(found - function(a, b)) <= TWOFOLD_UNIT * abs(function(a, b))


def test_arithmetic_with_doubles_keeps_its_bound():
    rng = np.random.default_rng(1)
    one, other = drawn(rng), rng.normal(size=COUNT)
    for function in (operator.add, operator.sub, operator.mul, operator.truediv):
        pairs = zip(exact(function(one, other)), exact(one), other, strict=True)
        for found, a, b in pairs:
            whole = function(a, mpmath.mpf(float(b)))
            assert abs(found - whole) <= TWOFOLD_UNIT * abs(whole)


def test_roots_and_lengths_keep_their_bound():
    number = abs(drawn(np.random.default_rng(2)))
    for found, a in zip(exact(number.root()), exact(number), strict=True):
        assert abs(found - mpmath.sqrt(a)) <= TWOFOLD_UNIT * mpmath.sqrt(a)
    (length,) = exact(number.norm())
    whole = mpmath.sqrt(sum(a * a for a in exact(number)))
    assert abs(length - whole) <= 32 * TWOFOLD_UNIT * whole
    assert Twofold.of(np.zeros(3)).norm().high == 0


def test_errors_of_doubles_are_doubles():
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(2, COUNT)) * 10.0 ** rng.integers(-9, 9, (2, COUNT))
    for function, found in ((operator.add, two_sum), (operator.mul, two_product)):
        total, error = found(one, other)
        for t, e, a, b in zip(total, error, one, other, strict=True):
            whole = function(mpmath.mpf(float(a)), mpmath.mpf(float(b)))
            assert mpmath.mpf(float(t)) + mpmath.mpf(float(e)) == whole


def margins(rng):
    """Return numbers near and between the points of the tables, and far away."""
    near = (rng.integers(-20_000, 20_000, COUNT) + rng.choice([0.0, 0.5], COUNT)) / 256
    high = np.concatenate(
        [near, rng.normal(size=COUNT) * 10.0 ** rng.integers(-6, 2, COUNT)]
    )
    high = high[np.abs(high) <= 64]
    return Twofold.sum_of(high, high * rng.normal(size=high.size) * 2.0**-54)


def test_tabulated_functions_keep_their_bounds():
    number = margins(np.random.default_rng(4))
    pairs = zip(exact(tanh_of_half(number)), exact(number), strict=True)
    assert all(abs(found - mpmath.tanh(m / 2)) <= TANH_ERROR for found, m in pairs)
    for found, m in zip(exact(exp_of(number)), exact(number), strict=True):
        assert abs(found - mpmath.exp(m)) <= EXP_ERROR * mpmath.exp(m)


def test_far_away_functions_are_those_of_doubles():
    far = Twofold.of(np.array([-900.0, -65.0, 65.0, 700.0]))
    np.testing.assert_array_equal(tanh_of_half(far).high, [-1, -1, 1, 1])
    np.testing.assert_allclose(exp_of(far).high, np.exp(far.high), rtol=1e-15, atol=1e-27)


@pytest.mark.parametrize(
    "loss",
    [
        Logistic(),
        HuberizedHinge(0.3),
        Clipped(Squared(), 0.7),
        Clipped(Poisson(), 4.0),
        Clipped(Logistic(), 0.4),
    ],
    ids=str,
)
def test_slopes_beyond_doubles_round_to_slopes(loss):
    rng = np.random.default_rng(5)
    eta = rng.normal(size=COUNT) * 3
    label = (
        rng.integers(0, 9, COUNT)
        if loss.targets == "counts"
        else rng.choice([-1.0, 1], COUNT)
    )
    fine = loss.twofold_slope(Twofold.of(eta), label)
    np.testing.assert_allclose(fine.high, loss.slope(eta, label), rtol=0, atol=4e-15)
    assert np.all(np.abs(fine.low) <= np.spacing(np.abs(fine.high)))


@pytest.mark.parametrize("entries", [[0.0] * 4, [3.0, 0.0, 0.0, 0.0], [2.0, 4.0, 1.0, 2.0]])
def test_matrices_of_low_rank_are_shrunk_without_a_warning(entries):
    kink, point = Nuclear(1.0, (2, 2)), np.array(entries)
    with np.errstate(all="raise", under="ignore"):
        found = twofold_prox(kink, None, Twofold.of(point), 1.0)
    assert found.high == pytest.approx(kink.prox(point, 1.0), abs=1e-15)
