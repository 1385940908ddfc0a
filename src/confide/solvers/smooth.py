"""Minimise a smooth, strongly convex objective to a certified distance.

1. Newton steps on growing subsamples bring θ within their sampling error.
2. The last subsample's Hessian becomes the metric of a limited-memory quasi-Newton
   method on all rows; every iteration is one gradient sweep.
3. The gradient certifies the distance: ‖θ − θ*‖ <= ‖∇F(θ)‖/Λ, rounding included. Where
   doubles cannot certify it, the same iteration goes on in extended precision.

Steps are chosen by gradients alone: by convexity F(θ + d) <= F(θ) whenever
⟨∇F(θ + d), d⟩ <= 0. Such a step is always taken; another one only if it brings the
gradient down at least threefold in the current metric, as it does near the minimiser.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from confide._types import AnyArray, Array
from confide.data.rows import Rows
from confide.errors import NotSolved
from confide.objectives import Objective
from confide.solvers.precise import can_split, precise_gradient
from confide.solvers.solution import Solution
from confide.solvers.sums import Problem

MOST_SWEEPS = 10_000
MEMORY = 12
WIDEST_HESSIAN = 1500
MOST_NEWTON_STEPS = 50
MOST_TRIALS = 40
MOST_STALLS = 500
SMALLEST_SAMPLE = 1024
GROWTH = 12


Metric: TypeAlias = Callable[[Array], Array]
"""Solves H d = g for some approximation H of the Hessian."""

Sweep: TypeAlias = tuple[AnyArray, float]
"""A gradient, and a bound on the sum of the absolute slopes it was added up from."""


def minimise_smooth(
    objective: Objective,
    rows: Rows,
    linear: Array,
    tolerance: float,
    start: Array | None = None,
    *,
    certify: bool = True,
) -> Solution:
    """Return a point within ``tolerance`` of the minimiser of F over all of space.

    Without ``certify`` rounding is left out of account and a stall is good enough.
    """
    problem = Problem(objective, rows, linear, objective.ridge)
    goal = tolerance * objective.strong_convexity
    descend = partial(_descend, problem, goal, certify)
    if objective.dimension > WIDEST_HESSIAN:
        theta = np.zeros(objective.dimension) if start is None else start
        metric = _diagonal_metric(problem, theta)
        return descend(theta, problem.gradient(theta), metric)
    if start is not None:
        gradient, mass, hessian = problem.gradient_and_hessian(start)
        metric = _cholesky_metric(hessian)
        return descend(start, (gradient, mass), metric)
    theta, metric, sample = _approach(problem)
    sweep = problem.gradient(theta)
    if _worth_a_hessian(objective.dimension, sample, rows.count):
        theta, sweep, metric = _sharpen(problem, theta, sweep, metric)
    return descend(theta, sweep, metric)


def _worth_a_hessian(dimension: int, sample: int, count: int) -> bool:
    """Whether one Hessian of all rows saves more sweeps than it costs.

    A metric from a sample contracts the error by about √(p/sample) in every sweep; with a
    Hessian of all rows three more sweeps are enough.
    """
    if sample == count:
        return False
    sweeps = 1.5 + 20 / max(0.1, 0.5 * np.log(sample / dimension))
    return bool(sweeps > 6 + dimension / 50)


def _sharpen(
    problem: Problem, theta: Array, sweep: Sweep, metric: Metric
) -> tuple[Array, Sweep, Metric]:
    """Take one step on all rows, then measure the Hessian where it leads."""
    gradient, _ = sweep
    trial = theta - metric(gradient)
    ahead, mass, hessian = problem.gradient_and_hessian(trial)
    if ahead @ metric(ahead) < gradient @ metric(gradient):
        theta, sweep = trial, (ahead, mass)
    return theta, sweep, _cholesky_metric(hessian)


@dataclass(slots=True)
class _Memory:
    """Pairs of steps and gradient changes that correct a metric (two-loop L-BFGS)."""

    metric: Metric
    pairs: deque[tuple[Array, Array, float]]

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


def _approach(problem: Problem) -> tuple[Array, Metric, int]:
    """Newton's method on subsamples of growing size; ends with a metric for all rows.

    A subsample's minimiser is off by a decrement of about p times its stride, so each
    level stops as soon as its own decrement is small against that.
    """
    count, size = problem.rows.count, problem.objective.dimension
    theta, least = np.zeros(size), max(SMALLEST_SAMPLE, 12 * size)
    finest = problem.rows.thin(GROWTH if count // GROWTH >= least else 1)
    single = np.float64 if finest is problem.rows else np.float32
    strides = [1]
    while finest.count // (strides[0] * GROWTH) >= least:
        strides.insert(0, strides[0] * GROWTH)
    for stride in strides:
        rows = finest.thin(stride)
        weight = count / max(1, rows.count)
        level = replace(problem, rows=rows, weight=weight)
        theta, metric = _newton(level, theta, 0.1 * size * weight, single)
    return theta, metric, finest.count


def _newton(
    level: Problem, theta: Array, enough: float, dtype: Any
) -> tuple[Array, Metric]:
    """Damped Newton steps until one of them promises less than ``enough``."""
    gradient, _, hessian = level.gradient_and_hessian(theta.astype(dtype))
    metric = _cholesky_metric(hessian)
    for _ in range(MOST_NEWTON_STEPS):
        step = -metric(gradient.astype(np.float64))
        promise = -float(gradient @ step)
        if promise <= enough:
            return theta + step, metric
        scale = 1.0
        while True:
            trial = theta + scale * step
            gradient, _, hessian = level.gradient_and_hessian(trial.astype(dtype))
            slope = float(gradient @ step)
            if slope <= 0.5 * promise or scale < 1e-4:
                break
            scale *= max(0.1, promise / (promise + slope))
        theta, metric = trial, _cholesky_metric(hessian)
    return theta, metric


def _descend(  # noqa: PLR0917
    problem: Problem,
    goal: float,
    certify: bool,
    theta: Array,
    sweep: Sweep,
    metric: Metric,
) -> Solution:
    """Quasi-Newton steps until the gradient certifies the distance."""
    convexity = problem.objective.strong_convexity
    memory = _Memory(metric, deque(maxlen=MEMORY))
    point: AnyArray = theta
    best, stalled, before = np.inf, 0, 0.0
    for _ in range(MOST_SWEEPS):
        gradient, mass = sweep
        bound = float(np.linalg.norm(gradient.astype(np.float64)))
        floor = problem.rounding(point, mass) if certify else 0.0
        if bound <= goal / 2 < floor:
            bound, floor = _looked_at_closer(problem, goal, point, (bound, floor))
        if bound + floor <= goal:
            return Solution(point.astype(np.float64), (bound + floor) / convexity)
        if stalled > MOST_STALLS:
            break
        best, stalled = (bound, 0) if bound < best / 2 else (best, stalled + 1)
        if not certify and stalled > 40:
            return Solution(point.astype(np.float64), np.inf)
        done_in_doubles = bound <= goal / 2 or stalled > 3
        if floor > goal / 2 and point.dtype != np.longdouble:
            if done_in_doubles:
                point = point.astype(np.longdouble)
                sweep = problem.gradient(point)
                continue
            promised = bound**2 <= before * goal / 8
            found = promised and _last_step(problem, goal, memory, point, gradient)
            if found:
                return found
        before = bound
        point, sweep = _advance(problem, memory, point, gradient)
    raise NotSolved("the smooth solver could not certify its answer")


def _looked_at_closer(
    problem: Problem, goal: float, point: AnyArray, found: tuple[float, float]
) -> tuple[float, float]:
    """Return the gradient's length and rounding again, from more careful arithmetic."""
    if point.dtype == np.longdouble:
        return found[0], problem.careful_rounding(point)
    if can_split(problem):
        exact, error = precise_gradient(problem, point)
        if float(np.linalg.norm(exact)) + error <= goal:
            return float(np.linalg.norm(exact)), error
    return found


def _last_step(
    problem: Problem, goal: float, memory: _Memory, point: AnyArray, gradient: AnyArray
) -> Solution | None:
    """Try a step that promises to be the last one, and certify it at once."""
    if not can_split(problem):
        return None
    trial = point + memory.direction(gradient)
    exact, error = precise_gradient(problem, trial)
    bound = float(np.linalg.norm(exact)) + error
    if bound > goal:
        return None
    return Solution(trial, bound / problem.objective.strong_convexity)


def _advance(
    problem: Problem, memory: _Memory, point: AnyArray, gradient: AnyArray
) -> tuple[AnyArray, Sweep]:
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
        sweep = problem.gradient(trial)
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
        hessian = problem.gradient_and_hessian(trial.astype(np.float64), fine=True)[2]
        memory.metric = _cholesky_metric(hessian)
        memory.pairs.clear()
    return trial, sweep


def _cholesky_metric(hessian: Array) -> Metric:
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


def _diagonal_metric(problem: Problem, theta: Array) -> Metric:
    diagonal = problem.diagonal(theta)
    return lambda gradient: gradient / diagonal
