"""Some rows, and what is computed from them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.matrix import csr
from confide.data.matrix.coded_design import CACHE_BYTES, FEW_ADDED, MOST_ADDED, CodedDesign

Partial: TypeAlias = tuple[Any, ...]
"""What a function of a block returns: arrays or numbers that can be added."""

SMALL_SQUARE, LARGE_SQUARE = 1e-280, 1e280
"""Between these squared lengths are sums of normal doubles, but for what is negligible."""
AT_ONCE = 1024
COLUMNS_AT_ONCE = 4096


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
        elif isinstance(self.features, CodedDesign):
            margin = self.features.alone(slopes)
        else:
            rows = np.ascontiguousarray(self.features)
            margin = _row_by_row("ij,j->i", rows, slopes)
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
        if isinstance(self.features, CodedDesign) and self._is_plain:
            return self._gram_by_columns(weights, fine=fine)
        if isinstance(self.features, CodedDesign):
            most = max(64, CACHE_BYTES // (4 * self.features.shape[1]))
            most = min(most, self.features.added_rows if fine else MOST_ADDED)
            grams = (
                replace(piece, features=piece.features.todense(kind)).gram(
                    weights[cut], fine=fine
                )
                for cut, piece in self.pieces(most)
            )
            return np.asarray(sum(grams))
        root = np.sqrt(weights).astype(kind, copy=False)
        # A row that was shortened may hold numbers too large for single precision.
        bounded = scaled(self.features, self.factor)
        if sparse.issparse(bounded):
            rows = csr.scaled(bounded.astype(kind, copy=False), root)
            inner = (rows.T @ rows).toarray()
        else:
            rows = bounded.astype(kind)
            rows *= root[:, None]
            inner = rows.T @ rows
        if not self.height:
            return inner.astype(np.float64, copy=False)
        whole = np.empty((len(inner) + 1, len(inner) + 1))
        whole[:-1, :-1] = inner
        whole[-1, :-1] = whole[:-1, -1] = self.height * np.asarray(root @ rows)
        whole[-1, -1] = self.height**2 * float(weights.sum())
        return whole

    @property
    def _is_plain(self) -> bool:
        return not self.features.groups and self.factor is None

    def _gram_by_columns(self, weights: AnyArray, *, fine: bool) -> Array:
        """Return the same of rows that are kept column by column, as they lie."""
        kind, most = (np.float64, FEW_ADDED) if fine else (np.float32, MOST_ADDED)
        numbers, bare = self.features.numbers, len(self.features.numbers)
        size = bare + (1 if self.height else 0)
        total = np.zeros((size, size))
        for low in range(0, len(weights), most):
            cut = slice(low, low + most)
            root = np.sqrt(weights[cut]).astype(kind, copy=False)
            lines = np.empty((size, len(root)), kind)
            lines[:bare] = numbers[:, cut]
            lines[bare:] = self.height
            lines *= root
            total += lines @ lines.T
        return total

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
        return lengths_of(self.features, self.factor, self.height)

    def absolute(self) -> "Block":
        """Return the same rows with every entry positive."""
        return replace(self, features=abs(self.features))

    def squares(self, weights: AnyArray) -> Array:
        """Return the diagonal of the Gram matrix, Σ wᵢxᵢⱼ²."""
        scaled = weights if self.factor is None else weights * self.factor**2
        if sparse.issparse(self.features):
            total = scaled @ csr.squared(self.features)
        elif isinstance(self.features, CodedDesign):
            total = scaled @ self.features.squared()
        else:
            total = np.einsum("i,ij,ij->j", scaled, self.features, self.features)
        if self.height:
            total = np.append(total, self.height**2 * weights.sum())
        return np.asarray(total, dtype=np.float64)


def scaled(features: Any, factor: AnyArray | None) -> Any:
    """Return every row times its factor, dense or CSR."""
    if factor is None:
        return features
    if sparse.issparse(features):
        return csr.scaled(features, factor)
    return features * factor[:, None]


def squared_norms(features: Any) -> Array:
    """Return the squared length of every row, each rounded as if there were no other."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(features):
            return np.asarray(csr.squared(features) @ np.ones(features.shape[1]))
        if isinstance(features, CodedDesign):
            return np.asarray(features.squared().alone(np.ones(features.shape[1])))
        rows = np.ascontiguousarray(features)
        return _row_by_row("ij,ij->i", rows, rows)


