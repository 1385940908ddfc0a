"""A feature matrix that stores only entries other than zero, row by row."""

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
"""A double and its column."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Csr:
    """Rows as a CSR array of SciPy's."""

    matrix: Any

    groups: ClassVar[tuple[CodedGroup, ...]] = ()
    places: ClassVar[Places] = slice(None)
    is_sparse: ClassVar[bool] = True
    scalable: ClassVar[bool] = True
    reach: ClassVar[float] = math.inf

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        rows, columns = self.matrix.shape
        return rows, columns

    @property
    def nbytes(self) -> int:
        """Memory of the rows in bytes."""
        matrix = self.matrix
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)

    @property
    def block_rows(self) -> int:
        """How many rows to work on at once: it depends on how full they are."""
        entries = self.matrix.nnz // max(1, self.matrix.shape[0])
        return rows_in_cache(ENTRY_BYTES * max(1, entries))

    @property
    def sum_shape(self) -> SumShape:
        """The order of addition in sums over a block and in margins."""
        (count, width), block = self.shape, self.block_rows
        rows, fullest = min(count, block), int(_row_sizes(self.matrix).max(initial=0))
        return SumShape(block, addition_depth(-(-rows // block)), rows, fullest, width)

    # ------------------------------------------------------------------------ some rows

    def __getitem__(self, chosen: slice | AnyArray) -> "Csr":
        return Csr(self.matrix[chosen])

    def empty(self) -> "Csr":
        """Return an empty matrix of the same kind, which holds no reference to the data."""
        return self[:0]

    def slicer(self) -> Slicer["Csr"]:
        """Return a function that extracts rows in some precision, and their factors.

        Places of entries are not copied.
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
        """Return which rows a subsample of one in ``step`` takes."""
        return RowStride(step)

    def subsample(
        self, stride: RowStride, factor: AnyArray | None
    ) -> tuple["Csr", AnyArray | None]:
        """Return a copy of some rows in single precision, with their factors."""
        if factor is None:
            return Csr(stride(self.matrix, np.float32)), None
        whole = Csr(stride(self.matrix, np.float64)).scaled(stride(factor, np.float64))
        return Csr(whole.matrix.astype(np.float32)), None

    # ------------------------------------------------------------------- other matrices

    def without_duplicates(self) -> "Csr":
        """Return the same matrix, or a copy of it, with one entry per position, in order.

        Entries of a row at the same position are added up in the order of storage. SciPy
        sorts them first, in an order that depends on other rows. It also remembers what it
        once found, which is no longer true if the arrays were written to since.
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
        """Return some columns."""
        chosen = np.asarray(support, dtype=np.intp)
        part = self.matrix[:, chosen].toarray()
        return Dense(np.ascontiguousarray(part, dtype=np.float64))

    def absolute(self) -> "Csr":
        """Return the magnitudes of all entries."""
        return Csr(abs(self.matrix))

    def scaled(self, factor: AnyArray | None) -> "Csr":
        """Return every row times its factor."""
        if factor is None:
            return self
        return _with_values(
            self.matrix, self.matrix.data * np.repeat(factor, _row_sizes(self.matrix))
        )

    def clipped(self, bound: float) -> "Csr":
        """Return entries no larger than a bound."""
        return _with_values(self.matrix, clip_values(self.matrix.data, bound))

    def truncated(self, unit: float) -> "Csr":
        """Return entries cut toward zero to multiples of a power of two, in doubles."""
        return _with_values(self.matrix, truncate(self.matrix.data, unit))

    def number_columns(self, factor: AnyArray | None) -> "Csr":
        """Return the columns of numbers, times their factors: all columns."""
        return self.scaled(factor)

    def split(self, leading: Callable[[AnyArray], AnyArray]) -> tuple["Csr", "Csr | None"]:
        """Return the leading parts of all entries, and the rest: None if all are zero."""
        values = self.matrix.data
        lead = leading(values)
        if np.array_equal(lead, values):
            return self, None
        return _with_values(self.matrix, lead), _with_values(self.matrix, values - lead)

    def toarray(self, dtype: Any = np.float64) -> AnyArray:
        """Return the rows as an array."""
        return np.asarray(self.matrix.toarray(), dtype)

    def plain(self, factor: AnyArray | None) -> Any:
        """Return the rows times their factors as scikit-learn takes them, in doubles."""
        whole = _with_values(self.matrix, self.matrix.data.astype(np.float64, copy=False))
        return whole.scaled(factor).matrix

    # -------------------------------------------------------------------------- products

    def __matmul__(self, theta: AnyArray) -> AnyArray:
        return np.asarray(self.matrix @ theta)

    def row_independent_product(self, theta: AnyArray) -> AnyArray:
        """Return the product `@`: each row is rounded independently of the others."""
        return self @ theta

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ; a matrix of weights gives a column for each of its columns."""
        return np.asarray(self.matrix.T @ weights)

    def gram(
        self, weights: AnyArray, factor: AnyArray | None, height: float, *, double: bool
    ) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ of rows times their factors, beside a constant column."""
        kind = np.float64 if double else np.float32
        root = np.sqrt(weights).astype(kind, copy=False)
        # A row that was shortened may hold numbers too large for single precision.
        bounded = Csr(self.scaled(factor).matrix.astype(kind, copy=False))
        rows = bounded.scaled(root).matrix
        inner = (rows.T @ rows).toarray()
        if not height:
            return np.asarray(inner, np.float64)
        cross = height * np.asarray(root @ rows)
        return bordered(inner, cross, height**2 * float(weights.sum()))

    def gram_diagonal(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢⱼ² for every column j."""
        return self._squared().weighted_sum(weights)

    # ----------------------------------------------------------------------------- sizes

    def squared_lengths(self) -> Array:
        """Return every row's squared length, rounded independently of the others."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._squared() @ np.ones(self.matrix.shape[1])

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array:
        """Return lengths of some rows without squares that underflow or overflow."""
        rows = self[places].scaled(factor)
        top = abs(rows.matrix).max(axis=1).toarray().ravel()
        unit = np.repeat(np.where(top > 0, top, 1.0), _row_sizes(rows.matrix))
        with np.errstate(over="ignore", invalid="ignore"):
            shares = _with_values(rows.matrix, rows.matrix.data / unit)
            return np.asarray(top * np.sqrt(shares.squared_lengths()))

    def lengths(self, factor: AnyArray | None = None, height: float = 0.0) -> Array:
        """Return the length of every row times its factor, beside a constant column."""
        return row_lengths(self, factor, height)

    def largest_entry(self) -> float:
        """Return the largest magnitude of an entry."""
        return float(np.abs(self.matrix.data).max(initial=0.0))

    def largest_norms(self, few: int) -> Array:
        """Return the joint length of the few largest entries of every row."""
        counts = _row_sizes(self.matrix)
        row = np.repeat(np.arange(len(counts)), counts)
        size = np.abs(self.matrix.data).astype(np.float64, copy=False)
        order = np.lexsort((-size, row))
        rank = np.arange(len(order)) - np.repeat(self.matrix.indptr[:-1], counts)
        with np.errstate(over="ignore"):
            squares = np.where(rank < few, size[order] ** 2, 0.0)
        return np.sqrt(np.bincount(row, squares, len(counts)))

    def refuse_infinite(self) -> None:
        """Reject entries that are not finite."""
        refuse_infinite(self.matrix.data)

    def __repr__(self) -> str:
        return "<private rows>"

    def _cut(self, rows: slice, dtype: Any) -> "Csr":
        """Return consecutive rows in some precision."""
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
        """Return every entry squared; no position may hold two."""
        return _with_values(self.matrix, self.matrix.data * self.matrix.data)


def _with_values(matrix: Any, values: AnyArray) -> Csr:
    """Return a matrix with other values at the same places."""
    parts = (values, matrix.indices, matrix.indptr)
    return Csr(sparse.csr_array(parts, shape=matrix.shape))


def _row_sizes(matrix: Any) -> AnyArray:
    """Return how many entries every row holds."""
    return np.diff(matrix.indptr)


def as_csr(features: Any) -> Any:
    """Return any sparse matrix as CSR, entries in the order in which they are stored.

    SciPy would add up entries at the same position while it converts, in an order that
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
    """Reject entries outside the matrix."""
    try:
        features.check_format(full_check=True)
    except ValueError:
        raise InvalidData(
            "every entry of the sparse matrix X must have an index within its shape; one "
            "does not. Rebuild the matrix, for example with scipy.sparse.coo_array."
        ) from None
    return features
