"""Joint codes for groups of categorical columns of a design matrix.

A row stores one code per group of categorical columns: the index of its cell in the
contingency table of these columns. A linear predictor then needs one table lookup per
group, and a weighted sum over rows adds up the weights in each cell first. The groups and
the numbering of cells are public and are fixed before any row is read.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from confide._types import AnyArray

MOST_CELLS = 2048
"""Largest number of cells of a joint group, so that a table of them fits the L1 cache."""
MOST_ENTRIES = 2**16
"""Largest number of entries of a dense table of indicators; larger ones are sparse."""

Places: TypeAlias = AnyArray | slice
"""Indices of columns of the design matrix."""


@dataclass(frozen=True, slots=True)
class IndicatorBlock:
    """First index, number and non-zero value of the indicators of a categorical column."""

    start: int
    count: int
    height: float


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CodedGroup:
    """Group of categorical columns: the cell of every record, the indicators of every cell.

    ``table`` has one row per cell of the contingency table. It contains the values of the
    indicators, which are the columns ``places`` of the design matrix. A ``joint`` group
    has several categorical columns, so an indicator is non-zero in several cells.
    """

    cells: AnyArray
    table: Any
    places: Places
    joint: bool

    def __getitem__(self, chosen: Any) -> "CodedGroup":
        return CodedGroup(self.cells[chosen], self.table, self.places, self.joint)

    @property
    def categories(self) -> int:
        """Number of categorical columns, a bound on the non-zero indicators of a record."""
        return int((self.table != 0).sum(axis=1).max()) if self.joint else 1

    def lookup(self, theta: AnyArray) -> AnyArray:
        """Return, for every cell, Σ xⱼθⱼ over its indicators xⱼ."""
        return self.table @ theta[self.places]

    def unpacked(self) -> "CodedGroup":
        """Return the group with cell indices of type intp, which are larger but faster."""
        return CodedGroup(self.cells.astype(np.intp), self.table, self.places, self.joint)

    def truncated(self, unit: float) -> "CodedGroup":
        """Return the group with values of indicators truncated to multiples of ``unit``."""
        steps = self.table / unit
        whole = steps.trunc() if sparse.issparse(steps) else np.trunc(steps)
        return CodedGroup(self.cells, whole * unit, self.places, self.joint)

    def cell_sums(self, weights: AnyArray) -> AnyArray:
        """Return, for every cell, the sum of the weights of its records."""
        if weights.dtype != np.longdouble:
            return np.bincount(self.cells, weights, self.table.shape[0])
        sums = np.zeros(self.table.shape[0], np.longdouble)
        np.add.at(sums, self.cells, weights)
        return sums

    def indicators(self, rows: slice, table: Any) -> AnyArray:
        """Return, for each of the given records, the row of ``table`` for its cell."""
        if sparse.issparse(table):
            return np.asarray(table[self.cells[rows].astype(np.intp)].todense())
        return table.take(self.cells[rows], axis=0)


def joint_cells(groups: Sequence[CodedGroup]) -> int:
    """Return the largest number of cells of any joint group, or 0 if there is none."""
    return max((g.table.shape[0] for g in groups if g.joint), default=0)


@dataclass(frozen=True, slots=True, eq=False)
class JointTable:
    """The public part of a `CodedGroup`: its categorical columns and their indicators."""

    members: slice
    sizes: tuple[int, ...]
    table: Any
    places: Places

    def group(self, codes: Sequence[AnyArray]) -> CodedGroup:
        """Return the group for records with the given level codes (−1 for no level)."""
        mine = codes[self.members]
        kind = np.min_scalar_type(math.prod(self.sizes) - 1)
        cells = mine[0].astype(kind)
        cells += kind.type(1)
        for code, size in zip(mine[1:], self.sizes[1:], strict=True):
            cells *= kind.type(size)
            cells += code.astype(kind)
            cells += kind.type(1)
        return CodedGroup(cells, self.table, self.places, len(mine) > 1)


def joined(columns: Sequence[IndicatorBlock], most: int) -> tuple[JointTable, ...]:
    """Group consecutive categorical columns, limiting the number of cells per group."""
    counts = [column.count for column in columns]
    return tuple(
        _joint(run, columns[run]) for run in _runs(counts, max(256, min(MOST_CELLS, most)))
    )


def as_places(places: AnyArray) -> Places:
    """Convert consecutive indices to a slice, which is faster; keep other indices."""
    if len(places) and (np.diff(places) == 1).all():
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _runs(counts: list[int], most: int) -> Iterator[slice]:
    start, cells, width = 0, 1, 0
    for stop, count in enumerate(counts):
        cells, width = cells * (count + 1), width + count
        if start < stop and (cells > most or cells * width > MOST_ENTRIES):
            yield slice(start, stop)
            start, cells, width = stop, count + 1, count
    if counts:
        yield slice(start, len(counts))


def _joint(members: slice, columns: Sequence[IndicatorBlock]) -> JointTable:
    sizes = tuple(column.count + 1 for column in columns)
    places = [np.arange(c.start, c.start + c.count) for c in columns]
    return JointTable(
        members, sizes, _table(sizes, columns), as_places(np.concatenate(places))
    )


def _table(sizes: tuple[int, ...], columns: Sequence[IndicatorBlock]) -> Any:
    if len(columns) == 1 and sizes[0] ** 2 > MOST_ENTRIES:
        heights = np.full(columns[0].count, columns[0].height)
        shape = (sizes[0], columns[0].count)
        return sparse.diags_array(heights, offsets=-1, shape=shape).tocsr()
    table = np.zeros((math.prod(sizes), sum(sizes) - len(sizes)))
    start = 0
    for digit, column in zip(np.indices(sizes), columns, strict=True):
        lines = np.flatnonzero(digit)
        table[lines, start + digit.ravel()[lines] - 1] = column.height
        start += column.count
    return table
