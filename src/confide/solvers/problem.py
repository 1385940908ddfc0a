"""What the solvers ask of the rows: gradients, Hessians, and how far rounding reaches."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from confide._types import AnyArray, Array
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows
from confide.objectives import Objective, curvature_bound, curvature_given


@dataclass(frozen=True, slots=True)
class Problem:
    """The smooth part of an objective over private rows, with its linear term.

    ``weight`` multiplies the sum of losses: a subsample stands for all rows. ``entries``
    is how many numbers a margin adds up at most.
    """

    objective: Objective
    rows: Rows
    linear: Array
    ridge: Array
    weight: float = 1.0
    entries: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", self.rows.entries)

    def gradient(self, theta: AnyArray) -> tuple[AnyArray, float]:
        """Return ∇f(θ) and a bound on Σ|φ′|, summed in the precision of θ."""
        loss = self.objective.loss

        def part(block: Block) -> tuple[Any, ...]:
            slope = loss.slope(block.margin(theta), block.target)
            return block.pull(slope), slope @ slope

        total, squares = self.rows.sum(part, theta.dtype)
        mass = float(np.sqrt(self.rows.count * squares))
        return self.weight * total + self.ridge * theta + self.linear, mass

    def gradient_and_hessian(
        self, theta: AnyArray, *, fine: bool = False
    ) -> tuple[Array, float, Array]:
        """Return what `gradient` does and ∇²f(θ), in one sweep.

        The Hessian is only a metric, so single precision serves unless it is ``fine``.
        """
        loss = self.objective.loss

        def part(block: Block) -> tuple[Any, ...]:
            margin = block.margin(theta)
            slope = loss.slope(margin, block.target)
            gram = block.gram(curvature_given(loss, slope, margin, block.target), fine=fine)
            return block.pull(slope), slope @ slope, gram

        total, squares, gram = self.rows.sum(part, theta.dtype)
        mass = float(np.sqrt(self.rows.count * squares))
        gradient = self.weight * total + self.ridge * theta + self.linear
        return gradient, mass, self.weight * gram + np.diag(self.ridge)

    def diagonal(self, theta: Array) -> Array:
        """Return the diagonal of ∇²f(θ)."""
        loss = self.objective.loss

        def part(block: Block) -> tuple[Any, ...]:
            return (block.squares(loss.curvature(block.margin(theta), block.target)),)

        return np.asarray(self.weight * self.rows.sum(part)[0] + self.ridge)

    def rounding(self, theta: AnyArray, mass: float) -> float:
        """Bound ‖computed ∇f − exact ∇f‖ for a gradient summed in θ's precision.

        A sum of k terms loses at most k units in the last place of the sum of their
        magnitudes; margins lose as much, times the curvature; slopes a few units each.
        """
        unit = float(np.finfo(theta.dtype).eps) / 2
        objective, count = self.objective, self.rows.count
        length = float(np.linalg.norm(theta.astype(np.float64)))
        terms = self.rows.terms
        slopes = terms * mass + 4 * count * slope_scale(objective)
        bend = curvature_bound(objective.loss, objective.public)
        margins = bend * count * (self.entries + 3) * objective.row_norm * length
        outside = float(np.linalg.norm(self.linear)) + float(self.ridge.max()) * length
        return unit * (objective.row_norm * (slopes + margins) + 4 * outside)

    def careful_rounding(self, theta: AnyArray) -> float:
        """Return the bound of `rounding` from each row's own length, at a sweep's cost."""
        unit = float(np.finfo(theta.dtype).eps) / 2
        objective, entries = self.objective, self.entries
        terms = self.rows.terms
        bend = curvature_bound(objective.loss, objective.public)
        size = np.abs(theta.astype(np.float64))

        def part(block: Block) -> tuple[Any, ...]:
            margin = block.margin(theta.astype(np.float64))
            slope = np.abs(objective.loss.slope(margin, block.target))
            reach = (entries + 3) * block.absolute().margin(size)
            error = terms * slope + 4 * slope_scale(objective) + bend * reach
            return (float(block.lengths() @ error),)

        outside = np.linalg.norm(self.linear) + np.linalg.norm(self.ridge * size)
        return unit * (float(self.rows.sum(part)[0]) + 4 * float(outside))


def longest(vector: AnyArray) -> float:
    """Return a length that the exact one does not exceed."""
    units = float(np.finfo(np.float64).eps) * (vector.size + 4)
    return (1 + units) * float(np.linalg.norm(vector.astype(np.float64)))


def slope_scale(objective: Objective) -> float:
    """Return the largest number that enters a slope: it is a difference at most."""
    return objective.slope_bound + 2 * (objective.target_bound or 0.0)
