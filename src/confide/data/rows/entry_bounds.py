"""Rows bounded entry by entry.

Where columns outnumber rows the length of a row says little: a fit on few columns needs
bounds on few entries. Entries beyond a public bound are clipped to it, or a row whose few
largest entries are too long together is scaled down; both look at one record alone.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from confide._types import Array
from confide.data.matrix.csr import with_values, without_duplicates
from confide.data.matrix.finite import MAX_ROW_LENGTH, refuse_infinite
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import InvalidParameter

LARGEST = 1e100
"""Bounds beyond it, or below its inverse, would overflow when squared."""


@dataclass(frozen=True, slots=True)
class EntryBounds:
    """Public: no entry of a row exceeds ``most``, no ``few`` of them are longer together.

    Without ``length`` nothing but the entries themselves is bounded.
    """

    most: float
    few: int = 1
    length: float | None = None

    def __post_init__(self) -> None:
        for name in ("most", "length"):
            value = getattr(self, name)
            if value is not None and not 1 / LARGEST <= value <= LARGEST:
                must = f"between {1 / LARGEST:g} and {LARGEST:g}"
                raise InvalidParameter("column_bound", must, value)
        if self.few < 1:
            raise InvalidParameter("few", "1 or more", self.few)

    @classmethod
    def scaled(cls, few: int, each: float) -> "EntryBounds":
        """Return the bounds of rows whose ``few`` largest entries are each·√few long."""
        reach = each * math.sqrt(few)
        return cls(reach, few, reach)

    def norm(self, count: int) -> float:
        """Return how long any so many entries of a row can be together."""
        alone = self.most * math.sqrt(count)
        if self.length is None:
            return alone
        return min(alone, self.length * math.sqrt(-(-count // self.few)))


def bound_entries(
    features: Any, target: Array, bounds: EntryBounds, height: float
) -> InMemoryRows:
    """Bound every row as ``bounds`` says and close the box.

    ``features`` is a float array or CSR matrix; values that are not finite are refused.
    Entries that a sparse matrix holds twice are added up first: bounds are about sums.
    """
    features = without_duplicates(features)
    values = features.data if sparse.issparse(features) else features
    largest = float(np.abs(values).max(initial=0.0))
    if not np.isfinite(largest):
        refuse_infinite(features)
    if bounds.length is not None:
        lengths = _largest_norms(features, bounds.few)
        if not (lengths <= MAX_ROW_LENGTH).all():
            refuse_infinite(features)
        factor = bounds.length / np.maximum(lengths, bounds.length)
        return InMemoryRows(features, target, factor, height)
    if largest > bounds.most:
        limit = _below(bounds.most, values.dtype)
        clipped = np.clip(values, -limit, limit)
        if sparse.issparse(features):
            clipped = with_values(features, clipped)
        features = clipped
    return InMemoryRows(features, target, None, height)


def _below(bound: float, dtype: Any) -> Any:
    """Return the largest number of a type that is not beyond a bound."""
    limit = dtype.type(bound)
    return limit if float(limit) <= bound else np.nextafter(limit, dtype.type(0))


def _largest_norms(features: Any, few: int) -> Array:
    """Return how long the few largest entries of every row are together."""
    if not sparse.issparse(features):
        rows = range(0, max(1, features.shape[0]), ROWS_AT_ONCE)
        parts = [_dense_norms(features[low : low + ROWS_AT_ONCE], few) for low in rows]
        return np.concatenate(parts)
    counts = np.diff(features.indptr)
    row = np.repeat(np.arange(len(counts)), counts)
    size = np.abs(features.data).astype(np.float64, copy=False)
    order = np.lexsort((-size, row))
    rank = np.arange(len(order)) - np.repeat(features.indptr[:-1], counts)
    with np.errstate(over="ignore"):
        squares = np.where(rank < few, size[order] ** 2, 0.0)
    return np.sqrt(np.bincount(row, squares, len(counts)))


ROWS_AT_ONCE = 1024


def _dense_norms(features: Any, few: int) -> Array:
    with np.errstate(over="ignore"):
        squares = np.square(features, dtype=np.float64)
    if few < squares.shape[1]:
        squares = np.partition(squares, squares.shape[1] - few, axis=1)[:, -few:]
    # Column by column: NumPy's own sum rounds a row by how many there are.
    return np.asarray(np.sqrt(sum(squares.T, np.zeros(len(squares)))))
