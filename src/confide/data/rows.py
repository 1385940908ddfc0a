"""Private rows, and the one seam through which anything is computed from them.

``rows.sum(fn)`` evaluates ``fn(block)`` on blocks of rows that fit the processor's cache
and adds the results. The order of addition depends on the shape alone, never on the
number of threads, so a fit is the same on every machine of one kind.

A row longer than the public bound is scaled down to it, record by record. The factor is
kept next to the features instead of a scaled copy of them.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from confide._types import AnyArray, Array
from confide.data import csr
from confide.data.design import CACHE_BYTES, MOST_ADDED, Design, additions, take_columns
from confide.errors import InvalidData, PrivacyLeak

T = TypeVar("T")
Partial: TypeAlias = tuple[Any, ...]
"""What a function of a block returns: arrays or numbers that can be added."""

STRIPES = 16
RUN = 8
MANY_BLOCKS = 48
WIDEST_DENSE = 1500
"""A sample of a design with more columns keeps its codes."""


@dataclass(frozen=True, slots=True, repr=False)
class Block:
    """Some rows: features, target, row factors, intercept height.

    Rows of a block follow one another in the table, from ``start`` on.
    """

    features: Any
    target: AnyArray
    factor: AnyArray | None
    height: float
    start: int = 0

    def margin(self, theta: AnyArray, *, alone: bool = False) -> AnyArray:
        """Return ⟨x, θ⟩ for every row, the intercept column included.

        A matrix θ gives a column of margins for each of its columns. A product of matrices
        rounds a row by where it stands. ``alone`` rounds every row as if there were no
        other: what depends on one record then does so to the last bit.
        """
        slopes = theta[:-1] if self.height else theta
        if not alone or sparse.issparse(self.features):
            margin = self.features @ slopes
        elif isinstance(self.features, Design):
            margin = self.features.alone(slopes)
        else:
            margin = np.einsum("ij,j->i", self.features, slopes)
        if self.factor is not None:
            margin *= self.factor if theta.ndim == 1 else self.factor[:, None]
        if self.height:
            margin += self.height * theta[-1]
        return margin

    def pull(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ; a matrix of weights gives a column for each of its columns."""
        if weights.ndim == 2:
            return np.column_stack([self.pull(column) for column in weights.T])
        scaled = weights if self.factor is None else weights * self.factor
        total = scaled @ self.features
        if not self.height:
            return total
        longer = np.empty(len(total) + 1, dtype=total.dtype)
        longer[:-1], longer[-1] = total, self.height * weights.sum()
        return longer

    def gram(self, weights: AnyArray, *, fine: bool = False) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ for weights not negative, in single precision unless fine."""
        kind = np.float64 if fine else np.float32
        if isinstance(self.features, Design):
            most = max(64, CACHE_BYTES // (4 * self.features.shape[1]))
            most = min(most, MOST_ADDED)
            grams = (
                replace(piece, features=piece.features.todense(kind)).gram(
                    weights[cut], fine=fine
                )
                for cut, piece in self.pieces(most)
            )
            return np.asarray(sum(grams))
        root = np.sqrt(weights).astype(kind, copy=False)
        scaled = root
        if self.factor is not None:
            scaled = root * self.factor.astype(kind, copy=False)
        if sparse.issparse(self.features):
            rows = csr.scaled(self.features.astype(kind, copy=False), scaled)
            inner = (rows.T @ rows).toarray()
        else:
            rows = self.features.astype(kind)
            rows *= scaled[:, None]
            inner = rows.T @ rows
        if not self.height:
            return inner.astype(np.float64, copy=False)
        whole = np.empty((len(inner) + 1, len(inner) + 1))
        whole[:-1, :-1] = inner
        whole[-1, :-1] = whole[:-1, -1] = self.height * np.asarray(root @ rows)
        whole[-1, -1] = self.height**2 * float(weights.sum())
        return whole

    def pieces(self, most: int) -> Iterator[tuple[slice, "Block"]]:
        """Walk over the rows, so many at most at a time."""
        count = self.features.shape[0]
        if count <= most:
            yield slice(0, count), self
            return
        for low in range(0, count, most):
            cut = slice(low, low + most)
            factor = None if self.factor is None else self.factor[cut]
            rows = self.features[cut]
            yield cut, Block(rows, self.target[cut], factor, self.height, self.start + low)

    def lengths(self) -> Array:
        """Return ‖x‖ for every row, the intercept column included."""
        squares = _squared_norms(self.features)
        if self.factor is not None:
            squares *= self.factor**2
        return np.sqrt(squares + self.height**2)

    def absolute(self) -> "Block":
        """Return the same rows with every entry positive."""
        return replace(self, features=abs(self.features))

    def squares(self, weights: AnyArray) -> Array:
        """Return the diagonal of the Gram matrix, Σ wᵢxᵢⱼ²."""
        scaled = weights if self.factor is None else weights * self.factor**2
        if sparse.issparse(self.features):
            total = scaled @ csr.squared(self.features)
        elif isinstance(self.features, Design):
            total = scaled @ self.features.squared()
        else:
            total = np.einsum("i,ij,ij->j", scaled, self.features, self.features)
        if self.height:
            total = np.append(total, self.height**2 * weights.sum())
        return np.asarray(total, dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """Bounded private rows; use `enclose` to make them.

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
        if isinstance(self.features, Design):
            return self.features.block_rows
        if not sparse.issparse(self.features):
            return additions(self.features.shape[1])
        per_row = max(1, self.features.nnz // max(1, self.count)) * 12
        return max(64, min(CACHE_BYTES // per_row, MOST_ADDED))

    @property
    def terms(self) -> int:
        """How many numbers are added up one after the other in a sum over all rows."""
        if isinstance(self.features, Design):
            return self.features.terms
        return min(self.block_rows, self.count) + self.count // self.block_rows + 8

    @property
    def most_entries(self) -> int:
        """How many numbers a margin can add up, as far as public facts say."""
        features = self.features
        width = features.entries if isinstance(features, Design) else features.shape[1]
        return int(width) + (1 if self.height else 0)

    @property
    def entries(self) -> int:
        """How many numbers a margin adds up at most: private where rows are sparse."""
        if not sparse.issparse(self.features):
            return self.most_entries
        return csr.longest_row(self.features) + (1 if self.height else 0)

    def thin(self, stride: int) -> "Rows":
        """Return one row in ``stride``, in single precision, for a first approximation.

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
        if isinstance(self.features, Design):
            coded = self.features.each(
                lambda column: take(column, "f4" if column.dtype.kind == "f" else None)
            )
            wide = coded.shape[1] > WIDEST_DENSE
            features = coded if wide else coded.todense(np.float32)
        else:
            features = take(self.features)
        return Rows(features, take(self.target), factor, self.height)

    def labelled(self, target: Array) -> "Rows":
        """Return the same rows with another target."""
        return Rows(self.features, target, self.factor, self.height, self.listed)

    def columns(self, support: Sequence[int]) -> "Rows":
        """Return the same rows with these columns alone, and their intercept column.

        They are dense whatever the rows are: what a block holds then depends on how many
        columns were chosen, never on which.
        """
        chosen = take_columns(self.features, support)
        return Rows(chosen, self.target, self.factor, self.height, self.listed)

    def blocks(self, start: int, stop: int, dtype: Any = np.float64) -> Iterator[Block]:
        """Walk over the rows from start to stop, block by block."""
        step = self.block_rows
        for low in range(start, max(stop, start + 1), step):
            cut = slice(low, min(low + step, stop))
            yield Block(
                _cut(self.features, cut, dtype),
                self.target[cut],
                None if self.factor is None else self.factor[cut],
                self.height,
                low,
            )

    def at(self, places: AnyArray) -> "Rows":
        """Return the rows that stand at some places, in their order."""
        factor = None if self.factor is None else self.factor[places]
        return Rows(self.features[places], self.target[places], factor, self.height)

    def lengths(self) -> Array:
        """Return ‖x‖ for every row, the intercept column included."""
        return np.concatenate([block.lengths() for block in self.blocks(0, self.count)])

    def each(self, parts: Sequence[AnyArray], fn: Callable[["Rows"], T]) -> list[T]:
        """Return ``fn`` of the rows at every list of places, computed side by side."""
        with _blas().limit(limits=1, user_api="blas"):
            return list(_pool(_threads()).map(lambda part: fn(self.at(part)), parts))

    def plain(self) -> tuple[Any, Array]:
        """Return features with their factors multiplied in, dense or CSR, and targets."""
        features = self.features
        if isinstance(features, Design):
            features = features.todense()
        if self.factor is None:
            return features, self.target
        if sparse.issparse(features):
            return sparse.csr_array(sparse.diags_array(self.factor) @ features), self.target
        return features * self.factor[:, None], self.target

    def sum(self, fn: Callable[[Block], Partial], dtype: Any = np.float64) -> Partial:
        """Add up ``fn(block)`` over all blocks."""
        edges = self._stripe_edges()

        def stripe(i: int) -> Partial:
            with np.errstate(over="ignore"):
                return add_up(fn(b) for b in self.blocks(edges[i], edges[i + 1], dtype))

        indices = range(len(edges) - 1)
        if len(indices) == 1:
            return stripe(0)
        few = self.count <= MANY_BLOCKS * min(self.block_rows, MOST_ADDED)
        threads = 1 if few else _threads()
        with _blas().limit(limits=1, user_api="blas"):
            if threads == 1:
                return add_up(map(stripe, indices))
            return add_up(_pool(threads).map(stripe, indices))

    def _stripe_edges(self) -> list[int]:
        blocks = -(-self.count // self.block_rows)
        stripes = max(1, min(STRIPES, blocks // 4))
        per_stripe = -(-blocks // stripes) * self.block_rows
        return [*range(0, max(1, self.count), max(1, per_stripe)), self.count]

    def __reduce__(self) -> tuple[Any, ...]:
        raise PrivacyLeak("private rows cannot be copied or stored")

    def __repr__(self) -> str:
        return "<private rows>"


def enclose(features: Any, target: Array, row_norm: float, height: float) -> Rows:
    """Bound every row by ``row_norm`` and close the box.

    ``features`` is a float array or CSR matrix of two dimensions, already checked for
    type and shape; values that are not finite are refused here, in the same sweep that
    measures the rows. A `Design` is finite and knows how long its rows can be. Entries
    that a sparse matrix holds twice are added up first: a length is about sums.
    """
    features = csr.without_duplicates(features)
    rows = Rows(features, target, None, height)
    if isinstance(features, Design) and features.reach <= row_norm:
        return rows
    factor = np.empty(rows.count)
    low, finite, longest = 0, True, 0.0
    for block in rows.blocks(0, rows.count):
        length = np.sqrt(_squared_norms(block.features))
        longest = max(longest, float(length.max(initial=0.0)))
        finite = finite and bool(np.isfinite(length.sum()))
        part = factor[low : low + len(length)]
        np.divide(row_norm, np.maximum(length, row_norm, out=length), out=part)
        low += len(length)
    if not finite:
        refuse_infinite(features)
    return Rows(features, target, factor if longest > row_norm else None, height)


def _squared_norms(features: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(features):
            return np.asarray(csr.squared(features) @ np.ones(features.shape[1]))
        if isinstance(features, Design):
            return np.asarray(features.squared() @ np.ones(features.shape[1]))
        return np.einsum("ij,ij->i", features, features)


def refuse_infinite(features: Any) -> None:
    """Say what is wrong with values of which some are not finite, and quote none."""
    values = features.data if sparse.issparse(features) else features
    if np.isnan(values).any():
        raise InvalidData(
            "X must hold finite numbers; it contains NaN. Fill or drop missing values "
            "by a rule chosen before looking at them."
        )
    if not np.isfinite(values).all():
        raise InvalidData("X must hold finite numbers; it contains infinity.")
    raise InvalidData(
        "the squared length of every row of X must fit a double; a value is too large. "
        "Bring the columns to a common public range first."
    )


def _cut(features: Any, cut: slice, dtype: Any) -> Any:
    if isinstance(features, Design):
        return features[cut].astype(dtype)
    if not sparse.issparse(features):
        return features[cut].astype(dtype, copy=False)
    return csr.cut(features, cut, dtype)


def add_up(partials: Iterable[Partial]) -> Partial:
    """Add partial results one after the other."""
    iterator = iter(partials)
    total = list(next(iterator))
    for partial in iterator:
        for i, value in enumerate(partial):
            total[i] = total[i] + value
    return tuple(total)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="confide")


def _threads() -> int:
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return os.cpu_count() or 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
