"""Comparison of two models on the same rows.

The losses of the models are subtracted row by row, so that variation common to both cancels
out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from confide._types import AnyArray, Array
from confide.data.matrix.sums import MAX_ROWS, Partial
from confide.errors import Described, InvalidParameter
from confide.evaluation.counts import MOST_DEVIANCE, CountErrors
from confide.evaluation.estimates import (
    VISIBLE,
    ScoreEstimate,
    between,
    hidden,
    smooth,
    stands_out,
)
from confide.evaluation.noises import (
    BoundedSums,
    Look,
    LookNoise,
    NoisySums,
    sums_look,
    table_look,
)
from confide.evaluation.numbers import NumberErrors
from confide.evaluation.score import ScoreParts, ScoreRule
from confide.evaluation.several_classes import SeveralClasses
from confide.evaluation.two_classes import MOST_LOG_LOSS, TwoClasses, roc_area
from confide.mechanisms.base import publish
from confide.noise import Entropy
from confide.privacy import Neighbours

AREA_CELLS = 128
AREA_BINS = 12
FIRST_SHARE, AREA_SHARE = Fraction(1, 10), Fraction(1, 2)
FAVOUR = (
    "A negative difference in a loss, or a positive one in the area under the ROC curve, "
    "favours the first model."
)
CUT = 4.0
"""Residuals are clipped, as in a fit, at the width of the range divided by this number."""


@dataclass(frozen=True, slots=True)
class LossLine:
    """Name of a loss, and the largest value of the loss, by which it is divided."""

    name: str
    unit: float


def loss_lines(rule: ScoreRule) -> tuple[LossLine, ...]:
    """Return the losses by which two models with this type of score are compared."""
    match rule:
        case TwoClasses() | SeveralClasses():
            lines: tuple[LossLine, ...] = (LossLine("error rate", 1.0),)
            if rule.chances:
                brier = 1.0 if isinstance(rule, TwoClasses) else 2.0
                lines += (
                    LossLine("Brier score", brier),
                    LossLine("log loss, capped at 4", MOST_LOG_LOSS),
                )
            return lines
        case NumberErrors():
            most = rule.width / CUT
            return (
                LossLine(f"squared error, residuals clipped at {most:.3g}", most**2),
                LossLine(f"absolute error, residuals clipped at {most:.3g}", most),
            )
        case CountErrors():
            return (
                LossLine("deviance, capped at 16", MOST_DEVIANCE),
                LossLine("absolute error", rule.most),
            )
    raise InvalidParameter("model", "one that supports a private score", rule.title)


def row_losses(rule: Any, margins: Array, target: AnyArray) -> list[Array]:
    """Return the losses of every row, divided by their largest values.

    The losses of a row do not depend on other rows.
    """
    match rule:
        case TwoClasses():
            positive = np.asarray(target) == 1
            score = margins[:, 0]
            found = [((score > 0) != positive).astype(np.float64)]
            if rule.chances:
                sign = np.where(positive, score, -score)
                found += [
                    np.asarray(expit(-sign)) ** 2,
                    np.minimum(-log_expit(sign) / MOST_LOG_LOSS, 1.0),
                ]
            return found
        case SeveralClasses():
            wrong = margins.argmax(axis=1) != np.asarray(target).astype(np.intp)
            losses = rule.losses(margins, target) if rule.chances else ()
            return [wrong.astype(np.float64), *losses]
        case NumberErrors():
            error = np.minimum(np.abs(rule.errors(margins, target)[2]) * CUT, 1.0)
            return [error**2, error]
        case _:
            known, mean = rule.errors(margins, target)
            losses = rule.losses(known, mean, rule.logs(margins))
            return [losses[0], np.abs(known - mean) / rule.most]


@dataclass(frozen=True, slots=True)
class PairedLosses:
    """Comparison of two models on the same rows, by the differences between their losses.

    Every row has the linear predictors of the first model, followed by those of the second.
    The target is encoded as for the first model, so a target range that was privately
    estimated for the second model is not used. If only one of two classifiers gives
    probabilities, they are compared by the losses that do not need probabilities.

    Parameters
    ----------
    first : ScoreRule
        Score rule of the first model.
    second : ScoreRule
        Score rule of the second model, of the same type.
    width : int
        Number of columns with linear predictors of the first model.
    title : str, optional
        Title of the score.

    Raises
    ------
    InvalidParameter
        The models are of different types, or have different labels.

    Examples
    --------
    >>> from confide.evaluation import NumberErrors, PairedLosses
    >>> rule = NumberErrors(origin=0.0, unit=1.0)
    >>> [line.name for line in PairedLosses(rule, rule, width=1).lines]
    ['squared error, residuals clipped at 0.5', 'absolute error, residuals clipped at 0.5']

    Two regressions are compared by squared and by absolute errors.
    """

    first: Any
    second: Any
    width: int
    title: str = "Difference of two models: the first minus the second"

    def __post_init__(self) -> None:
        if type(self.first) is not type(self.second):
            raise InvalidParameter(
                "models",
                "of the same type for a comparison",
                Described(f"{self.first.title} and {self.second.title}"),
            )
        labels = [_labels(rule) for rule in (self.first, self.second)]
        if labels[0] != labels[1]:
            raise InvalidParameter(
                "labels of the two models",
                "the same",
                Described(f"{labels[0]} and {labels[1]}"),
            )

    @property
    def lines(self) -> tuple[LossLine, ...]:
        """The losses that are compared."""
        return min(loss_lines(self.first), loss_lines(self.second), key=len)

    @property
    def judges(self) -> tuple[Any, Any]:
        """Score rules for the losses of the two models.

        For numeric targets, the rule of the first model is used for both.
        """
        own = isinstance(self.first, TwoClasses | SeveralClasses)
        return self.first, self.second if own else self.first

    @property
    def sums(self) -> BoundedSums:
        """Bounds and weights of the sums of loss differences, and of their squares."""
        names = [line.name for line in self.lines]
        count = len(names)
        return BoundedSums(
            ("rows", *names, *(f"{name}²" for name in names)),
            (0.0, *(-1.0,) * count, *(0.0,) * count),
            (1.0,) * (1 + 2 * count),
            (0.25, *(1.0,) * count, *(0.5,) * count),
        )

    @property
    def ranks(self) -> bool:
        """Whether the areas under the ROC curves are also compared."""
        return isinstance(self.first, TwoClasses)

    def tally(self, margins: Array, target: AnyArray) -> Partial:
        """Return sums of loss differences and, for two classes, a table of counts.

        The table holds the number of rows by both scores and by label.
        """
        own = (margins[:, : self.width], margins[:, self.width :])
        rules = (self.first, self.second)
        losses = [
            row_losses(judge, part, target)[: len(self.lines)]
            for judge, part in zip(self.judges, own, strict=True)
        ]
        apart = [a - b for a, b in zip(*losses, strict=True)]
        sums = self.sums.add([*apart, *(d**2 for d in apart)])
        if not self.ranks:
            return (sums,)
        places = [
            np.searchsorted(area_edges(rule), m[:, 0])
            for rule, m in zip(rules, own, strict=True)
        ]
        flat = (places[0] * AREA_CELLS + places[1]) * 2 + (np.asarray(target) == 1)
        counts = np.bincount(flat, minlength=2 * AREA_CELLS**2).astype(np.float64)
        return sums, counts.reshape(AREA_CELLS, AREA_CELLS, 2)

    def looks(self, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of the sums and, for two classes, of the counts."""
        if not self.ranks:
            return (sums_look(self.sums, neighbours, Fraction(1)),)
        scores = table_look(neighbours, FIRST_SHARE)
        return (
            sums_look(self.sums, neighbours, 1 - FIRST_SHARE - AREA_SHARE),
            # Every row is in one bin of the first model's scores and one of the second's.
            Look(
                2 * scores.most, math.sqrt(2) * scores.length * (1 + 2.0**-50), FIRST_SHARE
            ),
            table_look(neighbours, AREA_SHARE),
        )

    def release(
        self,
        sums: Partial,
        noises: tuple[LookNoise, ...],
        entropy: Entropy,
        level: float,
    ) -> ScoreParts:
        """Release the mean differences and, for two classes, the difference in ROC area."""
        seen = self.sums.publish(sums[0], noises[0], entropy)
        lines = [difference(line, seen, level) for line in self.lines]
        if self.ranks:
            lines.append(_area(sums[1], noises[1:], entropy, level))
        return ScoreParts(tuple(lines), (), (FAVOUR,))


