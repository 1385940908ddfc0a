"""Quasi-Newton steps on all rows, until a gradient certifies the distance.

A metric is corrected by pairs of steps and gradient changes (two-loop L-BFGS), and every
step costs a sweep or two. Steps are chosen by gradients alone: by convexity
F(θ + d) <= F(θ) whenever ⟨∇F(θ + d), d⟩ <= 0. Such a step is always taken; another one
only if it brings the gradient down at least threefold in the current metric, as it does
near the minimiser.

Gradients are summed in doubles first. Where their rounding stands in the way the same
iteration goes on with split gradients, and in extended precision where those do not serve.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from confide._types import AnyArray, Array
from confide.errors import NotSolved
from confide.solvers.problem import CurvatureCertificate, Problem, Solution, longest
from confide.solvers.split_gradient import can_split, precise_gradient

MOST_SWEEPS = 10_000
FEWEST_PAIRS, MOST_PAIRS = 12, 50
PAIRS_BYTES = 2**27
"""So much memory the pairs may take where there are more than the fewest."""
WIDEST_HESSIAN = 1500
MOST_TRIALS = 40
MOST_STALLS = 500
SPLIT_STALLS = 40
MUCH_NEARER = 2e-11

Metric: TypeAlias = Callable[[Array], Array]
"""Solves H d = g for some approximation H of the Hessian."""

GradientAndError: TypeAlias = tuple[AnyArray, float]
"""A gradient, and a bound on the length of its rounding error."""

GradientFunction: TypeAlias = Callable[[AnyArray], GradientAndError]
"""Computes a gradient in some arithmetic."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """How short a gradient must be. Unless it is ``certified``, rounding does not count.

    ``bend`` is what is known of the curvature beyond that of the ridge.
    """

    length: float
    certified: bool
    bend: CurvatureCertificate | None = None

    def look(self, problem: Problem) -> GradientFunction:
        """Return gradients in the precision of the point."""

        def plain(point: AnyArray) -> GradientAndError:
            gradient, mass = problem.gradient(point)
            return gradient, self.floor(problem, point, mass)

        return plain

    def floor(self, problem: Problem, point: AnyArray, mass: float) -> float:
        """Return what rounding can hide."""
        return problem.rounding(point, mass) if self.certified else 0.0


@dataclass(slots=True)
class LbfgsMemory:
    """Pairs of steps and gradient changes that correct a metric (two-loop L-BFGS)."""

    metric: Metric
    pairs: deque[tuple[Array, Array, float]]

    @classmethod
    def of(cls, metric: Metric, dimension: int) -> "LbfgsMemory":
        """Return a metric that nothing has corrected yet."""
        fitting = min(MOST_PAIRS, PAIRS_BYTES // (16 * dimension))
        return cls(metric, deque(maxlen=max(FEWEST_PAIRS, fitting)))

    def direction(self, gradient: Array) -> Array:
        """Return −H⁻¹g for the corrected metric H."""
        q, used = gradient.copy(), []
        for step, change, curvature in reversed(self.pairs):
            share = float(step @ q) / curvature
            q -= share * change
            used.append(share)
        q = self.metric(q)
        for (step, change, curvature), share in zip(self.pairs, used[::-1], strict=True):
            q += step * (share - float(change @ q) / curvature)
        return -q

    def learn(self, step: Array, change: Array) -> None:
        """Remember a step, unless rounding has eaten its curvature."""
        curvature = float(step @ change)
        if curvature > 1e-14 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs.append((step, change, curvature))


def descend(
    problem: Problem,
    goal: StoppingRule,
    theta: Array,
    sweep: GradientAndError,
    metric: Metric,
) -> Solution:
    """Take quasi-Newton steps until the gradient certifies the distance."""
    memory, plain = LbfgsMemory.of(metric, len(theta)), goal.look(problem)
    look, point, patience = plain, theta, _patience(problem)
    best, stalled, before = np.inf, 0, 0.0
    for _ in range(MOST_SWEEPS):
        gradient, floor = sweep
        bound = longest(gradient)
        split = look is not plain
        if bound <= goal.length / 2 < floor and not split:
            bound, floor = _with_split_gradient(problem, goal, point, (bound, floor))
        found = _certified(problem, goal, point, (bound, floor))
        if found is not None:
            return found
        if stalled > MOST_STALLS:
            break
        best, stalled = (bound, 0) if bound < best / 2 else (best, stalled + 1)
        if not goal.certified and stalled > SPLIT_STALLS:
            return Solution(point.astype(np.float64), np.inf)
        if split and (stalled > SPLIT_STALLS or floor > goal.length / 2):
            look, point = plain, point.astype(np.longdouble)
            sweep, best, stalled = look(point), np.inf, 0
            continue
        if floor > goal.length / 2 and point.dtype != np.longdouble:
            if bound <= goal.length / 2 or stalled > patience:
                look, point = _in_higher_precision(problem, goal, plain, point)
                sweep, best, stalled = look(point), np.inf, 0
                continue
            promised = bound**2 <= before * goal.length / 8
            last = promised and _last_step(problem, goal, memory, point, gradient)
            if last:
                return last
        before = bound
        point, sweep = advance(problem, memory, point, gradient, look)
    raise NotSolved("the smooth solver could not certify its answer")


def _certified(
    problem: Problem, goal: StoppingRule, point: AnyArray, sweep: tuple[float, float]
) -> Solution | None:
    """Return a point if its gradient is short enough, by the ridge or by the curvature.

    By the curvature it must be nearer than asked for, rounding aside: whoever adds in
    another order then ends at the same point for all purposes.
    """
    bound, floor = sweep
    if _rounded(problem, point, bound + floor) <= goal.length:
        return _solved(problem, point, bound + floor)
    if goal.bend is None or not goal.certified or point.dtype != np.float64:
        return None
    distance = goal.bend.distance(point, bound + floor)
    near = MUCH_NEARER * float(np.linalg.norm(point))
    enough = distance * problem.objective.strong_convexity <= goal.length
    if enough and goal.bend.distance(point, bound) <= near:
        return Solution(point, distance)
    return None


def _patience(problem: Problem) -> int:
    """Return how many sweeps may pass before the gradient has halved.

    A Hessian as metric halves it in one or two unless rounding is in the way; a diagonal
    has to learn first.
    """
    return 3 if problem.objective.dimension <= WIDEST_HESSIAN else 20


def _in_higher_precision(
    problem: Problem, goal: StoppingRule, plain: GradientFunction, point: AnyArray
) -> tuple[GradientFunction, AnyArray]:
    """Return the next better arithmetic, and the point as it needs it."""
    wide = point.astype(np.longdouble)
    if can_split(problem):
        return lambda theta: precise_gradient(problem, theta, goal.length), wide
    return plain, wide


def _with_split_gradient(
    problem: Problem, goal: StoppingRule, point: AnyArray, found: tuple[float, float]
) -> tuple[float, float]:
    """Return the gradient's length and rounding again, from more careful arithmetic."""
    if point.dtype == np.longdouble:
        return found[0], problem.careful_rounding(point)
    if can_split(problem):
        exact, error = precise_gradient(problem, point, goal.length)
        if longest(exact) + error <= goal.length:
            return longest(exact), error
    return found


