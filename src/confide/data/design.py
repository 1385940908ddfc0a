"""A design matrix that keeps categories as codes instead of columns of zeros and ones.

Several categories share one code per row, a cell of their joint table. Then a margin looks
up one number per table, and a sum over rows counts cells first: what a row costs does not
grow with the number of levels. `Design` speaks `@` from both sides as an array does, and
becomes one by `todense` where that is simpler or as quick.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array

MOST_CELLS = 2048
"""A joint table of so many cells stays in the processor's nearest cache."""
MOST_ENTRIES = 2**16
"""A table of so many entries is dense: reading it costs less than a block of rows."""
ROWS_AT_ONCE = 1024
"""So many rows of a dense matrix stay in the processor's cache while written."""
CACHE_BYTES = 5 * 2**18
"""So much of a dense matrix stays in the processor's cache while summed."""
MOST_ADDED = 8192
"""So many rows at most are added up one after the other."""
CODED_BYTES = 2**23
MOST_CODED_ROWS = 2**16

Places: TypeAlias = AnyArray | slice
"""Which columns of the design."""


@dataclass(frozen=True, slots=True)
class Indicators:
    """Where the indicators of a category stand in the design, and their height."""

    start: int
    count: int
    height: float


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Group:
    """Some categories: the cell of every row, and what each cell means.

    ``table`` has a line for every cell, which holds the indicators that it sets; they
    stand at ``places`` of the design. Where the categories are ``joint``, several cells
    set the same indicator.
    """

    cells: AnyArray
    table: Any
    places: Places
    joint: bool

    def __getitem__(self, chosen: Any) -> "Group":
        return Group(self.cells[chosen], self.table, self.places, self.joint)

    @property
    def categories(self) -> int:
        """How many categories there are: a cell sets one indicator of each at most."""
        return int((self.table != 0).sum(axis=1).max()) if self.joint else 1

    def lookup(self, theta: AnyArray) -> AnyArray:
        """Return Σ xⱼθⱼ over the indicators, for every cell."""
        return self.table @ theta[self.places]

    def counted(self, weights: AnyArray) -> AnyArray:
        """Add up the weights of the rows of every cell."""
        if weights.dtype != np.longdouble:
            return np.bincount(self.cells, weights, self.table.shape[0])
        sums = np.zeros(self.table.shape[0], np.longdouble)
        np.add.at(sums, self.cells, weights)
        return sums

    def indicators(self, rows: slice, table: Any) -> AnyArray:
        """Return the lines of the table that belong to some rows."""
        if sparse.issparse(table):
            return np.asarray(table[self.cells[rows].astype(np.intp)].todense())
        return table.take(self.cells[rows], axis=0)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Design:
    """Rows of numbers, kept column by column, and of categories, kept as cells.

    ``reach`` is a public bound on the length of a row.
    """

    numbers: AnyArray
    places: Places
    groups: tuple[Group, ...]
    shape: tuple[int, int]
    reach: float
    __array_ufunc__: ClassVar[None] = None

    def __getitem__(self, chosen: Any) -> "Design":
        numbers = self.numbers[:, chosen]
        groups = tuple(group[chosen] for group in self.groups)
        shape = (numbers.shape[1], self.shape[1])
        return Design(numbers, self.places, groups, shape, self.reach)

    def each(self, choose: Callable[[AnyArray], AnyArray]) -> "Design":
        """Return the rows that ``choose`` takes from every column alike."""
        groups = tuple(replace(group, cells=choose(group.cells)) for group in self.groups)
        rows = len(groups[0].cells)
        numbers = np.empty((0, rows))
        if len(self.numbers):
            numbers = np.stack([choose(column) for column in self.numbers])
        return Design(numbers, self.places, groups, (rows, self.shape[1]), self.reach)

    def astype(self, dtype: Any) -> "Design":
        """Return the rows with their numbers in some precision."""
        if self.numbers.dtype == dtype:
            return self
        return replace(self, numbers=self.numbers.astype(dtype))

    def unpacked(self) -> "Design":
        """Return the rows with cells as indices: larger, but quicker where read often."""
        groups = (
            Group(g.cells.astype(np.intp), g.table, g.places, g.joint) for g in self.groups
        )
        return replace(self, groups=tuple(groups))

    @property
    def block_rows(self) -> int:
        """How many rows to work on at once: many, for each step does little by itself."""
        return max(64, min(CODED_BYTES // (8 * len(self.numbers) + 16), MOST_CODED_ROWS))

    @property
    def added_cells(self) -> int:
        """How many cells are added up one after the other, once their rows are."""
        return max(g.table.shape[0] if g.joint else 0 for g in self.groups)

    @property
    def added_rows(self) -> int:
        """How many rows are added up one after the other before sums are added to sums."""
        cells = self.added_cells
        return max(512 if cells else 4096, additions(self.shape[1]) - cells)

    @property
    def entries(self) -> int:
        """How many entries of a row can differ from zero: one for a number or category."""
        return len(self.numbers) + sum(group.categories for group in self.groups)

    @property
    def terms(self) -> int:
        """How many numbers are added up one after the other in a sum over all rows."""
        count, block, piece = self.shape[0], self.block_rows, self.added_rows
        first = min(count, piece + self.added_cells)
        return first + min(count, block) // piece + count // block + 8

    def __matmul__(self, theta: AnyArray) -> AnyArray:
        if theta.ndim == 2:
            return np.column_stack([self @ column for column in theta.T])
        total = theta[self.places] @ self.numbers
        for group in self.groups:
            total += group.lookup(theta).take(group.cells)
        return total

    def alone(self, theta: AnyArray) -> AnyArray:
        """Return what `@` does, each row rounded as if there were no other."""
        total = np.zeros(self.shape[0], theta.dtype)
        for number, factor in zip(self.numbers, theta[self.places], strict=True):
            total += factor * number
        for group in self.groups:
            total += group.lookup(theta).take(group.cells)
        return total

    def __rmatmul__(self, weights: AnyArray) -> AnyArray:
        total = np.empty(self.shape[1], weights.dtype)
        starts = range(0, max(1, len(weights)), self.added_rows)
        cuts = [slice(start, start + self.added_rows) for start in starts]
        total[self.places] = sum(self.numbers[:, cut] @ weights[cut] for cut in cuts)
        for group in self.groups:
            counts = sum(group[cut].counted(weights[cut]) for cut in cuts)
            total[group.places] = counts @ group.table
        return total

    def __abs__(self) -> "Design":
        groups = tuple(replace(group, table=abs(group.table)) for group in self.groups)
        return replace(self, numbers=abs(self.numbers), groups=groups)

    def squared(self) -> "Design":
        """Return the same rows with every entry squared."""
        groups = tuple(
            replace(group, table=group.table * group.table) for group in self.groups
        )
        return replace(self, numbers=self.numbers**2, groups=groups)

    def todense(self, dtype: Any = np.float64) -> AnyArray:
        """Return the same rows as an array, written some at a time."""
        matrix = np.empty(self.shape, dtype)
        tables = [group.table.astype(dtype) for group in self.groups]
        for low in range(0, self.shape[0], ROWS_AT_ONCE):
            rows = slice(low, low + ROWS_AT_ONCE)
            out = matrix[rows]
            out[:, self.places] = self.numbers[:, rows].T
            for group, table in zip(self.groups, tables, strict=True):
                out[:, group.places] = group.indicators(rows, table)
        return matrix

    def __repr__(self) -> str:
        return "<private rows>"


def take_columns(features: Any, support: Sequence[int]) -> Array:
    """Return some columns as a dense array, whatever the kind of matrix."""
    chosen = np.asarray(support, dtype=np.intp)
    if isinstance(features, Design):
        units = np.zeros((features.shape[1], len(chosen)))
        units[chosen, np.arange(len(chosen))] = 1.0
        return np.asarray(features @ units)
    part = features[:, chosen]
    dense = part.toarray() if sparse.issparse(part) else part
    return np.ascontiguousarray(dense, dtype=np.float64)


def as_places(places: AnyArray) -> Places:
    """Return a slice instead of places that follow one another: it is quicker."""
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def additions(width: int) -> int:
    """Return how many rows of so many columns a dense block adds up: no sum is longer."""
    return max(64, min(CACHE_BYTES // (8 * max(1, width)), MOST_ADDED))


def grouped(
    codes: list[AnyArray], columns: list[Indicators], width: int
) -> tuple[Group, ...]:
    """Join categories, in their order, as long as their cells stay few.

    A code is the place of the indicator that a row sets, −1 for none. ``width`` is that of
    the whole design.
    """
    most = max(256, min(MOST_CELLS, additions(width) // 2))
    runs = _runs([column.count for column in columns], most)
    return tuple(_group(codes[some], columns[some]) for some in runs)


def _runs(counts: list[int], most: int) -> Iterator[slice]:
    start, cells, width = 0, 1, 0
    for stop, count in enumerate(counts):
        cells, width = cells * (count + 1), width + count
        if start < stop and (cells > most or cells * width > MOST_ENTRIES):
            yield slice(start, stop)
            start, cells, width = stop, count + 1, count
    yield slice(start, len(counts))


def _group(codes: list[AnyArray], columns: list[Indicators]) -> Group:
    sizes = [column.count + 1 for column in columns]
    kind = np.min_scalar_type(math.prod(sizes) - 1)
    cells = (codes[0] + 1).astype(kind)
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        cells *= size
        cells += (code + 1).astype(kind)
    places = [np.arange(c.start, c.start + c.count) for c in columns]
    table = _table(sizes, columns)
    return Group(cells, table, as_places(np.concatenate(places)), len(columns) > 1)


def _table(sizes: list[int], columns: list[Indicators]) -> Any:
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
