"""Minimise a smooth function plus a penalty on a convex set, to a certified distance.

The method is proximal Newton. A quadratic model of the smooth part f is minimised together
with the penalty and the constraint by an accelerated proximal method, which needs no pass
over the rows. The last proximal step is exact and gives a subgradient w of penalty and
constraint at the new point θ. Then v = ∇f(θ) + w is a subgradient of the whole objective at
θ, and ‖θ − θ*‖ <= ‖v‖/Λ for the minimiser θ* and the smallest ridge Λ. A full step is taken
if it reduces ‖v‖ to a quarter of its smallest value so far, which can happen only a few
times; otherwise, a line search finds the step length. If doubles cannot certify the
distance, `refine` takes the last steps.
"""

from dataclasses import dataclass, replace

import numpy as np

from confide._types import Array
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import NotSolved
from confide.objectives import L1, Box, Nonnegative, Objective, prox
from confide.solvers.curvature import BfgsCurvature, Curvature, Hessian
from confide.solvers.problem import UNIT, Problem, Solution, longest
from confide.solvers.refinement import refine, refine_by_gradients
from confide.solvers.smooth import WIDEST_HESSIAN
from confide.solvers.split_gradient import precise_gradient

MOST_OUTER = 300
MOST_TRIALS = 30
SHORTEST_STEP = 2.0**-12
"""A step shorter than this fraction of a full step occurs only if the slope along the step
is below its rounding error."""
MOST_INNER = 20_000
SMALLEST_SAMPLE = 4000


def minimise_composite(problem: Problem, tolerance: float) -> Solution:
    """Return a point within ``tolerance`` of the minimiser over the constraint set."""
    objective, rows = problem.objective, problem.rows
    start = prox(
        objective.nonsmooth_part, objective.constraint, np.zeros(objective.dimension), 0.0
    )
    stride = rows.count // max(SMALLEST_SAMPLE, 20 * objective.dimension)
    if stride > 4 or not isinstance(rows, InMemoryRows):
        few = rows.subsample(max(1, stride))
        weight = rows.count / max(1, few.count)
        sample = replace(problem, rows=few, weight=weight)
        rough = 0.1 * np.sqrt(objective.dimension * weight / objective.strong_convexity)
        start = _proximal_newton(sample, start, float(rough)).theta
    if objective.dimension <= WIDEST_HESSIAN:
        return _proximal_newton(problem, start, tolerance)
    try:
        return _proximal_newton(problem, start, tolerance)
    except NotSolved:
        return _first_order(problem, start, tolerance)


def _proximal_newton(problem: Problem, theta: Array, tolerance: float) -> Solution:
    objective = problem.objective
    convexity = objective.strong_convexity
    goal = tolerance * convexity
    kind = Hessian if objective.dimension <= WIDEST_HESSIAN else BfgsCurvature
    curvature: Curvature
    curvature, gradient = kind.at(problem, theta)
    before = least = np.inf
    for _ in range(MOST_OUTER):
        accuracy = 0.05 * max(goal, min(before, float(np.linalg.norm(gradient))) * 1e-3)
        model = _Model(objective, theta, gradient, curvature)
        point, normal = model.minimise(accuracy)
        ahead, mass = problem.gradient(point)
        residual = float(np.linalg.norm(ahead + normal))
        plain = floor = problem.rounding(point, mass)
        if floor > goal / 2 and (residual <= goal / 2 or residual > before / 4):
            if problem.weight != 1:
                return Solution(point, np.inf)
            ahead, floor = precise_gradient(problem, point, goal)
        normal, slack = _subgradient(problem, point, ahead, normal, curvature.steepest)
        residual = longest(ahead + normal)
        distance = (residual + floor + slack) / convexity
        if distance <= problem.allowed(tolerance, point):
            return Solution(point, distance)
        hidden = plain + slack
        if hidden > goal / 2 and residual <= 2 * hidden and problem.weight == 1:
            return refine(problem, point, curvature, tolerance)
        old = theta, gradient
        if np.isfinite(least) and residual <= least / 4:
            scale, gradient, theta = 1.0, ahead, point
        else:
            rise = _rise(objective, theta, point)
            scale, gradient = _step_length(problem, theta, point, (gradient, ahead), rise)
            theta = theta + scale * (point - theta)
        if scale < SHORTEST_STEP and curvature.matrix is None:
            break
        slow = residual > 0.05 * before or scale < 1
        pair = theta - old[0], gradient - old[1]
        curvature, renewed = curvature.renew(problem, theta, pair, slow=slow)
        gradient = gradient if renewed is None else renewed
        before, least = residual, min(least, residual)
    if problem.weight != 1:
        return Solution(theta, np.inf)
    return refine(problem, theta, curvature, tolerance)


@dataclass(frozen=True, slots=True)
class _Model:
    """A quadratic model of the smooth part around a point, with penalty and constraint."""

    objective: Objective
    theta: Array
    gradient: Array
    curvature: Curvature

    def slope(self, point: Array) -> Array:
        return self.gradient + self.curvature @ (point - self.theta)

    def minimise(self, accuracy: float) -> tuple[Array, Array]:
        """Return the model's minimiser, and a subgradient of penalty and constraint there.

        The model is minimised by accelerated proximal steps with restarts. If penalty and
        constraint are separable, each coordinate has its own step length.
        """
        nonsmooth, constraint = self.objective.nonsmooth_part, self.objective.constraint
        steep = self.curvature.scale if self._separable else self.curvature.steepest
        point, ahead, speed = self.theta, self.theta, 1.0
        for _ in range(MOST_INNER):
            pushed = ahead - self.slope(ahead) / steep
            moved = prox(nonsmooth, constraint, pushed, 1 / steep)
            gap = steep * (ahead - moved)
            rounding = UNIT * float(
                np.linalg.norm(steep * pushed) + np.linalg.norm(steep * moved)
            )
            if 2 * float(np.linalg.norm(gap)) <= max(accuracy, 2 * rounding):
                break
            if float(gap @ (moved - point)) > 0:
                speed = 1.0
            faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
            ahead = moved + (speed - 1) / faster * (moved - point)
            if np.array_equal(moved, point) and speed == 1.0:
                break
            point, speed = moved, faster
        return moved, steep * (pushed - moved)

    @property
    def _separable(self) -> bool:
        nonsmooth, constraint = self.objective.nonsmooth_part, self.objective.constraint
        return isinstance(nonsmooth, L1 | None) and isinstance(
            constraint, Box | Nonnegative | None
        )


