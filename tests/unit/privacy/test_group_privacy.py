"""Several rows per person: what is left for one row, and what a fit promises."""

import math
from fractions import Fraction

import pytest

from confide import (
    Approx,
    LogisticRegression,
    Pure,
    Schema,
    Zcdp,
)
from confide.accounting import ApproxEvent, GaussianEvent, PureEvent, ZcdpEvent
from confide.errors import InvalidParameter
from confide.mechanisms import OutputPerturbation
from confide.privacy import gaussian_delta, group_delta, row_budget
from support.clinic import SCHEMA, clinic

MECHANISM = OutputPerturbation()


def test_a_row_gets_the_share_that_group_privacy_leaves():
    assert row_budget(Pure(1), 4) == Pure("1/4")
    assert row_budget(Zcdp(1), 4) == Zcdp("1/16")
    for budget in (Pure(1), Zcdp(1), Approx(1, 1e-6)):
        assert row_budget(budget, 1) == budget
        with pytest.raises(InvalidParameter, match="rows_per_person"):
            row_budget(type(budget)(*(part / 10**12 for part in budget._parts())), 10**7)
    with pytest.raises(InvalidParameter, match="rows_per_person"):
        row_budget(Approx(5000, 1e-6), 2)


@pytest.mark.parametrize("k", [2, 3, 50, 10**6])
@pytest.mark.parametrize("epsilon", ["1e-5", "1", "30"])
def test_delta_is_rounded_towards_safety(k, epsilon):
    whole = Approx(epsilon, "1e-6")
    row = row_budget(whole, k)
    assert row.epsilon * k == whole.epsilon
    total = math.fsum(math.exp(i * float(row.epsilon)) for i in range(k))
    assert float(row.delta) * total == pytest.approx(1e-6, rel=1e-9)
    chained = group_delta(row.epsilon, row.delta, k)
    assert Fraction(0) <= whole.delta - chained < whole.delta / 10**15


def test_delta_matches_the_chain_exactly():
    row = row_budget(Approx(2, "1e-3"), 2)
    steps = sum((Fraction(1) / math.factorial(j) for j in range(60)), Fraction(0))
    assert row.delta * (1 + steps) <= Fraction(1, 1000)
    assert row.delta * (1 + steps) > Fraction(1, 1000) * (1 - Fraction(1, 10**15))


@pytest.mark.parametrize(
    ("budget", "ratio"), [(Pure(1), 3.0), (Zcdp(1), 3.0), (Approx(1, 1e-6), 3.0)], ids=str
)
def test_a_fit_protects_persons_with_several_rows(budget, ratio):
    several = Schema(SCHEMA.columns, SCHEMA.target, "clinic", 3)
    settings = {"mechanism": MECHANISM, "l2": 1.0, "ranges": "public"}
    one = LogisticRegression(budget, schema=SCHEMA, **settings).fit(clinic()).release_
    all_three = LogisticRegression(budget, schema=several, **settings).fit(clinic())
    release = all_three.release_
    assert release.guarantee.budget == budget
    assert "at most 3 rows per person (group privacy)" in release.guarantee.assumptions
    assert "one row per person" not in release.guarantee.assumptions
    assert "at most 3 rows per person" in str(all_three.summary())
    assert "one row per person" in one.guarantee.assumptions
    assert release.noise_scale / one.noise_scale == pytest.approx(ratio, rel=0.15)
    assert release.noise_scale >= one.noise_scale * ratio * (1 - 1e-9)


def test_events_are_those_of_a_person():
    several = Schema(SCHEMA.columns, SCHEMA.target, "clinic", 3)
    for budget in (Pure(1), Zcdp(1), Approx(1, 1e-6)):
        model = LogisticRegression(budget, schema=several, ranges="public").fit(clinic())
        for event in model.release_.events:
            match event:
                case PureEvent(epsilon=epsilon):
                    assert epsilon in (Fraction(99, 100), Fraction(1, 100))
                case ZcdpEvent(rho=rho):
                    assert rho in (Fraction(99, 100), Fraction(1, 100))
                case ApproxEvent(epsilon=epsilon, delta=delta):
                    assert epsilon <= budget.epsilon
                    assert delta <= budget.delta
                case GaussianEvent(mu=mu) if budget == Zcdp(1):
                    assert mu**2 / 2 == pytest.approx(0.99)
                case GaussianEvent(mu=mu):
                    assert mu > 0
                    assert gaussian_delta(1.0, mu) <= 1e-6
