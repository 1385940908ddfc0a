"""Scores for several classes, from noisy counts by predicted class, label and confidence.

The confidence of a prediction is the probability of the predicted class. If the model gives
probabilities, sums of bounded losses are also released.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import expit, expm1, xlogy

from confide._types import AnyArray, Array
from confide.data.matrix.sums import MAX_ROWS, Partial
from confide.evaluation.counts import mean_estimate
from confide.evaluation.estimates import ScoreEstimate, proportion
from confide.evaluation.noises import (
    BoundedSums,
    Look,
    LookNoise,
    NoisySums,
    sums_look,
    table_look,
)
from confide.evaluation.score import Curve, CurvePoint, ScoreParts
from confide.evaluation.two_classes import MOST_LOG_LOSS
from confide.mechanisms.base import publish
from confide.noise import Entropy
from confide.privacy import Neighbours

SUMS = BoundedSums(
    ("rows", "Brier score", "Brier score²", "log loss", "log loss²"),
    (0.0, 0.0, 0.0, 0.0, 0.0),
    (1.0, 1.0, 1.0, 1.0, 1.0),
    (0.5, 1.0, 0.5, 1.0, 0.5),
)
SUM_SHARE = Fraction(2, 5)
CONFIDENCE_CELLS = 10
SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class SeveralClasses:
    """Score of a classifier of three or more classes: accuracy, sensitivities and losses.

    Any prediction for a row with an undeclared label counts as wrong.

    Parameters
    ----------
    labels : tuple of str
        Labels of the classes.
    chances : {"softmax", "one-vs-rest", ""}
        Map from linear predictors to probabilities; empty for models without probabilities.
    title : str, optional
        Title of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.evaluation import SeveralClasses
    >>> rule = SeveralClasses(("cat", "dog", "fox"), "softmax")
    >>> rule.probabilities(np.log([[2.0, 1.0, 1.0]])).round(2)
    array([[0.5 , 0.25, 0.25]])

    The first class has twice the probability of each of the others.
    """

    labels: tuple[str, ...]
    chances: str
    title: str = "Score of a classifier"

    def probabilities(self, margins: Array) -> Array:
        """Return the probability of every class, computed separately for each row.

        Parameters
        ----------
        margins : ndarray
            Linear predictors, with one column per class.

        Returns
        -------
        ndarray
            Probabilities that add up to 1 in every row.
        """
        if self.chances == "softmax":
            top = margins[:, 0].copy()
            for column in margins.T[1:]:
                top = np.maximum(top, column)
            sizes = expm1(margins - top[:, None]) + 1.0
        else:
            sizes = expit(margins) + SMALLEST
        whole = np.zeros(len(margins))
        for column in sizes.T:
            whole += column
        return np.asarray(sizes / whole[:, None])

    def losses(self, margins: Array, target: AnyArray) -> tuple[Array, Array]:
        """Return the Brier score and log loss of every row, as fractions of their bounds.

        Parameters
        ----------
        margins : ndarray
            Linear predictors, with one column per class.
        target : ndarray
            Index of every row's label among the classes.

        Returns
        -------
        brier : ndarray
            Brier scores, divided by 2.
        log : ndarray
            Log losses, divided by 4 and capped at 1.
        """
        chance = self.probabilities(margins)
        places = np.asarray(target).astype(np.intp)
        square, given = np.zeros(len(chance)), np.zeros(len(chance))
        for place, column in enumerate(chance.T):
            own = places == place
            square += (column - own) ** 2
            given += np.where(own, column, 0.0)
        least = math.exp(-MOST_LOG_LOSS)
        log = -xlogy(1.0, np.maximum(given, least)) / MOST_LOG_LOSS
        return square / 2, np.minimum(log, 1.0)

    def tally(self, margins: Array, target: AnyArray) -> Partial:
        """Count rows by predicted class, label and confidence, and sum the losses."""
        classes = len(self.labels)
        guess = margins.argmax(axis=1)
        places = np.asarray(target).astype(np.intp)
        known = np.where((places >= 0) & (places < classes), places, classes)
        cell = np.zeros(len(guess), dtype=np.intp)
        sums = np.zeros(len(SUMS.names))
        if self.chances:
            chance = self.probabilities(margins)
            top = chance[np.arange(len(guess)), guess]
            cell = np.searchsorted(self.confidence_edges, top)
            brier, log = self.losses(margins, target)
            sums = SUMS.add([brier, brier**2, log, log**2])
        flat = (guess * (classes + 1) + known) * CONFIDENCE_CELLS + cell
        size = classes * (classes + 1) * CONFIDENCE_CELLS
        counts = np.bincount(flat, minlength=size).astype(np.float64)
        return sums, counts.reshape(classes, classes + 1, CONFIDENCE_CELLS)

    @property
    def confidence_edges(self) -> Array:
        """Inner edges of the bins for the probability of the predicted class."""
        return np.linspace(1 / len(self.labels), 1.0, CONFIDENCE_CELLS + 1)[1:-1]

    def looks(self, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of the counts and, if there are any, of the losses."""
        if not self.chances:
            return (table_look(neighbours, Fraction(1)),)
        return (
            table_look(neighbours, 1 - SUM_SHARE),
            sums_look(SUMS, neighbours, SUM_SHARE),
        )

    def release(
        self,
        sums: Partial,
        noises: tuple[LookNoise, ...],
        entropy: Entropy,
        level: float,
    ) -> ScoreParts:
        """Release the counts and, if the model gives probabilities, the sums of losses."""
        totals, counts = sums
        if not self.chances:
            counts = counts[:, :, :1]
        table = publish(counts, noises[0], entropy, MAX_ROWS)
        variance = noises[0].deviation(1) ** 2
        lines = self._rates(table, variance, level)
        curves = []
        if self.chances:
            seen = SUMS.publish(totals, noises[1], entropy)
            lines += [
                loss_estimate("Brier score", seen, "Brier score", level, 2.0),
                loss_estimate(
                    "log loss, capped at 4", seen, "log loss", level, MOST_LOG_LOSS
                ),
            ]
            curves.append(self._calibration(table, variance, level))
        return ScoreParts(tuple(lines), tuple(c for c in curves if c.points))

    def _rates(self, table: Array, variance: float, level: float) -> list[ScoreEstimate]:
        classes = range(len(self.labels))
        right = np.array([table[k, k] for k in classes])
        off = np.array(
            [table[k, m] for k in classes for m in range(len(classes) + 1) if k != m]
        )
        found = [proportion("accuracy", right, off, variance, level)]
        for k, label in enumerate(self.labels):
            missed = np.delete(table[:, k], k, axis=0)
            false = np.delete(table[k], k, axis=0)
            found += [
                proportion(
                    f"sensitivity for {label}", table[k, k], missed, variance, level
                ),
                proportion(f"precision for {label}", table[k, k], false, variance, level),
            ]
        return found

    def _calibration(self, table: Array, variance: float, level: float) -> Curve:
        """Return the share of correct predictions in every bin of confidence."""
        ends = np.concatenate([[1 / len(self.labels)], self.confidence_edges, [1.0]])
        classes = range(len(self.labels))
        points = []
        for cell in range(CONFIDENCE_CELLS):
            own = table[:, :, cell]
            right = np.array([own[k, k] for k in classes])
            off = np.array(
                [own[k, m] for k in classes for m in range(len(classes) + 1) if k != m]
            )
            share = proportion("", right, off, variance, level)
            if share.value is not None:
                start, end = float(ends[cell]), float(ends[cell + 1])
                bounds = (share.lower, share.upper, start, end)
                points.append(CurvePoint((start + end) / 2, share.value, *bounds))
        return Curve(
            "Calibration",
            "probability of the predicted class",
            "share of correct predictions",
            tuple(points),
            joined=False,
            guide="diagonal",
        )


def loss_estimate(
    name: str, seen: NoisySums, of: str, level: float, unit: float
) -> ScoreEstimate:
    """Return a mean loss, with an interval based on the sum of squared losses."""
    rows = max(seen["rows"], 1.0)
    mean = seen[of] / rows
    variance = max(seen[f"{of}²"] / rows - mean**2, 0.0)
    return mean_estimate(name, seen, of, variance, level).scaled(unit)
