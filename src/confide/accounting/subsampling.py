"""Rényi divergences of the subsampled Gaussian mechanism."""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp

from confide._types import Array
from confide.accounting.events import Sampling
from confide.privacy.rounding import FUNCTION_ERROR

REACH_DEVIATIONS = 13.0
"""Number of standard deviations beyond the tilted mean at which the integrals end."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
RELATIVE_SLACK = 1e-10
"""Relative amount by which integrals are raised, besides the bound on rounding errors."""
LARGEST_ORDER = 4096


def sampled_renyi(order: float, multiplier: float, rate: float, how: Sampling) -> float:
    """Return a tight bound on the Rényi divergence of one noisy sum over a random batch.

    Parameters
    ----------
    order : float
        Any real order above 1.
    multiplier : float
        The standard deviation of the noise, in units of the sensitivity of the sum.
    rate : float
        The fraction of the rows in a batch; at 1 all rows are used.
    how : {'poisson', 'without-replacement'}
        How batches are drawn.

    Returns
    -------
    float
        The bound, rounded up.

    Examples
    --------
    With batches of one row in ten, the divergence is less than a tenth of that of all rows:

    >>> from confide.accounting import sampled_renyi
    >>> sampled_renyi(2.0, 1.0, 1.0, "poisson")
    1.0
    >>> round(sampled_renyi(2.0, 1.0, 0.1, "poisson"), 3)
    0.017
    """
    mu = 1 / multiplier
    if rate >= 1:
        return order * mu**2 / 2
    excess = _log_poisson_excess if how == "poisson" else _log_symmetric_excess
    start = -REACH_DEVIATIONS if how == "poisson" else mu / 2
    points, weights = _panels(start, max(start, order * mu) + REACH_DEVIATIONS, mu)
    ratios = np.logaddexp(math.log1p(-rate), math.log(rate) + mu * points - mu**2 / 2)
    with np.errstate(divide="ignore"):
        logs = np.log(weights) + excess(ratios, order) - points**2 / 2
    total = float(logsumexp(logs)) - 0.5 * math.log(2 * math.pi)
    size = order * np.abs(ratios).max() + (points**2).max()
    size += 1 / ((order - 1) * rate * min(1.0, mu))
    total += RELATIVE_SLACK + FUNCTION_ERROR * float(size)
    return float(np.logaddexp(0.0, total)) / (order - 1) * (1 + FUNCTION_ERROR)


def general_renyi(orders: Array, multiplier: float, rate: float) -> Array:
    """Return bounds on Rényi divergences from a lemma on sampling without replacement.

    The lemma holds for any mechanism. It is Lemma 2 (equation 7) of the paper on Rényi ADMM
    that docs/studies.md lists. Its ε(j) is set to j/(2·multiplier²), the divergence of a
    Gaussian mechanism.

    Parameters
    ----------
    orders : array
        Integer orders of at least 2.
    multiplier : float
        The standard deviation of the noise, in units of the sensitivity of the sum.
    rate : float
        The fraction of the rows in a batch.

    Returns
    -------
    array
        One bound per order.

    Examples
    --------
    This general bound is looser than the bound for Gaussian noise:

    >>> import numpy as np
    >>> from confide.accounting import general_renyi, sampled_renyi
    >>> general = float(general_renyi(np.array([2.0]), 1.0, 0.1)[0])
    >>> general > sampled_renyi(2.0, 1.0, 0.1, "without-replacement")
    True
    """
    counts = np.arange(2, int(orders.max()) + 1, dtype=float)
    costs = (counts - 1) * counts / (2 * multiplier**2) + math.log(2)
    second = 1 / multiplier**2
    costs[0] = min(math.log(4) + math.log(math.expm1(min(second, 700.0))), costs[0])
    tall = orders[:, None]
    with np.errstate(invalid="ignore"):
        ways = gammaln(tall + 1) - gammaln(counts + 1) - gammaln(tall - counts + 1)
    ways = np.where(counts <= tall, ways, -np.inf)
    parts = ways + counts * math.log(rate) + costs
    total = np.asarray(logsumexp(parts, axis=1))
    return np.logaddexp(0.0, total) / (orders - 1)


def best_order_epsilon(divergence: Callable[[float], float], delta: float) -> float:
    """Return the smallest epsilon over all orders, converted as in Canonne et al. (2020).

    (α − 1)D_α is convex in α, and so is the numerator of the conversion. So epsilon has a
    single minimum in α. Every order gives a valid epsilon, so the result is valid even if
    the search misses the minimum.
    """

    def at(log_excess: float) -> float:
        orders = np.array([1 + math.exp(log_excess)])
        return best_epsilon(orders, np.array([divergence(float(orders[0]))]), delta)

    best = minimize_scalar(
        at,
        bounds=(math.log(0.02), math.log(LARGEST_ORDER)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return max(0.0, float(best.fun))


def best_epsilon(orders: Array, divergences: Array, delta: float) -> float:
    """Return the smallest epsilon implied by divergences of several orders, rounded up."""
    part, small = np.log1p(-1 / orders), math.log(delta)
    found = divergences + part - (small + np.log(orders)) / (orders - 1)
    size = divergences - part + (1 - small + np.log(orders)) / (orders - 1)
    return float((found + FUNCTION_ERROR * size).min())


def _panels(start: float, end: float, mu: float) -> tuple[Array, Array]:
    """Return Gauss-Legendre points and weights on panels of width at most 1 and 1/mu."""
    width = min(1.0, 1 / mu)
    edges = np.linspace(start, end, math.ceil((end - start) / width) + 1)
    half = np.diff(edges) / 2
    points = (edges[:-1] + half)[:, None] + half[:, None] * NODES
    return points.ravel(), (half[:, None] * WEIGHTS).ravel()


def _log_poisson_excess(ratios: Array, order: float) -> Array:
    """Return log(X^α − 1 − α(X − 1)) for likelihood ratios X, given as logarithms.

    As X has mean 1, the expression has the same mean as X^α − 1.
    """
    powers = order * ratios
    small = np.minimum(powers, 30.0)
    near = np.expm1(small) - order * np.expm1(np.minimum(ratios, 30.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(powers < 30, np.log(np.maximum(near, 1e-300)), powers)


def _log_symmetric_excess(ratios: Array, order: float) -> Array:
    """Return log((X^α − 1)(1 − X^(1 − α))) for ratios X > 1, given as logarithms."""
    with np.errstate(divide="ignore"):
        return (
            order * ratios
            + np.log(-np.expm1(-order * ratios))
            + np.log(-np.expm1((1 - order) * ratios))
        )
