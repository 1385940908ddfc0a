"""How far released coefficients may be from what they estimate, as a distribution.

To first order the error of θ̃ is H⁻¹ times a sum of independent gradients, plus noise:

    objective perturbation   H⁻¹(G + b)        output perturbation   H⁻¹G + b

with G normal and b the mechanism's own noise. H and the covariance of G come from noisy
moments. What is estimated is the minimiser that the same objective would have on the
whole population.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import ndtr, ndtri

from confide._types import Array
from confide.mechanisms import NoiseRecord
from confide.mechanisms.intervals.moments import Moments
from confide.objectives import Objective

CAUTION = 0.25
"""Noisy eigenvalues of the curvature are lowered by this part of the noise's deviation,
and then to 0 if they are negative: too small a curvature makes too wide an interval."""
NODES = 64


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The error of θ̃: a normal part from sampling and a part from the mechanism's noise.

    A linear function ⟨ℓ, θ̃⟩ has sampling variance ℓᵀ·sampling·ℓ, counted as 0 where
    noise made it negative. Its privacy part is √(ℓᵀ·privacy·ℓ) times a normal variable, or
    times a coordinate of spherical Laplace noise in ``dimension`` dimensions.
    """

    sampling: Array
    privacy: Array
    kind: str
    dimension: int

    def half_lengths(self, directions: Array, level: float) -> Array:
        """Return half the length of the interval for every row of ``directions``."""
        sampling, privacy = self.variances(directions)
        if self.kind == "gaussian":
            return float(ndtri((1 + level) / 2)) * np.sqrt(sampling + privacy)
        return _mixture_quantile(sampling, privacy, self.dimension, level)

    def sampling_half_lengths(self, directions: Array, level: float) -> Array:
        """Return what half the length would be without the mechanism's noise."""
        return float(ndtri((1 + level) / 2)) * np.sqrt(self.variances(directions)[0])

    def variances(self, directions: Array) -> tuple[Array, Array]:
        """Return the squared scales of both parts for every row of ``directions``."""
        sampling = np.einsum("ij,jk,ik->i", directions, self.sampling, directions)
        privacy = np.einsum("ij,jk,ik->i", directions, self.privacy, directions)
        return np.maximum(sampling, 0.0), privacy


def uncertainty(
    objective: Objective,
    theta: Array,
    noise: NoiseRecord,
    moments: Moments,
    rows: int | None,
    *,
    still: Array | None = None,
) -> Uncertainty:
    """Combine moments and noise; ``rows`` is their number where it is public.

    ``still`` has as columns directions that rows are publicly known not to have: there
    the moments are nothing but noise, and are cleared.
    """
    if still is not None and still.shape[1]:
        moments = cleared(moments, still)
    bend = lowered(moments.curvature, CAUTION * moments.curvature_deviation)
    inverse = np.asarray(np.linalg.inv(bend + np.diag(objective.ridge)), dtype=np.float64)
    scatter = moments.scatter
    if rows is not None:
        pull = objective.ridge * theta
        scatter = scatter - np.outer(pull, pull) / rows
    return combine(inverse, scatter, noise, len(theta))


def cleared(moments: Moments, still: Array) -> Moments:
    """Return the moments without what noise put into some directions."""
    basis = np.linalg.qr(still)[0]
    keep = np.eye(len(still)) - basis @ basis.T
    curvature, scatter = (keep @ m @ keep for m in (moments.curvature, moments.scatter))
    return replace(moments, curvature=curvature, scatter=scatter)


def combine(inverse: Array, scatter: Array, noise: NoiseRecord, size: int) -> Uncertainty:
    """Return the error's distribution from H⁻¹, the scatter of gradients, and the noise."""
    through = inverse if noise.added_to == "linear term" else np.eye(size)
    return Uncertainty(
        inverse @ scatter @ inverse,
        noise.scale**2 * (through @ through.T),
        noise.kind,
        size,
    )


def lowered(matrix: Array, by: float) -> Array:
    """Lower the eigenvalues, but not below 0."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values - by, 0.0)) @ vectors.T)


def _mixture_quantile(sampling: Array, privacy: Array, size: int, level: float) -> Array:
    """Solve P(|√sampling·Z + √privacy·T| <= q) = level.

    T, a coordinate of spherical Laplace noise, is normal given its variance, which is
    twice a Gamma((size+1)/2) variable: a Gauss-Laguerre sum over variances. Chebyshev's
    inequality says where the search may start.
    """
    spread, chance = _variance_nodes(size)
    deviation = np.sqrt(sampling[:, None] + privacy[:, None] * spread)
    low = np.zeros(len(sampling))
    high = np.sqrt((sampling + privacy * (size + 1)) / (1 - level))
    for _ in range(80):
        middle = (low + high) / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = (2 * ndtr(middle[:, None] / deviation) - 1) @ chance
        short = inside < level
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


@cache
def _variance_nodes(size: int) -> tuple[Array, Array]:
    """Return variances and chances: Golub and Welsch, whose weights never overflow."""
    order, power = np.arange(NODES), (size - 1) / 2
    beside = np.sqrt(order[1:] * (order[1:] + power))
    nodes, vectors = eigh_tridiagonal(2 * order + power + 1, beside)
    return 2 * nodes, vectors[0] ** 2
