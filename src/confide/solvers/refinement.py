"""The last steps of the composite solver, in double-double precision.

The outer method is that of `composite`: a quadratic model of the smooth part is minimised
together with penalty and constraint. Here coefficients, gradients and proximal maps have
double-double precision. The model is minimised by Newton steps for the equation
θ = prox(θ − slope) while these reduce the residual, and otherwise by accelerated proximal
steps.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, solve

from confide._types import Array
from confide.errors import NotSolved
from confide.objectives import Objective
from confide.objectives.proximal import prox_error, prox_jacobian, twofold_prox
from confide.objectives.twofold import TWOFOLD_UNIT, Twofold
from confide.solvers.curvature import BfgsCurvature, Curvature
from confide.solvers.problem import UNIT, Problem, Solution, longest, nearest
from confide.solvers.split_gradient import careful_gradient

MOST_REFINEMENTS = 100
MOST_MODEL_STEPS = 20_000
MOST_HALVINGS = 8
STEPS_IN_A_ROW = 50
"""The number of accelerated steps before Newton steps are tried again."""


def refine(
    problem: Problem,
    start: Array,
    curvature: Curvature,
    tolerance: float,
) -> Solution:
    """Return a point within ``tolerance`` of the minimiser, given a point close to it."""
    goal = tolerance * problem.objective.strong_convexity
    theta, best, stalls = Twofold.of(start), np.inf, 0
    gradient, _ = careful_gradient(problem, theta, goal)
    for _ in range(MOST_REFINEMENTS):
        model = _Model(problem.objective, theta, gradient, curvature, curvature.steepest)
        accuracy = 0.02 * max(goal, min(best, model.residual(theta)) * 1e-3)
        step = model.minimise(accuracy)
        ahead, floor = careful_gradient(problem, step.point, goal)
        found, residual = _certified(problem, step, (ahead, floor), tolerance)
        if found is not None:
            return found
        old, slow = (theta, gradient), residual >= best / 2
        if not slow:
            theta, gradient, best, stalls = step.point, ahead, residual, 0
        else:
            theta = theta + (step.point - theta) * 0.5**stalls
            stalls = (stalls + 1) % MOST_HALVINGS
            gradient, _ = careful_gradient(problem, theta, goal)
        pair = (theta - old[0]).high, (gradient - old[1]).high
        curvature, _ = curvature.renew(problem, nearest(theta), pair, slow=slow)
    raise NotSolved("the composite solver could not certify its answer")


def refine_by_gradients(
    problem: Problem, start: Array, sharpness: float, tolerance: float
) -> Solution:
    """Solve the problem of `refine` by accelerated proximal steps, without a Hessian."""
    goal = tolerance * problem.objective.strong_convexity
    point = ahead = Twofold.of(start)
    descent, _ = careful_gradient(problem, ahead, goal)
    none = np.empty((0, len(start)))
    speed, flat = 1.0, BfgsCurvature(np.zeros(len(start)), none, none)
    for _ in range(MOST_MODEL_STEPS):
        step = _Model(problem.objective, ahead, descent, flat, sharpness).one_step(ahead)
        there, floor = careful_gradient(problem, step.point, goal)
        gap = (ahead - step.point).high
        if longest((there - descent).high) > sharpness * np.linalg.norm(gap) * 1.01:
            sharpness *= 2
        found, _ = _certified(problem, step, (there, floor), tolerance)
        if found is not None:
            return found
        if float(gap @ (step.point - point).high) > 0:
            speed = 1.0
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        push = (speed - 1) / faster
        ahead = step.point + (step.point - point) * push
        descent = there if push == 0 else careful_gradient(problem, ahead, goal)[0]
        point, speed = step.point, faster
    raise NotSolved("the first-order solver could not certify its answer")


@dataclass(frozen=True, slots=True)
class _Step:
    """A proximal point, a subgradient of penalty and constraint, and an error bound.

    ``normal`` is the subgradient, and ``astray`` bounds the error of ``point``.
    """

    point: Twofold
    normal: Twofold
    astray: float
    sharpness: float


def _certified(
    problem: Problem, step: _Step, sweep: tuple[Twofold, float], tolerance: float
) -> tuple[Solution | None, float]:
    """Return a solution (None if the point is too far away) and a subgradient norm."""
    gradient, floor = sweep
    residual = longest((gradient + step.normal).high)
    slack = step.astray * problem.astray_cost(step.sharpness)
    slack += 8 * TWOFOLD_UNIT * float(np.linalg.norm(step.normal.high))
    distance = (residual + floor + slack) / problem.objective.strong_convexity
    distance += 2 * UNIT * float(np.linalg.norm(step.point.high))
    if distance <= problem.allowed(tolerance, step.point):
        return Solution(nearest(step.point), distance), residual
    return None, residual


@dataclass(frozen=True, slots=True)
class _Model:
    """The quadratic model of the smooth part around a point."""

    objective: Objective
    theta: Twofold
    gradient: Twofold
    curvature: Curvature
    sharpness: float

    @property
    def error(self) -> float:
        """Bound on the error of the proximal map, relative to its argument."""
        objective = self.objective
        return prox_error(
            objective.nonsmooth_part, objective.constraint, objective.dimension
        )

    def residual(self, point: Twofold) -> float:
        """Return the approximate norm of the model's subgradient at a point."""
        moved = self._prox(self._pushed(point))
        return self.sharpness * float(np.linalg.norm((point - moved).high))

    def one_step(self, point: Twofold) -> _Step:
        """Return the result of one proximal step from a point."""
        pushed = self._pushed(point)
        moved = self._prox(pushed)
        astray = self.error * float(np.linalg.norm(pushed.high))
        return _Step(moved, (pushed - moved) * self.sharpness, astray, self.sharpness)

    def minimise(self, accuracy: float) -> _Step:
        """Minimise the model with penalty and constraint, and return the last step."""
        point, speed, ahead = self.theta, 1.0, self.theta
        pushed = self._pushed(ahead)
        moved = self._prox(pushed)
        for step in range(MOST_MODEL_STEPS):
            gap = (ahead - moved).high
            rounding = 2 * self.error * float(np.linalg.norm(pushed.high))
            if 2 * self.sharpness * float(np.linalg.norm(gap)) <= max(
                accuracy, 2 * self.sharpness * rounding
            ):
                break
            if step % STEPS_IN_A_ROW < 2:
                newer = self._newton(ahead, pushed, gap)
                if newer is not None:
                    point, ahead, speed = newer, newer, 1.0
                    pushed = self._pushed(ahead)
                    moved = self._prox(pushed)
                    continue
            if float(gap @ (moved - point).high) > 0:
                speed = 1.0
            faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
            ahead = moved + (moved - point) * ((speed - 1) / faster)
            point, speed = moved, faster
            pushed = self._pushed(ahead)
            moved = self._prox(pushed)
        return self.one_step(ahead)

    def _newton(self, ahead: Twofold, pushed: Twofold, gap: Array) -> Twofold | None:
        """Return the point after Newton steps that each halve the residual, or None."""
        constraint, hessian = self.objective.constraint, self.curvature.matrix
        if hessian is None:
            return None
        found = None
        size = float(np.linalg.norm(gap))
        for _ in range(STEPS_IN_A_ROW):
            jacobian = prox_jacobian(
                self.objective.nonsmooth_part, constraint, pushed.high, self.sharpness
            )
            if jacobian is None:
                return None
            system = np.eye(len(gap)) - jacobian + jacobian @ hessian / self.sharpness
            try:
                ahead = ahead - solve(system, gap)
            except LinAlgError:
                return found
            pushed = self._pushed(ahead)
            gap = (ahead - self._prox(pushed)).high
            left = float(np.linalg.norm(gap))
            if not left < size / 2:
                return found
            size, found = left, ahead
        return found

    def _pushed(self, point: Twofold) -> Twofold:
        slope = self.gradient + self.curvature @ (point - self.theta).high
        return point - slope / self.sharpness

    def _prox(self, pushed: Twofold) -> Twofold:
        objective = self.objective
        return twofold_prox(
            objective.nonsmooth_part, objective.constraint, pushed, self.sharpness
        )
