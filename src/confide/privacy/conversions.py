"""Conversions between kinds of budget, each rounded towards safety.

``gaussian_delta(epsilon, mu)`` is the smallest delta for which two unit normals whose
means differ by mu are (epsilon, delta)-indistinguishable. A mechanism with this profile
is mu-GDP.
"""

import math

from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr, ndtr

from confide.errors import InvalidParameter
from confide.privacy.budgets import Approx, Number, Pure, Zcdp, exact


def pure_to_approx(budget: Pure, delta: Number) -> Approx:
    """Pure privacy is approximate privacy at any delta, and the delta buys nothing."""
    return Approx(budget.epsilon, delta)


def pure_to_zcdp(budget: Pure) -> Zcdp:
    """Pure epsilon implies zCDP with rho = epsilon²/2 (Bun and Steinke 2016)."""
    return Zcdp(budget.epsilon**2 / 2)


def zcdp_to_approx(budget: Zcdp, delta: Number) -> Approx:
    """Best Renyi order of the conversion by Canonne, Kamath and Steinke (2020)."""
    epsilon = _renyi_line_epsilon(float(budget.rho), _check_delta(delta))
    return Approx(repr(max(epsilon * (1 + 1e-12), 1e-12)), delta)


def approx_to_zcdp(epsilon: Number, delta: Number) -> Zcdp:
    """Return the largest rho whose zCDP implies (epsilon, delta), rounded down."""
    goal, small = float(exact(epsilon, "epsilon")), _check_delta(delta)
    low, high = 0.0, 1.0
    while _renyi_line_epsilon(high, small) <= goal:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if _renyi_line_epsilon(middle, small) <= goal:
            low = middle
        else:
            high = middle
    return Zcdp(repr(low))


def _check_delta(delta: Number) -> float:
    small = exact(delta, "delta")
    if not 0 < small < 1:
        raise InvalidParameter("delta", "between 0 and 1", delta)
    return float(small)


def _renyi_line_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon over orders alpha when the Renyi divergence is rho·alpha.

    Every order gives a valid epsilon, so an imperfect minimum is still sound.
    """

    def at(log_excess: float) -> float:
        alpha = 1 + math.exp(log_excess)
        return (
            rho * alpha
            + math.log1p(-1 / alpha)
            - (math.log(delta) + math.log(alpha)) / (alpha - 1)
        )

    guess = 0.5 * math.log(math.log(1 / delta) / rho)
    best = minimize_scalar(
        at, bounds=(guess - 4, guess + 4), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, float(best.fun))


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
