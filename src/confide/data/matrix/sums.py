"""How sums over rows and along them are added up, and what their rounding depends on.

Lengths of rows are rounded independently of each other, for every double.
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
"""What a function of a block returns: arrays or numbers that can be added."""

CACHE_BYTES = 5 * 2**18
"""Bytes of a matrix that fit in the processor's cache during a sum."""
FEWEST_IN_A_BLOCK = 64
FEW_ADDED = 1024
"""Rows of number columns per sum: fewer rows lose less to rounding, at little cost."""
MOST_ADDED = 8192
"""Largest number of rows that are added up one after the other."""
MAX_ROWS = 10**9
"""A public bound on the number of rows of any table, which guarantees assume: what
rounding does to a sum is bounded for as many, whatever number there is."""
ROWS_OF_A_PIECE = 2048
"""The same where the sums themselves are released."""
MOST_TERMS = 8704
"""Bound on the number of additions in a sum over this many rows, in any layout."""

SUM_ERROR = 1e-3
"""Bound on the rounding error of a sum over rows of terms up to 1.

A number goes through fewer than 8,450 additions, so that 10⁹·8450·2⁻⁵³ bounds what they
lose; the rest is for the roundings of a term (docs/proofs/sparse-selection.md,
score-rounding-exact).
"""


@dataclass(frozen=True, slots=True)
class SumShape:
    """How many additions follow one another in a sum over rows, and in a margin.

    ``rows_added`` rows are added up before sums are added to sums, and ``depth`` is how
    many of those follow one another; ``terms`` counts all numbers that do. A margin adds
    up ``entries`` numbers at most, which is private where rows are sparse, and never more
    than ``max_entries``, which is public.
    """

    rows_added: int
    depth: int
    terms: int
    entries: int
    max_entries: int

    def deeper(self, additions: int) -> "SumShape":
        """Return the shape where every sum goes through more additions."""
        return replace(self, depth=self.depth + additions, terms=self.terms + additions)

    def __or__(self, other: "SumShape") -> "SumShape":
        """Return a shape that covers both."""
        return SumShape(
            max(self.rows_added, other.rows_added),
            max(self.depth, other.depth),
            max(self.terms, other.terms),
            max(self.entries, other.entries),
            max(self.max_entries, other.max_entries),
        )


def rows_in_cache(row_bytes: int) -> int:
    """Return how many rows of a size make a block: no sum over them is too long."""
    fitting = CACHE_BYTES // max(1, row_bytes)
    return max(FEWEST_IN_A_BLOCK, min(fitting, MOST_ADDED))


def rows_per_sum(width: int) -> int:
    """Return how many rows of a width a dense block adds up."""
    return rows_in_cache(8 * max(1, width))


def pairwise_sum(partials: Iterable[Partial]) -> Partial:
    """Add partial results in their order: two by two, then those sums, and so on.

    `addition_depth` is how many additions a number goes through.
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
    """Return how many additions a number goes through in a pairwise sum of a length."""
    return count.bit_length()


def _plus(one: Partial, other: Partial) -> Partial:
    return tuple(a + b for a, b in zip(one, other, strict=True))


SMALL_SQUARE, LARGE_SQUARE = 1e-280, 1e280
"""Squared lengths between which sums consist of normal doubles, up to negligible parts."""
ROWS_AT_ONCE = 1024
COLUMNS_AT_ONCE = 4096


class _Measured(Protocol):
    def squared_lengths(self) -> Array: ...

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array: ...


def row_lengths(matrix: _Measured, factor: AnyArray | None, height: float) -> Array:
    """Return the length of every row times its factor, beside a constant column.

    Rows whose squares underflow or overflow are measured another way. That is decided row
    by row: no record changes how others are rounded.
    """
    squares = matrix.squared_lengths()
    extreme = ~((squares >= SMALL_SQUARE) & (squares <= LARGE_SQUARE))
    if factor is not None:
        with np.errstate(invalid="ignore"):
            # The square of a factor may be too small for a double.
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
    """Return the first double from a guess on whose square is not below a number."""
    while Fraction(length) ** 2 < square:
        length = math.nextafter(length, math.inf)
    return length


def length_beside(length: float, height: float) -> float:
    """Return how long a row is together with a constant entry, rounded up."""
    square = Fraction(length) ** 2 + Fraction(height) ** 2
    return root_above(math.hypot(length, height), square)


def sum_row_by_row(terms: str, rows: AnyArray, others: AnyArray) -> AnyArray:
    """Add up products along rows, each rounded independently of the others.

    NumPy cuts longer sums where its buffer ends, which depends on how many rows there are.
    """
    if rows.shape[1] <= COLUMNS_AT_ONCE:
        return np.einsum(terms, rows, others)
    total = np.zeros(len(rows), np.result_type(rows, others))
    for low in range(0, rows.shape[1], COLUMNS_AT_ONCE):
        cut = slice(low, low + COLUMNS_AT_ONCE)
        total += np.einsum(terms, rows[:, cut], others[..., cut])
    return total


def refuse_infinite(values: AnyArray) -> None:
    """Reject values that are not all finite, without quoting any."""
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
"""By so much, and a unit in the last place for every column, rows stay below their bound,
so that rounding never exceeds it."""


def shortening(lengths: Array, bound: float, terms: int, long: AnyArray) -> Array:
    """Return the factor of every row: 1, or less where it would pass a bound.

    ``lengths`` are sums of so many squares, rounded; ``long`` rows pass it for sure. All
    stay below the bound by more than rounding can take from a length or add to a product.
    """
    below = bound * (1 - ROUNDING_MARGIN - float(np.finfo(np.float64).eps) * terms)
    factor = np.ones(len(lengths))
    np.divide(below, lengths, out=factor, where=long | (lengths > below))
    return factor