def _labels(rule: Any) -> Any:
    """Return the labels of a rule, or its positive label; None for numeric targets."""
    return getattr(rule, "labels", getattr(rule, "positive", None))


def difference(line: LossLine, seen: NoisySums, level: float) -> ScoreEstimate:
    """Return the mean over the rows of the difference in a loss, with its interval."""
    rows = seen["rows"]
    if rows <= VISIBLE * math.sqrt(seen.variance("rows")):
        return hidden(line.name, -line.unit, line.unit)
    mean = seen[line.name] / rows
    variance = max(seen[f"{line.name}²"] / rows - mean**2, 0.0)
    noise = seen.variance(line.name) + mean**2 * seen.variance("rows")
    half = seen.half_length(level, variance * rows, noise) / rows
    return between(line.name, mean, half, -1.0, 1.0).scaled(line.unit)


def area_edges(rule: TwoClasses) -> Array:
    """Return about every fourth score edge of a rule, as edges of ``AREA_CELLS`` bins."""
    places = np.linspace(0, len(rule.edges) - 1, AREA_CELLS - 1).round().astype(np.intp)
    return np.array(rule.edges)[places]


def _area(
    counts: Array, noises: Sequence[LookNoise], entropy: Entropy, level: float
) -> ScoreEstimate:
    """Release the difference in ROC area.

    The released table has about equal numbers of rows in the bins of each score.
    """
    name = "area under the ROC curve"
    both = counts.sum(axis=2)
    margins = np.concatenate([both.sum(axis=1), both.sum(axis=0)])
    seen = publish(margins, noises[0], entropy, MAX_ROWS)
    deviation = noises[0].deviation(1)
    cuts = [_bins(part, deviation) for part in (seen[:AREA_CELLS], seen[AREA_CELLS:])]
    whole = np.add.reduceat(np.add.reduceat(counts, cuts[0], axis=0), cuts[1], axis=1)
    table = publish(whole, noises[1], entropy, MAX_ROWS)
    variance = noises[1].deviation(1) ** 2
    if not all(stands_out(table[:, :, k], variance) for k in (0, 1)):
        return hidden(name, -1.0, 1.0)
    return smooth(name, area_difference, table, variance, level, lowest=-1.0)


def area_difference(table: Array) -> float:
    """Return the ROC area of the first model minus that of the second."""
    return roc_area(table.sum(axis=1)) - roc_area(table.sum(axis=0))


def _bins(fine: Array, deviation: float) -> AnyArray:
    """Group adjacent bins to about equal counts; return the first index of each group."""
    total = max(float(fine.sum()), 1.0)
    found, held, wide = [0], 0.0, 0
    for place, count in enumerate(fine[:-1]):
        held, wide = held + float(count), wide + 1
        if held >= max(total / AREA_BINS, 2 * deviation * math.sqrt(wide)):
            found.append(place + 1)
            held, wide = 0.0, 0
    return np.array(found)
