"""Distribution of the errors of released coefficients, from moments and noise.

Intervals are about the *plain* coefficients, those of the same model without its penalty,
or about the *penalised* ones that are released. Both are post-processing of one release.
``published_uncertainty`` has the formulas of Wang, Kifer and Lee (2018), slips repaired:
their algorithm 2 floors the eigenvalues of both noisy matrices at the ridge (2c of the
mean objective).
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
"""Noisy eigenvalues of the curvature are lowered by this part of the noise's deviation,
and then to 0 if they are negative: too small a curvature makes too wide an interval."""
PLAIN_CAUTION = 1.25
"""The same for plain intervals, which lean on the curvature twice."""
WEAK = 1.0
"""Threshold, in deviations of its noise times the square root of the number of
directions, below which the curvature along one of them cannot be told from 0."""
HIDDEN = 0.5
"""Deviations of noise taken as the curvature of a weak direction where what the
ridge did to it makes other coefficients doubtful."""


def uncertainty(
    objective: Objective,
    theta: Array,
    noise: NoiseRecord,
    moments: Moments,
    rows: int | None,
    *,
    unidentified: Array | None = None,
) -> Uncertainty:
    """Combine moments and noise; ``rows`` is their number where it is public.

    ``unidentified`` has as columns directions that rows are known not to have: there
    the moments are nothing but noise, and are cleared.
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
    """Return what a release says about the coefficients without a penalty.

    The ridge pulled the coefficients by about C⁻¹Λθ̃, which is added again. Directions in
    which noise hides the curvature have a floor for it and are kept as *weak*: nothing is
    said about coefficients that depend on them. docs/proofs/plain-intervals.md.
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
    """Return the scatter of gradients, drawn towards a multiple of the curvature.

    In coordinates in which the curvature (``curvature`` along ``vectors``) is 1, entries
    whose noise is large beside that multiple, the ratio of the traces, are moved to it
    or to 0. No direction has less than a quarter of it.
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
    """Return about the mean of squared slopes over the mean of curvatures.

    Records have weights v = X/‖x‖, and the traces have weights 1 and 1/v, the entries of
    the constant column v² and v. If logarithms of v are normal, these four determine the
    ratio without weights. With weights w of records as well the scatter has w² and the
    curvature w, and nothing that is released distinguishes them.
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
    """Return about the sum of the records' curvatures, or less.

    The constant column shows it; without one, no row is longer than the longest.
    """
    responses = objective.responses
    diagonal = np.diag(moments.curvature)
    found = float(np.sum(diagonal)) / objective.row_square
    if objective.height:
        found = float(np.sum(diagonal[-responses:])) / responses / objective.height**2
    return max(found, moments.curvature_deviation)


def cleared(moments: Moments, unidentified: Array) -> Moments:
    """Return the moments without what noise put into some directions."""
    basis = np.linalg.qr(unidentified)[0]
    keep = np.eye(len(unidentified)) - basis @ basis.T
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
    curvature = floored(moments.curvature + np.diag(objective.ridge), ridge)
    scatter = floored(moments.scatter - np.outer(pull, pull) / rows, ridge)
    inverse = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
    return combine(inverse, scatter, noise, len(theta))


def floored(matrix: Array, floor: float) -> Array:
    """Raise eigenvalues to the floor."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)
