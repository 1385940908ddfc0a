"""Noise vectors, exact over the real numbers or in doubles, and symmetric matrices of them.

`sample` draws from the law that a theorem speaks about; what is published is rounded to a
public lattice (docs/proofs/exact-noise.md). `draw` draws doubles near such numbers: for
simulations, and for studies that compare published algorithms.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import gammaln, log_ndtr, ndtr, ndtri

from confide._registry import Registry
from confide._types import AnyArray, Array
from confide.errors import InvalidParameter
from confide.noise import real_vector
from confide.noise.entropy import Entropy
from confide.noise.random_choice import choose_several, largest
from confide.noise.real_vector import RealVector, check_scale

MIXTURE_NODES = 64
NOISES: Registry[type[Any]] = Registry("noise")
"""The noises by the names that releases call them."""


class Noise(Protocol):
    """A distribution over vectors with a public scale."""

    kind: ClassVar[str]

    @property
    def scale(self) -> float:
        """The number that a release publishes: 1/rate or standard deviation."""
        ...

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers, every one stretched, as closely as asked for."""
        ...

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector in doubles: not private."""
        ...

    def expected_norm(self, dimension: int) -> float:
        """Return the mean Euclidean length, or a bound just above it."""
        ...

    def deviation(self, dimension: int) -> float:
        """Return the standard deviation of a coordinate of a vector."""
        ...


class RoundNoise(Noise, Protocol):
    """A noise whose density depends on the length alone.

    ``reach`` is how many scales from 0 a coordinate hardly ever exceeds.
    """

    reach: ClassVar[float]

    def chance_below(self, value: float) -> float:
        """Return the distribution function in one dimension."""
        ...

    def draw_above(self, floor: float, dimension: int, entropy: Entropy) -> Array:
        """Draw a vector whose coordinates all exceed ``floor`` <= 0: not private."""
        ...

    def log_density(self, squared_norm: Array, dimension: int) -> Array:
        """Return the log density at points with these squared lengths."""
        ...

    def variance_mixture(self, dimension: int) -> tuple[Array, Array]:
        """Return variances over scale², and chances, given which a coordinate is normal."""
        ...

    def draw_many(self, count: int, dimension: int, entropy: Entropy) -> Array:
        """Draw vectors in doubles, one in every row: for simulations."""
        ...


@NOISES.register("laplace")
@dataclass(frozen=True, slots=True)
class Laplace:
    """Independent coordinates, each with density proportional to exp(−|b|/scale)."""

    scale: float
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers, every one stretched."""
        return real_vector.laplace(dimension, self.scale * stretch, entropy)

    def largest(self, scores: Array, count: int, entropy: Entropy) -> AnyArray:
        """Return the places, in rising order, of the largest scores once noise is added."""
        return largest(scores, count, self.sample(len(scores), entropy))

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector."""
        size = -np.log(entropy.uniform(dimension))
        return np.asarray(self.scale * entropy.signs(dimension) * size)

    def expected_norm(self, dimension: int) -> float:
        """Return scale·√(2p), which bounds the mean length from above."""
        return self.scale * float(np.sqrt(2 * dimension))

    def deviation(self, dimension: int) -> float:
        """Return √2 times the scale."""
        return self.scale * float(np.sqrt(2))

    def exceeded(self, chance: float) -> float:
        """Return what a coordinate exceeds with this chance, which is at most a half."""
        return self.scale * math.log(0.5 / chance)


@NOISES.register("spherical-laplace")
@dataclass(frozen=True, slots=True)
class SphericalLaplace:
    """Density proportional to exp(−‖b‖/scale): radius Gamma(p), uniform direction."""

    scale: float
    kind: ClassVar[str] = "spherical-laplace"
    reach: ClassVar[float] = 30.0

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers, every one stretched."""
        return real_vector.spherical_laplace(dimension, self.scale * stretch, entropy)

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector."""
        direction = entropy.normal(dimension)
        radius = self.scale * entropy.gamma(dimension)
        return direction * (radius / float(np.linalg.norm(direction)))

    def expected_norm(self, dimension: int) -> float:
        """Return p times the scale."""
        return dimension * self.scale

    def deviation(self, dimension: int) -> float:
        """Return scale·√(p+1)."""
        return self.scale * float(np.sqrt(dimension + 1))

    def chance_below(self, value: float) -> float:
        """Return the distribution function in one dimension."""
        tail = 0.5 * np.exp(-abs(value) / self.scale)
        return float(tail if value < 0 else 1 - tail)

    def draw_above(self, floor: float, dimension: int, entropy: Entropy) -> Array:
        """Draw a vector whose coordinates all exceed ``floor`` <= 0: not private."""
        return truncated_spherical_laplace(self.scale, floor, dimension, entropy)

    def log_density(self, squared_norm: Array, dimension: int) -> Array:
        """Return the log density at points with these squared lengths."""
        log_sphere = (
            np.log(2) + dimension / 2 * np.log(np.pi) - float(gammaln(dimension / 2))
        )
        constant = log_sphere + float(gammaln(dimension)) + dimension * np.log(self.scale)
        return np.asarray(-np.sqrt(squared_norm) / self.scale - constant)

    def variance_mixture(self, dimension: int) -> tuple[Array, Array]:
        """Return nodes of Gauss and Laguerre: variances are twice Gamma((p+1)/2)."""
        return _gamma_nodes(dimension)

    def draw_many(self, count: int, dimension: int, entropy: Entropy) -> Array:
        """Draw vectors in doubles, one in every row."""
        shape = (count, dimension)
        noise = entropy.normal(count * dimension).reshape(shape)
        radius = -np.log(entropy.uniform(count * dimension)).reshape(shape).sum(axis=1)
        noise *= (self.scale * radius / np.linalg.norm(noise, axis=1))[:, None]
        return noise


@NOISES.register("gaussian")
@dataclass(frozen=True, slots=True)
class Gaussian:
    """Independent normal coordinates with standard deviation ``scale``."""

    scale: float
    kind: ClassVar[str] = "gaussian"
    reach: ClassVar[float] = 9.5

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers, every one stretched."""
        return real_vector.normal(dimension, self.scale * stretch, entropy)

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector."""
        return self.scale * entropy.normal(dimension)

    def expected_norm(self, dimension: int) -> float:
        """Return sigma·√p, which bounds the mean length from above."""
        return self.scale * float(np.sqrt(dimension))

    def deviation(self, dimension: int) -> float:
        """Return the scale."""
        return self.scale

    def exceeded(self, chance: float) -> float:
        """Return what a coordinate exceeds with this chance."""
        return -self.scale * float(ndtri(chance))

    def chance_below(self, value: float) -> float:
        """Return the distribution function in one dimension."""
        return float(ndtr(value / self.scale))

    def draw_above(self, floor: float, dimension: int, entropy: Entropy) -> Array:
        """Draw a vector whose coordinates all exceed ``floor`` <= 0: not private."""
        return truncated_gaussian(self.scale, floor, dimension, entropy)

    def log_density(self, squared_norm: Array, dimension: int) -> Array:
        """Return the log density at points with these squared lengths."""
        variance = self.scale**2
        constant = dimension / 2 * np.log(2 * np.pi * variance)
        return np.asarray(-squared_norm / (2 * variance) - constant)

    def variance_mixture(self, dimension: int) -> tuple[Array, Array]:
        """Return the one variance that there is."""
        return np.ones(1), np.ones(1)

    def draw_many(self, count: int, dimension: int, entropy: Entropy) -> Array:
        """Draw vectors in doubles, one in every row."""
        return self.scale * entropy.normal(count * dimension).reshape(count, dimension)


@cache
def _gamma_nodes(dimension: int) -> tuple[Array, Array]:
    """Return variances and chances: Golub and Welsch, whose weights never overflow."""
    order, power = np.arange(MIXTURE_NODES), (dimension - 1) / 2
    beside = np.sqrt(order[1:] * (order[1:] + power))
    nodes, vectors = eigh_tridiagonal(2 * order + power + 1, beside)
    return 2 * nodes, vectors[0] ** 2


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

    def largest(self, scores: Array, count: int, entropy: Entropy) -> AnyArray:
        """Return the places, in rising order, of the largest scores once noise is added.

        These are choices by exponential weights, each from the places that are left.
        """
        return choose_several(scores / self.scale, count, entropy)

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector: −scale·log E with E exponential, fine-grained for large ones."""
        return -self.scale * np.log(-np.log1p(-entropy.uniform(dimension)))

    def expected_norm(self, dimension: int) -> float:
        """Return scale·√(p·(π²/6 + γ²)), which bounds the mean length from above."""
        return self.scale * math.sqrt(dimension * (math.pi**2 / 6 + np.euler_gamma**2))

    def deviation(self, dimension: int) -> float:
        """Return π/√6 times the scale."""
        return self.scale * math.pi / math.sqrt(6)


