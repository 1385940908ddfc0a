"""A plan of noisy steps: the noise, the methods that apply, and the cost."""

import pytest

from confide.accounting import multiplier_for
from confide.errors import InvalidParameter
from confide.planning import StepsPlan
from confide.privacy import Approx, Neighbours, Pure, Zcdp

BUDGET = Approx(1, "1e-6")


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rate", ["1", "0.01"])
def test_the_planned_steps_cost_the_budget(relation, rate):
    plan = StepsPlan.of(BUDGET, 50, rate, relation)
    found = multiplier_for(BUDGET, 50, rate=rate, neighbours=relation)
    assert plan.multiplier == found
    assert plan.epsilon(50, "best") == pytest.approx(1.0, rel=1e-3)
    for method in plan.methods():
        assert plan.epsilon(50, method) >= plan.epsilon(50, "best") * (1 - 1e-9)
    assert plan.guarantee.budget == BUDGET
    assert plan.guarantee.neighbours is Neighbours.of(relation)


def test_methods_follow_from_rate_relation_and_delta():
    assert StepsPlan.of(BUDGET, 5, "1", "add-remove").methods() == ("gaussian", "renyi")
    sampled = StepsPlan.of(BUDGET, 5, "0.1", "add-remove")
    assert sampled.methods() == ("pld", "renyi")
    replaced = StepsPlan.of(BUDGET, 5, "0.1", "replace-one")
    assert replaced.methods() == ("pld", "renyi", "renyi-general")
    small = StepsPlan.of(Approx(1, "1e-40"), 5, "0.1", "add-remove")
    assert small.methods() == ("pld", "renyi")
    tiny = StepsPlan.of(Approx(1, "1e-297"), 5, "0.1", "add-remove")
    assert tiny.methods() == ("renyi",)


def test_the_grid_holds_the_planned_number():
    grid = StepsPlan.of(BUDGET, 30, "1", "add-remove").grid(7)
    assert grid == sorted(set(grid))
    assert {1, 30, 300} <= set(grid)


@pytest.mark.parametrize("budget", [Pure(1), Zcdp(1)], ids=str)
def test_a_budget_needs_a_delta(budget):
    with pytest.raises(InvalidParameter, match="budget must be an epsilon with a delta"):
        StepsPlan.of(budget, 5, "1", "add-remove")


def test_wrong_rates_are_named():
    with pytest.raises(InvalidParameter, match=r"^rate must be"):
        StepsPlan.of(BUDGET, 5, "some", "add-remove")
