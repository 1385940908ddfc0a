"""Constraint sets: projection and radius."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from confide._registry import Registry
from confide._types import Array
from confide.errors import InvalidParameter


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
