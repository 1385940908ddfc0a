"""Iterations of NAPP: ridge problems with weights from the previous iterate.

Iteration t minimises Σφ + ⟨b,θ⟩ + Σ wⱼθⱼ² with a random b and with weights w computed from
iterate t − 1. A `Step` solves one such problem: either in the limit of many augmented rows
(`ExactStep`), or with a given number of augmented rows (`AugmentedStep`).
"""

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.optimize import brentq

from confide._types import Array
from confide.data.rows.in_memory import Rows, require_in_memory
from confide.errors import InvalidParameter, NotSolved
from confide.mechanisms.published.napp.weights import Weighting
from confide.objectives import L2Ball, Objective, Ridge
from confide.solvers import minimise


class Step(Protocol):
    """Protocol for a solver of reweighted ridge problems over the same rows."""

    def solve(self, weights: Array, linear: Array, start: Array) -> Array:
        """Return the minimiser of one problem, or an approximation from augmented rows."""
        ...

    def loss(self, theta: Array) -> float:
        """Return the loss Σφ over the rows."""
        ...


@dataclass(frozen=True, slots=True)
class NappStopping:
    """Stopping rule for the iterations of NAPP.

    Parameters
    ----------
    iterations : int, default=80
        Largest number of iterations.
    change : float, default=0
        Relative change of the objective at which iterations stop. With 0 all iterations are
        run, as for the published figures.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms.published import NappStopping
    >>> NappStopping(iterations=20).change
    0.0
    """

    iterations: int = 80
    change: float = 0.0

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InvalidParameter("iterations", "at least 1", self.iterations)
        if not 0 <= self.change < 1:
            raise InvalidParameter("change", "in [0, 1)", self.change)


@dataclass(frozen=True, slots=True, repr=False)
class NappPath:
    """Result of the iterations, which depends on private rows and must not be released.

    Parameters
    ----------
    theta : ndarray
        Coefficients after the last iteration.
    before : ndarray
        Coefficients before the last iteration.
    weights : ndarray
        Weights of the last ridge problem.
    iterations : int
        Number of iterations.
    thetas : tuple of ndarray, default=()
        Coefficients after each iteration, if a trace was requested.
    losses : tuple of float, default=()
        Objective after each iteration, if a trace was requested.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.mechanisms.published import NappPath
    >>> NappPath(np.zeros(2), np.zeros(2), np.ones(2), iterations=80).iterations
    80
    """

    theta: Array
    before: Array
    weights: Array
    iterations: int
    thetas: tuple[Array, ...] = ()
    losses: tuple[float, ...] = ()


def follow(
    step: Step,
    weighting: Weighting,
    linear: Array,
    stopping: NappStopping,
    *,
    folded: bool = False,
    traced: bool = False,
) -> NappPath:
    """Run the reweighting iterations of NAPP.

    If ``folded`` is true, ⟨b,θ⟩ is replaced by ⟨b,|θ|⟩, with the signs of the previous
    iterate.
    """
    theta = before = guess = np.zeros(len(linear))
    weights = weighting.first(len(linear))
    pull, done = linear, 0
    thetas, losses = [], []
    watch = traced or stopping.change > 0
    for done in range(1, stopping.iterations + 1):
        if done > 1:
            weights = weighting.after(theta)
            if folded:
                pull = np.sign(theta) * linear
                guess = np.where(theta * before < 0, before, theta)
        before, theta = theta, step.solve(weights, pull, guess if folded else theta)
        if not watch:
            continue
        thetas.append(theta)
        losses.append(_whole(step, theta, pull, weights))
        if len(losses) > 1 and stopping.change:
            moved = abs(losses[-1] - losses[-2])
            if moved <= stopping.change * abs(losses[-2]):
                break
    kept = (tuple(thetas), tuple(losses)) if traced else ((), ())
    return NappPath(theta, before, weights, done, *kept)


def settled(path: NappPath, zero_below: float) -> Array:
    """Return the final coefficients, after setting some of them to 0.

    Coefficients that are tiny, or that changed sign in the last iteration, are set to 0.
    """
    restless = path.theta * path.before < 0
    return np.where(restless | (np.abs(path.theta) <= zero_below), 0.0, path.theta)


def _whole(step: Step, theta: Array, pull: Array, weights: Array) -> float:
    """Return the objective, without the constant that augmented rows would add."""
    return step.loss(theta) + float(pull @ theta + weights @ theta**2)


