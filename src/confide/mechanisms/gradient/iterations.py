"""Iterations driven by noisy gradients, and their step sizes.

They see the data through the gradient they are handed, and nothing else. Everything is on
the scale of a mean: gradients, ridge and penalty are divided by ``scale``, the number of
rows or a private guess of it, so that step sizes mean the same for every table.

``averaged`` is the share of the last points whose mean is returned: 0 for the last alone,
1 for all of them. The mean is taken before the penalty's map, which is then applied once:
there are exact zeros, and a minimiser stays where it is.
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
"""Least number of times that a movement is forgotten in the course of all steps."""
SETTLED = 20.0
"""Length of a path, in units of 1/Λ, after which a ridge Λ has had its effect."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Step sizes on the scale of a mean.

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
                "step", "given: nothing public bounds the curvature of the loss", None
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
        """Choose the least momentum that reaches the total step size.

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
    """Return 1/β: with a longer step on the mean an iteration may not converge."""
    curvature = curvature_bound(objective.loss, objective.public)
    return 1 / (objective.row_norm**2 * (curvature if curvature < math.inf else 1.0))


def least_scale(objective: Objective, longest_prox: float) -> float:
    """Return how many rows make a penalty's map unique for steps of longest_prox/rows."""
    nonsmooth = objective.nonsmooth_part
    return 0.0 if nonsmooth is None else 2 * longest_prox * -nonsmooth.least_curvature


def check_averaged(share: float) -> None:
    """Reject a share outside [0, 1]."""
    if not 0 <= share <= 1:
        raise InvalidParameter("averaged", "a share from 0 to 1", share)


def first_of_tail(turns: int, share: float) -> int:
    """Return the place of the first point that the mean is taken of."""
    return turns - max(1, math.ceil(share * turns))


@dataclass(frozen=True, slots=True)
class Admm:
    """Linearised ADMM for Σφ(x) + r(z) with x = z: closed forms in both steps.

    ``rho`` is the weight of the augmented term, ``return_z`` whether the copy that the
    penalty made is returned, which has exact zeros; None means where there is a penalty
    or a constraint.
    """

    objective: Objective
    rho: float
    averaged: float = 0.0
    return_z: bool | None = None

    def run(self, gradient: Gradient, sizes: Iterable[float], scale: float) -> Array:
        """Take one step per size."""
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
        """Whether z is what is returned."""
        if self.return_z is not None:
            return self.return_z
        return (
            self.objective.nonsmooth_part is not None
            or self.objective.constraint is not None
        )


@dataclass(frozen=True, slots=True)
class ProximalDescent:
    """Proximal gradient descent.

    Of every movement the share ``momentum`` is kept for the next.
    """

    objective: Objective
    averaged: float = 0.0
    momentum: float = 0.0

    def run(self, gradient: Gradient, sizes: Iterable[float], scale: float) -> Array:
        """Take one step per size."""
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