def _last_step(
    problem: Problem,
    goal: StoppingRule,
    memory: LbfgsMemory,
    point: AnyArray,
    gradient: AnyArray,
) -> Solution | None:
    """Try a step that promises to be the last one, and certify it at once."""
    if not can_split(problem):
        return None
    trial = point.astype(np.longdouble) + memory.direction(gradient)
    exact, error = precise_gradient(problem, trial, goal.length)
    bound = longest(exact) + error
    if _rounded(problem, trial, bound) > goal.length:
        return None
    return _solved(problem, trial, bound)


def _rounded(problem: Problem, point: AnyArray, bound: float) -> float:
    """Add what it costs to round a point in extended format to doubles in the end."""
    if point.dtype == np.float64:
        return bound
    length = float(np.linalg.norm(point.astype(np.float64)))
    unit = float(np.finfo(np.float64).eps)
    return bound + unit * length * problem.objective.strong_convexity


def _solved(problem: Problem, point: AnyArray, bound: float) -> Solution:
    distance = _rounded(problem, point, bound) / problem.objective.strong_convexity
    return Solution(point.astype(np.float64), distance)


def advance(
    problem: Problem,
    memory: LbfgsMemory,
    point: AnyArray,
    gradient: AnyArray,
    look: GradientFunction,
) -> tuple[AnyArray, GradientAndError]:
    """Take one quasi-Newton step; its length is found from gradients along it."""
    here = gradient.astype(np.float64)
    step = memory.direction(here)
    steepness = float(here @ step)
    size = float(here @ memory.metric(here))
    if not (steepness < 0 < size):
        memory.pairs.clear()
        step = -memory.metric(here)
        steepness = -size
    low, high, scale = 0.0, np.inf, 1.0
    for _ in range(MOST_TRIALS):
        trial = point + scale * step
        sweep = look(trial)
        there = sweep[0].astype(np.float64)
        slope = float(there @ step)
        remaining = float(there @ memory.metric(there)) / size if size > 0 else 1.0
        if remaining <= 0.1 or 0.5 * steepness <= slope <= 0:
            break
        low, high = (scale, high) if slope < 0 else (low, scale)
        widest = min(high, 10 * scale)
        fall = steepness - slope
        secant = 0.95 * scale * steepness / fall if fall else np.inf
        scale = float(np.clip(secant, 0.9 * low + 0.1 * widest, 0.1 * low + 0.9 * widest))
    memory.learn(scale * step, there - here)
    if remaining > 0.1 and problem.objective.dimension <= WIDEST_HESSIAN:
        hessian = problem.gradient_and_hessian(trial.astype(np.float64), double=True)[2]
        memory.metric = cholesky_metric(hessian)
        memory.pairs.clear()
    return trial, sweep


def cholesky_metric(hessian: Array) -> Metric:
    """Factor a Hessian; where rounding left it indefinite, lift its diagonal a little."""
    lift = 0.0
    while True:
        try:
            lifted = hessian + lift * np.diag(np.diag(hessian)) if lift else hessian
            factor = cho_factor(lifted, check_finite=False)
            break
        except LinAlgError:
            lift = max(1e-8, 10 * lift)
    return lambda gradient: cho_solve(factor, gradient, check_finite=False)


def diagonal_metric(problem: Problem, theta: Array) -> Metric:
    """Take the diagonal of the Hessian alone."""
    diagonal = problem.diagonal(theta)
    return lambda gradient: gradient / diagonal
