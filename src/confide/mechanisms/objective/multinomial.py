"""Noise for the perturbed multinomial objective, from public information alone.

The gradient of a record, (p − e_y)xᵀ, has no fixed direction, so the rules for binary
losses do not apply. All formulas are proved in docs/proofs/multinomial.md. There,
m = √2·X/σ bounds the gradient of a record in units of the noise scale σ, and λ = XX̄/Λ is
the constant of its log-determinant term.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from confide._types import Array
from confide.accounting import (
    ORDERS,
    ApproxEvent,
    LossBound,
    LossMixture,
    PureEvent,
    ZcdpEvent,
    approx_delta,
    grown_delta,
)
from confide.errors import InvalidParameter
from confide.mechanisms.base import NoiseChoice
from confide.mechanisms.objective.calibration import (
    CACHE_SIZE,
    Perturbation,
    shortest,
    smallest_scale,
)
from confide.noise import Gaussian, SphericalLaplace
from confide.objectives import Multinomial, Objective
from confide.objectives.multinomial import ROOT_TWO
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    gaussian_mu,
    round_down,
    round_up,
)
from confide.privacy.guarantee import EXACT
from confide.privacy.rounding import FUNCTION_ERROR

PAGE = "multinomial.md#"
THEOREMS = tuple(
    PAGE + name + EXACT
    for name in ("multinomial-pure", "multinomial-gaussian", "multinomial-renyi")
)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Constants for the privacy loss of one record: X, λ = XX̄/Λ and the number of classes.

    X is slightly increased, because the computed basis is orthonormal only up to rounding.
    """

    reach: float
    ratio: float
    classes: int

    @classmethod
    def of(cls, objective: Objective) -> "Geometry":
        """Return the constants of an objective, rounded up."""
        loss = objective.loss
        assert isinstance(loss, Multinomial)  # noqa: S101
        reach, longest = (
            round_up(length * ROOT_TWO / math.sqrt(2))
            for length in (objective.row_norm, objective.reach)
        )
        ratio = round_up(round_up(reach * longest) / objective.strong_convexity)
        return cls(reach, ratio, loss.classes)

    def shift(self, sigma: float) -> float:
        """Return m = √2·X/σ, rounded up."""
        return round_up(math.sqrt(2) * self.reach / sigma)

    def pure_rate(self, epsilon: float, shifts: int) -> float:
        """Return the largest rate γ of spherical Laplace noise; 0 if none is possible."""
        room, ratio = round_down(epsilon), self.ratio
        if round_up(4 * shifts * ratio) <= room:
            return round_down(room / (shifts * math.sqrt(2) * self.reach))
        if round_up(2 * ratio) >= room:
            return 0.0
        if shifts == 1:
            rate = 2 * math.sqrt(ratio * (room - 2 * ratio))
        else:
            rate = 2 * (math.sqrt(room * ratio) - math.sqrt(2) * ratio)
        return max(0.0, round_down(rate - 1e-12 * room) / self.reach)

    def loss_bounds(self, sigma: float) -> tuple[LossBound | LossMixture, LossBound]:
        """Return bounds on the privacy loss, for removing and for adding a record.

        The second bound is mz + m²/2 for a normal z conditioned to exceed its (K−2)/(K−1)
        quantile. The first bound is the same if λ <= m²/4. Otherwise it is a mixture of
        bounds, one for every cell of a grid for the gap between the leading class and the
        next.
        """
        others, shift = self.classes - 1, self.shift(sigma)
        start = -float(ndtri(1 / others)) - 1e-12 if others > 2 else 0.0
        first = round_up(shift * start + shift**2 / 2)
        absent = LossBound(np.array([start]), np.array([first]), shift, True, others)
        excess = round_up(self.ratio - round_down((1 - 1e-12) * shift**2 / 4))
        if excess <= 0:
            return absent, absent
        edges, chances = _lags(others - 1)
        bounds = [
            self._lagging(shift, excess, *pair)
            for pair in zip([-math.inf, *edges], [*edges, math.inf], strict=True)
        ]
        return LossMixture.of(bounds, others * chances), absent

    def _lagging(self, shift: float, excess: float, low: float, high: float) -> LossBound:
        """Return the bound M(z) for a given gap between the leading class and the next.

        The gap is z/√2 plus a number from ``low`` to ``high``.
        """
        reach = shift / math.sqrt(2)
        start = max(-LARGEST_NORMAL, -math.sqrt(2) * high)
        turn, stop = start, (2 * excess - shift**2 / 2) / shift
        if low > -math.inf:
            turn = max(start, -math.sqrt(2) * low)
            stop = max(stop, math.sqrt(2) * (2 * excess / reach - low))
        stop = min(max(stop, turn + 1), LARGEST_NORMAL)
        knots = np.unique(np.append(start, np.linspace(turn, stop, KNOTS)))
        lag = np.zeros(len(knots))
        if low > -math.inf:
            lag = np.maximum(0.0, knots / math.sqrt(2) + low) * (reach / (2 * excess))
        lead = (shift * knots + shift**2 / 2) / (2 * excess)
        values = 2 * excess * _largest_gain(lead, lag, 1 - 1 / (self.classes - 1))
        values = np.maximum.accumulate(values) + SLACK * (1 + np.abs(values))
        return LossBound(knots, values, shift, high < math.inf, 1)

    def renyi(self, orders: Array, sigma: float) -> tuple[Array, Array]:
        """Return bounds on Rényi divergences, for removing and for adding a record."""
        square, ratio, share = self._parts(sigma)
        present = orders * (square + share * max(0.0, ratio**2 / 2 - square) / 2)
        above = orders - 1
        near = np.maximum(0.0, ratio**2 / 2 * (0.5 + above * self._tail(above)))
        near = orders * square + share * np.maximum(0.0, near - orders * square / 2)
        far = orders * square + math.log(self.classes - 1) / above
        absent = np.minimum(near, far)
        return present * (1 + FUNCTION_ERROR), absent * (1 + FUNCTION_ERROR)

    def rho(self, sigma: float) -> float:
        """Return rho under add-remove: sup D_α/α over all orders, in both directions."""
        square, ratio, share = self._parts(sigma)
        present = square + share * max(0.0, ratio**2 / 2 - square) / 2
        above = 2 * CUTS / ratio
        near = ratio**2 / 2 * (0.5 + above * self._tail(above)) / (1 + above)
        near = share * np.maximum(0.0, near - square / 2)
        far = math.log(self.classes - 1) / (above * (1 + above))
        absent = square + float(np.min(np.maximum(near, far)))
        return round_up(max(present, absent) * (1 + FUNCTION_ERROR))

    def _parts(self, sigma: float) -> tuple[float, float, float]:
        """Return m²/2, λ and (K−1)/K."""
        return self.shift(sigma) ** 2 / 2, self.ratio, 1 - 1 / self.classes

    def _tail(self, above: Array) -> Array:
        """Return an upper bound on (−log(1 − t) − t)/t² at t = (α−1)λ/2, or ∞ if t >= 1.

        ``above`` contains α − 1.
        """
        t = above * self.ratio / 2
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            series = 0.5 + t / (3 * (1 - t))
            closed = (-np.log1p(-t) - t) / t**2 * (1 + 1e-12)
            found = np.where(t < 0.01, series, closed)
        return np.where(t < 1, found, np.inf)


