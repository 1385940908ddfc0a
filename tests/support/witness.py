"""A loss whose minimiser is explicit, so that a sensitivity can be attained exactly."""

from dataclasses import dataclass

import numpy as np

from confide.data import bound_rows
from confide.mechanisms import OutputPerturbation
from confide.objectives import LossTraits, Objective
from confide.privacy import Neighbours
from confide.solvers import minimise


@dataclass(frozen=True)
class Linear(LossTraits):
    """φ(η, y) = slope·y·η."""

    steepness: float
    targets = "signs"
    monotone = True
    smooth = True
    slope_of_peak_curvature = np.inf

    def value(self, eta, y):
        return self.steepness * y * eta

    def slope(self, eta, y):
        return self.steepness * y * np.ones_like(eta)

    def curvature(self, eta, y):
        return np.zeros_like(eta)

    def slope_bound(self, public):
        return self.steepness

    def max_curvature(self, slope, public):
        return np.zeros_like(slope)


def sensitivity_ratio(relation, slope=1.0, norm=1.0, l2=0.2):
    """Return how far a worst pair moves the released point, over the claim."""
    objective = Objective(Linear(slope), 2, norm, l2=l2)
    x = np.array([[norm, 0.0], [0.0, 0.5 * norm]])
    y = np.array([1.0, 1.0])
    if relation is Neighbours.ADD_REMOVE:
        other = (x[1:], y[1:])
    else:
        other = (x * [[-1.0], [1.0]], y)
    a, b = (
        minimise(objective, bound_rows(f, t, norm, 0.0), np.zeros(2), 1e-9).theta
        for f, t in ((x, y), other)
    )
    mechanism = OutputPerturbation()
    return float(np.linalg.norm(a - b)) / mechanism.sensitivity(objective, relation)
