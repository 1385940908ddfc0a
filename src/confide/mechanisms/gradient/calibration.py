"""Calibration of noisy gradients: clip, noise, sampling rate and number of rows."""

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from confide._types import Array
from confide.accounting import (
    METHODS,
    Event,
    GaussianEvent,
    Method,
    SubsampledGaussianEvent,
    compose,
    multiplier_for,
    sampling_for,
)
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import Rows
from confide.errors import Described, InvalidParameter, MissingPublicBound, UnmetNeeds
from confide.mechanisms.base import (
    Calibration,
    check_length,
    check_whole,
    gaussian_shift_of,
    publish,
)
from confide.mechanisms.needs import BOUNDED_SLOPE, SEVERAL_RESPONSES, Need, check_needs
from confide.mechanisms.release import NoiseRecord
from confide.mechanisms.rounding import SLACK, trusted_radius
from confide.noise import Entropy, Gaussian
from confide.noise.lattice import grid_for
from confide.objectives import Objective, is_clipped, is_logistic
from confide.privacy import Approx, Budget, Neighbours, Pure, round_down, round_up
from confide.privacy.budgets import exact
from confide.privacy.rounding import MARGIN

RIDGE_SHARE = 0.1
"""Automatic ridge times `GradientCalibration.total_step`, which is called τ. Stopping after
τ acts like a ridge of 1/τ."""
SAFETY_FACTOR = 2.0
"""A noisy count of the rows is increased by this number of standard deviations of its
noise, because overestimates are harmless."""
BATCH_SLACK = 2.0**-21
"""Bound on how much rounding adds to the distance between batch sums of neighbouring
tables, in units of the clip. The sums are exact except for one final rounding."""
ENTRY_ROUNDING = 2.0**-20
"""Bound on how much truncation and rounding add to the distance between the gradients of
two records, in units of the bound on row norms times the root of the number of entries."""
LONGEST = 1024.0
"""Largest margin for which `pair_distance` is computed. Beyond it, the distance between two
gradients is bounded by the sum of their norms."""
HALVINGS = 40
RELATIVE_TOLERANCE = 1e-4
"""Relative precision of the search for the smallest noise that a budget allows."""

FINITE_SLOPE = Need(
    "finite slopes for every record, so that they can be clipped",
    lambda objective: (
        objective.target_bound is not None
        or objective.loss.targets == "signs"
        or is_clipped(objective.loss)
    ),
    "declare a public bound on the target (target_bound) or clip the slope (slope_bound)",
)


@dataclass(frozen=True, slots=True)
class GradientSettings:
    """Public settings common to all mechanisms with noisy gradients.

    ``weight`` is the squared sensitivity of one step relative to that of one gradient sum,
    and thus 1 if a step releases only this sum. ``accounting`` is the accounting method for
    random batches.
    """

    mechanism: Any
    steps: int
    rate: Fraction
    clip: float | None
    ridge: float | None
    count_share: Fraction
    theorem: str
    weight: float = 1.0
    accounting: Method = "best"

    @classmethod
    def of(cls, mechanism: Any, theorem: str, weight: float = 1.0) -> "GradientSettings":
        """Collect the settings of a mechanism.

        Every step of a mechanism without a ``rate`` uses all rows.
        """
        return cls(
            mechanism,
            mechanism.steps,
            getattr(mechanism, "rate", Fraction(1)),
            mechanism.clip,
            mechanism.ridge,
            mechanism.count_share,
            theorem,
            weight,
            getattr(mechanism, "accounting", "best"),
        )


