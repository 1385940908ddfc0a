"""Distribution of the errors of released coefficients, from moments and noise.

The estimand of an interval is either the *plain* coefficients, those of the same model
without its penalty, or the *penalised* ones that are released. Both kinds of intervals are
post-processing of one release. ``published_uncertainty`` uses the formulas of Wang, Kifer
and Lee (2018), with misprints corrected. In their algorithm 2, the eigenvalues of both
noisy matrices are raised to at least the ridge (2c in the paper, whose objective is a
mean over records).
"""

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import null_space

from confide._types import Array
from confide.mechanisms.intervals.moments import Moments
from confide.mechanisms.release import NoiseRecord, PlainLaw, Uncertainty
from confide.objectives import Objective

CAUTION = 0.25
"""Amount by which the noisy eigenvalues of the curvature are lowered, though not below 0,
in standard deviations of the noise. Intervals thus err on the wide side."""
PLAIN_CAUTION = 1.25
"""Amount by which these eigenvalues are lowered for plain intervals, which depend more
strongly on the curvature. The result is not below half the lower bound set by `WEAK`."""
WEAK = 1.0
"""Threshold below which the curvature along a direction cannot be distinguished from 0, in
standard deviations of its noise times the square root of the number of directions."""
HIDDEN = 0.5
"""Lower bound on the curvature along weak directions, in standard deviations of the noise.
It is used only for the error of the correction for the ridge."""


def uncertainty(
    objective: Objective,
    theta: Array,
    noise: NoiseRecord,
    moments: Moments,
    rows: int | None,
    *,
    unidentified: Array | None = None,
) -> Uncertainty:
    """Return the error distribution of the penalised coefficients.

    ``rows`` is the number of rows if it is public. The columns of ``unidentified`` are
    directions orthogonal to every row. Moments along these directions are pure noise and
    are set to 0.
    """
    if unidentified is not None and unidentified.shape[1]:
        moments = cleared(moments, unidentified)
    curvature = lowered(moments.curvature, CAUTION * moments.curvature_deviation)
    inverse = np.asarray(
        np.linalg.inv(curvature + np.diag(objective.ridge)), dtype=np.float64
    )
    scatter = moments.scatter
    if rows is not None:
        pull = objective.ridge * theta
        scatter = scatter - np.outer(pull, pull) / rows
    return combine(inverse, scatter, noise, len(theta))


def plain_law(
    objective: Objective,
    theta: Array,
    noise: NoiseRecord,
    moments: Moments,
    rows: int | None,
    *,
    unidentified: Array | None = None,
) -> PlainLaw:
    """Return the estimate of the plain coefficients and its error distribution.

    The ridge Λ has changed the coefficients θ̃ by about −C⁻¹Λθ̃, where C is the curvature,
    and this change is corrected. Directions along which noise hides the curvature are
    recorded as *weak*, and the curvature along them is raised to a lower bound.
    Coefficients that depend on weak directions are not identified:
    docs/proofs/plain-intervals.md.
    """
    size = len(theta)
    absent = np.zeros((size, 0))
    if unidentified is not None and unidentified.shape[1]:
        absent = np.linalg.qr(unidentified)[0]
    basis = null_space(absent.T) if absent.shape[1] else np.eye(size)
    values, within = np.linalg.eigh(basis.T @ moments.curvature @ basis)
    vectors = basis @ within
    deviation = moments.curvature_deviation
    floor = WEAK * deviation * math.sqrt(len(values))
    strong = np.maximum(values, floor)
    lower = strong - min(PLAIN_CAUTION * deviation, floor / 2)
    inverse, wide = (np.asarray((vectors / one) @ vectors.T) for one in (strong, lower))
    pull = objective.ridge * theta
    shift = inverse @ pull
    scatter = moments.scatter
    if rows is not None:
        scatter = scatter - np.outer(pull, pull) / rows
    law = combine(wide, scatter, noise, size)
    if noise.added_to != "linear term":
        moved = np.eye(size) + inverse * objective.ridge
        law = replace(law, privacy=noise.scale**2 * (moved @ moved.T))
    low = np.maximum(values, HIDDEN * deviation)
    far = np.asarray((vectors / low) @ (vectors.T @ pull))
    doubt = deviation**2 / 2 * (far @ far * np.eye(size) + np.outer(far, far))
    spread, chance = law.mixture
    doubtful = wide @ doubt @ wide / float(spread @ chance)
    along = (vectors.T @ shift) ** 2 @ strong
    smooth = _smooth_scatter(scatter, moments.scatter_deviation, vectors, strong)
    return PlainLaw(
        shift,
        replace(law, privacy=law.privacy + doubtful),
        vectors[:, values < floor],
        absent,
        math.sqrt(along / _total_curvature(objective, moments)),
        wide @ smooth @ wide,
        _dispersion(objective, smooth, np.asarray((vectors * strong) @ vectors.T)),
    )


