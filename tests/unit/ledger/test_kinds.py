"""Budgets of one kind against limits of another."""

from fractions import Fraction

import pytest

from confide.accounting import ApproxEvent, GaussianEvent, PureEvent, ZcdpEvent
from confide.errors import (
    BudgetExceeded,
    MixedBudgets,
)
from confide.ledger import Amount
from confide.privacy import Approx, Pure, Zcdp, zcdp_to_approx

PURE = (PureEvent(Fraction(1, 2)), PureEvent(Fraction(1, 4)))


@pytest.mark.parametrize(
    ("limit", "budget", "events", "counted"),
    [
        (Approx(3, 1e-5), Pure("0.5"), (), Amount(Approx, (Fraction(1, 2), Fraction(0)))),
        (Zcdp(3), Pure("0.5"), (), Amount(Zcdp, (Fraction(1, 8),))),
        (Approx(3, 1e-5), Zcdp(0.01), (), Amount.of(zcdp_to_approx(Zcdp(0.01), 1e-6))),
        (Pure(3), Approx(1, 1e-6), PURE, Amount.of(Pure("0.75"))),
        (Pure(3), Zcdp(1), PURE, Amount.of(Pure("0.75"))),
    ],
)
def test_another_kind_is_converted_where_a_theorem_allows(
    file_ledger, limit, budget, events, counted
):
    file_ledger.set_limit("adult", limit)
    assert file_ledger.charge("adult", budget, events).counted == counted
    assert file_ledger.account("adult").spent == counted


def test_approximate_counts_as_zcdp_by_its_events(file_ledger):
    file_ledger.set_limit("adult", Zcdp(3))
    events = (GaussianEvent(1.0), ZcdpEvent(Fraction(1, 4)), PureEvent(Fraction(1)))
    charge = file_ledger.charge("adult", Approx(5, 1e-6), events)
    assert float(charge.counted.rho) == pytest.approx(1.25, rel=1e-11)
    assert charge.counted.rho >= Fraction(5, 4)


@pytest.mark.parametrize(
    ("limit", "budget", "events", "why"),
    [
        (Pure(3), Approx(1, 1e-6), (), "has no events"),
        (Pure(3), Approx(1, 1e-6), (GaussianEvent(0.1),), "events of type GaussianEvent"),
        (Pure(3), Zcdp(0.1), (PURE[0], ZcdpEvent(Fraction(1, 9))), "PureEvent, ZcdpEvent"),
        (Zcdp(3), Approx(1, 1e-6), (), "has no events"),
        (
            Zcdp(3),
            Approx(1, 1e-6),
            (PURE[0], ApproxEvent(Fraction(1), Fraction(1, 9))),
            "ApproxEvent, PureEvent",
        ),
    ],
)
def test_another_kind_is_refused_where_no_theorem_speaks(
    file_ledger, limit, budget, events, why
):
    file_ledger.set_limit("adult", limit)
    with pytest.raises(MixedBudgets, match=why):
        file_ledger.charge("adult", budget, events)
    assert file_ledger.account("adult").charges == 0


def test_ten_zcdp_charges_use_up_an_approximate_delta(file_ledger):
    file_ledger.set_limit("adult", Approx(1000, 1e-5))
    for _ in range(10):
        charge = file_ledger.charge("adult", Zcdp(1e-4))
    assert charge.left.delta == 0
    file_ledger.charge("adult", Pure(1))
    with pytest.raises(BudgetExceeded):
        file_ledger.charge("adult", Zcdp(1e-4))


def test_amounts_do_not_mix_and_know_their_parts():
    spent = Amount.of(Approx(1, 1e-5))
    assert str(spent) == "ε = 1, δ = 1e-05"
    assert spent.as_budget() == Approx(1, 1e-5)
    assert Amount(Pure, (Fraction(1, 10**15),)).as_budget() is None
    assert str(Amount.nothing(Zcdp)) == "ρ = 0 (zCDP)"
    with pytest.raises(AttributeError, match="has no rho"):
        _ = spent.rho
    with pytest.raises(MixedBudgets):
        _ = spent + Amount.of(Pure(1))
