"""Design matrices that store numbers column by column and categories as codes.

The cost per row does not grow with the number of levels. Some operations convert blocks of
rows to dense arrays instead, if this is simpler or equally fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.category_tables import CodedGroup, Places, joint_cells
from confide.data.matrix.dense import Dense, RowStride, Slicer, truncate
from confide.data.matrix.sums import (
    FEW_ADDED,
    MOST_ADDED,
    SumShape,
    addition_depth,
    refuse_infinite,
    row_lengths,
    rows_in_cache,
    rows_per_sum,
)

ROWS_AT_ONCE = 1024
"""Number of rows that are converted to a dense array at a time, to fit the cache."""
CODED_BYTES = 2**22
"""Size in bytes of a block of rows that fits the processor's last-level cache."""
MOST_CODED_ROWS = 2**16
WIDEST_DENSE = 1500
"""Largest number of columns for which a subsample is converted to a dense matrix."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CodedDesign:
    """Design matrix that stores numbers column by column and categories as codes.

    ``numbers`` has one row per numeric column of the design. ``reach`` is a public bound
    on the Euclidean norm of a row of the design. All entries are finite.
    """

    numbers: AnyArray
    places: Places
    groups: tuple[CodedGroup, ...]
    shape: tuple[int, int]
    reach: float

    is_sparse: ClassVar[bool] = False
    scalable: ClassVar[bool] = False

    @property
    def nbytes(self) -> int:
        """Size of the rows in memory, in bytes."""
        return self.numbers.nbytes + sum(group.cells.nbytes for group in self.groups)

    @property
    def block_rows(self) -> int:
        """Number of rows per block; blocks are large because the work per row is small."""
        return max(64, min(CODED_BYTES // (8 * len(self.numbers) + 16), MOST_CODED_ROWS))

    @property
    def rows_per_piece(self) -> int:
        """Number of rows per inner sum; a sum over a block adds up its inner sums."""
        if not self.groups:
            return FEW_ADDED
        cells = joint_cells(self.groups)
        return max(512 if cells else 4096, rows_per_sum(self.shape[1]) - cells)

    @property
    def sum_shape(self) -> SumShape:
        """Numbers of additions per sum over a block and per linear predictor."""
        count, block, piece = self.shape[0], self.block_rows, self.rows_per_piece
        rows = min(count, block)
        added = min(block, MOST_ADDED) if len(self.numbers) else block
        terms = min(count, piece + joint_cells(self.groups)) + rows // piece + 1
        entries = len(self.numbers) + sum(group.categories for group in self.groups)
        return SumShape(added, addition_depth(-(-rows // added)), terms, entries, entries)

    # ------------------------------------------------------------------- selected rows

    def __getitem__(self, chosen: slice | AnyArray) -> "CodedDesign":
        numbers = self.numbers[:, chosen]
        groups = tuple(group[chosen] for group in self.groups)
        shape = (numbers.shape[1], self.shape[1])
        return CodedDesign(numbers, self.places, groups, shape, self.reach)

    def empty(self) -> "CodedDesign":
        """Return a matrix with the same columns and no rows, without references to data."""
        return self[np.empty(0, np.intp)]

    def slicer(self) -> Slicer["CodedDesign"]:
        """Return a function that extracts rows in a given precision, with scale factors."""
        return lambda cut, dtype, factor: (_in_precision(self[cut], dtype), factor)

    def stride(self, step: int) -> RowStride:
        """Return a rule that selects one out of every ``step`` rows for a subsample."""
        return RowStride.in_runs(step, self.shape[0])

    def subsample(
        self, stride: RowStride, factor: AnyArray | None
    ) -> tuple["CodedDesign | Dense", AnyArray | None]:
        """Return a copy of the selected rows in single precision, with scale factors."""
        groups = tuple(replace(group, cells=stride(group.cells)) for group in self.groups)
        chosen = [stride(column, np.float32) for column in self.numbers]
        rows = len(chosen[0] if chosen else groups[0].cells)
        numbers = np.stack(chosen) if chosen else np.empty((0, rows))
        shape = (rows, self.shape[1])
        coded = CodedDesign(numbers, self.places, groups, shape, self.reach)
        own = None if factor is None else stride(factor, np.float32)
        if shape[1] > WIDEST_DENSE:
            return coded, own
        return Dense(coded.toarray(np.float32)), own

    @staticmethod
    def stacked(designs: "Sequence[CodedDesign]") -> "CodedDesign":
        """Concatenate the rows of several designs with the same columns."""
        first = designs[0]
        groups = tuple(
            replace(group, cells=np.concatenate([d.groups[k].cells for d in designs]))
            for k, group in enumerate(first.groups)
        )
        numbers = np.concatenate([design.numbers for design in designs], axis=1)
        shape = (numbers.shape[1], first.shape[1])
        return CodedDesign(numbers, first.places, groups, shape, first.reach)

    # ------------------------------------------------------------ transformed matrices

    def without_duplicates(self) -> "CodedDesign":
        """Return the matrix itself, which has one entry per position."""
        return self

    def columns(self, support: Sequence[int]) -> Dense:
        """Return the given columns as a dense matrix."""
        chosen = np.asarray(support, dtype=np.intp)
        units = np.zeros((self.shape[1], len(chosen)))
        units[chosen, np.arange(len(chosen))] = 1.0
        return Dense(self @ units)

    def absolute(self) -> "CodedDesign":
        """Return the absolute values of all entries."""
        groups = tuple(replace(group, table=abs(group.table)) for group in self.groups)
        return replace(self, numbers=abs(self.numbers), groups=groups)

    def scaled(self, factor: AnyArray | None) -> Dense:
        """Return a dense matrix with every row multiplied by its factor."""
        return Dense(self.toarray()).scaled(factor)

    def clipped(self, bound: float) -> Dense:
        """Return a dense matrix with all entries clipped to [−bound, bound]."""
        return Dense(self.toarray()).clipped(bound)

    def truncated(self, unit: float) -> "CodedDesign":
        """Return all entries as doubles truncated towards zero to multiples of ``unit``."""
        groups = tuple(group.truncated(unit) for group in self.groups)
        return replace(self, numbers=truncate(self.numbers, unit), groups=groups)

    def number_columns(self, factor: AnyArray | None) -> Dense:
        """Return the numeric columns; scale factors are not supported, so pass None."""
        assert factor is None, "codes cannot be scaled"  # noqa: S101
        return Dense(self.numbers.T)

    def toarray(self, dtype: Any = np.float64) -> AnyArray:
        """Return the design as a dense array, written in blocks if there are categories."""
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

    def plain(self, factor: AnyArray | None) -> Any:
        """Return the scaled rows as an array of doubles, for scikit-learn."""
        return Dense(self.toarray()).plain(factor)

    # -------------------------------------------------------------------------- products

    def __matmul__(self, theta: AnyArray) -> AnyArray:
        if theta.ndim == 2:
            return np.column_stack([self @ column for column in theta.T])
        return self._with_categories(theta[self.places] @ self.numbers, theta)

    def row_independent_product(self, theta: AnyArray) -> AnyArray:
        """Return ⟨x, θ⟩ for every row x, rounded independently of other rows."""
        total = np.zeros(self.shape[0], theta.dtype)
        for number, factor in zip(self.numbers, theta[self.places], strict=True):
            total += factor * number
        return self._with_categories(total, theta)

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ over the rows xᵢ; a matrix of weights gives one sum per column."""
        if weights.ndim == 2:
            return np.column_stack([self.weighted_sum(column) for column in weights.T])
        total = np.empty(self.shape[1], weights.dtype)
        if not self.groups:
            total[self.places] = _sum_in_pieces(self.numbers, weights)
            return total
        starts = range(0, max(1, len(weights)), self.rows_per_piece)
        cuts = [slice(start, start + self.rows_per_piece) for start in starts]
        total[self.places] = sum(self.numbers[:, cut] @ weights[cut] for cut in cuts)
        for group in self.groups:
            counts = sum(group[cut].cell_sums(weights[cut]) for cut in cuts)
            total[group.places] = counts @ group.table
        return total

    def gram(
        self, weights: AnyArray, factor: AnyArray | None, height: float, *, double: bool
    ) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ over the scaled rows xᵢ, including any intercept column."""
        if not self.groups and factor is None:
            return self._gram_of_numbers(weights, height, double=double)
        kind = np.float64 if double else np.float32
        most = rows_in_cache(4 * self.shape[1])
        most = min(most, self.rows_per_piece) if double else most
        cuts = [slice(low, low + most) for low in range(0, max(1, self.shape[0]), most)]
        grams = (
            Dense(self[cut].toarray(kind)).gram(
                weights[cut], None if factor is None else factor[cut], height, double=double
            )
            for cut in cuts
        )
        return np.asarray(sum(grams))

    def gram_diagonal(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢⱼ² over the rows i, for every column j."""
        return self._squared().weighted_sum(weights)

    # -------------------------------------------------------------------------- lengths

    def squared_lengths(self) -> Array:
        """Return the squared norm of every row, rounded independently of other rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._squared().row_independent_product(np.ones(self.shape[1]))

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array:
        """Return the norms of the given rows, without underflow or overflow of squares."""
        return self[places].scaled(factor).safe_lengths(slice(None), None)

    def lengths(self, factor: AnyArray | None = None, height: float = 0.0) -> Array:
        """Return the Euclidean norms of the scaled rows, including any intercept column."""
        return row_lengths(self, factor, height)

    def largest_entry(self) -> float:
        """Return the largest absolute value among all entries."""
        return Dense(self.toarray()).largest_entry()

    def largest_norms(self, few: int) -> Array:
        """Return, for every row, the norm of its ``few`` entries of largest magnitude."""
        return Dense(self.toarray()).largest_norms(few)

    def refuse_infinite(self) -> None:
        """Raise an error if any entry is not finite."""
        refuse_infinite(self.numbers)

    def __repr__(self) -> str:
        return "<private rows>"

    def _squared(self) -> "CodedDesign":
        """Return the design with every entry squared."""
        groups = tuple(
            replace(group, table=group.table * group.table) for group in self.groups
        )
        return replace(self, numbers=self.numbers**2, groups=groups)

    def _with_categories(self, total: AnyArray, theta: AnyArray) -> AnyArray:
        """Add the contribution of the categorical columns to linear predictors."""
        for group in self.groups:
            total += group.lookup(theta).take(group.cells)
        return total

    def _gram_of_numbers(self, weights: AnyArray, height: float, *, double: bool) -> Array:
        """Return the Gram matrix of a design without categories, without transposing it."""
        kind, most = (np.float64, FEW_ADDED) if double else (np.float32, MOST_ADDED)
        bare = len(self.numbers)
        size = bare + (1 if height else 0)
        total = np.zeros((size, size))
        for low in range(0, len(weights), most):
            cut = slice(low, low + most)
            root = np.sqrt(weights[cut]).astype(kind, copy=False)
            lines = np.empty((size, len(root)), kind)
            lines[:bare] = self.numbers[:, cut]
            lines[bare:] = height
            lines *= root
            total += lines @ lines.T
        return total


def _in_precision(design: CodedDesign, dtype: Any) -> CodedDesign:
    """Return the design with its numeric columns in a given precision."""
    if design.numbers.dtype == dtype:
        return design
    return replace(design, numbers=design.numbers.astype(dtype))


def _sum_in_pieces(numbers: AnyArray, weights: AnyArray) -> AnyArray:
    """Return Σ wᵢxᵢ as a sum of short inner sums, computed as one batched product."""
    count = len(weights) // FEW_ADDED * FEW_ADDED
    rest = numbers[:, count:] @ weights[count:]
    if not count:
        return rest
    some = numbers[:, :count].reshape(len(numbers), -1, FEW_ADDED).swapaxes(0, 1)
    sums = some @ weights[:count].reshape(-1, FEW_ADDED, 1)
    return np.asarray(sums[:, :, 0].sum(axis=0) + rest)
