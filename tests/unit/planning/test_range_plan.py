"""A plan of ranges: the noise of a purchase, and better ranges for more rows and budget."""

import pytest

from confide import Approx, Boolean, Number, Pure, Schema, Target
from confide.errors import InvalidParameter
from confide.mechanisms.ranges.mechanism import range_noise
from confide.planning import plan_ranges
from confide.privacy import Neighbours

WIDE = Schema(
    (
        Number("income", 0, 10_000_000, typical=(20_000, 90_000)),
        Number("age", 0, 1000, range="public"),
        Boolean("smoker"),
    ),
    Target("dose", lower=0, upper=100),
    "clinic",
)


@pytest.mark.parametrize("budget", [Pure("0.1"), Approx("0.1", "1e-6")], ids=str)
def test_noise_and_promise_are_those_of_a_purchase(budget):
    plan = plan_ranges(WIDE, 9000, budget, draws=1)
    noise, _ = range_noise(budget, 2, Neighbours.ADD_REMOVE)
    assert (plan.noise_kind, plan.noise) == (noise.kind, noise.deviation(1))
    assert plan.guarantee.budget == budget
    assert plan.guarantee.neighbours is Neighbours.ADD_REMOVE
    assert [line.name for line in plan.lines] == ["income", "dose"]


def test_more_rows_find_ranges():
    few, many = (
        plan_ranges(WIDE, rows, Approx("0.1", "1e-6"), draws=20).lines[0]
        for rows in (500, 100_000)
    )
    assert many.found > few.found
    assert many.found >= 0.9
    assert many.length < 2
    assert many.declared > 50
    assert many.cut < 0.02


def test_without_numbers_there_is_nothing_to_plan():
    none = Schema((Boolean("a"),), Target("y", labels=(0, 1)))
    with pytest.raises(InvalidParameter, match="a numeric column"):
        plan_ranges(none, 100, Pure(1))
