"""Private rows in memory, which mechanisms access through sums over blocks.

``rows.sum(fn)`` evaluates ``fn(block)`` on blocks of rows that fit the processor's cache
and adds the results. The order of additions depends on the shape of the table only, not on
the number of threads, so a fit gives the same result on all machines of the same type.

Each row whose norm exceeds the public bound is scaled down to the bound. The scale factors
are stored separately, so no scaled copy of the features is made. Alternatively,
`InMemoryRows.weighed` gives rows of larger norm smaller weights in the loss, and
`Block.weigh` applies these weights.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.matrix import Matrix, as_matrix
from confide.data.matrix.sums import (
    MOST_ADDED,
    ROWS_OF_A_PIECE,
    Partial,
    SumShape,
    addition_depth,
    pairwise_sum,
    shortening,
)
from confide.data.rows.block import Block, some
from confide.data.schema.case_weights import Cases
from confide.errors import Described, InvalidParameter, PrivacyLeak
from confide.parallel.workers import one_blas_thread, pool, threads_to_use

T = TypeVar("T")

STRIPES = 16
LONG_ROW, SHRINKAGE = 2.0**400, 2.0**-600
"""Rows of norm above ``LONG_ROW`` are multiplied by ``SHRINKAGE``, to avoid overflow."""
MANY_BLOCKS = 48
HEAVIEST = 4.0
"""Largest weight of a record, however small the norm of its row."""


class Rows(Protocol):
    """Protocol for private rows of bounded norm, as used by mechanisms and solvers.

    Examples
    --------
    For every type of storage, statistics are computed as sums over blocks:

    >>> import numpy as np
    >>> from confide.data import bound_rows
    >>> rows = bound_rows(np.eye(3), np.array([1.0, 2.0, 3.0]), 1.0, 0.0)
    >>> float(rows.sum(lambda block: block.target.sum()))
    6.0
    """

    @property
    def height(self) -> float:
        """Value of the intercept column; 0 if there is no intercept."""
        ...

    @property
    def count(self) -> int:
        """Number of rows, which is private under add-remove neighbours."""
        ...

    @property
    def table_count(self) -> int:
        """Number of rows before any are dropped; public under replace-one neighbours."""
        ...

    @property
    def dimension(self) -> int:
        """Number of coefficients, including the intercept."""
        ...

    @property
    def responses(self) -> int:
        """Number of columns of the target; 0 if the target is a vector."""
        ...

    @property
    def layout(self) -> Matrix:
        """A matrix with the columns and the storage format of the features, but no rows."""
        ...

    @property
    def shortened(self) -> bool:
        """Whether any rows may have been scaled down to the public bound."""
        ...

    @property
    def weighted(self) -> bool:
        """Whether records have case weights, or weights that depend on their norms."""
        ...

    @property
    def pickable(self) -> bool:
        """Whether individual rows can be read without reading all rows."""
        ...

    @property
    def sum_shape(self) -> SumShape:
        """Numbers of additions per sum over all rows and per linear predictor."""
        ...

    def sum(self, fn: Callable[[Block], Partial], dtype: Any = np.float64) -> Partial:
        """Sum ``fn(block)`` over all blocks."""
        ...

    def subsample(self, stride: int) -> "InMemoryRows":
        """Return about one out of every ``stride`` rows, or fewer.

        The sample is used for a first approximation.
        """
        ...

    def columns(self, support: Sequence[int]) -> "Rows":
        """Return the same rows with only the given columns and any intercept column."""
        ...

    def take(self, places: AnyArray) -> "Rows":
        """Return the rows at the given positions."""
        ...

    def map_subsets(
        self, subsets: Sequence[AnyArray], fn: Callable[["InMemoryRows"], T]
    ) -> list[T]:
        """Apply ``fn`` in parallel to subsets of the rows, each given by its positions."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class InMemoryRows:
    """Bounded private rows in memory; use `bound_rows` to create them.

    Parameters
    ----------
    features : Matrix
        Features of the rows.
    target : ndarray
        Target of every row.
    factor : ndarray or None
        Factor by which each row is multiplied to respect the bound on its norm; None if no
        row needs scaling.
    height : float
        Value of the intercept column; 0 if there is no intercept.
    listed : int, optional
        Number of rows before rows without a target were dropped. Under replace-one
        neighbours this number is public, but ``count`` is not.
    weight : ndarray, optional
        Weights of the records; by default every record has weight 1.
    offset : ndarray, optional
        Offsets that are added to the linear predictors; by default 0.

    Examples
    --------
    The rows cannot be copied or stored, to prevent accidental publication:

    >>> import copy
    >>> import numpy as np
    >>> from confide.data import bound_rows
    >>> from confide.errors import PrivacyLeak
    >>> rows = bound_rows(np.eye(2), np.ones(2), 1.0, 0.0)
    >>> try:
    ...     copy.copy(rows)
    ... except PrivacyLeak as error:
    ...     print(error)
    private rows cannot be copied or stored
    """

    features: Matrix
    target: Array
    factor: Array | None
    height: float
    listed: int | None = None
    weight: Array | None = None
    offset: Array | None = None

    @property
    def table_count(self) -> int:
        """Number of rows before any are dropped; public under replace-one neighbours."""
        return self.count if self.listed is None else self.listed

    @property
    def count(self) -> int:
        """Number of rows, which is private under add-remove neighbours."""
        return self.features.shape[0]

    @property
    def dimension(self) -> int:
        """Number of coefficients, including the intercept."""
        return self.features.shape[1] + (1 if self.height else 0)

    @property
    def block_rows(self) -> int:
        """Number of rows per block."""
        return self.features.block_rows

    @property
    def responses(self) -> int:
        """Number of columns of the target; 0 if the target is a vector."""
        return 0 if self.target.ndim == 1 else int(self.target.shape[1])

    @property
    def layout(self) -> Matrix:
        """A matrix with the columns and the storage format of the features, but no rows."""
        return self.features.empty()

    @property
    def shortened(self) -> bool:
        """Whether any rows were scaled down to the public bound."""
        return self.factor is not None

    @property
    def weighted(self) -> bool:
        """Whether records have case weights, or weights that depend on their norms."""
        return self.weight is not None

    @property
    def pickable(self) -> bool:
        """Whether individual rows can be read without reading all rows."""
        return True

    @property
    def sum_shape(self) -> SumShape:
        """Numbers of additions per sum over all rows and per linear predictor."""
        block, constant = self.features.sum_shape, 1 if self.height else 0
        return SumShape(
            block.rows_added,
            block.depth + self._chain,
            block.terms + self._chain + 8,
            block.entries + constant,
            block.max_entries + constant,
        )

    def subsample(self, stride: int) -> "InMemoryRows":
        """Return one out of every ``stride`` rows, in single precision.

        If ``stride`` is 1, the rows are returned unchanged. The sample is used for a first
        approximation.
        """
        return self if stride == 1 else self.copy_sample(stride)

    def copy_sample(self, stride: int) -> "InMemoryRows":
        """Return a sample of one out of every ``stride`` rows, in single precision."""
        chosen = self.features.stride(stride)
        features, factor = self.features.subsample(chosen, self.factor)
        target = chosen(self.target, np.float32)
        weight, offset = (
            None if one is None else chosen(one, np.float32)
            for one in (self.weight, self.offset)
        )
        return InMemoryRows(features, target, factor, self.height, None, weight, offset)

    def weighed(self, most: float) -> "InMemoryRows":
        """Return the same rows with weights min(``most``/‖x‖, ``HEAVIEST``).

        The weight of a record depends on this record only. The product of the weight and
        the norm of a row never exceeds ``most``, despite rounding. ``HEAVIEST`` is a power
        of two, so multiplication by it is exact.
        """
        lengths, sure = HEAVIEST * self.lengths(), np.zeros(self.count, dtype=bool)
        weight = HEAVIEST * shortening(lengths, most, self.dimension + 1, sure)
        return replace(self, weight=weight)

    def with_cases(self, cases: Cases) -> "InMemoryRows":
        """Return the same rows with offsets, and weights multiplied by case weights."""
        weight = self.weight
        if cases.weight is not None:
            weight = cases.weight if weight is None else weight * cases.weight
        return replace(self, weight=weight, offset=cases.offset)

    def with_target(self, code: Callable[[AnyArray], Array]) -> "InMemoryRows":
        """Return the same rows with the target transformed by the function ``code``."""
        return replace(self, target=code(self.target))

    def columns(self, support: Sequence[int]) -> "InMemoryRows":
        """Return the same rows with only the given columns and any intercept column.

        The result is dense, so that the size of blocks depends on the number of columns but
        not on which columns were selected.
        """
        return replace(self, features=self.features.columns(support))

    def blocks(self, start: int, stop: int, dtype: Any = np.float64) -> Iterator[Block]:
        """Yield rows from start to stop in blocks, each valid until the next is yielded."""
        step, cut_out = self.block_rows, self.features.slicer()
        for low in range(start, max(stop, start + 1), step):
            cut = slice(low, min(low + step, stop))
            features, factor = cut_out(cut, dtype, some(self.factor, cut))
            weight, offset = (
                None if one is None else one[cut].astype(dtype, copy=False)
                for one in (self.weight, self.offset)
            )
            target = self.target[cut]
            yield Block(features, target, factor, self.height, low, weight, offset)

    def as_block(self) -> Block:
        """Return all rows as one block, in the precision in which they are stored."""
        own = (self.features, self.target, self.factor, self.height)
        return Block(*own, 0, self.weight, self.offset)

    def toarray(self) -> Array:
        """Return all bounded rows as one array, including any intercept column."""
        return np.ascontiguousarray(self.as_block().toarray())

    def take(self, places: AnyArray) -> "InMemoryRows":
        """Return the rows at the given positions, in the given order."""
        own = (self.factor, self.weight, self.offset)
        factor, weight, offset = (some(one, places) for one in own)
        features, target = self.features[places], self.target[places]
        return InMemoryRows(features, target, factor, self.height, None, weight, offset)

    def lengths(self) -> Array:
        """Return the norm ‖x‖ of every row, including any intercept column."""
        return np.concatenate([block.lengths() for block in self.blocks(0, self.count)])

    def map_subsets(
        self, subsets: Sequence[AnyArray], fn: Callable[["InMemoryRows"], T]
    ) -> list[T]:
        """Apply ``fn`` in parallel to subsets of the rows, each given by its positions."""
        with one_blas_thread():
            return list(pool(threads_to_use()).map(lambda s: fn(self.take(s)), subsets))

    def plain(self) -> tuple[Any, Array]:
        """Return the scaled features, as an array or CSR matrix, and the target.

        Features are always doubles, so that a row does not depend on whether other rows
        were scaled down.
        """
        return self.features.plain(self.factor), self.target

    def sum(self, fn: Callable[[Block], Partial], dtype: Any = np.float64) -> Partial:
        """Sum ``fn(block)`` over all blocks."""
        edges = self._stripe_edges()

        def stripe(i: int) -> Partial:
            with np.errstate(over="ignore"):
                return pairwise_sum(
                    fn(b) for b in self.blocks(edges[i], edges[i + 1], dtype)
                )

        indices = range(len(edges) - 1)
        if len(indices) == 1:
            return stripe(0)
        few = self.count <= MANY_BLOCKS * min(self.block_rows, MOST_ADDED)
        threads = 1 if few else threads_to_use()
        with one_blas_thread():
            if threads == 1:
                return pairwise_sum(map(stripe, indices))
            return pairwise_sum(pool(threads).map(stripe, indices))

    def sum_here(self, fn: Callable[[Block], Partial], dtype: Any = np.float64) -> Partial:
        """Return the same result as `sum`, bit for bit, computed in the current thread."""
        edges = self._stripe_edges()
        with np.errstate(over="ignore"):
            return pairwise_sum(
                pairwise_sum(map(fn, self.blocks(start, stop, dtype)))
                for start, stop in pairwise(edges)
            )

    @property
    def _blocks(self) -> int:
        return -(-self.count // self.block_rows)

    @property
    def _stripes(self) -> int:
        """Number of groups of consecutive blocks; each group is summed by one task."""
        return max(1, min(STRIPES, self._blocks // 4))

    @property
    def _chain(self) -> int:
        """Bound on the number of additions in which the result of one block takes part."""
        return addition_depth(-(-self._blocks // self._stripes)) + addition_depth(
            self._stripes
        )

    def _stripe_edges(self) -> list[int]:
        per_stripe = -(-self._blocks // self._stripes) * self.block_rows
        return [*range(0, max(1, self.count), max(1, per_stripe)), self.count]

    def __reduce__(self) -> tuple[Any, ...]:
        raise PrivacyLeak("private rows cannot be copied or stored")

    def __repr__(self) -> str:
        return "<private rows>"


def sum_in_pieces(rows: Rows, fn: Callable[[Block], Partial]) -> Partial:
    """Sum ``fn(block)`` over blocks that are short enough for small rounding errors."""

    def part(block: Block) -> Partial:
        return pairwise_sum(map(fn, block.pieces(ROWS_OF_A_PIECE)))

    return rows.sum(part)


def require_in_memory(rows: Rows, what: str) -> InMemoryRows:
    """Return the rows if they are in memory; otherwise raise an error.

    ``what`` names the method that needs the rows in memory.
    """
    if isinstance(rows, InMemoryRows):
        return rows
    raise InvalidParameter(
        "table",
        f"in memory for {what}, which needs all rows at once",
        Described("a table in parts"),
        "Read it with pandas, if it fits in memory; or use another mechanism.",
    )


def bound_rows(
    features: Any, target: Array, row_norm: float, height: float
) -> InMemoryRows:
    """Bound the norm of every row, and return private rows for use by mechanisms.

    Duplicate entries of a sparse matrix are summed first.

    Parameters
    ----------
    features : Matrix, ndarray or sparse matrix
        Two-dimensional features, already checked for type and shape. Values that are not
        finite are rejected.
    target : ndarray
        Target of every row.
    row_norm : float
        Public bound on the norm of a row; rows of larger norm are scaled down to it.
    height : float
        Value of the intercept column; 0 if there is no intercept.

    Returns
    -------
    InMemoryRows
        The bounded rows.

    Examples
    --------
    A row of norm 5 is scaled down to norm 1:

    >>> import numpy as np
    >>> from confide.data import bound_rows
    >>> rows = bound_rows(np.array([[3.0, 4.0]]), np.ones(1), 1.0, 0.0)
    >>> rows.toarray().round(6).tolist()
    [[0.6, 0.8]]
    """
    matrix = as_matrix(features).without_duplicates()
    if matrix.reach <= row_norm < np.inf:
        return InMemoryRows(matrix, target, None, height)
    matrix, lengths, long = shrink_long_rows(matrix, row_norm)
    factor = shortening(lengths, row_norm, matrix.shape[1], long)
    return InMemoryRows(matrix, target, factor if (factor != 1).any() else None, height)


def shrink_long_rows(matrix: Matrix, row_norm: float) -> tuple[Matrix, Array, AnyArray]:
    """Return rows whose squares do not overflow, their norms, and a mask of shrunk rows.

    Rows whose norm exceeds both ``LONG_ROW`` and the bound are multiplied by ``SHRINKAGE``,
    a power of two; other rows do not change. Values that are not finite are rejected.
    """
    parts = InMemoryRows(matrix, np.zeros(matrix.shape[0]), None, 0.0)
    lengths = parts.lengths()
    long = ~(lengths <= max(LONG_ROW, row_norm))
    if long.any():
        matrix.refuse_infinite()
        matrix = matrix.scaled(np.where(long, SHRINKAGE, 1.0))
        lengths[long] = matrix[np.flatnonzero(long)].lengths()
    return matrix, lengths, long
