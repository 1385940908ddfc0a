"""How long a vector of coefficients is as a rule: a public guess for automatic ridges.

It affects accuracy, never privacy.
"""

import math

import numpy as np

from confide._types import Array
from confide.objectives.clipped_loss import is_squared
from confide.objectives.losses import Loss

LONGEST_GUESS = 20.0
"""A predictor of log-odds or of a logarithm may vary by so much over unit rows."""
FITTED = 0.8
"""A predictor of the target itself varies by little less than the target does."""
MARGIN = 2.0
"""Noise of so many log-odds still leaves most predictions on their side."""
DOUBLING = math.log(2)
"""Odds double from the middle of a column to its end, or from one level to another."""


def guess_coef_norm(
    loss: Loss, dimension: int, row_norm: float, target_bound: float | None
) -> float:
    """Guess ‖θ‖ for rows of which only the length is known."""
    if is_squared(loss):
        return FITTED * (target_bound or 1.0) * math.sqrt(dimension) / row_norm
    return LONGEST_GUESS / row_norm


def guess_coef_norm_of_columns(
    loss: Loss, heights: Array, columns: int, target_bound: float | None
) -> float:
    """Guess ‖θ‖ for the columns of a schema, whose features have these heights."""
    reach = float(np.linalg.norm(1 / heights))
    if is_squared(loss):
        return FITTED * (target_bound or 1.0) * reach / math.sqrt(columns)
    return max(LONGEST_GUESS, DOUBLING * reach)


def typical_margin(loss: Loss, target_bound: float | None) -> float:
    """Return how far noise may move a predictor, in its own units."""
    return MARGIN * ((target_bound or 1.0) if is_squared(loss) else 1.0)
