"""Coefficients and moments together cost what their events say, and that is the budget."""

from dataclasses import replace

import numpy as np
import pytest

from confide.accounting import as_pure, as_zcdp, compose, loss_remainder
from confide.accounting.loss_remainder import gaussian_left
from confide.mechanisms import ObjectivePerturbation, OutputPerturbation
from confide.mechanisms.intervals import moments
from confide.privacy import (
    Approx,
    Neighbours,
    Pure,
    Zcdp,
    gaussian_delta,
    gaussian_mu,
    zcdp_to_approx,
)
from support.cases import LOSSES, add_remove_pairs, objective, plane_pairs, replace_pairs
from support.intervals import calibrate_with_intervals
from support.whole import share_of_claim

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGETS = (Pure(1), Approx(1, 1e-3), Zcdp(0.1))
every_loss = pytest.mark.parametrize("name", sorted(LOSSES))
every_budget = pytest.mark.parametrize("budget", BUDGETS, ids=repr)
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)


def plan_for(
    name, budget, relation, variant="tight", mechanism=None, of="penalised", **more
):
    rows = 1000 if relation is REPLACE else None
    return calibrate_with_intervals(
        mechanism or ObjectivePerturbation(),
        objective(name, **more),
        budget,
        relation,
        variant=variant,
        rows=rows,
        of=of,
    )


def pairs_of(name, relation):
    """Return pairs that differ in a row with something in it."""
    pairs = (add_remove_pairs if relation is ADD else replace_pairs)(name)
    return [pair for pair in pairs if "(0.0," not in pair[0]]


@pytest.mark.slow
@every_loss
@every_relation
@pytest.mark.parametrize(("budget", "least"), [(Pure(1), 0.5), (Zcdp(0.1), 0.1)], ids=str)
def test_the_whole_release_costs_no_more_than_its_events(name, relation, budget, least):
    plan = plan_for(name, budget, relation)
    assert share_of_claim(plan, pairs_of(name, relation)) > least


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic", "huberized-hinge", "huber"])
@every_relation
def test_the_whole_profile_is_no_larger_than_claimed(name, relation):
    plan = plan_for(name, Approx(1, 1e-3), relation)
    assert share_of_claim(plan, pairs_of(name, relation)) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("logistic", "published"),
        ("huberized-hinge", "published"),
        ("huber", "published"),
        ("logistic", "model-based"),
    ],
)
@every_budget
def test_other_variants_cost_no_more_than_their_events(name, budget, variant):
    plan = plan_for(name, budget, REPLACE, variant)
    assert share_of_claim(plan, pairs_of(name, REPLACE)) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic", "huberized-hinge", "huber"])
@every_budget
@every_relation
def test_noise_on_the_output_costs_no_more_than_its_events(name, budget, relation):
    plan = plan_for(name, budget, relation, "tight", OutputPerturbation(), l2=2.0)
    assert share_of_claim(plan, pairs_of(name, relation)) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic", "huberized-hinge"])
@pytest.mark.parametrize("budget", [Pure(1), Zcdp(0.1)], ids=repr)
def test_the_whole_release_holds_in_the_plane(name, budget):
    plan = plan_for(name, budget, REPLACE, dimension=2)
    pairs = [("plane", a, b) for a, b in plane_pairs(name)]
    assert share_of_claim(plan, pairs) > 0.1


@pytest.mark.parametrize(
    ("budget", "relation", "least"),
    [(Pure(1), ADD, 0.99), (Zcdp(0.1), ADD, 0.85), (Zcdp(0.1), REPLACE, 0.9)],
    ids=str,
)
def test_the_claim_for_a_hinge_is_nearly_attained(budget, relation, least):
    name = "huberized-hinge"
    plan = plan_for(name, budget, relation, "tight", OutputPerturbation(), l2=2.0)
    assert share_of_claim(plan, pairs_of(name, relation)) > least


@pytest.mark.parametrize("name", ["logistic", "huberized-hinge", "huber"])
@every_budget
@every_relation
@pytest.mark.parametrize("copies", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_events_cost_no_more_than_the_budget(name, budget, relation, copies):
    if copies > 1 and isinstance(budget, Approx) and name != "logistic":
        pytest.skip("slow, and no other code than for the logistic loss")
    plan = calibrate_with_intervals(
        ObjectivePerturbation(), objective(name), budget, relation, copies=copies
    )
    check_events(plan)


@every_budget
@pytest.mark.parametrize(
    "mechanism", [ObjectivePerturbation(), OutputPerturbation()], ids=lambda m: m.name
)
def test_published_events_cost_no_more_than_the_budget(budget, mechanism):
    plan = plan_for("logistic", budget, REPLACE, "published", mechanism)
    check_events(plan)


def check_events(plan):
    budget = plan.budget
    if isinstance(budget, Pure):
        assert as_pure(plan.events).epsilon == budget.epsilon
    elif isinstance(budget, Zcdp):
        assert float(as_zcdp(plan.events).rho) <= float(budget.rho) * (1 + 1e-9)
    else:
        total = compose(plan.events, budget.delta)
        assert float(total.epsilon) <= float(budget.epsilon) * (1 + 1e-6)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0])
