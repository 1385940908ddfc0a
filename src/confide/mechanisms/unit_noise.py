"""The noise that hides a shift of length 1, by kind of budget."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias, assert_never

from confide.accounting import Event, GaussianEvent, PureEvent
from confide.noise import Gaussian, SphericalLaplace
from confide.privacy import Approx, Budget, Pure, Zcdp, gaussian_mu

UnitNoise: TypeAlias = SphericalLaplace | Gaussian
WHOLE = Fraction(1)


def unit_noise(
    budget: Budget, copies: int = 1, share: Fraction = WHOLE
) -> tuple[UnitNoise, Event]:
    """Return the noise for a share of a budget, and what all copies of it cost.

    Shares of (epsilon, delta) are shares of the squared Gaussian shift.
    """
    if isinstance(budget, Pure):
        part = budget.share(share).epsilon
        return SphericalLaplace(copies / float(part)), PureEvent(part)
    mu = gaussian_shift_of(budget) * math.sqrt(float(share))
    return Gaussian(math.sqrt(copies) / mu), GaussianEvent(mu)


def gaussian_shift_of(budget: Approx | Zcdp) -> float:
    """Return the largest shift of a unit normal that a budget allows."""
    match budget:
        case Approx(epsilon=epsilon, delta=delta):
            return gaussian_mu(float(epsilon), float(delta))
        case Zcdp(rho=rho):
            return math.sqrt(2 * float(rho))
        case _:
            assert_never(budget)


def scaled(noise: UnitNoise, reach: float) -> UnitNoise:
    """Return the noise that hides a shift of length ``reach``."""
    return replace(noise, scale=noise.scale * reach)
