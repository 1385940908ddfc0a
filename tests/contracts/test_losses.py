"""Every registered loss keeps the contract of losses, and its bounds are attained."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import InvalidParameter, MissingPublicBound
from confide.objectives import (
    LOSSES,
    Clipped,
    Hinge,
    HuberizedHinge,
    Logistic,
    Poisson,
    PublicBounds,
    SmoothedHinge,
    Squared,
    curvature_bound,
)
from confide.testing import check_loss
from support.examples import some

ANYWHERE = PublicBounds(row_norm=2.0, target_bound=3.0)
ON_A_BALL = PublicBounds(row_norm=1.5, coef_norm=1.0, target_bound=3.0)

PLAIN = {
    "logistic": (Logistic(), ANYWHERE),
    "huberized-hinge": (HuberizedHinge(0.3), ANYWHERE),
    "smoothed-hinge": (SmoothedHinge(), ANYWHERE),
    "hinge": (Hinge(), ANYWHERE),
    "squared": (Squared(), ON_A_BALL),
    "poisson": (Poisson(), ON_A_BALL),
}
VARIANTS = {
    "logistic on a ball": (Logistic(), ON_A_BALL),
    "narrow huberized hinge": (HuberizedHinge(0.01), ANYWHERE),
    "wide huberized hinge": (HuberizedHinge(4.0), ANYWHERE),
    "logistic cut below its peak": (Clipped(Logistic(), 0.3), ANYWHERE),
    "logistic cut above its peak": (Clipped(Logistic(), 0.8), ANYWHERE),
    "logistic cut beyond its reach": (Clipped(Logistic(), 5.0), ANYWHERE),
    "huberized hinge cut": (Clipped(HuberizedHinge(), 0.4), ANYWHERE),
    "smoothed hinge cut": (Clipped(SmoothedHinge(), 0.4), ANYWHERE),
    "hinge cut": (Clipped(Hinge(), 0.4), ANYWHERE),
    "squared cut": (Clipped(Squared(), 1.5), ANYWHERE),
    "squared cut on a ball": (Clipped(Squared(), 1.5), ON_A_BALL),
    "poisson cut": (Clipped(Poisson(), 2.5), ANYWHERE),
    "poisson cut on a ball": (Clipped(Poisson(), 2.5), ON_A_BALL),
    "squared cut twice": (Clipped(Clipped(Squared(), 2.0), 1.0), ANYWHERE),
}
CASES = PLAIN | VARIANTS
every_case = pytest.mark.parametrize("name", CASES)


def test_the_registry_did_not_shrink_and_every_entry_is_tried():
    assert len(LOSSES) >= 6
    assert set(PLAIN) == set(LOSSES)
    assert all(type(PLAIN[name][0]) is LOSSES[name] for name in LOSSES)


@every_case
def test_every_loss_keeps_its_contract(name):
    check_loss(*CASES[name])


@pytest.mark.parametrize("name", [n for n in CASES if n != "logistic on a ball"])
def test_the_slope_bound_is_nearly_attained(name):
    loss, public = CASES[name]
    reach = min(public.margin_bound, 40.0)
    margins = np.linspace(-reach, reach, 4001)
    labels = {
        "signs": (-1.0, 1.0),
        "numbers": (-public.target_bound, public.target_bound),
        "counts": (0.0, public.target_bound),
    }[loss.targets]
    steepest = max(
        np.abs(loss.slope(margins, np.full_like(margins, y))).max() for y in labels
    )
    assert 0.999 <= steepest / loss.slope_bound(public) <= 1 + 1e-12


@pytest.mark.parametrize("name", [n for n, (loss, _) in CASES.items() if loss.smooth])
def test_the_curvature_bound_is_nearly_attained(name):
    loss, public = CASES[name]
    reach = min(public.margin_bound, 40.0)
    margins = np.linspace(-reach, reach, 40_001)
    labels = (-1.0, 1.0) if loss.targets == "signs" else (0.0, public.target_bound)
    most = max(loss.curvature(margins, np.full_like(margins, y)).max() for y in labels)
    assert 0.99 <= most / curvature_bound(loss, public) <= 1 + 1e-9


@pytest.mark.parametrize("loss", [Squared(), Poisson()], ids=repr)
def test_losses_that_change_the_sign_of_their_slope_say_so(loss):
    margins = np.array([-1.0, 2.0])
    low, high = loss.slope(margins, np.ones(2))
    assert low < 0 < high
    assert not loss.monotone
    assert not Clipped(loss, 0.5).monotone


def test_the_logistic_coupling_is_exact():
    eta = np.linspace(-30, 30, 601)
    for y in (-1.0, 1.0):
        slope = Logistic().slope(eta, np.full_like(eta, y))
        kappa = Logistic().max_curvature(np.abs(slope), ANYWHERE)
        exact = 1 / (4 * np.cosh(eta / 2) ** 2)
        np.testing.assert_allclose(kappa, exact, rtol=1e-12, atol=4e-16)


@settings(max_examples=some(60))
@given(
    bound=st.floats(0.05, 0.95),
    eta=st.floats(-50, 50),
    y=st.sampled_from([-1.0, 1.0]),
)
def test_clipping_continues_a_loss_by_its_tangents(bound, eta, y):
    """The clipped loss is the largest convex function below it with that slope bound."""
    clipped, margin, label = Clipped(Logistic(), bound), np.array([eta]), np.array([y])
    touch = -y * math.log(bound / (1 - bound))
    if y * eta >= y * touch:
        expected = float(Logistic().value(margin, label)[0])
    else:
        start = float(Logistic().value(np.array([touch]), label)[0])
        expected = start + bound * abs(eta - touch)
    assert clipped.value(margin, label)[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", [Squared(), Poisson()], ids=repr)
@pytest.mark.parametrize(
    "public",
    [PublicBounds(1.0), PublicBounds(1.0, 1.0), PublicBounds(1.0, target_bound=1.0)],
    ids=repr,
)
def test_unbounded_losses_ask_for_the_bounds_they_miss(loss, public):
    with pytest.raises(MissingPublicBound):
        loss.slope_bound(public)


@pytest.mark.parametrize("bound", [0.0, -1.0, math.inf, math.nan])
def test_a_slope_bound_must_be_positive_and_finite(bound):
    with pytest.raises(InvalidParameter, match="slope_bound"):
        Clipped(Logistic(), bound)
    if bound != math.inf:
        with pytest.raises(InvalidParameter, match="width"):
            HuberizedHinge(bound)


class Broken(Logistic):
    """A logistic loss with one thing wrong, chosen by the test."""

    __slots__ = ()


def broken(**changes):
    return type("Broken", (Broken,), {"__slots__": (), **changes})()


@dataclass(frozen=True)
class Fault:
    changes: dict
    complaint: str


FAULTS = {
    "slope bound too small": Fault(
        {"slope_bound": lambda _, __: 0.9}, "must not exceed slope_bound"
    ),
    "slope of another function": Fault(
        {"slope": lambda self, eta, y: 0.99 * Logistic.slope(self, eta, y)},
        "derivative of the value",
    ),
    "curvature of another function": Fault(
        {"curvature": lambda self, eta, y: 0.95 * Logistic.curvature(self, eta, y)},
        "derivative of the slope",
    ),
    "kappa too small": Fault(
        {"max_curvature": lambda _, slope, __: 0.9 * slope * (1 - slope)},
        "Lipschitz constant",
    ),
    "kappa wrong away from its peak": Fault(
        {"max_curvature": lambda _, slope, __: 4 * (slope * (1 - slope)) ** 2},
        "must not exceed max_curvature",
    ),
    "kappa not concave": Fault(
        {"max_curvature": lambda _, slope, __: slope * (1 - slope) + 0.05 * (slope < 0.1)},
        "concave",
    ),
    "peak in the wrong place": Fault(
        {"slope_of_peak_curvature": 0.2}, "Lipschitz constant"
    ),
    "not convex": Fault({"value": lambda _, eta, y: np.cos(eta) * y}, "convex"),
    "inverse of another slope": Fault(
        {
            "inverse_slope": lambda self, slope, y: (
                1.01 * Logistic.inverse_slope(self, slope, y)
            )
        },
        "inverse_slope must return",
    ),
    "precision lost": Fault(
        {"slope": lambda self, eta, y: Logistic.slope(self, eta, y).astype(np.float64)},
        "keep the precision",
    ),
    "curvature from the slope of another function": Fault(
        {"curvature_from_slope": lambda _, slope, __, ___: np.abs(slope)},
        "curvature_from_slope must return",
    ),
    "steeper than it says": Fault(
        {"steepest_slope": lambda _, __, margin: 0.4}, "steepest_slope must bound"
    ),
    "falsely quadratic": Fault({"quadratic": True}, "constant curvature"),
    "another polynomial": Fault({"polynomial": (0.3, 0.5)}, "first number"),
    "another linear term": Fault({"polynomial": (0.25, 0.4)}, "second number"),
    "targets in the middle": Fault(
        {"extreme_targets": lambda _, __: np.zeros(2)}, "extreme targets"
    ),
    "falsely smooth": Fault({"smooth": False}, "infinite curvature bound"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_contract_notices_every_fault(fault):
    with pytest.raises(AssertionError, match=fault.complaint):
        check_loss(broken(**fault.changes), ANYWHERE)


def test_the_contract_notices_a_false_claim_to_be_canonical():
    pretender = type("Pretender", (HuberizedHinge,), {"__slots__": (), "canonical": True})()
    with pytest.raises(AssertionError, match="variance of its slope"):
        check_loss(pretender, ANYWHERE)


def test_the_contract_notices_a_false_claim_to_be_monotone():
    pretender = type("Pretender", (Squared,), {"__slots__": (), "monotone": True})()
    with pytest.raises(AssertionError, match="not change its sign"):
        check_loss(pretender, ON_A_BALL)
