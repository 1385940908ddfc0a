"""Means, predictions and marginal effects for given rows, with intervals.

The rows are those that the caller passes, or a single row in the middle of the public
ranges. If the caller passes rows of the private table, the results are not private.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

from confide._types import Array
from confide.errors import Described, InvalidParameter
from confide.inference.law import rounded_level
from confide.inference.toolkit import Inference
from confide.reporting import Coefficient, CoefficientTable

LARGEST_LOG = 700.0
APART = (
    "Its probabilities depend on the coefficients of all classes: fit it with "
    "multi_class='one-vs-rest', or see effects()."
)
SHORTEST_REACH, LONGEST_REACH = 0.3, 8.0
"""Limits on the clipping bound, in standard deviations, when a variance is recovered."""


@dataclass(frozen=True, slots=True)
class MarginalStep:
    """Change of a row for a marginal effect: of a number, or from a baseline to a level.

    Parameters
    ----------
    name : str
        Name of the effect.
    line : ndarray
        Difference between the design rows after and before the change. For a number, the
        change is by one unit.
    places : tuple of int, default=()
        Positions of the coefficients of the column.
    base : ndarray, optional
        Entries of the design row at ``places`` before the change; None for a number, which
        starts at its value in the row.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.inference import MarginalStep
    >>> smoker = MarginalStep("smoker", np.array([0.0, 1.0]), (1,), base=np.zeros(1))
    >>> (smoker.line[list(smoker.places)] - smoker.base).tolist()
    [1.0]

    Every row is first treated as a non-smoker, then as a smoker.
    """

    name: str
    line: Array
    places: tuple[int, ...] = ()
    base: Array | None = None


@dataclass(frozen=True, slots=True)
class MeanTable:
    """Estimates for the rows of a table, with the ends of their intervals.

    Parameters
    ----------
    what : str
        Name of the estimated quantity.
    estimate : ndarray
        Estimates.
    lower : ndarray
        Lower ends; NaN if the estimate is not identified.
    upper : ndarray
        Upper ends.
    level : float
        Confidence level.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.inference import MeanTable
    >>> found = MeanTable("probability", *map(np.array, ([0.3], [0.2], [0.4])), 0.95)
    >>> found.to_frame()
       estimate  lower  upper
    0       0.3    0.2    0.4

    The probability is below one half with 95 % confidence.
    """

    what: str
    estimate: Array
    lower: Array
    upper: Array
    level: float

    def to_frame(self) -> object:
        """Return the table as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per estimate, with the columns estimate, lower and upper.
        """
        import pandas as pd

        columns = {"estimate": self.estimate, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame(columns)


def inverse_link(link: str, predictor: Array) -> Array:
    """Return the expected target for a linear predictor."""
    if link == "logit":
        return np.asarray(expit(predictor))
    if link == "log":
        return np.exp(np.minimum(predictor, LARGEST_LOG))
    return predictor


def _slopes(link: str, predictor: Array) -> tuple[Array, Array]:
    """Return the first two derivatives of the mean with respect to the linear predictor."""
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
    """Estimate the expected target of every row, with intervals.

    Parameters
    ----------
    asked : Inference
        Released coefficients with the distribution of their errors.
    directions : ndarray
        Rows of the design matrix.
    constant : ndarray or float
        Constant term of the linear predictor of every row, such as an offset.
    level : float, optional
        Confidence level; by default that of the fit.

    Returns
    -------
    MeanTable
        One estimate per row.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.inference import (
    ...     CoefficientLaw, EffectScale, Inference, TableLines, TermLines,
    ...     mean_intervals,
    ... )
    >>> from confide.mechanisms.release import Uncertainty
    >>> error = Uncertainty(np.diag([0.04, 0.25]), np.zeros((2, 2)), "gaussian", 2)
    >>> law = CoefficientLaw(np.array([1.0, 0.5]), error, None, held=False)
    >>> columns = TermLines("age", (0,)), TermLines("dose", (1,))
    >>> terms, scale = TableLines(("age", "dose"), columns), EffectScale("identity")
    >>> asked = Inference(
    ...     law, terms, np.eye(2), np.zeros(2), law.estimate, scale, 0.95, "penalised"
    ... )
    >>> mean_intervals(asked, np.array([[2.0, 2.0]]), constant=1.0).to_frame().round(1)
       estimate  lower  upper
    0       4.0    1.9    6.1

    The mean of a row with age 2 and dose 2 is 1 + 2·1 + 2·0.5 = 4.
    """
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
    """Return a prediction interval for a new target value at each row.

    Residuals are assumed to be normal. Counts are assumed to be Poisson or, if they are
    overdispersed, negative binomial. The dispersion is estimated from the released moments.

    Parameters
    ----------
    asked : Inference
        Released coefficients with the distribution of their errors.
    directions : ndarray
        Rows of the design matrix.
    constant : ndarray or float
        Constant term of the linear predictor of every row, such as an offset.
    level : float, optional
        Confidence level; by default that of the fit.

    Returns
    -------
    MeanTable
        One estimate per row.

    Raises
    ------
    InvalidParameter
        The target is a label, or the dispersion is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.inference import (
    ...     CoefficientLaw, EffectScale, Inference, TableLines, TermLines,
    ...     prediction_intervals,
    ... )
    >>> from confide.mechanisms.release import Uncertainty
    >>> error = Uncertainty(np.diag([0.04, 0.25]), np.zeros((2, 2)), "gaussian", 2)
    >>> law = CoefficientLaw(np.array([1.0, 0.5]), error, None, held=False)
    >>> columns = TermLines("age", (0,)), TermLines("dose", (1,))
    >>> terms, scale = TableLines(("age", "dose"), columns), EffectScale("identity")
    >>> asked = Inference(
    ...     law, terms, np.eye(2), np.zeros(2), law.estimate, scale, 0.95, "penalised", 4.0
    ... )
    >>> found = prediction_intervals(asked, np.array([[2.0, 2.0]]), constant=1.0)
    >>> found.to_frame().round(1)
       estimate  lower  upper
    0       4.0   -0.5    8.5

    The interval is longer than that of the mean: residuals have a variance of 4.
    """
    _check_means(asked)
    link, scale = asked.scale.link, asked.dispersion
    if link == "logit":
        raise InvalidParameter(
            "prediction intervals",
            "requested for a numeric target or a count",
            Described(asked.scale.mean),
            "Labels have no prediction interval; use mean_intervals for their probability.",
        )
    if scale is None:
        raise InvalidParameter(
            "prediction intervals",
            "requested from a model that has released the dispersion of residuals",
            Described(
                "a model with penalised intervals"
                if asked.of == "penalised"
                else "a model that was fitted to weighted records, or by an earlier "
                "version of confide"
            ),
            "Fit it again without weights and with intervals=Intervals(of='plain').",
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
    what = asked.scale.target or "the target"
    return MeanTable(f"a new value of {what}", means.estimate, lower, upper, wanted)


def unclipped_variance(ratio: float, clip: float) -> float:
    """Return the variance of normal residuals from their mean square after clipping.

    Parameters
    ----------
    ratio : float
        Mean square of clipped residuals, divided by the share that is not clipped.
    clip : float
        Absolute value at which residuals are clipped.

    Returns
    -------
    float
        Variance of the residuals before they were clipped.

    Examples
    --------
    >>> from confide.inference import unclipped_variance
    >>> round(unclipped_variance(0.756, clip=1.0), 1)
    1.0

    Normal residuals of variance 1 that are clipped at 1 have a mean square of 0.516.
    Divided by the share of 68 % that is not clipped, this gives 0.756.
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
    """Return the ends of prediction intervals of counts with given means and variances."""
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
    """Return marginal effects on the mean, averaged over rows.

    Standard errors are from a first-order expansion (the delta method).

    Parameters
    ----------
    asked : Inference
        Released coefficients with the distribution of their errors.
    steps : sequence of MarginalStep
        Changes of a row whose effects are estimated.
    directions : ndarray
        Rows of the design matrix.
    constant : ndarray or float
        Constant term of the linear predictor of every row, such as an offset.
    level : float, optional
        Confidence level; by default that of the fit.

    Returns
    -------
    CoefficientTable
        One row per step.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.inference import (
    ...     CoefficientLaw, EffectScale, Inference, MarginalStep, TableLines,
    ...     TermLines, marginal_effects,
    ... )
    >>> from confide.mechanisms.release import Uncertainty
    >>> error = Uncertainty(np.diag([0.04, 0.25]), np.zeros((2, 2)), "gaussian", 2)
    >>> law = CoefficientLaw(np.array([1.0, 0.5]), error, None, held=False)
    >>> columns = TermLines("age", (0,)), TermLines("dose", (1,))
    >>> terms, scale = TableLines(("age", "dose"), columns), EffectScale("logit")
    >>> asked = Inference(
    ...     law, terms, np.eye(2), np.zeros(2), law.estimate, scale, 0.95, "penalised"
    ... )
    >>> step = MarginalStep("age", np.array([1.0, 0.0]))
    >>> round(marginal_effects(asked, [step], np.zeros((1, 2)), 0.0)["age"].estimate, 2)
    0.25

    At a probability of one half, the effect is a quarter per unit of log-odds.
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
        """Return the average change of the mean, and its gradient with respect to θ."""
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
    kind, hint = {
        "none": ("a support-vector machine", ""),
        "softmax": ("a multinomial model of three or more classes", APART),
    }.get(asked.scale.link, ("", ""))
    if kind:
        raise InvalidParameter(
            "means and marginal effects",
            "requested from a model that predicts a mean: logistic, linear or Poisson",
            Described(kind),
            hint,
        )
