"""Gaussian noise for logistic coefficients in a ball, when one record is replaced.

In a ball no coefficients give both records steep slopes unless their rows point apart, and
then their gradients do not add up. docs/proofs/objective-perturbation.md#objective-ball.
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
"""Where losses are looked at beyond the least length at which they can exceed epsilon."""
STEP, MOST_TURNS = 1.0005, 12
LARGEST_POWER = 200.0
"""Beyond it a power of e is not computed, and a probability is taken to be 1."""
LOWEST, LARGEST_SHORT = -1.2784645, 0.2784646
"""Below this margin a shorter record is steeper: its gradient is this over the margin."""
HALF = 0.5
"""What a short record that counts more may reach at any negative margin."""


def has_ball_bound(objective: Objective) -> bool:
    """Whether coefficients of a logistic loss are confined to a ball.

    The theorem is about margins without offsets, and records without weights of their own.
    """
    plain = not objective.case_weights and not objective.offset_bound
    confined = is_logistic(objective.loss) and math.isfinite(objective.public.coef_norm)
    return plain and confined


def smallest_ball_scale(
    objective: Objective, epsilon: float, delta: float, most: float
) -> float:
    """Return a scale of noise at which delta is kept, near to the smallest; or ``most``.

    The angle that is worst at a first guess leads the search; what is found is checked at
    all angles, and the search goes on with the worst of them until it holds.
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
    """Return a bound on delta at epsilon under replace-one, at most 1."""
    return _worst(objective, sigma, epsilon)[0]


def _worst(objective: Objective, sigma: float, epsilon: float) -> tuple[float, "_Pair"]:
    """Return the largest delta over all angles between the rows, and where it is.

    A quick bound for every angle says which of them need a sharp one.
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
    """Rows whose gradients are at angles from ``low`` to ``high``, and what can happen.

    For cells of slopes: the larger end, the steepest that the other record can be, how
    far the gradients then are apart, and the log-determinant part.
    """

    low: float
    high: float
    own: Array
    other: Array
    length: Array
    height: Array

    def quick_delta(self, shift: float, epsilon: float) -> float:
        """Bound delta as if gradients were as far apart in every direction between."""
        found = self._losses(shift, shift * self.length[:, None], epsilon)
        if found is None:
            return 1.0
        line = LossBound(found.knots, found.values[:, 0], float(found.slope[0]))
        arc = float(found.over_lengths(epsilon)[0])
        return round_up(line.delta(epsilon) + self.high / math.tau * arc)

    def delta(self, shift: float, epsilon: float) -> float:
        """Bound delta by the directions of a normal vector in the plane of the rows."""
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
        """Return W for every direction; None if it exceeds epsilon from the beginning."""
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
    """W as a function of a length, for every direction a column of values at knots."""

    knots: Array
    values: Array
    slope: Array

    def over_lengths(self, epsilon: float) -> Array:
        """Return E(1 − e^{ε−W})₊ for the length of a normal vector in the plane."""
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
    """Return what two records can do, for all angles between their gradients."""
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
    """Return the longest gradient, over X, of a record; a longest row has this margin."""
    with np.errstate(divide="ignore"):
        short = HALF if weighted else LARGEST_SHORT / np.abs(margin)
    turn = 0.0 if weighted else LOWEST
    return np.where(margin < turn, short, expit(margin)) * (1 + MARGIN)


def _margins(slopes: Array, *, weighted: bool) -> Array:
    """Return the least margin at which a gradient has a given length, rounded down."""
    with np.errstate(divide="ignore"):
        flat = -LARGEST_SHORT / slopes
        steep = np.log(slopes) - np.log1p(-slopes)
    if weighted:
        found = np.where(slopes <= HALF, -np.inf, steep)
    else:
        found = np.where(steep < LOWEST, flat, steep)
    return np.asarray(found - MARGIN * (1 + np.abs(found)))
