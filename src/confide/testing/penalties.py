"""The contracts of a penalty and of a constraint: exact minimisers, valid attributes."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from confide._types import Array
from confide.noise import Entropy
from confide.objectives import Constraint, Penalty
from confide.testing._expect import expect

STEPS = (0.05, 0.7, 3.0)
LENGTHS = (0.1, 1.0, 10.0)
ROUNDING = 1e-12

Move: TypeAlias = Callable[[Array], Array]


def check_penalty(penalty: Penalty, dimension: int) -> None:
    """Assert that a penalty satisfies the contract of `confide.objectives.Penalty`.

    Parameters
    ----------
    penalty : Penalty
        The penalty to check.
    dimension : int
        The number of coefficients to check it with.

    Raises
    ------
    AssertionError
        If a property of the contract fails; the message states which one, and where.

    Examples
    --------
    No error means that the contract is satisfied:

    >>> from confide.objectives import L1
    >>> from confide.testing import check_penalty
    >>> check_penalty(L1(2.0), dimension=3)
    """
    points = _points(dimension, seed=1)
    for theta in points:
        value = penalty.value(theta)
        expect(
            math.isfinite(value) and value >= 0,
            "the value must be finite and not negative",
            at=theta,
        )
        _check_parts(penalty, theta, value)
    expect(penalty.value(np.zeros(dimension)) == 0, "the value must be 0 at the origin")
    expect(
        penalty.convex == (penalty.least_curvature >= 0),
        "least_curvature must be negative if and only if convex is False",
        at=penalty.least_curvature,
    )
    _check_least_curvature(penalty, points)
    longest = math.inf if penalty.least_curvature >= 0 else -1 / penalty.least_curvature
    for step in (s for s in STEPS if s < longest):
        for theta in points:
            _check_prox(penalty, theta, step)
        if penalty.convex:
            _check_nonexpansive(partial(penalty.prox, step=step), points, "prox")


def check_constraint(constraint: Constraint, dimension: int) -> None:
    """Assert that a constraint satisfies the contract of `confide.objectives.Constraint`.

    Parameters
    ----------
    constraint : Constraint
        The constraint to check.
    dimension : int
        The number of coefficients to check it with.

    Raises
    ------
    AssertionError
        If a property of the contract fails; the message states which one, and where.

    Examples
    --------
    No error means that the contract is satisfied:

    >>> from confide.objectives import L2Ball
    >>> from confide.testing import check_constraint
    >>> check_constraint(L2Ball(1.0), dimension=3)
    """
    origin = np.zeros(dimension)
    expect(
        np.array_equal(constraint.project(origin), origin),
        "the set must contain the origin",
    )
    points = _points(dimension, seed=2)
    inside = [constraint.project(theta) for theta in points]
    for theta, nearest in zip(points, inside, strict=True):
        tolerance = ROUNDING * (1 + float(np.linalg.norm(theta)))
        again = constraint.project(nearest)
        expect(
            np.linalg.norm(again - nearest) <= tolerance,
            "projecting twice must give the same point as projecting once",
            at=theta,
        )
        for other in inside:
            expect(
                float((theta - nearest) @ (other - nearest))
                <= tolerance * (1 + float(np.linalg.norm(other - nearest))),
                "project must return the nearest point of a convex set: another point of "
                "the set is nearer",
                at=theta,
            )
    _check_nonexpansive(constraint.project, points, "project")
    _check_radius(constraint, dimension)


def _points(dimension: int, seed: int) -> list[Array]:
    """Return fixed points of several norms, some of them with zero coordinates."""
    entropy = Entropy.seeded(seed)
    points = [np.zeros(dimension), np.ones(dimension), -np.ones(dimension)]
    for length in LENGTHS:
        for _ in range(4):
            theta = length * entropy.normal(dimension)
            points.append(theta)
            points.append(np.where(entropy.signs(dimension) > 0, theta, 0.0))
    return points


def _check_parts(penalty: Penalty, theta: Array, value: float) -> None:
    weights, nonsmooth = penalty.ridge(theta.size), penalty.nonsmooth_part()
    expect(
        weights.shape == theta.shape and np.all(weights >= 0),
        "ridge must return one non-negative weight per coordinate",
        at=weights,
    )
    rest = 0.0
    if nonsmooth is not None:
        rest = nonsmooth.value(theta)
        expect(
            not nonsmooth.ridge(theta.size).any(),
            "the penalty from nonsmooth_part must have no quadratic part",
            at=nonsmooth,
        )
    total = float(weights @ theta**2) / 2 + rest
    expect(
        abs(total - value) <= ROUNDING * (1 + value),
        "ridge and nonsmooth_part must add up to the value",
        at=(value, total),
    )


def _check_least_curvature(penalty: Penalty, points: list[Array]) -> None:
    """Check at midpoints that adding ½|least_curvature|·‖θ‖² makes a penalty convex."""
    lift = max(0.0, -penalty.least_curvature) / 2

    def lifted(theta: Array) -> float:
        return penalty.value(theta) + lift * float(theta @ theta)

    for one, other in _pairs(points):
        middle = lifted((one + other) / 2)
        chord = (lifted(one) + lifted(other)) / 2
        expect(
            middle <= chord + ROUNDING * (1 + chord),
            "the penalty must be convex once ½|least_curvature|·‖θ‖² is added",
            at=(one, other),
        )


def _check_prox(penalty: Penalty, theta: Array, step: float) -> None:
    """Check that the prox objective grows around the minimiser as convexity implies."""
    kept = theta.copy()
    best = penalty.prox(theta, step)
    expect(np.array_equal(theta, kept), "prox must not change its argument")
    modulus = 1 + step * min(0.0, penalty.least_curvature)

    def cost(point: Array) -> float:
        gap = point - theta
        return step * penalty.value(point) + float(gap @ gap) / 2

    lowest = cost(best)
    for trial in _trials(theta, best):
        shift = trial - best
        least = lowest + modulus / 2 * float(shift @ shift)
        expect(
            cost(trial) >= least - ROUNDING * (1 + lowest + abs(least)),
            "prox must minimise step·r(u) + ½‖u − θ‖²: the cost of another point is lower "
            "than strong convexity allows",
            at={"theta": theta, "step": step, "prox": best, "better": trial},
        )


def _trials(theta: Array, best: Array) -> Iterator[Array]:
    """Yield points near and far from a candidate minimiser, along axes and at random."""
    entropy = Entropy.seeded(3)
    yield np.zeros_like(theta)
    yield theta
    for size in (1e-4, 1e-2, 1.0):
        for axis in np.eye(theta.size):
            yield best + size * axis
            yield best - size * axis
        for _ in range(6):
            yield best + size * entropy.normal(theta.size)
        yield best * (1 + size)
        yield best * (1 - size)


def _check_nonexpansive(move: Move, points: list[Array], name: str) -> None:
    for one, other in _pairs(points):
        before = float(np.linalg.norm(one - other))
        after = float(np.linalg.norm(move(one) - move(other)))
        expect(
            after <= before * (1 + ROUNDING) + ROUNDING,
            f"{name} must not increase the distance between points",
            at=(one, other),
        )


def _pairs(points: list[Array]) -> Iterator[tuple[Array, Array]]:
    for shift in (1, 2, 5):
        yield from zip(points, points[shift:] + points[:shift], strict=True)


def _check_radius(constraint: Constraint, dimension: int) -> None:
    radius = constraint.radius(dimension)
    expect(radius > 0, "the radius must be positive, and infinite for an unbounded set")
    entropy = Entropy.seeded(4)
    directions = [*np.eye(dimension), *-np.eye(dimension)]
    directions += [np.ones(dimension), -np.ones(dimension)]
    directions += [entropy.normal(dimension) for _ in range(8)]
    far = 1e6 if math.isinf(radius) else 1e3 * radius
    lengths = [float(np.linalg.norm(constraint.project(far * d))) for d in directions]
    expect(
        max(lengths) <= radius * (1 + 1e-12),
        f"no point of the set may have a norm above the radius {radius:g}",
        at=max(lengths),
    )
    reached = max(lengths) >= min(0.999 * radius, 0.999 * far)
    expect(
        reached,
        f"the radius {radius:g} must be attained: a larger one adds unnecessary noise",
        at=max(lengths),
    )
    for direction in directions:
        beyond = constraint.project(1e20 * direction)
        expect(
            np.all(np.isfinite(beyond)) and np.linalg.norm(beyond) <= radius * (1 + 1e-9),
            "project must map points that are very far away into the set",
            at=1e20 * direction,
        )
