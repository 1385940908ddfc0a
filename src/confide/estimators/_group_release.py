"""What a release costs a person who has several rows."""

from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from confide.accounting import (
    ApproxEvent,
    Event,
    GaussianEvent,
    PureEvent,
    SubsampledGaussianEvent,
    ZcdpEvent,
)
from confide.mechanisms import Release
from confide.privacy import Budget, group_delta
from confide.privacy.guarantee import ONE_ROW


def per_person(release: Release, budget: Budget, rows_per_person: int) -> Release:
    """Restate a release, made with the budget of one row, for a person with several.

    ``budget`` is the person's; see `confide.privacy.row_budget`. The events, which an
    accountant composes, become those of a group as well.
    """
    k = rows_per_person
    if k == 1:
        return release
    guarantee = release.guarantee
    several = f"at most {k} rows per person (group privacy)"
    assumptions = (several if a == ONE_ROW else a for a in guarantee.assumptions)
    stated = replace(
        guarantee,
        budget=None if guarantee.budget is None else budget,
        assumptions=tuple(assumptions),
    )
    return replace(release, guarantee=stated, events=group_events(release.events, k))


def group_events(events: tuple[Event, ...], rows_per_person: int) -> tuple[Event, ...]:
    """Return what events for one row are for a person with several."""
    return tuple(_of_group(event, rows_per_person) for event in events)


def _of_group(event: Event, k: int) -> Event:
    """Return what an event for one row is for k rows.

    Loss ratios multiply (pure), shifts add (Gaussian: Dong, Roth and Su 2022, theorem
    2.14), zCDP grows with k², and (epsilon, delta) as `confide.privacy.row_budget` says.
    A batch has one of k rows with at most k times the chance, and k rows move its sum k
    times as far (docs/proofs/noisy-gradients.md, subsampled-gaussian).
    """
    match event:
        case PureEvent(epsilon=epsilon):
            return PureEvent(k * epsilon)
        case GaussianEvent(mu=mu):
            return GaussianEvent(k * mu)
        case ZcdpEvent(rho=rho):
            return ZcdpEvent(k**2 * rho)
        case ApproxEvent(epsilon=epsilon, delta=delta):
            return ApproxEvent(k * epsilon, group_delta(epsilon, delta, k))
        case SubsampledGaussianEvent(multiplier, rate, steps, sampling):
            joined = min(Fraction(1), k * rate)
            return SubsampledGaussianEvent(multiplier / k, joined, steps, sampling)
        case _:
            assert_never(event)