CUTS = np.geomspace(1e-3, 0.999, 600)
"""Candidates for the order α at which one Rényi bound takes over from another, as
(α − 1)·λ/2."""


LARGEST_NORMAL, KNOTS, LAG_CELLS, SLACK = 14.0, 32, 96, 1e-11


def _largest_gain(lead: Array, lag: Array, share: float) -> Array:
    """Maximise the concave s·T + s − s² + ½κ(s − G)₊² over 0 <= s <= 1.

    T is ``lead``, G is ``lag`` and κ is ``share``.
    """
    alone = np.minimum((lead + 1) / 2, lag)
    both = (lead + 1 - share * lag) / (2 - share)
    found = [
        s * (lead + 1 - s) + share * np.maximum(s - lag, 0.0) ** 2 / 2
        for s in (np.clip(alone, 0.0, 1.0), np.clip(both, 0.0, 1.0))
    ]
    return np.maximum(*found)


@lru_cache(maxsize=CACHE_SIZE)
def _lags(others: int) -> tuple[tuple[float, ...], Array]:
    """Return cells for (u + v)/2 − R, with upper bounds on their probabilities.

    u and v are standard normal, and R is the maximum of ``others`` standard normal
    variables.
    """
    edges = np.linspace(-5.0, 3.5, LAG_CELLS + 1)
    places = np.linspace(-9.0, 9.0, 4001)
    density = others * np.exp(-(places**2) / 2) / math.sqrt(2 * math.pi)
    density *= ndtr(places) ** (others - 1) * (places[1] - places[0])
    below = ndtr(math.sqrt(2) * (edges[:, None] + places)) @ density
    chances = np.diff(np.concatenate([[0.0], below, [1.0]]))
    return tuple(edges.tolist()), np.maximum(chances, 0.0) + 1e-12


def perturbation(
    objective: Objective,
    budget: Budget,
    neighbours: Neighbours,
    copies: int,
    choice: NoiseChoice,
) -> Perturbation:
    """Return noise for the linear term, and its privacy event.

    For (epsilon, delta) the noise is Gaussian, or spherical Laplace noise for epsilon alone
    if that is smaller and the ``choice`` allows it.
    """
    if copies != 1:
        raise InvalidParameter("copies", "1 for the multinomial loss", copies)
    match budget:
        case Pure():
            return _pure(objective, budget, neighbours)
        case Approx():
            found = _approx(objective, budget, neighbours)
            rate = Geometry.of(objective).pure_rate(
                float(budget.epsilon), neighbours.shifts
            )
            if choice == "gaussian" or rate <= 0:
                return found
            alone = _pure(objective, Pure(budget.epsilon), neighbours)
            return shortest((found, alone), objective.dimension)
        case Zcdp():
            return _zcdp(objective, budget, neighbours)


