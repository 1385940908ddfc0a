"""The curvature of a quadratic model: a Hessian, or a diagonal that steps have corrected.

A table with few columns has a Hessian. With many it would not fit, and what is known of it
is its diagonal and how the gradient changed along the last steps (BFGS).
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from scipy.linalg import eigh, eigvals, lu_factor, lu_solve

from confide._types import Array
from confide.solvers.problem import Problem

MOST_PAIRS = 50
PAIRS_BYTES = 2**27
"""Memory limit of the pairs."""
FEWEST_PAIRS = 12
ABOVE = 1.0001
"""What rounding may hide of an eigenvalue."""


class Curvature(Protocol):
    """A symmetric positive matrix that multiplies vectors."""

    def __matmul__(self, step: Array) -> Array:
        """Return its product with a vector."""
        ...

    @property
    def steepest(self) -> float:
        """A bound on the largest eigenvalue."""
        ...

    @property
    def scale(self) -> Array | float:
        """The diagonal of a matrix that is nowhere smaller."""
        ...

    @property
    def matrix(self) -> Array | None:
        """The matrix itself, None where it is known by products alone."""
        ...

    def renew(
        self, problem: Problem, theta: Array, pair: tuple[Array, Array], *, slow: bool
    ) -> tuple[Self, Array | None]:
        """Return the curvature for a model around another point, with the gradient there.

        ``pair`` is the step that led there and the change of the gradient along it;
        ``slow`` says that the model was poor. None stands for a gradient known already.
        """
        ...


@dataclass(frozen=True)
class Hessian:
    """The second derivatives at some point."""

    matrix: Array

    @classmethod
    def at(cls, problem: Problem, theta: Array) -> "tuple[Hessian, Array]":
        """Return the Hessian, in single precision, and the gradient, in one sweep."""
        gradient, _, hessian = problem.gradient_and_hessian(theta)
        return cls(hessian), gradient

    def __matmul__(self, step: Array) -> Array:
        return np.asarray(self.matrix @ step)

    @cached_property
    def steepest(self) -> float:
        """The largest eigenvalue."""
        last = self.matrix.shape[0] - 1
        top = eigh(self.matrix, eigvals_only=True, subset_by_index=[last, last])
        return ABOVE * float(top[0])

    @property
    def scale(self) -> float:
        """A multiple of the identity."""
        return self.steepest

    def renew(
        self, problem: Problem, theta: Array, pair: tuple[Array, Array], *, slow: bool
    ) -> "tuple[Hessian, Array | None]":
        """Return the Hessian there if this one is out of date."""
        if not slow:
            return self, None
        gradient, _, hessian = problem.gradient_and_hessian(theta, double=True)
        return Hessian(hessian), gradient


@dataclass(frozen=True)
class BfgsCurvature:
    """A diagonal, corrected so that it maps remembered steps to the gradient's changes.

    By the compact form of the BFGS update: B = D − W M⁻¹ Wᵀ, with W = (D S, Y) and
    M = (SᵀDS, L; Lᵀ, −E), where SᵀY = L + E + (upper part).
    """

    diagonal: Array
    steps: Array = field(default_factory=lambda: np.empty((0, 0)))
    changes: Array = field(default_factory=lambda: np.empty((0, 0)))
    matrix: None = None

    @classmethod
    def at(cls, problem: Problem, theta: Array) -> "tuple[BfgsCurvature, Array]":
        """Return the diagonal of the Hessian, and the gradient."""
        none = np.empty((0, len(theta)))
        found = cls(problem.diagonal(theta), none, none)
        return found, problem.gradient(theta)[0]

    def __matmul__(self, step: Array) -> Array:
        product: Array = self.diagonal * step
        if len(self.steps):
            inner = np.concatenate([self.steps @ product, self.changes @ step])
            first, second = np.split(lu_solve(self._middle, inner), 2)
            product = product - self.diagonal * (first @ self.steps) - second @ self.changes
        return product

    @cached_property
    def steepest(self) -> float:
        """A bound on the largest eigenvalue."""
        return float(np.max(self.scale))

    @cached_property
    def scale(self) -> Array:
        """A multiple of the diagonal: D^(−½) B D^(−½) is 1 but for a small matrix."""
        if not len(self.steps):
            return ABOVE * self.diagonal
        steps, changes = self.steps, self.changes
        cross = steps @ changes.T
        gram = np.block(
            [
                [(steps * self.diagonal) @ steps.T, cross],
                [cross.T, (changes / self.diagonal) @ changes.T],
            ]
        )
        lowest = float(np.min(eigvals(lu_solve(self._middle, gram)).real))
        return ABOVE * max(1.0, 1.0 - lowest) * self.diagonal

    @cached_property
    def _middle(self) -> tuple[Array, Array]:
        cross = self.steps @ self.changes.T
        below, heights = np.tril(cross, -1), np.diag(np.diag(cross))
        within = (self.steps * self.diagonal) @ self.steps.T
        found: tuple[Array, Array] = lu_factor(
            np.block([[within, below], [below.T, -heights]])
        )
        return found

    def renew(
        self, problem: Problem, theta: Array, pair: tuple[Array, Array], *, slow: bool
    ) -> "tuple[BfgsCurvature, Array | None]":
        """Remember a step, unless its curvature is lost to rounding."""
        step, change = pair
        sizes = float(np.linalg.norm(step) * np.linalg.norm(change))
        if not float(step @ change) > 1e-10 * sizes:
            return self, None
        fitting = min(MOST_PAIRS, PAIRS_BYTES // (16 * len(step)))
        kept = max(FEWEST_PAIRS, fitting) - 1
        steps = np.vstack([self.steps[-kept:], step])
        changes = np.vstack([self.changes[-kept:], change])
        return BfgsCurvature(self.diagonal, steps, changes), None
