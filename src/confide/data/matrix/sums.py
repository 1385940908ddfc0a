"""Summation over rows and along rows, with control of rounding errors.

The length of a row is rounded independently of other rows.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.errors import InvalidData

Partial: TypeAlias = tuple[Any, ...]
"""Result of a function of a block: a tuple of arrays or numbers that can be added."""

CACHE_BYTES = 5 * 2**18
"""Size in bytes of a block that fits the processor's cache during a sum."""
FEWEST_IN_A_BLOCK = 64
FEW_ADDED = 1024
"""Number of rows per inner sum of numeric columns, for small rounding errors."""
MOST_ADDED = 8192
"""Largest number of rows that are added up consecutively."""
MAX_ROWS = 10**9
"""Public bound on the number of rows of any table, which all guarantees assume. Bounds on
the rounding errors of sums hold for tables of up to this size."""
ROWS_OF_A_PIECE = 2048
"""Largest number of rows that are added up consecutively in sums that are released."""
MOST_TERMS = 8704
"""Bound on the number of consecutive additions in a sum over `MAX_ROWS` rows, for every
type of matrix."""

SUM_ERROR = 1e-3
"""Bound on the rounding error of a sum over rows of terms of size at most 1.

A term is subject to fewer than 8,450 additions, whose rounding errors are bounded by
10⁹·8450·2⁻⁵³. The remainder of the bound is for rounding errors of the terms
(docs/proofs/sparse-selection.md, score-rounding-exact).
"""


@dataclass(frozen=True, slots=True)
class SumShape:
    """Numbers of consecutive additions in sums over rows and in margins.

    A sum over all rows first adds up ``rows_added`` rows at a time, and then adds these
    sums with up to ``depth`` consecutive additions. ``terms`` bounds the total number of
    consecutive additions. A margin is a sum of at most ``entries`` numbers, which is
    private for sparse rows, and bounded by the public ``max_entries``.
    """

    rows_added: int
    depth: int
    terms: int
    entries: int
    max_entries: int

    def deeper(self, additions: int) -> "SumShape":
        """Return the structure with further consecutive additions at the end."""
        return replace(self, depth=self.depth + additions, terms=self.terms + additions)

    def __or__(self, other: "SumShape") -> "SumShape":
        """Return a structure whose bounds hold for both."""
        return SumShape(
            max(self.rows_added, other.rows_added),
            max(self.depth, other.depth),
            max(self.terms, other.terms),
            max(self.entries, other.entries),
            max(self.max_entries, other.max_entries),
        )


def rows_in_cache(row_bytes: int) -> int:
    """Return the number of rows per block, given the size of a row in bytes."""
    fitting = CACHE_BYTES // max(1, row_bytes)
    return max(FEWEST_IN_A_BLOCK, min(fitting, MOST_ADDED))


def rows_per_sum(width: int) -> int:
    """Return the number of rows per dense block, given the number of columns."""
    return rows_in_cache(8 * max(1, width))


def pairwise_sum(partials: Iterable[Partial]) -> Partial:
    """Add partial results by pairwise summation, in their order.

    `addition_depth` is the number of additions to which each result is subject.
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
    """Return the number of consecutive additions in a pairwise sum of ``count`` terms."""
    return count.bit_length()


def _plus(one: Partial, other: Partial) -> Partial:
    return tuple(a + b for a, b in zip(one, other, strict=True))


SMALL_SQUARE, LARGE_SQUARE = 1e-280, 1e280
"""Squared lengths between these bounds are accurate, with negligible subnormal terms."""
ROWS_AT_ONCE = 1024
COLUMNS_AT_ONCE = 4096


class _Measured(Protocol):
    def squared_lengths(self) -> Array: ...

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array: ...


def row_lengths(matrix: _Measured, factor: AnyArray | None, height: float) -> Array:
    """Return row lengths after scaling by factors, including an intercept column.

    The lengths of rows whose squares underflow or overflow are computed by another method.
    The method is chosen for each row separately, so that no record affects the rounding of
    others.
    """
    squares = matrix.squared_lengths()
    extreme = ~((squares >= SMALL_SQUARE) & (squares <= LARGE_SQUARE))
    if factor is not None:
        with np.errstate(invalid="ignore"):
            # Multiplying twice avoids underflow of the squared factor.
            squares *= factor
            squares *= factor
        extreme |= ~(squares >= SMALL_SQUARE)
    lengths = np.sqrt(squares + height**2)
    places = np.flatnonzero(extreme)
    for low in range(0, len(places), ROWS_AT_ONCE):
        some = places[low : low + ROWS_AT_ONCE]
        own = None if factor is None else factor[some]
        lengths[some] = np.hypot(matrix.safe_lengths(some, own), height)
    return np.asarray(lengths)


def root_above(length: float, square: Fraction) -> float:
    """Return the smallest double from ``length`` on whose square is at least ``square``."""
    while Fraction(length) ** 2 < square:
        length = math.nextafter(length, math.inf)
    return length


def length_beside(length: float, height: float) -> float:
    """Return the length of a row with a further constant entry, rounded up."""
    square = Fraction(length) ** 2 + Fraction(height) ** 2
    return root_above(math.hypot(length, height), square)


def sum_row_by_row(terms: str, rows: AnyArray, others: AnyArray) -> AnyArray:
    """Sum products along rows, with each row rounded independently of other rows.

    Sums over many columns are divided here, because NumPy divides them at the end of its
    buffer, at positions that depend on the number of rows.
    """
    if rows.shape[1] <= COLUMNS_AT_ONCE:
        return np.einsum(terms, rows, others)
    total = np.zeros(len(rows), np.result_type(rows, others))
    for low in range(0, rows.shape[1], COLUMNS_AT_ONCE):
        cut = slice(low, low + COLUMNS_AT_ONCE)
        total += np.einsum(terms, rows[:, cut], others[..., cut])
    return total


def refuse_infinite(values: AnyArray) -> None:
    """Reject values that are not all finite, without showing any value."""
    if np.isnan(values).any():
        raise InvalidData(
            "X must hold finite numbers; it contains NaN. Impute or drop missing values "
            "by a rule chosen before looking at the data."
        )
    if not np.isfinite(values).all():
        raise InvalidData(
            "X must hold finite numbers; it contains infinity, or a number that is too "
            "large for a double."
        )


ROUNDING_MARGIN = 1e-14
"""Relative margin below the bound of rows, in addition to one unit in the last place per
column, so that rounded lengths never exceed the bound."""


def shortening(lengths: Array, bound: float, terms: int, long: AnyArray) -> Array:
    """Return the factor that scales each row down to a bound; 1 for shorter rows.

    ``lengths`` are rounded roots of sums of ``terms`` squares. Rows in the mask ``long``
    exceed the bound in any case. Scaled rows remain below the bound by a margin that is
    larger than the rounding errors of lengths and products.
    """
    below = bound * (1 - ROUNDING_MARGIN - float(np.finfo(np.float64).eps) * terms)
    factor = np.ones(len(lengths))
    np.divide(below, lengths, out=factor, where=long | (lengths > below))
    return factor
