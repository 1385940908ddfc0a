"""Every registered constraint keeps the contract of constraints."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from confide.errors import InvalidParameter
from confide.objectives import CONSTRAINTS, Box, L1Ball, L2Ball, Nonnegative
from confide.testing import check_constraint

PLAIN = {
    "l2-ball": L2Ball(1.5),
    "l1-ball": L1Ball(1.5),
    "box": Box(-0.5, 2.0),
    "nonnegative": Nonnegative(),
}
VARIANTS = {
    "tiny l2 ball": L2Ball(1e-3),
    "tiny l1 ball": L1Ball(1e-3),
    "large l1 ball": L1Ball(40.0),
    "box of nonnegative numbers": Box(0.0, 1.0),
    "box of negative numbers": Box(-3.0, 0.0),
}
CASES = PLAIN | VARIANTS


def test_the_registry_did_not_shrink_and_every_entry_is_tried():
    assert len(CONSTRAINTS) >= 4
    assert set(PLAIN) == set(CONSTRAINTS)
    assert all(type(PLAIN[name]) is CONSTRAINTS[name] for name in CONSTRAINTS)


@pytest.mark.parametrize("dimension", [1, 2, 7])
@pytest.mark.parametrize("name", CASES)
def test_every_constraint_keeps_its_contract(name, dimension):
    check_constraint(CASES[name], dimension)


@settings(max_examples=25)
@given(theta=st.lists(st.floats(-5, 5), min_size=1, max_size=4), size=st.floats(0.1, 4))
def test_the_l1_projection_is_the_minimiser_that_scipy_finds(theta, size):
    """Split into positive and negative parts, the problem has linear constraints only."""
    theta, p = np.array(theta), len(theta)
    start = np.full(2 * p, size / (4 * p))
    reference = minimize(
        lambda v: ((v[:p] - v[p:] - theta) ** 2).sum() / 2 + 1e-9 * v.sum(),
        start,
        jac=lambda v: np.concatenate([g := v[:p] - v[p:] - theta, -g]) + 1e-9,
        bounds=[(0, None)] * (2 * p),
        constraints={"type": "ineq", "fun": lambda v: size - v.sum()},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 400},
    ).x
    reference = reference[:p] - reference[p:]
    np.testing.assert_allclose(L1Ball(size).project(theta), reference, atol=2e-5)


def test_the_corner_of_a_box_is_its_farthest_point():
    assert Box(-1.0, 3.0).radius(4) == 6.0
    assert Box(-5.0, 3.0).radius(4) == 10.0
    assert Nonnegative().radius(4) == math.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda: L2Ball(0.0),
        lambda: L2Ball(math.inf),
        lambda: L1Ball(-1.0),
        lambda: L1Ball(math.nan),
        lambda: Box(0.5, 1.0),
        lambda: Box(-1.0, -0.5),
        lambda: Box(math.nan, 1.0),
    ],
)
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(InvalidParameter):
        make()


def broken(base, *arguments, **changes):
    return type("Broken", (base,), {"__slots__": (), **changes})(*arguments)


def rescale(self, theta):
    """Bring a point into the l1 ball, but not to the nearest point."""
    size = np.abs(theta).sum()
    return theta if size <= self.size else theta * (self.size / size)


FAULTS = {
    "not the nearest": (broken(L1Ball, 1.5, project=rescale), "nearest point"),
    "radius too small": (broken(L2Ball, 1.5, radius=lambda *_: 1.4), "norm above"),
    "radius too large": (broken(L2Ball, 1.5, radius=lambda *_: 1.6), "must be attained"),
    "falsely bounded": (broken(Nonnegative, radius=lambda *_: 9.0), "norm above"),
    "halfway": (
        broken(L2Ball, 1.5, project=lambda self, t: (t + L2Ball.project(self, t)) / 2),
        "projecting twice",
    ),
    "without the origin": (
        broken(Box, -1.0, 1.0, project=lambda _, t: np.clip(t, 0.5, 1.0)),
        "contain the origin",
    ),
}


@pytest.mark.parametrize(("constraint", "complaint"), FAULTS.values(), ids=FAULTS)
def test_the_contract_notices_every_fault(constraint, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_constraint(constraint, 3)
