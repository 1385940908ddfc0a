"""Bounds on rounding errors of sums of gradients, valid for every table.

The number of rows may be private, so the largest permitted number is assumed
(docs/proofs/gradient-mechanisms.md#computed-sums).
"""

import math

import numpy as np

from confide._types import Array
from confide.data.matrix.sums import MAX_ROWS
from confide.errors import MissingPublicBound
from confide.objectives import Objective, PublicBounds, curvature_bound

UNIT = 2.0**-53
SUM_SHARE = 1e-3
"""Bound on the rounding error of a sum of gradients, in units of the bound on their
norms."""
MARGIN_SHARE = 5e-4
"""Bound on the additional error if margins are computed for many rows at once, in the same
unit."""
SLACK = 2 * (SUM_SHARE + MARGIN_SHARE)
"""Bound on how much rounding adds to the distance between the sums of neighbouring tables,
in units of the bound on gradient norms."""


def trusted_radius(objective: Objective, slope: float) -> float:
    """Return the largest ‖θ‖ at which matrix products compute margins precisely enough.

    For larger ‖θ‖, margins must be computed row by row. ``slope`` is the bound on gradient
    norms divided by the bound on row norms. The radius is 0 if the slope of the loss is
    discontinuous, or has no public bound that holds for every θ.
    """
    anywhere = PublicBounds(objective.row_norm, math.inf, objective.target_bound)
    try:
        curvature = curvature_bound(objective.loss, anywhere)
        steepest = objective.loss.slope_bound(anywhere)
    except MissingPublicBound:
        return 0.0
    entries = objective.dimension // objective.responses
    allowed = MARGIN_SHARE * slope / (MAX_ROWS * UNIT)
    allowed -= 8 * (steepest + 2 * (objective.target_bound or 0.0))
    return max(0.0, allowed / (1.01 * (entries + 4) * curvature * objective.row_norm))


def is_long(theta: Array, radius: float) -> bool:
    """Whether ‖θ‖ exceeds a radius, or θ contains NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not float(np.linalg.norm(theta)) <= radius
