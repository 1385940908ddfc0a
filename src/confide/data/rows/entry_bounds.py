"""Rows with bounded entries.

If there are more columns than rows, a bound on the norm of whole rows is wasteful, because
a fit that uses few columns needs bounds on few entries only. Either every entry is clipped
to a public bound, or every row is scaled down until its few largest entries have a bounded
norm. Both operations treat each record separately.
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
"""Largest allowed bound, whose square does not overflow; the smallest is 1/LARGEST."""


@dataclass(frozen=True, slots=True)
class EntryBounds:
    """Public bounds on the entries of a row.

    Parameters
    ----------
    most : float
        Bound on the absolute value of every entry.
    few : int, default=1
        Number of entries to which ``length`` refers.
    length : float, optional
        Bound on the Euclidean norm of the ``few`` largest entries of a row. By default,
        only individual entries are bounded.

    Raises
    ------
    InvalidParameter
        A bound is outside [1e-100, 1e100], or ``few`` is less than 1.

    Examples
    --------
    Nine entries of at most 1 have a Euclidean norm of at most 3:

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
            raise InvalidParameter("few", "at least 1", self.few)

    @classmethod
    def scaled(cls, few: int, each: float) -> "EntryBounds":
        """Return bounds under which any ``few`` entries have norm at most each·√few."""
        reach = each * math.sqrt(few)
        return cls(reach, few, reach)

    def norm(self, count: int) -> float:
        """Return a bound on the Euclidean norm of any ``count`` entries of a row."""
        alone = _repeated(self.most, count)
        if self.length is None:
            return alone
        return min(alone, _repeated(self.length, -(-count // self.few)))


def _repeated(length: float, times: int) -> float:
    return root_above(length * math.sqrt(times), times * Fraction(length) ** 2)


def bound_entries(
    features: Any, target: Array, bounds: EntryBounds, height: float
) -> InMemoryRows:
    """Bound the entries of every row, and return private rows for use by mechanisms.

    Duplicate entries of a sparse matrix are summed first.

    Parameters
    ----------
    features : Matrix, ndarray or sparse matrix
        Features. Values that are not finite are rejected.
    target : ndarray
        Target of every row.
    bounds : EntryBounds
        Public bounds on the entries of a row.
    height : float
        Value of the intercept column; 0 if there is no intercept.

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
