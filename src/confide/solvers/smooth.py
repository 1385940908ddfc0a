"""Minimise a smooth, strongly convex objective to a certified distance.

1. Newton steps on growing subsamples bring θ within the sampling error of the largest one.
   If there are too many columns for a Hessian, quasi-Newton steps on one subsample are
   taken instead.
2. The Hessian of the last subsample, or the diagonal of the Hessian of all rows, becomes
   the metric of a limited-memory quasi-Newton method on all rows (`descend`).
3. The gradient of the objective F certifies the distance to the minimiser θ*: with the
   smallest ridge Λ, ‖θ − θ*‖ <= ‖∇F(θ)‖/Λ, including rounding errors.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from confide._types import AnyArray, Array
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import NotSolved
from confide.objectives import is_logistic, wider
from confide.objectives.twofold import Twofold
from confide.solvers.problem import (
    UNIT,
    CurvatureCertificate,
    Problem,
    Solution,
    longest,
    nearest,
)
from confide.solvers.split_gradient import precise_gradient

MOST_SWEEPS = 10_000
FEWEST_PAIRS, MOST_PAIRS = 12, 50
PAIRS_BYTES = 2**27
"""The memory limit for L-BFGS pairs, in bytes; FEWEST_PAIRS are stored in any case."""
WIDEST_HESSIAN = 1500
WIDEST_CERTIFICATE = 80
NEARBY = 0.01
"""The tolerance for the minimiser of a smoother loss, which is used as the starting
point, in units of the largest effect of one record on a minimiser."""
MOST_TRIALS = 40
MANY_TRIALS = 2
"""The number of trials after which a line search uses the secant through the last two
slopes, or bisects."""
MOST_STALLS = 500
SPLIT_STALLS = 40
MUCH_NEARER = 2e-11

Metric: TypeAlias = Callable[[Array], Array]
"""A function that maps g to the solution d of H d = g, with H close to the Hessian."""

GradientAndError: TypeAlias = tuple[AnyArray, float]
"""A gradient, and a bound on the norm of its rounding error."""

Point: TypeAlias = AnyArray | Twofold
"""Coefficients in double or double-double precision."""

GradientFunction: TypeAlias = Callable[[Any], GradientAndError]
"""A function that computes a gradient and its error bound at a point."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Stopping rule of a solver: the norm of the gradient must be at most ``length``.

    Rounding errors are ignored unless ``certified`` is true. ``certificate`` is a lower
    bound on the curvature, if one is known that exceeds the ridge.
    """

    length: float
    certified: bool
    certificate: CurvatureCertificate | None = None

    def look(self, problem: Problem) -> GradientFunction:
        """Return a function that computes gradients in the precision of the point."""

        def plain(point: AnyArray) -> GradientAndError:
            gradient, mass = problem.gradient(point)
            return gradient, self.floor(problem, point, mass)

        return plain

    def look_closely(self, problem: Problem) -> GradientFunction:
        """Return a function that computes gradients as precisely as the rule requires."""
        return lambda point: precise_gradient(problem, point, self.enough(problem, point))

    def enough(self, problem: Problem, point: "Point") -> float:
        """Return the accepted gradient norm at a point, based on ridge or curvature."""
        if self.certificate is None or not self.certified:
            return self.length
        distance = self.length / problem.objective.strong_convexity
        return max(self.length, self.certificate.length(nearest(point), distance))

    def floor(self, problem: Problem, point: AnyArray, mass: float) -> float:
        """Return a bound on the rounding error of a gradient; 0 if errors are ignored."""
        return problem.rounding(point, mass) if self.certified else 0.0


@dataclass(slots=True)
class LbfgsMemory:
    """Pairs of steps and gradient changes that correct a metric (two-loop L-BFGS)."""

    metric: Metric
    pairs: deque[tuple[Array, Array, float]]

    @classmethod
    def of(cls, metric: Metric, dimension: int) -> "LbfgsMemory":
        """Return an empty memory."""
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
        """Store a step, unless the curvature along it is below the rounding error."""
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
    """Take quasi-Newton steps until the gradient certifies the required distance."""
    memory, look = LbfgsMemory.of(metric, len(theta)), goal.look(problem)
    point: Point = theta
    best, stalled, before, patience = np.inf, 0, 0.0, _patience(problem)
    for _ in range(MOST_SWEEPS):
        gradient, floor = sweep
        bound, fine = longest(gradient), isinstance(point, Twofold)
        enough = goal.enough(problem, point)
        if bound <= enough / 2 < floor and not fine:
            bound, floor = _with_split_gradient(problem, goal, point, (bound, floor))
        found = _certified(problem, goal, point, (bound, floor))
        if found is not None:
            return found
        if stalled > MOST_STALLS:
            break
        best, stalled = (bound, 0) if bound < best / 2 else (best, stalled + 1)
        if not goal.certified and stalled > SPLIT_STALLS:
            return Solution(nearest(point), np.inf)
        if floor > enough / 2 and not fine:
            if bound <= enough / 2 or stalled > patience:
                look, point = goal.look_closely(problem), Twofold.of(point)
                sweep, best, stalled = look(point), np.inf, 0
                continue
            promised = bound**2 <= before * enough / 2
            last = promised and _last_step(problem, goal, memory, point, gradient)
            if last:
                return last
        before = bound
        point, sweep = advance(problem, memory, point, gradient, look)
    raise NotSolved("the smooth solver could not certify its answer")


def _certified(
    problem: Problem, goal: StoppingRule, point: Point, sweep: tuple[float, float]
) -> Solution | None:
    """Return a solution if the gradient certifies it by ridge or curvature, or None.

    If the curvature is used, the distance without rounding errors must also be tiny
    relative to the coefficients. Adding rows in another order then gives practically the
    same solution.
    """
    bound, floor = sweep
    convexity = problem.objective.strong_convexity
    allowed = problem.allowed(goal.length / convexity, point)
    distance = _rounded(problem, point, bound + floor)
    if distance <= allowed * convexity:
        return Solution(nearest(point), distance / convexity)
    if goal.certificate is None or not goal.certified:
        return None
    theta = nearest(point)
    length = float(np.linalg.norm(theta))
    distance = goal.certificate.distance(theta, bound + floor) + 2 * UNIT * length
    if (
        distance <= allowed
        and goal.certificate.distance(theta, bound) <= MUCH_NEARER * length
    ):
        return Solution(theta, distance)
    return None


def _patience(problem: Problem) -> int:
    """Return the number of passes in which the norm of the gradient must halve.

    With a Hessian as metric, one or two passes are enough unless rounding errors dominate.
    A diagonal metric must first be corrected by some steps.
    """
    return 3 if problem.objective.dimension <= WIDEST_HESSIAN else 20


def _with_split_gradient(
    problem: Problem, goal: StoppingRule, point: Point, found: tuple[float, float]
) -> tuple[float, float]:
    """Return norm and error of a precise gradient if it meets the goal, else ``found``."""
    enough = goal.enough(problem, point)
    exact, error = precise_gradient(problem, point, enough)
    if longest(exact) + error <= enough:
        return longest(exact), error
    return found


def _last_step(
    problem: Problem,
    goal: StoppingRule,
    memory: LbfgsMemory,
    point: Point,
    gradient: AnyArray,
) -> Solution | None:
    """Try a step that is expected to be the last; return None if it is not certified."""
    trial = Twofold.of(point) + memory.direction(gradient)
    exact, error = precise_gradient(problem, trial, goal.enough(problem, trial))
    return _certified(problem, goal, trial, (longest(exact), error))


def _rounded(problem: Problem, point: Point, bound: float) -> float:
    """Increase a gradient bound to allow for rounding a double-double point to doubles."""
    if not isinstance(point, Twofold):
        return bound
    length = float(np.linalg.norm(point.high))
    unit = float(np.finfo(np.float64).eps)
    return bound + unit * length * problem.objective.strong_convexity


def advance(
    problem: Problem,
    memory: LbfgsMemory,
    point: Any,
    gradient: AnyArray,
    look: GradientFunction,
) -> tuple[Any, GradientAndError]:
    """Take one quasi-Newton step, with a line search that uses only gradients.

    The search ends at a gradient whose norm is below its rounding error, because such a
    gradient is no longer informative.
    """
    here = gradient.astype(np.float64)
    step = memory.direction(here)
    steepness = float(here @ step)
    size = float(here @ memory.metric(here))
    if not (steepness < 0 < size):
        memory.pairs.clear()
        step = -memory.metric(here)
        steepness = -size
    low, high, scale = 0.0, np.inf, 1.0
    last = 0.0, steepness
    for turn in range(MOST_TRIALS):
        trial = point + scale * step
        sweep = look(trial)
        there = sweep[0].astype(np.float64)
        slope = float(there @ step)
        remaining = float(there @ memory.metric(there)) / size if size > 0 else 1.0
        hidden = longest(there) <= sweep[1]
        if hidden or remaining <= 0.1 or 0.5 * steepness <= slope <= 0:
            break
        low, high = (scale, high) if slope < 0 else (low, scale)
        widest = min(high, 10 * scale)
        fall = steepness - slope
        secant = 0.95 * scale * steepness / fall if fall else np.inf
        nearest_tenth = 0.9 * low + 0.1 * widest, 0.1 * low + 0.9 * widest
        before, last = last, (scale, slope)
        if turn < MANY_TRIALS:
            scale = float(np.clip(secant, *nearest_tenth))
            continue
        scale = _crossing(before, last)
        if not low < scale < widest:
            scale = 0.5 * (low + widest) if low else 0.1 * widest
    memory.learn(scale * step, there - here)
    slow = remaining > 0.1 and not hidden
    if slow and problem.objective.dimension <= WIDEST_HESSIAN:
        hessian = problem.gradient_and_hessian(nearest(trial), double=True)[2]
        memory.metric = cholesky_metric(hessian)
        memory.pairs.clear()
    return trial, sweep


def _crossing(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the zero of the line through two slopes.

    The result is NaN if the line does not rise, or if the slopes differ in sign.
    """
    (start, low), (stop, high) = one, other
    rising = low * high > 0 and (high - low) * (stop - start) > 0
    return stop - high * (stop - start) / (high - low) if rising else np.nan


