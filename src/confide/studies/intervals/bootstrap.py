"""Bootstrap replicates that share their work: weights on distinct rows, solved together.

A population is a table whose rows are drawn with replacement. Its distinct rows are kept
once with their multiplicities; a replicate is a vector of counts, so no row is copied,
and Newton's method runs on many replicates at a time.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide._types import Array
from confide.errors import NotSolved
from confide.noise import Generator
from confide.objectives import Objective, curvature_given

TOLERANCE = 1e-9
"""Largest gradient, relative to the ridge."""
ITERATIONS = 50


@dataclass(frozen=True)
class Population:
    """The distinct rows of a table and how often each occurs."""

    features: Array
    target: Array
    counts: Array

    @classmethod
    def of(cls, features: Array, target: Array) -> "Population":
        """Collect the distinct rows."""
        table = np.column_stack([features, target])
        rows, counts = np.unique(table, axis=0, return_counts=True)
        return cls(
            np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), counts.astype(float)
        )

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """How many columns it has."""
        return self.features.shape[1]

    @cached_property
    def products(self) -> Array:
        """xⱼxₖ for j <= k: symmetric sums become one matrix product."""
        first, second = np.triu_indices(self.size)
        return self.features[:, first] * self.features[:, second]

    def resample(self, count: int, rng: Generator) -> Array:
        """Draw so many replicates; a column of counts for each."""
        chances = self.counts / self.rows
        return rng.multinomial(self.rows, chances, size=count).T.astype(float)

    def grams(self, weights: Array) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ for every column of weights."""
        sums = (self.products.T @ weights).T
        first, second = np.triu_indices(self.size)
        stack = np.empty((len(sums), self.size, self.size))
        stack[:, first, second] = sums
        stack[:, second, first] = sums
        return stack


def minimisers(
    objective: Objective, population: Population, counts: Array, linear: Array, start: Array
) -> Array:
    """Return the minimiser for every column of counts and of linear terms, as columns."""
    loss, ridge = objective.loss, objective.ridge[:, None]
    target = population.target[:, None]
    theta = np.repeat(start[:, None], counts.shape[1], axis=1)
    open_ones = np.arange(counts.shape[1])
    for _ in range(ITERATIONS):
        here = theta[:, open_ones]
        margin = population.features @ here
        slope = loss.slope(margin, target)
        gradient = population.features.T @ (counts[:, open_ones] * slope)
        gradient += ridge * here + linear[:, open_ones]
        far = np.linalg.norm(gradient, axis=0) > TOLERANCE * objective.strong_convexity
        if not far.any():
            return theta
        open_ones = open_ones[far]
        bend = curvature_given(loss, slope[:, far], margin[:, far], target)
        hessian = population.grams(counts[:, open_ones] * bend) + np.diag(objective.ridge)
        step = np.linalg.solve(hessian, gradient[:, far].T[:, :, None])[:, :, 0]
        theta[:, open_ones] -= step.T
    raise NotSolved("a replicate of the study was not solved")


def moment_sums(
    objective: Objective, population: Population, counts: Array, theta: Array
) -> tuple[Array, Array]:
    """Return curvature and scatter of every replicate at its own coefficients."""
    loss, target = objective.loss, population.target[:, None]
    margin = population.features @ theta
    slope = loss.slope(margin, target)
    bend = curvature_given(loss, slope, margin, target)
    return population.grams(counts * bend), population.grams(counts * slope**2)
