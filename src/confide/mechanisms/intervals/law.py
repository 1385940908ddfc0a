"""The law of the errors of released coefficients, from noisy moments and the noise.

``published_uncertainty`` has the formulas of Wang, Kifer and Lee (2018), slips repaired:
their algorithm 2 floors the eigenvalues of both noisy matrices at the ridge (2c of the
mean objective).
"""

from dataclasses import replace

import numpy as np

from confide._types import Array
from confide.mechanisms.intervals.moments import Moments
from confide.mechanisms.release import NoiseRecord, Uncertainty
from confide.objectives import Objective

CAUTION = 0.25
"""Noisy eigenvalues of the curvature are lowered by this part of the noise's deviation,
and then to 0 if they are negative: too small a curvature makes too wide an interval."""


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
