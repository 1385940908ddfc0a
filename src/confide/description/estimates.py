"""Descriptive statistics, estimated from noisy counts without access to data.

Counts refer to the rows of the table, so their intervals account for noise only. Shares,
means, standard deviations and quantiles refer to the population from which the rows were
drawn, so their intervals account for noise and sampling.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import isotonic_regression

from confide._types import Array
from confide.description.cells import (
    LevelCells,
    NumberCells,
    Table,
    TruthCells,
    bin_label,
)
from confide.description.intervals import IntervalEstimate, Spread

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
MOST_SHOWN_BINS = 20


@dataclass(frozen=True, slots=True)
class RowCount:
    """Number of rows, estimated as a weighted mean of the totals of all tables.

    ``part`` holds the weights of the tables, which are 0 if the number of rows is public.
    """

    value: float
    variance: float
    part: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LevelLine:
    """Number and share of the rows with one level, or in one bin or cell."""

    label: str
    count: IntervalEstimate
    share: IntervalEstimate


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """Estimates for the levels of a column, and for undeclared and missing values."""

    name: str
    levels: int
    lines: tuple[LevelLine, ...]


@dataclass(frozen=True, slots=True)
class NumberFigures:
    """Estimates for a numeric column, with values clipped to the range of its bins.

    ``beyond`` is the share of values outside the bins among those that are not missing.
    """

    name: str
    cells: NumberCells
    missing: IntervalEstimate
    beyond: IntervalEstimate
    mean: IntervalEstimate
    deviation: IntervalEstimate
    quantiles: tuple[tuple[float, IntervalEstimate], ...]
    histogram: tuple[LevelLine, ...]


@dataclass(frozen=True, slots=True)
class PairFigures:
    """A cross-tabulation of two columns, with an estimate for every cell."""

    names: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[tuple[LevelLine, ...], ...]


def row_count(
    tables: Sequence[Table], counts: Sequence[Array], spread: Spread, public: int | None
) -> RowCount:
    """Return the number of rows, as a weighted mean of the totals of all tables.

    Tables with fewer cells have less noise in their total, and therefore more weight.
    ``public`` is the number of rows, or None if it is not public.
    """
    if public is not None:
        return RowCount(float(public), 0.0, (0.0,) * len(tables))
    weights = np.array([1 / table.size for table in tables])
    part = weights / weights.sum()
    total = float(part @ [float(found.sum()) for found in counts])
    variance = spread.variance / weights.sum()
    return RowCount(total, float(variance), tuple(part.tolist()))


@dataclass(frozen=True, slots=True)
class Basis:
    """The number of rows and the noise, from which shares in one table are estimated.

    ``part`` is the weight of this table's total in the estimated number of rows.
    """

    rows: RowCount
    part: float
    spread: Spread

    def share(self, count: float, cells: int = 1) -> IntervalEstimate:
        """Estimate the share of the rows in a group of cells, given their noisy count."""
        rows, spread = self.rows, self.spread
        n = max(rows.value, 1.0)
        share = min(max(count / n, 0.0), 1.0)
        shrunk = (share * n + 2) / (n + 4)
        sampling = shrunk * (1 - shrunk) / (n + 4)
        kept = max(1 - 2 * share * self.part, 0.0)
        other = sampling + share**2 * rows.variance / n**2
        if cells == 1:
            reach = spread.reach_of_one(math.sqrt(kept) / n, other)
        else:
            reach = spread.reach(other + cells * spread.variance * kept / n**2)
        return IntervalEstimate.around(count / n, reach, 0.0, 1.0)

    def line(self, label: str, count: float, cells: int = 1) -> LevelLine:
        """Estimate the number and the share of the rows in a group of cells."""
        if cells == 1:
            reach = self.spread.reach_of_one(1.0, 0.0)
        else:
            reach = self.spread.reach(cells * self.spread.variance)
        found = IntervalEstimate.around(count, reach, 0.0)
        return LevelLine(label, found, self.share(count, cells))


def level_figures(
    cells: LevelCells | TruthCells, counts: Array, basis: Basis
) -> LevelFigures:
    """Estimate the number and the share of the rows with each level of a column."""
    lines = (
        basis.line(label, float(count))
        for label, count in zip(cells.labels, counts, strict=True)
    )
    return LevelFigures(cells.name, len(cells.levels), tuple(lines))


def pair_figures(table: Table, counts: Array, basis: Basis) -> PairFigures:
    """Estimate the number and the share of the rows in each cell of a cross-tabulation."""
    first, second = table.parts
    grid = counts.reshape(table.shape)
    lines = tuple(
        tuple(
            basis.line(f"{row}, {column}", float(grid[i, j]))
            for j, column in enumerate(second.labels)
        )
        for i, row in enumerate(first.labels)
    )
    return PairFigures((first.name, second.name), first.labels, second.labels, lines)


@dataclass(frozen=True, slots=True, eq=False)
class KnownCounts:
    """Counts of values that are not missing: below the bins, in each bin, and above them.

    The counts are adjusted to add up to ``total``, the number of values that are not
    missing. This number is estimated more precisely, from all tables together. ``variance``
    is the noise variance of a count before the adjustment, and ``of_total`` is the noise
    variance of ``total``.
    """

    counts: Array
    middles: Array
    variance: float
    total: float
    of_total: float

    @classmethod
    def of(cls, cells: NumberCells, counts: Array, basis: Basis) -> "KnownCounts":
        """Adjust the counts to add up to the number of rows minus the missing values."""
        known, missing = counts[:-1], float(counts[-1])
        rows, variance = basis.rows, basis.spread.variance
        total = max(rows.value - max(missing, 0.0), 1.0)
        of_total = max(rows.variance + variance * (1 - 2 * basis.part), 0.0)
        edges = cells.shown_edges
        middles = np.concatenate([edges[:1], edges[1:] / 2 + edges[:-1] / 2, edges[-1:]])
        adjusted = known + (total - known.sum()) / len(known)
        return cls(adjusted, middles, variance, total, of_total)

    def variance_of_mean(self, values: Array) -> float:
        """Return the noise variance of the mean of a quantity that is given per cell.

        ``values`` are the deviations of the quantity from this mean.
        """
        middle = float(values.mean())
        own = self.variance * float(((values - middle) ** 2).sum())
        return (own + middle**2 * self.of_total) / self.total**2

    def mean(self, values: Array) -> float:
        """Return the mean of a quantity that is given per cell."""
        return float(self.counts @ values) / self.total

    def variance_up_to(self, cells: int) -> float:
        """Return the noise variance of the share of values in the first ``cells`` cells."""
        part = cells / len(self.counts)
        own = self.variance * cells * (1 - part)
        return (own + part**2 * self.of_total) / self.total**2


def number_figures(cells: NumberCells, counts: Array, basis: Basis) -> NumberFigures:
    """Estimate the statistics of a numeric column from the counts of its bins."""
    known = KnownCounts.of(cells, counts, basis)
    spread, of_known = basis.spread, RowCount(known.total, known.of_total, ())
    beyond = Basis(of_known, 0.0, spread).share(float(counts[0] + counts[-2]), 2)
    mean, deviation = moments(known, cells.shown_edges, spread)
    return NumberFigures(
        cells.name,
        cells,
        basis.share(float(counts[-1])),
        beyond,
        mean,
        deviation,
        quantiles(known, cells, spread),
        histogram(cells, counts, basis),
    )


def moments(
    known: KnownCounts, edges: Array, spread: Spread
) -> tuple[IntervalEstimate, IntervalEstimate]:
    """Estimate the mean and standard deviation of values clipped to the range of the bins.

    A value differs from the middle of its bin by at most half the width of the bin. The
    interval of the mean is therefore widened by the mean of these half-widths. By the
    triangle inequality, the interval of the standard deviation is widened by their root
    mean square. All computations are in units of half the range, because the square of the
    range may overflow.
    """
    low, high = float(edges[0]), float(edges[-1])
    middle, unit = low / 2 + high / 2, high / 2 - low / 2
    middles = (known.middles - middle) / unit
    half = np.concatenate([[0.0], np.diff(edges / 2) / unit, [0.0]])
    blur = min(max(known.mean(half), 0.0), float(half.max()))
    blur_square = math.sqrt(min(max(known.mean(half**2), 0.0), float(half.max()) ** 2))
    mean = min(max(known.mean(middles), -1.0), 1.0)
    away = middles - mean
    variance = min(max(known.mean(away**2), 0.0), 1.0)
    noise = known.variance_of_mean(away)
    reach = spread.reach(variance / known.total + noise) + blur
    deviation = math.sqrt(variance)
    around = away**2 - variance
    fourth = max(known.mean(around**2), 0.0)
    slope = 2 * max(deviation, 1 / 500)
    of_square = fourth / known.total + known.variance_of_mean(around)
    further = spread.reach(of_square) / slope + blur_square
    return (
        IntervalEstimate.around(middle + unit * mean, unit * reach, low, high),
        IntervalEstimate.around(unit * deviation, unit * further, 0.0, unit),
    )


def quantiles(
    known: KnownCounts, cells: NumberCells, spread: Spread
) -> tuple[tuple[float, IntervalEstimate], ...]:
    """Estimate quantiles, with intervals, from the estimated distribution function."""
    raw = np.cumsum(known.counts) / known.total
    rising = np.asarray(isotonic_regression(raw[:-1], y_min=0.0, y_max=1.0))
    found = []
    for share in QUANTILES:
        cell = int(np.searchsorted(rising, share)) + 1
        sampling = share * (1 - share) / known.total
        reach = spread.reach(sampling + known.variance_up_to(cell))
        low, _ = bin_at(cells, rising, share - reach)
        _, high = bin_at(cells, rising, share + reach)
        value = quantile_at(cells, rising, share)
        found.append((share, IntervalEstimate(value, min(low, value), max(high, value))))
    return tuple(found)


def bin_at(cells: NumberCells, rising: Array, share: float) -> tuple[float, float]:
    """Return the ends of the bin that contains a quantile."""
    edges = cells.shown_edges
    place = int(np.searchsorted(rising, min(max(share, 0.0), 1.0)))
    if place == 0:
        return float(edges[0]), float(edges[0])
    if place > cells.bins:
        return float(edges[-1]), float(edges[-1])
    low, high = float(edges[place - 1]), float(edges[place])
    if cells.whole and high - low >= 1:
        return math.ceil(low), math.floor(high)
    return low, high


def quantile_at(cells: NumberCells, rising: Array, share: float) -> float:
    """Return a quantile, interpolated within its bin.

    For whole numbers, the result is rounded to a whole number within the bin.
    """
    edges = cells.shown_edges
    place = int(np.searchsorted(rising, share))
    if place == 0 or place > cells.bins:
        return bin_at(cells, rising, share)[0]
    low, high = float(edges[place - 1]), float(edges[place])
    if cells.whole and high - low <= 1:
        return (low + high) / 2
    before, upto = float(rising[place - 1]), float(rising[place])
    inside = low + (high - low) * (share - before) / max(upto - before, 1e-12)
    if not cells.whole:
        return inside
    return float(min(max(round(inside), math.ceil(low)), math.floor(high)))


def histogram(cells: NumberCells, counts: Array, basis: Basis) -> tuple[LevelLine, ...]:
    """Merge adjacent bins into a histogram with at most ``MOST_SHOWN_BINS`` bins."""
    edges, inner = cells.shown_edges, counts[1:-2]
    step = next(k for k in (1, 2, 4, 5, 10, 20) if cells.bins <= k * MOST_SHOWN_BINS)
    lines = []
    for start in range(0, cells.bins, step):
        stop = min(start + step, cells.bins)
        label = bin_label(cells, float(edges[start]), float(edges[stop]))
        total = float(inner[start:stop].sum())
        lines.append(basis.line(label, total, stop - start))
    return tuple(lines)
