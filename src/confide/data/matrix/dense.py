"""Dense feature matrices."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.category_tables import CodedGroup, Places
from confide.data.matrix.sums import (
    ROWS_AT_ONCE,
    SumShape,
    addition_depth,
    refuse_infinite,
    row_lengths,
    rows_per_sum,
    sum_row_by_row,
)

Part = TypeVar("Part")
Slicer: TypeAlias = Callable[[slice, Any, AnyArray | None], tuple[Part, AnyArray | None]]
"""Function of a slice of rows, a dtype, and the scale factors of these rows or None.

It returns the rows in this dtype, and the factors that have yet to be applied. Both are
valid until the next call.
"""
RUN = 8
FEWEST_RUNS = 64


@dataclass(frozen=True, slots=True)
class RowStride:
    """Rule that selects one out of every ``step`` rows, spread evenly over a table.

    The rule selects single rows, or runs of consecutive rows, which are cheaper to copy if
    rows are contiguous in memory.
    """

    step: int
    runs: int = 0

    @classmethod
    def in_runs(cls, step: int, count: int) -> "RowStride":
        """Return a rule that selects runs, or single rows if there would be few runs."""
        runs = count // (RUN * step)
        return cls(step, runs if runs >= FEWEST_RUNS else 0)

    def __call__(self, values: Any, dtype: Any = None) -> Any:
        """Return a copy of the selected rows, converted to ``dtype`` if it is given."""
        dtype = values.dtype if dtype is None else dtype
        if not self.runs:
            return values[:: self.step].astype(dtype)
        length, rest = RUN * self.step, values.shape[1:]
        whole = values[: self.runs * length].reshape(self.runs, length, *rest)
        return whole[:, :RUN].astype(dtype).reshape(self.runs * RUN, *rest)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Dense:
    """Feature matrix stored as a two-dimensional array."""

    array: AnyArray

    groups: ClassVar[tuple[CodedGroup, ...]] = ()
    places: ClassVar[Places] = slice(None)
    is_sparse: ClassVar[bool] = False
    scalable: ClassVar[bool] = True
    reach: ClassVar[float] = math.inf

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        rows, columns = self.array.shape
        return rows, columns

    @property
    def nbytes(self) -> int:
        """Size of the rows in memory, in bytes."""
        return self.array.nbytes

    @property
    def block_rows(self) -> int:
        """Number of rows per block in sums over rows."""
        return rows_per_sum(self.array.shape[1])

    @property
    def sum_shape(self) -> SumShape:
        """Numbers of additions per sum over a block and per linear predictor."""
        (count, width), block = self.shape, self.block_rows
        rows = min(count, block)
        return SumShape(block, addition_depth(-(-rows // block)), rows, width, width)

    # ------------------------------------------------------------------- selected rows

    def __getitem__(self, chosen: slice | AnyArray) -> "Dense":
        return Dense(self.array[chosen])

    def empty(self) -> "Dense":
        """Return a matrix with the same columns and no rows, without references to data."""
        return Dense(np.empty((0, self.array.shape[1]), self.array.dtype))

    def slicer(self) -> Slicer["Dense"]:
        """Return a function that extracts rows in a given precision, with scale factors.

        Rows of another dtype are converted into a buffer, which the next call overwrites.
        """
        room: list[AnyArray] = []

        def convert(part: AnyArray, dtype: Any) -> AnyArray:
            if part.dtype == dtype:
                return part
            if not room or room[0].shape != part.shape:
                room[:] = [np.empty_like(part, dtype)]
            np.copyto(room[0], part)
            return room[0]

        def cut_out(
            cut: slice, dtype: Any, factor: AnyArray | None
        ) -> tuple[Dense, AnyArray | None]:
            part = self.array[cut]
            if factor is None or dtype == np.float64:
                return Dense(convert(part, dtype)), factor
            whole = Dense(convert(part, np.float64)).scaled(factor)
            return Dense(whole.array.astype(dtype)), None

        return cut_out

    def stride(self, step: int) -> RowStride:
        """Return a rule that selects one out of every ``step`` rows for a subsample."""
        return RowStride.in_runs(step, self.array.shape[0])

    def subsample(
        self, stride: RowStride, factor: AnyArray | None
    ) -> tuple["Dense", AnyArray | None]:
        """Return a copy of the selected rows in single precision, with scale factors."""
        if factor is None:
            return Dense(stride(self.array, np.float32)), None
        whole = Dense(stride(self.array, np.float64)).scaled(stride(factor, np.float64))
        return Dense(whole.array.astype(np.float32)), None

    # ------------------------------------------------------------ transformed matrices

    def without_duplicates(self) -> "Dense":
        """Return the matrix itself, which has one entry per position."""
        return self

    def columns(self, support: Sequence[int]) -> "Dense":
        """Return the given columns as a dense matrix."""
        chosen = np.asarray(support, dtype=np.intp)
        return Dense(np.ascontiguousarray(self.array[:, chosen], dtype=np.float64))

    def absolute(self) -> "Dense":
        """Return the absolute values of all entries."""
        return Dense(abs(self.array))

    def scaled(self, factor: AnyArray | None) -> "Dense":
        """Return the matrix with every row multiplied by its factor."""
        return self if factor is None else Dense(self.array * factor[:, None])

    def clipped(self, bound: float) -> "Dense":
        """Return the matrix with all entries clipped to [−bound, bound]."""
        return Dense(clip_values(self.array, bound))

    def truncated(self, unit: float) -> "Dense":
        """Return all entries as doubles truncated towards zero to multiples of ``unit``."""
        return Dense(truncate(self.array, unit))

    def number_columns(self, factor: AnyArray | None) -> "Dense":
        """Return the numeric columns, here all columns, of the scaled rows."""
        return self.scaled(factor)

    def split(self, leading: Callable[[AnyArray], AnyArray]) -> tuple["Dense", "Dense"]:
        """Split every entry into ``leading(entry)`` and the remainder."""
        lead = leading(self.array)
        return Dense(lead), Dense(self.array - lead)

    def toarray(self, dtype: Any = np.float64) -> AnyArray:
        """Return the rows as a dense array."""
        return np.asarray(self.array, dtype)

    def plain(self, factor: AnyArray | None) -> Any:
        """Return the scaled rows as an array of doubles, for scikit-learn.

        The array is in row-major order, so that the order of additions does not
        depend on how the table was stored.
        """
        return Dense(np.ascontiguousarray(self.array, np.float64)).scaled(factor).array

    # -------------------------------------------------------------------------- products

    def __matmul__(self, theta: AnyArray) -> AnyArray:
        return self.array @ theta

    def row_independent_product(self, theta: AnyArray) -> AnyArray:
        """Return ⟨x, θ⟩ for every row x, rounded independently of other rows."""
        return sum_row_by_row("ij,j->i", np.ascontiguousarray(self.array), theta)

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ over the rows xᵢ; a matrix of weights gives one sum per column."""
        return weights @ self.array if weights.ndim == 1 else self.array.T @ weights

    def gram(
        self, weights: AnyArray, factor: AnyArray | None, height: float, *, double: bool
    ) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ over the scaled rows xᵢ, including any intercept column."""
        kind: Any = np.float64 if double else np.float32
        root = np.sqrt(weights).astype(kind, copy=False)
        # Unscaled features may be too large for single precision.
        rows = self.scaled(factor).array.astype(kind)
        rows *= root[:, None]
        inner = rows.T @ rows
        if not height:
            return inner.astype(np.float64, copy=False)
        return bordered(inner, height * (root @ rows), height**2 * float(weights.sum()))

    def gram_diagonal(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢⱼ² over the rows i, for every column j."""
        return np.einsum("i,ij,ij->j", weights, self.array, self.array)

    # -------------------------------------------------------------------------- lengths

    def squared_lengths(self) -> Array:
        """Return the squared norm of every row, rounded independently of other rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            rows = np.ascontiguousarray(self.array)
            return sum_row_by_row("ij,ij->i", rows, rows)

    def safe_lengths(self, places: slice | AnyArray, factor: AnyArray | None) -> Array:
        """Return the norms of the given rows, without underflow or overflow of squares."""
        rows = self[places].scaled(factor).array
        top = np.abs(rows).max(axis=1)
        unit = np.where(top > 0, top, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            shares = Dense(rows / unit[:, None])
            return np.asarray(top * np.sqrt(shares.squared_lengths()))

    def lengths(self, factor: AnyArray | None = None, height: float = 0.0) -> Array:
        """Return the Euclidean norms of the scaled rows, including any intercept column."""
        return row_lengths(self, factor, height)

    def largest_entry(self) -> float:
        """Return the largest absolute value among all entries."""
        return float(np.abs(self.array).max(initial=0.0))

    def largest_norms(self, few: int) -> Array:
        """Return, for every row, the norm of its ``few`` entries of largest magnitude."""
        rows = range(0, max(1, self.array.shape[0]), ROWS_AT_ONCE)
        parts = [_norms(self.array[low : low + ROWS_AT_ONCE], few) for low in rows]
        return np.concatenate(parts)

    def refuse_infinite(self) -> None:
        """Raise an error if any entry is not finite."""
        refuse_infinite(self.array)

    def __repr__(self) -> str:
        return "<private rows>"


def bordered(inner: AnyArray, cross: AnyArray, corner: float) -> Array:
    """Return a Gram matrix with an additional row and column."""
    whole = np.empty((len(inner) + 1, len(inner) + 1))
    whole[:-1, :-1] = inner
    whole[-1, :-1] = whole[:-1, -1] = cross
    whole[-1, -1] = corner
    return whole


def clip_values(values: AnyArray, bound: float) -> AnyArray:
    """Clip values to [−bound, bound], with the bound rounded towards 0 in their dtype."""
    kind = values.dtype.type
    limit = kind(bound)
    limit = limit if float(limit) <= bound else np.nextafter(limit, kind(0))
    return np.clip(values, -limit, limit)


def truncate(values: AnyArray, unit: float) -> Array:
    """Truncate values towards zero to multiples of ``unit``, a power of two."""
    cut = values / np.float64(unit)
    np.trunc(cut, out=cut)
    cut *= unit
    return cut


def _norms(values: AnyArray, few: int) -> Array:
    with np.errstate(over="ignore"):
        squares = np.square(values, dtype=np.float64)
    if few < squares.shape[1]:
        squares = np.partition(squares, squares.shape[1] - few, axis=1)[:, -few:]
    # Add up column by column, because the rounding of np.sum depends on the number of rows.
    return np.asarray(np.sqrt(sum(squares.T, np.zeros(len(squares)))))
