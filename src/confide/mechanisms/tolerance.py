"""Tolerance of solvers, from public information alone."""

from confide.data.matrix.sums import MAX_ROWS
from confide.objectives import Objective
from confide.solvers import TableShape, finest_share, finest_tolerance

SHARE_OF_A_RECORD = 2.5e-11
LARGEST_GROWTH = 40.0
LONG = 20.0
"""Multiple of the typical length of coefficients up to which they are not shortened."""


def solver_tolerance(objective: Objective, asked: float | None) -> float:
    """Return the largest permitted distance of a solver from the exact minimiser.

    A requested tolerance is divided by the ridge if that is below 1. Without a request the
    tolerance is a share of the largest effect of one record on the minimiser. The share is
    so small that the noise covering the tolerance is negligible even with `MAX_ROWS` rows.
    It grows, up to a limit, with a ridge above the curvature of a few records, because such
    a ridge moves the coefficients by more than this noise. The tolerance can always be
    certified for coefficients up to twenty times their typical length.
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
    """Return a tolerance that can be certified even for long coefficients."""
    length = min(LONG * objective.typical_norm, objective.public.coef_norm)
    share = finest_share(objective, shape, largest_ridge)
    return max(finest_tolerance(objective, shape, largest_ridge), 2 * share * length)


def certain_tolerance(objective: Objective) -> float:
    """Return a tolerance certified for every table, allowing for rounding of the bounds."""
    shape = TableShape(MAX_ROWS, objective.dimension)
    return (1 + 1e-9) * least_tolerance(objective, shape)
