"""Events: the privacy guarantees of single releases, as plain values.

An event states what is known about the privacy loss of a release, such as its epsilon. The
module `composition` computes the joint cost of several events. The method ``for_group``
returns the event for a group of rows. Files store only the fields of an event.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias, assert_never, get_args

from confide._registry import Registry
from confide.errors import InvalidParameter
from confide.privacy.budgets import Approx, Budget, Pure, Zcdp
from confide.privacy.groups import group_delta
from confide.privacy.guarantee import Neighbours
from confide.privacy.rounding import round_down, round_up

Sampling: TypeAlias = Literal["poisson", "without-replacement"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
EVENTS: Registry[type[Any]] = Registry("event")
"""Registry of the event classes, by their names in model files."""


@EVENTS.register("pure")
@dataclass(frozen=True, slots=True)
class PureEvent:
    """A release that is epsilon-DP: its likelihood ratios are at most exp(epsilon).

    Parameters
    ----------
    epsilon : Fraction
        The largest privacy loss of one row, as an exact fraction.

    Examples
    --------
    For a person with three rows, epsilon is three times as large:

    >>> from fractions import Fraction
    >>> from confide.accounting import PureEvent
    >>> PureEvent(Fraction(1, 2)).for_group(3).epsilon
    Fraction(3, 2)
    """

    epsilon: Fraction

    def for_group(self, rows: int) -> "PureEvent":
        """Return the event for a group of rows: epsilon times the number of rows.

        Parameters
        ----------
        rows : int
            The number of rows that belong to one person.

        Returns
        -------
        PureEvent
            The event for one person.
        """
        return PureEvent(rows * self.epsilon)


@EVENTS.register("gaussian")
@dataclass(frozen=True, slots=True)
class GaussianEvent:
    """A release that satisfies Gaussian differential privacy (mu-GDP).

    Telling two neighbouring tables apart from such a release is at least as hard as telling
    N(0, 1) from N(mu, 1).

    Parameters
    ----------
    mu : float
        The shift: the largest change between neighbouring tables, in units of the standard
        deviation of the noise. The joint shift of several events is the square root of the
        sum of their squared shifts.

    Examples
    --------
    Two releases with shifts 0.3 and 0.4 cost as much as one with a shift of 0.5:

    >>> from confide.accounting import GaussianEvent, compose
    >>> both = compose([GaussianEvent(0.3), GaussianEvent(0.4)], 1e-6)
    >>> one = compose([GaussianEvent(0.5)], 1e-6)
    >>> round(float(both.epsilon), 6) == round(float(one.epsilon), 6)
    True
    """

    mu: float

    def for_group(self, rows: int) -> "GaussianEvent":
        """Return the event for a group of rows: mu times the number of rows.

        See Dong, Roth and Su (2022), theorem 2.14.

        Parameters
        ----------
        rows : int
            The number of rows that belong to one person.

        Returns
        -------
        GaussianEvent
            The event for one person.
        """
        return GaussianEvent(round_up(rows * Fraction(self.mu)))


@EVENTS.register("approx")
@dataclass(frozen=True, slots=True)
class ApproxEvent:
    """A release for which only one pair (epsilon, delta) is known.

    Parameters
    ----------
    epsilon : Fraction
        The exact value of epsilon.
    delta : Fraction
        The exact value of delta.

    Examples
    --------
    Such events compose less well than Gaussian events, because less is known about them.
    Here, epsilon and delta simply add up:

    >>> from fractions import Fraction
    >>> from confide.accounting import ApproxEvent, compose
    >>> half = ApproxEvent(Fraction(1, 2), Fraction(1, 10**7))
    >>> compose([half, half], Fraction(2, 10**7))
    Approx(1, 2e-07)
    """

    epsilon: Fraction
    delta: Fraction

    def for_group(self, rows: int) -> "ApproxEvent":
        """Return the event for a group of rows; see `confide.privacy.row_budget`.

        Parameters
        ----------
        rows : int
            The number of rows that belong to one person.

        Returns
        -------
        ApproxEvent
            The event for one person.
        """
        delta = group_delta(self.epsilon, self.delta, rows)
        return ApproxEvent(rows * self.epsilon, delta)


@EVENTS.register("zcdp")
@dataclass(frozen=True, slots=True)
class ZcdpEvent:
    """A release that satisfies rho-zCDP.

    Parameters
    ----------
    rho : Fraction
        The exact value of rho.

    Examples
    --------
    Rho grows with the square of the number of rows in a group:

    >>> from fractions import Fraction
    >>> from confide.accounting import ZcdpEvent
    >>> ZcdpEvent(Fraction(1, 100)).for_group(3).rho
    Fraction(9, 100)
    """

    rho: Fraction

    def for_group(self, rows: int) -> "ZcdpEvent":
        """Return the event for a group of rows: rho times the square of their number.

        Parameters
        ----------
        rows : int
            The number of rows that belong to one person.

        Returns
        -------
        ZcdpEvent
            The event for one person.
        """
        return ZcdpEvent(rows**2 * self.rho)


@EVENTS.register("subsampled-gaussian")
@dataclass(frozen=True, slots=True)
class SubsampledGaussianEvent:
    """Noisy sums over random batches; each step draws a new batch and new Gaussian noise.

    Parameters
    ----------
    multiplier : float
        The standard deviation of the noise on the sum over a batch, divided by the largest
        change of this sum due to one record. For vectors of norm at most C, the change is C
        for "poisson" and 2C for "without-replacement". Larger multipliers mean more noise
        and more privacy.
    rate : Fraction
        The fraction of the rows in a batch, in (0, 1]; at 1 every step uses all rows.
    steps : int
        The number of noisy sums, at least 1.
    sampling : {'poisson', 'without-replacement'}
        With "poisson", every record is included in a batch with probability ``rate``, and
        the guarantee is proved under add-remove. With "without-replacement", a batch has
        exactly ``rate`` times the number of rows, and the guarantee is proved under
        replace-one.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    A thousand steps are affordable on batches of one percent, but not on all rows:

    >>> from fractions import Fraction
    >>> from confide.accounting import SubsampledGaussianEvent, compose
    >>> batches = SubsampledGaussianEvent(2.0, Fraction(1, 100), 1000, "poisson")
    >>> whole = SubsampledGaussianEvent(2.0, Fraction(1), 1000, "poisson")
    >>> [round(float(compose([event], 1e-6).epsilon), 2) for event in (batches, whole)]
    [0.72, 199.28]
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
        """Return the event for a group of rows.

        The probability that a batch contains any of k rows is at most k times that for one
        row, and k rows change the sum over a batch by at most k times as much as one row
        (docs/proofs/noisy-gradients.md#subsampled-gaussian).

        Parameters
        ----------
        rows : int
            The number of rows that belong to one person.

        Returns
        -------
        SubsampledGaussianEvent
            The event for one person.
        """
        rate = min(Fraction(1), rows * self.rate)
        multiplier = round_down(Fraction(self.multiplier) / rows)
        return SubsampledGaussianEvent(multiplier, rate, self.steps, self.sampling)

    @property
    def full(self) -> GaussianEvent | None:
        """The Gaussian event equivalent to all steps; None if the rate is below 1."""
        if self.rate < 1:
            return None
        return GaussianEvent(round_up(math.sqrt(self.steps) / self.multiplier))


