"""Bounds on rounding errors of sums of gradients, for any table.

The number of rows may be private: bounds are for as many as there may be at most
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
"""What adding up can move a sum by, in lengths of the longest gradient of a record."""
MARGIN_SHARE = 5e-4
"""What the rounding of margins can, where they are computed for many rows at once."""
SLACK = 2 * (SUM_SHARE + MARGIN_SHARE)
"""Lengths by which sums of neighbouring tables differ more than exact sums."""


def trusted_radius(objective: Objective, slope: float) -> float:
    """Return how long θ may be for margins that a product of matrices rounds.

    ``slope`` times a longest row is a longest gradient. The radius is 0 where the slope of
    the loss may jump, or where nothing public bounds it for every θ.
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
    """Whether θ is longer than a radius, or no vector of numbers at all."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not float(np.linalg.norm(theta)) <= radius