def truncated_gaussian(
    scale: float, floor: float, dimension: int, entropy: Entropy
) -> Array:
    """Draw a Gaussian conditioned on every coordinate exceeding ``floor`` <= 0.

    Not a private perturbation: shifting it by one record leaves its support. It exists
    to reproduce published work that used it.
    """
    _check_floor(floor)
    below = ndtr(floor / scale)
    tail = 1 - below
    return np.asarray(-scale * ndtri(tail * entropy.uniform(dimension)))


def truncated_spherical_laplace(
    scale: float, floor: float, dimension: int, entropy: Entropy
) -> Array:
    """Draw a spherical Laplace conditioned on every coordinate exceeding ``floor`` <= 0.

    A spherical Laplace is a Gaussian whose variance is Gamma((p+1)/2, 2·scale²). Given
    the variance the coordinates are independent, so the condition only tilts the law of
    the variance, which is inverted on a fine grid. Not a private perturbation; see
    `truncated_gaussian`.
    """
    _check_floor(floor)
    shape = (dimension + 1) / 2
    span = np.linspace(-12.0, 4.0, 20_001) + np.log(2 * scale**2 * shape)
    variance = np.exp(span)
    log_weight = (
        shape * span
        - variance / (2 * scale**2)
        + dimension * log_ndtr(-floor / np.sqrt(variance))
    )
    mass = np.cumsum(np.exp(log_weight - log_weight.max()))
    level = float(entropy.uniform(1)[0])
    drawn = float(np.exp(np.interp(level * mass[-1], mass, span)))
    return truncated_gaussian(np.sqrt(drawn), floor, dimension, entropy)


