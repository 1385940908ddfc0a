"""What several releases cost together, by the tightest accounting that covers them.

Gaussian events compose in closed form. A mixture without zCDP goes through privacy-loss
distributions, one with zCDP through Renyi divergences; both come from dp-accounting. The
events may depend on each other's outputs, but their parameters may not.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from confide.accounting.events import (
    ApproxEvent,
    Event,
    GaussianEvent,
    KnownEvent,
    PureEvent,
    SubsampledGaussianEvent,
    ZcdpEvent,
    known_event,
)
from confide.accounting.loss_bound import LossBound
from confide.accounting.subsampling import (
    FINE,
    lattice_step,
    rounding,
    sampled_losses,
    sampled_renyi,
    smallest_delta,
)
from confide.errors import InvalidParameter
from confide.privacy import gaussian_epsilon, zcdp_to_approx
from confide.privacy.budgets import Approx, Number, Pure, Zcdp, exact

WHOLE_EVENT = 1e-4
"""How far a pure epsilon may be rounded up in a mixture."""


def compose(events: Sequence[Event], delta: Number) -> Approx:
    """Return the (epsilon, delta) that all events together satisfy."""
    small = exact(delta, "delta")
    parts = [_whole(known_event(event)) for event in events]
    shifts = [e.mu for e in parts if isinstance(e, GaussianEvent)]
    if len(shifts) == len(parts):
        return _at(gaussian_epsilon(math.hypot(*shifts), float(small)), small)
    if not any(isinstance(e, ZcdpEvent) or _too_fine(e, small) for e in parts):
        return _at(_by_loss_distribution(parts, float(small)), small)
    rough = [e for e in parts if isinstance(e, ApproxEvent)]
    smooth = [e for e in parts if not isinstance(e, ApproxEvent)]
    if not rough:
        return _at(_by_renyi(smooth, float(small)), small)
    half = small / 2
    return _at(_by_renyi(smooth, float(half)), half) + _at(
        _by_loss_distribution(rough, float(half)), half
    )


def as_zcdp(events: Sequence[Event]) -> Zcdp | None:
    """Return the sum in zCDP, or None if an event has no zCDP guarantee."""
    total = 0.0
    if not events:
        return None
    for event in map(known_event, events):
        match event:
            case PureEvent(epsilon):
                total += float(epsilon) ** 2 / 2
            case GaussianEvent(mu):
                total += mu**2 / 2
            case ZcdpEvent(rho):
                total += float(rho)
            case SubsampledGaussianEvent(full=GaussianEvent(mu)):
                total += mu**2 / 2
            case ApproxEvent() | SubsampledGaussianEvent():
                return None
    return Zcdp(repr(total * (1 + 1e-12)))


def as_pure(events: Sequence[Event]) -> Pure | None:
    """Return the sum in pure privacy, or None if an event is not pure."""
    parts = map(known_event, events)
    pure = [e.epsilon for e in parts if isinstance(e, PureEvent)]
    return Pure(sum(pure)) if pure and len(pure) == len(events) else None


def copies_delta(bound: LossBound, copies: int, epsilon: float) -> float:
    """Return delta for a sum of independent losses, each at most ``bound``.

    Losses are rounded up to a lattice and convolved (objective-joint).
    """
    return sum_delta((bound,), copies, epsilon)


def sum_delta(bounds: Sequence[LossBound], copies: int, epsilon: float) -> float:
    """Return delta for the sum of independent losses, ``copies`` under every bound."""
    step = 1e-4 * epsilon
    first, *others = (_rounded_up(bound, step) for bound in bounds)
    for other in others:
        first = first.compose(other)
    return float(first.self_compose(copies).get_delta_for_epsilon(epsilon))


def _rounded_up(bound: LossBound, step: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    top = bound.values[-1] + bound.slope * max(0.0, 9.5 - bound.knots[-1])
    lattice = np.arange(0, math.ceil(top / step) + 1)
    below = bound.chance_below(lattice * step)
    masses = np.diff(below, prepend=0.0)
    kept = np.flatnonzero(masses > 0)
    return pld.PrivacyLossDistribution.create_from_rounded_probability(
        dict(zip(lattice[kept].tolist(), masses[kept].tolist(), strict=True)),
        infinity_mass=max(0.0, 1.0 - float(below[-1])),
        value_discretization_interval=step,
    )


def _by_loss_distribution(events: Sequence[KnownEvent], delta: float) -> float:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    sampled = [e for e in events if isinstance(e, SubsampledGaussianEvent)]
    step = min(map(_fineness, events))
    delta -= sum(rounding(e.steps) for e in sampled)

    def one(event: KnownEvent) -> Any:
        match event:
            case GaussianEvent(mu):
                return pld.from_gaussian_mechanism(
                    1 / mu, value_discretization_interval=step
                )
            case SubsampledGaussianEvent():
                return sampled_losses(event, delta, step)
            case PureEvent(epsilon):
                known = common.DifferentialPrivacyParameters(float(epsilon), 0.0)
            case ApproxEvent(epsilon, slack):
                known = common.DifferentialPrivacyParameters(float(epsilon), float(slack))
            case _:
                raise AssertionError(event)
        return pld.from_privacy_parameters(known, value_discretization_interval=step)

    total = pld.identity(value_discretization_interval=step)
    for event in events:
        total = total.compose(one(event))
    return float(total.get_epsilon_for_delta(delta))


def _fineness(event: KnownEvent) -> float:
    """Return a distance of lattice points at which rounding costs next to nothing.

    Normal losses keep their means between points, so points are a part of a deviation
    apart; the loss of a pure event is rounded up as a whole.
    """
    match event:
        case GaussianEvent(mu):
            return mu / FINE
        case SubsampledGaussianEvent():
            return lattice_step(event)
        case _:
            return WHOLE_EVENT


def _by_renyi(events: Sequence[KnownEvent], delta: float) -> float:
    from dp_accounting import rdp

    sampled = [e for e in events if isinstance(e, SubsampledGaussianEvent)]
    orders = 1 + np.geomspace(1e-2, 1e3 if sampled else 1e4, 100 if sampled else 600)
    line = as_zcdp(events)
    divergences = np.zeros_like(orders)
    for event in events:
        if isinstance(event, PureEvent):
            divergences += _randomised_response_renyi(float(event.epsilon), orders)
        elif isinstance(event, SubsampledGaussianEvent):
            divergences += _sampled_curve(event, orders)
        else:
            single = as_zcdp([event])
            divergences += float(single.rho) * orders if single else np.inf
    epsilon = float(rdp.compute_epsilon(orders, divergences, delta)[0])
    if line is not None:
        epsilon = min(epsilon, float(zcdp_to_approx(line, delta).epsilon))
    return epsilon


def _sampled_curve(event: SubsampledGaussianEvent, orders: Any) -> Any:
    multiplier, rate = event.multiplier, float(event.rate)
    one = [sampled_renyi(float(a), multiplier, rate, event.sampling) for a in orders]
    return event.steps * np.array(one)


def _whole(event: KnownEvent) -> KnownEvent:
    """Return sums over all rows as the Gaussian shift that they are."""
    full = event.full if isinstance(event, SubsampledGaussianEvent) else None
    return event if full is None else full


def _too_fine(event: KnownEvent, delta: Fraction) -> bool:
    """Say whether delta is below what a loss distribution of so many steps can show."""
    if not isinstance(event, SubsampledGaussianEvent):
        return False
    return delta < smallest_delta(event.steps)


def _randomised_response_renyi(epsilon: float, orders: Any) -> Any:
    """D_α of the worst epsilon-DP pair, capped at epsilon."""
    heads = -np.logaddexp(0, -epsilon)
    tails = -np.logaddexp(0, epsilon)
    total = np.logaddexp(
        orders * heads + (1 - orders) * tails, orders * tails + (1 - orders) * heads
    )
    return np.minimum(total / (orders - 1), epsilon)


def _at(epsilon: float, delta: Any) -> Approx:
    if not math.isfinite(epsilon):
        raise InvalidParameter(
            "delta", "larger than what the events themselves use up", float(delta)
        )
    return Approx(repr(max(epsilon, 1e-12)), delta)
