"""What is fixed before noisy gradients are taken: clip, noise, sampling, count."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

from confide.accounting import (
    Event,
    GaussianEvent,
    Sampling,
    SubsampledGaussianEvent,
    multiplier_for,
)
from confide.data.rows import Rows
from confide.errors import InvalidParameter, MissingPublicBound, UnmetNeeds
from confide.mechanisms.base import Calibration
from confide.mechanisms.needs import BOUNDED_SLOPE
from confide.mechanisms.release import NoiseRecord
from confide.noise import Entropy, Gaussian
from confide.objectives import Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, Zcdp, gaussian_mu
from confide.privacy.budgets import exact

SAMPLING: dict[Neighbours, Sampling] = {
    Neighbours.ADD_REMOVE: "poisson",
    Neighbours.REPLACE_ONE: "without-replacement",
}


@dataclass(frozen=True, slots=True)
class GradientSettings:
    """The public settings that every mechanism with noisy gradients has.

    ``weight`` is how many squared sensitivities one step spends: 1 for a noisy gradient.
    """

    steps: int
    rate: Fraction
    clip: float
    ridge: float
    count_share: Fraction
    theorem: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class GradientCalibration(Calibration):
    """Noise on sums of clipped gradients, and on the number of rows where it is private.

    ``noise`` is what every (subsampled) sum gets; ``clip`` bounds a record's gradient.
    """

    clip: float = field(kw_only=True)
    rate: Fraction = field(kw_only=True)
    steps: int = field(kw_only=True)
    counted: Gaussian | None = field(kw_only=True)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the noise of the steps, and of the count."""
        first = Calibration.records(self, added_to)
        if self.counted is None:
            return first
        return *first, NoiseRecord("gaussian", self.counted.scale, "number of rows")

    def check_rows(self, rows: Rows) -> None:
        """Refuse, before anything is spent, a public number of rows that gives no batch."""
        if self.neighbours is Neighbours.REPLACE_ONE and self.rate * rows.count < 1:
            raise InvalidParameter(
                "rate",
                f"at least 1/{rows.count}, one row of the table",
                float(self.rate),
                "Raise rate, or set it to 1: every step then sees all rows.",
            )

    def scale(self, rows: Rows, entropy: Entropy, least: float) -> float:
        """Return how many rows there are, about: it is public or bought, and post-processed.

        Step sizes are relative to it. It is at least 1 and ``least``.
        """
        count = float(rows.count)
        if self.counted is not None:
            count += float(self.counted.draw(1, entropy)[0])
        return max(1.0, least, count)


def calibrate_gradients(
    mechanism: str,
    objective: Objective,
    budget: Budget,
    neighbours: Neighbours,
    copies: int,
    plan: GradientSettings,
) -> GradientCalibration:
    """Choose the noise of every step from public facts alone."""
    clip = clip_for(mechanism, objective, plan.clip)
    shift = total_shift(mechanism, budget)
    counted, main, events = None, budget, ()
    whole = plan.rate == 1
    if neighbours is Neighbours.ADD_REMOVE:
        part = shift * math.sqrt(plan.count_share)
        counted = Gaussian(1 / part)
        events = (GaussianEvent(part),)
        shift *= math.sqrt(1 - plan.count_share)
    turns = plan.steps * copies
    event: Event
    if whole:
        multiplier = math.sqrt(plan.weight * turns) / shift
        event = GaussianEvent(shift)
    else:
        sampling = SAMPLING[neighbours]
        multiplier = multiplier_for(
            main,
            turns,
            rate=plan.rate,
            sampling=sampling,
            neighbours=neighbours,
            beside=events,
        )
        event = SubsampledGaussianEvent(multiplier, plan.rate, turns, sampling)
    return GradientCalibration(
        objective if objective.l2 is not None else objective.with_l2(plan.ridge),
        budget,
        neighbours,
        plan.theorem,
        Gaussian(multiplier * neighbours.shifts * clip),
        None,
        math.inf,
        (event, *events),
        copies,
        clip=clip,
        rate=plan.rate,
        steps=plan.steps,
        counted=counted,
    )


def clip_for(mechanism: str, objective: Objective, clip: float) -> float:
    """Return the longest gradient of one record, after clipping."""
    try:
        longest = min(clip, objective.lipschitz)
    except MissingPublicBound:
        longest = clip
    if not longest < math.inf:
        remedy = BOUNDED_SLOPE.remedy + ", or clip gradients (clip)"
        raise UnmetNeeds(mechanism, ((BOUNDED_SLOPE.name, remedy),))
    return longest


def total_shift(mechanism: str, budget: Budget) -> float:
    """Return the shift of a unit normal that the whole budget pays for."""
    match budget:
        case Pure():
            raise InvalidParameter(
                "budget",
                f"Approx or Zcdp for {mechanism}, whose noise is Gaussian",
                budget,
                "Use Approx(epsilon, delta), or mechanism='objective'.",
            )
        case Approx(epsilon=epsilon, delta=delta):
            return gaussian_mu(float(epsilon), float(delta))
        case Zcdp(rho=rho):
            return math.sqrt(2 * float(rho))
        case _:
            assert_never(budget)


def check_gradient_settings(
    *, rate: Fraction, steps: float, clip: float, ridge: float, count_share: Fraction
) -> tuple[Fraction, Fraction]:
    """Check what all of them share; return the exact rate and share."""
    rate, share = exact(rate, "rate"), exact(count_share, "count_share")
    if not 0 < rate <= 1:
        raise InvalidParameter("rate", "greater than 0 and at most 1", float(rate))
    if not 0 < share < 1:
        raise InvalidParameter("count_share", "between 0 and 1", float(share))
    if not 0 < steps < math.inf:
        raise InvalidParameter("steps or epochs", "positive", steps)
    if not clip > 0:
        raise InvalidParameter("clip", "positive", clip)
    if not 0 < ridge < math.inf:
        raise InvalidParameter("ridge", "positive and finite", ridge)
    return rate, share
