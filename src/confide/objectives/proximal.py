"""Proximal maps of a penalty and a constraint together.

For many pairs of a penalty and a constraint, the joint map is the proximal map of the
penalty followed by the projection. For some other pairs, it is computed by finding the root
of a function of one variable. Pairs without an exact map are rejected, because the solver's
certificate requires one. All maps are implemented in double precision and in double-double
precision: a certificate multiplies the rounding error of a map by the curvature of all
rows, and in doubles the result would be too large (docs/proofs/finite-precision.md,
twofold-prox).
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import brentq

from confide._types import Array
from confide.objectives.constraints import (
    Box,
    Constraint,
    L1Ball,
    L2Ball,
    Nonnegative,
)
from confide.objectives.penalties import L1, GroupL2, Nuclear, soft
from confide.objectives.penalty import Penalty
from confide.objectives.twofold import TWOFOLD_UNIT, Twofold

MOST_ROUNDS = 100
DOUBLE_UNIT = 2.0**-53
NonsmoothPart: TypeAlias = Penalty | None


def has_exact_prox(nonsmooth: NonsmoothPart, constraint: Constraint | None) -> bool:
    """Return whether `prox` is exact for a penalty and a constraint together.

    Parameters
    ----------
    nonsmooth : Penalty or None
        The penalty without its quadratic part.
    constraint : Constraint or None
        The constraint.

    Returns
    -------
    bool
        True if the map is exact.

    Examples
    --------
    >>> from confide.objectives import Box, L1, Nuclear, has_exact_prox
    >>> has_exact_prox(L1(1.0), Box()), has_exact_prox(Nuclear(1.0, (2, 2)), Box())
    (True, False)
    """
    if nonsmooth is None or constraint is None:
        return True
    if isinstance(nonsmooth, Nuclear):
        return isinstance(constraint, L2Ball)
    return isinstance(nonsmooth, L1 | GroupL2) and isinstance(
        constraint, L1Ball | L2Ball | Box | Nonnegative
    )


def prox(
    nonsmooth: NonsmoothPart, constraint: Constraint | None, theta: Array, step: Any
) -> Array:
    """Return the minimiser of step·r(u) + ½‖u − θ‖² over the constraint set.

    Parameters
    ----------
    nonsmooth : Penalty or None
        The penalty without its quadratic part.
    constraint : Constraint or None
        The constraint.
    theta : array
        Coefficients.
    step : float or array
        The step size. An array has one step for each coefficient, and is allowed if penalty
        and constraint are separable.

    Returns
    -------
    array
        The minimiser u.

    Examples
    --------
    The lasso subtracts 1, then the box clips at 1:

    >>> import numpy as np
    >>> from confide.objectives import Box, L1, prox
    >>> prox(L1(1.0), Box(-1.0, 1.0), np.array([3.0, 1.5]), step=1.0)
    array([1. , 0.5])
    """
    if nonsmooth is None:
        return theta if constraint is None else constraint.project(theta)
    if constraint is None:
        return nonsmooth.prox(theta, step)
    if isinstance(nonsmooth, GroupL2):
        if isinstance(constraint, Nonnegative):
            return nonsmooth.prox(constraint.project(theta), step)
        if isinstance(constraint, Box):
            return _group_in_box(nonsmooth, constraint, theta, step)
        if isinstance(constraint, L1Ball):
            return _group_in_l1_ball(nonsmooth, constraint, theta, step)
    return constraint.project(nonsmooth.prox(theta, step))


def _group_in_box(nonsmooth: GroupL2, box: Box, theta: Array, step: float) -> Array:
    """Return the joint map of group lasso and box, by solving for ‖u‖ in every group.

    The equation is u = clip(θ_g·‖u‖/(‖u‖ + t)) with t = step·weight.
    """
    out = box.project(theta)
    for group, weight in nonsmooth.levels():
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


def _group_in_l1_ball(nonsmooth: GroupL2, ball: L1Ball, theta: Array, step: float) -> Array:
    """Soft-threshold at the lowest level whose result lies in the ball after shrinkage."""

    def shrunk(level: float) -> Array:
        return nonsmooth.prox(soft(theta, level), step)

    def excess(level: float) -> float:
        return float(np.abs(shrunk(level)).sum()) - ball.size

    if excess(0.0) <= 0:
        return shrunk(0.0)
    highest = float(np.abs(theta).max())
    return shrunk(float(brentq(excess, 0.0, highest, xtol=1e-300, rtol=1e-15)))


def twofold_prox(
    nonsmooth: NonsmoothPart,
    constraint: Constraint | None,
    point: Twofold,
    sharpness: float,
) -> Twofold:
    """Return the minimiser of r(u) + ½·sharpness·‖u − point‖² over the constraint set."""
    if isinstance(nonsmooth, GroupL2) and isinstance(constraint, Nonnegative):
        return _shrunk(nonsmooth, _projected(constraint, point), sharpness)
    if isinstance(nonsmooth, GroupL2) and isinstance(constraint, Box):
        return _twofold_group_in_box(nonsmooth, constraint, point, sharpness)
    if isinstance(nonsmooth, GroupL2) and isinstance(constraint, L1Ball):
        return _twofold_group_in_l1_ball(nonsmooth, constraint, point, sharpness)
    return _projected(constraint, _shrunk(nonsmooth, point, sharpness))


def has_twofold_prox(nonsmooth: NonsmoothPart, constraint: Constraint | None) -> bool:
    """Return whether `twofold_prox` has double-double precision for these arguments.

    For penalties and constraints that other packages define, it is computed in doubles.
    """
    return isinstance(nonsmooth, L1 | GroupL2 | Nuclear | None) and isinstance(
        constraint, Box | Nonnegative | L2Ball | L1Ball | None
    )


def prox_error(nonsmooth: NonsmoothPart, constraint: Constraint | None, size: int) -> float:
    """Return a bound on the error of `twofold_prox`, relative to the norm of its input."""
    unit = 64 * TWOFOLD_UNIT if has_twofold_prox(nonsmooth, constraint) else DOUBLE_UNIT
    return (size + 16) * unit


def prox_jacobian(
    nonsmooth: NonsmoothPart, constraint: Constraint | None, point: Array, sharpness: float
) -> Array | None:
    """Return the Jacobian of `twofold_prox` (one-sided at kinks), or None if unknown."""
    if isinstance(nonsmooth, Nuclear):
        return None
    if isinstance(nonsmooth, GroupL2) and isinstance(constraint, Box | L1Ball):
        return None
    if isinstance(nonsmooth, GroupL2) and isinstance(constraint, Nonnegative):
        inner = _projection_jacobian(constraint, point)
        return _shrinkage_jacobian(nonsmooth, constraint.project(point), sharpness) @ inner
    inner = _shrinkage_jacobian(nonsmooth, point, sharpness)
    near = point if nonsmooth is None else nonsmooth.prox(point, 1 / sharpness)
    return _projection_jacobian(constraint, near) @ inner


def _shrunk(nonsmooth: NonsmoothPart, point: Twofold, sharpness: float) -> Twofold:
    if nonsmooth is None:
        return point
    if isinstance(nonsmooth, L1):
        return _soft(point, Twofold.of(nonsmooth.weight) / sharpness)
    if isinstance(nonsmooth, GroupL2):
        return _grouped(nonsmooth, point, sharpness)
    if isinstance(nonsmooth, Nuclear):
        return _low_rank(nonsmooth, point, sharpness)
    return Twofold.of(nonsmooth.prox(point.high, 1 / sharpness))


def _projected(constraint: Constraint | None, point: Twofold) -> Twofold:
    if constraint is None:
        return point
    if isinstance(constraint, Box):
        return point.clip(constraint.lower, constraint.upper)
    if isinstance(constraint, Nonnegative):
        return point.where(point.high > 0, 0.0)
    if isinstance(constraint, L2Ball):
        length = point.norm()
        outside = (length - constraint.size).high > 0
        return point * (Twofold.of(constraint.size) / length) if outside else point
    if isinstance(constraint, L1Ball):
        return _in_l1_ball(constraint, point)
    return Twofold.of(constraint.project(point.high))


def _soft(point: Twofold, level: Twofold) -> Twofold:
    sign = np.where(point.high < 0, -1.0, 1.0)
    left = abs(point) - level
    return left.where(left.high > 0, 0.0).scaled(sign)


def _in_l1_ball(ball: L1Ball, point: Twofold) -> Twofold:
    """Project onto the ball, raising the soft threshold until the point is inside."""
    lengths = abs(point)
    if (lengths.total() - ball.size).high <= 0:
        return point
    above = lengths.high > 0
    for _ in range(point.size + 1):
        level = (lengths[above].total() - ball.size) / float(above.sum())
        remaining = above & ((lengths - level).high > 0)
        if remaining.sum() == above.sum() or not remaining.any():
            break
        above = remaining
    return _soft(point, level)


def _grouped(nonsmooth: GroupL2, point: Twofold, sharpness: float) -> Twofold:
    high, low = point.high.copy(), point.low.copy()
    for group, weight in nonsmooth.levels():
        found = _shortened(point[group], Twofold.of(weight) / sharpness)
        high[group], low[group] = found.high, found.low
    return Twofold(high, low)


def _shortened(point: Twofold, level: Twofold) -> Twofold:
    length = point.norm()
    if (length - level).high <= 0:
        return Twofold.of(np.zeros(point.size))
    return point * ((length - level) / length)


def _twofold_group_in_box(
    nonsmooth: GroupL2, box: Box, point: Twofold, sharpness: float
) -> Twofold:
    found = _projected(box, point)
    rough = prox(nonsmooth, box, point.high, 1 / sharpness)
    high, low = found.high.copy(), found.low.copy()
    for group, weight in nonsmooth.levels():
        level, inside = Twofold.of(weight) / sharpness, point[group]

        def moved(
            length: Twofold, inside: Twofold = inside, level: Twofold = level
        ) -> Twofold:
            return _projected(box, inside * (length / (length + level)))

        def excess(length: Twofold, moved: Callable[[Twofold], Twofold] = moved) -> Twofold:
            return moved(length).norm() / length - 1.0

        start = float(np.linalg.norm(rough[group]))
        here = moved(_root(excess, start)) if start else Twofold.of(np.zeros(len(group)))
        high[group], low[group] = here.high, here.low
    return Twofold(high, low)


def _twofold_group_in_l1_ball(
    nonsmooth: GroupL2, ball: L1Ball, point: Twofold, sharpness: float
) -> Twofold:
    def shrunk(level: Twofold) -> Twofold:
        return _grouped(nonsmooth, _soft(point, level), sharpness)

    def excess(level: Twofold) -> Twofold:
        return abs(shrunk(level)).total() - ball.size

    free = Twofold.of(0.0)
    if excess(free).high <= 0:
        return shrunk(free)
    found = prox(nonsmooth, ball, point.high, 1 / sharpness)
    largest = int(np.abs(found).argmax())
    gone = float(np.abs(point.high[largest]))
    return shrunk(_bisected(excess, 0.0, gone))


def _root(excess: Callable[[Twofold], Twofold], start: float) -> Twofold:
    """Refine a root that was found in doubles, using the secant method."""
    before, here = Twofold.of(start * (1 - 1e-9)), Twofold.of(start)
    behind, now = excess(before), excess(here)
    for _ in range(8):
        change = now - behind
        if now.high == 0 or change.high == 0:
            break
        before, here = here, here - now * ((here - before) / change)
        behind, now = now, excess(here)
    return here


def _bisected(excess: Callable[[Twofold], Twofold], low: float, high: float) -> Twofold:
    """Return the root of a decreasing function, by bisection and then secant steps."""
    for _ in range(MOST_ROUNDS):
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            break
        low, high = (middle, high) if excess(Twofold.of(middle)).high > 0 else (low, middle)
    return _root(excess, high)


def _low_rank(nonsmooth: Nuclear, point: Twofold, sharpness: float) -> Twofold:
    """Soft-threshold the singular values of a matrix u, by computing u·h(uᵀu).

    Here h(s) = (1 − level/√s)₊. The right singular vectors are computed in doubles and then
    orthonormalised further. In this basis, uᵀu is diagonal up to a small remainder, and
    h(uᵀu) is h of the diagonal plus the entrywise product of the remainder and the divided
    differences of h.
    """
    rows, columns = nonsmooth.shape
    count = rows * columns
    level = Twofold.of(nonsmooth.weight) / sharpness
    matrix = point[:count]
    wide = Twofold(
        matrix.high.reshape(nonsmooth.shape), matrix.low.reshape(nonsmooth.shape)
    )
    flip = rows < columns
    wide = _transposed(wide) if flip else wide
    basis = Twofold.of(np.linalg.svd(wide.high, full_matrices=True)[2].T)
    for _ in range(2):
        excess = _times(_transposed(basis), basis) - np.eye(basis.high.shape[0])
        basis = basis - _times(basis, excess * 0.5)
    turned = _times(wide, basis)
    inner = _times(_transposed(turned), turned)
    size = inner.high.shape[0]
    spread = inner[np.arange(size), np.arange(size)]
    root = spread.where(spread.high > 0, 0.0).root()
    keep = (root - level).high > 0
    share = ((root - level) / root.where(keep, 1.0)).where(keep, 0.0)
    gap = spread.high[:, None] - spread.high
    alike = np.abs(gap) <= 1e-12 * np.maximum(spread.high[:, None], spread.high)
    curvature = np.where(keep, 0.5 * level.high / np.where(keep, root.high, 1.0) ** 3, 0.0)
    differences = np.where(
        alike,
        np.maximum(curvature[:, None], curvature),
        (share.high[:, None] - share.high) / np.where(alike, 1.0, gap),
    )
    rest = inner.high * differences
    np.fill_diagonal(rest, 0.0)
    function = Twofold.of(rest) + Twofold(np.diag(share.high), np.diag(share.low))
    found = _times(_times(turned, function), _transposed(basis))
    found = _transposed(found) if flip else found
    return Twofold(
        np.concatenate([found.high.ravel(), point.high[count:]]),
        np.concatenate([found.low.ravel(), point.low[count:]]),
    )


def _transposed(matrix: Twofold) -> Twofold:
    return Twofold(matrix.high.T, matrix.low.T)


def _times(one: Twofold, other: Twofold) -> Twofold:
    left = Twofold(one.high.T[:, :, None], one.low.T[:, :, None])
    return (left * Twofold(other.high[:, None, :], other.low[:, None, :])).total()


def _shrinkage_jacobian(nonsmooth: NonsmoothPart, point: Array, sharpness: float) -> Array:
    if isinstance(nonsmooth, L1):
        level = np.broadcast_to(np.asarray(nonsmooth.weight) / sharpness, point.shape)
        return np.diag((np.abs(point) > level).astype(float))
    whole = np.eye(point.size)
    if isinstance(nonsmooth, GroupL2):
        for group, weight in nonsmooth.levels():
            length = float(np.linalg.norm(point[group]))
            share = weight / sharpness / length if length else 1.0
            unit = point[group] / (length or 1.0)
            kept = (1 - share) * np.eye(len(group)) + share * np.outer(unit, unit)
            whole[np.ix_(group, group)] = kept if share < 1 else 0.0
    return whole


def _projection_jacobian(constraint: Constraint | None, point: Array) -> Array:
    if isinstance(constraint, Box):
        inside = (point > constraint.lower) & (point < constraint.upper)
        return np.diag(inside.astype(float))
    if isinstance(constraint, Nonnegative):
        return np.diag((point > 0).astype(float))
    length = float(np.linalg.norm(point))
    if isinstance(constraint, L2Ball) and length > constraint.size:
        unit = point / length
        return constraint.size / length * (np.eye(point.size) - np.outer(unit, unit))
    if isinstance(constraint, L1Ball) and np.abs(point).sum() > constraint.size:
        kept = constraint.project(point)
        sign = np.sign(kept)
        return np.diag(np.abs(sign)) - np.outer(sign, sign) / max(1.0, np.abs(sign).sum())
    return np.eye(point.size)
