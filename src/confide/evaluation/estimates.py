"""Estimates from noisy counts, with intervals that account for sampling and noise.

The rows are treated as a random sample, so the sampling variance of a count is estimated by
the count itself. The noise adds a known variance. Intervals for ratios and curves are
computed by the delta method. Intervals for proportions are computed by inverting a test,
and are therefore also valid near 0 and 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from confide._types import Array

VISIBLE = 4.0
"""A total is hidden by noise if it is at most this many noise standard deviations."""


@dataclass(frozen=True, slots=True)
class ScoreEstimate:
    """Estimate of a score with its interval.

    Parameters
    ----------
    name : str
        Name of the estimate, such as "accuracy".
    value : float or None
        The estimate; None if noise hides it.
    lower : float or None
        Lower end of the interval; None if it is unbounded.
    upper : float or None
        Upper end of the interval; None if it is unbounded.

    Examples
    --------
    >>> from confide.evaluation import ScoreEstimate
    >>> accuracy = ScoreEstimate("accuracy", 0.84, 0.82, 0.86)
    >>> accuracy.lower > 0.5
    True

    The interval excludes 0.5: the model is better than random guessing.
    """

    name: str
    value: float | None
    lower: float | None
    upper: float | None

    def scaled(self, factor: float) -> "ScoreEstimate":
        """Return the estimate in another unit.

        Parameters
        ----------
        factor : float
            Number of new units in one old unit.

        Returns
        -------
        ScoreEstimate
            The estimate and both ends of the interval, multiplied by the factor.
        """
        ends = (self.value, self.lower, self.upper)
        return ScoreEstimate(self.name, *(x if x is None else factor * x for x in ends))


def quantile(level: float) -> float:
    """Return the half-width of a normal interval, in standard deviations."""
    return float(ndtri((1 + level) / 2))


def hidden(name: str, lowest: float | None, highest: float | None) -> ScoreEstimate:
    """Return an estimate without a value, with the widest possible interval."""
    return ScoreEstimate(name, None, lowest, highest)


def between(
    name: str,
    value: float,
    half: float,
    lowest: float = -math.inf,
    highest: float = math.inf,
    *,
    bias: float = 0.0,
) -> ScoreEstimate:
    """Return an estimate with an interval, clipped to the possible values.

    A positive bias of the estimate extends the interval downwards, a negative bias upwards.
    """
    ends = (value, value - half - max(bias, 0.0), value + half - min(bias, 0.0))
    if not all(map(math.isfinite, ends)):
        ends_known = (None if math.isinf(end) else end for end in (lowest, highest))
        return hidden(name, *ends_known)
    return ScoreEstimate(name, *(min(max(end, lowest), highest) for end in ends))


def proportion(
    name: str, inside: Array, outside: Array, variance: float, level: float
) -> ScoreEstimate:
    """Return the share of rows in the first of two groups of cells.

    ``inside`` and ``outside`` are the noisy counts of the two groups, with sums a and b.
    The interval contains every share p for which a test does not reject that (1 − p)·a −
    p·b has mean 0. The test allows for sampling error and for noise of this ``variance`` in
    every cell. A negative sum is set to 0, so that the interval is never empty.
    """
    first, second = float(inside.sum()), float(outside.sum())
    total = first + second
    of_first, of_second = variance * inside.size, variance * outside.size
    if total <= VISIBLE * math.sqrt(of_first + of_second) or total <= 0:
        return hidden(name, 0.0, 1.0)
    first = min(max(first, 0.0), total)
    z = quantile(level) ** 2
    # (first − p·total)² <= z·[of_first·(1 − p)² + of_second·p² + total·p·(1 − p)]
    square = total**2 - z * (of_first + of_second - total)
    slope = -2 * first * total - z * (total - 2 * of_first)
    level_term = first**2 - z * of_first
    root = slope**2 - 4 * square * level_term
    share = first / total
    if square <= 0 or root < 0:
        return ScoreEstimate(name, share, 0.0, 1.0)
    low, high = ((-slope + sign * math.sqrt(root)) / (2 * square) for sign in (-1, 1))
    return ScoreEstimate(name, share, min(max(low, 0.0), share), max(min(high, 1.0), share))


def smooth(
    name: str,
    function: Callable[[Array], float],
    counts: Array,
    variance: float,
    level: float,
    *,
    lowest: float = 0.0,
    highest: float = 1.0,
    bias: float = 0.0,
) -> ScoreEstimate:
    """Estimate a smooth function of noisy counts, with an interval by the delta method."""
    value, gradient = function(counts), slopes_of(function, counts)
    sampling = float((gradient**2 * counts).sum())
    noise = variance * float((gradient**2).sum())
    half = quantile(level) * math.sqrt(max(sampling, 0.0) + noise)
    return between(name, value, half, lowest, highest, bias=bias)


def slopes_of(function: Callable[[Array], float], counts: Array) -> Array:
    """Return the gradient of a function of counts, by central differences."""
    flat = counts.astype(np.float64).ravel()
    found = np.empty(flat.size)
    for place, count in enumerate(flat):
        step = 1e-4 * (abs(count) + 1.0)
        ends = []
        for sign in (1.0, -1.0):
            flat[place] = count + sign * step
            ends.append(function(flat.reshape(counts.shape)))
        flat[place] = count
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found.reshape(counts.shape)


def noise_bias(function: Callable[[Array], float], counts: Array, variance: float) -> float:
    """Return the approximate bias that noise on counts causes in a function of them.

    The bias is the sum of one term per count, computed by the three-point Gauss–Hermite
    rule. Negative counts are set to 0 first. For a function that itself clips counts at 0,
    the result is therefore only about half of the bias.
    """
    whole = np.maximum(counts, 0.0)
    level, step, found = function(whole), math.sqrt(3 * variance), 0.0
    for place in np.ndindex(whole.shape):
        count = whole[place]
        for end in (count - step, count + step):
            whole[place] = end
            found += (function(whole) - level) / 6
        whole[place] = count
    return found


def stands_out(cells: Array, variance: float) -> bool:
    """Return whether the sum of noisy counts is larger than noise alone can explain."""
    return bool(cells.sum() > VISIBLE * math.sqrt(variance * cells.size))
