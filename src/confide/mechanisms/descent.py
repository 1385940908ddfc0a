"""Iterations driven by gradients: linearised ADMM and proximal descent.

They see the data through the gradient they are handed, and nothing else. Everything is on
the scale of a mean: gradients, ridge and penalty are divided by ``scale``, the number of
rows or a private guess of it, so that step sizes mean the same for every table.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter, MissingPublicBound
from confide.mechanisms.noisy_gradients import Gradient
from confide.objectives import Objective, curvature_bound, prox

StepRule = Literal["epoch", "sqrt", "constant"]


@dataclass(frozen=True, slots=True)
class Steps:
    """How long steps are: ``first`` over the epoch, over √k, or always.

    The first step is 1/β unless it is given, β being the largest curvature of a record.
    """

    rule: StepRule
    first: float | None

    def __post_init__(self) -> None:
        if self.rule not in ("epoch", "sqrt", "constant"):
            raise InvalidParameter("rule", "'epoch', 'sqrt' or 'constant'", self.rule)
        if self.first is not None and not 0 < self.first < math.inf:
            raise InvalidParameter("step", "positive and finite", self.first)

    def longest(self, objective: Objective) -> float:
        """Return the first step."""
        if self.first is not None:
            return self.first
        try:
            bend = curvature_bound(objective.loss, objective.public)
        except MissingPublicBound:
            raise InvalidParameter(
                "step", "given, for nothing public bounds the loss's curvature", None
            ) from None
        return 1 / (objective.row_norm**2 * (bend if bend < math.inf else 1.0))

    def sizes(self, objective: Objective, count: int, per_epoch: float) -> Iterator[float]:
        """Yield the length of every step."""
        first = self.longest(objective)
        for turn in range(count):
            if self.rule == "epoch":
                yield first / (1 + turn // per_epoch)
            elif self.rule == "sqrt":
                yield first / math.sqrt(turn + 1)
            else:
                yield first


def least_scale(objective: Objective, longest_prox: float) -> float:
    """Return how many rows make a penalty's map unique for steps of longest_prox/rows."""
    kink = objective.kink
    return 0.0 if kink is None else 2 * longest_prox * -kink.bend


@dataclass(frozen=True, slots=True)
class Admm:
    """Linearised ADMM for Σφ(x) + r(z) with x = z: closed forms in both steps.

    ``rho`` is the weight of the augmented term, ``return_z`` whether the copy that the
    penalty made is returned, which has exact zeros; None means where there is a penalty
    or a constraint. ``averaged`` returns the mean of all iterates.
    """

    objective: Objective
    rho: float
    averaged: bool = False
    return_z: bool | None = None

    def run(self, gradient: Gradient, sizes: Iterable[float], scale: float) -> Array:
        """Take one step per size."""
        objective, rho = self.objective, self.rho
        kink, constraint = objective.kink, objective.constraint
        ridge = objective.ridge / scale + rho
        step = 1 / (rho * scale)
        x, z, u, total = np.zeros((4, objective.dimension))
        wants_z, turns = self.wants_z, 0
        pull, ahead = np.empty((2, objective.dimension))
        for size in sizes:
            descent = gradient(x)
            descent *= 1 / scale
            np.subtract(z, u, out=pull)
            pull *= rho
            pull -= descent
            x *= 1 / size
            pull += x
            np.divide(pull, ridge + 1 / size, out=x)
            np.add(x, u, out=ahead)
            z = prox(kink, constraint, ahead, step)
            np.subtract(ahead, z, out=u)
            turns += 1
            if self.averaged:
                total += z if wants_z else x
        if self.averaged:
            return total / turns
        return np.array(z if wants_z else x)

    @property
    def wants_z(self) -> bool:
        """Whether z is what is returned."""
        if self.return_z is not None:
            return self.return_z
        return self.objective.kink is not None or self.objective.constraint is not None


@dataclass(frozen=True, slots=True)
class ProximalDescent:
    """Steps against the gradient, each followed by the penalty's map; or with momentum."""

    objective: Objective
    averaged: bool = False
    momentum: float = 0.0

    def run(self, gradient: Gradient, sizes: Iterable[float], scale: float) -> Array:
        """Take one step per size."""
        objective = self.objective
        kink, constraint = objective.kink, objective.constraint
        even = objective.strong_convexity / scale
        uneven = objective.ridge / scale - even
        x, before, total = np.zeros((3, objective.dimension))
        turns = 0
        for size in sizes:
            descent = gradient(x)
            descent *= 1 / scale
            descent += uneven * x
            shrink = 1 / (1 + size * even)
            ahead = (x - size * descent + self.momentum * (x - before)) * shrink
            before = x
            x = prox(kink, constraint, ahead, size * shrink / scale)
            turns += 1
            if self.averaged:
                total += x
        return total / turns if self.averaged else np.array(x)