def _smooth_scatter(
    scatter: Array, deviation: float, vectors: Array, curvature: Array
) -> Array:
    """Shrink the scatter of gradients towards a multiple of the curvature.

    The multiple is the ratio of their traces. The curvature has eigenvectors ``vectors``
    and eigenvalues ``curvature``. In coordinates in which the curvature is the identity,
    the noisy diagonal entries of the scatter are shrunk towards the ratio, and the other
    entries towards 0. The eigenvalues of the scatter are raised to at least a quarter of
    the ratio.
    """
    root = np.sqrt(curvature)
    inner = vectors.T @ scatter @ vectors
    least = deviation * math.sqrt(len(root))
    ratio = max(float(np.trace(inner)), least) / float(np.sum(curvature))
    if ratio <= 0:
        return np.zeros_like(scatter)
    scale = np.outer(root, root)
    kept = ratio**2 / (ratio**2 + (deviation / scale) ** 2)
    drawn = kept * inner / scale + (1 - kept) * ratio * np.eye(len(root))
    half = vectors * root
    return np.asarray(half @ floored(drawn, ratio / 4) @ half.T)


def _dispersion(objective: Objective, scatter: Array, curvature: Array) -> float | None:
    """Estimate the mean of squared slopes divided by the mean curvature.

    If records have weights v = X/‖x‖, each contributes with weight 1 to the trace of the
    scatter, with 1/v to the trace of the curvature, and with v² and v to the entries of
    both for the constant column. If log v is normal, these two traces and two entries
    determine the unweighted ratio. With case weights w, the scatter is weighted by w² and
    the curvature by w. This cannot be corrected from the released moments, so the result is
    None.
    """
    if objective.case_weights:
        return None
    whole = float(np.trace(scatter)) / float(np.trace(curvature))
    if not objective.weighted or not objective.height:
        return whole
    constant = max(float(curvature[-1, -1]), 1e-300)
    own = float(scatter[-1, -1]) / constant
    inverse = float(np.trace(curvature)) / constant
    inverse *= (objective.height / objective.row_norm) ** 2
    return whole**0.75 * own**0.25 * math.sqrt(inverse)


def _total_curvature(objective: Objective, moments: Moments) -> float:
    """Estimate the sum of the curvatures φ″ of all records, or a lower bound on it.

    The estimate is the diagonal entry for the constant column, divided by the squared
    constant. Without a constant column, the trace divided by the largest squared row norm
    is a lower bound.
    """
    responses = objective.responses
    diagonal = np.diag(moments.curvature)
    found = float(np.sum(diagonal)) / objective.row_square
    if objective.height:
        found = float(np.sum(diagonal[-responses:])) / responses / objective.height**2
    return max(found, moments.curvature_deviation)


def cleared(moments: Moments, unidentified: Array) -> Moments:
    """Return the moments after projecting out the given directions."""
    basis = np.linalg.qr(unidentified)[0]
    keep = np.eye(len(unidentified)) - basis @ basis.T
    curvature, scatter = (keep @ m @ keep for m in (moments.curvature, moments.scatter))
    return replace(moments, curvature=curvature, scatter=scatter)


def combine(inverse: Array, scatter: Array, noise: NoiseRecord, size: int) -> Uncertainty:
    """Return the error distribution of the coefficients.

    ``inverse`` is the inverse of the Hessian H of the objective, and ``scatter`` is the sum
    of the outer products of gradients.
    """
    through = inverse if noise.added_to == "linear term" else np.eye(size)
    return Uncertainty(
        inverse @ scatter @ inverse,
        noise.scale**2 * (through @ through.T),
        noise.kind,
        size,
    )


def lowered(matrix: Array, by: float) -> Array:
    """Return a matrix with its eigenvalues lowered by an amount, though not below 0."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values - by, 0.0)) @ vectors.T)


def published_uncertainty(
    objective: Objective, theta: Array, noise: NoiseRecord, moments: Moments, rows: int
) -> Uncertainty:
    """Return the error distribution given by the formulas of Wang, Kifer and Lee (2018).

    The formulas are restated for an objective that is a sum over records, not a mean.
    """
    ridge = objective.strong_convexity
    pull = objective.ridge * theta
    curvature = floored(moments.curvature + np.diag(objective.ridge), ridge)
    scatter = floored(moments.scatter - np.outer(pull, pull) / rows, ridge)
    inverse = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
    return combine(inverse, scatter, noise, len(theta))


def floored(matrix: Array, floor: float) -> Array:
    """Return a matrix with its eigenvalues raised to at least ``floor``."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)
