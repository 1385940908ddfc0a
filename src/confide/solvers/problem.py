"""The smooth part of an objective over private rows: gradients, Hessians, curvature."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.sums import MOST_ADDED, SumShape
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows
from confide.objectives import Multinomial, Objective, curvature_bound, is_logistic
from confide.objectives.multinomial import class_pairs, over_pairs
from confide.objectives.twofold import Twofold

UNIT = 2.0**-53


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer with its certificate: ‖theta − exact minimiser‖ <= distance.

    Parameters
    ----------
    theta : array
        The coefficients.
    distance : float
        A bound on the distance to the exact minimiser, rounding included.

    Examples
    --------
    The distance is what was asked for, or less; see `minimise`:

    >>> import numpy as np
    >>> from confide.data import bound_rows
    >>> from confide.objectives import Clipped, Objective, Squared
    >>> from confide.solvers import minimise
    >>> rows = bound_rows(np.ones((2, 1)), np.ones(2), row_norm=1.0, height=0.0)
    >>> loss = Clipped(Squared(), bound=2.0)
    >>> objective = Objective(loss, dimension=1, l2=2.0, target_bound=1.0)
    >>> found = minimise(objective, rows, np.zeros(1), tolerance=1e-9)
    >>> abs(float(found.theta[0]) - 0.5) <= found.distance <= 1e-9
    True
    """

    theta: Array
    distance: float


@dataclass(frozen=True, slots=True)
class Problem:
    """The smooth part of an objective over private rows, with its linear term.

    ``weight`` multiplies the sum of losses: a subsample represents all rows.
    ``sum_shape`` is that of the rows, found once. ``rest`` is what doubles lack of the
    linear term. ``share`` is how close the answer must come where coefficients are very
    long, as a share of their length.
    """

    objective: Objective
    rows: Rows
    linear: Array
    ridge: Array
    weight: float = 1.0
    rest: Array | float = 0.0
    share: float = 4 * UNIT
    sum_shape: SumShape = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sum_shape", self.rows.sum_shape)

    def allowed(self, tolerance: float, point: AnyArray | Twofold) -> float:
        """Return how far from the minimiser a point may be."""
        return max(tolerance, self.share * float(np.linalg.norm(nearest(point))))

    def gradient(self, theta: AnyArray) -> tuple[AnyArray, float]:
        """Return ∇f(θ) and a bound on Σ|φ′|, summed in the precision of θ."""
        loss, point = self.objective.loss, self.matrix(theta)

        def part(block: Block) -> tuple[Any, ...]:
            slope = loss.slope(block.margin(point), block.target)
            return block.weighted_sum(block.weigh(slope)), np.vdot(slope, slope)

        total, squares = self.rows.sum(part, theta.dtype)
        mass = float(np.sqrt(self.rows.count * squares))
        return self.weight * total.ravel() + self.ridge * theta + self.linear, mass

    def matrix(self, theta: AnyArray) -> AnyArray:
        """Return coefficients as they are, or a column for every coordinate of scores."""
        several = self.objective.responses
        return theta if several == 1 else theta.reshape(-1, several)

    def gradient_and_hessian(
        self, theta: AnyArray, *, double: bool = False
    ) -> tuple[Array, float, Array]:
        """Return the result of `gradient`, and ∇²f(θ), in one sweep.

        The Hessian is only a metric, so single precision serves unless it is ``double``.
        """
        loss = self.objective.loss
        if isinstance(loss, Multinomial):
            return self._multinomial_hessian(loss, theta, double=double)

        def part(block: Block) -> tuple[Any, ...]:
            margin = block.margin(theta)
            slope = loss.slope(margin, block.target)
            curvature = block.weigh(loss.curvature_from_slope(slope, margin, block.target))
            gram = block.gram(curvature, double=double)
            return block.weighted_sum(block.weigh(slope)), slope @ slope, gram

        total, squares, gram = self.rows.sum(part, theta.dtype)
        mass = float(np.sqrt(self.rows.count * squares))
        gradient = self.weight * total + self.ridge * theta + self.linear
        return gradient, mass, self.weight * gram + np.diag(self.ridge)

    def _multinomial_hessian(
        self, loss: Multinomial, theta: AnyArray, *, double: bool
    ) -> tuple[Array, float, Array]:
        """Return the Hessian of several scores from Gram matrices of pairs of classes."""
        point, pairs = self.matrix(theta), class_pairs(loss.classes)

        def part(block: Block) -> tuple[Any, ...]:
            slope, chances = loss.slope_and_chances(block.margin(point), block.target)
            own = block.weigh(chances)
            grams = [block.gram(own[:, j] * chances[:, k], double=double) for j, k in pairs]
            return block.weighted_sum(block.weigh(slope)), np.vdot(slope, slope), *grams

        total, squares, *grams = self.rows.sum(part, theta.dtype)
        hessian = over_pairs(loss.classes, grams)
        mass = float(np.sqrt(self.rows.count * squares))
        gradient = self.weight * total.ravel() + self.ridge * theta + self.linear
        return gradient, mass, self.weight * hessian + np.diag(self.ridge)

    def value(self, theta: AnyArray) -> float:
        """Return f(θ), with ordinary rounding."""
        loss, matrix = self.objective.loss, self.matrix(theta)

        def part(block: Block) -> tuple[Any, ...]:
            losses = block.weigh(loss.value(block.margin(matrix), block.target))
            return (float(losses.sum(dtype=np.float64)),)

        point = theta.astype(np.float64)
        outside = float(point @ (0.5 * self.ridge * point + self.linear))
        return self.weight * float(self.rows.sum(part, theta.dtype)[0]) + outside

    def diagonal(self, theta: Array) -> Array:
        """Return the diagonal of ∇²f(θ); of several scores a bound on it."""
        loss, point = self.objective.loss, self.matrix(theta)

        def part(block: Block) -> tuple[Any, ...]:
            curvature = loss.curvature(block.margin(point), block.target)
            return (block.gram_diagonal(block.weigh(curvature)),)

        diagonal = np.repeat(self.rows.sum(part)[0], self.objective.responses)
        return np.asarray(self.weight * diagonal + self.ridge)

    def rounding(self, theta: AnyArray, mass: float) -> float:
        """Bound ‖computed ∇f − exact ∇f‖ for a gradient summed in θ's precision.

        A sum of k terms loses at most k units in the last place of the sum of their
        magnitudes; margins lose as much, times the curvature; slopes a few units each, one
        of which is their weight's, and more where the scores of several classes are
        combined.
        """
        unit = float(np.finfo(theta.dtype).eps) / 2
        objective, count = self.objective, self.rows.count
        length = float(np.linalg.norm(theta.astype(np.float64)))
        terms, entries = self.sum_shape.terms, self.sum_shape.entries
        scores = objective.responses
        slopes = terms * mass + (8 * scores**2 - 3) * count * slope_scale(objective)
        curvature = curvature_bound(objective.loss, objective.public)
        steps = entries + 3 + bool(objective.offset_bound) + 4 * (scores**2 - 1)
        margins = curvature * count * steps * objective.margin_size(length)
        outside = float(np.linalg.norm(self.linear)) + float(self.ridge.max()) * length
        return unit * (objective.row_norm * (slopes + margins) + 4 * outside)

    def astray_cost(self, sharpness: float) -> float:
        """Return the error of a gradient per unit of error of a point.

        The point is one next to a proximal one, whose subgradient is known up to
        ``sharpness`` times their distance (docs/proofs/finite-precision.md, astray).
        """
        convexity = self.objective.strong_convexity
        smooth = self.rows.count * self.objective.smoothness + float(self.ridge.max())
        return sharpness + 2 * convexity + math.sqrt(0.5 * smooth * convexity)


