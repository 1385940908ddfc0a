"""Every registered mechanism keeps the contract of mechanisms."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from confide.accounting import PureEvent
from confide.errors import InvalidParameter
from confide.mechanisms import (
    MECHANISMS,
    AdaptiveObjectivePerturbation,
    AdaSsp,
    AdmmObjectivePerturbation,
    DpAdmm,
    FunctionalMechanism,
    MomentumDescent,
    MpAdmm,
    ObjectivePerturbation,
    OutputPerturbation,
    ProximalSgd,
    SsAdmm,
    SufficientStatistics,
)
from confide.mechanisms.objective.minimiser import LINEAR_SHARE
from confide.mechanisms.published import RlsObjective, RlsOut
from confide.mechanisms.published.mpadmm import PUBLISHED_RHO, PublishedMpAdmm
from confide.noise import Entropy, Gaussian, SphericalLaplace
from confide.objectives import Clipped, HuberizedHinge, Logistic, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.selection import (
    ExponentialSelector,
    FrankWolfe,
    HardThresholding,
    SampleAggregateSelector,
    ScreeningSelector,
    SelectThenFit,
)
from confide.testing import check_mechanism

PLAIN = {
    "output": OutputPerturbation(),
    "objective": ObjectivePerturbation(),
    "adaptive": AdaptiveObjectivePerturbation(),
    "select": SelectThenFit(ScreeningSelector(2)),
    "thresholding": HardThresholding(2),
    "frank-wolfe": FrankWolfe(0.1),
}
QUICK = {
    "admm-objective": AdmmObjectivePerturbation(1),
    "dp-admm": DpAdmm(),
    "momentum": MomentumDescent(),
    "mpadmm": MpAdmm(),
    "sgd": ProximalSgd(20, Fraction(1)),
    "ssadmm": SsAdmm(20, Fraction(1)),
}
"""Driven by gradients; batches are tried in the slow set, for their accounting is slow."""
VARIANTS = {
    "admm-objective, three turns": AdmmObjectivePerturbation(3),
    "dp-admm, one party": DpAdmm(1),
    "momentum, clipped": MomentumDescent(30, clip=0.5, averaged=1.0),
    "mpadmm-published": PublishedMpAdmm(),
    "mpadmm-published, short steps": PublishedMpAdmm(
        rho=PUBLISHED_RHO, step=1.0, sensitivity="published"
    ),
    "ssadmm, batches": SsAdmm(),
    "sgd, batches": ProximalSgd(),
    "sgd, large batches, momentum": ProximalSgd(5, Fraction(1, 4), momentum=0.5, clip=0.2),
    "adaptive, bridge": AdaptiveObjectivePerturbation("bridge"),
    "select, votes": SelectThenFit(SampleAggregateSelector(2)),
    "select, votes with Laplace noise": SelectThenFit(
        SampleAggregateSelector(1, 7, "laplace")
    ),
    "select, all supports": SelectThenFit(ExponentialSelector(2)),
    "select, then output perturbation": SelectThenFit(
        ScreeningSelector(2), OutputPerturbation()
    ),
    "select, half for the selection": SelectThenFit(
        ScreeningSelector(1, 0), share=Fraction(1, 2)
    ),
    "adaptive, larger first look": AdaptiveObjectivePerturbation(share=Fraction(1, 2)),
    "objective, separate analysis": ObjectivePerturbation("separate"),
    "objective, published constants": ObjectivePerturbation("kst"),
    "objective, larger precision share": ObjectivePerturbation(
        precision_share=Fraction(1, 10)
    ),
    "output, coarse tolerance": OutputPerturbation(tolerance=1e-6),
    "ssp, larger ridge": SufficientStatistics(ridge_factor=3.0),
    "adassp, larger share": AdaSsp(share=Fraction(1, 3)),
    "functional, published constants": FunctionalMechanism("published"),
}
BY_INSTANCE = {
    "rls-out": RlsOut(400),
    "rls-out, published constants": RlsOut(400, constants="published"),
    "rls-out, own parameters": RlsOut(400, radius=0.5, penalty=0.1),
    "rls-objective": RlsObjective(400),
}
PROOFS = Path(__file__).parents[2] / "docs" / "proofs"


def test_the_registry_did_not_shrink_and_every_entry_is_tried():
    assert len(MECHANISMS) >= 9
    tried = PLAIN | QUICK
    assert set(tried) <= set(MECHANISMS)
    assert all(type(tried[name]) is MECHANISMS[name] for name in tried)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_registered_mechanism_keeps_its_contract(name):
    check_mechanism((PLAIN | QUICK).get(name) or MECHANISMS[name]())


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_configuration_keeps_its_contract(name):
    check_mechanism(VARIANTS[name])


@pytest.mark.parametrize("name", BY_INSTANCE)
def test_mechanisms_that_need_a_number_of_rows_keep_their_contract(name):
    check_mechanism(BY_INSTANCE[name])


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_theorem_is_a_heading_of_a_proof_page(name):
    for theorem in MECHANISMS[name].theorems:
        page, slug = theorem.split("#")
        assert f'<a id="{slug}"></a>' in (PROOFS / page).read_text(encoding="utf-8")


LOSSES_WITH_BOUNDS = {
    "huberized hinge": Objective(HuberizedHinge(), 3, l2=30.0),
    "clipped logistic": Objective(Clipped(Logistic(), 0.7), 3, l2=30.0),
    "clipped squares": Objective(Clipped(Squared(), 1.0), 3, l2=30.0, target_bound=1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("objective", LOSSES_WITH_BOUNDS.values(), ids=LOSSES_WITH_BOUNDS)
@pytest.mark.parametrize("mechanism", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize(
    "budgets", [(Pure(1), Pure(2)), (Approx(1, 1e-6), Approx(2, 1e-6))], ids=str
)
def test_more_budget_is_less_noise_for_other_losses_too(mechanism, objective, budgets):
    lengths = [
        mechanism.calibrate(objective, budget, neighbours).noise.expected_norm(3)
        for neighbours in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE)
        for budget in budgets
    ]
    strict, strict_rich, weak, weak_rich = lengths
    assert strict_rich < 0.95 * strict
    assert weak_rich < 0.95 * weak
    assert weak < strict
    assert weak_rich < strict_rich


@pytest.mark.parametrize(
    ("budget", "neighbours", "copies", "noise"),
    [
        (Pure(2), Neighbours.ADD_REMOVE, 1, SphericalLaplace(0.5)),
        (Pure(2), Neighbours.REPLACE_ONE, 3, SphericalLaplace(3.0)),
        (Zcdp("0.02"), Neighbours.ADD_REMOVE, 1, Gaussian(5.0)),
        (Zcdp("0.02"), Neighbours.REPLACE_ONE, 4, Gaussian(20.0)),
    ],
    ids=str,
)
def test_output_noise_in_closed_form(budget, neighbours, copies, noise):
    """L = A·X = 3 and Λ = 3, so the sensitivity is 1 or 2, but for the tolerance."""
    mechanism = OutputPerturbation(tolerance=1e-12)
    objective = Objective(Logistic(), 4, row_norm=3.0, l2=3.0)
    found = mechanism.calibrate(objective, budget, neighbours, copies=copies)
    assert type(found.noise) is type(noise)
    assert found.noise.scale == pytest.approx(noise.scale, rel=1e-10)
    assert found.solver_noise is None


def test_the_tolerance_of_the_solver_is_paid_for():
    objective = Objective(Logistic(), 4, l2=10.0)
    coarse = OutputPerturbation(tolerance=0.05)
    assert coarse.sensitivity(objective, Neighbours.ADD_REMOVE) == pytest.approx(0.2)
    paid = ObjectivePerturbation(tolerance=1e-7, precision_share=Fraction(1, 4))
    found = paid.calibrate(objective, Pure(2), Neighbours.ADD_REMOVE, copies=3)
    assert found.solver_noise.scale == pytest.approx(3 * 2e-7 * (1 + LINEAR_SHARE) / 0.5)
    assert found.events == (PureEvent(Fraction(3, 2)), PureEvent(Fraction(1, 2)))


def test_published_constants_refuse_what_they_do_not_cover():
    kst = ObjectivePerturbation("kst")
    objective = Objective(Logistic(), 3, l2=30.0)
    with pytest.raises(InvalidParameter, match="coupled"):
        kst.calibrate(objective, Zcdp("0.1"), Neighbours.ADD_REMOVE)
    with pytest.raises(InvalidParameter, match="coupled"):
        kst.calibrate(objective, Pure(1), Neighbours.REPLACE_ONE)


@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=str)
def test_too_little_ridge_is_refused_with_a_ridge_that_works(budget):
    poor = Objective(HuberizedHinge(), 3, l2=1e-3)
    with pytest.raises(InvalidParameter, match="l2 must be greater than") as refusal:
        ObjectivePerturbation().calibrate(poor, budget, Neighbours.ADD_REMOVE)
    advised = float(str(refusal.value).split("try ")[1].rstrip("."))
    ObjectivePerturbation().calibrate(poor.with_l2(advised), budget, Neighbours.ADD_REMOVE)


def test_output_perturbation_refuses_no_ridge():
    with pytest.raises(InvalidParameter, match="l2 must be greater than 0"):
        OutputPerturbation().calibrate(
            Objective(Logistic(), 3, l2=0.0), Pure(1), Neighbours.ADD_REMOVE
        )


def without_fresh_noise(self, calibration, tasks, entropy):
    """Draw the noise of every release from one and the same seed."""
    stuck = Entropy(Entropy.seeded(0).words, secret=entropy.secret)
    return OutputPerturbation.release(self, calibration, tasks, stuck)


def unstamped(self, calibration, tasks, entropy):
    found = OutputPerturbation.release(self, calibration, tasks, entropy)
    return replace(found, guarantee=calibration.guarantee)


def with_data(self, calibration, tasks, entropy):
    tasks = list(tasks)
    found = OutputPerturbation.release(self, calibration, tasks, entropy)
    return replace(found, weights=np.asarray(tasks[0].target))


def changed(**fields):
    """Return a calibrate method whose result differs in some fields."""

    def calibrate(self, objective, budget, neighbours, *, copies=1):
        found = OutputPerturbation.calibrate(
            self, objective, budget, neighbours, copies=copies
        )
        return replace(found, **{name: make(found) for name, make in fields.items()})

    return calibrate


def deaf_to_copies(self, objective, budget, neighbours, *, copies=1):
    found = OutputPerturbation.calibrate(self, objective, budget, neighbours)
    return replace(found, copies=copies)


def blind_to_its_needs(_, objective, budget, neighbours, *, copies=1):
    return OutputPerturbation().calibrate(objective, budget, neighbours, copies=copies)


FAULTS = {
    "one seed for all": ({"release": without_fresh_noise}, "another seed must give"),
    "no stamp": ({"release": unstamped}, "marked as not private"),
    "data in the weights": ({"release": with_data}, "no array except its value"),
    "copies for nothing": ({"calibrate": deaf_to_copies}, "must need more noise"),
    "constant noise": (
        {"calibrate": changed(noise=lambda c: replace(c.noise, scale=1.0))},
        "clearly less noise",
    ),
    "theorem without a page": ({"theorems": ("somewhere",)}, "page.md#slug"),
    "theorem of somebody else": (
        {"calibrate": changed(theorem=lambda _: "other.md#lemma")},
        "must be one of the theorems",
    ),
    "budget spent twice": (
        {"calibrate": changed(events=lambda c: c.events * 2)},
        "must add up",
    ),
    "another budget promised": (
        {"calibrate": changed(budget=lambda _: Pure("0.1"))},
        "must state the requested budget|same calibration",
    ),
    "needs not checked": (
        {
            "needs": (*OutputPerturbation.needs, *ObjectivePerturbation.needs[:1]),
            "calibrate": blind_to_its_needs,
        },
        "every unmet need",
    ),
}


@pytest.mark.parametrize(("changes", "complaint"), FAULTS.values(), ids=FAULTS)
def test_the_contract_notices_every_fault(changes, complaint):
    faulty = type("Faulty", (OutputPerturbation,), {"__slots__": (), **changes})()
    with pytest.raises(AssertionError, match=complaint):
        check_mechanism(faulty)
