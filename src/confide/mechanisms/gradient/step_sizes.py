"""How far to go against noisy gradients: the total step, and how it is divided.

The total step τ is on the scale of a sum: without curvature θ moves by −τ·Σ∇φ, and the
noise of the whole budget by τ·s, s being its deviation on one gradient of all rows. Going
on for longer lets in more noise than signal. So τ·s is what a coefficient is guessed to be,
‖θ‖/√p, and moves no margin by more than the `typical_margin`. It acts as a ridge of 1/τ.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from confide.errors import InvalidParameter, MissingPublicBound
from confide.mechanisms.gradient.calibration import GradientCalibration
from confide.objectives import Objective, curvature_bound

StepRule = Literal["total", "epoch", "sqrt", "constant"]
LEAST_FRICTION = 7.0
"""So many times at least is a movement forgotten in the course of all steps."""
SETTLED = 20.0
"""A ridge Λ has had its effect after a path of so many times 1/Λ."""


@dataclass(frozen=True, slots=True)
class Steps:
    """How long steps are, on the scale of a mean.

    "total" divides a total step evenly, and no step is longer than 1/β, β being the
    largest curvature of a record. The others begin with ``first``, or 1/β: over the
    epoch, over √k, or constant. Without a rule a given step is constant.
    """

    rule: StepRule | None
    first: float | None

    def __post_init__(self) -> None:
        if self.rule not in (None, "total", "epoch", "sqrt", "constant"):
            must = "'total', 'epoch', 'sqrt' or 'constant'"
            raise InvalidParameter("rule", must, self.rule)
        if self.first is not None and not 0 < self.first < math.inf:
            raise InvalidParameter("step", "positive and finite", self.first)
        if self.first is not None and self.rule == "total":
            must = "None where the total step decides"
            hint = "Use rule='constant', 'epoch' or 'sqrt'."
            raise InvalidParameter("step", must, self.first, hint)

    def longest(self, objective: Objective) -> float:
        """Return the longest step: what was given, or 1/β."""
        if self.first is not None:
            return self.first
        try:
            return longest_step(objective)
        except MissingPublicBound:
            raise InvalidParameter(
                "step", "given, for nothing public bounds the loss's curvature", None
            ) from None

    def sizes(
        self,
        objective: Objective,
        count: int,
        per_epoch: float,
        total: float = math.inf,
    ) -> Iterator[float]:
        """Yield the length of every step; rule "total" divides ``total`` among them."""
        first = self.longest(objective)
        rule = self.rule or ("total" if self.first is None else "constant")
        for turn in range(count):
            match rule:
                case "total":
                    yield min(first, total / count)
                case "epoch":
                    yield first / (1 + turn // per_epoch)
                case "sqrt":
                    yield first / math.sqrt(turn + 1)
                case "constant":
                    yield first

    def of(
        self, calibration: GradientCalibration, scale: float, part: float = 1.0
    ) -> Iterator[float]:
        """Yield the length of every step; ``part`` is how much of the total step to go."""
        total = part * calibration.total_step * scale
        per_epoch = float(1 / calibration.rate)
        return self.sizes(calibration.objective, calibration.steps, per_epoch, total)


@dataclass(frozen=True, slots=True)
class Pace:
    """The length of every step, and the share of a movement that the next one keeps."""

    size: float
    momentum: float

    @classmethod
    def of(cls, calibration: GradientCalibration, scale: float) -> "Pace":
        """Go as far as the total step with as little momentum as that needs.

        With steps of 1/β and momentum m the path is steps/((1 − m)·β·scale) long. A path
        that ends before τ for want of steps keeps the least friction that forgets where it
        came from.
        """
        objective, steps = calibration.objective, calibration.steps
        total = calibration.total_step * scale
        needed = total
        if objective.strong_convexity:
            needed = min(needed, SETTLED * scale / objective.strong_convexity)
        longest = longest_step(objective)
        friction = max(steps * longest / needed, LEAST_FRICTION / steps)
        if friction >= 1:
            return cls(min(longest, total / steps), 0.0)
        return cls(longest, 1 - friction)


def longest_step(objective: Objective) -> float:
    """Return 1/β: with a longer step on the mean an iteration may not settle."""
    bend = curvature_bound(objective.loss, objective.public)
    return 1 / (objective.row_norm**2 * (bend if bend < math.inf else 1.0))
