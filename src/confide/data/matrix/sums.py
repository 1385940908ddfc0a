"""Sums over the rows of a matrix and within rows, with bounds on rounding errors.

The norm of each row is rounded independently of other rows.
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
"""Contribution of a block of rows to a sum: a tuple of arrays or numbers."""

CACHE_BYTES = 5 * 2**18
"""Size in bytes of a block of rows that fits the processor's cache."""
FEWEST_IN_A_BLOCK = 64
FEW_ADDED = 1024
"""Number of rows per inner sum of numeric columns; short sums have small errors."""
MOST_ADDED = 8192
"""Largest number of rows that are added up one after another."""
MAX_ROWS = 10**9
"""Public upper bound on the number of rows of a table. All guarantees, and all bounds on
rounding errors of sums, assume it."""
ROWS_OF_A_PIECE = 2048
"""Largest number of rows added up one after another in sums that are released."""
MOST_TERMS = 8704
"""Bound on the number of additions in which each term of a sum over `MAX_ROWS` rows takes
part, for every type of matrix."""

SUM_ERROR = 1e-3
"""Bound on the rounding error of a sum of up to `MAX_ROWS` terms in [−1, 1].

Each term takes part in fewer than 8,450 additions, so their rounding errors sum to at most
10⁹·8450·2⁻⁵³. The rest of the bound covers the rounding errors of the terms themselves
(docs/proofs/sparse-selection.md, score-rounding-exact).
"""


@dataclass(frozen=True, slots=True)
class SumShape:
    """Numbers of additions in sums over rows and in linear predictors.

    Bounds on rounding errors are computed from these numbers. A sum over rows first adds up
    at most ``rows_added`` rows one after another; each of these partial sums then takes
    part in at most ``depth`` further additions. ``terms`` bounds the total number of
    additions in which a single row takes part. A linear predictor is a sum of at most
    ``entries`` products. For sparse rows this number is private, and ``max_entries`` is a
    public bound on it.
    """

    rows_added: int
    depth: int
    terms: int
    entries: int
    max_entries: int

    def deeper(self, additions: int) -> "SumShape":
        """Return the numbers for a sum whose result takes part in further additions."""
        return replace(self, depth=self.depth + additions, terms=self.terms + additions)

    def __or__(self, other: "SumShape") -> "SumShape":
        """Return bounds that hold for both sums: the maximum of every field."""
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
    """Return the number of rows per block of a dense matrix with ``width`` columns."""
    return rows_in_cache(8 * max(1, width))


def pairwise_sum(partials: Iterable[Partial]) -> Partial:
    """Add up partial results pairwise, in the given order.

    Each partial result takes part in at most `addition_depth` additions.
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
    """Return a bound on the number of additions that each term goes through.

    The sum has ``count`` terms and is computed pairwise.
    """
    return count.bit_length()


def _plus(one: Partial, other: Partial) -> Partial:
    return tuple(a + b for a, b in zip(one, other, strict=True))


SMALL_SQUARE, LARGE_SQUARE = 1e-280, 1e280
"""Squared norms between these bounds are accurate: subnormal terms are negligible."""
ROWS_AT_ONCE = 1024
COLUMNS_AT_ONCE = 4096


class _Measured(Protocol):
    def squared_lengths(self) -> Array: ...

    def safe_lengths(self, places: AnyArray, factor: AnyArray | None) -> Array: ...


def row_lengths(matrix: _Measured, factor: AnyArray | None, height: float) -> Array:
    """Return the Euclidean norms of the scaled rows, including any intercept column.

    If the squared norm of a row underflows or overflows, its norm is computed by another
    method. The method is chosen for each row separately, so that no record affects the
    rounding of others.
    """
    squares = matrix.squared_lengths()
    extreme = ~((squares >= SMALL_SQUARE) & (squares <= LARGE_SQUARE))
    if factor is not None:
        with np.errstate(invalid="ignore"):
            # Multiplying twice avoids underflow of the square of a factor.
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
    """Return the smallest double ≥ ``length`` whose exact square is at least ``square``."""
    while Fraction(length) ** 2 < square:
        length = math.nextafter(length, math.inf)
    return length


def length_beside(length: float, height: float) -> float:
    """Return the norm, rounded up, of a row of norm ``length`` with ``height`` appended."""
    square = Fraction(length) ** 2 + Fraction(height) ** 2
    return root_above(math.hypot(length, height), square)


def sum_row_by_row(terms: str, rows: AnyArray, others: AnyArray) -> AnyArray:
    """Sum products within each row, rounded independently of other rows.

    Sums over many columns are split at fixed columns here. NumPy would split them where its
    buffer ends, at columns that depend on the number of rows.
    """
    if rows.shape[1] <= COLUMNS_AT_ONCE:
        return np.einsum(terms, rows, others)
    total = np.zeros(len(rows), np.result_type(rows, others))
    for low in range(0, rows.shape[1], COLUMNS_AT_ONCE):
        cut = slice(low, low + COLUMNS_AT_ONCE)
        total += np.einsum(terms, rows[:, cut], others[..., cut])
    return total


def refuse_infinite(values: AnyArray) -> None:
    """Raise an error if any value is not finite; the message shows no value."""
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
"""Relative margin by which scaled rows stay below their bound, in addition to one machine
epsilon per column. It covers the rounding of norms and products."""


def shortening(lengths: Array, bound: float, terms: int, long: AnyArray) -> Array:
    """Return, for each row, the factor that scales it down to the bound; 1 if not needed.

    ``lengths`` are the computed norms: rounded square roots of sums of ``terms`` squares.
    Rows in the mask ``long`` are known to exceed the bound, whatever their computed norm.
    The norm of a scaled row stays below the bound by more than the rounding errors of norms
    and products.
    """
    below = bound * (1 - ROUNDING_MARGIN - float(np.finfo(np.float64).eps) * terms)
    factor = np.ones(len(lengths))
    np.divide(below, lengths, out=factor, where=long | (lengths > below))
    return factor
