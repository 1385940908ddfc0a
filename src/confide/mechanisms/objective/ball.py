"""Gaussian noise for logistic coefficients in a ball, under replace-one.

With coefficients in a ball, the slopes of the loss can be large for two records at once
only if the gradients have similar directions, and then their difference is small.
The proof is in docs/proofs/objective-perturbation.md#objective-ball.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import expit, ndtr

from confide._types import Array
from confide.accounting import LossBound
from confide.objectives import Objective, is_logistic
from confide.privacy import round_up
from confide.privacy.rounding import FUNCTION_ERROR, MARGIN

ANGLES, SLOPES, DIRECTIONS = 256, 320, 192
KNOTS = np.linspace(0.0, 4.5, 10)
"""Knots of the bound on the privacy loss as a piecewise linear function of the norm of the
noise, relative to the least norm at which this bound can exceed epsilon."""
STEP, MOST_TURNS = 1.0005, 12
LARGEST_POWER = 200.0
"""Largest exponent for which an exponential is computed. Above it a probability is bounded
by 1."""
LOWEST, LARGEST_SHORT = -1.2784645, 0.2784646
"""Margin below which shorter rows have larger gradients, and the largest gradient norm
times |margin| there, in units of X."""
HALF = 0.5
"""Bound on the gradient norm of a short, upweighted row at negative margins, in units of
X."""


def has_ball_bound(objective: Objective) -> bool:
    """Whether the theorem for logistic coefficients in a ball applies.

    The theorem does not cover offsets or case weights.
    """
    plain = not objective.case_weights and not objective.offset_bound
    confined = is_logistic(objective.loss) and math.isfinite(objective.public.coef_norm)
    return plain and confined


def smallest_ball_scale(
    objective: Objective, epsilon: float, delta: float, most: float
) -> float:
    """Return a noise scale that satisfies (epsilon, delta), close to the smallest.

    The result is at most ``most``. The search uses the worst angle at an initial guess of
    the scale. The result is checked at all angles, and the search continues with the worst
    of them until the check succeeds.
    """
    pairs, shift = _pairs(objective), objective.row_norm
    most_apart = max(float(pair.length.max()) for pair in pairs)
    guess = most * min(most_apart / 2, 1.0)
    pair = max(pairs, key=lambda one: one.quick_delta(shift / guess, epsilon))
    low = guess / 4
    for _ in range(MOST_TURNS):
        high = most
        while high > STEP * low:
            middle = math.sqrt(low * high)
            if pair.delta(shift / middle, epsilon) <= delta:
                high = middle
            else:
                low = middle
        found, pair = _worst(objective, high, epsilon)
        if high >= most or found <= delta:
            return high
        low = high
    return most


def ball_delta(objective: Objective, sigma: float, epsilon: float) -> float:
    """Return an upper bound on delta at epsilon, under replace-one."""
    return _worst(objective, sigma, epsilon)[0]


def _worst(objective: Objective, sigma: float, epsilon: float) -> tuple[float, "_Pair"]:
    """Return the largest bound on delta over all angles between gradients, and its `_Pair`.

    Quick bounds for all angles determine which angles need a sharp bound.
    """
    shift = round_up(objective.row_norm / sigma)
    pairs = _pairs(objective)
    quick = np.array([pair.quick_delta(shift, epsilon) for pair in pairs])
    found, worst = 0.0, pairs[0]
    for place in np.argsort(-quick):
        if quick[place] <= found:
            break
        sharp = min(pairs[place].delta(shift, epsilon), float(quick[place]))
        if sharp > found:
            found, worst = sharp, pairs[place]
    return min(1.0, found), worst


@dataclass(frozen=True, slots=True)
class _Pair:
    """Bounds for two records with an angle between ``low`` and ``high``.

    The angle is between the gradient of one record and the negative gradient of the other.
    The slope of the loss of the first record lies in one of the cells of a grid. The arrays
    have one entry per cell: ``own`` is its upper end, ``other`` the largest slope of the
    second record, ``length`` the largest distance between the gradients, and ``height`` the
    log-determinant term.
    """

    low: float
    high: float
    own: Array
    other: Array
    length: Array
    height: Array

    def quick_delta(self, shift: float, epsilon: float) -> float:
        """Return a quick bound on delta that assumes the largest distance everywhere."""
        found = self._losses(shift, shift * self.length[:, None], epsilon)
        if found is None:
            return 1.0
        line = LossBound(found.knots, found.values[:, 0], float(found.slope[0]))
        arc = float(found.over_lengths(epsilon)[0])
        return round_up(line.delta(epsilon) + self.high / math.tau * arc)

    def delta(self, shift: float, epsilon: float) -> float:
        """Return a sharp bound on delta, by integration over the direction of the noise.

        The directions are divided into cells, on each of which the privacy loss is bounded.
        """
        places = np.linspace(-math.pi / 2, self.high + math.pi / 2, DIRECTIONS + 1)
        width = float(places[1] - places[0]) * (1 + MARGIN)
        along = np.maximum(np.cos(places), 0.0)
        beside = np.maximum(np.cos(places - self.low), np.cos(places - self.high))
        beside = np.maximum(beside, 0.0) / math.cos(self.high - self.low)
        reach = np.outer(self.own, along) + np.outer(self.other, beside)
        reach = np.maximum(reach[:, 1:], reach[:, :-1]) * (shift / math.cos(width))
        found = self._losses(shift, reach * (1 + MARGIN) + MARGIN * shift, epsilon)
        if found is None:
            return 1.0
        return round_up(width / math.tau * float(found.over_lengths(epsilon).sum()))

    def _losses(self, shift: float, reach: Array, epsilon: float) -> "_Losses | None":
        """Return the bounds W on the privacy loss, per direction of the noise.

        The result is None if a bound exceeds epsilon even for noise of norm 0.
        """
        start = self.height + (shift * self.length) ** 2 / 2
        if float(start.max()) * (1 + MARGIN) + MARGIN >= epsilon:
            return None
        slope = reach.max(axis=0) * (1 + MARGIN)
        nearest = (epsilon - float(start.max())) / float(slope.max())
        knots = np.append(0.0, nearest * (1 - MARGIN) + KNOTS)
        values = np.stack([np.max(start[:, None] + r * reach, axis=0) for r in knots])
        values += MARGIN * (1 + values[-1:])
        return None if values[0].max() >= epsilon else _Losses(knots, values, slope)


@dataclass(frozen=True, slots=True)
class _Losses:
    """Bound W on the privacy loss as a function of the norm of the noise.

    ``values`` has one row per knot and one column per direction of the noise.
    """

    knots: Array
    values: Array
    slope: Array

    def over_lengths(self, epsilon: float) -> Array:
        """Return E(1 − e^{ε−W})₊ for every direction.

        The expectation is over the norm of a standard normal vector in the plane.
        """
        knots = self.knots[:, None]
        slopes = np.diff(self.values, axis=0) / np.diff(knots, axis=0)
        slopes = np.concatenate([slopes, self.slope[None, :]])
        offsets = self.values - slopes * knots
        ends = np.append(self.knots[1:], np.inf)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.where(slopes > 0, (epsilon - offsets) / slopes, np.inf)
        starts = np.minimum(np.maximum(knots, crossing * (1 - MARGIN)), ends)
        near, far = ndtr(-(starts + slopes)), ndtr(-(ends + slopes))
        with np.errstate(invalid="ignore"):
            error = FUNCTION_ERROR * (2 + (starts + slopes) ** 2) * near
        error[~np.isfinite(error)] = 0.0
        power = epsilon - offsets + slopes**2 / 2
        weights = slopes * np.exp(np.minimum(power, LARGEST_POWER))
        total = np.sum(weights * (near - far + 2 * error), axis=0)
        total *= math.sqrt(math.tau) * (1 + MARGIN)
        return np.where((power > LARGEST_POWER).any(axis=0), 1.0, total)


@lru_cache(maxsize=8)
def _pairs(objective: Objective) -> tuple[_Pair, ...]:
    """Return bounds for two records, for all cells of angles between their gradients."""
    bound, weighted = objective.public.margin_bound * (1 + MARGIN), objective.weighted
    grid = np.linspace(0.0, 1.0, SLOPES + 1)
    least = _margins(grid[:-1], weighted=weighted)
    possible = least <= bound
    least, own = np.clip(least[possible], -bound, bound), grid[1:][possible]
    peak = np.clip(0.5, grid[:-1][possible], own)
    ratio = objective.row_square / objective.strong_convexity
    height = np.log1p(peak * (1 - peak) * ratio) * (1 + MARGIN)
    found = []
    for low, high in pairwise(np.linspace(0.0, math.pi, ANGLES + 1).tolist()):
        turned = np.minimum(high + np.arccos(least / bound) + MARGIN, math.pi)
        free = least <= -bound * math.cos(high) + MARGIN * bound
        margin = np.where(free, bound, bound * (MARGIN - np.cos(turned)))
        other = _steepest(margin, weighted=weighted)
        square = own**2 + other**2 + 2 * own * other * max(math.cos(low), 0.0)
        length = np.sqrt(square) * (1 + MARGIN)
        found.append(_Pair(low, high * (1 + MARGIN), own, other, length, height))
    return tuple(found)


def _steepest(margin: Array, *, weighted: bool) -> Array:
    """Return the largest norm of a gradient in a given direction, in units of X.

    ``margin`` is the margin of a row of the largest norm in this direction.
    """
    with np.errstate(divide="ignore"):
        short = HALF if weighted else LARGEST_SHORT / np.abs(margin)
    turn = 0.0 if weighted else LOWEST
    return np.where(margin < turn, short, expit(margin)) * (1 + MARGIN)


def _margins(slopes: Array, *, weighted: bool) -> Array:
    """Return the least margin at which gradients can have given norms, in units of X.

    This is the inverse of `_steepest`, rounded down.
    """
    with np.errstate(divide="ignore"):
        flat = -LARGEST_SHORT / slopes
        steep = np.log(slopes) - np.log1p(-slopes)
    if weighted:
        found = np.where(slopes <= HALF, -np.inf, steep)
    else:
        found = np.where(steep < LOWEST, flat, steep)
    return np.asarray(found - MARGIN * (1 + np.abs(found)))
