"""Iterations driven by noisy gradients, and their step sizes.

The iterations access the data only through the noisy gradient. The objective is treated as
a mean over records: gradients, ridge and penalty are divided by ``scale``, the number of
rows or a private estimate of it. Step sizes are therefore comparable between tables.

``averaged`` is the share of the iterates, counted from the end, whose mean is returned: 0
for the last iterate alone, 1 for all of them. To obtain exact zeros, the mean is taken of
the arguments of the proximal map, and the map is then applied once. If the iterates have
converged to a minimiser, the result is this minimiser.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter, MissingPublicBound
from confide.mechanisms.gradient.calibration import GradientCalibration
from confide.mechanisms.gradient.clipped_gradient import Gradient
from confide.objectives import Objective, curvature_bound, prox

StepRule = Literal["total", "epoch", "sqrt", "constant"]
LEAST_FRICTION = 7.0
"""Least value of (1 − momentum)·(number of steps). With a smaller value, the first steps
would still affect the movement in the last."""
SETTLED = 20.0
"""Sum of step sizes, in units of 1/Λ, after which a ridge Λ has had its full effect."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Rule for step sizes, for an objective that is a mean over records.

    Rule "total" divides a given total among equal steps of at most 1/β, where β is the
    largest curvature of the loss of any one record. The other rules start from ``first``,
    by default 1/β: "epoch" divides it by the number of the epoch, "sqrt" divides it by √k
    in step k, and "constant" keeps it. Without a rule, steps are constant if ``first`` is
    given, and follow rule "total" otherwise.
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
            must = "None with rule='total'"
            hint = "Use rule='constant', 'epoch' or 'sqrt'."
            raise InvalidParameter("step", must, self.first, hint)

    def longest(self, objective: Objective) -> float:
        """Return the largest step size: ``first`` if given, otherwise 1/β."""
        if self.first is not None:
            return self.first
        try:
            return longest_step(objective)
        except MissingPublicBound:
            raise InvalidParameter(
                "step", "given, as the curvature of the loss has no public bound", None
            ) from None

    def sizes(
        self,
        objective: Objective,
        count: int,
        per_epoch: float,
        total: float = math.inf,
    ) -> Iterator[float]:
        """Yield ``count`` step sizes.

        With rule "total" they add up to at most ``total``.
        """
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
        """Yield step sizes for a calibration and a share ``part`` of its `total_step`."""
        total = part * calibration.total_step * scale
        per_epoch = float(1 / calibration.rate)
        return self.sizes(calibration.objective, calibration.steps, per_epoch, total)


@dataclass(frozen=True, slots=True)
class Pace:
    """Step size and momentum of gradient descent."""

    size: float
    momentum: float

    @classmethod
    def of(cls, calibration: GradientCalibration, scale: float) -> "Pace":
        """Choose the least momentum with which the steps cover the required total.

        With step size 1/β and momentum m, the steps cover a total of
        steps/((1 − m)·β·scale). The required total is that of the calibration, or the
        total after which the ridge has had its full effect, whichever is less. Momentum is
        limited by `LEAST_FRICTION`, even if the steps then cover less.
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
    """Return the step size 1/β; with larger steps the iterations may not converge.

    β is the largest curvature of the loss of any one record, because the objective is
    treated as a mean over records.
    """
    curvature = curvature_bound(objective.loss, objective.public)
    return 1 / (objective.row_norm**2 * (curvature if curvature < math.inf else 1.0))


def least_scale(objective: Objective, longest_prox: float) -> float:
    """Return a lower limit on ``scale`` that makes the proximal map unique.

    The step of the map is longest_prox/scale. The result is 0 for convex penalties.
    """
    nonsmooth = objective.nonsmooth_part
    return 0.0 if nonsmooth is None else 2 * longest_prox * -nonsmooth.least_curvature


def check_averaged(share: float) -> None:
    """Reject a share outside [0, 1]."""
    if not 0 <= share <= 1:
        raise InvalidParameter("averaged", "a share from 0 to 1", share)


def first_of_tail(turns: int, share: float) -> int:
    """Return the index of the first iterate that enters the average."""
    return turns - max(1, math.ceil(share * turns))


@dataclass(frozen=True, slots=True)
class Admm:
    """Linearised ADMM for Σφ(x) + r(z) with x = z, with closed forms for both updates.

    ``rho`` is the weight of the augmented term. If ``return_z`` is true, the result is z,
    the output of the proximal map, which has exact zeros; otherwise it is x. If
    ``return_z`` is None, the result is z if there is a penalty or a constraint.
    """

    objective: Objective
    rho: float
    averaged: float = 0.0
    return_z: bool | None = None

    def run(self, gradient: Gradient, sizes: Iterable[float], scale: float) -> Array:
        """Run one iteration per step size, and return the coefficients."""
        objective, rho = self.objective, self.rho
        nonsmooth, constraint = objective.nonsmooth_part, objective.constraint
        ridge = objective.ridge / scale + rho
        step = 1 / (rho * scale)
        x, z, u, total = np.zeros((4, objective.dimension))
        pull, ahead = np.empty((2, objective.dimension))
        lengths = tuple(sizes)
        first = first_of_tail(len(lengths), self.averaged)
        for turn, size in enumerate(lengths):
            descent = gradient(x)
            descent *= 1 / scale
            np.subtract(z, u, out=pull)
            pull *= rho
            pull -= descent
            x *= 1 / size
            pull += x
            np.divide(pull, ridge + 1 / size, out=x)
            np.add(x, u, out=ahead)
            z = prox(nonsmooth, constraint, ahead, step)
            np.subtract(ahead, z, out=u)
            if turn >= first:
                total += ahead if self.wants_z else x
        total /= len(lengths) - first
        return prox(nonsmooth, constraint, total, step) if self.wants_z else total

    @property
    def wants_z(self) -> bool:
        """Whether z is returned instead of x."""
        if self.return_z is not None:
            return self.return_z
        return (
            self.objective.nonsmooth_part is not None
            or self.objective.constraint is not None
        )


@dataclass(frozen=True, slots=True)
class ProximalDescent:
    """Proximal gradient descent, optionally with momentum.

    ``momentum`` is the share of every movement that is added to the next one.
    """

    objective: Objective
    averaged: float = 0.0
    momentum: float = 0.0

    def run(self, gradient: Gradient, sizes: Iterable[float], scale: float) -> Array:
        """Run one iteration per step size, and return the coefficients."""
        objective = self.objective
        nonsmooth, constraint = objective.nonsmooth_part, objective.constraint
        even = objective.strong_convexity / scale
        uneven = objective.ridge / scale - even
        x, before, total, pull = np.zeros((4, objective.dimension))
        lengths = tuple(sizes)
        first = first_of_tail(len(lengths), self.averaged)
        for turn, size in enumerate(lengths):
            descent = gradient(x)
            descent *= 1 / scale
            np.multiply(uneven, x, out=pull)
            descent += pull
            descent *= size
            ahead = np.subtract(x, before, out=before)
            ahead *= self.momentum
            ahead += x
            ahead -= descent
            if turn >= first:
                total += ahead
            shrink = 1 / (1 + size * even)
            ahead *= shrink
            x, before = prox(nonsmooth, constraint, ahead, size * shrink / scale), x
        usual = math.fsum(lengths[first:]) / (len(lengths) - first)
        shrink = 1 / (1 + usual * even)
        total *= shrink / (len(lengths) - first)
        return prox(nonsmooth, constraint, total, usual * shrink / scale)
