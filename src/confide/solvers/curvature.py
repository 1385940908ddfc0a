"""The curvature of a quadratic model: a Hessian or a BFGS approximation to it.

With few columns, the Hessian is computed. With many columns, it would not fit into memory,
and is approximated from its diagonal and the changes of the gradient along the last steps
(BFGS).
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
"""The memory limit for the stored steps and gradient changes of BFGS, in bytes."""
FEWEST_PAIRS = 12
ABOVE = 1.0001
"""A factor by which eigenvalues are increased, to cover their rounding errors."""


class Curvature(Protocol):
    """A symmetric positive definite matrix that can be multiplied by vectors."""

    def __matmul__(self, step: Array) -> Array:
        """Return the product with a vector."""
        ...

    @property
    def steepest(self) -> float:
        """An upper bound on the largest eigenvalue."""
        ...

    @property
    def scale(self) -> Array | float:
        """Diagonal entries of an upper bound on this matrix in the Loewner order."""
        ...

    @property
    def matrix(self) -> Array | None:
        """The matrix itself, or None if only products with vectors are available."""
        ...

    def renew(
        self, problem: Problem, theta: Array, pair: tuple[Array, Array], *, slow: bool
    ) -> tuple[Self, Array | None]:
        """Return the curvature for a model around ``theta``, and the gradient there.

        ``pair`` contains the last step, which led to ``theta``, and the change of the
        gradient along it. ``slow`` is true if the previous model was poor. The gradient is
        None if it was not recomputed.
        """
        ...


@dataclass(frozen=True)
class Hessian:
    """The Hessian of the smooth part of an objective at some point."""

    matrix: Array

    @classmethod
    def at(cls, problem: Problem, theta: Array) -> "tuple[Hessian, Array]":
        """Return the Hessian in single precision, and the gradient, in one pass."""
        gradient, _, hessian = problem.gradient_and_hessian(theta)
        return cls(hessian), gradient

    def __matmul__(self, step: Array) -> Array:
        return np.asarray(self.matrix @ step)

    @cached_property
    def steepest(self) -> float:
        """The largest eigenvalue, rounded up."""
        last = self.matrix.shape[0] - 1
        top = eigh(self.matrix, eigvals_only=True, subset_by_index=[last, last])
        return ABOVE * float(top[0])

    @property
    def scale(self) -> float:
        """The largest eigenvalue; this multiple of the identity is the upper bound."""
        return self.steepest

    def renew(
        self, problem: Problem, theta: Array, pair: tuple[Array, Array], *, slow: bool
    ) -> "tuple[Hessian, Array | None]":
        """Recompute the Hessian at ``theta`` if the previous model was poor."""
        if not slow:
            return self, None
        gradient, _, hessian = problem.gradient_and_hessian(theta, double=True)
        return Hessian(hessian), gradient


@dataclass(frozen=True)
class BfgsCurvature:
    """A diagonal matrix with BFGS corrections from steps and changes of the gradient.

    The diagonal matrix is D, and the columns of S and Y are the stored steps and gradient
    changes. In compact form, B = D − W M⁻¹ Wᵀ with W = (D S, Y) and
    M = (SᵀDS, L; Lᵀ, −E), where E is the diagonal of SᵀY and L the part below it.
    """

    diagonal: Array
    steps: Array = field(default_factory=lambda: np.empty((0, 0)))
    changes: Array = field(default_factory=lambda: np.empty((0, 0)))
    matrix: None = None

    @classmethod
    def at(cls, problem: Problem, theta: Array) -> "tuple[BfgsCurvature, Array]":
        """Return the diagonal of the Hessian, without corrections, and the gradient."""
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
        """An upper bound on the largest eigenvalue."""
        return float(np.max(self.scale))

    @cached_property
    def scale(self) -> Array:
        """The diagonal of a multiple of D that exceeds B in the Loewner order.

        The factor is the largest eigenvalue of D^(−½) B D^(−½). This matrix is the identity
        plus a matrix of low rank, so the eigenvalue is computed from a small matrix.
        """
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
        """Store the last step, unless the curvature along it is below rounding error."""
        step, change = pair
        sizes = float(np.linalg.norm(step) * np.linalg.norm(change))
        if not float(step @ change) > 1e-10 * sizes:
            return self, None
        fitting = min(MOST_PAIRS, PAIRS_BYTES // (16 * len(step)))
        kept = max(FEWEST_PAIRS, fitting) - 1
        steps = np.vstack([self.steps[-kept:], step])
        changes = np.vstack([self.changes[-kept:], change])
        return BfgsCurvature(self.diagonal, steps, changes), None
