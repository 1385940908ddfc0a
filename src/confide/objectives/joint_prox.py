"""Exact proximal maps of a penalty and a constraint taken together.

A penalty's map followed by the projection is exact for many pairs but not for all; the
pairs that need more are solved here by a one-dimensional root. Pairs with no exact map
are refused: the solver's certificate rests on exactness.
"""

from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq

from confide._types import Array
from confide.objectives.constraints import Box, Constraint, L1Ball, L2Ball, Nonnegative
from confide.objectives.penalties import L1, GroupL2, Nuclear, Penalty, soft

Kink: TypeAlias = Penalty | None


def has_exact_prox(kink: Kink, constraint: Constraint | None) -> bool:
    """Whether `prox` is exact for this pair."""
    if kink is None or constraint is None:
        return True
    if isinstance(kink, Nuclear):
        return isinstance(constraint, L2Ball)
    return isinstance(kink, L1 | GroupL2) and isinstance(
        constraint, L1Ball | L2Ball | Box | Nonnegative
    )


def prox(kink: Kink, constraint: Constraint | None, theta: Array, step: float) -> Array:
    """Return the minimiser of step·r(u) + ½‖u − θ‖² over the constraint."""
    if kink is None:
        return theta if constraint is None else constraint.project(theta)
    if constraint is None:
        return kink.prox(theta, step)
    if isinstance(kink, GroupL2):
        if isinstance(constraint, Nonnegative):
            return kink.prox(constraint.project(theta), step)
        if isinstance(constraint, Box):
            return _group_in_box(kink, constraint, theta, step)
        if isinstance(constraint, L1Ball):
            return _group_in_l1_ball(kink, constraint, theta, step)
    return constraint.project(kink.prox(theta, step))


def _group_in_box(kink: GroupL2, box: Box, theta: Array, step: float) -> Array:
    """Solve u = clip(θ_g·‖u‖/(‖u‖ + t)) for the length of u, group by group."""
    out = box.project(theta)
    for group, weight in kink.levels():
        level, point = step * weight, theta[group]
        if float(np.linalg.norm(point)) <= level:
            out[group] = 0.0
            continue

        def excess(length: float, point: Array = point, level: float = level) -> float:
            inside = box.project(point * (length / (length + level)))
            return float(np.linalg.norm(inside)) / length - 1

        longest = float(np.linalg.norm(out[group]))
        shortest = longest * 1e-12
        if longest == 0 or excess(shortest) <= 0:
            out[group] = 0.0
            continue
        length = brentq(excess, shortest, longest, xtol=1e-300, rtol=1e-15)
        out[group] = box.project(point * (length / (length + level)))
    return out


def _group_in_l1_ball(kink: GroupL2, ball: L1Ball, theta: Array, step: float) -> Array:
    """Soft-threshold by the level that, after group shrinkage, meets the ball."""

    def shrunk(level: float) -> Array:
        return kink.prox(soft(theta, level), step)

    def excess(level: float) -> float:
        return float(np.abs(shrunk(level)).sum()) - ball.size

    if excess(0.0) <= 0:
        return shrunk(0.0)
    highest = float(np.abs(theta).max())
    return shrunk(float(brentq(excess, 0.0, highest, xtol=1e-300, rtol=1e-15)))
