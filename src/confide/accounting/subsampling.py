"""Privacy of the subsampled Gaussian mechanism: Renyi curves and loss distributions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp, ndtr, ndtri

from confide._types import Array
from confide.accounting.events import Sampling, SubsampledGaussianEvent

REACH_DEVIATIONS = 13.0
"""How far beyond the tilted mean the integrals go, in standard deviations."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
RELATIVE_SLACK = 1e-10
"""What integrals are rounded up by, relatively; they are good to 1e-13."""
LARGEST_ORDER = 4096


def sampled_renyi(order: float, multiplier: float, rate: float, how: Sampling) -> float:
    """Return a tight bound on D_α of one step, for any real order α > 1."""
    mu = 1 / multiplier
    if rate >= 1:
        return order * mu**2 / 2
    excess = _log_poisson_excess if how == "poisson" else _log_symmetric_excess
    start = -REACH_DEVIATIONS if how == "poisson" else mu / 2
    points, weights = _panels(start, max(start, order * mu) + REACH_DEVIATIONS, mu)
    ratios = np.logaddexp(math.log1p(-rate), math.log(rate) + mu * points - mu**2 / 2)
    with np.errstate(divide="ignore"):
        logs = np.log(weights) + excess(ratios, order) - points**2 / 2
    total = float(logsumexp(logs)) - 0.5 * math.log(2 * math.pi)
    return float(np.logaddexp(0.0, total + RELATIVE_SLACK)) / (order - 1)


def general_renyi(orders: Array, multiplier: float, rate: float) -> Array:
    """Return the bound for any mechanism under sampling without replacement.

    Lemma 2 of the Renyi ADMM paper (its equation 7), for whole orders of 2 and more, with
    ε(j) = j/(2·multiplier²), the divergence of a Gaussian mechanism.
    """
    counts = np.arange(2, int(orders.max()) + 1, dtype=float)
    costs = (counts - 1) * counts / (2 * multiplier**2) + math.log(2)
    second = 1 / multiplier**2
    costs[0] = min(math.log(4) + math.log(math.expm1(min(second, 700.0))), costs[0])
    tall = orders[:, None]
    with np.errstate(invalid="ignore"):
        ways = gammaln(tall + 1) - gammaln(counts + 1) - gammaln(tall - counts + 1)
    ways = np.where(counts <= tall, ways, -np.inf)
    parts = ways + counts * math.log(rate) + costs
    total = np.asarray(logsumexp(parts, axis=1))
    return np.logaddexp(0.0, total) / (orders - 1)


def best_order_epsilon(divergence: Callable[[float], float], delta: float) -> float:
    """Return the least epsilon over orders, by the conversion of Canonne et al. (2020).

    (α − 1)D_α is convex in α, and so is the numerator of the conversion: epsilon has one
    valley. Every order is valid, so an imperfect search is still sound.
    """

    def at(log_excess: float) -> float:
        order = 1 + math.exp(log_excess)
        return (
            divergence(order)
            + math.log1p(-1 / order)
            - (math.log(delta) + math.log(order)) / (order - 1)
        )

    best = minimize_scalar(
        at,
        bounds=(math.log(0.02), math.log(LARGEST_ORDER)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return max(0.0, float(best.fun))


def _panels(start: float, end: float, mu: float) -> tuple[Array, Array]:
    """Return Gauss-Legendre points and weights; panels narrower than X's features."""
    width = min(1.0, 1 / mu)
    edges = np.linspace(start, end, math.ceil((end - start) / width) + 1)
    half = np.diff(edges) / 2
    points = (edges[:-1] + half)[:, None] + half[:, None] * NODES
    return points.ravel(), (half[:, None] * WEIGHTS).ravel()


def _log_poisson_excess(ratios: Array, order: float) -> Array:
    """Return log(X^α − 1 − α(X − 1)), whose mean is that of X^α − 1."""
    powers = order * ratios
    small = np.minimum(powers, 30.0)
    near = np.expm1(small) - order * np.expm1(np.minimum(ratios, 30.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(powers < 30, np.log(np.maximum(near, 1e-300)), powers)


def _log_symmetric_excess(ratios: Array, order: float) -> Array:
    """Return log((X^α − 1)(1 − X^(1 − α))) for X > 1."""
    with np.errstate(divide="ignore"):
        return (
            order * ratios
            + np.log(-np.expm1(-order * ratios))
            + np.log(-np.expm1((1 - order) * ratios))
        )


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