def _pure(objective: Objective, budget: Pure, neighbours: Neighbours) -> Perturbation:
    rate = Geometry.of(objective).pure_rate(float(budget.epsilon), neighbours.shifts)
    if rate <= 0:
        raise too_little_ridge(objective, float(budget.epsilon))
    noise = SphericalLaplace(round_up(1 / rate))
    return Perturbation(noise, THEOREMS[0], PureEvent(budget.epsilon))


@lru_cache(maxsize=CACHE_SIZE)
def _approx(objective: Objective, budget: Approx, neighbours: Neighbours) -> Perturbation:
    epsilon, delta = round_down(budget.epsilon), round_down(budget.delta)
    shift = gaussian_mu(budget.epsilon, budget.delta)
    least = round_up(neighbours.shifts * objective.lipschitz / shift)

    def cost(sigma: float) -> float:
        return profile(objective, neighbours, sigma)(epsilon)

    try:
        sigma = smallest_scale(cost, delta, least)
    except OverflowError:
        raise too_little_ridge(objective, epsilon) from None
    event = ApproxEvent(budget.epsilon, budget.delta)
    return Perturbation(Gaussian(sigma), THEOREMS[1], event)


@lru_cache(maxsize=CACHE_SIZE)
def _zcdp(objective: Objective, budget: Zcdp, neighbours: Neighbours) -> Perturbation:
    geometry, rho = Geometry.of(objective), round_down(budget.rho)
    least = round_up(neighbours.shifts * objective.lipschitz / math.sqrt(2 * rho))

    def cost(sigma: float) -> float:
        return round_up(neighbours.shifts**2 * geometry.rho(sigma))

    try:
        sigma = smallest_scale(cost, rho, least)
    except OverflowError:
        raise too_little_ridge(objective, math.sqrt(rho)) from None
    return Perturbation(Gaussian(sigma), THEOREMS[2], ZcdpEvent(budget.rho))


NOISE_SHARE = {Pure: 0.5, Approx: 1.0, Zcdp: 1.0}
"""Least automatic ridge, by type of budget, in units of the expected norm of the noise
divided by a guess at ‖θ‖."""
RIDGE_PER_NOISE = {Approx: 0.45, Zcdp: 1.25}
"""Automatic ridge, by type of budget, in units of X̄ times the noise scale that the
gradients alone require."""


def comfortable_ridge(
    objective: Objective, budget: Budget, neighbours: Neighbours
) -> float:
    """Return a ridge with which the log-determinant term costs little or nothing."""
    shifts = neighbours.shifts
    match budget:
        case Pure(epsilon=epsilon):
            return 4 * shifts * objective.row_square / float(epsilon) * (1 + 1e-9)
        case Approx(epsilon=epsilon, delta=delta):
            shift = gaussian_mu(epsilon, delta)
        case Zcdp(rho=rho):
            shift = math.sqrt(2 * rho)
    noise = shifts * objective.lipschitz / shift
    return RIDGE_PER_NOISE[type(budget)] * objective.reach * noise


def profile(
    objective: Objective, neighbours: Neighbours, sigma: float
) -> Callable[[float], float]:
    """Return a function that bounds delta at any epsilon, for Gaussian noise."""
    geometry = Geometry.of(objective)
    present, absent = geometry.loss_bounds(sigma)
    rem, add = geometry.renyi(ORDERS, sigma)
    replaced = (2 * ORDERS) / (2 * ORDERS - 1) * geometry.renyi(2 * ORDERS - 1, sigma)[0]
    replaced += geometry.renyi(2 * ORDERS, sigma)[1]
    replaced *= 1 + FUNCTION_ERROR

    def with_record(epsilon: float) -> float:
        return min(present.delta(epsilon), approx_delta(ORDERS, rem, epsilon))

    def without(epsilon: float) -> float:
        return min(absent.delta(epsilon), approx_delta(ORDERS, add, epsilon))

    def chained(part: float, epsilon: float) -> float:
        rest = without(round_down(epsilon - part))
        return round_up(with_record(part) + grown_delta(rest, part))

    if neighbours is Neighbours.ADD_REMOVE:
        return lambda epsilon: max(with_record(epsilon), without(epsilon))
    return lambda epsilon: min(
        approx_delta(ORDERS, replaced, epsilon),
        *(chained(part * epsilon, epsilon) for part in PARTS),
    )


PARTS = tuple(0.3 + 0.025 * i for i in range(21))


def too_little_ridge(objective: Objective, epsilon: float) -> InvalidParameter:
    """Return an error for an l2 too small for the budget; it suggests another value."""
    unit, got = objective.row_square / epsilon, objective.strong_convexity
    return InvalidParameter(
        "l2",
        f"greater than about {max(2 * unit, got):.3g} for this budget and the multinomial "
        "loss",
        got,
        f"Leave it at 'auto', or try {max(16 * unit, 4 * got):.3g}.",
    )
