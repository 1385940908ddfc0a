"""The losses of known events on a lattice, rounded upwards.

docs/proofs/noisy-gradients.md (subsampled-gaussian) says which pairs of distributions
dominate random batches; docs/proofs/rounding.md#lattice covers the arithmetic.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from confide._types import AnyArray, Array
from confide.accounting.events import (
    ApproxEvent,
    GaussianEvent,
    KnownEvent,
    PureEvent,
    SubsampledGaussianEvent,
    ZcdpEvent,
)
from confide.accounting.loss_sum import Losses, LossSum, spread_losses
from confide.privacy.rounding import FUNCTION_ERROR, MARGIN, round_up

FINE, COARSE = 48.0, 6.0
"""Lattice points per standard deviation of one step's loss."""
MOST_CELLS = 30_000
"""More of them change epsilon by less than 2e-4 of itself."""
LOST_PART = 1e-4
"""The part of delta that may be spent on losses beyond the lattice."""
LEAST_CHANCE = 1e-300
"""Chances below this are not told apart."""
WHOLE_EVENT = 1e-4
"""How far a pure epsilon may be rounded up in a mixture."""

Both: TypeAlias = tuple[Losses, Losses]
"""The loss where the record is present in the first table, and where it is not."""


def smallest_delta(steps: int) -> float:
    """Return the delta below which the tails of a lattice are beyond doubles."""
    return LEAST_CHANCE * steps / LOST_PART


def lattice_step(event: KnownEvent, *, per_deviation: float = FINE) -> float:
    """Return a distance of lattice points at which rounding costs next to nothing.

    Normal losses keep their means between points, so points are a part of a deviation
    apart; the loss of a pure event is rounded up as a whole.
    """
    match event:
        case GaussianEvent(mu):
            return mu / per_deviation
        case SubsampledGaussianEvent():
            mu, rate = 1 / event.multiplier, float(event.rate)
            deviation = min(mu, rate * math.sqrt(math.expm1(min(mu**2, 600.0))))
            start = mu / 2 if event.sampling == "without-replacement" else ndtri(1e-15)
            ends = np.array([start, mu - ndtri(1e-15)])
            span = float(np.ptp(_losses(ends, mu, rate)))
            cells = MOST_CELLS if per_deviation >= FINE else MOST_CELLS / 4
            return max(deviation / per_deviation, span / cells)
        case _:
            return WHOLE_EVENT


def sum_of_events(
    events: Sequence[KnownEvent], delta: float, step: float
) -> tuple[LossSum, LossSum]:
    """Return the losses of all events together, with the record and without it.

    ``delta`` is where they are going to be read off: a small part of it is spent on losses
    beyond the lattice.
    """
    there, gone = [], []
    for event in events:
        times = event.steps if isinstance(event, SubsampledGaussianEvent) else 1
        lost = max(LOST_PART * delta / (times * len(events)), LEAST_CHANCE)
        present, absent = _losses_of(event, lost, step)
        there.append((present, times))
        gone.append((absent, times))
    return LossSum(tuple(there)), LossSum(tuple(gone))


def losses_epsilon(
    events: Sequence[KnownEvent], delta: float, *, per_deviation: float = FINE
) -> float:
    """Return epsilon at delta for all events together, rounded up."""
    step = min(lattice_step(event, per_deviation=per_deviation) for event in events)
    return max(one.epsilon(delta) for one in sum_of_events(events, delta, step))


def _losses_of(event: KnownEvent, lost: float, step: float) -> Both:
    match event:
        case GaussianEvent(mu):
            present, _ = _sampled(round_up(mu), 1.0, lost, step)
            return present, present
        case SubsampledGaussianEvent():
            mu, rate = round_up(1 / event.multiplier), round_up(event.rate)
            if event.sampling == "without-replacement":
                both = _symmetric(mu, min(rate, 1.0), lost, step)
                return both, both
            return _sampled(mu, min(rate, 1.0), lost, step)
        case PureEvent(epsilon):
            response = _randomised_response(epsilon, Fraction(0), step)
        case ApproxEvent(epsilon, delta):
            response = _randomised_response(epsilon, delta, step)
        case ZcdpEvent():
            raise AssertionError(event)
    return response, response