class ExactStep:
    """Solver for the limit of many augmented rows, by Newton's method.

    Every solution starts from the previous one. The Hessian of the loss is reused until the
    steps converge too slowly: near the fixed point, one gradient per reweighting is enough.
    While signs of coefficients flip, the linear term alternates between two values. A
    second Hessian is therefore kept, and the two are exchanged whenever the linear term
    changes. Coordinates are scaled by (2w)^(−½), so weights may grow without bound.
    """

    def __init__(self, objective: Objective, rows: Rows) -> None:
        self._objective, self._rows = objective, rows
        table = require_in_memory(rows, "NAPP")
        self._x, self._y = table.toarray(), np.asarray(table.target, dtype=np.float64)
        self._t = np.ascontiguousarray(self._x.T)
        self._gram = self._aside = np.zeros((0, 0))
        self._linear = np.zeros(0)
        self._square = objective.loss.quadratic
        if self._square:
            self._gram, self._pull = self._t @ self._x, self._t @ self._y
            self._energy = float(self._y @ self._y)

    def loss(self, theta: Array) -> float:
        """Return the loss Σφ over the rows."""
        if self._square:
            bowl = theta @ self._gram @ theta
            return float(bowl - 2 * (self._pull @ theta) + self._energy) / 2
        return float(self._objective.loss.value(self._x @ theta, self._y).sum())

    def solve(self, weights: Array, linear: Array, start: Array) -> Array:
        """Return the minimiser of Σφ + ⟨b,θ⟩ + Σ wⱼθⱼ² subject to the constraint."""
        theta = self._free(weights, linear, start)
        constraint = self._objective.constraint
        if constraint is None or np.allclose(constraint.project(theta), theta, 0, 1e-12):
            return theta
        if isinstance(constraint, L2Ball):
            return self._in_ball(constraint.size, weights, linear, theta)
        capped = tuple(np.minimum(2 * weights, MAX_WIDTH * weights.min()))
        inside = replace(self._objective, l2=0.0, penalty=Ridge(capped))
        return minimise(inside, self._rows, linear, 1e-7).theta

    def _free(self, weights: Array, linear: Array, start: Array) -> Array:
        if self._square:
            return _newton(self._gram, weights, self._pull - linear)
        return self._descend(weights, linear, start)

    def _in_ball(self, size: float, weights: Array, linear: Array, start: Array) -> Array:
        """Return the minimiser in the ball, found by raising all weights equally."""

        def found(log_extra: float) -> Array:
            return self._free(weights + math.exp(log_extra), linear, start)

        def excess(log_extra: float) -> float:
            return float(np.linalg.norm(found(log_extra))) / size - 1

        theta = found(brentq(excess, -30.0, 60.0, xtol=1e-12))
        return theta * min(1.0, size / float(np.linalg.norm(theta)))

    def _descend(self, weights: Array, linear: Array, start: Array) -> Array:
        if not np.array_equal(linear, self._linear):
            self._gram, self._aside, self._linear = self._aside, self._gram, linear
        theta, double = start, 2 * weights
        gradient, margin, slope = self._gradient(theta, double, linear)
        if not self._gram.size:
            self._update_gram(margin, slope)
        fresh, before = False, np.inf
        for _ in range(MOST_STEPS):
            move = _newton(self._gram, weights, -gradient)
            length = float(np.abs(move).max())
            if length > 0.1 * before and not fresh:
                self._update_gram(margin, slope)
                move, fresh = _newton(self._gram, weights, -gradient), True
                length = float(np.abs(move).max())
            if length <= STEP_TOLERANCE * (1 + float(np.abs(theta).max())):
                return theta + move
            limit = -0.5 * float(gradient @ move)
            gradient, margin, slope = self._gradient(theta + move, double, linear)
            while float(gradient @ move) > limit:
                move = move / 2
                gradient, margin, slope = self._gradient(theta + move, double, linear)
            theta = theta + move
            fresh, before = False, length
        raise NotSolved("a reweighted ridge problem was not solved")

    def _gradient(
        self, theta: Array, double: Array, linear: Array
    ) -> tuple[Array, Array, Array]:
        margin = self._x @ theta
        slope = self._objective.loss.slope(margin, self._y)
        return self._t @ slope + linear + double * theta, margin, slope

    def _update_gram(self, margin: Array, slope: Array) -> None:
        curvature = self._objective.loss.curvature_from_slope(slope, margin, self._y)
        self._gram = (self._t * curvature) @ self._x


STEP_TOLERANCE = 1e-8
MOST_STEPS = 500
MAX_WIDTH = 1e4


def _newton(gram: Array, weights: Array, right: Array) -> Array:
    """Solve (gram + 2·diag w)·u = right, scaled for accuracy even if weights are huge."""
    scale = np.sqrt(0.5 / weights)
    matrix = gram * (scale[:, None] * scale)
    matrix.flat[:: len(scale) + 1] += 1.0
    _, found, trouble = dposv(matrix, scale * right, overwrite_a=1, overwrite_b=1)
    if trouble:
        raise NotSolved("a reweighted ridge problem is singular")
    return np.asarray(scale * found)
