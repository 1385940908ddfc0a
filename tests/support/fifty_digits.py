"""Normal tails, profiles and integrals of loss bounds to fifty digits and more."""

import mpmath

DIGITS = 60
"""Fifty, and ten that differences may take."""


def profile(epsilon, mu):
    """Return Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) for exact ε and μ."""
    epsilon, mu = number(epsilon), number(mu)
    extra = max(0, int(-2 * mpmath.log10(mu))) + 40
    with mpmath.workdps(DIGITS + extra):
        tail = mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - tail


def number(value):
    """Return a double or a fraction exactly, as far as the digits go."""
    if hasattr(value, "denominator") and not isinstance(value, float):
        return mpmath.mpf(value.numerator) / value.denominator
    return mpmath.mpf(float(value))


def between(low, high):
    """Return Φ(high) − Φ(low), without cancellation in either tail."""
    if low > 0:
        return mpmath.ncdf(-low) - mpmath.ncdf(-high)
    return mpmath.ncdf(high) - mpmath.ncdf(low)


def pieces(bound):
    """Yield left end, right end, intercept and slope of every piece of a loss bound."""
    knots, values = [*map(number, bound.knots)], [*map(number, bound.values)]
    if not bound.folded:
        yield mpmath.mpf("-inf"), knots[0], values[0], mpmath.mpf(0)
    for i in range(len(knots) - 1):
        slope = (values[i + 1] - values[i]) / (knots[i + 1] - knots[i])
        yield knots[i], knots[i + 1], values[i] - slope * knots[i], slope
    slope = number(bound.slope)
    yield knots[-1], mpmath.mpf("inf"), values[-1] - slope * knots[-1], slope


def bound_delta(bound, epsilon):
    """Return E(1 − e^{ε−M})₊."""
    epsilon, total = number(epsilon), mpmath.mpf(0)
    for left, right, offset, slope in pieces(bound):
        start = left
        if slope > 0:
            start = max(left, (epsilon - offset) / slope)
        elif offset <= epsilon:
            continue
        if start < right:
            factor = mpmath.exp(epsilon - offset + slope**2 / 2)
            total += between(start, right) - factor * between(start + slope, right + slope)
    return total * (bound.folds if bound.folded else 1)


def bound_log_moment(bound, power):
    """Return log E e^{k·M}."""
    power = number(power)
    total = mpmath.fsum(
        mpmath.exp(power * offset + (power * slope) ** 2 / 2)
        * between(left - power * slope, right - power * slope)
        for left, right, offset, slope in pieces(bound)
    )
    return mpmath.log(total * (bound.folds if bound.folded else 1))
