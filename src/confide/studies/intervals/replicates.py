"""Intervals for many replicates at once: noisy moments, error distributions, quantiles.

The distributions are those of `confide.mechanisms.intervals`, but in plain floating-point
arithmetic, because simulated results are not released.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline

from confide._types import Array
from confide.mechanisms.intervals.laws import CAUTION
from confide.mechanisms.intervals.moments import (
    MomentCalibration,
    effective_length,
    noises,
)
from confide.mechanisms.release import POSTPROCESSING_SEED, NoiseRecord, Uncertainty
from confide.noise import NOISES, Entropy, Generator, RoundNoise
from confide.noise.symmetric import symmetric_stretch
from confide.objectives import Objective
from confide.studies.intervals.population import as_matrices

SAMPLES = 10_000
"""Number of simulated errors from which the paper computes the ends of an interval."""
DRAWN_SETS, DRAWN_PLACES = 40, 100
"""Number of sets of simulated errors, and of noise shares for which each set is tabulated.

The noise share is the share of privacy noise in the squared scale of an error."""
LENGTHS = 40
"""Number of coefficient norms at which the noise scale is computed, not interpolated."""
SPLINE_PLACES = 400
"""Number of noise shares at which exact quantiles are computed, not interpolated."""


def noisy_moments(
    calibration: MomentCalibration,
    thetas: Array,
    sums: tuple[Array, Array],
    entropy: Entropy,
) -> tuple[Array, Array, Array]:
    """Add noise to the moment matrices of each replicate, as a private release does.

    ``thetas`` has one column per replicate. Both arrays of ``sums`` hold one matrix per
    replicate: Σ φ″xxᵀ, the curvature, and Σ φ′²xxᵀ, the second moments of the gradients.
    Return noisy versions of both, and for each replicate the standard deviation of the
    noise on the curvature.
    """
    size, count = thetas.shape
    if calibration.recipe == "published":
        scales = _by_length(
            lambda length: [one.scale for one in noises(calibration, length)],
            np.linalg.norm(thetas, axis=0),
        )
        found = []
        for part, scale, matrices in zip(calibration.parts, scales, sums, strict=True):
            unit = _draw_many(part.kind, count, size * size, entropy)
            noise = (scale[:, None] * unit).reshape(count, size, size)
            found.append(matrices + (noise + noise.transpose(0, 2, 1)) / 2)
        return found[0], found[1], scales[0] * _deviation(calibration, size * size)
    lengths = [
        effective_length(calibration.objective, one, calibration.heights)
        for one in thetas.T
    ]
    scale, weight = _by_length(
        lambda length: [noises(calibration, length)[0].scale, calibration.weight(length)],
        np.array(lengths),
    )
    stretch = symmetric_stretch(size)
    entries = len(stretch)
    both = bool(weight[0])
    unit = _draw_many(calibration.parts[0].kind, count, (1 + both) * entries, entropy)
    unit *= scale[:, None]
    curvature = sums[0] + as_matrices((unit[:, :entries] * stretch).T, size)
    spread = scale * _deviation(calibration, unit.shape[1])
    if not both:
        return curvature, curvature, spread
    wider = unit[:, entries:] * stretch / weight[:, None]
    return curvature, sums[1] + as_matrices(wider.T, size), spread


def _by_length(values: Callable[[float], list[float]], lengths: Array) -> Array:
    """Evaluate functions of the coefficient norm by interpolation, one row per function."""
    places = np.unique(lengths)
    if len(places) > LENGTHS:
        places = np.linspace(places[0], places[-1], LENGTHS)
    known = np.array([values(float(place)) for place in places])
    return np.stack([np.interp(lengths, places, column) for column in known.T])


def _deviation(calibration: MomentCalibration, size: int) -> float:
    """Return the standard deviation of one coordinate of the noise at scale 1."""
    noise: RoundNoise = NOISES[calibration.parts[0].kind](1.0)
    return noise.deviation(size)


def _draw_many(kind: str, count: int, size: int, entropy: Entropy) -> Array:
    noise: RoundNoise = NOISES[kind](1.0)
    return noise.draw_many(count, size, entropy)


def published_errors(
    objective: Objective,
    thetas: Array,
    noise: NoiseRecord,
    moments: tuple[Array, Array, Array],
    rows: int,
) -> tuple[Array, Array]:
    """Return the sampling covariance and the squared scale of the noise, as in the paper.

    Both arrays have one matrix per replicate.
    """
    ridge = objective.strong_convexity
    pull = objective.ridge * thetas.T
    curvature = _raised(moments[0] + np.diag(objective.ridge), 0.0, ridge)
    scatter = _raised(moments[1] - _outer(pull) / rows, 0.0, ridge)
    return _combined(np.asarray(np.linalg.inv(curvature)), scatter, noise)


def tight_errors(
    objective: Objective,
    thetas: Array,
    noise: NoiseRecord,
    moments: tuple[Array, Array, Array],
    rows: int | None,
) -> tuple[Array, Array]:
    """Return the sampling covariance and the squared scale of the noise, by tight bounds.

    Both arrays have one matrix per replicate. ``rows`` is None if the number of rows is
    private.
    """
    curvature = _raised(moments[0], CAUTION * moments[2][:, None], 0.0)
    scatter = moments[1]
    if rows is not None:
        scatter = scatter - _outer(objective.ridge * thetas.T) / rows
    inverse = np.asarray(np.linalg.inv(curvature + np.diag(objective.ridge)))
    return _combined(inverse, scatter, noise)


def _outer(vectors: Array) -> Array:
    return vectors[:, :, None] * vectors[:, None, :]


def _raised(matrices: Array, less: Array | float, floor: float) -> Array:
    """Subtract ``less`` from the eigenvalues, then raise them to at least ``floor``."""
    values, vectors = np.linalg.eigh(matrices)
    kept = np.maximum(values - less, floor)
    return np.asarray((vectors * kept[:, None, :]) @ vectors.transpose(0, 2, 1))


def _combined(inverse: Array, scatter: Array, noise: NoiseRecord) -> tuple[Array, Array]:
    through = inverse
    if noise.added_to != "linear term":
        through = np.broadcast_to(np.eye(inverse.shape[1]), inverse.shape)
    privacy = noise.scale**2 * (through @ through.transpose(0, 2, 1))
    return inverse @ scatter @ inverse, privacy


def is_normal(kind: str, size: int) -> bool:
    """Return whether errors are normal with this kind of noise on ``size`` coefficients."""
    return Uncertainty(np.eye(size), np.eye(size), kind, size).is_normal


def half_lengths(errors: tuple[Array, Array], kind: str, level: float) -> Array:
    """Return half the length of each interval, one row per replicate."""
    whole, share = _scale_and_share(errors)
    factor = _quantiles(kind, share.shape[1], level)(share)
    return np.asarray(factor * np.sqrt(whole))


def _scale_and_share(errors: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the squared scale of each coefficient's error, and the share due to noise."""
    sampling, privacy = (np.diagonal(one, axis1=1, axis2=2) for one in errors)
    whole = np.maximum(sampling, 0.0) + privacy
    return whole, privacy / whole


