"""Distribution of the privacy loss of shifted spherical Laplace noise, and its delta.

For noise b and a shift v, both in units of the noise scale, the loss is ‖b + v‖ − ‖b‖. This
is one of the elliptic coordinates of b with foci 0 and −v. Integrating out the other one,
‖b + v‖ + ‖b‖, gives an explicit density of the loss
(docs/proofs/output-perturbation.md#spherical-loss).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import k0e, k1e, xlogy

from confide._types import Array
from confide.privacy import Approx, round_down, round_up
from confide.privacy.rounding import MARGIN

FEWEST, MOST = 3, 1000
"""Smallest and largest dimension in which these bounds are used."""
CELLS, KNOTS, STEP = 2048, 257, 1.0002
SPREAD = 10.0
"""Half-width of the range of integration, in standard deviations of the loss."""
NOTABLY_SHORTER = 0.98
"""Spherical noise is used only if it is smaller than other noise by this factor.

Sizes are standard deviations per coordinate. For spherical noise only one pair
(epsilon, delta) is known, so it composes less well.
"""
ERROR = 1e-9
"""Bound on the relative error of a density, from logarithms, powers and a Bessel ratio."""


@dataclass(frozen=True, slots=True)
class LossLines:
    """A bound on the loss of a release: the maximum of the lines heights + slopes·η.

    η is the privacy loss of the noise alone.

    Parameters
    ----------
    heights : array
        Intercepts of the lines.
    slopes : array
        Slopes of the lines.

    Examples
    --------
    The maximum of 0 and η, at both ends of the range, where chords are exact up to
    rounding:

    >>> import numpy as np
    >>> from confide.accounting import LossLines
    >>> losses, values = LossLines(np.zeros(2), np.array([0.0, 1.0])).chords(2.0)
    >>> [round(float(value), 6) for value in (values[0], values[-1])]
    [0.0, 2.0]
    """

    heights: Array
    slopes: Array

    def chords(self, shift: float) -> tuple[Array, Array]:
        """Return a grid of losses η and the bound at each of them.

        The bound is convex, so linear interpolation between grid points is an upper bound.

        Parameters
        ----------
        shift : float
            The shift in units of the noise scale; no loss η exceeds it.

        Returns
        -------
        tuple of two arrays
            Losses η in increasing order, and the bound at each.
        """
        losses = np.linspace(-shift, shift, KNOTS)
        lines = np.outer(self.slopes, losses) + self.heights[:, None]
        return losses, lines.max(axis=0) + MARGIN * (1 + shift)


def spherical_delta(
    dimension: int,
    shift: float,
    epsilon: float,
    chords: tuple[Array, Array] | None = None,
) -> float:
    """Return an upper bound on delta for shifted spherical Laplace noise.

    Delta is E(1 − e^{ε−W})₊, where W is the loss η of the noise or, if ``chords`` is given,
    a bound on the loss of the release as a function of η. The integral over a grid interval
    is bounded by values at the ends of intervals, because the density is log-concave and W
    does not decrease in η (docs/proofs/output-perturbation.md#spherical-loss).

    Parameters
    ----------
    dimension : int
        The number of coordinates.
    shift : float
        The largest distance between the results for neighbouring tables, in units of the
        noise scale.
    epsilon : float
        The epsilon at which delta is evaluated.
    chords : tuple of two arrays or None, default None
        A bound on the loss of the release, as returned by `LossLines.chords`.

    Returns
    -------
    float
        Delta, rounded up.

    Examples
    --------
    The worst-case loss is the shift itself, but in 20 dimensions a loss near it is rare:

    >>> from confide.accounting import spherical_delta
    >>> spherical_delta(20, shift=1.5, epsilon=1.5)
    0.0
    >>> 0 < spherical_delta(20, shift=1.5, epsilon=1.0) < 0.01
    True
    """
    if dimension < FEWEST:
        return 0.0 if chords is None and shift <= epsilon else 1.0
    first = epsilon
    if chords is not None:
        knots, values = chords
        beyond = np.flatnonzero(values > epsilon)
        first = float(knots[max(0, beyond[0] - 1)]) if len(beyond) else shift
    if first >= shift:
        return 0.0
    beside = _beside(dimension, shift)
    wide = min(1.0, SPREAD / math.sqrt(dimension)) * shift
    whole = np.linspace(-wide, wide, CELLS + 1)
    logs = _log_density(whole, dimension, shift, beside)
    top = float(logs.max())
    least = np.exp(np.minimum(logs[1:], logs[:-1]) - top)
    total = float(np.sum(least * np.diff(whole)))
    if not total > 0:
        return 1.0  # everything underflows at very large budgets: no guarantee
    places = first + (shift - first) * np.linspace(0.0, 1.0, CELLS + 1) ** 2
    places[-1] = shift
    widths = np.diff(places)
    most = np.exp(_cell_tops(_log_density(places, dimension, shift, beside), widths) - top)
    losses = places[1:] if chords is None else np.interp(places[1:], knots, values)
    gains = np.maximum(-np.expm1(np.minimum(epsilon - losses, 1.0)), 0.0)
    gains += ERROR * (1 + shift)
    found = float(np.sum(most * widths * gains))
    return min(1.0, round_up(found / total * (1 + ERROR * dimension)))


def spherical_cost(dimension: int, epsilon: float, scale: float) -> float:
    """Return delta at epsilon for spherical noise of a given scale and a shift of 1."""
    return spherical_delta(dimension, round_up(1 / scale), epsilon)


def smallest_spherical(
    cost: Callable[[float], float], budget: Approx, dimension: int, deviation: float
) -> float | None:
    """Return a nearly minimal scale of spherical noise at which delta is within the budget.

    Parameters
    ----------
    cost : callable
        Delta as a function of the scale, at the budget's epsilon.
    budget : Approx
        The budget.
    dimension : int
        The number of coordinates.
    deviation : float
        The standard deviation per coordinate of the noise that would be used otherwise.

    Returns
    -------
    float or None
        The scale of the spherical noise; None if its standard deviation would not be
        notably smaller than that of the other noise.

    Examples
    --------
    Above a thousand dimensions Gaussian noise is about as small, so no scale is returned:

    >>> from confide import Approx
    >>> from confide.accounting import smallest_spherical
    >>> smallest_spherical(lambda scale: 1 / scale, Approx(1, 1e-6), 1001, 1.0) is None
    True
    """
    if dimension > MOST:
        return None
    delta = round_down(budget.delta)
    high = NOTABLY_SHORTER * deviation / math.sqrt(dimension + 1)
    if cost(high) > delta:
        return None
    low = high / 2
    while high > low * STEP:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if cost(middle) <= delta else (middle, high)
    return high


def _log_density(losses: Array, dimension: int, shift: float, beside: float) -> Array:
    """Return the logarithm of the density of the loss, up to a constant."""
    square = np.maximum((shift - losses) * (shift + losses), 0.0)
    with np.errstate(divide="ignore"):
        powers = xlogy((dimension - 3) / 2, square)
    return np.asarray(losses / 2 + powers + np.log(beside + square))


def _beside(dimension: int, shift: float) -> float:
    """Return 2u(p−1)·K_{p/2}(u/2)/K_{p/2−1}(u/2) for dimension p and shift u.

    K is the modified Bessel function of the second kind.
    """
    half = shift / 2
    order, ratio = 0.5, 1.0
    if dimension % 2 == 0:
        order, ratio = 1.0, float(k1e(half) / k0e(half))
    while order < dimension / 2:
        ratio = 2 * order / half + 1 / ratio
        order += 1
    return 2 * shift * (dimension - 1) * ratio


def _cell_tops(logs: Array, widths: Array) -> Array:
    """Return upper bounds on a concave function over grid intervals, from grid values."""
    rises = np.diff(logs) / widths
    left = np.full(len(widths), np.inf)
    left[1:] = logs[1:-1] + np.maximum(rises[:-1], 0.0) * widths[1:]
    right = np.full(len(widths), np.inf)
    right[:-1] = logs[1:-1] + np.maximum(-rises[1:], 0.0) * widths[:-1]
    return np.asarray(np.maximum(np.minimum(left, right), np.maximum(logs[1:], logs[:-1])))
