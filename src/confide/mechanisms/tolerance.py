"""Tolerance of solvers, chosen from public information alone."""

from confide.data.matrix.sums import MAX_ROWS
from confide.objectives import Objective
from confide.solvers import TableShape, finest_share, finest_tolerance

SHARE_OF_A_RECORD = 2.5e-11
LARGEST_GROWTH = 40.0
LONG = 20.0
"""Solutions must be certified for coefficients of norm up to this multiple of the typical
norm. Coefficients of larger norm may be scaled down."""


def solver_tolerance(objective: Objective, asked: float | None) -> float:
    """Return the largest permitted distance of the solver's result from the minimiser.

    A requested tolerance (``asked``) is divided by the ridge if the ridge is below 1. By
    default, the tolerance is a share of the largest effect that one record can have on the
    minimiser. The share is so small that the noise covering the tolerance is negligible
    even with `MAX_ROWS` rows. This share increases, up to a limit, if the ridge exceeds the
    curvature of the loss of a few records, because the ridge then moves the coefficients by
    more than this noise. The default can always be certified for coefficients of norm up to
    twenty times the typical one.
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
    """Return a tolerance that can be certified for every table of a given shape.

    The coefficients may have a norm of up to `LONG` times the typical one, or up to their
    public bound if that is smaller.
    """
    length = min(LONG * objective.typical_norm, objective.public.coef_norm)
    share = finest_share(objective, shape, largest_ridge)
    return max(finest_tolerance(objective, shape, largest_ridge), 2 * share * length)


def certain_tolerance(objective: Objective) -> float:
    """Return a tolerance that can be certified for every permitted table."""
    shape = TableShape(MAX_ROWS, objective.dimension)
    return (1 + 1e-9) * least_tolerance(objective, shape)
