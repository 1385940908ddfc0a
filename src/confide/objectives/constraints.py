"""Constraint sets: projection, radius, and joint proximal maps with a penalty.

A penalty's map followed by the projection is exact for many pairs but not for all; the
pairs that need more are solved here by a one-dimensional root. Pairs with no exact map
are refused: the solver's certificate rests on exactness.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.optimize import brentq

from confide._registry import Registry
from confide._types import Array
from confide.errors import InvalidParameter
from confide.objectives.penalties import L1, GroupL2, Nuclear, Penalty, soft


class Constraint(Protocol):
    """A closed convex set that contains 0."""

    def project(self, theta: Array) -> Array:
        """Return the nearest point of the set."""
        ...

    def radius(self, dimension: int) -> float:
        """Return the largest Euclidean length in the set."""
        ...


CONSTRAINTS: Registry[type[Any]] = Registry("constraint")


@CONSTRAINTS.register("l2-ball")
@dataclass(frozen=True, slots=True)
class L2Ball:
    """‖θ‖₂ <= size."""

    size: float

    def __post_init__(self) -> None:
        _check_size(self.size)

    def project(self, theta: Array) -> Array:
        """Shorten the vector where it is too long."""
        length = float(np.linalg.norm(theta))
        return theta if length <= self.size else theta * (self.size / length)

    def radius(self, dimension: int) -> float:
        """Return the size."""
        return self.size


@CONSTRAINTS.register("l1-ball")
@dataclass(frozen=True, slots=True)
class L1Ball:
    """‖θ‖₁ <= size."""

    size: float

    def __post_init__(self) -> None:
        _check_size(self.size)

    def project(self, theta: Array) -> Array:
        """Soft-threshold by the level that brings the sum down to the size."""
        lengths = np.abs(theta)
        if lengths.sum() <= self.size:
            return theta
        falling = np.sort(lengths)[::-1]
        levels = (np.cumsum(falling) - self.size) / np.arange(1, theta.size + 1)
        above = np.flatnonzero(falling > levels)
        level = levels[above[-1]] if len(above) else falling[0]
        return np.sign(theta) * np.maximum(lengths - level, 0)

    def radius(self, dimension: int) -> float:
        """Return the size: the corners are the farthest points."""
        return self.size


@CONSTRAINTS.register("box")
@dataclass(frozen=True, slots=True)
class Box:
    """lower <= θⱼ <= upper for every coordinate, with lower <= 0 <= upper."""

    lower: float = -1.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        if not self.lower <= 0 <= self.upper:
            raise InvalidParameter("box", "an interval around 0", (self.lower, self.upper))

    def project(self, theta: Array) -> Array:
        """Clip every coordinate."""
        return np.clip(theta, self.lower, self.upper)

    def radius(self, dimension: int) -> float:
        """Return the length of the farthest corner."""
        return max(-self.lower, self.upper) * math.sqrt(dimension)


@CONSTRAINTS.register("nonnegative")
@dataclass(frozen=True, slots=True)
class Nonnegative:
    """θⱼ >= 0 for every coordinate."""

    def project(self, theta: Array) -> Array:
        """Replace what is negative by 0."""
        return np.maximum(theta, 0)

    def radius(self, dimension: int) -> float:
        """Return infinity."""
        return math.inf


def _check_size(size: float) -> None:
    if not 0 < size < math.inf:
        raise InvalidParameter("size of the ball", "positive and finite", size)


NonsmoothPart: TypeAlias = Penalty | None


def has_exact_prox(nonsmooth: NonsmoothPart, constraint: Constraint | None) -> bool:
    """Whether `prox` is exact for this pair."""
    if nonsmooth is None or constraint is None:
        return True
    if isinstance(nonsmooth, Nuclear):
        return isinstance(constraint, L2Ball)
    return isinstance(nonsmooth, L1 | GroupL2) and isinstance(
        constraint, L1Ball | L2Ball | Box | Nonnegative
    )


def prox(
    nonsmooth: NonsmoothPart, constraint: Constraint | None, theta: Array, step: float
) -> Array:
    """Return the minimiser of step·r(u) + ½‖u − θ‖² over the constraint."""
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
    """Solve u = clip(θ_g·‖u‖/(‖u‖ + t)) for the length of u, group by group."""
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
    """Soft-threshold by the level that, after group shrinkage, meets the ball."""

    def shrunk(level: float) -> Array:
        return nonsmooth.prox(soft(theta, level), step)

    def excess(level: float) -> float:
        return float(np.abs(shrunk(level)).sum()) - ball.size

    if excess(0.0) <= 0:
        return shrunk(0.0)
    highest = float(np.abs(theta).max())
    return shrunk(float(brentq(excess, 0.0, highest, xtol=1e-300, rtol=1e-15)))
