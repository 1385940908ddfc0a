"""Random choices: among columns, steps and supports, the higher a score the likelier."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide._types import AnyArray, Array
from confide.noise.entropy import Entropy
from confide.noise.samplers import Laplace, check_scale

FARTHEST = 700.0
"""Weights so far below the largest are all alike: a draw is 2⁻⁶⁵ of their sum at least and
never falls on them."""
GROUP = 1024
NOT_FINITE = "a random choice needs finite scores: this is a defect of confide"


@dataclass(frozen=True, slots=True)
class Gumbel:
    """Independent coordinates with distribution function exp(−exp(−x/scale))."""

    scale: float
    kind: ClassVar[str] = "gumbel"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector: −scale·log E with E exponential, fine-grained for large ones."""
        return -self.scale * np.log(-np.log1p(-entropy.uniform(dimension)))

    def expected_norm(self, dimension: int) -> float:
        """Return scale·√(p·(π²/6 + γ²)), which bounds the mean length from above."""
        return self.scale * math.sqrt(dimension * (math.pi**2 / 6 + np.euler_gamma**2))

    def deviation(self, dimension: int) -> float:
        """Return π/√6 times the scale."""
        return self.scale * math.pi / math.sqrt(6)


def largest(
    scores: Array, count: int, noise: Gumbel | Laplace, entropy: Entropy
) -> AnyArray:
    """Return the places, in rising order, of the largest scores once noise is added."""
    if not np.isfinite(scores).all():
        raise FloatingPointError(NOT_FINITE)
    noisy = scores + noise.draw(len(scores), entropy)
    return np.sort(np.argpartition(-noisy, count - 1)[:count])


def choose(powers: Array, entropy: Entropy) -> int:
    """Return a place with a chance in proportion to exp(power).

    Weights are taken over the largest of the moment, so that one is 1 and none is larger.
    A group of places is drawn first and then a place of it: short sums round little.
    """
    top = float(powers.max())
    if not math.isfinite(top):
        raise FloatingPointError(NOT_FINITE)
    with np.errstate(over="ignore"):
        weights = np.exp(np.maximum(powers - top, -FARTHEST))
    starts = np.arange(0, len(weights), GROUP)
    start = GROUP * _drawn(np.add.reduceat(weights, starts), entropy)
    return start + _drawn(weights[start : start + GROUP], entropy)


def _drawn(weights: Array, entropy: Entropy) -> int:
    """Return a place with a chance in proportion to its weight, by one draw."""
    below = np.cumsum(weights)
    level = entropy.uniform(1)[0] * below[-1]
    return int(np.searchsorted(below, level, side="right"))


def shuffled(count: int, entropy: Entropy) -> AnyArray:
    """Return the places 0, …, count − 1 in random order."""
    return np.argsort(entropy.words(count), kind="stable")


def assigned(count: int, groups: int, entropy: Entropy) -> AnyArray:
    """Return a group for each, every one drawn on its own and all equally likely."""
    return np.asarray((entropy.uniform(count) * groups).astype(np.intp))
