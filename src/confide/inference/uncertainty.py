"""Intervals as Wang, Kifer and Lee (2018) published them, slips repaired: for comparison.

Algorithm 2 floors the eigenvalues of both noisy matrices at the ridge (2c of the mean
objective); algorithms 3 and 5 draw from the approximate law of the error and take
quantiles. Where all noise is normal algorithm 5 needs no draws.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import ndtr, ndtri

from confide._types import Array
from confide.mechanisms import NoiseRecord
from confide.mechanisms.intervals.moments import Moments
from confide.noise import Entropy
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


POSTPROCESSING_SEED = 20180601
"""Draws after the release reveal nothing about the data and need not be secret."""


def published_uncertainty(
    objective: Objective, theta: Array, noise: NoiseRecord, moments: Moments, rows: int
) -> Uncertainty:
    """Combine moments and noise by the paper's formulas, on the scale of a sum."""
    ridge = objective.strong_convexity
    pull = objective.ridge * theta
    bend = floored(moments.curvature + np.diag(objective.ridge), ridge)
    scatter = floored(moments.scatter - np.outer(pull, pull) / rows, ridge)
    inverse = np.asarray(np.linalg.inv(bend), dtype=np.float64)
    return combine(inverse, scatter, noise, len(theta))


def floored(matrix: Array, floor: float) -> Array:
    """Raise eigenvalues to the floor."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def sampled_offsets(
    law: Uncertainty, directions: Array, level: float, samples: int
) -> tuple[Array, Array]:
    """Return the quantiles of drawn errors, below and above the estimate."""
    normal, noise = _draws(samples, law.dimension, law.kind)
    errors = directions @ _root(law.sampling) @ normal.T
    errors += directions @ _root(law.privacy) @ noise.T
    low = math.floor((1 - level) / 2 * (samples - 1))
    high = samples - 1 - low
    errors.partition((low, high), axis=1)
    return errors[:, low], errors[:, high]


@lru_cache(maxsize=4)
def _draws(samples: int, size: int, kind: str) -> tuple[Array, Array]:
    """Draw normal vectors, and vectors of the mechanism's noise at scale 1."""
    entropy = Entropy.seeded(POSTPROCESSING_SEED)
    normal = entropy.normal(samples * size).reshape(samples, size)
    noise = entropy.normal(samples * size).reshape(samples, size)
    if kind != "gaussian":
        radius = -np.log(entropy.uniform(samples * size)).reshape(samples, size).sum(axis=1)
        noise *= (radius / np.linalg.norm(noise, axis=1))[:, None]
    return normal, noise


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
