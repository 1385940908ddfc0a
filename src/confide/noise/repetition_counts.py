"""How often to repeat: a random number that no table has a say in."""

import math
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter
from confide.noise.entropy import Entropy

NEGLIGIBLE_CHANCE = 2.0**-80
"""Chances below this are beyond what one draw can tell apart."""


@dataclass(frozen=True, slots=True)
class TruncatedNegativeBinomial:
    """A whole number K from 1 on, with E[x^K] = (g(x)^−η − 1)/(g(1)^−η − 1).

    Here g(x) = 1 − (1 − γ)x over g(0) = 1. ``shape`` η = 1 is the geometric law, and
    η = 0, read as a limit, the logarithmic one.
    """

    shape: float
    gamma: float

    def __post_init__(self) -> None:
        if not 0 <= self.shape < math.inf:
            raise InvalidParameter("shape", "0 or a positive number", self.shape)
        if not 0 < self.gamma < 1:
            raise InvalidParameter("gamma", "between 0 and 1", self.gamma)

    @classmethod
    def of_mean(cls, shape: float, mean: float) -> "TruncatedNegativeBinomial":
        """Return the law of this shape with a mean that is just about the wished one."""
        if not 1 < mean <= 1e6:
            raise InvalidParameter("mean of the runs", "above 1 and at most 1e6", mean)
        low, high = -50.0, -1e-9
        for _ in range(100):
            middle = (low + high) / 2
            if cls(shape, math.exp(middle)).mean > mean:
                low = middle
            else:
                high = middle
        return cls(shape, math.exp(high))

    @property
    def mean(self) -> float:
        """The expected number of runs."""
        odds = (1 - self.gamma) / self.gamma
        if self.shape == 0:
            return odds / -math.log(self.gamma)
        return self.shape * odds / -math.expm1(self.shape * math.log(self.gamma))

    @property
    def chance_of_one(self) -> float:
        """P(K = 1)."""
        return self.gamma ** (1 + self.shape) * self.mean

    def chances(self, most: int) -> Array:
        """Return P(K = k) for k = 1, ..., most."""
        k = np.arange(1, most)
        steps = (1 - self.gamma) * (k + self.shape) / (k + 1)
        return self.chance_of_one * np.concatenate([[1.0], np.cumprod(steps)])

    def draw(self, entropy: Entropy) -> int:
        """Draw one, by inversion."""
        left = float(entropy.uniform(1)[0])
        runs, log_chance = 1, self._log_chance_of_one
        while left > (chance := math.exp(log_chance)):
            left -= chance
            growth = (1 - self.gamma) * (runs + self.shape) / (runs + 1)
            if growth < 1 and chance < NEGLIGIBLE_CHANCE:
                break
            log_chance += math.log(growth)
            runs += 1
        return runs

    @property
    def _log_chance_of_one(self) -> float:
        """Its logarithm, for the chance itself may be too small for a double."""
        return (1 + self.shape) * math.log(self.gamma) + math.log(self.mean)
