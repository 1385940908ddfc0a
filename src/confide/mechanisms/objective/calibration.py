"""Noise and ridge for objective perturbation, from public information alone.

For every noise scale returned, the guarantee has been evaluated at exactly this scale.
Searches end on the side where the bound holds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from confide._types import Array
from confide.accounting import (
    ORDERS,
    ApproxEvent,
    Event,
    GaussianEvent,
    LossBound,
    LossLines,
    PureEvent,
    ZcdpEvent,
    approx_delta,
    as_pure,
    copies_delta,
    event_of,
    gaussian_shift,
    grown_delta,
    rho_of_curve,
    sharp_renyi,
    smallest_spherical,
    spherical_delta,
)
from confide.errors import InvalidParameter
from confide.mechanisms.base import NoiseChoice
from confide.mechanisms.objective.ball import has_ball_bound, smallest_ball_scale
from confide.noise import Gaussian, Noise, SphericalLaplace
from confide.objectives import Objective, is_logistic
from confide.privacy import (
    Approx,
    Neighbours,
    Pure,
    Zcdp,
    gaussian_mu,
    round_down,
    round_up,
)
from confide.privacy.guarantee import EXACT
from confide.privacy.rounding import MARGIN

SLOPE_CELLS = 512
NORMAL_KNOTS = 160


@dataclass(frozen=True, slots=True)
class LogDet:
    """Points (a, U) that bound the log-determinant term G(a) of a record with loss slope a.

    On every cell of a grid of slopes, the concave G is bounded by the extension of a
    neighbouring chord. The points are the two ends of these extensions. The maximum of G
    plus any convex function of a is at most the maximum of U plus this function over the
    points.
    """

    slopes: Array
    heights: Array


def log_det(objective: Objective, *, coupled: bool = True) -> LogDet:
    """Return the points that bound G, of equal height if κ is bounded by a constant."""
    steepest, ratio = objective.slope_bound, objective.row_square
    ratio /= objective.strong_convexity
    peak = objective.loss.slope_of_peak_curvature
    if not (coupled and objective.loss.monotone and math.isfinite(peak)):
        worst = round_up(math.log1p(objective.smoothness / objective.strong_convexity))
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
    return LogDet(slopes, np.concatenate([lefts, rights]) + MARGIN * height.max())


def pure_rate(
    objective: Objective, epsilon: float, neighbours: Neighbours, *, coupled: bool = True
) -> float:
    """Return the largest rate γ of spherical Laplace noise, or 0 if no rate is possible."""
    if coupled and is_logistic(objective.loss):
        enough = round_up(neighbours.shifts * objective.row_square / epsilon)
        if objective.strong_convexity >= enough:
            return round_down(epsilon / (neighbours.shifts * objective.row_norm))
    points = log_det(objective, coupled=coupled)
    reach = points.slopes * objective.row_norm
    if neighbours is Neighbours.REPLACE_ONE:
        reach = reach + objective.lipschitz
    left = round_down(epsilon) - points.heights
    if left.min() <= 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return round_down(np.min(left / reach))


def gaussian_bounds(
    objective: Objective, sigma: float, *, coupled: bool = True
) -> tuple[LossBound, LossBound]:
    """Return bounds on the privacy loss, for removing and for adding a record."""
    mu = round_up(objective.lipschitz / sigma)
    folded = not objective.loss.monotone
    absent = gaussian_shift(mu, folded=folded)
    points = log_det(objective, coupled=coupled)
    if len(points.slopes) == 2:
        offset = float(points.heights[0])
        return gaussian_shift(mu, offset=offset, folded=folded), absent
    reach = points.slopes * objective.row_norm / sigma
    saturation = objective.reach * sigma / objective.strong_convexity
    knots = np.linspace(-8.0, min(12.0, max(0.0, saturation) + 1.0), NORMAL_KNOTS)
    values = _envelope(points.heights + reach**2 / 2, reach, knots)
    return LossBound(knots, values, mu), absent


def replace_one_bound(objective: Objective, sigma: float) -> LossBound:
    """Return a loss bound W(z) under replace-one, for Rényi divergences only."""
    mu = round_up(objective.lipschitz / sigma)
    points = log_det(objective)
    folded = not objective.loss.monotone
    if len(points.slopes) == 2:
        start = round_up(float(points.heights[0]) + 2 * mu**2)
        return LossBound(np.zeros(1), np.array([start]), 2 * mu, folded)
    reach = points.slopes * objective.row_norm / sigma
    saturation = objective.reach * sigma / objective.strong_convexity
    knots = np.linspace(0.0, min(12.0, saturation + 1.0), NORMAL_KNOTS)
    values = _envelope(points.heights + (reach + mu) ** 2 / 2, reach + mu, knots)
    return LossBound(knots, values, 2 * mu, folded)


def _envelope(heights: Array, slopes: Array, knots: Array) -> Array:
    values = np.max(heights[:, None] + slopes[:, None] * knots[None, :], axis=0)
    size = float(np.max(heights) + np.max(slopes) * np.max(np.abs(knots)))
    return np.maximum.accumulate(values) + MARGIN * size


def gdp_ridge(objective: Objective, sigma: float) -> float:
    """Return the least ridge for which the logistic log-determinant term costs nothing."""
    return round_up(2 * sigma**2 * (objective.reach / objective.row_norm))


PAGE = "objective-perturbation.md#"


def _theorem(name: str) -> str:
    """Return page and anchor of a theorem, in its version for rounded results."""
    return PAGE + name + EXACT


MOST_NOISE = 1e6
"""Largest noise scale tried, as a multiple of the scale that the gradients alone
require."""
CACHE_SIZE = 256
"""Number of calibrations that are cached for repeated fits."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Noise on the linear term, with the theorem that covers it and the privacy event."""

    noise: Noise
    theorem: str
    event: Event

    @property
    def pure(self) -> bool:
        """Whether the noise satisfies pure epsilon-DP."""
        return as_pure((self.event,)) is not None


