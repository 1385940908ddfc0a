"""What happened, as inert values; what it cost is the business of composition.

An event says what it is for a group of rows. Its fields are all that a file keeps of it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias, assert_never, get_args, get_type_hints

from confide._registry import Registry
from confide.errors import InvalidParameter
from confide.privacy.budgets import Approx, Budget, Pure, Zcdp, fraction_of
from confide.privacy.groups import group_delta
from confide.privacy.guarantee import Neighbours
from confide.privacy.rounding import round_down, round_up

Sampling: TypeAlias = Literal["poisson", "without-replacement"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
EVENTS: Registry[type[Any]] = Registry("event")
"""Events by the names that model files call them."""


@EVENTS.register("pure")
@dataclass(frozen=True, slots=True)
class PureEvent:
    """A release whose likelihood ratios are at most exp(epsilon)."""

    epsilon: Fraction

    def for_group(self, rows: int) -> "PureEvent":
        """Return what it is for so many rows: loss ratios multiply."""
        return PureEvent(rows * self.epsilon)


@EVENTS.register("gaussian")
@dataclass(frozen=True, slots=True)
class GaussianEvent:
    """A release no easier to attack than a unit normal shifted by mu (mu-GDP)."""

    mu: float

    def for_group(self, rows: int) -> "GaussianEvent":
        """Return what it is for so many rows: shifts add (Dong, Roth and Su 2022, 2.14)."""
        return GaussianEvent(round_up(rows * Fraction(self.mu)))


@EVENTS.register("approx")
@dataclass(frozen=True, slots=True)
class ApproxEvent:
    """A release of which only one (epsilon, delta) is known."""

    epsilon: Fraction
    delta: Fraction

    def for_group(self, rows: int) -> "ApproxEvent":
        """Return what it is for so many rows, as `confide.privacy.row_budget` says."""
        delta = group_delta(self.epsilon, self.delta, rows)
        return ApproxEvent(rows * self.epsilon, delta)


@EVENTS.register("zcdp")
@dataclass(frozen=True, slots=True)
class ZcdpEvent:
    """A release that is rho-zCDP."""

    rho: Fraction

    def for_group(self, rows: int) -> "ZcdpEvent":
        """Return what it is for so many rows: rho grows with their square."""
        return ZcdpEvent(rows**2 * self.rho)


@EVENTS.register("subsampled-gaussian")
@dataclass(frozen=True, slots=True)
class SubsampledGaussianEvent:
    """Noisy sums over random batches, a fresh batch and fresh noise in every step.

    ``multiplier`` is the standard deviation of the noise on a batch's *sum*, divided by
    how far one record can move that sum: with vectors of length C at most, by C for
    "poisson" (every record joins a batch with chance ``rate``; add-remove) and by 2C for
    "without-replacement" (batches of exactly ``rate`` times the rows; replace-one).
    """

    multiplier: float
    rate: Fraction
    steps: int
    sampling: Sampling

    def __post_init__(self) -> None:
        if not 0 < self.multiplier < math.inf:
            raise InvalidParameter("multiplier", "a positive number", self.multiplier)
        if not isinstance(self.rate, Fraction) or not 0 < self.rate <= 1:
            raise InvalidParameter("rate", "a Fraction in (0, 1]", self.rate)
        if isinstance(self.steps, bool) or not isinstance(self.steps, int):
            raise InvalidParameter("steps", "a whole number", self.steps)
        if self.steps < 1:
            raise InvalidParameter("steps", "1 or more", self.steps)
        if self.sampling not in SAMPLINGS:
            raise InvalidParameter(
                "sampling", "'poisson' or 'without-replacement'", self.sampling
            )

    def for_group(self, rows: int) -> "SubsampledGaussianEvent":
        """Return what it is for so many rows.

        A batch has one of k rows with at most k times the chance, and k rows move its sum
        k times as far (docs/proofs/noisy-gradients.md, subsampled-gaussian).
        """
        rate = min(Fraction(1), rows * self.rate)
        multiplier = round_down(Fraction(self.multiplier) / rows)
        return SubsampledGaussianEvent(multiplier, rate, self.steps, self.sampling)

    @property
    def full(self) -> GaussianEvent | None:
        """The one Gaussian shift that all steps together are when nothing is left out."""
        if self.rate < 1:
            return None
        return GaussianEvent(round_up(math.sqrt(self.steps) / self.multiplier))


KnownEvent: TypeAlias = (
    PureEvent | GaussianEvent | ApproxEvent | ZcdpEvent | SubsampledGaussianEvent
)
"""What composition can add up."""


class BoundedEvent(Protocol):
    """An event of another package: a frozen dataclass, registered in `EVENTS`.

    Its fields are fractions, numbers and whole numbers. It says which known event is no
    harder to attack, and costs as much as that.
    """

    @property
    def bound(self) -> KnownEvent:
        """The known event whose loss it never exceeds."""
        ...

    def for_group(self, rows: int) -> "BoundedEvent":
        """Return what it is for so many rows."""
        ...


Event: TypeAlias = KnownEvent | BoundedEvent


def known_event(event: Event) -> KnownEvent:
    """Return the event as composition knows it."""
    return event if isinstance(event, KnownEvent) else event.bound


def event_of(budget: Budget) -> KnownEvent:
    """Return the release of which a budget is all that is known."""
    match budget:
        case Pure(epsilon=epsilon):
            return PureEvent(epsilon)
        case Approx(epsilon=epsilon, delta=delta):
            return ApproxEvent(epsilon, delta)
        case Zcdp(rho=rho):
            return ZcdpEvent(rho)
        case _:
            assert_never(budget)


def event_fields(event: Event, exact: Callable[[Fraction], str]) -> dict[str, Any]:
    """Return the fields of an event as JSON holds them; ``exact`` writes a fraction."""
    write: dict[Any, Callable[[Any], Any]] = {
        Fraction: lambda value: exact(Fraction(value)),
        float: float,
    }
    return {
        name: write.get(kind, lambda value: value)(getattr(event, name))
        for name, kind in _types(type(event)).items()
    }


def event_from(kind: type[Any], record: Mapping[str, Any]) -> Event:
    """Return the event that fields describe; only its own fields are looked at."""
    types = _types(kind)
    event: Event = kind(**{name: _read(types[name], record[name]) for name in types})
    return event


def _types(kind: type[Any]) -> dict[str, Any]:
    """Return the types of the fields of an event."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(kind: Any, value: Any) -> Any:
    """Return a field in its type; fractions are written as text, numbers are not."""
    if kind is Fraction and isinstance(value, str):
        return fraction_of(value)
    if kind is float and isinstance(value, int | float | str) and value is not True:
        return float(value)
    if kind in (Fraction, float):
        raise TypeError("a fraction is text, and a number is a number")
    return value


