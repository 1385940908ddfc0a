"""Choose the solver that fits an objective."""

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.objectives import Objective, has_exact_prox, is_hinge
from confide.solvers.composite import minimise_composite
from confide.solvers.hinge import minimise_hinge
from confide.solvers.problem import Solution
from confide.solvers.smooth import minimise_smooth
from confide.solvers.split_gradient import finest_length


def minimise(objective: Objective, rows: Rows, linear: Array, tolerance: float) -> Solution:
    """Minimise F(θ; rows, linear) to a certified distance, by the solver that fits."""
    if not can_certify(objective):
        raise InvalidParameter(
            "objective",
            "convex, with a smooth loss (or the plain hinge and nothing but a ridge) and "
            "with an exact proximal map of penalty and constraint",
            objective,
        )
    if not objective.loss.smooth:
        return minimise_hinge(objective, rows, linear, tolerance)
    if objective.nonsmooth_part is None and objective.constraint is None:
        return minimise_smooth(objective, rows, linear, tolerance)
    return minimise_composite(objective, rows, linear, tolerance)


def can_certify(objective: Objective) -> bool:
    """Whether one of the solvers can prove how close it came."""
    if objective.penalty is not None and not objective.penalty.convex:
        return False
    if not objective.loss.smooth:
        plain = objective.nonsmooth_part is None and objective.constraint is None
        return plain and is_hinge(objective.loss)
    return has_exact_prox(objective.nonsmooth_part, objective.constraint)


def finest_tolerance(objective: Objective, rows: Rows) -> float:
    """Return a distance from the minimiser that can be certified for this many rows."""
    return finest_length(objective, rows) / objective.strong_convexity
