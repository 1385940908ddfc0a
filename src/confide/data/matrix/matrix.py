"""Protocol of feature matrices, so that other code need not know their kind.

`as_matrix` wraps what a user passes: `Dense` for an array, `Csr` for a sparse matrix. A
schema makes a `CodedDesign`.
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
    """Private rows of features, whatever they are stored as.

    Factors of rows are kept next to a matrix. ``@`` is its product with coefficients, one
    vector or a column for each of several, and ``[]`` takes rows.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory of the rows in bytes."""
        ...

    @property
    def is_sparse(self) -> bool:
        """Whether zeros are left out: rows then differ in how many entries they hold."""
        ...

    @property
    def scalable(self) -> bool:
        """Whether the rows of `number_columns` can be multiplied by factors."""
        ...

    @property
    def reach(self) -> float:
        """A public bound on the length of a row; infinite where there is none."""
        ...

    @property
    def places(self) -> Places:
        """Where the columns of numbers stand."""
        ...

    @property
    def groups(self) -> tuple[CodedGroup, ...]:
        """The categories whose indicators are kept as codes."""
        ...

    @property
    def block_rows(self) -> int:
        """How many rows to work on at once."""
        ...

    @property
    def sum_shape(self) -> SumShape:
        """The order of addition in sums over a block and in margins."""
        ...

    def __getitem__(self, chosen: slice | AnyArray) -> "Matrix":
        """Return the rows of a slice, or at some places."""
        ...

    def empty(self) -> "Matrix":
        """Return an empty matrix of the same kind, which holds no reference to the data."""
        ...

    def slicer(self) -> Slicer["Matrix"]:
        """Return a function that extracts rows in some precision, and their factors.

        A row that was shortened is its features times its factor, rounded to doubles: in
        other formats that product may come first, for single precision may not hold the
        rest. Memory is used again by the next cut.
        """
        ...

    def stride(self, step: int) -> RowStride:
        """Return which rows a subsample of one in ``step`` takes."""
        ...

    def subsample(
        self, stride: RowStride, factor: AnyArray | None
    ) -> tuple["Matrix", AnyArray | None]:
        """Return a copy of some rows in single precision, with their factors."""
        ...

    def without_duplicates(self) -> "Matrix":
        """Return the same matrix with one entry per position."""
        ...

    def columns(self, support: Sequence[int]) -> Dense:
        """Return some columns."""
        ...

    def absolute(self) -> "Matrix":
        """Return the magnitudes of all entries."""
        ...

    def scaled(self, factor: AnyArray | None) -> Dense | Csr:
        """Return every row times its factor."""
        ...

    def clipped(self, bound: float) -> Dense | Csr:
        """Return entries no larger than a bound."""
        ...

    def truncated(self, unit: float) -> "Matrix":
        """Return entries cut toward zero to multiples of a power of two, in doubles."""
        ...

    def number_columns(self, factor: AnyArray | None) -> Dense | Csr:
        """Return the columns of numbers, times their factors: all but what codes set."""
        ...

    def toarray(self, dtype: Any = np.float64) -> AnyArray:
        """Return the rows as an array."""
        ...

    def plain(self, factor: AnyArray | None) -> Any:
        """Return the rows times their factors as scikit-learn takes them, in doubles."""
        ...

    def __matmul__(self, theta: AnyArray) -> AnyArray:
        """Return ⟨x, θ⟩ for every row; rounding may depend on the position of a row."""
        ...

    def row_independent_product(self, theta: AnyArray) -> AnyArray:
        """Return the product `@`, with each row rounded independently of the others."""
        ...

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ; a matrix of weights gives a column for each of its columns."""
        ...

    def gram(
        self, weights: AnyArray, factor: AnyArray | None, height: float, *, double: bool
    ) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ of rows times their factors, beside a constant column.

        Weights are not negative; products are of single precision unless ``double``.
        """
        ...

    def gram_diagonal(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢⱼ² for every column j."""
        ...

    def squared_lengths(self) -> Array:
        """Return every row's squared length, rounded independently of the others."""
        ...

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array:
        """Return lengths of some rows without squares that underflow or overflow."""
        ...

    def lengths(self, factor: AnyArray | None = None, height: float = 0.0) -> Array:
        """Return the length of every row times its factor, beside a constant column."""
        ...

    def largest_entry(self) -> float:
        """Return the largest magnitude of an entry."""
        ...

    def largest_norms(self, few: int) -> Array:
        """Return the joint length of the few largest entries of every row."""
        ...

    def refuse_infinite(self) -> None:
        """Reject entries that are not finite."""
        ...


def as_matrix(features: Any) -> Matrix:
    """Wrap an array or a sparse matrix; what is a `Matrix` already stays as it is."""
    if isinstance(features, Dense | Csr | CodedDesign):
        return features
    if sparse.issparse(features):
        rows = features if features.format == "csr" else as_csr(features)
        return Csr(sparse.csr_array(rows))
    return Dense(np.asarray(features))


def stack(parts: Sequence[Matrix]) -> Matrix:
    """Return the rows of several matrices of one layout, one after the other."""
    coded = [part for part in parts if isinstance(part, CodedDesign)]
    if coded:
        return CodedDesign.stacked(coded)
    plain = [part for part in parts if isinstance(part, Dense | Csr)]
    rows = [part.matrix if isinstance(part, Csr) else part.array for part in plain]
    if any(part.is_sparse for part in plain):
        return Csr(sparse.csr_array(sparse.vstack(rows, format="csr")))
    return Dense(np.concatenate(rows))