def pure(
    objective: Objective,
    budget: Pure,
    neighbours: Neighbours,
    copies: int,
    *,
    coupled: bool,
) -> Perturbation:
    """Return spherical Laplace noise; every copy gets an equal share of pure epsilon."""
    each = float(budget.epsilon) / copies
    rate = pure_rate(objective, each, neighbours, coupled=coupled)
    if rate <= 0:
        raise too_little_ridge(objective, each)
    theorem = "objective-pure" if coupled else "objective-separate"
    return Perturbation(
        SphericalLaplace(round_up(1 / rate)), _theorem(theorem), PureEvent(budget.epsilon)
    )


@lru_cache(maxsize=CACHE_SIZE)
def approx(
    objective: Objective,
    budget: Approx,
    neighbours: Neighbours,
    copies: int,
    *,
    coupled: bool,
    choice: NoiseChoice = "gaussian",
) -> Perturbation:
    """Return Gaussian noise for (epsilon, delta), or smaller noise if ``choice`` allows it.

    One alternative is spherical Laplace noise, for epsilon alone or for epsilon and delta.
    Another is Gaussian noise for logistic coefficients in a ball, where the gradients of
    two records are closer to each other.
    """
    if choice == "gaussian":
        return _gaussian(objective, budget, neighbours, copies, coupled=coupled)
    found = _composable(objective, budget, neighbours, copies, coupled=coupled)
    if choice == "composable" or copies > 1:
        return found
    epsilon, size = round_down(budget.epsilon), objective.dimension

    def cost(scale: float) -> float:
        return spherical_profile(objective, neighbours, scale, coupled=coupled)(epsilon)

    scale = smallest_spherical(cost, budget, size, found.noise.deviation(size))
    if scale is None:
        return found
    theorem = _theorem("objective-spherical")
    return Perturbation(SphericalLaplace(scale), theorem, event_of(budget))


def spherical_profile(
    objective: Objective, neighbours: Neighbours, scale: float, *, coupled: bool = True
) -> Callable[[float], float]:
    """Return a function that bounds delta at any epsilon for spherical Laplace noise.

    If the loss is not monotone, slopes may have either sign, and the bound is doubled.
    Replacing a record is treated as removing one record and adding another.
    """
    size, shift = objective.dimension, round_up(objective.lipschitz / scale)
    points = log_det(objective, coupled=coupled)
    chords = LossLines(points.heights, points.slopes / objective.slope_bound).chords(shift)
    ways = 1 if objective.loss.monotone else 2
    logistic = coupled and is_logistic(objective.loss)

    def present(epsilon: float) -> float:
        free = logistic and (
            objective.strong_convexity * epsilon >= round_up(objective.row_square)
        )
        return ways * spherical_delta(size, shift, epsilon, None if free else chords)

    def absent(epsilon: float) -> float:
        return ways * spherical_delta(size, shift, epsilon)

    def replaced(epsilon: float) -> float:
        half = round_down(epsilon / 2)
        return round_up(present(half) + grown_delta(absent(half), half))

    if neighbours is Neighbours.REPLACE_ONE:
        return replaced
    return lambda epsilon: max(present(epsilon), absent(epsilon))


