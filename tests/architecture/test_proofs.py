"""A guarantee is a proof plus a check: nothing is PROVED without a page that exists."""

import re
from pathlib import Path

import pytest

from confide.errors import InvalidParameter, UnmetNeeds
from confide.mechanisms import MECHANISMS, calibrate_with_intervals
from confide.objectives import Clipped, Logistic, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure, Status, Zcdp
from confide.selection import (
    SELECTORS,
    ChunkedSearch,
    ExponentialSelector,
    HardThresholding,
    RandomStopping,
    SampleAggregateSelector,
    ScreeningSelector,
    SelectThenFit,
)

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"
REFUSED = {
    *(
        (name, Pure)
        for name in ("dp-admm", "momentum", "mpadmm", "sgd", "ssadmm", "adassp")
    ),
    *((name, Zcdp) for name in ("sgd", "ssadmm", "functional")),
    ("functional", Approx),
}
"""Gaussian noise has no pure guarantee, zCDP does not reward random batches, and the
functional mechanism has Laplace noise."""
SQUARES = {"ssp", "adassp"}
CONFIGURED = {
    "select": SelectThenFit(ScreeningSelector(2)),
    "thresholding": HardThresholding(2),
}
WITH_INTERVALS = {"objective", "output"}
WITHOUT_INTERVALS = sorted(set(MECHANISMS) - WITH_INTERVALS)
SELECTED_BY = {
    "screening": ScreeningSelector(2),
    "sample-aggregate": SampleAggregateSelector(2),
    "exponential": ExponentialSelector(2),
}
HEADING = re.compile(r"^## ([a-z0-9-]+) — ", re.MULTILINE)


def slugs(page):
    path = PROOFS / page
    assert path.is_file(), f"no proof page {page}"
    return set(HEADING.findall(path.read_text("utf-8")))


def proves(theorem):
    page, _, slug = theorem.partition("#")
    return slug in slugs(page)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_theorem_a_mechanism_names_has_a_proof(name):
    assert MECHANISMS[name].theorems
    for theorem in MECHANISMS[name].theorems:
        assert proves(theorem), f"{name} names {theorem}, which docs/proofs does not prove"


@pytest.mark.parametrize("name", sorted(MECHANISMS))
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-5), Zcdp(0.1)], ids=repr)
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize(
    "loss", [Logistic(), Clipped(Squared(), 1.0)], ids=["log", "huber"]
)
def test_every_proved_calibration_names_a_listed_theorem(
    name, budget, relation, copies, loss
):
    mechanism = CONFIGURED.get(name) or MECHANISMS[name]()
    objective = Objective(loss, 5, target_bound=1.0)
    refused = (name, type(budget)) in REFUSED
    if refused or (name in SQUARES and loss == Logistic()):
        with pytest.raises((InvalidParameter, UnmetNeeds)):
            mechanism.calibrate(objective, budget, relation, copies=copies)
        return
    calibration = mechanism.calibrate(objective, budget, relation, copies=copies)
    assert calibration.status is Status.PROVED
    assert calibration.theorem in mechanism.theorems
    assert calibration.guarantee.theorem == calibration.theorem


@pytest.mark.parametrize("name", sorted(WITH_INTERVALS))
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-5), Zcdp(0.1)], ids=repr)
@pytest.mark.parametrize("variant", ["tight", "model-based", "published"])
def test_intervals_name_theorems_that_are_proved(name, budget, variant):
    plan = calibrate_with_intervals(
        MECHANISMS[name](),
        Objective(Logistic(), 3),
        budget,
        Neighbours.REPLACE_ONE,
        variant=variant,
    )
    for theorem in (plan.guarantee.theorem, plan.moments.theorem, plan.main.theorem):
        assert proves(theorem), theorem


@pytest.mark.parametrize("method", [ChunkedSearch, RandomStopping])
def test_a_search_names_a_theorem_that_is_proved(method):
    assert proves(method.theorem)


@pytest.mark.parametrize("name", WITHOUT_INTERVALS)
def test_intervals_are_refused_where_nothing_proves_them(name):
    mechanism = CONFIGURED.get(name) or MECHANISMS[name]()
    with pytest.raises(InvalidParameter, match="intervals"):
        calibrate_with_intervals(
            mechanism, Objective(Logistic(), 3), Pure(1), Neighbours.REPLACE_ONE
        )


def test_every_selector_is_tried():
    assert set(SELECTED_BY) == set(SELECTORS)


@pytest.mark.parametrize("name", sorted(SELECTORS))
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-5), Zcdp(0.1)], ids=repr)
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_every_selector_names_a_theorem_that_is_proved(name, budget, relation):
    selector = SELECTED_BY[name]
    assert all(proves(theorem) for theorem in selector.theorems)
    objective = Objective(Logistic(), 5, target_bound=1.0)
    found = selector.calibrate(objective, budget, relation, copies=2)
    assert found.theorem in selector.theorems
    assert found.guarantee.status is Status.PROVED


def test_a_missing_proof_would_be_noticed():
    assert not proves("objective-perturbation.md#no-such-theorem")


@pytest.mark.parametrize("page", sorted(p.name for p in PROOFS.glob("*.md")))
def test_every_theorem_says_how_it_is_checked(page):
    text = (PROOFS / page).read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for section in sections:
        if "**Proof" in section:
            assert "Checked by:" in section, section.splitlines()[0]
