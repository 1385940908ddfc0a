"""What a schema may say of values that nobody has looked at, for plans alone."""

import tomllib

import pandas as pd
import pytest

from confide import Category, LogisticRegression, Number, Pure, Schema, Target
from confide.data import Boolean
from confide.errors import InvalidParameter

FULL = Schema(
    (
        Number("age", 0, 100, typical=[20, 60]),
        Number("gain", 0, 1000, typical=(0, 0)),
        Number("dose", transform="log", typical=(1, 9)),
        Category("town", ("a", "b", "c"), share={"a": 0.5, "b": 0.3}),
        Category("code", (1, 2), other=True, share={"1": 0.5, "other": 0.1}),
        Boolean("smoker", share=0.2),
    ),
    Target("ill", labels=("no", "yes"), share={"yes": 0.1}),
    "clinic",
)


def test_files_and_mappings_hold_all_of_it():
    assert Schema.from_mapping(tomllib.loads(FULL.to_toml())) == FULL
    assert Schema.from_mapping(FULL.to_mapping()) == FULL
    number = Schema(FULL.columns, Target("cost", lower=0, upper=9, typical=[1, 4]))
    assert Schema.from_mapping(tomllib.loads(number.to_toml())) == number


def test_shares_are_in_the_order_of_levels():
    town, code, smoker = FULL.columns[3:]
    assert town.shares == pytest.approx((0.5, 0.3, 0.2))
    assert code.shares == pytest.approx((0.5, 0.4, 0.1))
    assert smoker.shares == pytest.approx((0.8, 0.2))
    assert FULL.target.share == pytest.approx((0.9, 0.1))
    assert Category("town", ("a", "b"), share=[0.4, 0.1]).shares == (0.4, 0.1)


def test_a_typical_range_is_shown_as_the_model_sees_it():
    age, _, dose = FULL.columns[:3]
    assert age.typical_ends == (20, 60)
    assert dose.typical_ends == pytest.approx((0, 2.1972246))


def test_a_bought_range_cuts_what_is_typical():
    age = FULL.columns[0]
    assert age.within(30, 90).typical == (30, 60)
    assert age.within(70, 90).typical is None
    target = Target("cost", lower=0, upper=9, typical=[1, 4])
    assert target.within(2, 8).typical == (2, 4)
    assert target.within(5, 8).typical is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Number("a", 0, 10, typical=(5, 4)),
        lambda: Number("a", 0, 10, typical=(5, 11)),
        lambda: Number("a", 0, 10, typical=(-1, 4)),
        lambda: Number("a", 0, 10, typical=5),
        lambda: Number("a", 0, 10, typical=("1", "2")),
        lambda: Number("a", transform="log", typical=(-1, 4)),
        lambda: Target("y", lower=0, upper=10, typical=(5, 11)),
        lambda: Target("y", labels=(0, 1), typical=(0, 1)),
    ],
)
def test_typical_ranges_must_lie_inside_of_limits(make):
    with pytest.raises(InvalidParameter, match="typical of"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Category("c", ("a", "b"), share=(0.7, 0.7)),
        lambda: Category("c", ("a", "b"), share=(0.7,)),
        lambda: Category("c", ("a", "b"), share=(-0.1, 0.7)),
        lambda: Category("c", ("a", "b"), share={"x": 0.1}),
        lambda: Category("c", ("a", "b"), share={"a": "0.1"}),
        lambda: Category("c", ("a", "b"), share={"a": 0.7, "b": 0.7}),
        lambda: Category("c", ("a", "b"), share="half"),
        lambda: Boolean("b", share=1.5),
        lambda: Boolean("b", share=True),
        lambda: Target("y", labels=(0, 1), share=(0.7, 0.7)),
        lambda: Target("y", lower=0, upper=10, share=(0.5, 0.5)),
    ],
)
def test_shares_must_be_those_of_levels_and_add_up_to_at_most_one(make):
    with pytest.raises(InvalidParameter, match="share of"):
        make()


def test_a_fit_does_not_depend_on_it():
    columns = (Number("age", 0, 100), Boolean("smoker"))
    known = (Number("age", 0, 100, typical=(20, 60)), Boolean("smoker", share=0.2))
    table = pd.DataFrame({"age": range(90), "smoker": [0, 1, 1] * 30, "ill": [0, 1] * 45})
    released = [
        LogisticRegression(
            Pure(1), schema=Schema(one, Target("ill", labels=(0, 1))), random_state=1
        )
        .fit(table)
        .release_.value.tolist()
        for one in (columns, known)
    ]
    assert released[0] == released[1]
