"""Rows bounded entry by entry.

Where columns outnumber rows the length of a row says little: a fit on few columns needs
bounds on few entries. Entries beyond a public bound are clipped to it, or a row whose few
largest entries are too long together is scaled down; both look at one record alone.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide._types import Array
from confide.data.matrix.matrix import as_matrix
from confide.data.matrix.sums import root_above, shortening
from confide.data.rows.in_memory import InMemoryRows, shrink_long_rows
from confide.errors import InvalidParameter

LARGEST = 1e100
"""Bounds beyond it, or below its inverse, would overflow when squared."""


@dataclass(frozen=True, slots=True)
class EntryBounds:
    """Public bounds on the entries of a row.

    Parameters
    ----------
    most : float
        No entry exceeds this absolute value.
    few : int, default=1
        Number of entries that ``length`` refers to.
    length : float, optional
        The ``few`` largest entries of a row are together at most this long. By default only
        single entries are bounded.

    Raises
    ------
    InvalidParameter
        A bound is not positive, or too small or large for doubles.

    Examples
    --------
    Nine entries of at most 1 are at most 3 long together:

    >>> from confide.data import EntryBounds
    >>> EntryBounds(1.0).norm(9)
    3.0
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
        """Return a bound on the length of any given number of entries of a row."""
        alone = _repeated(self.most, count)
        if self.length is None:
            return alone
        return min(alone, _repeated(self.length, -(-count // self.few)))


def _repeated(length: float, times: int) -> float:
    return root_above(length * math.sqrt(times), times * Fraction(length) ** 2)


def bound_entries(
    features: Any, target: Array, bounds: EntryBounds, height: float
) -> InMemoryRows:
    """Bound every row by ``bounds``; the rows can then only be used by mechanisms.

    Entries that a sparse matrix stores twice are added up first, because bounds refer to
    sums.

    Parameters
    ----------
    features : Matrix, ndarray or sparse matrix
        Features. Values that are not finite are rejected.
    target : ndarray
        Target of every row.
    bounds : EntryBounds
        Public bounds.
    height : float
        Value of the constant column for the intercept; 0 for none.

    Returns
    -------
    InMemoryRows
        The bounded rows.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.data import EntryBounds, bound_entries
    >>> rows = bound_entries(np.array([[0.5, 9.0]]), np.ones(1), EntryBounds(1.0), 0.0)
    >>> rows.toarray().tolist()
    [[0.5, 1.0]]
    """
    matrix = as_matrix(features).without_duplicates()
    largest = matrix.largest_entry()
    if not np.isfinite(largest):
        matrix.refuse_infinite()
    if bounds.length is not None:
        matrix, _, long = shrink_long_rows(matrix, bounds.length)
        norms = matrix.largest_norms(bounds.few)
        factor = shortening(norms, bounds.length, bounds.few, long)
        return InMemoryRows(matrix, target, factor, height)
    if largest > bounds.most:
        matrix = matrix.clipped(bounds.most)
    return InMemoryRows(matrix, target, None, height)
