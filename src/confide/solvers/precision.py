"""How near to a minimiser arithmetic can certify, for every table of a public shape.

Nothing here looks at rows: what these bounds refuse is refused for all tables alike, and
what they allow is certified for every one (docs/proofs/finite-precision.md, finest).
"""

import math
from dataclasses import dataclass

from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import Rows
from confide.objectives import Objective
from confide.objectives.twofold_prox import has_twofold_prox, prox_error
from confide.solvers.problem import UNIT
from confide.solvers.twofold_gradient import Rounding

LONGEST_LINEAR = 1e9
"""How many times the longest gradient of one record a linear term may be, where
coefficients are confined (docs/proofs/finite-precision.md, publication)."""
SAFETY = 8
"""Rounding may use up an eighth of what a certificate leaves."""
FOREIGN_MAP = 1e-6
"""A proximal map in doubles leaves subgradients so long, in units of one record's."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """What is public of a table: how many rows and entries of a row there are at most."""

    rows: int
    entries: int
    coded: bool = True

    @classmethod
    def of(cls, rows: Rows, count: int = MAX_ROWS) -> "TableShape":
        """Return that of a table with a public bound on the number of its rows."""
        return cls(count, rows.sum_shape.max_entries, bool(rows.layout.groups))


def finest_tolerance(
    objective: Objective, shape: TableShape, largest_ridge: float = 0.0
) -> float:
    """Return a distance from the minimiser that is certified for every such table.

    Long coefficients aside: `finest_share` is about those. ``largest_ridge`` is the largest
    weight that a ridge may yet get.
    """
    cost = SAFETY * _cost(objective, shape, 0.0, largest_ridge)
    if not has_twofold_prox(objective.nonsmooth_part, objective.constraint):
        cost = max(cost, FOREIGN_MAP * objective.lipschitz)
    return cost / objective.strong_convexity


def finest_share(
    objective: Objective, shape: TableShape, largest_ridge: float = 0.0
) -> float:
    """Return which share of the length of coefficients is certified however long they are.

    Doubles cannot hold more than half a unit in the last place.
    """
    short, long = (_cost(objective, shape, size, largest_ridge) for size in (0.0, 1.0))
    return max(4 * UNIT, SAFETY * (long - short) / objective.strong_convexity)


def _cost(
    objective: Objective, shape: TableShape, length: float, largest_ridge: float
) -> float:
    """Bound what rounding costs a gradient where coefficients are so long."""
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
