"""Minimise a smooth, strongly convex objective to a certified distance.

1. Newton steps on growing subsamples bring θ within their sampling error. Where there are
   too many columns for a Hessian, quasi-Newton steps on one subsample do.
2. The last subsample's Hessian, or the diagonal of that of all rows, becomes the metric of
   a limited-memory quasi-Newton method on all rows (`descent`).
3. The gradient certifies the distance: ‖θ − θ*‖ <= ‖∇F(θ)‖/Λ, rounding included.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from confide._types import Array
from confide.data.rows.in_memory import InMemoryRows, Rows
from confide.objectives import Objective
from confide.solvers.problem import CurvatureCertificate, Problem, Solution
from confide.solvers.quasi_newton import (
    WIDEST_HESSIAN,
    GradientAndError,
    LbfgsMemory,
    Metric,
    StoppingRule,
    advance,
    cholesky_metric,
    descend,
    diagonal_metric,
)

MOST_NEWTON_STEPS = 50
SMALLEST_SAMPLE = 1024
ROWS_PER_COLUMN = 12
GROWTH = 12
LEAST_STRIDE = 4
SUBSAMPLE_THRESHOLD_ROWS = 2**20
MOST_SAMPLE_STEPS = 30


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
    goal = StoppingRule(tolerance * objective.strong_convexity, certify)
    look = goal.look(problem)
    if objective.dimension > WIDEST_HESSIAN:
        theta = _approach_without_hessian(problem) if start is None else start
        return descend(problem, goal, theta, look(theta), diagonal_metric(problem, theta))
    if start is not None:
        gradient, mass, hessian = problem.gradient_and_hessian(start)
        sweep = gradient, goal.floor(problem, start, mass)
        return descend(problem, goal, start, sweep, cholesky_metric(hessian))
    theta, metric, sample = _approach(problem)
    sweep = look(theta)
    if _worth_a_hessian(objective.dimension, sample, rows):
        theta, sweep, metric, bend = _sharpen(problem, goal, theta, sweep, metric)
        goal = replace(goal, bend=bend)
    return descend(problem, goal, theta, sweep, metric)


def _worth_a_hessian(dimension: int, sample: int, rows: Rows) -> bool:
    """Whether one Hessian of all rows saves more sweeps than it costs.

    A metric from a sample contracts the error by about √(p/sample) in every sweep; with a
    Hessian of all rows three more sweeps are enough. It costs little next to reading rows
    anew from where they lie, or to a last gradient that certifies very many of them.
    """
    if sample == rows.count:
        return False
    sweeps = 1.5 + 20 / max(0.1, 0.5 * np.log(sample / dimension))
    at_hand = isinstance(rows, InMemoryRows) and rows.count < SUBSAMPLE_THRESHOLD_ROWS
    spare = 6 if at_hand else 4
    return bool(sweeps > spare + dimension / 50)


def _sharpen(
    problem: Problem,
    goal: StoppingRule,
    theta: Array,
    sweep: GradientAndError,
    metric: Metric,
) -> tuple[Array, GradientAndError, Metric, CurvatureCertificate | None]:
    """Take one step on all rows, then measure the Hessian where it leads."""
    gradient, _ = sweep
    trial = theta - metric(gradient)
    ahead, mass, hessian = problem.gradient_and_hessian(trial)
    if ahead @ metric(ahead) < gradient @ metric(gradient):
        theta, sweep = trial, (ahead, goal.floor(problem, trial, mass))
    return (
        theta,
        sweep,
        cholesky_metric(hessian),
        CurvatureCertificate.of(problem, trial, hessian),
    )


def _approach(problem: Problem) -> tuple[Array, Metric, int]:
    """Newton's method on subsamples of growing size; ends with a metric for all rows.

    A subsample's minimiser is off by a decrement of about p times its stride, so each
    level stops as soon as its own decrement is small against that.
    """
    count, size = problem.rows.count, problem.objective.dimension
    theta, least = np.zeros(size), max(SMALLEST_SAMPLE, ROWS_PER_COLUMN * size)
    finest = problem.rows.subsample(GROWTH if count // GROWTH >= least else 1)
    single = np.float64 if finest is problem.rows else np.float32
    strides = [1]
    while finest.count // (strides[0] * GROWTH) >= least:
        strides.insert(0, strides[0] * GROWTH)
    for stride in strides:
        rows = finest.subsample(stride)
        weight = count / max(1, rows.count)
        level = replace(problem, rows=rows, weight=weight)
        theta, metric = _newton(level, theta, 0.1 * size * weight, single)
    return theta, metric, finest.count


def _newton(
    level: Problem, theta: Array, enough: float, dtype: Any
) -> tuple[Array, Metric]:
    """Damped Newton steps until one of them promises less than ``enough``."""
    gradient, _, hessian = level.gradient_and_hessian(theta.astype(dtype))
    metric = cholesky_metric(hessian)
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
        theta, metric = trial, cholesky_metric(hessian)
    return theta, metric


def _approach_without_hessian(problem: Problem) -> Array:
    """Quasi-Newton steps on a subsample, as far as its sampling error goes."""
    size = problem.objective.dimension
    theta = np.zeros(size)
    stride = problem.rows.count // max(SMALLEST_SAMPLE, ROWS_PER_COLUMN * size)
    if stride < LEAST_STRIDE:
        return theta
    level = replace(problem, rows=problem.rows.subsample(stride), weight=float(stride))
    memory = LbfgsMemory.of(diagonal_metric(level, theta), size)
    gradient, _ = level.gradient(theta)
    for _ in range(MOST_SAMPLE_STEPS):
        if float(gradient @ memory.metric(gradient)) <= 0.1 * size * stride:
            break
        theta, (gradient, _) = advance(level, memory, theta, gradient, level.gradient)
    return theta
