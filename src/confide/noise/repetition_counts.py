"""Random numbers of repetitions that do not depend on the data.

Distributions whose normalising constant can be computed to any precision are sampled by
inversion, without rounding: docs/proofs/exact-noise.md#inversion.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count as levels

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter
from confide.noise import fixed_point
from confide.noise.entropy import Entropy
from confide.noise.fixed_point import Bounds
from confide.noise.staircase import Real

GUARD = 64


def invert(
    ratio: Callable[[int], tuple[int, int]],
    total: Callable[[int], Bounds],
    entropy: Entropy,
) -> int:
    """Draw an integer k = 0, 1, … with probability proportional to w(k).

    w(0) = 1 and w(k+1) = w(k)·ratio(k), where ``ratio`` returns a numerator and a
    denominator. ``total`` returns bounds on Σ w(k) in units of 2^−bits. Partial sums of the
    weights are compared with U·Σ w(k) for a uniform random number U.
    """
    uniform = Real(0, 1, 0)
    for _ in levels():
        uniform.reveal(entropy)
        found = _search(ratio, total(uniform.shift + GUARD), uniform)
        if found is not None:
            return found
    raise AssertionError


def _search(
    ratio: Callable[[int], tuple[int, int]], total: Bounds, uniform: Real
) -> int | None:
    """Return the integer that ``uniform`` selects; None if more of its bits are needed."""
    bits = uniform.shift + GUARD
    least = uniform.low * total[0] >> uniform.shift
    most = ((uniform.low + 1) * total[1] >> uniform.shift) + 1
    low = high = 1 << bits
    low_sum, high_sum = low, high
    for place in levels():
        if low_sum >= most:
            return place
        if high_sum > least:
            return None
        numerator, denominator = ratio(place)
        low = low * numerator // denominator
        high = -(-high * numerator // denominator)
        low_sum += low
        high_sum += high
    raise AssertionError


@dataclass(frozen=True, slots=True)
class TruncatedNegativeBinomial:
    """The truncated negative binomial distribution of a number of runs K >= 1.

    Its generating function is E[x^K] = (g(x)^−η − 1)/(g(1)^−η − 1), where
    g(x) = 1 − (1 − γ)x.

    Parameters
    ----------
    shape : float
        The shape η, 0 or more. η = 1 gives the geometric distribution, and the limit η = 0
        the logarithmic distribution. With a smaller shape, repetition costs less privacy,
        but the number of runs is more variable.
    gamma : float
        The parameter γ, between 0 and 1; a smaller value means more runs.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    If the number of runs is geometric with a mean of 10, the probability of a single run is
    one tenth:

    >>> from confide.noise import TruncatedNegativeBinomial
    >>> runs = TruncatedNegativeBinomial.of_mean(shape=1, mean=10)
    >>> round(runs.mean, 6), round(runs.chance_of_one, 6)
    (10.0, 0.1)
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
        """Return the distribution with a given shape and mean.

        Parameters
        ----------
        shape : float
            The shape η.
        mean : float
            The expected number of runs, above 1 and at most a million.

        Returns
        -------
        TruncatedNegativeBinomial
            The distribution.

        Raises
        ------
        InvalidParameter
            If the mean is out of range.
        """
        if not 1 < mean <= 1e6:
            raise InvalidParameter(
                "mean number of runs",
                "above 1 and at most 1,000,000",
                mean,
                "Set runs to such a number, or try fewer candidates.",
            )
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
        """The probability of a single run, P(K = 1)."""
        return self.gamma ** (1 + self.shape) * self.mean

    def chances(self, most: int) -> Array:
        """Return P(K = k) for k = 1, ..., most.

        Parameters
        ----------
        most : int
            The largest number of runs.

        Returns
        -------
        array
            The probabilities.
        """
        k = np.arange(1, most)
        steps = (1 - self.gamma) * (k + self.shape) / (k + 1)
        return self.chance_of_one * np.concatenate([[1.0], np.cumprod(steps)])

    def draw(self, entropy: Entropy) -> int:
        """Draw one number of runs by inversion, exactly for the given shape and gamma.

        Parameters
        ----------
        entropy : Entropy
            The source of randomness.

        Returns
        -------
        int
            The number of runs.
        """
        shape, gamma = Fraction(self.shape), Fraction(self.gamma)
        first, second = (1 - gamma).as_integer_ratio()
        third, fourth = shape.as_integer_ratio()

        def ratio(k: int) -> tuple[int, int]:
            """Return (1 − γ)(k + 1 + η)/(k + 2) as a numerator and a denominator."""
            return first * (third + (k + 1) * fourth), second * fourth * (k + 2)

        def total(bits: int) -> Bounds:
            """Return bounds on (γ^−η − 1)/(η(1 − γ)), or −log γ/(1 − γ) if η is 0."""
            low, high = fixed_point.log(1 / gamma, bits + GUARD)
            divisor = 1 - gamma
            if shape:
                divisor *= shape
                unit = 1 << (bits + GUARD)
                low = fixed_point.exp(int(shape * low), bits + GUARD)[0] - unit
                high = fixed_point.exp(int(shape * high) + 1, bits + GUARD)[1] - unit
            scale = 1 / (divisor * (1 << GUARD))
            return int(low * scale), int(high * scale) + 1

        return 1 + invert(ratio, total, entropy)
