"""What happened, as inert values; what it cost is the business of composition."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


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


Event: TypeAlias = PureEvent | GaussianEvent | ApproxEvent | ZcdpEvent
