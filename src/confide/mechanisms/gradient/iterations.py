"""Iterations driven by gradients: linearised ADMM and proximal descent.

They see the data through the gradient they are handed, and nothing else. Everything is on
the scale of a mean: gradients, ridge and penalty are divided by ``scale``, the number of
rows or a private guess of it, so that step sizes mean the same for every table.

``averaged`` is the share of the last points whose mean is returned: 0 for the last alone,
1 for all of them. The mean is taken before the penalty's map, which is then applied once:
there are exact zeros, and a minimiser stays where it is.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter
from confide.mechanisms.gradient.noisy_gradient import Gradient
from confide.objectives import Objective, prox


def least_scale(objective: Objective, longest_prox: float) -> float:
    """Return how many rows make a penalty's map unique for steps of longest_prox/rows."""
    kink = objective.kink
    return 0.0 if kink is None else 2 * longest_prox * -kink.bend


def check_averaged(share: float) -> None:
    """Refuse what is no share of the points."""
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
        kink, constraint = objective.kink, objective.constraint
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
            z = prox(kink, constraint, ahead, step)
            np.subtract(ahead, z, out=u)
            if turn >= first:
                total += ahead if self.wants_z else x
        total /= len(lengths) - first
        return prox(kink, constraint, total, step) if self.wants_z else total

    @property
    def wants_z(self) -> bool:
        """Whether z is what is returned."""
        if self.return_z is not None:
            return self.return_z
        return self.objective.kink is not None or self.objective.constraint is not None


@dataclass(frozen=True, slots=True)
class ProximalDescent:
    """Steps against the gradient, each followed by the penalty's map.

    Of every movement the share ``momentum`` is kept for the next.
    """

    objective: Objective
    averaged: float = 0.0
    momentum: float = 0.0

    def run(self, gradient: Gradient, sizes: Iterable[float], scale: float) -> Array:
        """Take one step per size."""
        objective = self.objective
        kink, constraint = objective.kink, objective.constraint
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
            x, before = prox(kink, constraint, ahead, size * shrink / scale), x
        usual = math.fsum(lengths[first:]) / (len(lengths) - first)
        shrink = 1 / (1 + usual * even)
        total *= shrink / (len(lengths) - first)
        return prox(kink, constraint, total, usual * shrink / scale)
