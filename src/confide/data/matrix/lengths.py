"""Lengths of rows, each rounded as if there were no other, for every double."""

from typing import Protocol

import numpy as np

from confide._types import AnyArray, Array
from confide.errors import InvalidData

SMALL_SQUARE, LARGE_SQUARE = 1e-280, 1e280
"""Between these squared lengths are sums of normal doubles, but for what is negligible."""
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


def sum_row_by_row(terms: str, rows: AnyArray, others: AnyArray) -> AnyArray:
    """Add up products along rows, each rounded as if there were no other.

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
    """Refuse values of which some are not finite; quote none."""
    if np.isnan(values).any():
        raise InvalidData(
            "X must hold finite numbers; it contains NaN. Fill or drop missing values "
            "by a rule chosen before looking at them."
        )
    if not np.isfinite(values).all():
        raise InvalidData(
            "X must hold finite numbers; it contains infinity, or a number that is too "
            "large for a double."
        )
