"""Joint privacy cost of several releases, by the tightest accounting available.

Gaussian events compose in closed form. Other combinations are composed via privacy-loss
distributions on a lattice, or via Rényi divergences if a zCDP event is among them, or if
delta is extremely small for random batches. A release may depend on the outputs of earlier
releases, but the parameters of its event may not. All results are rounded up
(docs/proofs/rounding.md).
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
from confide.accounting.loss_lattice import losses_epsilon, smallest_delta
from confide.accounting.loss_sum import Losses, LossSum
from confide.accounting.subsampling import best_epsilon, sampled_renyi
from confide.errors import InvalidParameter
from confide.privacy import gaussian_epsilon, zcdp_to_approx
from confide.privacy.budgets import Approx, Number, Pure, Zcdp, exact
from confide.privacy.rounding import FUNCTION_ERROR, round_down, round_up

DEVIATIONS = 38.5
"""A normal tail beyond this many standard deviations underflows to 0."""
MOST_CELLS = 400_000


def compose(events: Sequence[Event], delta: Number) -> Approx:
    """Return the (epsilon, delta) guarantee of all events together, at a given delta.

    Parameters
    ----------
    events : sequence of Event
        The events of all releases about the same people. The parameters of an event must
        not depend on the outputs of other releases.
    delta : int, float, str, Fraction or Decimal
        The delta of the guarantee; a smaller delta gives a larger epsilon.

    Returns
    -------
    Approx
        The given delta, and an epsilon that is rounded up.

    Raises
    ------
    InvalidParameter
        If the events' own deltas already add up to more than ``delta``.

    Examples
    --------
    Sixteen Gaussian releases together have four times the shift of one. Their epsilon is
    far less than sixteen times the epsilon of one, which is 1.06:

    >>> from confide.accounting import GaussianEvent, compose
    >>> round(float(compose([GaussianEvent(0.25)] * 16, 1e-6).epsilon), 2)
    4.89
    """
    small = exact(delta, "delta")
    parts = [_whole(known_event(event)) for event in events]
    shifts = [e.mu for e in parts if isinstance(e, GaussianEvent)]
    if len(shifts) == len(parts):
        return _at(gaussian_epsilon(round_up(math.hypot(*shifts)), small), small)
    if not any(isinstance(e, ZcdpEvent) or _too_fine(e, small) for e in parts):
        return _at(_by_losses(parts, small), small)
    rough = [e for e in parts if isinstance(e, ApproxEvent)]
    smooth = [e for e in parts if not isinstance(e, ApproxEvent)]
    if not rough:
        return _at(_by_renyi(smooth, round_down(small)), small)
    half = small / 2
    return _at(_by_renyi(smooth, round_down(half)), half) + _at(
        _by_losses(rough, half), half
    )


def as_zcdp(events: Sequence[Event]) -> Zcdp | None:
    """Return the total cost in zCDP, or None if an event has no zCDP guarantee.

    Parameters
    ----------
    events : sequence of Event
        The events of all releases about the same people.

    Returns
    -------
    Zcdp or None
        The sum of rho over the events, rounded up. None if an event has no zCDP guarantee,
        or there are no events.

    Examples
    --------
    A Gaussian shift of mu has a rho of mu²/2:

    >>> from confide.accounting import GaussianEvent, as_zcdp
    >>> as_zcdp([GaussianEvent(0.2), GaussianEvent(0.2)])
    Zcdp(0.04)
    """
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
    return Zcdp(repr(round_up(total)))


def as_pure(events: Sequence[Event]) -> Pure | None:
    """Return the total cost in pure epsilon-DP, or None if an event is not pure.

    Parameters
    ----------
    events : sequence of Event
        The events of all releases about the same people.

    Returns
    -------
    Pure or None
        The sum of epsilon over the events. None if an event is not pure, or there are no
        events.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from confide.accounting import GaussianEvent, PureEvent, as_pure
    >>> as_pure([PureEvent(Fraction(1, 2)), PureEvent(Fraction(1, 4))])
    Pure(0.75)
    >>> as_pure([PureEvent(Fraction(1, 2)), GaussianEvent(0.1)]) is None
    True
    """
    parts = map(known_event, events)
    pure = [e.epsilon for e in parts if isinstance(e, PureEvent)]
    return Pure(sum(pure)) if pure and len(pure) == len(events) else None


def copies_delta(bound: LossBound, copies: int, epsilon: float) -> float:
    """Return delta for a sum of independent privacy losses that share one bound.

    Losses are rounded up to a lattice and convolved
    (docs/proofs/objective-perturbation.md#objective-joint).

    Parameters
    ----------
    bound : LossBound
        The bound on each of the losses.
    copies : int
        The number of independent losses.
    epsilon : float
        The epsilon at which delta is evaluated.

    Returns
    -------
    float
        Delta, rounded up.

    Examples
    --------
    Negative losses are replaced by zero. So the result for sixteen Gaussian shifts of 0.25
    is larger than the delta of one shift of 1, which is their exact composition:

    >>> from confide.accounting import copies_delta, gaussian_shift
    >>> many = copies_delta(gaussian_shift(0.25), 16, epsilon=5.0)
    >>> one = gaussian_shift(1.0).delta(5.0)
    >>> one < many
    True
    """
    return sum_delta((bound,), copies, epsilon)


def sum_delta(bounds: Sequence[LossBound], copies: int, epsilon: float) -> float:
    """Return delta for a sum of independent losses, ``copies`` of them under each bound.

    Parameters
    ----------
    bounds : sequence of LossBound
        The bounds on the losses.
    copies : int
        The number of losses under each bound.
    epsilon : float
        The epsilon at which delta is evaluated.

    Returns
    -------
    float
        Delta, rounded up.

    Examples
    --------
    A second release about the same people can only add to delta:

    >>> from confide.accounting import gaussian_shift, sum_delta
    >>> first, second = gaussian_shift(0.3), gaussian_shift(0.1)
    >>> sum_delta((first,), 1, 1.0) < sum_delta((first, second), 1, 1.0)
    True
    """
    step = max(1e-4 * epsilon, *(_top(bound) / MOST_CELLS for bound in bounds))
    return LossSum(tuple((_rounded_up(one, step), copies) for one in bounds)).delta(epsilon)


def _rounded_up(bound: LossBound, step: float) -> Losses:
    """Return the distribution of a loss bound on a lattice, with losses rounded up."""
    top = _top(bound)
    above = bound.chance_above(step * np.arange(math.ceil(top / step) + 1.0))
    masses = np.append(1.0, above[:-1]) - above
    masses = np.maximum(masses, 0.0)
    return Losses(step, 0, masses, float(above[-1]), bound.loss_error(top + step))


def _top(bound: LossBound) -> float:
    """Return a loss that the bound exceeds with a probability that underflows to 0."""
    reach = DEVIATIONS + abs(float(bound.knots[-1]))
    return float(bound.values[-1]) + bound.slope * reach


def _by_losses(events: Sequence[KnownEvent], delta: Fraction) -> float:
    """Return epsilon from loss distributions, or the sum of all epsilons if smaller."""
    known = [e for e in events if isinstance(e, PureEvent | ApproxEvent)]
    spent = sum((e.delta for e in known if isinstance(e, ApproxEvent)), Fraction(0))
    added = math.inf
    if len(known) == len(events) and spent <= delta:
        added = round_up(sum((e.epsilon for e in known), Fraction(0)))
    return min(added, losses_epsilon(events, round_down(delta)))


def _by_renyi(events: Sequence[KnownEvent], delta: float) -> float:
    sampled = [e for e in events if isinstance(e, SubsampledGaussianEvent)]
    orders = 1 + np.geomspace(1e-2, 1e3 if sampled else 1e4, 100 if sampled else 600)
    line = as_zcdp(events)
    divergences = np.zeros_like(orders)
    for event in events:
        if isinstance(event, PureEvent):
            divergences += _randomised_response_renyi(round_up(event.epsilon), orders)
        elif isinstance(event, SubsampledGaussianEvent):
            divergences += _sampled_curve(event, orders)
        else:
            single = as_zcdp([event])
            divergences += round_up(single.rho) * orders if single else np.inf
    epsilon = best_epsilon(orders, divergences, delta)
    if line is not None:
        epsilon = min(epsilon, round_up(zcdp_to_approx(line, delta).epsilon))
    return epsilon


def _sampled_curve(event: SubsampledGaussianEvent, orders: Any) -> Any:
    multiplier, rate = event.multiplier, float(event.rate)
    one = [sampled_renyi(float(a), multiplier, rate, event.sampling) for a in orders]
    return event.steps * np.array(one)


def _whole(event: KnownEvent) -> KnownEvent:
    """Return the equivalent Gaussian event if every step uses all rows, else ``event``."""
    full = event.full if isinstance(event, SubsampledGaussianEvent) else None
    return event if full is None else full


def _too_fine(event: KnownEvent, delta: Fraction) -> bool:
    """Return whether delta is too small for the loss distribution of a subsampled event."""
    if not isinstance(event, SubsampledGaussianEvent):
        return False
    return delta < smallest_delta(event.steps)


def _randomised_response_renyi(epsilon: float, orders: Any) -> Any:
    """Return Rényi divergences of randomised response, the worst epsilon-DP mechanism.

    The divergences are capped at epsilon, which is an upper bound at every order.
    """
    heads = -np.logaddexp(0, -epsilon)
    tails = -np.logaddexp(0, epsilon)
    total = np.logaddexp(
        orders * heads + (1 - orders) * tails, orders * tails + (1 - orders) * heads
    )
    total += FUNCTION_ERROR * (1 + orders * (2 + epsilon))
    return np.minimum(total / (orders - 1) * (1 + FUNCTION_ERROR), epsilon)


def _at(epsilon: float, delta: Any) -> Approx:
    if not math.isfinite(epsilon):
        raise InvalidParameter(
            "delta", "larger than the delta that the events themselves spend", float(delta)
        )
    return Approx(repr(max(epsilon, 1e-12)), delta)
