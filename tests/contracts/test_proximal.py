"""Joint proximal maps of penalty and constraint are exact for every pair that says so."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from confide.objectives import (
    L1,
    Box,
    GroupL2,
    L1Ball,
    L2Ball,
    Mcp,
    Nonnegative,
    Nuclear,
    Scad,
    has_exact_prox,
    prox,
)
from confide.objectives.proximal import prox_error, prox_jacobian, twofold_prox
from confide.objectives.twofold import Twofold

DIMENSION = 5
KINKS = {
    "none": None,
    "l1": L1(0.4),
    "l1 by coordinate": L1((0.0, 0.3, 1.0, 2.0, 0.1)),
    "groups": GroupL2(0.5, ((0, 1, 4), (3,))),
    "one group": GroupL2(0.3, (tuple(range(DIMENSION)),)),
    "nuclear": Nuclear(0.4, (2, 2)),
}
CONSTRAINTS = {
    "none": None,
    "l2 ball": L2Ball(1.2),
    "l1 ball": L1Ball(1.2),
    "box": Box(-0.4, 0.8),
    "half box": Box(0.0, 0.7),
    "nonnegative": Nonnegative(),
}
EXACT = [
    pair
    for pair in itertools.product(KINKS, CONSTRAINTS)
    if has_exact_prox(KINKS[pair[0]], CONSTRAINTS[pair[1]])
]
every_pair = pytest.mark.parametrize(("kink", "constraint"), EXACT)
vectors = st.lists(
    st.floats(-4, 4, allow_subnormal=False), min_size=DIMENSION, max_size=DIMENSION
)


def cost(kink, theta, step, u):
    penalty = 0.0 if kink is None else step * kink.value(u)
    return penalty + float((u - theta) @ (u - theta)) / 2


def test_every_pair_is_exact_but_those_with_the_nuclear_norm():
    assert len(EXACT) == len(KINKS) * len(CONSTRAINTS) - 4
    refused = {pair for pair in itertools.product(KINKS, CONSTRAINTS) if pair not in EXACT}
    assert {kink for kink, _ in refused} == {"nuclear"}
    assert not has_exact_prox(Scad(1.0), L2Ball(1.0))
    assert not has_exact_prox(Mcp(1.0), Box())


@every_pair
@settings(max_examples=15)
@given(theta=vectors, step=st.floats(0.05, 2.0), seed=st.integers(0, 2**31))
def test_no_feasible_point_is_better_than_strong_convexity_allows(
    kink, constraint, theta, step, seed
):
    """Where u* minimises, cost(u) >= cost(u*) + ½‖u − u*‖² for every feasible u."""
    kink, constraint, theta = KINKS[kink], CONSTRAINTS[constraint], np.array(theta)
    best = prox(kink, constraint, theta, step)
    if constraint is not None:
        np.testing.assert_allclose(constraint.project(best), best, atol=1e-12)
    rng = np.random.default_rng(seed)
    lowest = cost(kink, theta, step, best)
    shifts = rng.normal(size=(30, DIMENSION)) * 10.0 ** rng.uniform(-5, 1, size=(30, 1))
    for trial in [np.zeros(DIMENSION), theta, *(best + shifts), *(best * (1 + shifts))]:
        u = trial if constraint is None else constraint.project(trial)
        least = lowest + float((u - best) @ (u - best)) / 2
        assert cost(kink, theta, step, u) >= least - 1e-12 * (1 + lowest + least)


def solved_by_scipy(kink, constraint, theta, step):
    """Solve by SLSQP in positive and negative parts, where the l1 norm is linear.

    The tips of group norms are rounded off a little, which moves the solution by less
    than the accuracy asked for.
    """
    p = DIMENSION

    def whole(parts):
        return parts[:p] - parts[p:]

    def split_cost(parts):
        u = whole(parts)
        match kink:
            case L1(weight):
                penalty = float(np.tile(np.broadcast_to(weight, p), 2) @ parts)
            case GroupL2():
                squares = [(w, float(u[g] @ u[g])) for g, w in kink.levels()]
                penalty = sum(w * math.sqrt(square + 1e-8) for w, square in squares)
            case _:
                return cost(kink, theta, step, u)
        return cost(None, theta, step, u) + step * penalty

    match constraint:
        case L2Ball(size):
            inside = [lambda parts: size**2 - whole(parts) @ whole(parts)]
        case L1Ball(size):
            inside = [lambda parts: size - parts.sum()]
        case Box(lower, upper):
            inside = [
                lambda parts: upper - whole(parts),
                lambda parts: whole(parts) - lower,
            ]
        case Nonnegative():
            inside = [whole]
        case None:
            inside = []
    found = minimize(
        split_cost,
        np.concatenate([np.maximum(theta, 0), np.maximum(-theta, 0)]) / 10 + 0.01,
        method="SLSQP",
        bounds=[(0, None)] * (2 * p),
        constraints=[{"type": "ineq", "fun": one} for one in inside],
        options={"ftol": 1e-13, "maxiter": 300},
    )
    return whole(found.x)


@every_pair
def test_a_general_solver_agrees(kink, constraint):
    kink, constraint = KINKS[kink], CONSTRAINTS[constraint]
    rng = np.random.default_rng(0)
    for _ in range(3):
        theta, step = rng.normal(size=DIMENSION), rng.uniform(0.2, 1.0)
        reference = solved_by_scipy(kink, constraint, theta, step)
        found = prox(kink, constraint, theta, step)
        np.testing.assert_allclose(found, reference, atol=2e-3)


@every_pair
def test_a_step_of_nothing_is_a_projection(kink, constraint):
    kink, constraint = KINKS[kink], CONSTRAINTS[constraint]
    theta = np.array([0.9, -0.2, 0.0, 3.0, -2.0])
    expected = theta if constraint is None else constraint.project(theta)
    np.testing.assert_allclose(prox(kink, constraint, theta, 0.0), expected, atol=1e-12)


@every_pair
@pytest.mark.parametrize("seed", range(10))
def test_maps_beyond_doubles_agree_with_doubles_and_with_themselves(kink, constraint, seed):
    """m = prox(z) is also prox(m + 4(z − m)) for a quarter of the sharpness."""
    kink, constraint = KINKS[kink], CONSTRAINTS[constraint]
    rng = np.random.default_rng(seed)
    sharpness = float(rng.uniform(0.5, 4))
    point = Twofold.of(1.5 * rng.normal(size=DIMENSION)) + 1e-18 * rng.normal(
        size=DIMENSION
    )
    moved = twofold_prox(kink, constraint, point, sharpness)
    plain = prox(kink, constraint, point.high, 1 / sharpness)
    np.testing.assert_allclose(moved.high, plain, rtol=0, atol=1e-14)
    again = twofold_prox(kink, constraint, moved + (point - moved) * 4.0, sharpness / 4)
    gap = float(np.linalg.norm((again - moved).high))
    assert gap <= 8 * prox_error(kink, constraint, DIMENSION) * np.linalg.norm(point.high)


@every_pair
@pytest.mark.parametrize("seed", range(5))
def test_derivatives_of_maps_are_those_of_differences(kink, constraint, seed):
    kink, constraint = KINKS[kink], CONSTRAINTS[constraint]
    rng = np.random.default_rng(seed)
    point, shift = 1.5 * rng.normal(size=DIMENSION), 1e-7 * rng.normal(size=DIMENSION)
    bend = prox_jacobian(kink, constraint, point, 2.0)
    if bend is None:
        assert isinstance(kink, Nuclear | GroupL2)
        return
    ends = [prox(kink, constraint, point + sign * shift, 0.5) for sign in (1, -1)]
    np.testing.assert_allclose(bend @ shift, (ends[0] - ends[1]) / 2, atol=1e-14)
    np.testing.assert_allclose(bend, bend.T, atol=1e-12)