def _check_floor(floor: float) -> None:
    if not floor <= 0:
        raise InvalidParameter("floor", "at most 0", floor)


ABOVE = 1 + 2.0**-50
"""What rounds a scale up: more than the products that make it lose."""
HALF_ROOT = math.sqrt(0.5) * ABOVE


def degrees_of_freedom(size: int) -> int:
    """Return the dimension of the space of symmetric matrices: size·(size+1)/2."""
    return size * (size + 1) // 2


def symmetric_stretch(size: int) -> Array:
    """Return by what noise on the entries on and above a diagonal is stretched.

    Entries off the diagonal stand for two: their noise is 1/√2 of that of coordinates in
    which the Frobenius norm is a length, or a little more where doubles round.
    """
    row, column = np.triu_indices(size)
    return np.where(row == column, 1.0, HALF_ROOT)


def upper_entries(matrix: Array) -> Array:
    """Return the entries on and above the diagonal, row by row."""
    return np.asarray(matrix[np.triu_indices(len(matrix))])


def as_symmetric(entries: Array, size: int) -> Array:
    """Return the symmetric matrix with these entries on and above its diagonal."""
    row, column = np.triu_indices(size)
    matrix = np.empty((size, size))
    matrix[row, column] = entries
    matrix[column, row] = entries
    return matrix