def gaussian_part(events: Sequence[Event]) -> tuple[float, bool]:
    """Return the squared shift of the Gaussian events, and whether there are no others."""
    shifts = [event.mu for event in events if isinstance(event, GaussianEvent)]
    return round_up(sum(mu**2 for mu in shifts)), len(shifts) == len(events)


def group_events(events: tuple[Event, ...], rows_per_person: int) -> tuple[Event, ...]:
    """Return what events for one row are for a person with several."""
    if rows_per_person == 1:
        return events
    return tuple(event.for_group(rows_per_person) for event in events)


def has_batches(events: Sequence[Event]) -> bool:
    """Whether one of the events is about random batches."""
    return any(isinstance(known_event(e), SubsampledGaussianEvent) for e in events)


def whole_shift(events: Sequence[Event]) -> float | None:
    """Return the Gaussian shift that all events are together, if they are one."""
    shifts = []
    for event in map(known_event, events):
        match event:
            case GaussianEvent(mu) | SubsampledGaussianEvent(full=GaussianEvent(mu)):
                shifts.append(mu)
            case _:
                return None
    return round_up(math.hypot(*shifts)) if shifts else None


def sampling_for(neighbours: Neighbours) -> Sampling:
    """Return the way of drawing batches that has a proof under a relation."""
    return "poisson" if neighbours is Neighbours.ADD_REMOVE else "without-replacement"


def check_sampling(event: KnownEvent, neighbours: Neighbours) -> None:
    """Refuse batches that are drawn in another way than is proved for the neighbours."""
    if not isinstance(event, SubsampledGaussianEvent) or event.rate == 1:
        return
    proved = sampling_for(neighbours)
    if event.sampling != proved:
        raise InvalidParameter(
            "events", f"{proved} batches in a charge for {neighbours}", event.sampling
        )


def larger_events(
    first: Sequence[Event], second: Sequence[Event], budget: Budget
) -> tuple[Event, ...]:
    """Return events that dominate each of two alternatives, both within a budget.

    A record takes part in one of them only: docs/proofs/evaluation.md#holdout-exact.
    """
    shifts = whole_shift(first), whole_shift(second)
    if shifts[0] is not None and shifts[1] is not None:
        return (GaussianEvent(max(shifts[0], shifts[1])),)
    return (event_of(budget),)
