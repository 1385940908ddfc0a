"""Intervals for estimates from noisy counts, which account for noise and sampling."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri

from confide.mechanisms.ranges.read_range import CountNoise


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """An estimate with its interval."""

    value: float
    lower: float
    upper: float

    @classmethod
    def around(
        cls, value: float, reach: float, least: float = -math.inf, most: float = math.inf
    ) -> "IntervalEstimate":
        """Return an estimate with an interval of a given half-width, clipped to bounds."""
        mid = float(min(max(value, least), most))
        return cls(mid, max(mid - reach, least), min(mid + reach, most))


@dataclass(frozen=True, slots=True)
class Spread:
    """The noise on every count, and the confidence level.

    ``sharp`` is true for Laplace noise, which has heavier tails than a normal error.
    """

    noise: CountNoise
    level: float
    sharp: bool

    @property
    def variance(self) -> float:
        """The variance of the noise on a count."""
        return self.noise.deviation(1) ** 2

    @property
    def normal(self) -> float:
        """Half-width of a normal interval, in standard deviations."""
        return -float(ndtri((1 - self.level) / 2))

    def reach(self, variance: float) -> float:
        """Return the half-width of an interval for an approximately normal error."""
        return self.normal * math.sqrt(max(variance, 0.0))

    def reach_of_one(self, factor: float, variance: float) -> float:
        """Return the half-width for the noise of one count plus a normal error.

        The noise is multiplied by ``factor``, and ``variance`` is that of the normal error.
        """
        if not self.sharp:
            return self.reach(variance + factor**2 * self.variance)
        scale = factor * self.noise.scale
        if scale <= 1e-6 * math.sqrt(max(variance, 0.0)):
            return self.reach(variance)
        return laplace_and_normal(1 - self.level, scale, math.sqrt(max(variance, 0.0)))


def laplace_and_normal(chance: float, scale: float, deviation: float) -> float:
    """Return t such that |Laplace + normal noise| exceeds t with probability ``chance``."""
    if deviation <= 1e-6 * scale:
        return scale * math.log(1 / chance)
    ratio = deviation / scale

    def excess(t: float) -> float:
        steps = t / deviation
        parts = (
            log_ndtr(-steps),
            ratio**2 / 2 - t / scale + log_ndtr(steps - ratio) - math.log(2),
            ratio**2 / 2 + t / scale + log_ndtr(-steps - ratio) - math.log(2),
        )
        above = np.exp(parts[0]) + np.exp(parts[1]) - np.exp(parts[2])
        return 2 * float(above) - chance

    far = 40 * (deviation + scale)
    return float(brentq(excess, 0.0, far, xtol=1e-9 * far))
