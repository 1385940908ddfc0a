"""Minimise an objective to a certified distance, and bound the smallest such distance.

The bounds depend only on the public shape of a table, not on its rows. A tolerance below
the bound is rejected for all tables of this shape, and any other tolerance can be certified
for each of them (docs/proofs/finite-precision.md, finest).
"""

import math
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.objectives import Objective, has_exact_prox
from confide.objectives.proximal import has_twofold_prox, prox_error
from confide.objectives.twofold import Twofold
from confide.solvers.composite import minimise_composite
from confide.solvers.problem import UNIT, Problem, Solution
from confide.solvers.smooth import minimise_smooth
from confide.solvers.twofold_gradient import Rounding

LONGEST_LINEAR = 1e9
"""The largest norm of a linear term, relative to the largest gradient norm of one record,
if the coefficients are constrained (docs/proofs/finite-precision.md, publication)."""
SAFETY = 8
"""The ratio of the smallest certifiable distance to the bound on its rounding error."""
FOREIGN_MAP = 1e-6
"""The assumed error of a gradient if the proximal map is computed in doubles, relative to
the largest gradient norm of one record."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """The public facts about a table on which the precision of a solver depends.

    Parameters
    ----------
    rows : int
        The largest number of rows.
    entries : int
        The largest number of entries of a row.
    coded : bool, default True
        Whether categorical columns are stored as codes.

    Examples
    --------
    With a hundred times as many rows, the certifiable distance is larger:

    >>> from confide.objectives import Logistic, Objective
    >>> from confide.solvers import TableShape, finest_tolerance
    >>> objective = Objective(Logistic(), dimension=5, l2=10.0)
    >>> small, large = (
    ...     finest_tolerance(objective, TableShape(rows, entries=5))
    ...     for rows in (10_000, 1_000_000)
    ... )
    >>> small < large < 1e-9
    True
    """

    rows: int
    entries: int
    coded: bool = True

    @classmethod
    def of(cls, rows: Rows, count: int = MAX_ROWS) -> "TableShape":
        """Return the shape of a table with a public bound on its number of rows.

        Parameters
        ----------
        rows : Rows
            The table; only its layout is used.
        count : int, default MAX_ROWS
            The public bound on the number of rows; by default, a billion.

        Returns
        -------
        TableShape
            The shape.
        """
        return cls(count, rows.sum_shape.max_entries, bool(rows.layout.groups))


def finest_tolerance(
    objective: Objective, shape: TableShape, largest_ridge: float = 0.0
) -> float:
    """Return a distance to the minimiser that can be certified for all tables of a shape.

    For coefficients with a very large norm, `finest_share` gives the distance.

    Parameters
    ----------
    objective : Objective
        The objective, which must be strongly convex.
    shape : TableShape
        The public shape of the table.
    largest_ridge : float, default 0.0
        The largest ridge that may be added later.

    Returns
    -------
    float
        The distance, in units of the coefficients.

    Examples
    --------
    A stronger ridge makes the minimiser easier to find:

    >>> from confide.objectives import Logistic, Objective
    >>> from confide.solvers import TableShape, finest_tolerance
    >>> shape = TableShape(rows=10_000, entries=5)
    >>> weak, strong = (
    ...     finest_tolerance(Objective(Logistic(), dimension=5, l2=l2), shape)
    ...     for l2 in (1.0, 100.0)
    ... )
    >>> strong < weak
    True
    """
    cost = SAFETY * _cost(objective, shape, 0.0, largest_ridge)
    if not has_twofold_prox(objective.nonsmooth_part, objective.constraint):
        cost = max(cost, FOREIGN_MAP * objective.lipschitz)
    return cost / objective.strong_convexity


def finest_share(
    objective: Objective, shape: TableShape, largest_ridge: float = 0.0
) -> float:
    """Return the certifiable distance relative to the norm of the coefficients.

    This bound applies to coefficients with a very large norm, for which the rounding errors
    of doubles exceed every fixed distance.

    Parameters
    ----------
    objective : Objective
        The objective, which must be strongly convex.
    shape : TableShape
        The public shape of the table.
    largest_ridge : float, default 0.0
        The largest ridge that may be added later.

    Returns
    -------
    float
        The relative distance, at least 2⁻⁵¹.

    Examples
    --------
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.solvers import TableShape, finest_share
    >>> objective = Objective(Logistic(), dimension=5, l2=10.0)
    >>> share = finest_share(objective, TableShape(rows=1000, entries=5))
    >>> 2.0**-51 <= share < 1e-9
    True
    """
    short, long = (_cost(objective, shape, size, largest_ridge) for size in (0.0, 1.0))
    return max(4 * UNIT, SAFETY * (long - short) / objective.strong_convexity)


def _cost(
    objective: Objective, shape: TableShape, length: float, largest_ridge: float
) -> float:
    """Bound the rounding error of a gradient at coefficients with norm ``length``."""
    ridge = max(largest_ridge, float(objective.ridge.max()))
    linear = LONGEST_LINEAR * objective.lipschitz
    rounding = Rounding.of(objective, shape.entries, coded=shape.coded)
    error = rounding.of_gradient(shape.rows, length, linear, ridge)
    nonsmooth, constraint = objective.nonsmooth_part, objective.constraint
    plain = nonsmooth is None and constraint is None
    if plain or not has_twofold_prox(nonsmooth, constraint):
        return error
    smooth = shape.rows * objective.smoothness + ridge
    pull = shape.rows * objective.lipschitz + linear
    spread = 3 + math.sqrt(0.5 * smooth / objective.strong_convexity)
    astray = prox_error(nonsmooth, constraint, objective.dimension)
    return error + astray * (4 * smooth * length + spread * (pull + ridge * length))


def minimise(
    objective: Objective, rows: Rows, linear: Array | Twofold, tolerance: float
) -> Solution:
    """Minimise an objective over rows to a certified distance, with a suitable solver.

    The norm of the result is at most about 10¹⁵ times the tolerance; a minimiser with a
    larger norm is rescaled to this bound. The linear term may have double-double precision.

    Parameters
    ----------
    objective : Objective
        The objective: loss, ridge, penalty and constraint.
    rows : Rows
        The records, as from `confide.data.bound_rows`.
    linear : array
        The coefficients of an added linear term, such as noise; zeros if there is none.
    tolerance : float
        The largest accepted distance to the exact minimiser.

    Returns
    -------
    Solution
        The coefficients, and a bound on their distance to the minimiser.

    Raises
    ------
    InvalidParameter
        If no solver can certify a solution of this objective; see `can_certify`.

    Examples
    --------
    Two records with x = y = 1 and a ridge of 2 have the ridge estimate 2/(2 + 2):

    >>> import numpy as np
    >>> from confide.data import bound_rows
    >>> from confide.objectives import Clipped, Objective, Squared
    >>> from confide.solvers import minimise
    >>> rows = bound_rows(np.ones((2, 1)), np.ones(2), row_norm=1.0, height=0.0)
    >>> loss = Clipped(Squared(), bound=2.0)
    >>> objective = Objective(loss, dimension=1, l2=2.0, target_bound=1.0)
    >>> found = minimise(objective, rows, np.zeros(1), tolerance=1e-9)
    >>> round(float(found.theta[0]), 6)
    0.5
    """
    if not can_certify(objective):
        raise InvalidParameter(
            "objective",
            "convex, with a smooth loss and with an exact proximal map of penalty and "
            "constraint",
            objective,
        )
    term = Twofold.of(linear)
    share = finest_share(objective, TableShape.of(rows))
    problem = Problem(
        objective, rows, term.high, objective.ridge, rest=term.low, share=share
    )
    plain = objective.nonsmooth_part is None and objective.constraint is None
    found = (minimise_smooth if plain else minimise_composite)(problem, tolerance)
    length = float(np.linalg.norm(found.theta))
    reach = longest_certified(objective, rows, tolerance)
    if length <= reach:
        return found
    return Solution(found.theta * (reach / length), tolerance)


def longest_certified(objective: Objective, rows: Rows, tolerance: float) -> float:
    """Return the norm to which `minimise` rescales solutions with a larger norm.

    Parameters
    ----------
    objective : Objective
        The objective.
    rows : Rows
        The records; only their layout is used.
    tolerance : float
        The largest accepted distance to the exact minimiser.

    Returns
    -------
    float
        The norm, which is public.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.data import bound_rows
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.solvers import longest_certified
    >>> rows = bound_rows(np.ones((2, 1)), np.ones(2), row_norm=1.0, height=0.0)
    >>> longest_certified(Objective(Logistic(), dimension=1, l2=2.0), rows, 1e-9) > 1000
    True
    """
    return tolerance / (2 * finest_share(objective, TableShape.of(rows)))


def can_certify(objective: Objective) -> bool:
    """Return whether a solver can certify the distance of its solution to the minimiser.

    Parameters
    ----------
    objective : Objective
        The objective.

    Returns
    -------
    bool
        True for a convex objective with a smooth loss, and with an exact proximal map of
        its penalty and constraint.

    Examples
    --------
    The hinge loss has a kink, so only its smooth versions are certified:

    >>> from confide.objectives import Hinge, HuberizedHinge, Objective
    >>> from confide.solvers import can_certify
    >>> [can_certify(Objective(loss(), dimension=2)) for loss in (Hinge, HuberizedHinge)]
    [False, True]
    """
    convex = objective.penalty is None or objective.penalty.convex
    smooth = objective.loss.smooth
    return (
        convex and smooth and has_exact_prox(objective.nonsmooth_part, objective.constraint)
    )
