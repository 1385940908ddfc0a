"""Regularised least squares in a ball, in the units of Wu and others (2016).

They minimise the *mean* of (⟨w,x⟩ − y)² plus ½λ‖w‖² over ‖w‖ <= R, with the number n of
rows public. On the scale of confide, half of each square and a sum, that is a ridge of
Λ = nλ/2; for other losses, which they do not double, Λ = nλ.
"""

import math
from dataclasses import replace
from typing import Literal

from confide.errors import InvalidParameter
from confide.objectives import L2Ball, Objective, Squared, is_squared
from confide.privacy import Budget, Pure

Constants = Literal["tight", "published"]


def check_setting(rows: int, radius: float, penalty: float | None) -> None:
    """Refuse what is not a number of rows, a radius and a penalty."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InvalidParameter(
            "rows", "the public number of rows", rows, "Pass rows=3000, for example."
        )
    if not 0 < radius < math.inf:
        raise InvalidParameter("radius", "positive", radius)
    if penalty is not None and not 0 < penalty < math.inf:
        raise InvalidParameter("penalty", "positive", penalty)


def check_pure(budget: Budget) -> Pure:
    """Refuse budgets that the paper does not treat."""
    if isinstance(budget, Pure):
        return budget
    raise InvalidParameter(
        "budget", "Pure", budget, "For other budgets use mechanism='output' or 'objective'."
    )


def data_independent_penalty(dimension: int, rows: int, epsilon: float) -> float:
    """Return λ = √(d/(nε)), which looks at no data."""
    return math.sqrt(dimension / (rows * epsilon))


def in_a_ball(
    objective: Objective, rows: int, radius: float, penalty: float | None, epsilon: float
) -> Objective:
    """Return the problem of the paper: whole squares, a ball, and nλ as the ridge."""
    squares = is_squared(objective.loss)
    ridge = objective.l2
    if ridge is None:
        chosen = penalty
        if chosen is None:
            chosen = data_independent_penalty(objective.dimension, rows, epsilon)
        ridge = rows * chosen / (2 if squares else 1)
    loss = Squared() if squares else objective.loss
    return replace(objective, loss=loss, constraint=L2Ball(radius), l2=ridge)