def test_the_published_conversion_to_zcdp_is_that_of_bun_and_steinke(epsilon, delta):
    plan = plan_for("logistic", Approx(epsilon, delta), REPLACE, "published")
    rho = float(as_zcdp(plan.events).rho)
    claimed = rho + 2 * np.sqrt(rho * np.log(1 / delta))
    assert claimed <= epsilon * (1 + 1e-11)
    assert claimed == pytest.approx(epsilon, rel=1e-9)
    if epsilon >= 1e-3:
        assert float(zcdp_to_approx(as_zcdp(plan.events), delta).epsilon) <= epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 0.1), (1e-6, 1e-3), (1e-3, 1e-3)])
@every_relation
def test_a_large_delta_still_leaves_something_to_both(epsilon, delta, relation):
    plan = plan_for("logistic", Approx(epsilon, delta), relation)
    check_events(plan)
    assert all(0 < part.scale < np.inf for part in plan.moments.parts)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (2.0, 1e-3)])
def test_beside_a_gaussian_profile_the_rest_is_what_squares_leave(mu, epsilon, delta):
    whole = gaussian_mu(epsilon, delta)
    left = gaussian_left(lambda e: gaussian_delta(e, mu), epsilon, delta, 1.5 * whole)
    exact = np.sqrt(max(0.0, whole**2 - mu**2))
    assert left <= exact
    if mu < whole / 2:
        assert left > 0.85 * exact


@pytest.mark.parametrize("share", [0.7, 0.8, 0.9])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-10), (3.0, 1e-3)])
def test_chords_are_above_the_composed_profile_and_near_it(share, epsilon, delta):
    """Two shifts, each a share of the whole: together they are one, in closed form."""
    whole = gaussian_mu(epsilon, delta)
    part, beside = whole * np.sqrt(share), whole * np.sqrt(1 - share)
    grid = np.linspace(max(0.0, epsilon - 12 * beside), epsilon + 12 * beside, 97)
    heights = np.array([gaussian_delta(float(point), part) for point in grid])
    bound = loss_remainder._total(grid, heights, epsilon, beside)
    exact = gaussian_delta(epsilon, float(np.hypot(part, beside)) * (1 - 1e-15))
    assert exact <= bound
    assert bound <= 1.2 * exact


def test_chords_that_sink_below_the_profile_are_seen(monkeypatch):
    honest = loss_remainder._below_steps
    monkeypatch.setattr(loss_remainder, "_below_steps", lambda *a: 1.2 * honest(*a))
    whole = gaussian_mu(1.0, 1e-5)
    mu = 0.9 * whole
    left = gaussian_left(lambda e: gaussian_delta(e, mu), 1.0, 1e-5, 0.7 * whole)
    assert left > np.sqrt(whole**2 - mu**2)


@every_budget
def test_forgetting_the_moments_in_the_events_is_seen(budget):
    name = "huberized-hinge"
    plan = plan_for(name, budget, ADD, "tight", OutputPerturbation(), l2=2.0)
    pairs = pairs_of(name, ADD)
    share_of_claim(plan, pairs)
    forgetful = replace(plan, events=plan.main.events)
    with pytest.raises(AssertionError):
        share_of_claim(forgetful, pairs)


@every_budget
def test_dropping_the_weight_from_the_sensitivity_is_seen(monkeypatch, budget):
    """With a heavy scatter the whole release then costs more than it says."""
    name = "huberized-hinge"
    plan = plan_for(name, budget, ADD, "tight", OutputPerturbation(), l2=2.0)
    heavy = replace(plan, moments=replace(plan.moments, ratio=10.0))
    pairs = pairs_of(name, ADD)
    share_of_claim(heavy, pairs)
    honest = moments.largest_contribution
    monkeypatch.setattr(
        moments, "largest_contribution", lambda o, w, length: honest(o, 0.0, length)
    )
    with pytest.raises(AssertionError):
        share_of_claim(heavy, pairs)


@every_budget
def test_a_third_of_the_noise_on_the_moments_is_seen(budget):
    name = "huberized-hinge"
    plan = plan_for(name, budget, ADD, "tight", OutputPerturbation(), l2=2.0)
    quiet = tuple(replace(part, scale=part.scale / 3) for part in plan.moments.parts)
    loud = replace(plan, moments=replace(plan.moments, parts=quiet))
    with pytest.raises(AssertionError):
        share_of_claim(loud, pairs_of(name, ADD))
