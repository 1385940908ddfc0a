"""What a release costs a person who has several rows."""

from dataclasses import replace

from confide.accounting import Event
from confide.mechanisms import Release
from confide.privacy import Budget
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
    if rows_per_person == 1:
        return events
    return tuple(event.for_group(rows_per_person) for event in events)
