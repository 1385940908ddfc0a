"""A description: one record moves counts by no more than is paid for, and attains it."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import Approx, Boolean, Category, Date, Number, Pure, Schema, Target, Zcdp
from confide.accounting import GaussianEvent, PureEvent
from confide.description import budget as rule
from confide.description.counts import TableRows
from confide.description.release import plan_description
from confide.mechanisms.base import gaussian_shift_of
from confide.privacy import Neighbours

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
SCHEMA = Schema(
    (
        Number("age", 17, 90),
        Number("income", transform="signed-log"),
        Number("score", -1.0, 1.0, range="public"),
        Category("region", ("north", "south")),
        Boolean("smoker"),
        Date("joined", "2000-01-01", "2020-12-31"),
    ),
    Target("dose", lower=0, upper=50, missing="drop"),
    rows=40,
)
PAIRS = [("age", "region"), ("region", "smoker")]
BUDGETS = [Pure(1), Approx(1, "1e-6"), Zcdp("0.1")]
NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))
RECORDS = st.fixed_dictionaries(
    {
        "age": NUMBERS,
        "income": NUMBERS,
        "score": NUMBERS,
        "region": st.sampled_from(["north", "south", "west", None]),
        "smoker": st.sampled_from(["yes", "no", None]),
        "joined": st.sampled_from(["1999-01-01", "2005-05-05", "2030-01-01", None]),
        "dose": NUMBERS,
    }
)
FULL = {
    "age": 40.0,
    "income": 3000.0,
    "score": 0.5,
    "region": "north",
    "smoker": "yes",
    "joined": "2005-05-05",
    "dose": 20.0,
}
OTHER = {
    "age": 70.0,
    "income": -9.0,
    "score": -0.5,
    "region": "south",
    "smoker": "no",
    "joined": "2019-05-05",
    "dose": 3.0,
}
BASE = [OTHER, FULL, {**FULL, "age": None}]


def frame(records):
    whole = pd.DataFrame(records, columns=list(FULL))
    numbers = dict.fromkeys(("age", "income", "score", "dose"), float)
    return whole.astype({**numbers, "region": object, "smoker": object, "joined": object})


def plan_for(budget, relation, pairs=PAIRS, ranges="private"):
    return plan_description(SCHEMA, budget, pairs, ranges, relation)


def moves(plan, first, second):
    """Return how far counts of looks and of tables move, each by the scale of its noise.

    Cells of the second look are whole cells and parts: every record is in one of each. The
    bins are those of the declared limits; any others have the same cells per record.
    """
    schema = SCHEMA.with_ranges({"age": (17.0, 80.0), "income": (-5.0, 10.0)})
    tables = plan.tables(schema, None)
    counted = [
        TableRows.of(frame(one), SCHEMA).count(plan.queries, tables)
        for one in (first, second)
    ]
    looks = []
    for before, after in zip(counted[0].grids, counted[1].grids, strict=True):
        looks += [(before - after).sum(axis=1), (before - after).ravel()]
    parts = [
        before - after
        for before, after in zip(counted[0].tables, counted[1].tables, strict=True)
    ]
    scales = plan.price.ranges.scale, plan.price.tables.scale
    return np.concatenate(
        [np.concatenate(looks) / scales[0], np.concatenate(parts) / scales[1]]
    )


def cost(plan, move):
    """Return the loss of a pair, as pure privacy or Gaussian privacy measures it."""
    if isinstance(plan.price.event, PureEvent):
        return float(np.abs(move).sum())
    return float(np.sqrt((move**2).sum()))


def paid(plan, budget):
    assert isinstance(plan.price.event, PureEvent | GaussianEvent)
    return budget.epsilon if isinstance(budget, Pure) else gaussian_shift_of(budget)


def neighbours(record, relation, other=OTHER):
    first = [*BASE, record]
    return first, (BASE if relation is ADD else [*BASE, other])


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_witness_attains_what_is_paid(budget, relation):
    plan = plan_for(budget, relation)
    found, price = cost(plan, moves(plan, *neighbours(FULL, relation))), paid(plan, budget)
    assert found <= price
    assert found == pytest.approx(price, rel=1e-6)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("budget", BUDGETS[:2], ids=str)
@given(record=RECORDS, other=RECORDS)
@settings(max_examples=12, deadline=None)
def test_no_record_moves_more(budget, relation, record, other):
    plan = plan_for(budget, relation)
    assert cost(plan, moves(plan, *neighbours(record, relation, other))) <= paid(
        plan, budget
    )


@given(records=st.lists(RECORDS, max_size=6))
@settings(max_examples=25, deadline=None)
def test_every_record_is_in_one_cell_of_every_table(records):
    plan = plan_for(Pure(1), ADD)
    counted = TableRows.of(frame(records), SCHEMA).count((), plan.tables(SCHEMA, None))
    assert all(counts.sum() == len(records) for counts in counted.tables)


def test_events_are_those_of_the_budget():
    for budget in BUDGETS:
        event = plan_for(budget, ADD).price.event
        if isinstance(budget, Pure):
            assert event == PureEvent(budget.epsilon)
        else:
            assert event == GaussianEvent(gaussian_shift_of(budget))


@pytest.mark.parametrize(
    ("place", "mutant"),
    [
        ("tables", lambda honest: lambda b, t, q, n: honest(b, t - 1, q, n)),
        ("ranges", lambda honest: lambda b, t, q, n: honest(b, t, q - 1, n)),
        ("relation", lambda honest: lambda b, t, q, n: honest(b, t, q, ADD)),
    ],
)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_forgetting_a_part_turns_the_check_red(monkeypatch, budget, place, mutant):
    monkeypatch.setattr(
        "confide.description.release.price_of", mutant(rule.price_of), raising=True
    )
    plan = plan_for(budget, REPLACE)
    found = cost(plan, moves(plan, *neighbours(FULL, REPLACE)))
    assert found > paid(plan, budget) * (1 + 1e-6), place


def test_the_rule_is_the_written_one():
    price = rule.price_of(Pure(2), 7, 3, REPLACE)
    assert price.tables.scale == pytest.approx(2 * (7 + 3) / 2, rel=1e-9)
    assert price.ranges.scale == 2 * price.tables.scale
    price = rule.price_of(Zcdp("0.5"), 7, 4, ADD)
    assert price.tables.scale == pytest.approx(math.sqrt(7 + 4 / 2), rel=1e-9)
