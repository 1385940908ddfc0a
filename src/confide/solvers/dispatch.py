"""Choose the solver that fits an objective."""

import numpy as np

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.objectives import Objective, has_exact_prox
from confide.objectives.twofold import Twofold
from confide.solvers.composite import minimise_composite
from confide.solvers.precision import TableShape, finest_share
from confide.solvers.problem import Problem, Solution
from confide.solvers.smooth import minimise_smooth


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
