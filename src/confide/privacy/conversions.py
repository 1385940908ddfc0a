"""Conversions between types of budget."""

import math

from scipy.optimize import minimize_scalar

from confide.errors import InvalidParameter
from confide.privacy.budgets import Approx, Number, Pure, Zcdp, exact
from confide.privacy.rounding import FUNCTION_ERROR, round_down, round_up


def pure_to_approx(budget: Pure, delta: Number) -> Approx:
    """Convert a pure budget to an approximate one, with the same epsilon and any delta.

    Parameters
    ----------
    budget : Pure
        The budget to convert.
    delta : int, float, str, Fraction or Decimal
        Any delta above 0 and below 1.

    Returns
    -------
    Approx
        The budget with the same epsilon and this delta.

    Examples
    --------
    >>> from confide.privacy import Pure, pure_to_approx
    >>> pure_to_approx(Pure(1), 1e-6)
    Approx(1, 1e-06)
    """
    return Approx(budget.epsilon, delta)


def pure_to_zcdp(budget: Pure) -> Zcdp:
    """Convert pure privacy to zCDP: rho is epsilon²/2 (Bun and Steinke 2016).

    Parameters
    ----------
    budget : Pure
        The budget to convert.

    Returns
    -------
    Zcdp
        The zCDP budget that every release with this pure budget satisfies.

    Examples
    --------
    Small pure budgets cost little zCDP, because rho is proportional to epsilon squared:

    >>> from confide.privacy import Pure, pure_to_zcdp
    >>> pure_to_zcdp(Pure(1)), pure_to_zcdp(Pure(0.1))
    (Zcdp(0.5), Zcdp(0.005))
    """
    return Zcdp(budget.epsilon**2 / 2)


def zcdp_to_approx(budget: Zcdp, delta: Number) -> Approx:
    """Convert zCDP to (epsilon, delta) at the best Rényi order.

    The conversion is that of Canonne, Kamath and Steinke (2020). Epsilon is rounded up.

    Parameters
    ----------
    budget : Zcdp
        The budget to convert.
    delta : int, float, str, Fraction or Decimal
        The delta to report, above 0 and below 1; a smaller delta means a larger epsilon.

    Returns
    -------
    Approx
        An approximate budget that every release with this zCDP budget satisfies.

    Examples
    --------
    A release can be reported at several deltas; this does not increase its cost:

    >>> from confide.privacy import Zcdp, zcdp_to_approx
    >>> [round(float(zcdp_to_approx(Zcdp(0.05), d).epsilon), 2) for d in (1e-6, 1e-9)]
    [1.47, 1.88]
    """
    epsilon = _renyi_line_epsilon(round_up(budget.rho), _check_delta(delta))
    return Approx(repr(max(round_up(epsilon), 1e-12)), delta)


def approx_to_zcdp(epsilon: Number, delta: Number) -> Zcdp:
    """Return the largest rho for which rho-zCDP implies (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    epsilon : int, float, str, Fraction or Decimal
        The limit on epsilon.
    delta : int, float, str, Fraction or Decimal
        The limit on delta, above 0 and below 1.

    Returns
    -------
    Zcdp
        A zCDP budget that may be spent in place of (epsilon, delta).

    Examples
    --------
    A limit of (1, 1e-6) allows a rho of about 0.024:

    >>> from confide.privacy import approx_to_zcdp, zcdp_to_approx
    >>> rho = approx_to_zcdp(1, 1e-6)
    >>> round(float(rho.rho), 3), round(float(zcdp_to_approx(rho, 1e-6).epsilon), 6)
    (0.024, 1.0)
    """
    goal, small = round_down(exact(epsilon, "epsilon")), _check_delta(delta)
    low, high = 0.0, 1.0
    while _renyi_line_epsilon(high, small) <= goal:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if _renyi_line_epsilon(middle, small) <= goal:
            low = middle
        else:
            high = middle
    return Zcdp(repr(round_down(low)))


def _check_delta(delta: Number) -> float:
    small = exact(delta, "delta")
    if not 0 < small < 1:
        raise InvalidParameter("delta", "between 0 and 1", delta)
    return round_down(small)


def _renyi_line_epsilon(rho: float, delta: float) -> float:
    """Return the smallest epsilon over orders alpha for a Rényi divergence of rho·alpha.

    Every order gives a valid epsilon, so an inexact minimum is still valid. A bound on the
    rounding error of the terms is added.
    """

    def at(log_excess: float) -> float:
        alpha = 1 + math.exp(log_excess)
        line, part = rho * alpha, math.log1p(-1 / alpha)
        tail, odds = -math.log(delta) / (alpha - 1), math.log(alpha) / (alpha - 1)
        size = line - part + tail + odds + 1 / (alpha - 1)
        return line + part + tail - odds + FUNCTION_ERROR * size

    guess = 0.5 * math.log(math.log(1 / delta) / rho)
    best = minimize_scalar(
        at, bounds=(guess - 4, guess + 4), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, float(best.fun))