def _randomised_response(epsilon: Fraction, delta: Fraction, step: float) -> Losses:
    """Return the loss of the worst (epsilon, delta)-DP pair."""
    cells = float(epsilon) / step
    top, bottom = math.ceil(cells * (1 - MARGIN)), -math.floor(cells * (1 + MARGIN))
    rest = round_up(1 - delta)
    masses = np.zeros(top - bottom + 1)
    masses[-1] += rest * round_up(1 / (1 + math.exp(-float(epsilon))))
    masses[0] += max(0.0, rest - float(masses[-1]))
    return Losses(step, bottom, masses, round_up(delta), 4 * MARGIN * float(epsilon))


def _sampled(mu: float, rate: float, lost: float, step: float) -> Both:
    """Return losses of the pair N(0, 1) mixed with N(mu, 1), and N(0, 1)."""
    far = -float(ndtri(lost))
    places, cuts = _cuts(mu, rate, step, (-far, mu + far))
    rounding, excess = _errors(mu, rate, step * places, cuts)
    above = ndtr(-cuts), (1 - rate) * ndtr(-cuts) + rate * ndtr(mu - cuts)
    below = ndtr(cuts), (1 - rate) * ndtr(cuts) + rate * ndtr(cuts - mu)
    first, last = int(places[0]), int(places[-1])
    present = spread_losses(step, first, (above[1], above[0]), rounding, excess)
    turned = below[0][::-1], below[1][::-1]
    return present, spread_losses(step, -last, turned, rounding[::-1], excess)


def _symmetric(mu: float, rate: float, lost: float, step: float) -> Losses:
    """Return losses of the pair that dominates batches without replacement."""
    far = -float(ndtri(lost))
    places, cuts = _cuts(mu, rate, step, (mu / 2, mu + far))
    places, cuts = places[places >= 0], cuts[places >= 0]
    rounding, excess = _errors(mu, rate, step * places, cuts)
    plain, mixed = ndtr(-cuts), (1 - rate) * ndtr(-cuts) + rate * ndtr(mu - cuts)
    above = np.concatenate([1 - plain[:0:-1], mixed])
    other = np.concatenate([1 - mixed[:0:-1], plain])
    both = np.concatenate([rounding[:0:-1], rounding])
    return spread_losses(step, -int(places[-1]), (above, other), both, excess)


def _cuts(
    mu: float, rate: float, step: float, ends: tuple[float, float]
) -> tuple[AnyArray, Array]:
    """Return places between the losses at two ends, and where the losses are these.

    No loss is as low as log(1 − rate): the cut of what is not above that is at −∞.
    """
    low, high = _losses(np.array(ends), mu, rate) / step
    places = np.arange(math.floor(low), math.ceil(high) + 1)
    losses = step * places
    if rate < 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.log(np.expm1(losses) + rate) - math.log(rate)
    return places, np.nan_to_num(losses / mu + mu / 2, nan=-np.inf, neginf=-np.inf)


def _errors(mu: float, rate: float, losses: Array, cuts: Array) -> tuple[Array, float]:
    """Bound what chances are off by, and how far the loss at a cut is from its place."""
    size = np.where(np.isfinite(cuts), np.abs(cuts), 0.0)
    part = (np.abs(np.expm1(losses)) + rate) * np.exp(-losses) if rate < 1 else 1.0
    excess = FUNCTION_ERROR * np.max(part * (2 + 2 * mu * size + 2 * mu**2))
    return FUNCTION_ERROR * (2 + 2 * size**2 + 2 * mu**2), float(excess)


def _losses(z: Array, mu: float, rate: float) -> Array:
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    return np.logaddexp(rest, math.log(rate) + mu * z - mu**2 / 2)
