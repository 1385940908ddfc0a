"""Formulas expand to the terms of a schema, or are refused in words."""

import sys

import pytest

from confide import Boolean, Category, Number, Schema, Target
from confide.data import schema_of_formula
from confide.errors import InvalidParameter

pytest.importorskip("formulaic")

SCHEMA = Schema(
    (
        Number("age", 20, 80),
        Number("body weight", 30, 200),
        Number("days", 1, 365),
        Number("open"),
        Category("race", ("a", "b", "c")),
        Boolean("smoker"),
    ),
    Target("dose", lower=0, upper=100),
)


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        (
            "dose ~ age + bs(`body weight`, 4) + race:smoker",
            ("age", "bs(`body weight`, df=4)", "race:smoker"),
        ),
        ("dose ~ age * race", ("age", "race", "age:race")),
        (
            "dose ~ (age + race + smoker)**2 - race:smoker",
            ("age", "age:race", "age:smoker", "race", "smoker"),
        ),
        ("~ age + 1", ("age",)),
        ("age + poly(days, degree=3)", ("age", "poly(days, 3)")),
        ("dose ~ bs(open, df=5)", ("bs(open, df=5)",)),
        ("dose ~ age:race:smoker", ("age:race:smoker",)),
        (
            "dose ~ .",
            ("age", "`body weight`", "days", "open", "race", "smoker"),
        ),
    ],
)
def test_a_formula_is_a_list_of_terms(formula, terms):
    found, constant = schema_of_formula(SCHEMA, formula)
    assert found.terms == terms
    assert constant
    assert SCHEMA.with_formula(formula) == found


@pytest.mark.parametrize("formula", ["dose ~ 0 + age", "dose ~ age - 1"])
def test_a_formula_may_leave_out_the_intercept(formula):
    found, constant = schema_of_formula(SCHEMA, formula)
    assert not constant
    assert found.terms == ("age",)
    with pytest.raises(InvalidParameter, match="fit_intercept=False"):
        SCHEMA.with_formula(formula)


def test_an_offset_is_taken_out_of_the_columns():
    found = SCHEMA.with_formula("dose ~ age + offset(log(days))")
    assert found.terms == ("age",)
    assert found.offset == Number("days", 1, 365, transform="log", range="public")
    plain = SCHEMA.with_formula("dose ~ age + offset(`body weight`)")
    assert plain.offset.name == "body weight"
    assert Schema.from_mapping(found.to_mapping()) == found


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("dose ~ agee", "Did you mean 'age'"),
        ("dose ~ sin(age)", "one of \\['bs', 'poly'\\]"),
        ("dose ~ I(age**2)", "poly"),
        ("dose ~ C(race)", "which columns are categories"),
        ("dose ~ ns(age, 4)", "one of \\['bs', 'poly'\\]"),
        ("income ~ age", "that of the schema, 'dose'"),
        ("dose + age ~ race", "a single target"),
        ("dose ~ age +", "must be like"),
        ("dose | age ~ race", "must be like"),
        ("dose ~ 2*age", "must be like"),
        ("dose ~ {age**2}", "a column, bs"),
        ("dose ~ 1", "at least one term"),
        ("dose ~ bs(age, knots=[90])", "inside the declared range"),
        ("dose ~ age + offset(open)", "lower and upper"),
        ("dose ~ age + offset(height)", "of one of"),
        ("dose ~ age + offset(race)", "lower and upper"),
        ("dose ~ age + offset(days) + offset(`body weight`)", "one offset"),
        ("", "text"),
        (3, "text"),
    ],
)
def test_a_formula_that_means_nothing_is_refused_in_words(formula, words):
    with pytest.raises(InvalidParameter, match=words):
        schema_of_formula(SCHEMA, formula)


def test_without_formulaic_terms_are_listed_in_the_schema(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic.parser", None)
    monkeypatch.setitem(sys.modules, "formulaic.errors", None)
    with pytest.raises(InvalidParameter, match="pip install 'confide\\[formula\\]'"):
        SCHEMA.with_formula("dose ~ age")
