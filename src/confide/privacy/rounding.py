"""Outward rounding: doubles that are upper or lower bounds on exact numbers.

The module also bounds the privacy profile of Gaussian noise: delta = Ψ(ε, μ), where μ is
the shift of the mean in standard deviations. Approximate solutions are found in doubles,
then refined and verified with decimals of at least sixty digits. With a = ε/μ − μ/2,
b = ε/μ + μ/2 and Mills' ratio R(x) = Φ(−x)/φ(x),

    Ψ(ε, μ) = Φ(−a) − e^ε Φ(−b) = φ(a)·(R(a) − R(b)).

The errors of all steps, and the margins that cover them, are derived in
docs/proofs/rounding.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from scipy.optimize import brentq
from scipy.special import log_ndtr

MARGIN = 2.0**-42
"""A bound on the relative error of 64 operations on positive numbers."""
FUNCTION_ERROR = 2.0**-48
"""A bound on the errors of sums, logarithms and normal tails, relative to their terms."""


def round_up(value: float | Fraction) -> float:
    """Return a double that is an upper bound on an exact number.

    Parameters
    ----------
    value : float or Fraction
        A fraction is treated as exact. A double is assumed to be the computed value of a
        positive expression, with at most 64 roundings.

    Returns
    -------
    float
        For a fraction, the nearest double that is not below it; for a double, its product
        with 1 + 2⁻⁴².

    Examples
    --------
    The double nearest to 1/10 is above it, and the double nearest to 3/10 is below it:

    >>> from fractions import Fraction
    >>> from confide.privacy import round_up
    >>> round_up(Fraction(1, 10)) == 0.1, round_up(Fraction(3, 10)) == 0.3
    (True, False)
    """
    if isinstance(value, Fraction):
        near = float(value)
        return near if near >= value else math.nextafter(near, math.inf)
    return float(value) * (1 + MARGIN)


def round_down(value: float | Fraction) -> float:
    """Return a double that is a lower bound on an exact number.

    Parameters
    ----------
    value : float or Fraction
        A fraction is treated as exact. A double is assumed to be the computed value of a
        positive expression, with at most 64 roundings.

    Returns
    -------
    float
        For a fraction, the nearest double that is not above it; for a double, its product
        with 1 − 2⁻⁴².

    Examples
    --------
    >>> from confide.privacy import round_down, round_up
    >>> round_down(1.0) < 1.0 < round_up(1.0)
    True
    """
    if isinstance(value, Fraction):
        near = float(value)
        return near if near <= value else math.nextafter(near, 0.0)
    return float(value) * (1 - MARGIN)


Real: TypeAlias = float | Fraction | Decimal
DIGITS = 60
SERIES_BELOW = 5
"""Below this argument Mills' ratio is computed from a series, and otherwise from a
continued fraction."""
CERTAIN = Decimal("1e-25")
"""A bound on the relative error of a computed value of the Gaussian privacy profile."""
LEAST_DELTA = 2.0**-1022
MOST_STEPS = 100


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the delta of Gaussian noise, Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2), rounded up.

    Parameters
    ----------
    epsilon : float
        The epsilon at which delta is computed.
    mu : float
        The largest change of the mean between neighbours, in standard deviations of the
        noise; 0 or more. A larger shift means a larger delta.

    Returns
    -------
    float
        The smallest delta of a mu-GDP release at this epsilon, rounded up.

    Examples
    --------
    Noise with a standard deviation of four times the sensitivity has a delta of about 3 in
    a million at epsilon 1:

    >>> from confide.privacy import gaussian_delta
    >>> f"{gaussian_delta(epsilon=1, mu=1 / 4):.1e}"
    '2.9e-06'
    """
    if mu <= 0:
        return max(0.0, -math.expm1(epsilon))
    with localcontext(_context(mu)) as context:
        if epsilon >= 0:
            found = _profile(epsilon, mu).delta
        else:
            odds = Decimal(epsilon).exp(context)
            found = 1 - odds + odds * _profile(-epsilon, mu).delta
    return max(math.nextafter(float(found), math.inf), LEAST_DELTA)


@lru_cache(maxsize=1024)
def gaussian_epsilon(mu: float, delta: float | Fraction) -> float:
    """Return the smallest epsilon at which a mu-GDP release is (epsilon, delta)-DP.

    The result is rounded up, by a relative amount below 1e-12.

    Parameters
    ----------
    mu : float
        The largest change of the mean between neighbours, in standard deviations of the
        noise; 0 or more.
    delta : float or Fraction
        The delta to report, above 0 and below 1.

    Returns
    -------
    float
        Epsilon; 0 if the release is (0, delta)-DP.

    Examples
    --------
    The standard deviation is the sensitivity over mu, so half the noise doubles mu:

    >>> from confide.privacy import gaussian_epsilon
    >>> [round(gaussian_epsilon(mu, 1e-6), 2) for mu in (0.25, 0.5)]
    [1.06, 2.25]
    """
    if mu <= 0 or _holds(0.0, mu, delta):
        return 0.0
    small, high = float(delta), 1.0
    while _rough(high, mu, small) > 0:
        high *= 2
    start = brentq(lambda e: _rough(e, mu, small), 0.0, high, xtol=1e-12, rtol=1e-13)

    def improved(epsilon: Decimal) -> Decimal:
        found = _profile(epsilon, mu)
        ratio = found.delta / _decimal(delta)
        return epsilon + ratio.ln() * found.delta / found.fall

    above = round_up(_root(improved, max(float(start), 1e-12), mu))
    while not _holds(above, mu, delta):
        above = round_up(above)
    return above


