"""Protocol of feature matrices, which hides how they are stored.

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
    """Private rows of features, independent of their storage.

    Scale factors of rows are stored separately. ``@`` is the product with a vector of
    coefficients, or with a matrix of such vectors as columns. ``[]`` selects rows.
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
        """Whether zeros are not stored, so that rows differ in their number of entries."""
        ...

    @property
    def scalable(self) -> bool:
        """Whether the rows of `number_columns` can be multiplied by factors."""
        ...

    @property
    def reach(self) -> float:
        """A public bound on the length of a row; infinite if there is none."""
        ...

    @property
    def places(self) -> Places:
        """Indices of the numeric columns."""
        ...

    @property
    def groups(self) -> tuple[CodedGroup, ...]:
        """The categories that are stored as codes."""
        ...

    @property
    def block_rows(self) -> int:
        """Number of rows per block."""
        ...

    @property
    def sum_shape(self) -> SumShape:
        """Structure of sums over a block and of margins, for rounding error bounds."""
        ...

    def __getitem__(self, chosen: slice | AnyArray) -> "Matrix":
        """Return the rows of a slice, or at the given positions."""
        ...

    def empty(self) -> "Matrix":
        """Return an empty matrix of the same layout, without a reference to the data."""
        ...

    def slicer(self) -> Slicer["Matrix"]:
        """Return a function that extracts rows in a given precision, with their factors.

        A scaled row is the product of its features and its factor, rounded to doubles. For
        other types, this product may be computed before the conversion, because unscaled
        features might overflow in single precision. Memory is reused by the next call.
        """
        ...

    def stride(self, step: int) -> RowStride:
        """Return the selection of one row in ``step``."""
        ...

    def subsample(
        self, stride: RowStride, factor: AnyArray | None
    ) -> tuple["Matrix", AnyArray | None]:
        """Return a copy of a subsample in single precision, with its factors."""
        ...

    def without_duplicates(self) -> "Matrix":
        """Return the same matrix with one entry per position."""
        ...

    def columns(self, support: Sequence[int]) -> Dense:
        """Return the given columns as a dense matrix."""
        ...

    def absolute(self) -> "Matrix":
        """Return the absolute values of all entries."""
        ...

    def scaled(self, factor: AnyArray | None) -> Dense | Csr:
        """Multiply every row by its factor."""
        ...

    def clipped(self, bound: float) -> Dense | Csr:
        """Clip all entries to ± a bound."""
        ...

    def truncated(self, unit: float) -> "Matrix":
        """Truncate entries towards zero to multiples of a power of two, in doubles."""
        ...

    def number_columns(self, factor: AnyArray | None) -> Dense | Csr:
        """Return the numeric columns, with rows multiplied by factors."""
        ...

    def toarray(self, dtype: Any = np.float64) -> AnyArray:
        """Return the rows as a dense array."""
        ...

    def plain(self, factor: AnyArray | None) -> Any:
        """Return rows times factors in double precision, as input for scikit-learn."""
        ...

    def __matmul__(self, theta: AnyArray) -> AnyArray:
        """Return ⟨x, θ⟩ for every row; rounding may depend on the position of a row."""
        ...

    def row_independent_product(self, theta: AnyArray) -> AnyArray:
        """Return the product `@`, with each row rounded independently of other rows."""
        ...

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ, with one column per column of weights if they are a matrix."""
        ...

    def gram(
        self, weights: AnyArray, factor: AnyArray | None, height: float, *, double: bool
    ) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ for rows times their factors, with an intercept column.

        Weights are non-negative. Products are in single precision unless ``double`` is set.
        """
        ...

    def gram_diagonal(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢⱼ² for every column j."""
        ...

    def squared_lengths(self) -> Array:
        """Return the squared length of every row, rounded independently of other rows."""
        ...

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array:
        """Return lengths of the given rows without underflow or overflow of squares."""
        ...

    def lengths(self, factor: AnyArray | None = None, height: float = 0.0) -> Array:
        """Return row lengths after scaling by factors, including an intercept column."""
        ...

    def largest_entry(self) -> float:
        """Return the largest absolute value of an entry."""
        ...

    def largest_norms(self, few: int) -> Array:
        """Return the Euclidean norm of the ``few`` largest entries of every row."""
        ...

    def refuse_infinite(self) -> None:
        """Reject entries that are not finite."""
        ...


def as_matrix(features: Any) -> Matrix:
    """Wrap an array or a sparse matrix; return a `Matrix` unchanged."""
    if isinstance(features, Dense | Csr | CodedDesign):
        return features
    if sparse.issparse(features):
        rows = features if features.format == "csr" else as_csr(features)
        return Csr(sparse.csr_array(rows))
    return Dense(np.asarray(features))


def stack(parts: Sequence[Matrix]) -> Matrix:
    """Concatenate the rows of several matrices of the same layout."""
    coded = [part for part in parts if isinstance(part, CodedDesign)]
    if coded:
        return CodedDesign.stacked(coded)
    plain = [part for part in parts if isinstance(part, Dense | Csr)]
    rows = [part.matrix if isinstance(part, Csr) else part.array for part in plain]
    if any(part.is_sparse for part in plain):
        return Csr(sparse.csr_array(sparse.vstack(rows, format="csr")))
    return Dense(np.concatenate(rows))
