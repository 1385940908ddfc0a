"""Rényi divergences and zCDP guarantees that follow from bounds on privacy losses.

The module includes the cost of running a mechanism a random number of times and keeping
the best result (docs/proofs/private-tuning.md#random-stopping).
"""

import math

import numpy as np

from confide._types import Array
from confide.accounting.loss_bound import LossBound
from confide.errors import InvalidParameter
from confide.privacy.rounding import FUNCTION_ERROR, round_up


def sharp_renyi(forth: LossBound, back: LossBound, orders: Array) -> Array:
    """Return bounds on Rényi divergences, given loss bounds in both directions.

    This is formula (3) of
    docs/proofs/objective-perturbation.md#objective-gaussian-add-remove. Unlike
    `LossBound.renyi`, it makes use of negative losses. For large orders both bounds are
    equal.

    Parameters
    ----------
    forth : LossBound
        A bound on the privacy loss of one table against its neighbour.
    back : LossBound
        A bound on the privacy loss in the other direction.
    orders : array
        Orders above 1.

    Returns
    -------
    array
        One bound per order, never above that of ``forth.renyi``.

    Examples
    --------
    A Gaussian shift of 0.5 has a divergence of α/8, which is 0.25 at order 2. The bound is
    at least that, and below the simpler bound:

    >>> import numpy as np
    >>> from confide.accounting import gaussian_shift, sharp_renyi
    >>> loss = gaussian_shift(0.5)
    >>> order = np.array([2.0])
    >>> 0.25 <= float(sharp_renyi(loss, loss, order)[0]) < float(loss.renyi(order)[0])
    True
    """
    plain = forth.renyi(orders)
    exponent = np.minimum((orders - 1) * plain, 500.0)
    least = forth.log_moments(-np.ones(1))
    most = back.log_moments(-np.ones(1), -FUNCTION_ERROR)
    total = (
        np.exp(exponent)
        + (orders - 1) * np.exp(least)
        + np.exp(back.log_moments(-orders))
        - orders * np.exp(most)
    )
    rounding = FUNCTION_ERROR * (orders + (1 + exponent) * np.exp(exponent))
    sharp = np.log(np.maximum(total + rounding, 1.0)) / (orders - 1)
    sharp *= 1 + FUNCTION_ERROR
    return np.where(exponent < 500, np.minimum(plain, sharp), plain)


ORDERS = 1 + np.geomspace(1e-3, 1e5, 500)


def zcdp_rho(pairs: tuple[tuple[LossBound, LossBound], ...]) -> float:
    """Return a rho such that all Rényi divergences of order α are at most rho·α.

    Parameters
    ----------
    pairs : tuple of pairs of LossBound
        For each pair of distributions, bounds on the loss in both directions.

    Returns
    -------
    float
        A rho of zCDP that covers all pairs, rounded up.

    Examples
    --------
    The rho of a Gaussian shift of 1 is 0.5, and the result is at least that:

    >>> from confide.accounting import gaussian_shift, zcdp_rho
    >>> one, two = gaussian_shift(0.5), gaussian_shift(1.0)
    >>> zcdp_rho(((two, two),)) >= 0.5
    True
    """
    return max(
        rho_of_curve(sharp_renyi(forth, back, ORDERS), forth) for forth, back in pairs
    )


def rho_of_curve(divergences: Array, bound: LossBound) -> float:
    """Return an upper bound on D_α/α over all orders, from divergences at `ORDERS`.

    (α − 1)D_α and 1/(α(α − 1)) are convex in α. So between two orders of the grid,
    D_α/α exceeds the larger of its values at these two by a factor of at most
    1 + (t + 1/t − 2)/4, where t is the ratio of their values of α(α − 1). D_α does not
    decrease with α, so its value at any split order bounds D_α/α below the split. Only
    orders above the split remain to be checked, and the split with the smallest bound is
    used. Beyond the last order of the grid a closed form is used.

    Parameters
    ----------
    divergences : array
        Bounds on D_α at `ORDERS`.
    bound : LossBound
        The loss bound from which the divergences were computed. It is used for orders
        beyond the grid.

    Returns
    -------
    float
        A rho of zCDP.

    Examples
    --------
    A Gaussian shift of 1 has divergences α/2 and hence a rho of one half. The grid of
    orders makes the result slightly larger:

    >>> from confide.accounting import ORDERS, gaussian_shift, rho_of_curve
    >>> round(rho_of_curve(ORDERS / 2, gaussian_shift(1.0)), 3)
    0.501
    """
    last = float(ORDERS[-1])
    start = float(np.interp(0.0, bound.knots, bound.values))
    tail = bound.slope**2 / 2 + start / last + math.log(2) / (last * (last - 1))
    ends = divergences / ORDERS
    product = ORDERS * (ORDERS - 1)
    ratio = product[1:] / product[:-1]
    inside = np.maximum(ends[1:], ends[:-1]) * (1 + (ratio + 1 / ratio - 2) / 4)
    onwards = np.maximum.accumulate(inside[::-1])[::-1]
    return round_up(max(float(np.maximum(divergences[:-1], onwards).min()), tail))


