"""Privacy-loss distributions of the built-in events on a lattice, rounded up.

docs/proofs/noisy-gradients.md#subsampled-gaussian states which pairs of distributions are
the worst cases for random batches. docs/proofs/rounding.md#lattice covers the arithmetic.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
"""Lattice points per standard deviation of the loss of one step.

Root searches start with the coarse lattice.
"""
MOST_CELLS = 30_000
"""Largest number of lattice intervals for the loss of one step.

More intervals change epsilon by a relative amount of less than 2e-4.
"""
MOST_PLACES = 1_000_000
"""Approximate limit on the number of points of any lattice."""
DEVIATIONS = 40.0
LOST_PART = 1e-4
"""The share of delta that is set aside for losses beyond the ends of the lattice."""
LARGEST_LOSS = 700.0
"""Losses of at least this size are rounded up to the next lattice point, not split."""
LEAST_CHANCE = 1e-300
"""Smallest allowed probability of losses beyond the lattice, given the range of doubles."""
WHOLE_EVENT = 1e-4
"""Lattice spacing for pure and (epsilon, delta) events.

Rounding increases the epsilon of each such event by less than one spacing.
"""

Both: TypeAlias = tuple[Losses, Losses]
"""Loss distributions of outputs from the table with the record and the one without."""


def smallest_delta(steps: int) -> float:
    """Return the delta below which doubles cannot represent the tails of the loss."""
    return LEAST_CHANCE * steps / LOST_PART


def lattice_step(event: KnownEvent, *, per_deviation: float = FINE) -> float:
    """Return a lattice spacing at which rounding has a negligible cost.

    The mass of Gaussian losses is split between the two nearest lattice points, so the
    spacing may be a fraction of their standard deviation. The losses of pure and
    (epsilon, delta) events are rounded up to a lattice point.
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
    """Return the distributions of the total loss of all events, in both directions.

    ``delta`` is the value at which epsilon will be evaluated. A small share of it covers
    losses beyond the ends of the lattice.
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
    """Return the joint epsilon of all events at a given delta, rounded up."""
    step = min(lattice_step(event, per_deviation=per_deviation) for event in events)
    step = max(step, *(_span(event) / MOST_PLACES for event in events))
    return max(one.epsilon(delta) for one in sum_of_events(events, delta, step))


def _span(event: KnownEvent) -> float:
    """Return the approximate width of the range of losses in one step of an event."""
    match event:
        case GaussianEvent(mu):
            return mu * (mu + 2 * DEVIATIONS)
        case SubsampledGaussianEvent():
            return (1 / event.multiplier + 2 * DEVIATIONS) / event.multiplier
        case PureEvent(epsilon) | ApproxEvent(epsilon, _):
            return 2 * float(epsilon)
        case ZcdpEvent():
            raise AssertionError(event)


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
    """Return the loss distribution of the worst pair with (epsilon, delta)-DP."""
    cells = float(epsilon) / step
    top, bottom = math.ceil(cells * (1 - MARGIN)), -math.floor(cells * (1 + MARGIN))
    rest = round_up(1 - delta)
    masses = np.zeros(top - bottom + 1)
    masses[-1] += rest * round_up(1 / (1 + math.exp(-float(epsilon))))
    masses[0] += max(0.0, rest - float(masses[-1]))
    return Losses(step, bottom, masses, round_up(delta), 4 * MARGIN * float(epsilon))


def _sampled(mu: float, rate: float, lost: float, step: float) -> Both:
    """Return the loss distributions of Poisson batches, in both directions.

    The first is that of the mixture (1 − rate)·N(0, 1) + rate·N(mu, 1) against N(0, 1),
    the second that of N(0, 1) against the mixture.
    """
    far = -float(ndtri(lost))
    cells = _Cells.of(mu, rate, step, (-far, mu + far))
    cuts, share, excess = cells.cuts, cells.rounding, cells.excess
    mixed = (1 - rate) * ndtr(-cuts) + rate * ndtr(mu - cuts)
    first, last = int(cells.places[0]), int(cells.places[-1])
    forth, back = cells.gains
    below = ndtr(cuts)[::-1]
    return (
        spread_losses(step, first, mixed, gains=forth, wrong=share * mixed, excess=excess),
        spread_losses(
            step, -last, below, gains=back[::-1], wrong=share[::-1] * below, excess=excess
        ),
    )


def _symmetric(mu: float, rate: float, lost: float, step: float) -> Losses:
    """Return the loss distribution of the worst pair for sampling without replacement."""
    far = -float(ndtri(lost))
    cells = _Cells.of(mu, rate, step, (mu / 2, mu + far))
    plain = ndtr(-cells.cuts)
    mixed = (1 - rate) * plain + rate * ndtr(mu - cells.cuts)
    above = np.concatenate([1 - plain[:0:-1], mixed])
    forth, back = cells.gains
    unsampled = (1 - rate) * max(0.0, 1 - 2 * float(plain[0])) + FUNCTION_ERROR
    back[0] += unsampled * -math.expm1(-step)
    gains = np.concatenate([back[::-1], forth])
    wrong = np.concatenate([cells.rounding[:0:-1], cells.rounding]) * above
    first = -int(cells.places[-1])
    return spread_losses(step, first, above, gains=gains, wrong=wrong, excess=cells.excess)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Lattice of losses log(1 − q + q·e^{μz−μ²/2}) for z in an interval.

    ``cuts`` holds the z at which the loss reaches each lattice point. Every loss exceeds
    log(1 − q), so the cut of a lattice point at or below this value is −∞. A cell is the
    interval between two consecutive cuts.
    """

    mu: float
    rate: float
    places: AnyArray
    losses: Array
    cuts: Array

    @classmethod
    def of(cls, mu: float, rate: float, step: float, ends: tuple[float, float]) -> "_Cells":
        low, high = _losses(np.array(ends), mu, rate) / step
        first = math.floor(low) if ends[0] < mu / 2 else 0
        places = np.arange(first, math.ceil(high) + 1)
        losses = step * places.astype(np.float64)
        powers = losses
        if rate < 1:
            with np.errstate(divide="ignore", invalid="ignore"):
                near = np.log(np.expm1(np.minimum(losses, 1.0)) + rate)
                far = losses + np.log1p((rate - 1) * np.exp(-np.maximum(losses, 0.0)))
            powers = np.where(losses < 1, near, far) - math.log(rate)
        cuts = np.nan_to_num(powers / mu + mu / 2, nan=-np.inf, neginf=-np.inf)
        return cls(mu, rate, places, losses, cuts)

    @property
    def rounding(self) -> Array:
        """Bounds on the relative errors of the normal tail probabilities at the cuts."""
        return FUNCTION_ERROR * (2 + 2 * self._size**2 + 2 * self.mu**2)

    @property
    def excess(self) -> float:
        """Bound on the difference between the loss at a cut and its lattice point."""
        found = 2 + 2 * self.mu * self._size + 2 * self.mu**2
        if self.rate < 1:
            found *= np.abs(np.expm1(-self.losses)) + self.rate * np.exp(-self.losses)
        return FUNCTION_ERROR * float(np.max(found, where=self.cuts > -np.inf, initial=0.0))

    @property
    def gains(self) -> tuple[Array, Array]:
        """Mass to move to the upper end of each cell, times 1 − e^{−step}.

        There is one array per direction. Its entries are P − e^{loss}·Q plus error bounds,
        where P and Q are the probabilities of the cell under the two distributions and the
        loss is that at its lower end. The component that both distributions share cancels
        analytically, so only terms of order q remain.
        """
        rate, excess, share = self.rate, self.excess, self.rounding
        plain, plain_wrong = _between(self.cuts, share)
        moved, moved_wrong = _between(self.cuts - self.mu, share)
        small = FUNCTION_ERROR * (2 + np.abs(self.losses))
        low = np.minimum(self.losses[:-1], LARGEST_LOSS)
        forth = rate * moved - (np.expm1(low) + rate) * plain
        size = np.abs(np.expm1(low)) + rate
        forth += rate * moved_wrong + size * (plain_wrong + small[:-1] * plain)
        forth += (small[:-1] + 2 * excess) * rate * moved + 2 * excess * plain
        forth[self.losses[:-1] >= LARGEST_LOSS] = np.inf
        high = np.maximum(self.losses[1:], -LARGEST_LOSS)
        odds = np.exp(-high)
        back = (rate * odds - np.expm1(-high)) * plain - rate * odds * moved
        size = np.abs(np.expm1(-high)) + rate * odds
        back += rate * odds * (moved_wrong + small[1:] * moved)
        back += size * (plain_wrong + small[1:] * plain) + 2 * excess * plain
        back[self.losses[1:] <= -LARGEST_LOSS] = np.inf
        return forth, back

    @property
    def _size(self) -> Array:
        return np.where(np.isfinite(self.cuts), np.abs(self.cuts), 0.0)


def _between(cuts: Array, share: Array) -> tuple[Array, Array]:
    """Return normal probabilities between consecutive cuts, and bounds on their errors."""
    low, high = cuts[:-1], cuts[1:]
    right = low > 0
    most, least = ndtr(np.where(right, -low, high)), ndtr(np.where(right, -high, low))
    return most - least, np.maximum(share[:-1], share[1:]) * (most + least)


def _losses(z: Array, mu: float, rate: float) -> Array:
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    return np.logaddexp(rest, math.log(rate) + mu * z - mu**2 / 2)
