"""Solvers: they know nothing of privacy and certify how close they came."""

from confide._types import Array
from confide.data.rows import Rows
from confide.objectives import Objective
from confide.solvers.composite import minimise_composite
from confide.solvers.hinge import minimise_hinge
from confide.solvers.smooth import minimise_smooth
from confide.solvers.solution import Solution
from confide.solvers.sums import finest_tolerance

__all__ = ["Solution", "finest_tolerance", "minimise"]


def minimise(objective: Objective, rows: Rows, linear: Array, tolerance: float) -> Solution:
    """Minimise F(θ; rows, linear) to a certified distance, by the solver that fits."""
    if not objective.loss.smooth:
        return minimise_hinge(objective, rows, linear, tolerance)
    if objective.kink is None and objective.constraint is None:
        return minimise_smooth(objective, rows, linear, tolerance)
    return minimise_composite(objective, rows, linear, tolerance)
