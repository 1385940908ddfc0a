"""Sparse feature matrices in CSR format."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.matrix.category_tables import CodedGroup, Places
from confide.data.matrix.dense import (
    Dense,
    RowStride,
    Slicer,
    bordered,
    clip_values,
    truncate,
)
from confide.data.matrix.sums import (
    SumShape,
    addition_depth,
    refuse_infinite,
    row_lengths,
    rows_in_cache,
)
from confide.errors import InvalidData

ENTRY_BYTES = 12
"""Size in bytes of an entry: a double and its column index."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Csr:
    """Feature matrix stored as a SciPy CSR array."""

    matrix: Any

    groups: ClassVar[tuple[CodedGroup, ...]] = ()
    places: ClassVar[Places] = slice(None)
    is_sparse: ClassVar[bool] = True
    scalable: ClassVar[bool] = True
    reach: ClassVar[float] = math.inf

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        rows, columns = self.matrix.shape
        return rows, columns

    @property
    def nbytes(self) -> int:
        """Size of the rows in memory, in bytes."""
        matrix = self.matrix
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)

    @property
    def block_rows(self) -> int:
        """Number of rows per block, from the average number of entries per row."""
        entries = self.matrix.nnz // max(1, self.matrix.shape[0])
        return rows_in_cache(ENTRY_BYTES * max(1, entries))

    @property
    def sum_shape(self) -> SumShape:
        """Numbers of additions per sum over a block and per linear predictor."""
        (count, width), block = self.shape, self.block_rows
        rows, fullest = min(count, block), int(_row_sizes(self.matrix).max(initial=0))
        return SumShape(block, addition_depth(-(-rows // block)), rows, fullest, width)

    # ------------------------------------------------------------------- selected rows

    def __getitem__(self, chosen: slice | AnyArray) -> "Csr":
        return Csr(self.matrix[chosen])

    def empty(self) -> "Csr":
        """Return a matrix with the same columns and no rows, without references to data."""
        return self[:0]

    def slicer(self) -> Slicer["Csr"]:
        """Return a function that extracts rows in a given precision, with scale factors.

        The column indices of entries are not copied.
        """

        def cut_out(
            cut: slice, dtype: Any, factor: AnyArray | None
        ) -> tuple[Csr, AnyArray | None]:
            if factor is None or dtype == np.float64:
                return self._cut(cut, dtype), factor
            whole = self._cut(cut, np.float64).scaled(factor)
            return Csr(whole.matrix.astype(dtype)), None

        return cut_out

    def stride(self, step: int) -> RowStride:
        """Return a rule that selects one out of every ``step`` rows for a subsample."""
        return RowStride(step)

    def subsample(
        self, stride: RowStride, factor: AnyArray | None
    ) -> tuple["Csr", AnyArray | None]:
        """Return a copy of the selected rows in single precision, with scale factors."""
        if factor is None:
            return Csr(stride(self.matrix, np.float32)), None
        whole = Csr(stride(self.matrix, np.float64)).scaled(stride(factor, np.float64))
        return Csr(whole.matrix.astype(np.float32)), None

    # ------------------------------------------------------------ transformed matrices

    def without_duplicates(self) -> "Csr":
        """Return a matrix with sorted entries and at most one entry per position.

        Entries at the same position are added in the order in which they are stored. SciPy
        would sort them first, and the order of such entries would depend on other rows. A
        matrix that already has this form is returned unchanged. The form is always checked,
        because the result that SciPy caches is wrong once the arrays have been modified.
        """
        afresh = _with_values(self.matrix, self.matrix.data).matrix
        if afresh.has_canonical_format:
            return self
        rows = np.repeat(np.arange(afresh.shape[0]), np.diff(afresh.indptr))
        order = np.lexsort((afresh.indices, rows))
        rows, columns, values = rows[order], afresh.indices[order], afresh.data[order]
        begins = np.ones(len(rows), dtype=bool)
        begins[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        sums = np.zeros(np.count_nonzero(begins), values.dtype)
        np.add.at(sums, np.cumsum(begins) - 1, values)
        counts = np.bincount(rows[begins], minlength=afresh.shape[0])
        ends = np.concatenate([[0], np.cumsum(counts)])
        return Csr(sparse.csr_array((sums, columns[begins], ends), shape=afresh.shape))

    def columns(self, support: Sequence[int]) -> Dense:
        """Return the given columns as a dense matrix."""
        chosen = np.asarray(support, dtype=np.intp)
        part = self.matrix[:, chosen].toarray()
        return Dense(np.ascontiguousarray(part, dtype=np.float64))

    def absolute(self) -> "Csr":
        """Return the absolute values of all entries."""
        return Csr(abs(self.matrix))

    def scaled(self, factor: AnyArray | None) -> "Csr":
        """Return the matrix with every row multiplied by its factor."""
        if factor is None:
            return self
        return _with_values(
            self.matrix, self.matrix.data * np.repeat(factor, _row_sizes(self.matrix))
        )

    def clipped(self, bound: float) -> "Csr":
        """Return the matrix with all entries clipped to [−bound, bound]."""
        return _with_values(self.matrix, clip_values(self.matrix.data, bound))

    def truncated(self, unit: float) -> "Csr":
        """Return all entries as doubles truncated towards zero to multiples of ``unit``."""
        return _with_values(self.matrix, truncate(self.matrix.data, unit))

    def number_columns(self, factor: AnyArray | None) -> "Csr":
        """Return the numeric columns, here all columns, of the scaled rows."""
        return self.scaled(factor)

    def split(self, leading: Callable[[AnyArray], AnyArray]) -> tuple["Csr", "Csr | None"]:
        """Split every entry into ``leading(entry)`` and the remainder.

        The matrix of remainders is None if all remainders are 0.
        """
        values = self.matrix.data
        lead = leading(values)
        if np.array_equal(lead, values):
            return self, None
        return _with_values(self.matrix, lead), _with_values(self.matrix, values - lead)

    def toarray(self, dtype: Any = np.float64) -> AnyArray:
        """Return the rows as a dense array."""
        return np.asarray(self.matrix.toarray(), dtype)

    def plain(self, factor: AnyArray | None) -> Any:
        """Return the scaled rows as a CSR matrix of doubles, for scikit-learn."""
        whole = _with_values(self.matrix, self.matrix.data.astype(np.float64, copy=False))
        return whole.scaled(factor).matrix

    # -------------------------------------------------------------------------- products

    def __matmul__(self, theta: AnyArray) -> AnyArray:
        return np.asarray(self.matrix @ theta)

    def row_independent_product(self, theta: AnyArray) -> AnyArray:
        """Return ⟨x, θ⟩ for every row x, rounded independently of other rows."""
        return self @ theta

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ over the rows xᵢ; a matrix of weights gives one sum per column."""
        return np.asarray(self.matrix.T @ weights)

    def gram(
        self, weights: AnyArray, factor: AnyArray | None, height: float, *, double: bool
    ) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ over the scaled rows xᵢ, including any intercept column."""
        kind = np.float64 if double else np.float32
        root = np.sqrt(weights).astype(kind, copy=False)
        # Unscaled features may be too large for single precision.
        bounded = Csr(self.scaled(factor).matrix.astype(kind, copy=False))
        rows = bounded.scaled(root).matrix
        inner = (rows.T @ rows).toarray()
        if not height:
            return np.asarray(inner, np.float64)
        cross = height * np.asarray(root @ rows)
        return bordered(inner, cross, height**2 * float(weights.sum()))

    def gram_diagonal(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢⱼ² over the rows i, for every column j."""
        return self._squared().weighted_sum(weights)

    # -------------------------------------------------------------------------- lengths

    def squared_lengths(self) -> Array:
        """Return the squared norm of every row, rounded independently of other rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._squared() @ np.ones(self.matrix.shape[1])

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array:
        """Return the norms of the given rows, without underflow or overflow of squares."""
        rows = self[places].scaled(factor)
        top = abs(rows.matrix).max(axis=1).toarray().ravel()
        unit = np.repeat(np.where(top > 0, top, 1.0), _row_sizes(rows.matrix))
        with np.errstate(over="ignore", invalid="ignore"):
            shares = _with_values(rows.matrix, rows.matrix.data / unit)
            return np.asarray(top * np.sqrt(shares.squared_lengths()))

    def lengths(self, factor: AnyArray | None = None, height: float = 0.0) -> Array:
        """Return the Euclidean norms of the scaled rows, including any intercept column."""
        return row_lengths(self, factor, height)

    def largest_entry(self) -> float:
        """Return the largest absolute value among all entries."""
        return float(np.abs(self.matrix.data).max(initial=0.0))

    def largest_norms(self, few: int) -> Array:
        """Return, for every row, the norm of its ``few`` entries of largest magnitude."""
        counts = _row_sizes(self.matrix)
        row = np.repeat(np.arange(len(counts)), counts)
        size = np.abs(self.matrix.data).astype(np.float64, copy=False)
        order = np.lexsort((-size, row))
        rank = np.arange(len(order)) - np.repeat(self.matrix.indptr[:-1], counts)
        with np.errstate(over="ignore"):
            squares = np.where(rank < few, size[order] ** 2, 0.0)
        return np.sqrt(np.bincount(row, squares, len(counts)))

    def refuse_infinite(self) -> None:
        """Raise an error if any entry is not finite."""
        refuse_infinite(self.matrix.data)

    def __repr__(self) -> str:
        return "<private rows>"

    def _cut(self, rows: slice, dtype: Any) -> "Csr":
        """Return consecutive rows in a given precision."""
        matrix = self.matrix
        first, last = matrix.indptr[rows.start], matrix.indptr[rows.stop]
        parts = (
            matrix.data[first:last].astype(dtype, copy=False),
            matrix.indices[first:last],
            matrix.indptr[rows.start : rows.stop + 1] - first,
        )
        shape = (rows.stop - rows.start, matrix.shape[1])
        return Csr(sparse.csr_array(parts, shape=shape))

    def _squared(self) -> "Csr":
        """Return the matrix of squared entries; there must be one entry per position."""
        return _with_values(self.matrix, self.matrix.data * self.matrix.data)


def _with_values(matrix: Any, values: AnyArray) -> Csr:
    """Return a CSR matrix with the positions of ``matrix`` and the given values."""
    parts = (values, matrix.indices, matrix.indptr)
    return Csr(sparse.csr_array(parts, shape=matrix.shape))


def _row_sizes(matrix: Any) -> AnyArray:
    """Return the number of stored entries of every row."""
    return np.diff(matrix.indptr)


def as_csr(features: Any) -> Any:
    """Convert a sparse matrix to CSR format, keeping the order of entries within each row.

    The conversion by SciPy would add up entries at the same position, in an order that
    depends on other rows.
    """
    if features.format in ("csr", "csc"):
        return _checked(features).tocsr()
    entries = features.tocoo()
    order = np.argsort(entries.row, kind="stable")
    counts = np.bincount(entries.row, minlength=features.shape[0])
    ends = np.concatenate([[0], np.cumsum(counts)])
    parts = (entries.data[order], entries.col[order], ends)
    return _checked(sparse.csr_array(parts, shape=features.shape))


def _checked(features: Any) -> Any:
    """Return the matrix; raise an error if an index is outside its shape."""
    try:
        features.check_format(full_check=True)
    except ValueError:
        raise InvalidData(
            "every entry of the sparse matrix X must have an index within its shape; one "
            "does not. Rebuild the matrix, for example with scipy.sparse.coo_array."
        ) from None
    return features
