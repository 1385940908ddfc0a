"""Scores of Poisson regressions: deviance, dispersion and mean errors, and a rootogram."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import expm1, gammaincc, xlogy

from confide._types import AnyArray, Array
from confide.data.matrix.sums import MAX_ROWS, Partial
from confide.evaluation.cells import even_cells
from confide.evaluation.estimates import VISIBLE, ScoreEstimate, between, hidden, quantile
from confide.evaluation.noises import (
    BoundedSums,
    Look,
    LookNoise,
    NoisySums,
    sums_look,
    table_look,
)
from confide.evaluation.numbers import merged, nearest
from confide.evaluation.score import Curve, CurvePoint, ScoreParts
from confide.mechanisms.base import publish
from confide.noise import Entropy
from confide.privacy import Neighbours

MOST_DEVIANCE = 16.0
"""Cap on the deviance and on the squared Pearson residual of a row, equal to 4²."""
SUMS = BoundedSums(
    ("rows", "count", "deviance", "pearson", "|residual|", "residual"),
    (0.0, 0.0, 0.0, 0.0, 0.0, -1.0),
    (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    (0.5, 0.5, 1.0, 1.0, 0.5, 0.5),
)
SUM_SHARE = Fraction(3, 5)
SMALL_COUNTS = 32
"""Counts up to this number have one bin each; larger ones have four bins per octave."""
SMALL_ENTROPIES = xlogy(np.arange(SMALL_COUNTS + 1.0), np.arange(SMALL_COUNTS + 1.0))
MEAN_CELLS = 64
FEWEST_SHOWN, MOST_SHOWN = 4, 16
LOWEST_LOG = -30.0


def count_edges(most: float) -> Array:
    """Return the edges of the bins of counts, halfway between whole numbers."""
    small = np.arange(min(SMALL_COUNTS, math.ceil(most))) + 0.5
    if most <= SMALL_COUNTS:
        return np.asarray(small)
    octaves = math.ceil(4 * math.log2(most / SMALL_COUNTS))
    large = np.floor(SMALL_COUNTS * 2.0 ** (np.arange(1, octaves) / 4)) + 0.5
    return np.unique(np.concatenate([small, large]))


def count_cells(known: Array, edges: Array) -> AnyArray:
    """Return the bin of every count; only large counts require a search."""
    cells = np.rint(known).astype(np.intp)
    large = np.flatnonzero(known > SMALL_COUNTS)
    cells[large] = np.searchsorted(edges, known[large])
    return np.minimum(cells, len(edges), out=cells)


def entropies(known: Array) -> Array:
    """Return k·log k for every count k, looked up in a table for small whole numbers."""
    whole = np.minimum(known, SMALL_COUNTS).astype(np.intp)
    found = SMALL_ENTROPIES[whole]
    others = known != whole
    if others.any():
        found[others] = xlogy(known[others], known[others])
    return np.asarray(found)


@dataclass(frozen=True, slots=True)
class CountErrors:
    """Score of a Poisson regression: deviance, dispersion, mean errors and a rootogram.

    Parameters
    ----------
    most : float
        Public bound on the counts.
    unit : float
        Unit of the counts in the objective.
    lowest : float
        Smallest logarithm of the mean that the model can predict.
    highest : float
        Largest logarithm of the mean that the model can predict.
    title : str, optional
        Title of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.evaluation import CountErrors
    >>> rule = CountErrors(most=10.0, unit=1.0, lowest=-2.0, highest=2.0)
    >>> rule.means(np.log([[2.0], [50.0]])).round(1)
    array([ 2., 10.])

    Predicted means are clipped at the bound on the counts.
    """

    most: float
    unit: float
    lowest: float
    highest: float
    title: str = "Score of a Poisson regression"

    def means(self, margins: Array) -> Array:
        """Return the predicted mean of every row.

        SciPy evaluates the exponential function separately for every number, so the mean of
        a row does not depend on other rows.

        Parameters
        ----------
        margins : ndarray
            Linear predictors of the rows.

        Returns
        -------
        ndarray
            Means, at most the bound on the counts.
        """
        return np.minimum(expm1(self.logs(margins)) + 1.0, self.most)

    def logs(self, margins: Array) -> Array:
        """Return the logarithm of the predicted mean of every row.

        Parameters
        ----------
        margins : ndarray
            Linear predictors of the rows.

        Returns
        -------
        ndarray
            Logarithms, at most that of the bound on the counts.
        """
        return np.clip(margins[:, 0], LOWEST_LOG, math.log(self.most))

    def errors(self, margins: Array, target: AnyArray) -> tuple[Array, Array]:
        """Return the observed counts and the predicted means.

        Parameters
        ----------
        margins : ndarray
            Linear predictors of the rows.
        target : ndarray
            Counts, in the unit of the objective.

        Returns
        -------
        known : ndarray
            Counts, at most the bound.
        mean : ndarray
            Predicted means.
        """
        known = np.minimum(np.asarray(target, dtype=np.float64) * self.unit, self.most)
        return known, self.means(margins)

    def losses(self, known: Array, mean: Array, log: Array) -> tuple[Array, Array]:
        """Return deviances and squared Pearson residuals, as fractions of their cap of 16.

        Parameters
        ----------
        known : ndarray
            Counts.
        mean : ndarray
            Predicted means.
        log : ndarray
            Logarithms of the predicted means.

        Returns
        -------
        deviance : ndarray
            Deviance of every row, divided by 16 and capped at 1.
        pearson : ndarray
            Squared Pearson residual of every row, divided by 16 and capped at 1.
        """
        with np.errstate(over="ignore"):
            deviance = entropies(known)
            deviance -= known * log
            deviance -= known
            deviance += mean
            deviance *= 2 / MOST_DEVIANCE
            pearson = known - mean
            pearson *= pearson
            pearson /= mean * MOST_DEVIANCE
        return np.clip(deviance, 0.0, 1.0), np.minimum(pearson, 1.0)

    @property
    def mean_edges(self) -> Array:
        """Inner edges of the fine bins of the logarithm of the predicted mean."""
        return np.linspace(self.lowest, self.highest, MEAN_CELLS + 1)[1:-1]

    def tally(self, margins: Array, target: AnyArray) -> Partial:
        """Return the bounded sums, and the numbers of rows by predicted mean and count."""
        known, mean = self.errors(margins, target)
        error = (known - mean) / self.most
        losses = self.losses(known, mean, self.logs(margins))
        sums = SUMS.add([known / self.most, *losses, np.abs(error), error])
        edges = count_edges(self.most)
        places = even_cells(margins[:, 0], self.lowest, self.highest, MEAN_CELLS)
        places *= len(edges) + 1
        places += count_cells(known, edges)
        cells = MEAN_CELLS * (len(edges) + 1)
        counts = np.bincount(places, minlength=cells).astype(np.float64)
        return sums, counts.reshape(MEAN_CELLS, -1)

    def looks(self, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of the sums and of the table of counts."""
        return (
            sums_look(SUMS, neighbours, SUM_SHARE),
            table_look(neighbours, 1 - SUM_SHARE),
        )

    def release(
        self,
        sums: Partial,
        noises: tuple[LookNoise, ...],
        entropy: Entropy,
        level: float,
    ) -> ScoreParts:
        """Release the sums, and a table of counts with bins that depend on the sums."""
        totals, counts = sums
        seen = SUMS.publish(totals, noises[0], entropy)
        rows = max(seen["rows"], 1.0)
        mean = min(max(seen["count"] / rows * self.most, 0.1), self.most)
        edges = count_edges(self.most)
        shown = min(max(FEWEST_SHOWN, math.ceil(mean + 4 * math.sqrt(mean))), MOST_SHOWN)
        wanted = np.concatenate([edges[:shown], shown * 2.0 ** np.arange(1, 4)])
        logs = math.log(mean) + np.arange(-3, 4) / 2
        cuts = (nearest(self.mean_edges, logs), nearest(edges, wanted))
        table = publish(merged(counts, *cuts), noises[1], entropy, MAX_ROWS)
        cells = CountTable(
            table,
            np.concatenate([[self.lowest], self.mean_edges, [self.highest]])[cuts[0]],
            np.concatenate([[-0.5], edges, [max(self.most, edges[-1])]])[cuts[1]],
            noises[1].deviation(1) ** 2,
        )
        root = cells.rootogram(level)
        return ScoreParts(
            self._estimates(seen, cells, level),
            (root,) if root.points else (),
            ("Deviance and dispersion are capped at 16 per row.",),
        )

    def _estimates(
        self, seen: NoisySums, cells: "CountTable", level: float
    ) -> tuple[ScoreEstimate, ...]:
        losses = self.losses(
            *np.broadcast_arrays(
                cells.counts[None, :], cells.means[:, None], np.log(cells.means)[:, None]
            )
        )
        error = (cells.counts[None, :] - cells.means[:, None]) / self.most
        lines = (
            ("mean deviance", "deviance", losses[0], MOST_DEVIANCE),
            ("dispersion", "pearson", losses[1], MOST_DEVIANCE),
            ("mean absolute error", "|residual|", np.abs(error), self.most),
            ("mean residual", "residual", error, self.most),
            ("mean count", "count", cells.counts[None, :] / self.most, self.most),
        )
        return tuple(
            mean_estimate(name, seen, of, cells.variance_of(values), level).scaled(unit)
            for name, of, values, unit in lines
        )


