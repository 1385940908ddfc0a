"""Random choices: among columns, steps and supports, the higher a score the likelier."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide._types import AnyArray, Array
from confide.noise.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Gumbel:
    """Independent coordinates with distribution function exp(−exp(−x/scale))."""

    scale: float
    kind: ClassVar[str] = "gumbel"

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector: −scale·log E with E exponential, fine-grained for large ones."""
        return -self.scale * np.log(-np.log1p(-entropy.uniform(dimension)))

    def expected_norm(self, dimension: int) -> float:
        """Return scale·√(p·(π²/6 + γ²)), which bounds the mean length from above."""
        return self.scale * math.sqrt(dimension * (math.pi**2 / 6 + np.euler_gamma**2))


@dataclass(frozen=True, slots=True)
class Laplace:
    """Independent coordinates with density exp(−|x|/scale)/(2·scale)."""

    scale: float
    kind: ClassVar[str] = "laplace"

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector."""
        size = -np.log(entropy.uniform(dimension))
        return self.scale * entropy.signs(dimension) * size

    def expected_norm(self, dimension: int) -> float:
        """Return scale·√(2p), which bounds the mean length from above."""
        return self.scale * math.sqrt(2 * dimension)


def largest(
    scores: Array, count: int, noise: Gumbel | Laplace, entropy: Entropy
) -> AnyArray:
    """Return the places, in rising order, of the largest scores once noise is added."""
    noisy = scores + noise.draw(len(scores), entropy)
    return np.sort(np.argpartition(-noisy, count - 1)[:count])


def choose(weights: Array, entropy: Entropy) -> int:
    """Return a place with a chance in proportion to its weight, by one draw."""
    below = np.cumsum(weights)
    level = entropy.uniform(1)[0] * below[-1]
    return int(min(np.searchsorted(below, level, side="right"), len(below) - 1))


def shuffled(count: int, entropy: Entropy) -> AnyArray:
    """Return the places 0, …, count − 1 in random order."""
    return np.argsort(entropy.words(count), kind="stable")


def assigned(count: int, groups: int, entropy: Entropy) -> AnyArray:
    """Return a group for each, every one drawn on its own and all equally likely."""
    return np.asarray((entropy.uniform(count) * groups).astype(np.intp))
