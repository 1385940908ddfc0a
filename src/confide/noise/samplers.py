"""Noise distributions: exact draws of real numbers, and approximate draws in doubles.

`sample` draws exactly from the distribution that theorems assume; published values are
rounded to a public lattice (docs/proofs/exact-noise.md). `draw` returns doubles for
simulations, and for studies that compare published algorithms.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import gammaln, ndtr, ndtri

from confide._registry import Registry
from confide._types import AnyArray, Array
from confide.noise import real_vector
from confide.noise.entropy import Entropy
from confide.noise.random_choice import choose_several, largest
from confide.noise.real_vector import RealVector, check_scale
from confide.noise.truncated import truncated_gaussian, truncated_spherical_laplace

MIXTURE_NODES = 64
NOISES: Registry[type[Any]] = Registry("noise")
"""Noise distributions by the names under which releases record them."""


@NOISES.register("laplace")
@dataclass(frozen=True, slots=True)
class Laplace:
    r"""Laplace noise, with independent coordinates.

    Parameters
    ----------
    scale : float
        The scale b of the density exp(−\|x\|/b)/(2b), in units of the quantity that
        receives the noise; public. The standard deviation is √2 times as large.

    Examples
    --------
    Pure privacy with epsilon 0.5 needs noise of scale 2 on a count, which exceeds 6 with
    a probability of 2.5 percent:

    >>> from confide.noise import Laplace
    >>> noise = Laplace(2.0)
    >>> round(noise.deviation(1), 2), round(noise.exceeded(0.025), 2)
    (2.83, 5.99)
    """

    scale: float
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers."""
        return real_vector.laplace(dimension, self.scale * stretch, entropy)

    def largest(self, scores: Array, count: int, entropy: Entropy) -> AnyArray:
        """Return the indices of the largest noisy scores, sorted by index.

        Parameters
        ----------
        scores : array
            The scores.
        count : int
            The number of indices to return.
        entropy : Entropy
            The source of randomness.

        Returns
        -------
        array of int
            The indices.
        """
        return largest(scores, count, self.sample(len(scores), entropy))

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector in doubles; the result is not private."""
        size = -np.log(entropy.uniform(dimension))
        return np.asarray(self.scale * entropy.signs(dimension) * size)

    def expected_norm(self, dimension: int) -> float:
        """Return scale·√(2p), an upper bound on the mean norm in p dimensions."""
        return self.scale * float(np.sqrt(2 * dimension))

    def deviation(self, dimension: int) -> float:
        """Return √2 times the scale."""
        return self.scale * float(np.sqrt(2))

    def exceeded(self, chance: float) -> float:
        """Return the value that a coordinate exceeds with a given probability.

        Parameters
        ----------
        chance : float
            The probability, at most a half.

        Returns
        -------
        float
            The quantile of the upper tail.
        """
        return self.scale * math.log(0.5 / chance)


@NOISES.register("spherical-laplace")
@dataclass(frozen=True, slots=True)
class SphericalLaplace:
    """Spherical Laplace noise, with density proportional to exp(−‖b‖/scale).

    In p dimensions, ‖b‖/scale has the distribution Gamma(p), and the direction is uniform.

    Parameters
    ----------
    scale : float
        The scale of the norm, in units of the quantity that receives the noise; public.

    Examples
    --------
    The mean norm is proportional to the dimension, unlike that of Gaussian noise:

    >>> from confide.noise import SphericalLaplace
    >>> noise = SphericalLaplace(0.5)
    >>> noise.expected_norm(4), noise.expected_norm(16)
    (2.0, 8.0)
    """

    scale: float
    kind: ClassVar[str] = "spherical-laplace"
    reach: ClassVar[float] = 30.0

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers."""
        return real_vector.spherical_laplace(dimension, self.scale * stretch, entropy)

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector in doubles; the result is not private."""
        direction = entropy.normal(dimension)
        radius = self.scale * entropy.gamma(dimension)
        return direction * (radius / float(np.linalg.norm(direction)))

    def expected_norm(self, dimension: int) -> float:
        """Return p times the scale, the mean norm in p dimensions."""
        return dimension * self.scale

    def deviation(self, dimension: int) -> float:
        """Return scale·√(p + 1) in p dimensions."""
        return self.scale * float(np.sqrt(dimension + 1))

    def chance_below(self, value: float) -> float:
        """Return the distribution function in one dimension."""
        tail = 0.5 * np.exp(-abs(value) / self.scale)
        return float(tail if value < 0 else 1 - tail)

    def draw_above(self, floor: float, dimension: int, entropy: Entropy) -> Array:
        """Draw a vector with all coordinates above ``floor``; the result is not private."""
        return truncated_spherical_laplace(self.scale, floor, dimension, entropy)

    def log_density(self, squared_norm: Array, dimension: int) -> Array:
        """Return the log density at points with the given squared norms."""
        log_sphere = (
            np.log(2) + dimension / 2 * np.log(np.pi) - float(gammaln(dimension / 2))
        )
        constant = log_sphere + float(gammaln(dimension)) + dimension * np.log(self.scale)
        return np.asarray(-np.sqrt(squared_norm) / self.scale - constant)

    def variance_mixture(self, dimension: int) -> tuple[Array, Array]:
        """Return Gauss–Laguerre nodes and weights for a variance of 2·Gamma((p + 1)/2)."""
        return _gamma_nodes(dimension)

    def draw_many(self, count: int, dimension: int, entropy: Entropy) -> Array:
        """Draw vectors in doubles, one per row."""
        shape = (count, dimension)
        noise = entropy.normal(count * dimension).reshape(shape)
        radius = -np.log(entropy.uniform(count * dimension)).reshape(shape).sum(axis=1)
        noise *= (self.scale * radius / np.linalg.norm(noise, axis=1))[:, None]
        return noise


@NOISES.register("gaussian")
@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian noise: independent normal coordinates with standard deviation ``scale``.

    Parameters
    ----------
    scale : float
        The standard deviation, in units of the quantity that receives the noise; public.

    Examples
    --------
    A coordinate exceeds 1.96 standard deviations with a probability of 2.5 percent:

    >>> from confide.noise import Gaussian
    >>> round(Gaussian(10.0).exceeded(0.025), 1)
    19.6
    """

    scale: float
    kind: ClassVar[str] = "gaussian"
    reach: ClassVar[float] = 9.5

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers."""
        return real_vector.normal(dimension, self.scale * stretch, entropy)

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector in doubles; the result is not private."""
        return self.scale * entropy.normal(dimension)

    def expected_norm(self, dimension: int) -> float:
        """Return scale·√p, an upper bound on the mean norm in p dimensions."""
        return self.scale * float(np.sqrt(dimension))

    def deviation(self, dimension: int) -> float:
        """Return the scale."""
        return self.scale

    def exceeded(self, chance: float) -> float:
        """Return the value that a coordinate exceeds with a given probability.

        Parameters
        ----------
        chance : float
            The probability.

        Returns
        -------
        float
            The quantile of the upper tail.
        """
        return -self.scale * float(ndtri(chance))

    def chance_below(self, value: float) -> float:
        """Return the distribution function in one dimension."""
        return float(ndtr(value / self.scale))

    def draw_above(self, floor: float, dimension: int, entropy: Entropy) -> Array:
        """Draw a vector with all coordinates above ``floor``; the result is not private."""
        return truncated_gaussian(self.scale, floor, dimension, entropy)

    def log_density(self, squared_norm: Array, dimension: int) -> Array:
        """Return the log density at points with the given squared norms."""
        variance = self.scale**2
        constant = dimension / 2 * np.log(2 * np.pi * variance)
        return np.asarray(-squared_norm / (2 * variance) - constant)

    def variance_mixture(self, dimension: int) -> tuple[Array, Array]:
        """Return a relative variance of 1 with probability 1."""
        return np.ones(1), np.ones(1)

    def draw_many(self, count: int, dimension: int, entropy: Entropy) -> Array:
        """Draw vectors in doubles, one per row."""
        return self.scale * entropy.normal(count * dimension).reshape(count, dimension)


