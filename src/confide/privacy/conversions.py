"""The named roads from one kind of budget to another; each rounds towards safety.

There is no road from (epsilon, delta) to a stronger kind, and none from zCDP to pure.
"""

import math

from scipy.optimize import minimize_scalar

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
