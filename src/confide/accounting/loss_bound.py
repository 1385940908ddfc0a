"""Bounds on privacy losses: convex, piecewise-linear functions of one normal variable.

Profiles, Renyi divergences and zCDP are all read off them, and so is what it costs to run
a mechanism a random number of times and keep the best
(docs/proofs/private-tuning.md, random-stopping). A mixture is for bounds that depend on a
second variable, cell by cell.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr

from confide._types import Array
from confide.errors import InvalidParameter
from confide.privacy.rounding import (
    FUNCTION_ERROR,
    MARGIN,
    gaussian_delta,
    round_down,
    round_up,
)


@dataclass(frozen=True, slots=True)
class LossBound:
    """M(z): constant left of the first knot, linear between, ``slope`` after the last.

    ``folded`` puts |z| in place of z; the first knot is then 0. With more ``folds`` z lies
    above the quantile that it exceeds with a chance of 1/folds, which is the first knot:
    no law of the largest of so many normal variables is farther to the right.
    """

    knots: Array
    values: Array
    slope: float
    folded: bool = False
    folds: int = 2

    @property
    def _sides(self) -> int:
        """How many times a chance of z counts."""
        return self.folds if self.folded else 1

    def pieces(self) -> tuple[Array, Array, Array, Array]:
        """Return left ends, right ends, intercepts and slopes of the linear pieces."""
        lefts = np.concatenate([[-np.inf], self.knots])
        rights = np.concatenate([self.knots, [np.inf]])
        slopes = np.concatenate(
            [[0.0], np.diff(self.values) / np.diff(self.knots), [self.slope]]
        )
        anchors = np.concatenate([self.values[:1], self.values])
        places = np.concatenate([self.knots[:1], self.knots])
        pieces = lefts, rights, anchors - slopes * places, slopes
        if self.folded:
            return tuple(part[1:] for part in pieces)  # type: ignore[return-value]
        return pieces

    def delta(self, epsilon: float) -> float:
        """Return E(1 − e^{ε−M})₊ for any real epsilon, rounded up.

        A difference of two chances may be off by a part of both, which is added.
        """
        total = piece_deltas(self.pieces(), epsilon, self.largest)
        return min(1.0, round_up(float(total.sum()) * self._sides))

    @property
    def largest(self) -> float:
        """The largest number that enters the line of a piece."""
        steepest = max(self.slope, 0.0)
        return float(np.max(np.abs(self.values)) + steepest * np.max(np.abs(self.knots)))

    def log_moments(self, powers: Array, error: float = FUNCTION_ERROR) -> Array:
        """Return log E e^{k·M} for every power k, rounded up.

        Every term is moved by a share ``error`` of all that enters it; down if negative.
        """
        lefts, rights, offsets, slopes = self.pieces()
        shift = np.multiply.outer(powers, slopes)
        line = np.multiply.outer(powers, offsets)
        inside, top = _log_between(lefts - shift, rights - shift)
        size = 1 + np.abs(line) + np.abs(powers)[:, None] * self.largest + shift**2 - top
        with np.errstate(invalid="ignore"):
            lost = np.where(np.isfinite(inside), np.exp(top - inside), 0.0)
        parts = line + shift**2 / 2 + inside + error * size * (1 + lost)
        total = logsumexp(parts, axis=-1) + math.log(self._sides)
        return np.asarray(total)

    def renyi(self, orders: Array) -> Array:
        """Bound the Renyi divergences of these orders."""
        return self.log_moments(orders - 1) / (orders - 1) * (1 + FUNCTION_ERROR)

    def chance_above(self, losses: Array) -> Array:
        """Return P(M > loss) for losses in rising order, rounded up.

        It is that of a loss larger by `loss_error` at most.
        """
        reach = self.knots[-1] + (losses - self.values[-1]) / self.slope
        inside = losses <= self.values[-1]
        within = _last_place(self.knots, self.values, np.minimum(losses, self.values[-1]))
        reach = np.where(inside, within, reach)
        chance = ndtr(-reach) * self._sides
        chance = chance * (1 + FUNCTION_ERROR * (2 + 2 * reach**2))
        return np.where(losses < self.values[0], 1.0, np.minimum(chance, 1.0))

    def loss_error(self, most: float) -> float:
        """Bound what the place of a loss can be off by, as a loss, up to ``most``."""
        return MARGIN * (most + self.largest)


def piece_deltas(
    pieces: tuple[Array, Array, Array, Array], epsilon: float, largest: Array | float
) -> Array:
    """Return what every linear piece adds to delta; ``largest`` is what enters its line."""
    lefts, rights, offsets, slopes = pieces
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        starts = np.where(
            slopes > 0,
            np.maximum(lefts, (epsilon - offsets) / slopes),
            np.where(offsets > epsilon, lefts, rights),
        )
        starts = np.minimum(starts, rights)
        shift = epsilon - offsets + slopes**2 / 2
        near, near_top = _log_between(starts, rights)
        far, far_top = _log_between(starts + slopes, rights + slopes)
        total = np.exp(near) - np.exp(shift + far)
        size = 1 + abs(epsilon) + np.abs(offsets) + largest + slopes**2
        error = np.exp(near_top) * (size - near_top)
        error += np.exp(shift + far_top) * (size - far_top)
    total = np.maximum(total, 0.0) + FUNCTION_ERROR * error
    return np.where(starts < rights, total, 0.0)


def gaussian_shift(mu: float, *, offset: float = 0.0, folded: bool = False) -> LossBound:
    """Return offset + (μz + μ²/2)₊, or with |z| in place of z."""
    if folded:
        return LossBound(np.zeros(1), np.array([offset + mu**2 / 2]), mu, folded=True)
    return LossBound(np.array([-mu / 2]), np.array([offset]), mu)


def sharp_renyi(forth: LossBound, back: LossBound, orders: Array) -> Array:
    """Bound D_α of a pair with loss bound ``forth`` whose reverse has ``back``.

    Formula (3) of objective-gaussian-add-remove: it remembers that losses may be
    negative, which `LossBound.renyi` forgets, and falls back to it for large orders.
    """
    plain = forth.renyi(orders)
    exponent = np.minimum((orders - 1) * plain, 500.0)
    least = forth.log_moments(-np.ones(1))
    most = back.log_moments(-np.ones(1), -FUNCTION_ERROR)
    total = (
        np.exp(exponent)
        + (orders - 1) * np.exp(least)
        + np.exp(back.log_moments(-orders))
        - orders * np.exp(most)
    )
    rounding = FUNCTION_ERROR * (orders + (1 + exponent) * np.exp(exponent))
    sharp = np.log(np.maximum(total + rounding, 1.0)) / (orders - 1)
    sharp *= 1 + FUNCTION_ERROR
    return np.where(exponent < 500, np.minimum(plain, sharp), plain)


ORDERS = 1 + np.geomspace(1e-3, 1e5, 500)


def zcdp_rho(pairs: tuple[tuple[LossBound, LossBound], ...]) -> float:
    """Return rho such that every pair's D_α is at most rho·α for all orders."""
    return max(
        rho_of_curve(sharp_renyi(forth, back, ORDERS), forth) for forth, back in pairs
    )