def nearest(point: AnyArray | Twofold) -> Array:
    """Return the nearest vector of doubles."""
    return point.high if isinstance(point, Twofold) else point.astype(np.float64)


def longest(vector: AnyArray) -> float:
    """Return a length that the exact one does not exceed."""
    units = float(np.finfo(np.float64).eps) * (vector.size + 4)
    return (1 + units) * float(np.linalg.norm(vector.astype(np.float64)))


def slope_scale(objective: Objective) -> float:
    """Return the largest number that enters a slope: it is a difference at most."""
    return objective.slope_bound + 2 * (objective.target_bound or 0.0)


SINGLE_UNIT_ROUNDOFF = 2.0**-24
HESSIAN_ROUNDING_SHARE = 1.1 * (MOST_ADDED + 8) * SINGLE_UNIT_ROUNDOFF
"""What single precision can hide of a Hessian, as a share of its trace."""
SLOPE_ROUNDING = 16 * 2.0**-53
"""What the rounding of a slope can hide, for one row of length 1."""


@dataclass(frozen=True, slots=True)
class CurvatureCertificate:
    """At ``centre`` the curvature is ``least`` or more; no row is longer than ``reach``."""

    centre: Array
    least: float
    reach: float

    @classmethod
    def of(
        cls, problem: Problem, centre: Array, hessian: Array
    ) -> "CurvatureCertificate | None":
        """Return what a Hessian in single precision proves, or None if it is nothing."""
        objective = problem.objective
        if not is_logistic(objective.loss):
            return None
        lowest = float(np.linalg.eigvalsh(hessian)[0])
        least = lowest - HESSIAN_ROUNDING_SHARE * float(np.trace(hessian))
        least -= SLOPE_ROUNDING * problem.rows.count * objective.row_square
        if not least > objective.strong_convexity:
            return None
        return cls(centre, least, objective.reach)

    def length(self, point: Array, distance: float) -> float:
        """Return a length of the gradient that proves that the minimiser is this near."""
        moved = self.reach * float(np.linalg.norm(point - self.centre))
        share = -math.expm1(-0.99 * self.reach * distance)
        return min(share, 0.49) * self.least * math.exp(-min(moved, 50.0)) / self.reach

    def distance(self, point: Array, length: float) -> float:
        """Bound the distance from the minimiser where the gradient has this length."""
        moved = self.reach * float(np.linalg.norm(point - self.centre))
        share = self.reach * length / (self.least * math.exp(-moved)) if moved < 50 else 1.0
        if not share < 0.5:
            return math.inf
        return -math.log1p(-share) / self.reach * (1 + 1e-9)