def _shares(count: int) -> Array:
    """Return points from 0 to 1, densest at the ends, where quantiles are most curved."""
    return (1 - np.cos(np.linspace(0, np.pi, count))) / 2


@lru_cache(maxsize=8)
def _quantiles(kind: str, size: int, level: float) -> CubicSpline:
    """Return the quantile of |√(1−s)·Z + √s·T| as a function of the noise share s.

    Z is standard normal, and T is one coordinate of the noise at scale 1.
    """
    shares = _shares(SPLINE_PLACES)
    law = Uncertainty(np.diag(1 - shares), np.diag(shares), kind, size)
    return CubicSpline(shares, law.half_lengths(np.eye(SPLINE_PLACES), level))


def drawn_offsets(
    errors: tuple[Array, Array], kind: str, level: float, rng: Generator
) -> tuple[Array, Array]:
    """Return the ends of intervals, minus the estimates, from simulated errors.

    The paper simulates errors to find the ends. Sampling errors are normal and the noise is
    spherical, so the distribution of a coefficient's error depends only on its scale and on
    the share due to noise. To save time, each interval uses one of several tabulated sets
    of simulated errors, chosen at random.
    """
    whole, share = _scale_and_share(errors)
    ends = _drawn_quantiles(kind, share.shape[1], level)
    places = _shares(ends.shape[2])
    right = np.clip(np.searchsorted(places, share), 1, len(places) - 1)
    weight = (share - places[right - 1]) / (places[right] - places[right - 1])
    chosen = rng.integers(DRAWN_SETS, size=share.shape)
    low, high = (
        (1 - weight) * one[chosen, right - 1] + weight * one[chosen, right] for one in ends
    )
    return low * np.sqrt(whole), high * np.sqrt(whole)


@lru_cache(maxsize=16)
def _drawn_quantiles(kind: str, size: int, level: float) -> Array:
    """Tabulate lower and upper quantiles of simulated errors, by set and noise share."""
    entropy = Entropy.seeded(POSTPROCESSING_SEED)
    shares = _shares(DRAWN_PLACES)
    low = math.floor((1 - level) / 2 * (SAMPLES - 1))
    high = SAMPLES - 1 - low
    found = np.empty((2, DRAWN_SETS, DRAWN_PLACES))
    for number in range(DRAWN_SETS):
        normal = entropy.normal(SAMPLES)
        noise = _draw_many(kind, SAMPLES, size, entropy)[:, 0]
        for place, share in enumerate(shares):
            drawn = math.sqrt(1 - share) * normal + math.sqrt(share) * noise
            drawn.partition((low, high))
            found[:, number, place] = drawn[low], drawn[high]
    return found
