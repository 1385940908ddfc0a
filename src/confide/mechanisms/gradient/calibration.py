"""Calibration of noisy gradients: clip, noise, sampling, number of rows."""

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
from confide.errors import InvalidParameter, MissingPublicBound, UnmetNeeds
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
"""An automatic ridge, as a share of the ridge that a path of limited length amounts to."""
SAFETY_FACTOR = 2.0
"""Deviations added to a noisy number of rows: a number that is too large does no harm."""
BATCH_SLACK = 2.0**-21
"""Clips by which sums over batches of neighbours differ more than exact sums: they
are exact but for one rounding."""
ENTRY_ROUNDING = 2.0**-20
"""In longest rows, times the root of their number of entries: more than cutting
and rounding can move the gradients of two records apart."""
LONGEST = 1024.0
"""A margin beyond which two gradients are taken to be as far apart as they ever are."""
HALVINGS = 40
RELATIVE_TOLERANCE = 1e-4
"""How near to the least noise that keeps a budget a search must come."""

FINITE_SLOPE = Need(
    "slopes that are finite for every record, which a clip then shortens",
    lambda objective: (
        objective.target_bound is not None
        or objective.loss.targets == "signs"
        or is_clipped(objective.loss)
    ),
    "declare a public bound on the target (target_bound) or clip the slope (slope_bound)",
)


@dataclass(frozen=True, slots=True)
class GradientSettings:
    """The public settings that every mechanism with noisy gradients has.

    ``weight`` is how many squared sensitivities one step spends: 1 for a noisy gradient.
    ``accounting`` is the method by which noise for random batches is chosen.
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
        """Read them off a mechanism; one without a rate sees all rows in every step."""
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

    ``noise`` is what every (subsampled) sum gets, or a ``noise_share`` of it; ``clip``
    bounds a record's gradient. ``slack`` is how many clips more than exact sums those of
    neighbours differ by. ``dealt`` says that rows are dealt to parties, each of which sums
    its own.
    """

    clip: float = field(kw_only=True)
    rate: Fraction = field(kw_only=True)
    steps: int = field(kw_only=True)
    counted: Gaussian | None = field(kw_only=True)
    slack: float = field(kw_only=True)
    dealt: bool = field(default=False, kw_only=True)

    @property
    def grid(self) -> float:
        """The step of the lattice on which noisy sums lie: no sum is beyond its end."""
        most = MAX_ROWS * self.clip / self.noise_share(np.zeros((1, 1)))
        return grid_for(self.noise.scale, most)

    def noise_share(self, points: Array) -> float:
        """Return the share of the noise that is enough at coefficients that are public.

        Where one record is replaced and coefficients are short, no two logistic gradients
        are as far apart as twice the longest is long. Each line has those of a party.
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
        """How long θ may be for margins that a product of matrices rounds."""
        return trusted_radius(self.objective, self.clip / self.objective.row_norm)

    @property
    def takes_count_as_public(self) -> bool:
        """Under replace-one steps and batches are relative to the number of rows itself."""
        return self.neighbours is Neighbours.REPLACE_ONE

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the noise of the steps, and of the count."""
        if self.noise_share(np.zeros((1, 1))) < 1:
            added_to += ", less while coefficients are short"
        first = Calibration.records(self, added_to)
        if self.counted is None:
            return first
        return *first, NoiseRecord("gaussian", self.counted.scale, "number of rows")

    @property
    def total_step(self) -> float:
        """Total step size on the scale of the sum."""
        objective = self.objective
        whole = self.noise.scale / (float(self.rate) * math.sqrt(self.steps))
        guess = objective.typical_norm / math.sqrt(objective.dimension)
        return min(guess, objective.typical_margin / objective.row_norm) / whole

    def check_rows(self, rows: Rows) -> None:
        """Refuse, before anything is spent, rows that cannot be added up or drawn from."""
        check_length(rows)
        if (self.rate < 1 or self.dealt) and not rows.pickable:
            raise InvalidParameter(
                "table",
                "in memory or on a cluster for random batches: a table on disk is read "
                f"in order, and each of {self.steps} steps would read all of it",
                "a table that is streamed",
                "Set rate to 1 (mechanism='momentum' does), or hold the rows: fit on a "
                "cluster (--workers, --cluster), or read the table whole.",
            )
        if self.takes_count_as_public and self.rate * rows.count < 1:
            raise InvalidParameter(
                "rate",
                f"at least 1/{rows.count}, one row of the table",
                float(self.rate),
                "Raise rate, or set it to 1: every step then sees all rows.",
            )

    def scale(self, rows: Rows, entropy: Entropy, least: float) -> float:
        """Return about how many rows there are: a public number, or one bought with noise.

        Step sizes are relative to it. It is at least 1 and ``least``. A noisy number is
        rather too large than too small, because steps are then too short, not too long.
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
    """Choose the noise of every step from public facts alone."""
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
                "Approx for random batches: under zCDP they save nothing",
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
    """Return what a share of the squared shift leaves of the shift."""
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
    """Return steps that keep a budget together with a release of a given shift."""
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
    """Return the longest gradient of one record, after clipping."""
    longest = math.inf if clip is None else clip
    with suppress(MissingPublicBound):
        longest = min(longest, objective.lipschitz)
    if not longest < math.inf:
        remedy = BOUNDED_SLOPE.remedy + ", or clip gradients (clip)"
        raise UnmetNeeds(mechanism, ((BOUNDED_SLOPE.name, remedy),))
    check_needs(mechanism, (FINITE_SLOPE, SEVERAL_RESPONSES), objective)
    return longest


def pair_distance(margin_bound: float) -> float:
    """Return how far apart logistic gradients of two records can be, over the longest row.

    No margin exceeds the bound. It is the largest of 2·sigmoid(B·c)·√(1 − c²): the
    logarithm is concave in c, so that a tangent near the top bounds all of it.
    docs/proofs/gradient-mechanisms.md#pair-distance
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
    """Return the shift of a unit normal that the whole budget pays for."""
    if isinstance(budget, Pure):
        raise InvalidParameter(
            "budget",
            f"Approx or Zcdp for {mechanism}, whose noise is Gaussian",
            budget,
            "Use Approx(epsilon, delta), or mechanism='objective'.",
        )
    return gaussian_shift_of(budget)


def check_gradient_settings(mechanism: Any) -> None:
    """Check what all of them share, and make rate and share of the count exact."""
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