KnownEvent: TypeAlias = (
    PureEvent | GaussianEvent | ApproxEvent | ZcdpEvent | SubsampledGaussianEvent
)
"""The built-in events, which composition handles directly."""


class BoundedEvent(Protocol):
    """Protocol for event classes of other packages.

    Such a class is a frozen dataclass that is registered in `EVENTS`, with fractions,
    floats and integers as fields. Composition replaces the event by its ``bound``.

    Examples
    --------
    An event with a Gaussian bound is composed like a Gaussian event:

    >>> from dataclasses import dataclass
    >>> from confide.accounting import GaussianEvent, compose
    >>> @dataclass(frozen=True)
    ... class Survey:
    ...     mu: float
    ...
    ...     @property
    ...     def bound(self):
    ...         return GaussianEvent(self.mu)
    ...
    ...     def for_group(self, rows):
    ...         return Survey(rows * self.mu)
    >>> round(float(compose([Survey(0.25)], 1e-6).epsilon), 2)
    1.06
    """

    @property
    def bound(self) -> KnownEvent:
        """A built-in event whose privacy loss is at least as large."""
        ...

    def for_group(self, rows: int) -> "BoundedEvent":
        """Return the event for a group of rows.

        Parameters
        ----------
        rows : int
            The number of rows that belong to one person.

        Returns
        -------
        BoundedEvent
            The event for one person.
        """
        ...


Event: TypeAlias = KnownEvent | BoundedEvent


def known_event(event: Event) -> KnownEvent:
    """Return a built-in event unchanged, and for any other event its built-in bound."""
    return event if isinstance(event, KnownEvent) else event.bound


