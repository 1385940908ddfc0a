"""Bounds on rounding errors of sums of gradients, for any table.

The number of rows may be private, so the bounds are for the largest permitted number
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
"""Bound on the error of adding up gradients, in units of the longest gradient."""
MARGIN_SHARE = 5e-4
"""The same for rounding margins that are computed for many rows at once."""
SLACK = 2 * (SUM_SHARE + MARGIN_SHARE)
"""Additional distance between sums of neighbours because of rounding, in clips."""


def trusted_radius(objective: Objective, slope: float) -> float:
    """Return the largest ‖θ‖ at which matrix products compute margins precisely enough.

    ``slope`` times the longest row is the longest gradient. The radius is 0 if the slope of
    the loss is discontinuous, or if no public bound on it holds for every θ.
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
    """Whether θ is longer than a radius, or contains NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not float(np.linalg.norm(theta)) <= radius
