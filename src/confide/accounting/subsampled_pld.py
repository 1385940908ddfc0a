"""Privacy-loss distributions of noisy sums over random batches.

The loss of one step is a monotone function of one normal variable. Between two points of
a lattice it is moved to those points so that both distributions keep their masses, which
never lowers a hockey-stick divergence. docs/proofs/noisy-gradients.md
(subsampled-gaussian) says which pair dominates which way of sampling.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from confide._types import Array
from confide.accounting.events import Sampling, SubsampledGaussianEvent

FINE, COARSE = 48.0, 6.0
"""Lattice points per standard deviation of one step's loss."""
MOST_CELLS = 30_000
"""More of them change epsilon by less than 2e-4 of itself."""
LOST_PART = 1e-4
"""The part of delta that may be spent on losses beyond the lattice."""


def rounding(steps: int) -> float:
    """Return a delta that bounds the rounding errors of composing by Fourier transforms."""
    return 1e-13 + 1e-16 * steps


def smallest_delta(steps: int) -> float:
    """Return the delta below which a loss distribution is not to be trusted."""
    return 100 * rounding(steps)


def lattice_step(event: SubsampledGaussianEvent, *, per_deviation: float = FINE) -> float:
    """Return a distance of lattice points at which rounding costs next to nothing."""
    mu, rate = 1 / event.multiplier, float(event.rate)
    deviation = min(mu, rate * math.sqrt(math.expm1(min(mu**2, 600.0))))
    ends = np.array(_reach(mu, event.sampling, 1e-15))
    span = float(np.ptp(_losses(ends, mu, rate)))
    cells = MOST_CELLS if per_deviation >= FINE else MOST_CELLS / 4
    return max(deviation / per_deviation, span / cells)


def sampled_losses(event: SubsampledGaussianEvent, delta: float, step: float) -> Any:
    """Return the privacy-loss distribution of all steps on a lattice, rounded upwards.

    ``delta`` is where it is going to be read off: a small part of it is spent on losses
    beyond the lattice.
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

    atoms = _Atoms.of(event, LOST_PART * delta / event.steps, step)
    forth = _mass_function(atoms.places, atoms.likely)
    if event.sampling == "poisson":
        one = pld.PrivacyLossDistribution.create_from_rounded_probability(
            forth,
            atoms.beyond,
            step,
            rounded_probability_mass_function_add=_mass_function(
                -atoms.places, atoms.unlikely
            ),
            infinity_mass_add=atoms.beyond,
            symmetric=False,
        )
    else:
        back = _mass_function(-atoms.places, atoms.unlikely)
        both = back | forth
        both[0] = forth.get(0, 0.0) + back.get(0, 0.0)
        both[0] += max(0.0, 1.0 - atoms.beyond - sum(both.values()))
        one = pld.PrivacyLossDistribution.create_from_rounded_probability(
            both, atoms.beyond, step
        )
    return one.self_compose(event.steps)


def losses_epsilon(
    event: SubsampledGaussianEvent, delta: float, *, per_deviation: float = FINE
) -> float:
    """Return epsilon at delta, less what rounding errors may hide."""
    step = lattice_step(event, per_deviation=per_deviation)
    losses = sampled_losses(event, delta, step)
    return float(losses.get_epsilon_for_delta(delta - rounding(event.steps)))


@dataclass(frozen=True, slots=True)
class _Atoms:
    """The pair N(0, 1) mixed with N(mu, 1), and N(0, 1), on a lattice of losses.

    Masses of the mixture are ``likely``, those of the other ``unlikely``; their ratio is
    exp(loss) at every place. ``beyond`` bounds what either has outside.
    """

    places: Array
    likely: Array
    unlikely: Array
    beyond: float

    @classmethod
    def of(cls, event: SubsampledGaussianEvent, lost: float, step: float) -> "_Atoms":
        mu, rate, how = 1 / event.multiplier, float(event.rate), event.sampling
        low, high = _reach(mu, how, lost)
        bottom, top = _losses(np.array([low, high]), mu, rate) / step
        first = 0 if how == "without-replacement" else math.floor(bottom)
        places = np.arange(first, math.ceil(top) + 1)
        losses = places * step
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.log(np.expm1(losses[1:-1]) + rate) - math.log(rate)
        cuts = np.clip(np.nan_to_num(inner / mu + mu / 2, nan=low, neginf=low), low, high)
        cuts = np.concatenate([[low], cuts, [high]])
        plain, shifted = _between(cuts), _between(cuts - mu)
        mixed = (1 - rate) * plain + rate * shifted
        up = (mixed - plain * np.exp(losses[:-1])) / -math.expm1(-step)
        up = np.clip(up, 0.0, mixed)
        likely = np.append(mixed - up, 0.0) + np.append(0.0, up)
        unlikely = likely * np.exp(-losses)
        if how == "poisson":
            likely[0] += lost
        unlikely[-1] += lost
        return cls(places, likely, unlikely, lost)


def _reach(mu: float, how: Sampling, lost: float) -> tuple[float, float]:
    """Return the ends of z beyond which either distribution has at most ``lost``."""
    far = -float(ndtri(lost))
    return (-far if how == "poisson" else mu / 2), mu + far


def _losses(z: Array, mu: float, rate: float) -> Array:
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    return np.logaddexp(rest, math.log(rate) + mu * z - mu**2 / 2)


def _between(cuts: Array) -> Array:
    """Return the normal masses between neighbouring cuts, accurate in both tails."""
    low, high = cuts[:-1], cuts[1:]
    right = low > 0
    return np.asarray(ndtr(np.where(right, -low, high)) - ndtr(np.where(right, -high, low)))


def _mass_function(places: Array, masses: Array) -> dict[int, float]:
    kept = masses > 0
    return dict(zip(places[kept].tolist(), masses[kept].tolist(), strict=True))
