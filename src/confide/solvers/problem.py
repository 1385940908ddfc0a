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
    """A solution with a certificate: ‖theta − exact minimiser‖ <= distance.

    Parameters
    ----------
    theta : array
        The coefficients.
    distance : float
        A bound on the distance to the exact minimiser, including rounding errors.

    Examples
    --------
    The distance is at most the requested tolerance; see `minimise`:

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
    """The smooth part f of an objective over private rows, with a linear term.

    ``weight`` multiplies the sum of losses, so that a subsample represents all rows.
    ``sum_shape`` is copied from ``rows``, to compute it only once. ``rest`` contains the
    digits of the linear term beyond double precision. ``share`` is the accepted distance to
    the minimiser relative to the norm of the coefficients, which matters if this norm is
    very large.
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
        """Return the accepted distance of a point to the minimiser.

        This is the larger of ``tolerance`` and ``share`` times the norm of the point.
        """
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
        """Return the coefficients, with one column per response if there are several."""
        several = self.objective.responses
        return theta if several == 1 else theta.reshape(-1, several)

    def gradient_and_hessian(
        self, theta: AnyArray, *, double: bool = False
    ) -> tuple[Array, float, Array]:
        """Return the result of `gradient` and ∇²f(θ), in one pass over the rows.

        The Hessian is computed in single precision unless ``double`` is true.
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
        """Compute `gradient_and_hessian` for the multinomial loss, by pairs of classes."""
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
        """Return f(θ), without a bound on the rounding error."""
        loss, matrix = self.objective.loss, self.matrix(theta)

        def part(block: Block) -> tuple[Any, ...]:
            losses = block.weigh(loss.value(block.margin(matrix), block.target))
            return (float(losses.sum(dtype=np.float64)),)

        point = theta.astype(np.float64)
        outside = float(point @ (0.5 * self.ridge * point + self.linear))
        return self.weight * float(self.rows.sum(part, theta.dtype)[0]) + outside

    def diagonal(self, theta: Array) -> Array:
        """Return the diagonal of ∇²f(θ), or a bound on it for the multinomial loss."""
        loss, point = self.objective.loss, self.matrix(theta)

        def part(block: Block) -> tuple[Any, ...]:
            curvature = loss.curvature(block.margin(point), block.target)
            return (block.gram_diagonal(block.weigh(curvature)),)

        diagonal = np.repeat(self.rows.sum(part)[0], self.objective.responses)
        return np.asarray(self.weight * diagonal + self.ridge)

    def rounding(self, theta: AnyArray, mass: float) -> float:
        """Bound ‖computed ∇f − exact ∇f‖ for a gradient summed in θ's precision.

        ``mass`` is a bound on Σ|φ′|. The error of a sum of k terms is at most k units in
        the last place of the sum of their magnitudes. Errors of margins have the same form,
        and are multiplied by the curvature. Each slope adds an error of a few units, one
        of them for its weight; combining the scores of several classes adds more.
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
        """Return the error of a subgradient per unit of error of a proximal point.

        The computed point is close to an exact proximal point, whose subgradient is known
        up to ``sharpness`` times the distance between the two points
        (docs/proofs/finite-precision.md, astray).
        """
        convexity = self.objective.strong_convexity
        smooth = self.rows.count * self.objective.smoothness + float(self.ridge.max())
        return sharpness + 2 * convexity + math.sqrt(0.5 * smooth * convexity)


def nearest(point: AnyArray | Twofold) -> Array:
    """Return a point rounded to doubles."""
    return point.high if isinstance(point, Twofold) else point.astype(np.float64)


def longest(vector: AnyArray) -> float:
    """Return an upper bound on the exact Euclidean norm of a vector."""
    units = float(np.finfo(np.float64).eps) * (vector.size + 4)
    return (1 + units) * float(np.linalg.norm(vector.astype(np.float64)))


def slope_scale(objective: Objective) -> float:
    """Return a bound on the magnitude of the terms that are added to compute a slope."""
    return objective.slope_bound + 2 * (objective.target_bound or 0.0)


SINGLE_UNIT_ROUNDOFF = 2.0**-24
HESSIAN_ROUNDING_SHARE = 1.1 * (MOST_ADDED + 8) * SINGLE_UNIT_ROUNDOFF
"""A bound on the rounding error of a single-precision Hessian, relative to its trace."""
SLOPE_ROUNDING = 16 * 2.0**-53
"""A bound on the error of the curvature due to a rounded slope, for a row of norm 1."""


@dataclass(frozen=True, slots=True)
class CurvatureCertificate:
    """A lower bound ``least`` on the eigenvalues of the Hessian at the point ``centre``.

    The bound extends to other points, because the curvature of the logistic loss changes at
    most exponentially with the margin. ``reach`` is the bound on the norms of the rows.
    """

    centre: Array
    least: float
    reach: float

    @classmethod
    def of(
        cls, problem: Problem, centre: Array, hessian: Array
    ) -> "CurvatureCertificate | None":
        """Return a certificate computed from a Hessian in single precision, or None.

        The result is None if the loss is not logistic, or if the bound is not above the
        ridge.
        """
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
        """Return a gradient norm that proves that the minimiser is within ``distance``."""
        moved = self.reach * float(np.linalg.norm(point - self.centre))
        share = -math.expm1(-0.99 * self.reach * distance)
        return min(share, 0.49) * self.least * math.exp(-min(moved, 50.0)) / self.reach

    def distance(self, point: Array, length: float) -> float:
        """Bound the distance of a point to the minimiser, given its gradient norm."""
        moved = self.reach * float(np.linalg.norm(point - self.centre))
        share = self.reach * length / (self.least * math.exp(-moved)) if moved < 50 else 1.0
        if not share < 0.5:
            return math.inf
        return -math.log1p(-share) / self.reach * (1 + 1e-9)