def _composable(
    objective: Objective,
    budget: Approx,
    neighbours: Neighbours,
    copies: int,
    *,
    coupled: bool,
) -> Perturbation:
    """Return the smallest noise whose guarantee composes well with other releases."""
    each, size = float(budget.epsilon) / copies, objective.dimension
    found: list[Perturbation] = []
    if pure_rate(objective, each, neighbours, coupled=coupled) > 0:
        whole = Pure(budget.epsilon)
        found.append(pure(objective, whole, neighbours, copies, coupled=coupled))
        least = _least_sigma(objective, budget, neighbours, copies)
        if found[0].noise.deviation(size) <= least:
            return found[0]
    gaussian = _gaussian(objective, budget, neighbours, copies, coupled=coupled)
    found.append(gaussian)
    if neighbours is Neighbours.REPLACE_ONE and copies == 1 and has_ball_bound(objective):
        epsilon, delta = round_down(budget.epsilon), round_down(budget.delta)
        sigma = smallest_ball_scale(objective, epsilon, delta, gaussian.noise.scale)
        if sigma < gaussian.noise.scale:
            event, theorem = event_of(budget), _theorem("objective-ball")
            found.append(Perturbation(Gaussian(sigma), theorem, event))
    return shortest(found, size)


def shortest(found: Sequence[Perturbation], dimension: int) -> Perturbation:
    """Return the perturbation whose noise has the least root mean square."""
    return min(found, key=lambda one: one.noise.deviation(dimension))


def _least_sigma(
    objective: Objective, budget: Approx, neighbours: Neighbours, copies: int
) -> float:
    """Return the scale of Gaussian noise that the gradients alone require."""
    shift = gaussian_mu(budget.epsilon, budget.delta)
    return round_up(neighbours.shifts * objective.lipschitz * math.sqrt(copies) / shift)


def _gaussian(
    objective: Objective,
    budget: Approx,
    neighbours: Neighbours,
    copies: int,
    *,
    coupled: bool,
) -> Perturbation:
    """Return Gaussian noise for (epsilon, delta)."""
    epsilon, delta = round_down(budget.epsilon), round_down(budget.delta)
    event = ApproxEvent(budget.epsilon, budget.delta)
    shift = gaussian_mu(budget.epsilon, budget.delta)
    least = _least_sigma(objective, budget, neighbours, copies)
    if coupled and is_logistic(objective.loss):
        if objective.strong_convexity >= gdp_ridge(objective, least):
            whole = GaussianEvent(shift)
            return Perturbation(Gaussian(least), _theorem("objective-logistic"), whole)
        ratio = objective.row_norm / least
        enough = round_up(objective.row_square / (epsilon + ratio**2 / 2))
        alone = copies == 1 and neighbours is Neighbours.ADD_REMOVE
        if alone and objective.strong_convexity >= enough:
            return Perturbation(Gaussian(least), _theorem("objective-logistic"), event)
    if objective.strong_convexity <= _least_ridge(objective, epsilon / copies):
        raise too_little_ridge(objective, epsilon / copies)
    if neighbours is Neighbours.REPLACE_ONE:
        theorem = "objective-gaussian-replace-one"
    else:
        theorem = "objective-gaussian-add-remove" if copies == 1 else "objective-joint"

    def cost(sigma: float) -> float:
        return profile(objective, neighbours, sigma, copies, coupled=coupled)(epsilon)

    try:
        sigma = smallest_scale(cost, delta, least)
    except OverflowError:
        raise too_little_ridge(objective, epsilon / copies) from None
    return Perturbation(Gaussian(sigma), _theorem(theorem), event)


@lru_cache(maxsize=CACHE_SIZE)
def zcdp(
    objective: Objective,
    budget: Zcdp,
    neighbours: Neighbours,
    copies: int,
    *,
    coupled: bool,
) -> Perturbation:
    """Return Gaussian noise for zCDP, or spherical Laplace noise if it is smaller."""
    rho = round_down(budget.rho / copies)
    event = ZcdpEvent(budget.rho)
    shift = round_down(math.sqrt(2 * budget.rho))
    least = round_up(neighbours.shifts * objective.lipschitz * math.sqrt(copies) / shift)
    if (
        coupled
        and is_logistic(objective.loss)
        and objective.strong_convexity >= gdp_ridge(objective, least)
    ):
        whole = GaussianEvent(shift)
        return Perturbation(Gaussian(least), _theorem("objective-logistic"), whole)
    found: list[Perturbation] = []
    rate = pure_rate(objective, math.sqrt(2 * rho), neighbours, coupled=coupled)
    if rate > 0:
        theorem = "objective-pure" if coupled else "objective-separate"
        noise = SphericalLaplace(round_up(1 / rate))
        found.append(Perturbation(noise, _theorem(theorem), event))
    if coupled:
        curve, theorem = _zcdp_curve(objective, neighbours)
        if curve(MOST_NOISE * least) <= rho:
            sigma = smallest_scale(curve, rho, least)
            found.append(Perturbation(Gaussian(sigma), _theorem(theorem), event))
    if not found:
        raise too_little_ridge(objective, math.sqrt(2 * rho))
    return shortest(found, objective.dimension)