def rho_of_curve(divergences: Array, bound: LossBound) -> float:
    """Return sup D_α/α, rounded up, for divergences at `ORDERS`.

    (α − 1)D_α is convex in α and 1/(α(α − 1)) is too, so between two orders D_α/α exceeds
    the larger of its ends by a factor of at most 1 + (t + 1/t − 2)/4, t being the ratio of
    α(α − 1) there. Below any order D_α is not larger, so that the curve may be followed
    from the best one on; beyond the last one a closed form counts.
    """
    last = float(ORDERS[-1])
    start = float(np.interp(0.0, bound.knots, bound.values))
    tail = bound.slope**2 / 2 + start / last + math.log(2) / (last * (last - 1))
    ends = divergences / ORDERS
    product = ORDERS * (ORDERS - 1)
    ratio = product[1:] / product[:-1]
    inside = np.maximum(ends[1:], ends[:-1]) * (1 + (ratio + 1 / ratio - 2) / 4)
    onwards = np.maximum.accumulate(inside[::-1])[::-1]
    return round_up(max(float(np.maximum(divergences[:-1], onwards).min()), tail))


def approx_delta(orders: Array, divergences: Array, epsilon: float) -> float:
    """Return the best delta that Renyi divergences give at epsilon, rounded up."""
    part, size = np.log1p(-1 / orders), divergences + abs(epsilon)
    logs = (orders - 1) * (divergences - epsilon + part) - np.log(orders)
    logs += FUNCTION_ERROR * (2 + (orders - 1) * (size - part) + np.log(orders))
    return min(1.0, round_up(math.exp(min(0.0, float(logs.min())))))


