"""A guarantee is a proof plus a check: nothing is PROVED without a page that exists."""

import re
from pathlib import Path

import pytest

from confide.errors import InvalidParameter, UnmetNeeds
from confide.mechanisms import MECHANISMS, OutputPerturbation
from confide.mechanisms.published import Napp, RlsObjective, RlsOut
from confide.objectives import Clipped, Logistic, Objective, Squared
from confide.privacy import (
    COMPOSED,
    DOWNGRADED,
    Approx,
    Guarantee,
    Neighbours,
    Pure,
    Status,
    Zcdp,
)
from confide.privacy.guarantee import ROW_LIMIT
from confide.selection import (
    SELECTORS,
    ExponentialSelector,
    HardThresholding,
    SampleAggregateSelector,
    ScreeningSelector,
    SelectThenFit,
)
from confide.tuning import ChunkedSearch, RandomStopping
from support.intervals import calibrate_with_intervals

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"
REFUSED = {
    *(
        (name, Pure)
        for name in (
            "dp-admm",
            "momentum",
            "mpadmm",
            "mpadmm-published",
            "sgd",
            "ssadmm",
            "adassp",
        )
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
STATUS_LINE = re.compile(
    r"^Status: CLAIMED where .*\(\[why\]\(finite-precision\.md#doubles\)\)\.$", re.MULTILINE
)
PROVED = {
    *("objective", "adaptive", "admm-objective", "frank-wolfe", "select", "output"),
    *("dp-admm", "momentum", "mpadmm", "sgd", "ssadmm", "thresholding"),
    *("ssp", "adassp", "functional"),
}
"""What publishes exact roundings and choices; all else is CLAIMED."""


def slugs(page):
    path = PROOFS / page
    assert path.is_file(), f"no proof page {page}"
    return set(HEADING.findall(path.read_text("utf-8")))


def sections(page):
    """Return the text of every section that has a name, by theorem."""
    parts = re.split(r"^## ", (PROOFS / page).read_text("utf-8"), flags=re.MULTILINE)[1:]
    named = [(HEADING.match(f"## {part}"), part) for part in parts]
    return {f"{page}#{match[1]}": part for match, part in named if match}


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
@pytest.mark.parametrize(
    ("loss", "copies"),
    [
        (Logistic(), 1),
        (Clipped(Squared(), 1.0), 3),
        # A theorem is named for a loss and for copies, not for both of them together.
        pytest.param(Logistic(), 3, marks=pytest.mark.slow),
        pytest.param(Clipped(Squared(), 1.0), 1, marks=pytest.mark.slow),
    ],
    ids=["log-1", "huber-3", "log-3", "huber-1"],
)
def test_every_proved_calibration_names_a_listed_theorem(
    name, budget, relation, loss, copies
):
    mechanism = CONFIGURED.get(name) or MECHANISMS[name]()
    objective = Objective(loss, 5, target_bound=1.0)
    refused = (name, type(budget)) in REFUSED
    if refused or (name in SQUARES and loss == Logistic()):
        with pytest.raises((InvalidParameter, UnmetNeeds)):
            mechanism.calibrate(objective, budget, relation, copies=copies)
        return
    calibration = mechanism.calibrate(objective, budget, relation, copies=copies)
    expected = Status.PROVED if name in PROVED else Status.CLAIMED
    assert calibration.status is calibration.guarantee.status is expected
    assert calibration.guarantee.reason == DOWNGRADED.get(calibration.theorem, "")
    assert calibration.theorem in mechanism.theorems
    assert calibration.guarantee.theorem == calibration.theorem


def test_every_mechanism_that_is_proved_is_there():
    assert set(MECHANISMS) >= PROVED


@pytest.mark.parametrize("theorem", sorted(DOWNGRADED))
def test_a_theorem_that_doubles_fall_short_of_says_so_on_its_page(theorem):
    page = theorem.partition("#")[0]
    assert len(STATUS_LINE.findall(sections(page)[theorem])) == 1


@pytest.mark.parametrize("page", sorted(p.name for p in PROOFS.glob("*.md")))
def test_no_other_section_says_that_it_is_claimed(page):
    text = (PROOFS / page).read_text("utf-8")
    said = {name for name, part in sections(page).items() if "Status: CLAIMED" in part}
    assert said == {name for name in DOWNGRADED if name.startswith(f"{page}#")}
    assert text.count("Status: CLAIMED") == len(said)


@pytest.mark.parametrize("theorem", sorted(DOWNGRADED))
def test_nobody_can_say_proved_by_such_a_theorem(theorem):
    made = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    assert (made.status, made.reason) == (Status.CLAIMED, DOWNGRADED[theorem])
    refuted = Guarantee(None, Neighbours.ADD_REMOVE, Status.REFUTED, theorem)
    assert refuted.status is Status.REFUTED


def test_what_is_put_together_is_worth_its_weakest_part():
    assert all(proves(theorem) for theorem in COMPOSED)
    assert not COMPOSED & set(DOWNGRADED)
    unproved = Napp(moor=False, accept_unproved=True)
    weak = SelectThenFit(ScreeningSelector(2), unproved)
    found = weak.calibrate(Objective(Logistic(), 5), Pure(1), Neighbours.ADD_REMOVE)
    assert found.theorem.removesuffix("-exact") in COMPOSED
    assert found.guarantee.status is Status.CLAIMED
    assert found.guarantee.reason == found.fit.guarantee.reason != ""


@pytest.mark.parametrize(
    ("mechanism", "status"),
    [
        (RlsOut(100), Status.PROVED),
        (RlsOut(100, constants="published"), Status.PROVED),
        (RlsOut(100, oracle=True), Status.REFUTED),
        (RlsObjective(100), Status.PROVED),
    ],
    ids=repr,
)
def test_published_baselines_have_the_status_of_their_last_step(mechanism, status):
    objective = Objective(Squared(), 3, target_bound=1.0)
    found = mechanism.calibrate(objective, Pure(1), Neighbours.REPLACE_ONE)
    assert found.guarantee.status is status


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
    assert plan.guarantee.status is plan.main.guarantee.status is Status.PROVED
    assert {*plan.main.guarantee.assumptions, ROW_LIMIT} <= {*plan.guarantee.assumptions}


def test_intervals_are_worth_no_more_than_their_coefficients(monkeypatch):
    doubted = {"output-perturbation.md#output-pure-exact": "for a reason"}
    monkeypatch.setattr("confide.privacy.guarantee.DOWNGRADED", doubted)
    objective = Objective(Logistic(), 3)
    relation = Neighbours.REPLACE_ONE
    plan = calibrate_with_intervals(OutputPerturbation(), objective, Pure(1), relation)
    assert plan.guarantee.status is Status.CLAIMED
    assert plan.guarantee.reason == "for a reason"


@pytest.mark.parametrize("method", [ChunkedSearch, RandomStopping])
def test_a_search_names_a_theorem_that_is_proved(method):
    assert proves(method.theorem)
    assert method.theorem not in DOWNGRADED


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


@pytest.mark.parametrize("page", sorted(PROOFS.parent.rglob("*.md")), ids=lambda p: p.stem)
def test_every_check_that_a_page_names_is_there(page):
    named = re.findall(r"\btests/[\w/]+\.py\b", page.read_text("utf-8"))
    assert not [name for name in named if not (PROOFS.parents[1] / name).exists()]
