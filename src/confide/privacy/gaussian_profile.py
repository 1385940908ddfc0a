"""The privacy profile of a Gaussian shift, and the quantities solved from it.

``gaussian_delta(epsilon, mu)`` is the smallest delta for which two unit normals whose
means differ by mu are (epsilon, delta)-indistinguishable. A mechanism with this profile
is mu-GDP.
"""

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2), stable in the far tail."""
    if mu <= 0:
        return max(0.0, -math.expm1(epsilon))
    if epsilon < 0:
        return float(ndtr(mu / 2 - epsilon / mu)) - math.exp(epsilon) * float(
            ndtr(-mu / 2 - epsilon / mu)
        )
    upper = float(log_ndtr(mu / 2 - epsilon / mu))
    lower = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(upper) * -math.expm1(min(lower - upper, 0.0))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon at which a mu-GDP release is (epsilon, delta)-DP."""
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, mu) > delta:
        high *= 2
    epsilon = brentq(
        lambda e: gaussian_delta(e, mu) - delta, 0.0, high, xtol=1e-15 * high, rtol=1e-14
    )
    return float(epsilon) * (1 + 1e-10) + 1e-14 * high


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP."""
    low = high = 1.0
    while gaussian_delta(epsilon, high) <= delta:
        high *= 2
    while gaussian_delta(epsilon, low) > delta:
        low /= 2
    mu = brentq(
        lambda m: gaussian_delta(epsilon, m) - delta,
        low,
        high,
        xtol=1e-14 * low,
        rtol=1e-14,
    )
    rounding = max(1e-10, 1e-14 / mu)
    return float(mu) * (1 - rounding)