def _step_length(
    problem: Problem,
    theta: Array,
    point: Array,
    gradients: tuple[Array, Array],
    rise: float,
) -> tuple[float, Array]:
    """Return the fraction t of a step from θ to a point, and the gradient after the step.

    A line search minimises f(θ + t·step) + r(θ) + t·(r(point) − r(θ)), where ``rise`` is
    r(point) − r(θ). This function is convex in t, is nowhere below the objective, and has a
    slope that can be computed from gradients of f.
    """
    step = point - theta
    falling = float(gradients[0] @ step) + rise
    low, high, scale, ahead = (0.0, falling), (1.0, 0.0), 1.0, gradients[1]
    for _ in range(MOST_TRIALS):
        slope = float(ahead @ step) + rise
        if slope <= 0.1 * abs(falling) and (scale == 1 or slope >= -0.5 * abs(falling)):
            break
        low, high = (low, (scale, slope)) if slope > 0 else ((scale, slope), high)
        share = 0.5
        if high[1] > low[1] and problem.objective.dimension > WIDEST_HESSIAN:
            share = low[1] / (low[1] - high[1])
        scale = low[0] + float(np.clip(share, 0.1, 0.9)) * (high[0] - low[0])
        ahead, _ = problem.gradient(theta + scale * step)
    return scale, ahead


def _first_order(problem: Problem, theta: Array, tolerance: float) -> Solution:
    """Minimise by accelerated proximal gradient steps, as a fallback for many columns."""
    objective = problem.objective
    nonsmooth, constraint = objective.nonsmooth_part, objective.constraint
    convexity = objective.strong_convexity
    goal = tolerance * convexity
    steepest = float(problem.diagonal(theta).max())
    point, ahead, speed = theta, theta, 1.0
    descent, _ = problem.gradient(ahead)
    for _ in range(MOST_INNER):
        pushed = ahead - descent / steepest
        moved = prox(nonsmooth, constraint, pushed, 1 / steepest)
        there, mass = problem.gradient(moved)
        gap = ahead - moved
        if np.linalg.norm(there - descent) > steepest * np.linalg.norm(gap) * 1.0001:
            steepest *= 2
            continue
        plain = floor = problem.rounding(moved, mass)
        left = steepest * (pushed - moved)
        normal, slack = _subgradient(problem, moved, there, left, steepest)
        residual = longest(there + normal)
        if residual <= goal / 2 < floor:
            near, floor = precise_gradient(problem, moved, goal)
            normal, slack = _subgradient(problem, moved, near, left, steepest)
            residual = longest(near + normal)
        distance = (residual + floor + slack) / convexity
        if distance <= problem.allowed(tolerance, moved):
            return Solution(moved, distance)
        hidden = plain + slack
        if hidden > goal / 2 and residual <= 2 * hidden:
            return refine_by_gradients(problem, moved, steepest, tolerance)
        if float(gap @ (moved - point)) > 0:
            speed = 1.0
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        push = (speed - 1) / faster
        ahead = moved + push * (moved - point)
        descent = there if push == 0 else problem.gradient(ahead)[0]
        point, speed = moved, faster
    return refine_by_gradients(problem, point, steepest, tolerance)


def _subgradient(
    problem: Problem, point: Array, gradient: Array, normal: Array, steepest: float
) -> tuple[Array, float]:
    """Return a subgradient of penalty and constraint, and a bound on its rounding error.

    For an unconstrained lasso penalty, the subgradient follows from the signs of the
    coefficients; at coefficients of 0, it cancels as much of the gradient as possible.
    Otherwise it is the residual ``normal`` of the proximal step, which is a subgradient at
    the exact result of the step, close to the rounded one.
    """
    objective = problem.objective
    nonsmooth, constraint = objective.nonsmooth_part, objective.constraint
    if isinstance(nonsmooth, L1) and constraint is None:
        weight = np.broadcast_to(np.asarray(nonsmooth.weight), point.shape)
        inside = np.clip(-gradient, -weight, weight)
        found = np.where(point == 0, inside, weight * np.sign(point))
        return found, 2 * UNIT * float(np.linalg.norm(found))
    pushed = float(np.linalg.norm(point + normal / steepest))
    exact = nonsmooth is None and isinstance(constraint, Box | Nonnegative)
    astray = 0.0 if exact else UNIT * PROX_UNITS * (point.size + 8) * pushed
    rounding = 4 * UNIT * float(np.linalg.norm(normal))
    return normal, astray * problem.astray_cost(steepest) + rounding


PROX_UNITS = 4
"""The relative error of a proximal map in doubles, in unit roundoffs per coefficient."""


def _rise(objective: Objective, theta: Array, point: Array) -> float:
    nonsmooth = objective.nonsmooth_part
    return 0.0 if nonsmooth is None else nonsmooth.value(point) - nonsmooth.value(theta)