def cholesky_metric(hessian: Array) -> Metric:
    """Return the metric of a Hessian, after making it positive definite if necessary."""
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
    """Return the metric given by the diagonal of the Hessian."""
    diagonal = problem.diagonal(theta)
    return lambda gradient: gradient / diagonal


MOST_NEWTON_STEPS = 50
SHORTEST_STEP = 1e-12
SMALLEST_SAMPLE = 1024
ROWS_PER_COLUMN = 12
GROWTH = 12
LEAST_STRIDE = 4
SUBSAMPLE_THRESHOLD_ROWS = 2**20
MOST_SAMPLE_STEPS = 30


def minimise_smooth(
    problem: Problem,
    tolerance: float,
    start: Array | None = None,
    *,
    certify: bool = True,
) -> Solution:
    """Return a point within ``tolerance`` of the unconstrained minimiser.

    If ``certify`` is false, rounding errors are ignored, and the point at which progress
    stalls is accepted.
    """
    objective = problem.objective
    if start is None and (easier := wider(objective.loss)) is not None:
        nearby = replace(problem, objective=replace(objective, loss=easier))
        rough = NEARBY * objective.lipschitz / objective.strong_convexity
        start = minimise_smooth(nearby, max(tolerance, rough), certify=certify).theta
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
    hidden = sweep[1] > goal.length / 2
    if _worth_a_hessian(problem, sample, hidden=hidden):
        theta, sweep, metric, certificate = _sharpen(problem, goal, theta, sweep, metric)
        goal = replace(goal, certificate=certificate)
    return descend(problem, goal, theta, sweep, metric)