def event_of(budget: Budget) -> KnownEvent:
    """Return the event of a release for which only the budget is known.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        The budget that was spent.

    Returns
    -------
    PureEvent, ApproxEvent or ZcdpEvent
        The matching event.

    Examples
    --------
    A charge that was agreed outside the library can be entered in a ledger as an event:

    >>> from confide import Pure
    >>> from confide.accounting import event_of
    >>> event_of(Pure(1))
    PureEvent(epsilon=Fraction(1, 1))
    """
    match budget:
        case Pure(epsilon=epsilon):
            return PureEvent(epsilon)
        case Approx(epsilon=epsilon, delta=delta):
            return ApproxEvent(epsilon, delta)
        case Zcdp(rho=rho):
            return ZcdpEvent(rho)
        case _:
            assert_never(budget)


def gaussian_part(events: Sequence[Event]) -> tuple[float, bool]:
    """Return the sum of squared Gaussian shifts, and whether all events are Gaussian.

    Parameters
    ----------
    events : sequence of Event
        The events of one release.

    Returns
    -------
    tuple of float and bool
        The sum of squared shifts, rounded up, and True if all events are Gaussian.

    Examples
    --------
    >>> from confide.accounting import GaussianEvent, gaussian_part
    >>> square, alone = gaussian_part([GaussianEvent(3.0), GaussianEvent(4.0)])
    >>> round(square, 6), alone
    (25.0, True)
    """
    shifts = [event.mu for event in events if isinstance(event, GaussianEvent)]
    return round_up(sum(mu**2 for mu in shifts)), len(shifts) == len(events)


def group_events(events: tuple[Event, ...], rows_per_person: int) -> tuple[Event, ...]:
    """Return the events for a person with several rows.

    Parameters
    ----------
    events : tuple of Event
        The events for one row.
    rows_per_person : int
        The largest number of rows that belong to one person.

    Returns
    -------
    tuple of Event
        The events for one person; unchanged if a person has one row.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from confide.accounting import PureEvent, group_events
    >>> group_events((PureEvent(Fraction(1, 4)),), rows_per_person=4)
    (PureEvent(epsilon=Fraction(1, 1)),)
    """
    if rows_per_person == 1:
        return events
    return tuple(event.for_group(rows_per_person) for event in events)


def has_batches(events: Sequence[Event]) -> bool:
    """Return whether any of the events is a subsampled Gaussian event."""
    return any(isinstance(known_event(e), SubsampledGaussianEvent) for e in events)


def whole_shift(events: Sequence[Event]) -> float | None:
    """Return the Gaussian shift equivalent to all events, or None if there is none."""
    shifts = []
    for event in map(known_event, events):
        match event:
            case GaussianEvent(mu) | SubsampledGaussianEvent(full=GaussianEvent(mu)):
                shifts.append(mu)
            case _:
                return None
    return round_up(math.hypot(*shifts)) if shifts else None


def sampling_for(neighbours: Neighbours) -> Sampling:
    """Return the sampling scheme whose guarantee is proved under a neighbour relation.

    Parameters
    ----------
    neighbours : Neighbours
        The neighbour relation of the guarantee.

    Returns
    -------
    {'poisson', 'without-replacement'}
        The sampling scheme.

    Examples
    --------
    Batches of a fixed size need a public number of rows, which replace-one assumes:

    >>> from confide import Neighbours
    >>> from confide.accounting import sampling_for
    >>> sampling_for(Neighbours.REPLACE_ONE)
    'without-replacement'
    """
    return "poisson" if neighbours is Neighbours.ADD_REMOVE else "without-replacement"


def check_sampling(event: KnownEvent, neighbours: Neighbours) -> None:
    """Raise if the sampling of an event has no proof under the neighbour relation."""
    if not isinstance(event, SubsampledGaussianEvent) or event.rate == 1:
        return
    proved = sampling_for(neighbours)
    if event.sampling != proved:
        raise InvalidParameter(
            "sampling of the events",
            f"{proved!r} in a charge for {neighbours} neighbours",
            event.sampling,
        )


def larger_events(
    first: Sequence[Event], second: Sequence[Event], budget: Budget
) -> tuple[Event, ...]:
    """Return events that bound the joint cost of releases from disjoint sets of records.

    ``first`` and ``second`` are the events of the releases from the two sets, and each is
    within ``budget`` (docs/proofs/evaluation.md#holdout-exact).
    """
    shifts = whole_shift(first), whole_shift(second)
    if shifts[0] is not None and shifts[1] is not None:
        return (GaussianEvent(max(shifts[0], shifts[1])),)
    return (event_of(budget),)
