"""A design matrix that keeps numbers column by column, and categories as codes.

What a row costs does not grow with the number of levels. `CodedDesign` speaks `@` from both
sides as an array does, and becomes one by `todense` where that is simpler or as quick.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.matrix.category_tables import CodedGroup, Places

ROWS_AT_ONCE = 1024
"""So many rows of a dense matrix stay in the processor's cache while written."""
CACHE_BYTES = 5 * 2**18
"""So much of a dense matrix stays in the processor's cache while summed."""
FEW_ADDED = 1024
"""So few rows of numbers alone: their sums lose less to rounding, at hardly any cost."""
MOST_ADDED = 8192
"""So many rows at most are added up one after the other."""
CODED_BYTES = 2**22
"""So much of a design stays in the processor's last cache while summed."""
MOST_CODED_ROWS = 2**16


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CodedDesign:
    """Rows of numbers, kept column by column, and of categories, kept as cells.

    ``reach`` is a public bound on the length of a row.
    """

    numbers: AnyArray
    places: Places
    groups: tuple[CodedGroup, ...]
    shape: tuple[int, int]
    reach: float
    __array_ufunc__: ClassVar[None] = None

    def __getitem__(self, chosen: Any) -> "CodedDesign":
        numbers = self.numbers[:, chosen]
        groups = tuple(group[chosen] for group in self.groups)
        shape = (numbers.shape[1], self.shape[1])
        return CodedDesign(numbers, self.places, groups, shape, self.reach)

    def each(self, choose: Callable[[AnyArray], AnyArray]) -> "CodedDesign":
        """Return the rows that ``choose`` takes from every column alike."""
        groups = tuple(replace(group, cells=choose(group.cells)) for group in self.groups)
        chosen = [choose(column) for column in self.numbers]
        rows = len(chosen[0] if chosen else groups[0].cells)
        numbers = np.stack(chosen) if chosen else np.empty((0, rows))
        return CodedDesign(numbers, self.places, groups, (rows, self.shape[1]), self.reach)

    @staticmethod
    def stacked(designs: "Sequence[CodedDesign]") -> "CodedDesign":
        """Return the rows of several designs of one layout, one after the other."""
        first = designs[0]
        groups = tuple(
            replace(group, cells=np.concatenate([d.groups[k].cells for d in designs]))
            for k, group in enumerate(first.groups)
        )
        numbers = np.concatenate([design.numbers for design in designs], axis=1)
        shape = (numbers.shape[1], first.shape[1])
        return CodedDesign(numbers, first.places, groups, shape, first.reach)

    def astype(self, dtype: Any) -> "CodedDesign":
        """Return the rows with their numbers in some precision."""
        if self.numbers.dtype == dtype:
            return self
        return replace(self, numbers=self.numbers.astype(dtype))

    def unpacked(self) -> "CodedDesign":
        """Return the rows with cells as indices: larger, but quicker where read often."""
        groups = (
            CodedGroup(g.cells.astype(np.intp), g.table, g.places, g.joint)
            for g in self.groups
        )
        return replace(self, groups=tuple(groups))

    @property
    def block_rows(self) -> int:
        """How many rows to work on at once: many, for each step does little by itself."""
        return max(64, min(CODED_BYTES // (8 * len(self.numbers) + 16), MOST_CODED_ROWS))

    @property
    def added_cells(self) -> int:
        """How many cells are added up one after the other, once their rows are."""
        return max((g.table.shape[0] for g in self.groups if g.joint), default=0)

    @property
    def added_rows(self) -> int:
        """How many rows are added up one after the other before sums are added to sums."""
        if not self.groups:
            return FEW_ADDED
        cells = self.added_cells
        return max(512 if cells else 4096, rows_per_sum(self.shape[1]) - cells)

    @property
    def entries(self) -> int:
        """How many entries of a row can differ from zero: one for a number or category."""
        return len(self.numbers) + sum(group.categories for group in self.groups)

    @property
    def terms(self) -> int:
        """How many numbers are added up one after the other in a sum over a block."""
        count, block, piece = self.shape[0], self.block_rows, self.added_rows
        return min(count, piece + self.added_cells) + min(count, block) // piece + 1

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
        if not self.groups:
            total[self.places] = _by_few(self.numbers, weights)
            return total
        starts = range(0, max(1, len(weights)), self.added_rows)
        cuts = [slice(start, start + self.added_rows) for start in starts]
        total[self.places] = sum(self.numbers[:, cut] @ weights[cut] for cut in cuts)
        for group in self.groups:
            counts = sum(group[cut].counted(weights[cut]) for cut in cuts)
            total[group.places] = counts @ group.table
        return total

    def __abs__(self) -> "CodedDesign":
        groups = tuple(replace(group, table=abs(group.table)) for group in self.groups)
        return replace(self, numbers=abs(self.numbers), groups=groups)

    def squared(self) -> "CodedDesign":
        """Return the same rows with every entry squared."""
        groups = tuple(
            replace(group, table=group.table * group.table) for group in self.groups
        )
        return replace(self, numbers=self.numbers**2, groups=groups)

    def todense(self, dtype: Any = np.float64) -> AnyArray:
        """Return the same rows as an array; categories are written some rows at a time."""
        if not self.groups:
            return self.numbers.T.astype(dtype)
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


def _by_few(numbers: AnyArray, weights: AnyArray) -> AnyArray:
    """Return Σ wᵢxᵢ, few rows at a time, in one step: threads need not wait for others."""
    count = len(weights) // FEW_ADDED * FEW_ADDED
    rest = numbers[:, count:] @ weights[count:]
    if not count:
        return rest
    some = numbers[:, :count].reshape(len(numbers), -1, FEW_ADDED).swapaxes(0, 1)
    sums = some @ weights[:count].reshape(-1, FEW_ADDED, 1)
    return sums[:, :, 0].sum(axis=0) + rest


def take_columns(features: Any, support: Sequence[int]) -> Array:
    """Return some columns as a dense array, whatever the kind of matrix."""
    chosen = np.asarray(support, dtype=np.intp)
    if isinstance(features, CodedDesign):
        units = np.zeros((features.shape[1], len(chosen)))
        units[chosen, np.arange(len(chosen))] = 1.0
        return np.asarray(features @ units)
    part = features[:, chosen]
    dense = part.toarray() if sparse.issparse(part) else part
    return np.ascontiguousarray(dense, dtype=np.float64)


def rows_per_sum(width: int) -> int:
    """Return how many rows of so many columns a dense block adds up: no sum is longer."""
    return max(64, min(CACHE_BYTES // (8 * max(1, width)), MOST_ADDED))
