"""How much a perturbed objective reveals: log-determinant and noise, bounded together.

For a record with slope a the privacy loss is at most G(a) = log(1 + κ(a)X²/Λ) plus what
the noise contributes, which grows with a. The logistic loss has κ(a) = a(1 − a): where
the slope is largest there is no curvature, so the two never cost their full price at
once. Losses with constant κ, and those whose slope changes sign, use sup κ.

docs/proofs/objective-perturbation.md proves every bound in this file.
"""

import math
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.accounting import LossBound, gaussian_shift
from confide.objectives import Objective, is_logistic
from confide.privacy import Neighbours

SLOPE_CELLS = 512
NORMAL_KNOTS = 160


@dataclass(frozen=True, slots=True)
class LogDet:
    """Points (a, U) such that G plus anything convex peaks at one of them.

    On every cell of a grid the concave G is replaced by the neighbouring chord extended
    over the cell, which lies above it; its two ends are the points.
    """

    slopes: Array
    heights: Array


def log_det(objective: Objective, *, coupled: bool = True) -> LogDet:
    """Return G as points; one point if κ is constant or is taken to be."""
    steepest, ratio = objective.slope_bound, objective.row_norm**2
    ratio /= objective.strong_convexity
    peak = objective.loss.slope_of_peak_curvature
    if not (coupled and objective.loss.monotone and math.isfinite(peak)):
        worst = math.log1p(objective.smoothness / objective.strong_convexity)
        return LogDet(np.array([0.0, steepest]), np.array([worst, worst]))
    grid = np.linspace(0.0, steepest, SLOPE_CELLS + 1)
    height = np.log1p(objective.loss.max_curvature(grid, objective.public) * ratio)
    chord = np.diff(height) / np.diff(grid)
    forth = np.append(chord[1:], 0.0)
    lefts = height[1:] - forth * np.diff(grid)
    rights = height[1:].copy()
    lefts[-1] = height[-2]
    rights[-1] = height[-2] + chord[-2] * (grid[-1] - grid[-2])
    slopes = np.concatenate([grid[:-1], grid[1:]])
    return LogDet(slopes, np.concatenate([lefts, rights]))


def pure_rate(
    objective: Objective, epsilon: float, neighbours: Neighbours, *, coupled: bool = True
) -> float:
    """Return the largest rate γ of spherical Laplace noise; 0 if there is none."""
    if coupled and is_logistic(objective.loss):
        enough = neighbours.shifts * objective.row_norm**2 / epsilon
        if objective.strong_convexity >= enough:
            return epsilon / (neighbours.shifts * objective.row_norm)
    points = log_det(objective, coupled=coupled)
    reach = points.slopes * objective.row_norm
    if neighbours is Neighbours.REPLACE_ONE:
        reach = reach + objective.lipschitz
    left = epsilon - points.heights
    if left.min() <= 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(np.min(left / reach)) * (1 - 1e-12)


def gaussian_bounds(
    objective: Objective, sigma: float, *, coupled: bool = True
) -> tuple[LossBound, LossBound]:
    """Return loss bounds for Gaussian noise: record in the numerator, and not in it."""
    mu = objective.lipschitz / sigma
    folded = not objective.loss.monotone
    absent = gaussian_shift(mu, folded=folded)
    points = log_det(objective, coupled=coupled)
    if len(points.slopes) == 2:
        offset = float(points.heights[0])
        return gaussian_shift(mu, offset=offset, folded=folded), absent
    reach = points.slopes * objective.row_norm / sigma
    ripe = objective.row_norm * sigma / objective.strong_convexity
    knots = np.linspace(-8.0, min(12.0, max(0.0, ripe) + 1.0), NORMAL_KNOTS)
    values = _envelope(points.heights + reach**2 / 2, reach, knots)
    return LossBound(knots, values, mu), absent


def replace_one_bound(objective: Objective, sigma: float) -> LossBound:
    """Return W(z) of objective-gaussian-replace-one: for Renyi divergences only."""
    mu = objective.lipschitz / sigma
    points = log_det(objective)
    folded = not objective.loss.monotone
    if len(points.slopes) == 2:
        start = float(points.heights[0]) + 2 * mu**2
        return LossBound(np.zeros(1), np.array([start]), 2 * mu, folded)
    reach = points.slopes * objective.row_norm / sigma
    ripe = objective.row_norm * sigma / objective.strong_convexity
    knots = np.linspace(0.0, min(12.0, ripe + 1.0), NORMAL_KNOTS)
    values = _envelope(points.heights + (reach + mu) ** 2 / 2, reach + mu, knots)
    return LossBound(knots, values, 2 * mu, folded)


def _envelope(heights: Array, slopes: Array, knots: Array) -> Array:
    values = np.max(heights[:, None] + slopes[:, None] * knots[None, :], axis=0)
    return np.maximum.accumulate(values)