def _worth_a_hessian(problem: Problem, sample: int, *, hidden: bool) -> bool:
    """Return whether a Hessian of all rows saves more passes than it costs.

    With p columns, a metric from a sample multiplies the error by about √(p/sample) in
    every pass. With a Hessian of all rows, three more passes are enough. The Hessian is
    cheap compared with reading rows from storage again, or with a last gradient in higher
    precision. If rounding in doubles prevents a certificate from the ridge alone
    (``hidden``), the curvature of the rows often provides a certificate without such a
    gradient.
    """
    rows, dimension = problem.rows, problem.objective.dimension
    if hidden and is_logistic(problem.objective.loss) and dimension <= WIDEST_CERTIFICATE:
        return True
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
    """Take one step on all rows, then compute the Hessian at the new point."""
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
    """Return a point, a metric and a sample size, from Newton steps on growing subsamples.

    With p columns and one out of every s rows, the sampling error corresponds to a Newton
    decrement of about p·s. The steps on a subsample end when the decrement is much
    smaller than this.
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
    """Take damped Newton steps until the decrement is at most ``enough``."""
    gradient, _, hessian = level.gradient_and_hessian(theta.astype(dtype))
    metric = cholesky_metric(hessian)
    for _ in range(MOST_NEWTON_STEPS):
        step = -metric(gradient.astype(np.float64))
        promise = -float(gradient @ step)
        if promise <= enough:
            return theta + step, metric
        scale, height = 1.0, np.nan
        while True:
            trial = theta + scale * step
            gradient, _, hessian = level.gradient_and_hessian(trial.astype(dtype))
            slope = float(gradient @ step)
            if slope <= 0 or scale < SHORTEST_STEP:
                break
            if slope <= 0.5 * promise:
                if np.isnan(height):
                    height = level.value(theta.astype(dtype))
                if level.value(trial.astype(dtype)) <= height:
                    break
                scale *= 0.1
                continue
            scale *= max(0.1, promise / (promise + slope))
        theta, metric = trial, cholesky_metric(hessian)
    return theta, metric


def _approach_without_hessian(problem: Problem) -> Array:
    """Take quasi-Newton steps on a subsample, until its sampling error is reached."""
    size = problem.objective.dimension
    theta = np.zeros(size)
    stride = problem.rows.count // max(SMALLEST_SAMPLE, ROWS_PER_COLUMN * size)
    if stride < LEAST_STRIDE:
        return theta
    level = replace(problem, rows=problem.rows.subsample(stride), weight=float(stride))
    memory = LbfgsMemory.of(diagonal_metric(level, theta), size)
    look = StoppingRule(0.0, certified=False).look(level)
    gradient, _ = look(theta)
    for _ in range(MOST_SAMPLE_STEPS):
        if float(gradient @ memory.metric(gradient)) <= 0.1 * size * stride:
            break
        theta, (gradient, _) = advance(level, memory, theta, gradient, look)
    return theta
