"""Protocol for feature matrices, independent of their storage format.

`as_matrix` wraps an array as `Dense` and a sparse matrix as `Csr`. A schema encodes tables
as a `CodedDesign`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.matrix.category_tables import CodedGroup, Places
from confide.data.matrix.coded_design import CodedDesign
from confide.data.matrix.csr import Csr, as_csr
from confide.data.matrix.dense import Dense, RowStride, Slicer
from confide.data.matrix.sums import SumShape


class Matrix(Protocol):
    """Protocol for a confidential feature matrix in any storage format.

    The factors by which long rows are scaled down to a bound are stored elsewhere and
    passed as arguments; scaled rows are rows multiplied by these factors. ``@`` multiplies
    the matrix by a vector of coefficients, or by a matrix whose columns are such vectors.
    ``[]`` selects rows.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        ...

    @property
    def nbytes(self) -> int:
        """Size of the rows in memory, in bytes."""
        ...

    @property
    def is_sparse(self) -> bool:
        """Whether only non-zero entries are stored, so that their number varies by row."""
        ...

    @property
    def scalable(self) -> bool:
        """Whether `number_columns` accepts scale factors."""
        ...

    @property
    def reach(self) -> float:
        """Public bound on the Euclidean norm of every row; infinite if there is none."""
        ...

    @property
    def places(self) -> Places:
        """Indices of the numeric columns."""
        ...

    @property
    def groups(self) -> tuple[CodedGroup, ...]:
        """The groups of categorical columns that are stored as codes."""
        ...

    @property
    def block_rows(self) -> int:
        """Number of rows per block in sums over rows."""
        ...

    @property
    def sum_shape(self) -> SumShape:
        """Numbers of additions per sum over a block and per linear predictor."""
        ...

    def __getitem__(self, chosen: slice | AnyArray) -> "Matrix":
        """Return the rows of a slice, or at the given positions."""
        ...

    def empty(self) -> "Matrix":
        """Return a matrix with the same columns and no rows, without references to data."""
        ...

    def slicer(self) -> Slicer["Matrix"]:
        """Return a function that extracts rows in a given precision, with scale factors.

        A scaled row is the product of its features and its factor, rounded to doubles. If
        single precision is requested, the function may return scaled rows, without
        factors, because unscaled features might overflow. Each call may overwrite the
        result of the previous call.
        """
        ...

    def stride(self, step: int) -> RowStride:
        """Return a rule that selects one out of every ``step`` rows for a subsample."""
        ...

    def subsample(
        self, stride: RowStride, factor: AnyArray | None
    ) -> tuple["Matrix", AnyArray | None]:
        """Return a copy of the selected rows in single precision, with scale factors."""
        ...

    def without_duplicates(self) -> "Matrix":
        """Return the matrix with all entries at the same position added up."""
        ...

    def columns(self, support: Sequence[int]) -> Dense:
        """Return the given columns as a dense matrix."""
        ...

    def absolute(self) -> "Matrix":
        """Return the absolute values of all entries."""
        ...

    def scaled(self, factor: AnyArray | None) -> Dense | Csr:
        """Return the matrix with every row multiplied by its factor."""
        ...

    def clipped(self, bound: float) -> Dense | Csr:
        """Return the matrix with all entries clipped to [−bound, bound]."""
        ...

    def truncated(self, unit: float) -> "Matrix":
        """Return the entries as doubles, truncated towards zero to multiples of ``unit``.

        ``unit`` is a power of two.
        """
        ...

    def number_columns(self, factor: AnyArray | None) -> Dense | Csr:
        """Return the numeric columns of the scaled rows."""
        ...

    def toarray(self, dtype: Any = np.float64) -> AnyArray:
        """Return the rows as a dense array."""
        ...

    def plain(self, factor: AnyArray | None) -> Any:
        """Return the scaled rows as an array or CSR matrix of doubles, for scikit-learn."""
        ...

    def __matmul__(self, theta: AnyArray) -> AnyArray:
        """Return ⟨x, θ⟩ for every row x; rounding may depend on the position of the row."""
        ...

    def row_independent_product(self, theta: AnyArray) -> AnyArray:
        """Return ⟨x, θ⟩ for every row x, rounded independently of other rows."""
        ...

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ over the rows xᵢ; a matrix of weights gives one sum per column."""
        ...

    def gram(
        self, weights: AnyArray, factor: AnyArray | None, height: float, *, double: bool
    ) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ over the scaled rows xᵢ, including any intercept column.

        ``height`` is the value of the intercept column, or 0 if there is none. Weights are
        non-negative. Products are computed in single precision unless ``double`` is set.
        """
        ...

    def gram_diagonal(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢⱼ² over the rows i, for every column j."""
        ...

    def squared_lengths(self) -> Array:
        """Return the squared norm of every row, rounded independently of other rows."""
        ...

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array:
        """Return the norms of the given rows, without underflow or overflow of squares."""
        ...

    def lengths(self, factor: AnyArray | None = None, height: float = 0.0) -> Array:
        """Return the Euclidean norms of the scaled rows, including any intercept column."""
        ...

    def largest_entry(self) -> float:
        """Return the largest absolute value among all entries."""
        ...

    def largest_norms(self, few: int) -> Array:
        """Return, for every row, the norm of its ``few`` entries of largest magnitude."""
        ...

    def refuse_infinite(self) -> None:
        """Raise an error if any entry is not finite."""
        ...


def as_matrix(features: Any) -> Matrix:
    """Wrap an array or a sparse matrix as a `Matrix`; return a `Matrix` unchanged."""
    if isinstance(features, Dense | Csr | CodedDesign):
        return features
    if sparse.issparse(features):
        rows = features if features.format == "csr" else as_csr(features)
        return Csr(sparse.csr_array(rows))
    return Dense(np.asarray(features))


def stack(parts: Sequence[Matrix]) -> Matrix:
    """Concatenate the rows of several feature matrices with the same columns."""
    coded = [part for part in parts if isinstance(part, CodedDesign)]
    if coded:
        return CodedDesign.stacked(coded)
    plain = [part for part in parts if isinstance(part, Dense | Csr)]
    rows = [part.matrix if isinstance(part, Csr) else part.array for part in plain]
    if any(part.is_sparse for part in plain):
        return Csr(sparse.csr_array(sparse.vstack(rows, format="csr")))
    return Dense(np.concatenate(rows))
