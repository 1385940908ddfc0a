"""Scores for two classes, from noisy counts of rows by binned score and label.

Noisy counts in fine bins of the score are used to choose larger bins. A second noisy table
holds the number of rows by larger bin and label.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.special import expit, logit

from confide._types import AnyArray, Array
from confide.data.matrix.sums import MAX_ROWS, Partial
from confide.evaluation.cells import cells_of
from confide.evaluation.estimates import (
    ScoreEstimate,
    hidden,
    noise_bias,
    proportion,
    smooth,
    stands_out,
)
from confide.evaluation.noises import Look, LookNoise, table_look
from confide.evaluation.score import Curve, CurvePoint, ScoreParts
from confide.mechanisms.base import publish
from confide.noise import Entropy
from confide.privacy import Neighbours

FINE_CELLS = 512
FARTHEST_SCORE = 12.0
"""Largest absolute score in the fine bins; the odds are then about 6 in a million."""
FIRST_SHARE = Fraction(3, 20)
FEWEST, MOST = 10, 64
ROWS_PER_NOISE = 200.0
"""Desired count of a bin, in standard deviations of the noise.

The number of bins is limited to the range from ``FEWEST`` to ``MOST``.
"""
CHANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
"""Bins always end at these probabilities, at their complements, and at 0.5."""
PLAIN_CELLS = 16
"""Smallest number of bins for scores that are not log-odds."""
GROUPS = 10
MOST_LOG_LOSS = 4.0
"""Cap on the log loss of a row, reached if its label has a probability below 1.8 %."""


def fine_edges(level: float, reach: float, farthest: float) -> tuple[float, ...]:
    """Return evenly spaced edges of the fine bins of scores, and an edge at 0.

    Parameters
    ----------
    level : float
        Middle of the range of scores that the model can give.
    reach : float
        Half the width of this range.
    farthest : float
        Largest absolute score for which bins are needed. Scores beyond it are counted in
        the outermost bins.

    Returns
    -------
    tuple of float
        Edges in increasing order.

    Examples
    --------
    >>> from confide.evaluation import fine_edges
    >>> edges = fine_edges(level=0.0, reach=5.0, farthest=12.0)
    >>> len(edges), 0.0 in edges
    (511, True)

    Scores from -5 to 5 are counted in 512 bins, and the predicted class changes at an edge.
    """
    low, high = (min(max(level + s * reach, -farthest), farthest) for s in (-1, 1))
    inner = np.linspace(low, high, FINE_CELLS + 1)[1:-1] if low < high else np.empty(0)
    return tuple(np.union1d(inner, [0.0]).tolist())


@dataclass(frozen=True, slots=True)
class TwoClasses:
    """Score of a classifier of two classes: accuracy, ROC curve, calibration and losses.

    Parameters
    ----------
    edges : tuple of float
        Edges of the fine bins of scores, including 0.
    positive : str
        Label of the positive class.
    chances : bool
        Whether scores are log-odds. If not, there is no calibration, Brier score or log
        loss.
    title : str, optional
        Title of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.evaluation import TwoClasses
    >>> rule = TwoClasses((-1.0, 0.0, 1.0), "yes", chances=True)
    >>> rule.count(np.array([[-2.0], [0.5], [0.7]]), np.array([0, 0, 1]))
    array([[1., 0.],
           [0., 0.],
           [1., 1.],
           [0., 0.]])

    One of the two rows with scores from 0 to 1 has the positive label.
    """

    edges: tuple[float, ...]
    positive: str
    chances: bool
    title: str = "Score of a classifier"

    def tally(self, margins: Array, target: AnyArray) -> Partial:
        """Count rows by score and label; all labels but the positive one are negative."""
        return (self.count(margins, target),)

    def count(self, margins: Array, target: AnyArray) -> Array:
        """Count rows by score and label; the counts are private.

        Parameters
        ----------
        margins : ndarray
            Scores of the rows.
        target : ndarray
            1 for the positive label.

        Returns
        -------
        ndarray
            Counts with one row per bin and columns for the negative and positive label.
        """
        places = cells_of(margins[:, 0], np.array(self.edges))
        places *= 2
        places += np.asarray(target) == 1
        found = np.bincount(places, minlength=2 * (len(self.edges) + 1))
        return found.astype(np.float64).reshape(-1, 2)

    def looks(self, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of the counts by score, and by score and label."""
        shares = (FIRST_SHARE, 1 - FIRST_SHARE)
        return tuple(table_look(neighbours, share) for share in shares)

    def release(
        self,
        sums: Partial,
        noises: tuple[LookNoise, ...],
        entropy: Entropy,
        level: float,
    ) -> ScoreParts:
        """Choose bins from noisy counts by score; release counts by bin and label."""
        (counts,) = sums
        first, second = noises
        fine = publish(counts.sum(axis=1), first, entropy, MAX_ROWS)
        cuts = self.cuts(fine, first.deviation(1), second.deviation(1))
        whole = np.add.reduceat(counts, cuts[:-1], axis=0)
        table = publish(whole, second, entropy, MAX_ROWS)
        found = ScoreTable(
            table,
            self._chances(fine, cuts),
            int(np.searchsorted(cuts, self.edges.index(0.0) + 1)),
            second.deviation(1) ** 2,
            level,
            self.positive,
        )
        return found.parts(chances=self.chances)

    @property
    def fixed(self) -> frozenset[int]:
        """Indices of edges at which a larger bin always ends, including the edge at 0."""
        edges = np.array(self.edges)
        wanted = np.linspace(edges[0], edges[-1], PLAIN_CELLS + 1)[1:-1]
        if self.chances:
            half = logit(np.array(CHANCES))
            wanted = np.concatenate([half, -half])
        near = np.abs(edges[None, :] - wanted[:, None]).argmin(axis=1)
        return frozenset([self.edges.index(0.0) + 1, *(near + 1).tolist()])

    def cuts(self, fine: Array, first: float, second: float) -> AnyArray:
        """Choose larger bins with about equal numbers of rows.

        Parameters
        ----------
        fine : ndarray
            Noisy counts of the fine bins.
        first : float
            Standard deviation of the noise on these counts.
        second : float
            Standard deviation of the noise on counts of the larger bins.

        Returns
        -------
        ndarray
            Indices of the fine bins at which larger bins begin, and the number of fine
            bins.
        """
        total, fixed = max(float(fine.sum()), 1.0), self.fixed
        cells = min(max(total / (ROWS_PER_NOISE * second), FEWEST), MOST)
        found, held, wide = [0], 0.0, 0
        for end, count in enumerate(fine, start=1):
            held, wide = held + float(count), wide + 1
            full = held >= max(total / cells, 2 * first * math.sqrt(wide))
            if end == len(fine) or end in fixed or full:
                found.append(end)
                held, wide = 0.0, 0
        return np.array(found)

    def _chances(self, fine: Array, cuts: AnyArray) -> "CellChances | None":
        """Return the predicted probabilities in every bin; None unless scores are log-odds.

        Within a bin, labels are assumed to follow the predicted probabilities, so rows with
        the positive label tend to have higher scores. This matters only in wide bins.
        """
        if not self.chances:
            return None
        edges = np.array(self.edges)
        ends = np.concatenate([edges[:1], edges, edges[-1:]])
        chance = np.asarray(expit((ends[1:] + ends[:-1]) / 2))
        weight = np.maximum(fine, 0.0) + 1e-9
        own = np.column_stack([weight * (1 - chance), weight * chance])
        places = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        share = own / np.add.reduceat(own, cuts[:-1], axis=0)[places]
        inner = np.asarray(expit(edges))[cuts[1:-1] - 1]
        bounds = np.concatenate([[0.0], inner, [1.0]])
        return CellChances(bounds, chance, places, share)


