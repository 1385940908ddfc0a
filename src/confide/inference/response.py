"""What is expected of rows: means, predictions and marginal effects, with intervals.

Rows are those that somebody hands in, or the middle of the public ranges: never those of
the fit, unless they are handed in again, and then the answer is about private rows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

from confide._types import Array
from confide.errors import InvalidParameter
from confide.inference.law import rounded_level
from confide.inference.toolkit import Inference
from confide.reporting import Coefficient, CoefficientTable

LARGEST_LOG = 700.0
SHORTEST_REACH, LONGEST_REACH = 0.3, 8.0
"""Where, in standard deviations, residuals may be cut for their variance to be told."""


@dataclass(frozen=True, slots=True)
class MarginalStep:
    """One marginal effect: of a small step of a number, or from a baseline to a level.

    ``line`` is the direction of the step. ``places`` are the coefficients of its column,
    and ``base`` what rows have there before the step; None for a number, which stays.
    """

    name: str
    line: Array
    places: tuple[int, ...] = ()
    base: Array | None = None


@dataclass(frozen=True, slots=True)
class MeanTable:
    """Estimates for rows, with the ends of their intervals; NaN where not identified."""

    what: str
    estimate: Array
    lower: Array
    upper: Array
    level: float

    def to_frame(self) -> object:
        """Return a DataFrame with a row for every row."""
        import pandas as pd

        columns = {"estimate": self.estimate, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame(columns)


def inverse_link(link: str, predictor: Array) -> Array:
    """Return the mean that belongs to a linear predictor."""
    if link == "logit":
        return np.asarray(expit(predictor))
    if link == "log":
        return np.exp(np.minimum(predictor, LARGEST_LOG))
    return predictor


def _slopes(link: str, predictor: Array) -> tuple[Array, Array]:
    """Return the first and the second derivative of the mean."""
    mean = inverse_link(link, predictor)
    if link == "logit":
        first = mean * (1 - mean)
        return first, first * (1 - 2 * mean)
    if link == "log":
        return mean, mean
    return np.ones_like(predictor), np.zeros_like(predictor)


def mean_intervals(
    asked: Inference, directions: Array, constant: Array | float, level: float | None = None
) -> MeanTable:
    """Return the expected target of rows, given as directions of the coefficients."""
    _check_means(asked)
    wanted = rounded_level(level, asked.level)
    law, link = asked.law, asked.scale.link
    predictor = law.values(directions) + constant
    half = law.half_lengths(directions, wanted)
    known = law.identified(directions)
    released = directions @ asked.released + constant
    ends = [
        np.where(known, inverse_link(link, predictor + side * half), math.nan)
        for side in (-1, 1)
    ]
    shown = inverse_link(link, np.where(known, predictor, released))
    return MeanTable(asked.scale.mean, shown, ends[0], ends[1], wanted)


def prediction_intervals(
    asked: Inference, directions: Array, constant: Array | float, level: float | None = None
) -> MeanTable:
    """Return where a new target of each row is expected to lie.

    Residuals are taken for normal, counts for Poisson or, where they scatter more,
    negative binomial; the dispersion is estimated from the released moments.
    """
    _check_means(asked)
    link, scale = asked.scale.link, asked.dispersion
    if link == "logit":
        raise InvalidParameter(
            "prediction intervals",
            "asked of a number or a count",
            asked.scale.mean,
            "A label has none; the interval of its probability is that of the mean.",
        )
    if scale is None:
        raise InvalidParameter(
            "prediction intervals",
            "asked of a model that holds the dispersion of residuals",
            "a model of an earlier version, or of penalised coefficients",
            "Fit it again, with plain intervals.",
        )
    wanted = rounded_level(level, asked.level)
    means = mean_intervals(asked, directions, constant, wanted)
    error = asked.law.standard_errors(directions)
    known = asked.law.identified(directions)
    if link == "log":
        spread = scale * means.estimate + (error * means.estimate) ** 2
        ends = _count_ends(means.estimate, spread, wanted)
    else:
        half = asked.law.half_lengths(directions, wanted)
        half = np.hypot(half, float(ndtri((1 + wanted) / 2)) * math.sqrt(scale))
        ends = means.estimate - half, means.estimate + half
    lower, upper = (np.where(known, end, math.nan) for end in ends)
    what = asked.scale.target or "target"
    return MeanTable(f"a new {what}", means.estimate, lower, upper, wanted)


def unclipped_variance(ratio: float, clip: float) -> float:
    """Return the variance of normal residuals from that of residuals cut at ``clip``.

    ``ratio`` is the mean square of what is cut over the share that is not.
    """

    def excess(log_reach: float) -> float:
        reach = math.exp(log_reach)
        within = float(2 * ndtr(reach) - 1)
        density = math.exp(-(reach**2) / 2) / math.sqrt(2 * math.pi)
        square = within - 2 * reach * density + reach**2 * (1 - within)
        return square / within / reach**2 - ratio / clip**2

    low, high = math.log(SHORTEST_REACH), math.log(LONGEST_REACH)
    if excess(high) >= 0:
        return ratio
    if excess(low) <= 0:
        return (clip / SHORTEST_REACH) ** 2
    return (clip / math.exp(float(brentq(excess, low, high)))) ** 2


def _count_ends(mean: Array, variance: Array, level: float) -> tuple[Array, Array]:
    """Return quantiles of counts with a mean and a variance."""
    from scipy.stats import nbinom, poisson

    tail = (1 - level) / 2
    over = np.maximum(variance - mean, 1e-9 * mean)
    size, chance = mean**2 / over, mean / (mean + over)
    wide = variance > mean * (1 + 1e-6)
    lower, upper = (
        np.where(wide, nbinom.ppf(part, size, chance), poisson.ppf(part, mean))
        for part in (tail, 1 - tail)
    )
    return lower, upper


def marginal_effects(
    asked: Inference,
    steps: Sequence[MarginalStep],
    directions: Array,
    constant: Array | float,
    level: float | None = None,
) -> CoefficientTable:
    """Return how much the mean changes with every column, on average over rows.

    Errors are those of the first-order expansion (the delta method).
    """
    _check_means(asked)
    wanted = rounded_level(level, asked.level)
    rows = tuple(_marginal(asked, step, directions, constant, wanted) for step in steps)
    return CoefficientTable(rows, wanted, asked.of, "marginal effect")


def _marginal(
    asked: Inference, step: MarginalStep, rows: Array, constant: Array | float, level: float
) -> Coefficient:
    law, link = asked.law, asked.scale.link

    def change(theta: Array) -> tuple[float, Array]:
        """Return the mean change, and its derivative by the coefficients."""
        if step.base is None:
            slope, bend = _slopes(link, rows @ theta + constant)
            along = float(step.line @ theta)
            gradient = slope.mean() * step.line + along * (bend @ rows) / len(rows)
            return float(slope.mean()) * along, gradient
        before = rows.copy()
        before[:, list(step.places)] = step.base
        after = before + step.line
        means, gradients = [], []
        for one in (before, after):
            predictor = one @ theta + constant
            means.append(float(inverse_link(link, predictor).mean()))
            gradients.append(_slopes(link, predictor)[0] @ one / len(one))
        return means[1] - means[0], gradients[1] - gradients[0]

    value, gradient = change(law.estimate)
    directions = gradient[None, :]
    if not law.identified(np.stack([gradient, step.line])).all():
        return Coefficient(step.name, change(asked.released)[0], identified=False)
    half = float(law.half_lengths(directions, level)[0])
    return Coefficient(
        step.name,
        value,
        value - half,
        value + half,
        float(law.sampling_half_lengths(directions, level)[0]),
        std_error=float(law.standard_errors(directions)[0]),
        p_value=float(law.p_values(directions, np.array([value]))[0]),
    )


def _check_means(asked: Inference) -> None:
    if asked.scale.link == "none":
        raise InvalidParameter(
            "means and marginal effects",
            "asked of a model that predicts a mean: logistic, linear or Poisson",
            "a support-vector machine",
        )