def approx_delta(orders: Array, divergences: Array, epsilon: float) -> float:
    """Return the smallest delta that Rényi divergences imply at epsilon, rounded up.

    Parameters
    ----------
    orders : array
        Orders above 1.
    divergences : array
        Bounds on the divergences at these orders.
    epsilon : float
        The epsilon at which delta is evaluated.

    Returns
    -------
    float
        Delta, at most 1.

    Examples
    --------
    A Gaussian shift of 0.25 has divergences α/32. The delta that they imply at epsilon 1 is
    above the exact one, by a factor of less than 10:

    >>> from confide.accounting import ORDERS, approx_delta
    >>> from confide.privacy import gaussian_delta
    >>> 1 < approx_delta(ORDERS, ORDERS / 32, 1.0) / gaussian_delta(1.0, 0.25) < 10
    True
    """
    part, size = np.log1p(-1 / orders), divergences + abs(epsilon)
    logs = (orders - 1) * (divergences - epsilon + part) - np.log(orders)
    logs += FUNCTION_ERROR * (2 + (orders - 1) * (size - part) + np.log(orders))
    return min(1.0, round_up(math.exp(min(0.0, float(logs.min())))))


SMALLEST_RHO = 1e-20


def best_of_many_renyi(
    orders: Array, rho: float, *, shape: float, gamma: float, mean: float
) -> Array:
    """Return bounds on Rényi divergences for the best of K runs, each of them rho-zCDP.

    The number of runs K is random. The bound is
    ρα + (1 + η)·min over β ≥ 1 of [ρ(β − 1) + log(1/γ)/β] + log(E K)/(α − 1).
    The proof is in docs/proofs/private-tuning.md#random-stopping.

    Parameters
    ----------
    orders : array
        Orders α above 1.
    rho : float
        The rho of one run.
    shape : float
        The shape η of the truncated negative binomial distribution of K; 0 gives the
        logarithmic distribution.
    gamma : float
        The parameter γ of this distribution, in (0, 1); smaller values mean more runs.
    mean : float
        The expected number of runs, E K.

    Returns
    -------
    array
        One bound per order.

    Examples
    --------
    Ten runs on average cost twelve times as much as one run, at this order:

    >>> import numpy as np
    >>> from confide.accounting import best_of_many_renyi
    >>> cost = best_of_many_renyi(np.array([8.0]), 0.01, shape=1.0, gamma=0.1, mean=10.0)
    >>> round(float(cost[0]) / (0.01 * 8.0), 1)
    12.4
    """
    rare = -math.log(gamma)
    other = max(1.0, math.sqrt(rare / rho))
    constant = (1 + shape) * (rho * (other - 1) + rare / other)
    return rho * orders + constant + math.log(mean) / (orders - 1)


def rho_of_one_run(
    epsilon: float, delta: float, *, shape: float, gamma: float, mean: float
) -> float:
    """Return a rho for each run such that the best of K runs is (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : float
        The epsilon of the search as a whole.
    delta : float
        The delta of the search as a whole.
    shape : float
        The shape η of the distribution of K, as in `best_of_many_renyi`.
    gamma : float
        The parameter γ of this distribution.
    mean : float
        The expected number of runs.

    Returns
    -------
    float
        The largest rho found at which the search as a whole is (epsilon, delta)-DP.

    Raises
    ------
    InvalidParameter
        If the budget is too small for this number of runs.

    Examples
    --------
    More runs leave a smaller rho for each run:

    >>> from confide.accounting import rho_of_one_run
    >>> few = rho_of_one_run(2.0, 1e-6, shape=1.0, gamma=0.2, mean=5.0)
    >>> many = rho_of_one_run(2.0, 1e-6, shape=1.0, gamma=0.02, mean=50.0)
    >>> 0 < many < few
    True
    """

    def holds(rho: float) -> bool:
        curve = best_of_many_renyi(ORDERS, rho, shape=shape, gamma=gamma, mean=mean)
        return approx_delta(ORDERS, curve, epsilon) <= delta

    low, high = math.log(SMALLEST_RHO), math.log(2 * epsilon)
    if not holds(math.exp(low)):
        raise InvalidParameter(
            "budget",
            "large enough for this many runs",
            {"epsilon": epsilon, "delta": delta, "runs": mean},
            "Try fewer runs, or a larger delta.",
        )
    for _ in range(60):
        middle = (low + high) / 2
        if holds(math.exp(middle)):
            low = middle
        else:
            high = middle
    return math.exp(low)