@dataclass(frozen=True, slots=True, eq=False)
class CellChances:
    """Predicted probabilities in bins of the score, and the distribution of rows in a bin.

    ``ends`` are the probabilities at the ends of the larger bins. For every fine bin,
    ``chance`` is the probability at its midpoint, and ``places`` the index of the larger
    bin that contains it. ``share`` is the fraction of the rows in the larger bin that lie
    in the fine bin, for the negative and the positive label.
    """

    ends: Array
    chance: Array
    places: AnyArray
    share: Array

    def spread(self, table: Array) -> Array:
        """Return counts by fine bin and label, estimated from those of the larger bins."""
        return np.asarray(table[self.places] * self.share)

    def mean(self, values: Array) -> Array:
        """Return the mean by bin and label of a quantity given by fine bin and label."""
        found = np.zeros((len(self.ends) - 1, 2))
        np.add.at(found, self.places, self.share * values)
        return found

    @property
    def square(self) -> Array:
        """Mean Brier score in every bin, by label."""
        return self.mean(np.column_stack([self.chance**2, (1 - self.chance) ** 2]))

    @property
    def log(self) -> Array:
        """Mean capped log loss in every bin, by label."""
        least = math.exp(-MOST_LOG_LOSS)
        parts = (1 - self.chance, self.chance)
        return self.mean(
            np.column_stack([-np.log(np.maximum(part, least)) for part in parts])
        )

    @property
    def said(self) -> Array:
        """Mean predicted probability in every bin, by label."""
        return self.mean(np.column_stack([self.chance, self.chance]))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """Noisy numbers of rows by bin of the score, from low to high, and by label.

    The positive class is predicted in the bins with index ``above`` or higher. ``variance``
    is the variance of the noise on every count.
    """

    table: Array
    chances: CellChances | None
    above: int
    variance: float
    level: float
    positive: str

    def parts(self, *, chances: bool) -> ScoreParts:
        """Return all estimates and curves of the score."""
        lines = [*self.rates(), self.area(), self.average_precision()]
        curves = [self.roc(), self.precision_recall()]
        beyond = "probability exceeds 1/2" if chances else "score exceeds 0"
        if chances:
            lines += self.losses()
            curves.append(self.calibration())
        return ScoreParts(
            tuple(lines),
            tuple(curve for curve in curves if curve.points),
            (f"The positive class is {self.positive!r}, predicted if its {beyond}.",),
        )

    def _share(self, name: str, inside: Array, outside: Array) -> ScoreEstimate:
        return proportion(name, inside, outside, self.variance, self.level)

    def rates(self) -> list[ScoreEstimate]:
        """Return accuracy, sensitivity, specificity, precision and prevalence."""
        low, high = self.table[: self.above], self.table[self.above :]
        right = np.concatenate([low[:, 0], high[:, 1]])
        wrong = np.concatenate([low[:, 1], high[:, 0]])
        return [
            self._share("accuracy", right, wrong),
            self._share("sensitivity", high[:, 1], low[:, 1]),
            self._share("specificity", low[:, 0], high[:, 0]),
            self._share("precision", high[:, 1], high[:, 0]),
            self._share("prevalence", self.table[:, 1], self.table[:, 0]),
        ]

    @property
    def both_seen(self) -> bool:
        """Whether the counts of both labels are larger than noise alone can explain."""
        return all(stands_out(column, self.variance) for column in self.table.T)

    def area(self) -> ScoreEstimate:
        """Return the area under the ROC curve."""
        name = "area under the ROC curve"
        if not self.both_seen:
            return hidden(name, 0.0, 1.0)
        area = self._in_order(roc_area)
        return smooth(name, area, self.table, self.variance, self.level)

    def average_precision(self) -> ScoreEstimate:
        """Return the mean precision over the rows of the positive class."""
        name = "average precision"
        if not self.both_seen:
            return hidden(name, 0.0, 1.0)
        precision = self._in_order(mean_precision)
        bias = noise_bias(precision, self.table, self.variance)
        return smooth(name, precision, self.table, self.variance, self.level, bias=bias)

    def _in_order(self, function: Callable[[Array], float]) -> Callable[[Array], float]:
        """Return a ranking measure, such as the ROC area, as a function of the table.

        If scores are log-odds, the measure is computed from estimated counts by fine bin.
        """
        chances = self.chances

        def of_cells(table: Array) -> float:
            return function(table if chances is None else chances.spread(table))

        return of_cells

    def losses(self) -> list[ScoreEstimate]:
        """Return the Brier score and the log loss."""
        assert self.chances is not None, "scores are log-odds"  # noqa: S101
        found = []
        for name, loss, most in (
            ("Brier score", self.chances.square, 1.0),
            ("log loss, capped at 4", self.chances.log, MOST_LOG_LOSS),
        ):
            if stands_out(self.table, self.variance):
                mean = MeanOver(loss)
                estimate = smooth(
                    name, mean, self.table, self.variance, self.level, highest=most
                )
            else:
                estimate = hidden(name, 0.0, most)
            found.append(estimate)
        return found

    def roc(self) -> Curve:
        """Return sensitivity against 1 − specificity, at every threshold."""
        points = []
        for cut in range(len(self.table), -1, -1):
            low, high = self.table[:cut], self.table[cut:]
            false = self._share("", high[:, 0], low[:, 0]).value
            true = self._share("", high[:, 1], low[:, 1])
            if false is not None and true.value is not None:
                points.append(CurvePoint(false, true.value, true.lower, true.upper))
        return Curve(
            "ROC curve",
            "1 − specificity",
            "sensitivity",
            rising(points),
            guide="diagonal",
        )

    def precision_recall(self) -> Curve:
        """Return precision against sensitivity, at thresholds where noise permits."""
        points = []
        for cut in range(len(self.table) - 1, -1, -1):
            low, high = self.table[:cut], self.table[cut:]
            recall = self._share("", high[:, 1], low[:, 1]).value
            right = self._share("", high[:, 1], high[:, 0])
            if recall is not None and right.value is not None:
                points.append(CurvePoint(recall, right.value, right.lower, right.upper))
        ordered = sorted(points, key=lambda point: point.x)
        return Curve("Precision and recall", "sensitivity", "precision", tuple(ordered))

    def calibration(self) -> Curve:
        """Return the frequency of the positive label by predicted probability.

        Bins are combined into ten groups with about equal numbers of rows.
        """
        assert self.chances is not None, "scores are log-odds"  # noqa: S101
        points, spoken = [], self.chances.said
        for group in groups_of(np.maximum(self.table.sum(axis=1), 0.0), GROUPS):
            cells = self.table[group]
            share = self._share("", cells[:, 1], cells[:, 0])
            if share.value is None:
                continue
            weight = np.maximum(cells, 0.0) + 1e-9
            said = float((weight * spoken[group]).sum() / weight.sum())
            start, end = self.chances.ends[group.start], self.chances.ends[group.stop]
            ends = (share.lower, share.upper, float(start), float(end))
            points.append(CurvePoint(said, share.value, *ends))
        return Curve(
            "Calibration",
            f"predicted probability of {self.positive}",
            "observed share",
            tuple(points),
            joined=False,
            guide="diagonal",
        )


