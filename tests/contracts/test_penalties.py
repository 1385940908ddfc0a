"""Every registered penalty keeps the contract of penalties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import InvalidParameter
from confide.objectives import (
    L1,
    PENALTIES,
    ElasticNet,
    GroupL2,
    Logistic,
    Mcp,
    Nuclear,
    Objective,
    Ridge,
    Scad,
)
from confide.testing import check_penalty
from support.examples import some

DIMENSION = 6
PLAIN = {
    "ridge": Ridge(0.7),
    "l1": L1(0.4),
    "elastic-net": ElasticNet(0.5, 0.3),
    "group-l2": GroupL2(0.5, ((0, 1, 4), (3,))),
    "scad": Scad(0.5),
    "mcp": Mcp(0.5),
    "nuclear": Nuclear(0.4, (2, 2)),
}
VARIANTS = {
    "ridge by coordinate": Ridge((0.0, 1.0, 2.0, 0.5, 0.0, 0.1)),
    "l1 by coordinate": L1((0.0, 0.3, 1.0, 2.0, 0.1, 0.0)),
    "elastic net that is all ridge": ElasticNet(0.5, 0.0),
    "elastic net that is all l1": ElasticNet(0.5, 1.0),
    "one group of all": GroupL2(0.5, (tuple(range(DIMENSION)),)),
    "strongly bent scad": Scad(0.8, 2.1),
    "strongly bent mcp": Mcp(0.8, 1.1),
    "nuclear norm of all": Nuclear(0.4, (3, 2)),
    "nothing": L1(0.0),
}
CASES = PLAIN | VARIANTS


def test_the_registry_did_not_shrink_and_every_entry_is_tried():
    assert len(PENALTIES) >= 7
    assert set(PLAIN) == set(PENALTIES)
    assert all(type(PLAIN[name]) is PENALTIES[name] for name in PENALTIES)


@pytest.mark.parametrize("name", CASES)
def test_every_penalty_keeps_its_contract(name):
    check_penalty(CASES[name], DIMENSION)


def test_only_scad_and_mcp_are_not_convex():
    assert {name for name, r in PLAIN.items() if not r.convex} == {"scad", "mcp"}


@pytest.mark.parametrize("penalty", [Scad(0.5, 3.7), Mcp(0.5, 3.0)], ids=repr)
def test_the_bend_is_attained(penalty):
    """Somewhere the second derivative is the bend itself: no better bound exists."""
    t, h = np.linspace(0.05, 3.0, 600), 1e-3
    second = [
        sum(c * penalty.value(np.array([x + d])) for c, d in ((1, -h), (-2, 0), (1, h)))
        for x in t
    ]
    assert min(second) / h**2 == pytest.approx(penalty.least_curvature, rel=1e-6)


@settings(max_examples=some(80))
@given(
    theta=st.floats(-8, 8),
    step=st.floats(0.01, 0.95),
    weight=st.floats(0.0, 2.0),
    name=st.sampled_from(["scad", "mcp", "l1"]),
)
def test_separable_proximal_maps_beat_every_point_of_a_grid(theta, step, weight, name):
    penalty = PENALTIES[name](weight)
    found = penalty.prox(np.array([theta]), step)

    def cost(u):
        return step * penalty.value(np.array([u])) + (u - theta) ** 2 / 2

    grid = np.concatenate([np.linspace(-8.5, 8.5, 401), [0.0, theta]])
    assert cost(float(found[0])) <= min(map(cost, grid)) + 1e-12


def test_the_objective_counts_the_ridge_of_a_penalty():
    weights = (1.0, 2.0, 0.5)
    objective = Objective(Logistic(), 3, l2=0.25, penalty=Ridge(weights))
    np.testing.assert_array_equal(objective.ridge, [1.25, 2.25, 0.75])
    assert objective.strong_convexity == 0.75
    assert objective.nonsmooth_part is None
    mixed = Objective(Logistic(), 3, l2=0.25, penalty=ElasticNet(2.0, 0.5))
    assert mixed.strong_convexity == 1.25
    assert mixed.nonsmooth_part == L1(1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: L1(-1.0),
        lambda: L1((1.0, math.inf)),
        lambda: Ridge(math.nan),
        lambda: ElasticNet(1.0, 1.5),
        lambda: GroupL2(1.0, ((0, 1), (1, 2))),
        lambda: GroupL2(1.0, ((),)),
        lambda: Scad(1.0, 2.0),
        lambda: Mcp(1.0, 1.0),
        lambda: Ridge((1.0, 2.0)).ridge(3),
        lambda: Scad(1.0, 3.0).prox(np.ones(2), 2.0),
        lambda: Mcp(1.0, 3.0).prox(np.ones(2), 3.0),
    ],
)
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(InvalidParameter):
        make()


def broken(base, *arguments, **changes):
    return type("Broken", (base,), {"__slots__": (), **changes})(*arguments)


FAULTS = {
    "prox of half the step": (
        broken(L1, 0.4, prox=lambda self, theta, step: L1.prox(self, theta, step / 2)),
        "prox must minimise",
    ),
    "prox off by a thousandth": (
        broken(
            Ridge, 0.7, prox=lambda self, theta, step: 1.001 * Ridge.prox(self, theta, step)
        ),
        "prox must minimise",
    ),
    "ridge counted twice": (
        broken(Ridge, 0.7, ridge=lambda self, p: 2 * Ridge.ridge(self, p)),
        "must add up",
    ),
    "curvature too small": (broken(Mcp, 0.5, 3.0, least_curvature=-0.3), "convex once"),
    "falsely convex": (broken(Mcp, 0.5, 3.0, convex=True), "if and only if convex"),
    "falsely convex and flat": (
        broken(Mcp, 0.5, 3.0, convex=True, least_curvature=0.0),
        "convex",
    ),
    "not 0 at the origin": (
        broken(L1, 0.4, value=lambda self, theta: L1.value(self, theta) + 1),
        "must add up|at the origin",
    ),
}


@pytest.mark.parametrize(("penalty", "complaint"), FAULTS.values(), ids=FAULTS)
def test_the_contract_notices_every_fault(penalty, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_penalty(penalty, DIMENSION)


@pytest.mark.parametrize("groups", [((0, 1), (1,)), ((0,), ()), ((-1, 2),)])
def test_groups_that_are_no_partition_are_refused(groups):
    with pytest.raises(InvalidParameter, match="not empty, and made of column indices"):
        GroupL2(0.5, groups)
