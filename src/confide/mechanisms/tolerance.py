"""How close a solver must come to the exact minimiser, from public facts alone."""

from confide.data.matrix.sums import MAX_ROWS
from confide.objectives import Objective
from confide.solvers import TableShape, finest_share, finest_tolerance

SHARE_OF_A_RECORD = 2.5e-11
LARGEST_GROWTH = 40.0
LONG = 20.0
"""Multiple of the usual length of coefficients that is not shortened."""


def solver_tolerance(objective: Objective, asked: float | None) -> float:
    """Return how close to the exact minimiser a solver must come.

    What was asked for is divided by a ridge below 1. Without that it is a share of how far
    one record can move the minimiser, so small that the noise which pays for it does not
    show in tables of `MAX_ROWS`. A ridge beyond the curvature of a few records moves
    coefficients by more than that noise does: the share grows with it, up to a limit. It
    is never less than can be certified, for coefficients twenty times as long as usual.
    """
    convexity = objective.strong_convexity
    if asked is not None:
        return asked * max(1.0, 1 / convexity)
    few = 4 * objective.smoothness
    share = SHARE_OF_A_RECORD * min(max(1.0, convexity / few), LARGEST_GROWTH)
    found = share * objective.lipschitz / min(convexity, few)
    return max(found, certain_tolerance(objective))


def least_tolerance(
    objective: Objective, shape: TableShape, largest_ridge: float = 0.0
) -> float:
    """Return a tolerance that is certified, and leaves room for long coefficients."""
    length = min(LONG * objective.typical_norm, objective.public.coef_norm)
    share = finest_share(objective, shape, largest_ridge)
    return max(finest_tolerance(objective, shape, largest_ridge), 2 * share * length)


def certain_tolerance(objective: Objective) -> float:
    """Return what is certified of every table, with room for the rounding of bounds."""
    shape = TableShape(MAX_ROWS, objective.dimension)
    return (1 + 1e-9) * least_tolerance(objective, shape)