@dataclass(frozen=True, slots=True, eq=False)
class MeanOver:
    """The mean over all rows of a quantity that is given per table cell."""

    values: Array

    def __call__(self, table: Array) -> float:
        """Return the mean for a table of counts."""
        return float((self.values * table).sum() / table.sum())


def roc_area(table: Array) -> float:
    """Return the area under the ROC curve; pairs of rows in the same bin count as half."""
    others, positives = table.T
    below = np.cumsum(others) - others / 2
    return float(positives @ below / (positives.sum() * others.sum()))


def mean_precision(table: Array) -> float:
    """Return the precision at every threshold, averaged over the positive rows."""
    kept = np.maximum(table, 0.0)[::-1]
    true, false = kept[:, 1], kept[:, 0]
    # On average, half of the rows of a bin have a higher score than a row in the same bin.
    passed = np.cumsum(true) - true / 2
    alarms = passed + np.cumsum(false) - false / 2
    precision = passed / np.maximum(alarms, 1e-9)
    return float(true @ precision / max(true.sum(), 1e-9))


def rising(points: list[CurvePoint]) -> tuple[CurvePoint, ...]:
    """Make the coordinates of points non-decreasing, as on an exact ROC curve."""
    x = y = 0.0
    found = []
    for point in points:
        x, y = max(x, point.x), max(y, point.y)
        found.append(CurvePoint(x, y, point.lower, point.upper))
    return tuple(found)


def groups_of(weights: Array, most: int) -> list[slice]:
    """Return groups of adjacent bins with about equal total weights."""
    total, ends = float(weights.sum()), [0]
    if total > 0:
        passed = np.floor(np.cumsum(weights) / total * most - 1e-9)
        ends += (np.flatnonzero(np.diff(passed)) + 1).tolist()
    return [slice(start, stop) for start, stop in pairwise([*ends, len(weights)])]