@dataclass(frozen=True, slots=True)
class GradientCalibration(Calibration):
    """Noise on sums of clipped gradients, and on the number of rows if it is private.

    In every step, ``noise`` is multiplied by the `noise_share` and added to the sum.
    ``clip`` bounds the norm of the gradient of a record. ``slack``, in units of ``clip``,
    bounds how much rounding adds to the distance between the sums of neighbouring tables.
    ``counted`` is the noise on the number of rows. If ``dealt`` is true, the rows are
    divided among parties, each of which sums over its own rows.
    """

    clip: float = field(kw_only=True)
    rate: Fraction = field(kw_only=True)
    steps: int = field(kw_only=True)
    counted: Gaussian | None = field(kw_only=True)
    slack: float = field(kw_only=True)
    dealt: bool = field(default=False, kw_only=True)

    @property
    def grid(self) -> float:
        """Step of the lattice of noisy sums, so large that the lattice covers any sum."""
        most = MAX_ROWS * self.clip / self.noise_share(np.zeros((1, 1)))
        return grid_for(self.noise.scale, most)

    def noise_share(self, points: Array) -> float:
        """Return the factor, at most 1, by which the noise can be reduced at ``points``.

        ``points`` are public coefficients, one row per party. Under replace-one, the
        distance between two logistic gradients is less than twice the bound on their norms
        if the norm of the coefficients is small.
        """
        objective, most = self.objective, self.neighbours.shifts * self.clip
        if (
            self.neighbours is not Neighbours.REPLACE_ONE
            or not is_logistic(objective.loss)
            or objective.weighted
            or objective.responses > 1
        ):
            return 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.linalg.norm(points, axis=1).max())
        length *= 1 + points.shape[1] * 2.0**-50
        apart = pair_distance(objective.row_norm * length)
        apart += (math.sqrt(objective.dimension) + 1) * ENTRY_ROUNDING
        apart = min(apart * objective.row_norm * (1 + MARGIN), most)
        beyond = self.slack * self.clip
        return min(1.0, (apart + beyond) / (most + beyond) * (1 + MARGIN))

    @property
    def trusted_radius(self) -> float:
        """Largest ‖θ‖ at which matrix products compute margins precisely enough."""
        return trusted_radius(self.objective, self.clip / self.objective.row_norm)

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the number of rows is public, as it is under replace-one."""
        return self.neighbours is Neighbours.REPLACE_ONE

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Return descriptions of the noise on the sums and on the number of rows."""
        if self.noise_share(np.zeros((1, 1))) < 1:
            added_to += " (less noise while the norm of the coefficients is small)"
        first = Calibration.records(self, added_to)
        if self.counted is None:
            return first
        return *first, NoiseRecord("gaussian", self.counted.scale, "number of rows")

    @property
    def total_step(self) -> float:
        """Intended sum of all step sizes, for an objective that is a sum over records.

        With this sum, the accumulated noise in a coefficient is as large as a typical
        coefficient, or, if that is less, large enough for the noise in a margin to be as
        large as a typical margin.
        """
        objective = self.objective
        whole = self.noise.scale / (float(self.rate) * math.sqrt(self.steps))
        guess = objective.typical_norm / math.sqrt(objective.dimension)
        return min(guess, objective.typical_margin / objective.row_norm) / whole

    def check_rows(self, rows: Rows) -> None:
        """Reject rows that cannot be summed or sampled, before any budget is spent."""
        check_length(rows)
        if (self.rate < 1 or self.dealt) and not rows.pickable:
            raise InvalidParameter(
                "table",
                "in memory or on a cluster for random batches: a table on disk is read "
                f"in order, and each of {self.steps} steps would read all of it",
                Described("a table that is streamed"),
                "Set rate to 1, as mechanism='momentum' does, or keep the rows in memory: "
                "fit on a cluster (--workers, --cluster), or read the whole table.",
            )
        if self.takes_count_as_public and self.rate * rows.count < 1:
            raise InvalidParameter(
                "rate",
                f"at least 1/{rows.count}, one row of the table",
                float(self.rate),
                "Raise rate, or set it to 1: every step then uses all rows.",
            )

    def scale(self, rows: Rows, entropy: Entropy, least: float) -> float:
        """Return the number of rows if it is public, and otherwise a noisy estimate.

        Step sizes are relative to the result, which is at least 1 and at least ``least``.
        The estimate errs upwards, so steps tend to be too short rather than too long.
        """
        count = float(rows.count)
        if self.counted is not None:
            noisy = publish(np.array([count]), self.counted, entropy, MAX_ROWS)
            room = SAFETY_FACTOR * self.counted.scale
            count = max(float(noisy[0]) + room, self.counted.scale)
        return max(1.0, least, count)


def calibrate_gradients(
    settings: GradientSettings,
    objective: Objective,
    budget: Budget,
    neighbours: Neighbours,
    copies: int,
) -> GradientCalibration:
    """Choose the noise of every step, and the ridge, from public information alone."""
    name = type(settings.mechanism).__name__
    clip = clip_for(name, objective, settings.clip)
    shift = total_shift(name, budget)
    turns, rate = settings.steps * copies, settings.rate
    counted, beside = None, 0.0
    if neighbours is Neighbours.ADD_REMOVE:
        beside = round_down(shift * math.sqrt(settings.count_share))
        counted = Gaussian(round_up(1 / beside))
    event: Event
    if rate == 1:
        left = shift if counted is None else _rest(shift, settings.count_share)
        multiplier, event = math.sqrt(settings.weight * turns) / left, GaussianEvent(left)
    else:
        if not isinstance(budget, Approx):
            raise InvalidParameter(
                "budget",
                "Approx for random batches, because they bring no gain in privacy under "
                "zCDP",
                budget,
                "Use Approx(epsilon, delta), or set rate to 1.",
            )
        event = sampled_steps(
            budget, turns, rate, neighbours, beside, accounting=settings.accounting
        )
        multiplier = event.multiplier
    slack = SLACK if rate == 1 else BATCH_SLACK
    found = GradientCalibration(
        settings.mechanism,
        objective,
        budget,
        neighbours,
        settings.theorem,
        Gaussian(round_up(multiplier * (neighbours.shifts + slack) * clip)),
        None,
        math.inf,
        (event,) if counted is None else (event, GaussianEvent(beside)),
        copies,
        clip=clip,
        rate=rate,
        steps=settings.steps,
        counted=counted,
        slack=slack,
    )
    if objective.l2 is not None:
        return found
    ridge = settings.ridge or RIDGE_SHARE / found.total_step
    return replace(found, objective=objective.with_l2(ridge))


