"""Private rows, and the one seam through which anything is computed from them.

``rows.sum(fn)`` evaluates ``fn(block)`` on blocks of rows that fit the processor's cache
and adds the results. The order of addition depends on the shape alone, never on the
number of threads, so a fit is the same on every machine of one kind.

A row longer than the public bound is scaled down to it, record by record. The factor is
kept next to the features instead of a scaled copy of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.matrix import csr
from confide.data.matrix.coded_design import (
    CACHE_BYTES,
    MOST_ADDED,
    CodedDesign,
    rows_per_sum,
    take_columns,
)
from confide.data.matrix.finite import MAX_ROW_LENGTH, refuse_infinite
from confide.data.rows.block import (
    Block,
    Partial,
    addition_depth,
    lengths_of,
    pairwise_sum,
    row_slicer,
    scaled,
)
from confide.errors import InvalidParameter, PrivacyLeak
from confide.parallel.workers import one_blas_thread, pool, threads_to_use

T = TypeVar("T")

STRIPES = 16
RUN = 8
ROUNDING_MARGIN = 1e-14
"""By so much, and a unit in the last place for every column, a shortened row stays below
the bound, so that rounding never exceeds it."""
MANY_BLOCKS = 48
WIDEST_DENSE = 1500
"""A sample of a design with more columns keeps its codes."""


class Rows(Protocol):
    """Bounded private rows, wherever they lie: what mechanisms and solvers see of them."""

    @property
    def height(self) -> float:
        """The height of the intercept's column, 0 if there is none."""
        ...

    @property
    def count(self) -> int:
        """How many rows there are: private under add-remove neighbours."""
        ...

    @property
    def table_count(self) -> int:
        """How many rows the table had: public under replace-one neighbours."""
        ...

    @property
    def dimension(self) -> int:
        """How many coefficients there are, the intercept included."""
        ...

    @property
    def responses(self) -> int:
        """How many targets a row has; 0 means one, as a plain vector."""
        ...

    @property
    def layout(self) -> Any:
        """The features of no row at all: what kind of matrix they are."""
        ...

    @property
    def shortened(self) -> bool:
        """Whether rows may have been scaled down to the public bound."""
        ...

    @property
    def pickable(self) -> bool:
        """Whether some rows can be had without reading them all."""
        ...

    @property
    def added(self) -> int:
        """How many rows are added up one after the other before sums are added to sums."""
        ...

    @property
    def depth(self) -> int:
        """How many of those sums are added to each other one after the other."""
        ...

    @property
    def terms(self) -> int:
        """How many numbers are added up one after the other in a sum over all rows."""
        ...

    @property
    def most_entries(self) -> int:
        """How many numbers a margin can add up, as far as public facts say."""
        ...

    @property
    def entries(self) -> int:
        """How many numbers a margin adds up at most: private where rows are sparse."""
        ...

    def sum(self, fn: Callable[[Block], Partial], dtype: Any = np.float64) -> Partial:
        """Add up ``fn(block)`` over all blocks."""
        ...

    def thin(self, stride: int) -> "InMemoryRows":
        """Return about one row in ``stride`` or fewer, for a first approximation."""
        ...

    def columns(self, support: Sequence[int]) -> "Rows":
        """Return the same rows with these columns alone, and their intercept column."""
        ...

    def at(self, places: AnyArray) -> "Rows":
        """Return the rows that stand at some places."""
        ...

    def each(self, parts: Sequence[AnyArray], fn: Callable[["InMemoryRows"], T]) -> list[T]:
        """Return ``fn`` of the rows at every list of places, computed side by side."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class InMemoryRows:
    """Rows in memory; use `bound_rows` to make them.

    ``listed`` is how many rows the table had before those without a target were left out:
    under replace-one neighbours that number is public, and ``count`` is not.
    """

    features: Any
    target: Array
    factor: Array | None
    height: float
    listed: int | None = None

    @property
    def table_count(self) -> int:
        """How many rows the table had: public under replace-one neighbours."""
        return self.count if self.listed is None else self.listed

    @property
    def count(self) -> int:
        """How many rows there are: private under add-remove neighbours."""
        return int(self.features.shape[0])

    @property
    def dimension(self) -> int:
        """How many coefficients there are, the intercept included."""
        return int(self.features.shape[1]) + (1 if self.height else 0)

    @property
    def block_rows(self) -> int:
        """How many rows a block holds."""
        if isinstance(self.features, CodedDesign):
            return self.features.block_rows
        if not sparse.issparse(self.features):
            return rows_per_sum(self.features.shape[1])
        per_row = max(1, self.features.nnz // max(1, self.count)) * 12
        return max(64, min(CACHE_BYTES // per_row, MOST_ADDED))

    @property
    def responses(self) -> int:
        """How many targets a row has; 0 means one, as a plain vector."""
        return 0 if self.target.ndim == 1 else int(self.target.shape[1])

    @property
    def layout(self) -> Any:
        """The features of no row at all: what kind of matrix they are."""
        if isinstance(self.features, np.ndarray):
            return np.empty((0, self.features.shape[1]), self.features.dtype)
        if isinstance(self.features, CodedDesign):
            return self.features[np.empty(0, np.intp)]
        return self.features[:0]

    @property
    def shortened(self) -> bool:
        """Whether rows were scaled down to the public bound."""
        return self.factor is not None

    @property
    def pickable(self) -> bool:
        """Whether some rows can be had without reading them all."""
        return True

    @property
    def added(self) -> int:
        """How many rows are added up one after the other before sums are added to sums."""
        if isinstance(self.features, CodedDesign) and not len(self.features.numbers):
            return self.block_rows
        return min(self.block_rows, MOST_ADDED)

    @property
    def depth(self) -> int:
        """How many of those sums are added to each other one after the other."""
        pieces = -(-min(self.block_rows, self.count) // self.added)
        return addition_depth(pieces) + self._chain

    @property
    def terms(self) -> int:
        """How many numbers are added up one after the other in a sum over all rows."""
        first = min(self.block_rows, self.count)
        if isinstance(self.features, CodedDesign):
            first = self.features.terms
        return first + self._chain + 8

    @property
    def most_entries(self) -> int:
        """How many numbers a margin can add up, as far as public facts say."""
        features = self.features
        width = features.entries if isinstance(features, CodedDesign) else features.shape[1]
        return int(width) + (1 if self.height else 0)

    @property
    def entries(self) -> int:
        """How many numbers a margin adds up at most: private where rows are sparse."""
        if not sparse.issparse(self.features):
            return self.most_entries
        return csr.longest_row(self.features) + (1 if self.height else 0)

    def thin(self, stride: int) -> "InMemoryRows":
        """Return one row in ``stride``, in single precision, for a first approximation."""
        return self if stride == 1 else self.sampled(stride)

    def sampled(self, stride: int) -> "InMemoryRows":
        """Return a copy of one row in ``stride``, dense or CSR, in single precision.

        Short runs of consecutive rows at equal distances are cheaper than single rows.
        """
        groups = self.count // (RUN * stride)

        def take(values: Any, kind: Any = np.float32) -> Any:
            if sparse.issparse(self.features) or groups < 64:
                return values[::stride].astype(kind or values.dtype)
            cut = values[: groups * RUN * stride]
            runs = cut.reshape(groups, RUN * stride, *values.shape[1:])[:, :RUN]
            return runs.astype(kind or values.dtype).reshape(
                groups * RUN, *values.shape[1:]
            )

        factor = None if self.factor is None else take(self.factor)
        if isinstance(self.features, CodedDesign):
            coded = self.features.each(
                lambda column: take(column, "f4" if column.dtype.kind == "f" else None)
            )
            wide = coded.shape[1] > WIDEST_DENSE
            features = coded if wide else coded.todense(np.float32)
        elif self.factor is None:
            features = take(self.features)
        else:
            whole = take(self.features, np.float64), take(self.factor, np.float64)
            features, factor = scaled(*whole).astype(np.float32), None
        return InMemoryRows(features, take(self.target), factor, self.height)

    def labelled(self, code: Callable[[AnyArray], Array]) -> "InMemoryRows":
        """Return the same rows with a coding of their target."""
        target = code(self.target)
        return InMemoryRows(self.features, target, self.factor, self.height, self.listed)

    def columns(self, support: Sequence[int]) -> "InMemoryRows":
        """Return the same rows with these columns alone, and their intercept column.

        They are dense whatever the rows are: what a block holds then depends on how many
        columns were chosen, never on which.
        """
        chosen = take_columns(self.features, support)
        return InMemoryRows(chosen, self.target, self.factor, self.height, self.listed)

    def blocks(self, start: int, stop: int, dtype: Any = np.float64) -> Iterator[Block]:
        """Walk over the rows from start to stop, block by block.

        Numbers of another type are converted into memory that the next block uses again. A
        row that was shortened is its features times its factor, rounded to doubles: in
        other formats that product comes first, for single precision may not hold the rest.
        """
        step, cut_out = self.block_rows, row_slicer(self.features)
        exact = self.factor is not None and dtype != np.float64
        exact = exact and not isinstance(self.features, CodedDesign)
        for low in range(start, max(stop, start + 1), step):
            cut = slice(low, min(low + step, stop))
            factor = None if self.factor is None else self.factor[cut]
            features = cut_out(cut, np.float64 if exact else dtype)
            if exact:
                features, factor = scaled(features, factor).astype(dtype), None
            yield Block(features, self.target[cut], factor, self.height, low)

    def at(self, places: AnyArray) -> "InMemoryRows":
        """Return the rows that stand at some places, in their order."""
        factor = None if self.factor is None else self.factor[places]
        return InMemoryRows(self.features[places], self.target[places], factor, self.height)

    def lengths(self) -> Array:
        """Return ‖x‖ for every row, the intercept column included."""
        return np.concatenate([block.lengths() for block in self.blocks(0, self.count)])

    def each(self, parts: Sequence[AnyArray], fn: Callable[["InMemoryRows"], T]) -> list[T]:
        """Return ``fn`` of the rows at every list of places, computed side by side."""
        with one_blas_thread():
            return list(pool(threads_to_use()).map(lambda part: fn(self.at(part)), parts))

    def plain(self) -> tuple[Any, Array]:
        """Return features with their factors multiplied in, dense or CSR, and targets.

        They are doubles, in one order of memory: whether any row was shortened, and how
        the table was stored, leaves no trace in another row or in how it is added up.
        """
        features = self.features
        if isinstance(features, CodedDesign):
            features = features.todense()
        if sparse.issparse(features):
            whole = csr.with_values(features, features.data.astype(np.float64, copy=False))
        else:
            whole = np.ascontiguousarray(features, np.float64)
        return scaled(whole, self.factor), self.target

    def sum(self, fn: Callable[[Block], Partial], dtype: Any = np.float64) -> Partial:
        """Add up ``fn(block)`` over all blocks."""
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
        """Add up as `sum` does, number by number, in this thread."""
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
        """How many sums of blocks are added up in the end."""
        return max(1, min(STRIPES, self._blocks // 4))

    @property
    def _chain(self) -> int:
        """How many additions the sum of a block goes through."""
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


def held(rows: Rows, what: str) -> InMemoryRows:
    """Return rows that are in memory, and refuse others for something that needs it."""
    if isinstance(rows, InMemoryRows):
        return rows
    raise InvalidParameter(
        "table",
        f"in memory for {what}, which looks at all rows at once",
        "a table in parts",
        "Read it whole, as by pandas, if it fits; or use another mechanism.",
    )


def bound_rows(
    features: Any, target: Array, row_norm: float, height: float
) -> InMemoryRows:
    """Bound every row by ``row_norm`` and close the box.

    ``features`` is a float array or CSR matrix of two dimensions, already checked for
    type and shape; values that are not finite are refused here, in the same sweep that
    measures the rows. A `CodedDesign` is finite and knows how long its rows can be. Entries
    that a sparse matrix holds twice are added up first: a length is about sums.
    """
    features = csr.without_duplicates(features)
    rows = InMemoryRows(features, target, None, height)
    if isinstance(features, CodedDesign) and features.reach <= row_norm:
        return rows
    factor = np.empty(rows.count)
    below = row_norm * (
        1 - ROUNDING_MARGIN - float(np.finfo(np.float64).eps) * features.shape[1]
    )
    low, finite, longest = 0, True, 0.0
    for block in rows.blocks(0, rows.count):
        length = lengths_of(block.features)
        longest = max(longest, float(length.max(initial=0.0)))
        finite = finite and bool((length <= MAX_ROW_LENGTH).all())
        part = factor[low : low + len(length)]
        np.divide(below, length, out=part, where=length > row_norm)
        part[length <= row_norm] = 1.0
        low += len(length)
    if not finite:
        refuse_infinite(features)
    return InMemoryRows(features, target, factor if longest > row_norm else None, height)