def mean_estimate(
    name: str, seen: NoisySums, of: str, variance: float, level: float
) -> ScoreEstimate:
    """Return the mean of a bounded quantity, given its variance over the rows."""
    lowest = -1.0 if of == "residual" else 0.0
    if seen["rows"] <= VISIBLE * math.sqrt(seen.variance("rows")):
        return hidden(name, lowest, 1.0)
    rows = seen["rows"]
    mean = seen[of] / rows
    noise = seen.variance(of) + mean**2 * seen.variance("rows")
    half = seen.half_length(level, variance * rows, noise) / rows
    return between(name, mean, half, lowest, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """Noisy numbers of rows by predicted mean and count, with the edges of the bins."""

    table: Array
    log_ends: Array
    count_ends: Array
    variance: float

    @property
    def means(self) -> Array:
        """Representative value of every bin of the predicted mean."""
        return np.asarray(np.exp((self.log_ends[1:] + self.log_ends[:-1]) / 2))

    @property
    def counts(self) -> Array:
        """Representative value of every bin of the count."""
        return (self.count_ends[1:] + self.count_ends[:-1]) / 2

    def variance_of(self, values: Array) -> float:
        """Return the variance over the rows of a quantity that is given per table cell."""
        kept = np.maximum(self.table, 0.0)
        total = max(float(kept.sum()), 1.0)
        mean = float((kept * values).sum() / total)
        # Negative noisy counts are kept, so that the noise averages out.
        found = float((self.table * (values - mean) ** 2).sum())
        return max(found / max(float(self.table.sum()), 1.0), mean**2 / 10)

    def rootogram(self, level: float) -> Curve:
        """Return the differences between square roots of observed and expected shares."""
        observed = self.table.sum(axis=0)
        total = float(observed.sum())
        if total <= VISIBLE * math.sqrt(self.variance * self.table.size):
            return Curve("Rootogram", "", "", ())
        weights = np.maximum(self.table.sum(axis=1), 0.0)
        floors = np.floor(self.count_ends[1:])[None, :]
        below = gammaincc(floors + 1, self.means[:, None])
        chance = np.diff(np.column_stack([np.zeros(len(below)), below]), axis=1)
        chance[:, -1] += 1 - below[:, -1]
        expected = weights @ chance / max(float(weights.sum()), 1.0)
        half = quantile(level) * np.sqrt(
            np.maximum(observed, 0.0) + self.variance * len(self.table)
        )
        points = []
        for place, (count, wide) in enumerate(zip(observed, half, strict=True)):
            value, low, high = (
                math.sqrt(max(float(x) / total, 0.0)) - math.sqrt(float(expected[place]))
                for x in (count, count - wide, count + wide)
            )
            start, end = self.count_ends[place : place + 2] + 0.5
            middle = float(np.ceil(self.counts[place]))
            points.append(CurvePoint(middle, value, low, high, float(start), float(end)))
        return Curve(
            "Rootogram",
            "count",
            "√observed − √expected share",
            tuple(points),
            joined=False,
            guide="zero",
        )