def _rest(shift: float, share: Fraction) -> float:
    """Return the parameter μ of Gaussian DP that remains if a share of μ² is spent."""
    return round_down(shift * math.sqrt(1 - share))


@lru_cache(maxsize=256)
def sampled_steps(
    budget: Approx,
    steps: int,
    rate: Fraction,
    neighbours: Neighbours,
    beside: float,
    *,
    accounting: Method = "best",
) -> SubsampledGaussianEvent:
    """Return the event of all subsampled steps, with the least noise within the budget.

    The budget also covers another release with the parameter μ = ``beside`` of Gaussian DP,
    such as a noisy number of rows.
    """
    sampling = sampling_for(neighbours)
    alone = multiplier_for(
        budget, steps, rate=rate, neighbours=neighbours, method=accounting
    )
    if not beside:
        return SubsampledGaussianEvent(alone, rate, steps, sampling)

    def excess(multiplier: float) -> float:
        event = SubsampledGaussianEvent(multiplier, rate, steps, sampling)
        together = compose((event, GaussianEvent(beside)), budget.delta)
        return float(together.epsilon / budget.epsilon) - 1

    low = high = alone
    while excess(high) > 0:
        low, high = high, high + max(2 * (high - low), alone / 50)
    if low < high:
        high = float(brentq(excess, low, high, xtol=RELATIVE_TOLERANCE / 2 * alone))
    while excess(high) > 0:
        high += RELATIVE_TOLERANCE / 2 * alone
    return SubsampledGaussianEvent(high, rate, steps, sampling)


def clip_for(mechanism: str, objective: Objective, clip: float | None) -> float:
    """Return the bound on the gradient norm of one record, from the clip or the loss."""
    longest = math.inf if clip is None else clip
    with suppress(MissingPublicBound):
        longest = min(longest, objective.lipschitz)
    if not longest < math.inf:
        remedy = BOUNDED_SLOPE.remedy + ", or clip gradients (clip)"
        raise UnmetNeeds(mechanism, ((BOUNDED_SLOPE.name, remedy),))
    check_needs(mechanism, (FINITE_SLOPE, SEVERAL_RESPONSES), objective)
    return longest


def pair_distance(margin_bound: float) -> float:
    """Return a bound on the distance between two logistic gradients, for rows of norm 1.

    If B bounds the margins, the distance is at most the maximum of 2·sigmoid(B·c)·√(1 − c²)
    over 0 <= c <= 1. The logarithm of this function is concave in c, so its tangent near
    the maximum gives an upper bound: docs/proofs/gradient-mechanisms.md#pair-distance.
    """
    if not margin_bound <= LONGEST:
        return 2.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rising = margin_bound * (1 - middle**2) > middle * (
            1 + math.exp(margin_bound * middle)
        )
        low, high = (middle, high) if rising else (low, middle)
    grown = math.exp(-margin_bound * low)
    slope = margin_bound * grown / (1 + grown) - low / (1 - low**2)
    top = 2 * math.sqrt(1 - low**2) / (1 + grown)
    return min(2.0, top * math.exp(abs(slope) + MARGIN) * (1 + MARGIN))


def total_shift(mechanism: str, budget: Budget) -> float:
    """Return the parameter μ of Gaussian DP that a budget allows; reject pure budgets."""
    if isinstance(budget, Pure):
        raise InvalidParameter(
            "budget",
            f"Approx or Zcdp for {mechanism}, whose noise is Gaussian",
            budget,
            "Use Approx(epsilon, delta), or mechanism='objective'.",
        )
    return gaussian_shift_of(budget)


def check_gradient_settings(mechanism: Any) -> None:
    """Check settings common to gradient mechanisms; convert shares to exact fractions."""
    for name in ("rate", "count_share"):
        if hasattr(mechanism, name):
            object.__setattr__(mechanism, name, exact(getattr(mechanism, name), name))
    rate, share = getattr(mechanism, "rate", Fraction(1)), mechanism.count_share
    if not 0 < rate <= 1:
        raise InvalidParameter("rate", "greater than 0 and at most 1", float(rate))
    if not 0 < share < 1:
        raise InvalidParameter("count_share", "between 0 and 1", float(share))
    if hasattr(mechanism, "epochs"):
        if not 0 < mechanism.epochs < math.inf:
            raise InvalidParameter("epochs", "positive", mechanism.epochs)
    else:
        check_whole("steps", mechanism.steps)
    clip, ridge = mechanism.clip, mechanism.ridge
    if clip is not None and not 0 < clip < math.inf:
        raise InvalidParameter("clip", "positive and finite, or None", clip)
    if ridge is not None and not 0 < ridge < math.inf:
        raise InvalidParameter("ridge", "positive and finite, or None", ridge)
    accounting = getattr(mechanism, "accounting", "best")
    if accounting not in METHODS:
        raise InvalidParameter("accounting", f"one of {', '.join(METHODS)}", accounting)
