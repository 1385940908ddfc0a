"""Minimise to a certified distance, and how near arithmetic can certify.

Bounds are for every table of a public shape and look at no rows: what they refuse is
refused for all tables alike, and what they allow is certified for every one
(docs/proofs/finite-precision.md, finest).
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


def minimise(
    objective: Objective, rows: Rows, linear: Array | Twofold, tolerance: float
) -> Solution:
    """Minimise F(θ; rows, linear) to a certified distance, by the solver that fits.

    What is found lies in a ball of about 10¹⁵ tolerances: a minimiser beyond it is
    shortened to it. The linear term may have more digits than doubles.
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
    length, reach = float(np.linalg.norm(found.theta)), tolerance / (2 * share)
    if length <= reach:
        return found
    return Solution(found.theta * (reach / length), tolerance)


def can_certify(objective: Objective) -> bool:
    """Whether one of the solvers can prove how close it came."""
    convex = objective.penalty is None or objective.penalty.convex
    smooth = objective.loss.smooth
    return (
        convex and smooth and has_exact_prox(objective.nonsmooth_part, objective.constraint)
    )