def _last_place(knots: Array, values: Array, losses: Array) -> Array:
    """Return the largest z with M(z) <= loss among the knots' span."""
    right = np.searchsorted(values, losses, side="right")
    low = np.clip(right - 1, 0, len(knots) - 1)
    high = np.clip(right, 0, len(knots) - 1)
    rise = values[high] - values[low]
    part = np.divide(losses - values[low], rise, out=np.zeros_like(losses), where=rise > 0)
    return np.asarray(knots[low] + part * (knots[high] - knots[low]))


def _log_between(low: Array, high: Array) -> tuple[Array, Array]:
    """Return log(Φ(high) − Φ(low)) without cancellation in either tail.

    The second value is the logarithm of the tail that the difference was taken from.
    """
    flip = low > 0
    near = np.where(flip, -low, high)
    far = np.where(flip, -high, low)
    top, bottom = log_ndtr(near), log_ndtr(far)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = top + np.log1p(-np.exp(np.minimum(bottom - top, 0.0)))
    return np.where(high > low, inside, -np.inf), top


PROFILE_CELLS = 96
REACH_DEVIATIONS = 9.0
LARGEST_EXPONENT = 700.0
HALVINGS = 50


def gaussian_left(
    profile: Callable[[float], float], epsilon: float, delta: float, most: float
) -> float:
    """Return the largest shift, up to ``most``, that (epsilon, delta) leaves; 0 if none.

    A profile is a falling, convex function of e^ε, so its chords bound it: the search
    relies on nothing else (docs/proofs/private-intervals.md#interval-release).
    """
    start = max(0.0, epsilon - REACH_DEVIATIONS * most - most**2 / 2)
    grid = np.linspace(start, epsilon + REACH_DEVIATIONS * most, PROFILE_CELLS)
    heights = np.minimum.accumulate([profile(float(point)) for point in grid])
    if _total(grid, heights, epsilon, most) <= delta:
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _total(grid, heights, epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low


def grown_delta(delta: float, epsilon: float) -> float:
    """Return e^ε times delta, or 1, which bounds any chance, where e^ε is no double."""
    return math.exp(epsilon) * delta if epsilon <= LARGEST_EXPONENT else 1.0


def pure_left(epsilon: float, delta: float, mu: float) -> float:
    """Return the largest pure epsilon that fits beside a shift; 0 if there is none.

    Of all pairs with likelihood ratios up to exp(e) randomised response is the worst, so
    together with a shift delta is at most pΨ(ε − e, μ) + (1 − p)Ψ(ε + e, μ), where
    p = 1/(1 + exp(−e)).
    """

    def total(part: float) -> float:
        often = round_up(1 / (1 + math.exp(-part)))
        near = gaussian_delta(round_down(epsilon - part), mu)
        far = gaussian_delta(round_down(epsilon + part), mu)
        return round_up(often * near + round_up(1 - often + MARGIN) * far)

    low, high = 0.0, epsilon
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if total(middle) <= delta:
            low = middle
        else:
            high = middle
    return low


def _total(grid: Array, heights: Array, epsilon: float, mu: float) -> float:
    """Return a bound on the profile of both together, rounded up."""
    below, error = _chances(grid, epsilon, mu, mu / 2)
    below, error = np.append(below, 1.0), np.append(error, 2 * FUNCTION_ERROR)
    total = below[0] + error[0] + (np.diff(below) + error[1:]) @ heights
    return round_up(float(total - _below_steps(grid, heights, epsilon, mu)))


def _below_steps(grid: Array, heights: Array, epsilon: float, mu: float) -> float:
    """Return by how much chords in e^s are less than steps, rounded down.

    Within a cell the chord is the left height less λ of its fall, λ = (e^s − e^a)/(e^b −
    e^a). The mean of λ over the cell has a closed form: weighing the losses of a shift by
    their likelihood ratio gives those of the opposite shift.
    """
    plain, plain_error = _chances(grid, epsilon, mu, mu / 2)
    tilted, tilted_error = _chances(grid, epsilon, mu, -mu / 2)
    with np.errstate(over="ignore"):
        rise = np.expm1(np.diff(grid))
    odds = np.exp(np.minimum(epsilon - grid[:-1], LARGEST_EXPONENT))
    gain = odds * np.diff(tilted) - np.diff(plain)
    wrong = odds * (tilted_error[1:] + tilted_error[:-1])
    wrong += (
        plain_error[1:]
        + plain_error[:-1]
        + 4 * FUNCTION_ERROR * (odds * tilted[1:] + plain[1:]) * (1 + epsilon)
    )
    share = np.maximum(gain - wrong, 0.0) / rise
    return float((1 - MARGIN) * share @ -np.diff(heights))


def _chances(grid: Array, epsilon: float, mu: float, middle: float) -> tuple[Array, Array]:
    """Return chances that ε less a normal loss is below points, and their errors."""
    places = (grid - epsilon) / mu + middle
    found = ndtr(places)
    return found, FUNCTION_ERROR * (2 + places**2 + epsilon / mu) * found


SMALLEST_RHO = 1e-20


def best_of_many_renyi(
    orders: Array, rho: float, *, shape: float, gamma: float, mean: float
) -> Array:
    """Bound the Renyi divergences of the best of K runs, each of them rho-zCDP.

    ρα + (1 + η)·min over β ≥ 1 of [ρ(β − 1) + log(1/γ)/β] + log(E K)/(α − 1).
    """
    rare = -math.log(gamma)
    other = max(1.0, math.sqrt(rare / rho))
    constant = (1 + shape) * (rho * (other - 1) + rare / other)
    return rho * orders + constant + math.log(mean) / (orders - 1)


def rho_of_one_run(
    epsilon: float, delta: float, *, shape: float, gamma: float, mean: float
) -> float:
    """Return a rho of one run so that the best of K runs is (epsilon, delta)-DP."""

    def holds(rho: float) -> bool:
        curve = best_of_many_renyi(ORDERS, rho, shape=shape, gamma=gamma, mean=mean)
        return approx_delta(ORDERS, curve, epsilon) <= delta

    low, high = math.log(SMALLEST_RHO), math.log(2 * epsilon)
    if not holds(math.exp(low)):
        raise InvalidParameter(
            "budget",
            "large enough for so many runs",
            {"epsilon": epsilon, "delta": delta, "runs": mean},
            "Try fewer runs, or a larger delta.",
        )
    for _ in range(60):
        middle = (low + high) / 2
        if holds(math.exp(middle)):
            low = middle
        else:
            high = middle
    return math.exp(low)


@dataclass(frozen=True, slots=True)
class LossMixture:
    """Bounds M(z), each with a weight: that of a cell of another variable.

    The weights need not add up to 1; delta is the weighted sum.
    """

    pieces: tuple[Array, Array, Array, Array]
    weights: Array
    largest: Array

    @classmethod
    def of(cls, bounds: Sequence[LossBound], weights: Array) -> "LossMixture":
        """Put bounds and their weights together."""
        parts = [bound.pieces() for bound in bounds]
        counts = [len(part[0]) for part in parts]
        lefts, rights, offsets, slopes = (
            np.concatenate(one) for one in zip(*parts, strict=True)
        )
        sizes = np.array([bound.largest for bound in bounds])
        return cls(
            (lefts, rights, offsets, slopes),
            np.repeat(weights, counts),
            np.repeat(sizes, counts),
        )

    def delta(self, epsilon: float) -> float:
        """Return the weighted sum of E(1 − e^{ε−M})₊, rounded up."""
        total = piece_deltas(self.pieces, epsilon, self.largest)
        return min(1.0, round_up(float(total @ self.weights)))