@lru_cache(maxsize=1024)
def gaussian_mu(epsilon: float | Fraction, delta: float | Fraction) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    epsilon : float or Fraction
        The limit on epsilon, above 0.
    delta : float or Fraction
        The limit on delta, above 0 and below 1.

    Returns
    -------
    float
        The largest shift of the mean that the budget allows, in standard deviations.

    Examples
    --------
    At (1, 1e-6), Gaussian noise needs a standard deviation of 4.2 times the sensitivity:

    >>> from confide.privacy import gaussian_mu
    >>> round(1 / gaussian_mu(1, 1e-6), 1)
    4.2
    """
    goal, small = float(epsilon), float(delta)
    low = high = 1.0
    while _rough(goal, high, small) <= 0:
        high *= 2
    while _rough(goal, low, small) > 0:
        low /= 2
    start = brentq(lambda m: _rough(goal, m, small), low, high, xtol=1e-13 * low)

    def improved(mu: Decimal) -> Decimal:
        found = _profile(epsilon, mu)
        ratio = found.delta / _decimal(delta)
        return mu - ratio.ln() * found.delta / found.density

    below = round_down(_root(improved, float(start), low))
    while not _holds(epsilon, below, delta):
        below = round_down(below)
    return below


def _rough(epsilon: float, mu: float, delta: float) -> float:
    """Return log(Ψ(ε, μ)/delta), computed in doubles."""
    upper = float(log_ndtr(mu / 2 - epsilon / mu))
    lower = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    part = -math.expm1(min(lower - upper, 0.0))
    return upper + math.log(max(part, 1e-300)) - math.log(delta)


def _root(improved: Callable[[Decimal], Decimal], start: float, mu: float) -> float:
    """Solve an equation by Newton steps that at most halve or double the iterate."""
    with localcontext(_context(mu)):
        place = Decimal(start)
        for _ in range(MOST_STEPS):
            moved = min(max(improved(place), place / 2), 2 * place)
            near, place = abs(moved - place) < Decimal("1e-18") * place, moved
            if near:
                break
        return float(place)


def _holds(epsilon: Real, mu: Real, delta: Real) -> bool:
    """Return whether Ψ(ε, μ) is at most delta, even with the largest rounding error."""
    with localcontext(_context(float(mu))):
        return _profile(epsilon, mu).delta * (1 + CERTAIN) <= _decimal(delta)


@dataclass(frozen=True, slots=True)
class _Profile:
    """Ψ(ε, μ) for ε >= 0, and its derivatives.

    ``density`` is ∂Ψ/∂μ = φ(a), and ``fall`` is −∂Ψ/∂ε = φ(a)·R(b).
    """

    delta: Decimal
    density: Decimal
    fall: Decimal


def _profile(epsilon: Real, mu: Real) -> _Profile:
    """Evaluate Ψ and its derivatives in the precision of the current decimal context."""
    shift = _decimal(mu)
    middle = _decimal(epsilon) / shift
    near, far = middle - shift / 2, middle + shift / 2
    density = (-near * near / 2).exp() / _root_of_two_pi()
    there = _mills_ratio(far)
    if near >= 0:
        delta = density * (_mills_ratio(near) - there)
    else:
        delta = 1 - density * (_mills_ratio(-near) + there)
    return _Profile(delta, density, density * there)


def _mills_ratio(x: Decimal) -> Decimal:
    """Return Mills' ratio R(x) = Φ(−x)/φ(x) for x >= 0."""
    if x < SERIES_BELOW:
        square, total, term, odd = x * x, Decimal(0), x, 1
        while total + term != total:
            total += term
            odd += 2
            term = term * square / odd
        return _root_of_two_pi() / 2 * (square / 2).exp() - total
    depth = 16
    while True:
        one, other = (_convergent(x, count) for count in (depth, depth + 1))
        if abs(one - other) <= one.scaleb(-DIGITS):
            return one
        depth *= 2


def _convergent(x: Decimal, depth: int) -> Decimal:
    """Return 1/(x + 1/(x + 2/(x + …))), truncated at a depth.

    Mills' ratio R(x) lies between the values for successive depths.
    """
    rest = x
    for k in range(depth, 0, -1):
        rest = x + k / rest
    return 1 / rest


def _context(mu: float) -> Context:
    """Return a decimal context with sixty digits beyond those lost to cancellation."""
    lost = 2 * max(0, math.ceil(-math.log10(mu)))
    return Context(prec=DIGITS + 20 + lost, Emin=MIN_EMIN, Emax=MAX_EMAX)


def _decimal(value: Real) -> Decimal:
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return Decimal(value)


@lru_cache(maxsize=16)
def _root_of_two_pi_in(digits: int) -> Decimal:
    with localcontext(Context(prec=digits + 10)):
        one = 10 ** (digits + 10)
        pi = 4 * (4 * _inverse_tangent(5, one) - _inverse_tangent(239, one))
        return (Decimal(2 * pi) / one).sqrt()


def _root_of_two_pi() -> Decimal:
    return _root_of_two_pi_in(getcontext().prec)


def _inverse_tangent(x: int, one: int) -> int:
    """Return the inverse tangent of 1/x, in units of 1/one."""
    total, power, odd, sign = 0, one // x, 1, 1
    while power:
        total += sign * (power // odd)
        power //= x * x
        odd, sign = odd + 2, -sign
    return total