def profile(
    objective: Objective,
    neighbours: Neighbours,
    sigma: float,
    copies: int = 1,
    *,
    coupled: bool = True,
) -> Callable[[float], float]:
    """Return a function that bounds delta at any epsilon, for Gaussian noise."""
    present, absent = gaussian_bounds(objective, sigma, coupled=coupled)
    if neighbours is Neighbours.ADD_REMOVE:
        if copies > 1:
            return lambda epsilon: copies_delta(present, copies, epsilon)
        return lambda epsilon: max(present.delta(epsilon), absent.delta(epsilon))
    curve = copies * replace_one_bound(objective, sigma).renyi(ORDERS)

    def replaced(epsilon: float) -> float:
        by_renyi = approx_delta(ORDERS, curve, epsilon)
        if copies > 1:
            return by_renyi
        return min(by_renyi, *(chained(part * epsilon, epsilon) for part in _PARTS))

    def chained(part: float, epsilon: float) -> float:
        rest = absent.delta(round_down(epsilon - part))
        return round_up(present.delta(part) + grown_delta(rest, part))

    return replaced


_PARTS = tuple(0.3 + 0.025 * i for i in range(21))


def _zcdp_curve(
    objective: Objective, neighbours: Neighbours
) -> tuple[Callable[[float], float], str]:
    def add_remove(sigma: float) -> float:
        present, absent = gaussian_bounds(objective, sigma)
        with_record, without = _tilted_renyi(objective, sigma)
        return max(
            rho_of_curve(np.minimum(sharp_renyi(forth, back, ORDERS), tilted), forth)
            for forth, back, tilted in (
                (present, absent, with_record),
                (absent, present, without),
            )
        )

    def replace_one(sigma: float) -> float:
        bound = replace_one_bound(objective, sigma)
        direct = rho_of_curve(bound.renyi(ORDERS), bound)
        return min(direct, 4 * add_remove(sigma))

    if neighbours is Neighbours.ADD_REMOVE:
        return add_remove, "objective-gaussian-add-remove"
    return replace_one, "objective-gaussian-replace-one"


def _tilted_renyi(objective: Objective, sigma: float) -> tuple[Array, Array]:
    """Return bounds on D_α at `ORDERS`, for removing and for adding a record.

    In the proof the record has weight α or 1 − α: multinomial.md#multinomial-renyi. Every
    cell of a grid of slopes is bounded by its steeper end and its largest curvature.
    """
    points = log_det(objective)
    steep, heights = points.slopes.reshape(2, -1)[1], points.heights.reshape(2, -1)
    square = (steep * objective.row_norm / sigma) ** 2 / 2
    above = ORDERS - 1
    with np.errstate(over="ignore"):
        ratio = np.expm1(heights.max(axis=0))
        bend = ratio**2 / 2
    present = ORDERS * float(np.max(square + bend))
    absent = np.full(len(ORDERS), np.inf)
    near = above * ratio.max() * (1 + MARGIN) < 1
    x = above[near, None]
    bends = (-x * np.log1p(ratio) - np.log1p(-x * ratio)) / x + MARGIN * ratio
    absent[near] = np.max(ORDERS[near, None] * square + bends, axis=1)
    return present * (1 + MARGIN), absent * (1 + MARGIN)


def smallest_scale(cost: Callable[[float], float], limit: float, least: float) -> float:
    """Return a scale with cost within the limit, nearly the smallest (within 0.01 %)."""
    high = least
    while cost(high) > limit:
        high *= 1.5
        if high > 1e9 * least:
            raise OverflowError
    if high == least:
        return least

    def excess(log_scale: float) -> float:
        value = cost(math.exp(log_scale))
        return math.log(value / limit) if value > 0 else -700.0

    root = brentq(
        excess, math.log(high / 1.5), math.log(high), xtol=5e-5, rtol=1e-12, maxiter=60
    )
    scale = math.exp(root + 5e-5)
    return scale if cost(scale) <= limit else high


def _least_ridge(objective: Objective, epsilon: float) -> float:
    """Return the ridge at which the log-determinant term alone uses up epsilon."""
    return objective.smoothness / math.expm1(min(epsilon, 700.0))


def too_little_ridge(objective: Objective, epsilon: float) -> InvalidParameter:
    """Return an error for an l2 too small for the budget; it suggests another value."""
    smallest = _least_ridge(objective, epsilon)
    got, comfortable = objective.strong_convexity, 4 * objective.smoothness / epsilon
    must = f"greater than {smallest:.6g}" if got <= smallest else "larger"
    return InvalidParameter(
        "l2",
        f"{must} for this budget and loss",
        got,
        f"Leave it at 'auto', or try {max(comfortable, 4 * got):.3g}.",
    )
