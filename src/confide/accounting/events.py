"""What happened, as inert values; what it cost is the business of composition."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, assert_never, get_args

from confide.errors import InvalidParameter
from confide.privacy.budgets import Approx, Budget, Pure, Zcdp

Sampling: TypeAlias = Literal["poisson", "without-replacement"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)


@dataclass(frozen=True, slots=True)
class PureEvent:
    """A release whose likelihood ratios are at most exp(epsilon)."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class GaussianEvent:
    """A release no easier to attack than a unit normal shifted by mu (mu-GDP)."""

    mu: float


@dataclass(frozen=True, slots=True)
class ApproxEvent:
    """A release of which only one (epsilon, delta) is known."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class ZcdpEvent:
    """A release that is rho-zCDP."""

    rho: Fraction


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

    @property
    def full(self) -> GaussianEvent | None:
        """The one Gaussian shift that all steps together are when nothing is left out."""
        if self.rate < 1:
            return None
        return GaussianEvent(math.sqrt(self.steps) / self.multiplier)


Event: TypeAlias = (
    PureEvent | GaussianEvent | ApproxEvent | ZcdpEvent | SubsampledGaussianEvent
)


def event_of(budget: Budget) -> Event:
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
