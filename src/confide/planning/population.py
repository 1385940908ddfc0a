"""A synthetic population for plans: rows on a sphere, with simulated targets.

Plans take expectations over this population instead of averages over private data. The
target of a row depends on its position along one direction, which is called the signal.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from confide._types import Array
from confide.objectives import NORMAL_NODES, Family, Loss


class PopulationMoments(NamedTuple):
    """Expected values of the gradient, its outer product and the Hessian of the loss.

    The two parameters are the coefficient of the signal and the intercept. With x =
    (position along the signal, 1), ``gradient`` is the mean of φ′·x, ``scatter`` the mean
    of φ′²·xxᵀ, and ``hessian`` the mean of φ″·xxᵀ. For a feature z at right angles to the
    signal, ``scatter_across`` is the mean of φ′²·z² and ``hessian_across`` the mean of
    φ″·z².
    """

    gradient: Array
    scatter: Array
    hessian: Array
    scatter_across: float
    hessian_across: float


@dataclass(frozen=True, slots=True)
class SyntheticPopulation:
    """Quadrature nodes and weights for expectations over the synthetic population.

    Each node has a position ``place`` along the signal, a standard normal error ``stray``
    of the linear predictor, and a target. ``across`` is the mean square, given the
    position, of a feature at right angles to the signal.
    """

    place: Array
    across: Array
    stray: Array
    target: Array
    weight: Array

    def moments(self, loss: Loss, centre: Array, stray: float) -> PopulationMoments:
        """Return the moments of the loss at given coefficients.

        ``centre`` holds the coefficient of the signal and the intercept. ``stray`` is the
        standard deviation of the error of the linear predictor.
        """
        eta = centre[0] * self.place + centre[1] + stray * self.stray
        slope = self.weight * loss.slope(eta, self.target)
        square = slope**2 / self.weight
        curvature = self.weight * loss.curvature(eta, self.target)
        columns = np.stack([self.place, np.ones_like(eta)])
        return PopulationMoments(
            columns @ slope,
            (columns * square) @ columns.T,
            (columns * curvature) @ columns.T,
            float(square @ self.across),
            float(curvature @ self.across),
        )

    def centre(self, loss: Loss, ridge: Array, stray: float, start: Array) -> Array:
        """Minimise the expected objective over the signal coefficient and the intercept."""

        def height(centre: Array) -> float:
            eta = centre[0] * self.place + centre[1] + stray * self.stray
            return float(self.weight @ loss.value(eta, self.target) + ridge @ centre**2 / 2)

        centre = start
        for _ in range(100):
            at = self.moments(loss, centre, stray)
            gradient = at.gradient + ridge * centre
            step = np.linalg.solve(at.hessian + np.diag(ridge + 1e-9), gradient)
            here = height(centre)
            while np.abs(step).max() > 1e-7 and height(centre - step) > here:
                step = step / 2
            if np.abs(step).max() <= 1e-7:
                break
            centre = centre - step
        return centre


@lru_cache(maxsize=16)
def synthetic_population(
    family: Family, columns: int, signal: float, bound: float | None
) -> SyntheticPopulation:
    """Return a population of rows on a sphere whose targets depend on one direction."""
    signs = np.array([-1.0, 1.0])
    # With more than two residuals the integrand is smooth, so fewer nodes suffice.
    half = 80 if len(family.residuals) == len(signs) else 30
    reach = min(math.pi / 2, 6 / math.sqrt(columns))
    turn = np.arange(-half, half + 1) / (half + 0.5) * reach
    places = math.sqrt(columns) * np.sin(turn) if columns > 1 else signs
    density = np.cos(turn) ** (columns - 2) if columns > 1 else signs**2
    grid = np.meshgrid(places, NORMAL_NODES[::4], family.residuals, indexing="ij")
    place, stray, residual = (part.ravel() for part in grid)
    predictor = signal * place
    weight = np.repeat(density, grid[0][0].size) * np.exp(-(stray**2) / 2)
    weight *= family.weight(residual, predictor)
    target = family.target(residual, predictor, signal, bound)
    across = (columns - place**2) / max(1, columns - 1)
    return SyntheticPopulation(place, across, stray, target, weight / weight.sum())
