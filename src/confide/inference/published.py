"""Intervals as Wang, Kifer and Lee (2018) published them, slips repaired: for comparison.

Algorithm 2 floors the eigenvalues of both noisy matrices at the ridge (2c of the mean
objective); algorithms 3 and 5 draw from the approximate law of the error and take
quantiles. Where all noise is normal algorithm 5 needs no draws.
"""

import math
from functools import lru_cache

import numpy as np

from confide._types import Array
from confide.inference.uncertainty import Uncertainty, combine
from confide.mechanisms import NoiseRecord
from confide.mechanisms.intervals.moments import Moments
from confide.noise import Entropy
from confide.objectives import Objective

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