def _row_by_row(terms: str, rows: AnyArray, others: AnyArray) -> AnyArray:
    """Add up products along rows, each rounded as if there were no other.

    NumPy cuts longer sums where its buffer ends, which depends on how many rows there are.
    """
    total = np.zeros(len(rows), np.result_type(rows, others))
    for low in range(0, rows.shape[1], COLUMNS_AT_ONCE):
        cut = slice(low, low + COLUMNS_AT_ONCE)
        total += np.einsum(terms, rows[:, cut], others[..., cut])
    return total


def lengths_of(features: Any, factor: AnyArray | None = None, height: float = 0.0) -> Array:
    """Return the length of every row times its factor, beside a constant column.

    Rows whose squares are no good doubles are brought to a largest entry of 1 first. That
    is decided row by row: no record has a say in how others are rounded.
    """
    squares = squared_norms(features)
    extreme = ~((squares >= SMALL_SQUARE) & (squares <= LARGE_SQUARE))
    if factor is not None:
        with np.errstate(invalid="ignore"):
            squares *= factor**2
        extreme |= ~(squares >= SMALL_SQUARE)
    lengths = np.sqrt(squares + height**2)
    places = np.flatnonzero(extreme)
    for low in range(0, len(places), AT_ONCE):
        some = places[low : low + AT_ONCE]
        rows = features[some]
        if isinstance(rows, CodedDesign):
            rows = rows.todense()
        bounded = scaled(rows, None if factor is None else factor[some])
        lengths[some] = np.hypot(_safe_lengths(bounded), height)
    return lengths


def _safe_lengths(rows: Any) -> Array:
    """Return lengths of dense or CSR rows without squares that underflow or overflow."""
    top = abs(rows).max(axis=1)
    top = np.asarray(top.toarray() if sparse.issparse(top) else top).ravel()
    unit = np.where(top > 0, top, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(rows):
            each = np.repeat(unit, np.diff(rows.indptr))
            shares = csr.with_values(rows, rows.data / each)
        else:
            shares = rows / unit[:, None]
        return np.asarray(top * np.sqrt(squared_norms(shares)))


def pairwise_sum(partials: Iterable[Partial]) -> Partial:
    """Add partial results in their order: two by two, then those sums, and so on.

    How many additions a number goes through says `addition_depth`.
    """
    sums: list[tuple[int, Partial]] = []
    for found in partials:
        level, total = 0, found
        while sums and sums[-1][0] == level:
            total = _plus(sums.pop()[1], total)
            level += 1
        sums.append((level, total))
    _, total = sums.pop()
    while sums:
        total = _plus(sums.pop()[1], total)
    return total


def addition_depth(count: int) -> int:
    """Return how many additions a number goes through when so many are added up."""
    return count.bit_length()


def _plus(one: Partial, other: Partial) -> Partial:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def row_slicer(features: Any) -> Callable[[slice, Any], Any]:
    """Return what cuts rows out in some precision: valid until it cuts the next."""
    if isinstance(features, CodedDesign):
        return lambda cut, dtype: features[cut].astype(dtype)
    if sparse.issparse(features):
        return partial(csr.cut, features)
    room: list[AnyArray] = []

    def dense(cut: slice, dtype: Any) -> AnyArray:
        part = features[cut]
        if part.dtype == dtype:
            return part
        if not room or room[0].shape != part.shape:
            room[:] = [np.empty_like(part, dtype)]
        np.copyto(room[0], part)
        return room[0]

    return dense
