"""Random choices and random subsets.

Streams of subsets are endless; what they yield is valid until the next one is asked for.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide._types import AnyArray, Array
from confide.noise import real_vector
from confide.noise.entropy import Entropy
from confide.noise.real_vector import RealVector, check_scale
from confide.noise.samplers import NOISES, Laplace

LARGEST_LOG_RATIO = 700.0
"""Weights so far below the largest are all alike: a draw is 2⁻⁶⁵ of their sum at least and
never falls on them."""
GROUP_SIZE = 1024
NOT_FINITE = "a random choice needs finite scores: this is a defect of confide"


@NOISES.register("gumbel")
@dataclass(frozen=True, slots=True)
class Gumbel:
    """Independent coordinates with distribution function exp(−exp(−x/scale))."""

    scale: float
    kind: ClassVar[str] = "gumbel"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers, every one stretched."""
        return real_vector.gumbel(dimension, self.scale * stretch, entropy)

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
        weights = np.exp(np.maximum(powers - top, -LARGEST_LOG_RATIO))
    starts = np.arange(0, len(weights), GROUP_SIZE)
    start = GROUP_SIZE * _drawn(np.add.reduceat(weights, starts), entropy)
    return start + _drawn(weights[start : start + GROUP_SIZE], entropy)


def _drawn(weights: Array, entropy: Entropy) -> int:
    """Return a place with a chance in proportion to its weight, by one draw."""
    below = np.cumsum(weights)
    level = entropy.uniform(1)[0] * below[-1]
    return int(np.searchsorted(below, level, side="right"))


def permutation(count: int, entropy: Entropy) -> AnyArray:
    """Return the places 0, …, count − 1 in random order."""
    return np.argsort(entropy.words(count), kind="stable")


def assign_groups(count: int, groups: int, entropy: Entropy) -> AnyArray:
    """Return a group for each, every one drawn on its own and all equally likely."""
    return np.asarray((entropy.uniform(count) * groups).astype(np.intp))


DRAWN_AT_ONCE = 2**14


def fixed_size_subsets(count: int, size: int, entropy: Entropy) -> Iterator[AnyArray]:
    """Yield independent subsets of ``size`` places out of ``count``, all as likely.

    Places are drawn with replacement until so many different ones have come: by symmetry
    no set of them is likelier than another. Where more than half is wanted, the places
    that are left out are drawn instead.
    """
    few = min(size, count - size)
    pool = _pool(count, few, entropy)
    last = np.empty(count, dtype=np.int64)
    turn = np.arange(few)
    everything = np.arange(count)
    while True:
        chosen = next(pool)
        while True:
            # Of equal places the one that was written last stays.
            last[chosen] = turn[: len(chosen)]
            chosen = chosen[last[chosen] == turn[: len(chosen)]]
            if len(chosen) == few:
                break
            more = entropy.below(count, few - len(chosen))
            chosen = np.concatenate([chosen, more])
        yield chosen if few == size else np.delete(everything, chosen)


def _pool(count: int, size: int, entropy: Entropy) -> Iterator[AnyArray]:
    """Yield places with replacement, so many at a time."""
    at_once = max(1, DRAWN_AT_ONCE // max(1, size))
    while True:
        yield from entropy.below(count, at_once * size).reshape(at_once, size)