@cache
def _gamma_nodes(dimension: int) -> tuple[Array, Array]:
    """Return the nodes and weights of the mixture by the Golub–Welsch method."""
    order, power = np.arange(MIXTURE_NODES), (dimension - 1) / 2
    beside = np.sqrt(order[1:] * (order[1:] + power))
    nodes, vectors = eigh_tridiagonal(2 * order + power + 1, beside)
    return 2 * nodes, vectors[0] ** 2


@NOISES.register("gumbel")
@dataclass(frozen=True, slots=True)
class Gumbel:
    """Gumbel noise: independent coordinates with distribution function exp(−exp(−x/scale)).

    If Gumbel noise is added to scores, the index of the largest sum has the distribution of
    the exponential mechanism.

    Parameters
    ----------
    scale : float
        The scale of the distribution, in units of the scores; public.

    Examples
    --------
    A score that leads by many times the scale is almost certainly chosen:

    >>> import numpy as np
    >>> from confide.noise import Entropy, Gumbel
    >>> Gumbel(1.0).largest(np.array([0.0, 60.0, 3.0]), 1, Entropy.system())
    array([1])
    """

    scale: float
    kind: ClassVar[str] = "gumbel"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers."""
        return real_vector.gumbel(dimension, self.scale * stretch, entropy)

    def largest(self, scores: Array, count: int, entropy: Entropy) -> AnyArray:
        """Return the indices of the largest noisy scores, sorted by index.

        The indices are distributed like successive draws with exponential weights, without
        replacement.

        Parameters
        ----------
        scores : array
            The scores.
        count : int
            The number of indices to return.
        entropy : Entropy
            The source of randomness.

        Returns
        -------
        array of int
            The indices.
        """
        return choose_several(scores / self.scale, count, entropy)

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw −scale·log E in doubles, for exponential E; the result is not private."""
        return -self.scale * np.log(-np.log1p(-entropy.uniform(dimension)))

    def expected_norm(self, dimension: int) -> float:
        """Return scale·√(p(π²/6 + γ²)), above the mean norm, with Euler's constant γ."""
        return self.scale * math.sqrt(dimension * (math.pi**2 / 6 + np.euler_gamma**2))

    def deviation(self, dimension: int) -> float:
        """Return π/√6 times the scale."""
        return self.scale * math.pi / math.sqrt(6)
