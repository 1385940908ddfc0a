"""What a budget book admits, refuses and keeps."""

import getpass
import math
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.accounting import ApproxEvent, GaussianEvent, PureEvent, ZcdpEvent
from confide.errors import (
    BudgetExceeded,
    InvalidParameter,
    MixedBudgets,
    PrivacyLeak,
)
from confide.ledger import Amount, Ledger
from confide.privacy import Approx, Pure, Status, Zcdp
from support.examples import some


def test_ten_times_a_tenth_fills_one_and_not_a_hair_more(ledger):
    ledger.set_limit("adult", Pure(1))
    for tenths in range(1, 11):
        charge = ledger.charge("adult", Pure(0.1))
        assert charge.counted == Amount.of(Pure(0.1))
        assert charge.left.epsilon == 1 - Fraction(tenths, 10)
    assert ledger.account("adult").spent == Amount.of(Pure(1))
    assert charge.left.as_budget() is None
    with pytest.raises(BudgetExceeded, match="The limit is used up"):
        ledger.charge("adult", Pure(1e-12))
    assert ledger.account("adult").charges == 10


def test_a_request_just_above_the_rest_is_not_rounded(ledger):
    ledger.set_limit("adult", Approx(1, 1e-5))
    ledger.charge("adult", Approx("0.7", 1e-6))
    with pytest.raises(BudgetExceeded, match="exceeded by ε = 1e-12"):
        ledger.charge("adult", Approx("0.300000000001", 1e-6))
    with pytest.raises(BudgetExceeded):
        ledger.charge("adult", Approx("0.3", "9.00000000001e-6"))
    assert ledger.charge("adult", Approx("0.3", 9e-6)).left == Amount.nothing(Approx)


def test_a_refused_charge_leaves_nothing_and_says_what_does_not_suffice(ledger):
    ledger.set_limit("adult", Approx(3, 1e-5))
    ledger.charge("adult", Approx(2.5, 1e-6))
    before = ledger.entries(), ledger.digest()
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge("adult", Approx(1, 1e-6))
    for words in (
        "exceeded by ε = 0.5:",
        "requested ε = 1,",
        "left ε = 0.5,",
        "a limit of ε = 3.",
        "Nothing was spent",
    ):
        assert words in str(refused.value)
    assert "δ" not in str(refused.value)
    with pytest.raises(BudgetExceeded, match=r"left ε = 0.5, δ = 9e-06"):
        ledger.charge("adult", Approx(1, 1e-4))
    assert (ledger.entries(), ledger.digest()) == before


def test_no_limit_no_charge_and_the_message_teaches(ledger):
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge("adult", Pure(1))
    assert 'ledger.set_limit("adult", Approx(3, 1e-5))' in str(refused.value)
    assert "--dataset adult --epsilon 3 --delta 1e-5" in str(refused.value)
    with pytest.raises(InvalidParameter, match="no limit"):
        ledger.account("adult")
    assert ledger.entries() == ()
    ledger.set_limit("adults", Pure(1))
    with pytest.raises(BudgetExceeded, match=r"datasets: 'adults'. Did you mean 'adults'"):
        ledger.charge("adult", Pure(1))


def test_refuted_is_always_refused_and_claimed_and_seeded_are_on_record(ledger):
    ledger.set_limit("adult", Pure(1))
    with pytest.raises(PrivacyLeak, match="REFUTED"):
        ledger.charge("adult", Pure(0.1), status=Status.REFUTED)
    ledger.charge("adult", Pure(0.1), status=Status.CLAIMED, private=False)
    assert ledger.account("adult").spent.epsilon == Fraction(1, 10)
    entry = ledger.entries()[-1]
    assert (entry.status, entry.private) == (Status.CLAIMED, False)


def test_a_limit_may_move_but_not_below_what_is_spent_nor_to_another_kind(ledger):
    ledger.set_limit("adult", Zcdp(1))
    ledger.set_limit("adult", Approx(1, 1e-5))
    ledger.charge("adult", Approx("0.5", 1e-6))
    with pytest.raises(InvalidParameter, match="at least what is already spent"):
        ledger.set_limit("adult", Approx(0.4, 1e-5))
    with pytest.raises(InvalidParameter, match="at least what is already spent"):
        ledger.set_limit("adult", Approx(1, 1e-7))
    with pytest.raises(MixedBudgets, match="must remain of type Approx"):
        ledger.set_limit("adult", Zcdp(100))
    ledger.set_limit("adult", Approx("0.5", 1e-6))
    with pytest.raises(BudgetExceeded):
        ledger.charge("adult", Pure(1e-9))
    ledger.set_limit("adult", Approx(2, 1e-5))
    ledger.charge("adult", Pure(1))
    assert ledger.account("adult").left.epsilon == Fraction(1, 2)
    assert ledger.verify() == 6


def test_datasets_do_not_share_a_limit(ledger):
    ledger.set_limit("b", Pure(1))
    ledger.set_limit("a", Zcdp(1))
    ledger.charge("b", Pure(1))
    assert ledger.charge("a", Zcdp(1)).number == 4
    assert ledger.datasets() == ("a", "b")
    assert [entry.number for entry in ledger.entries("a")] == [2, 4]
    with pytest.raises(BudgetExceeded):
        ledger.charge("a", Zcdp(1))


def test_a_release_follows_its_own_charge_once(ledger):
    ledger.set_limit("adult", Pure(1))
    charge = ledger.charge("adult", Pure("0.3"), what="fit")
    ledger.record(charge, "cafe")
    with pytest.raises(InvalidParameter, match="not yet recorded"):
        ledger.record(charge, "cafe")
    unknown, limit = replace(charge, number=99), replace(charge, number=1)
    for wrong in (unknown, limit, replace(charge, dataset="bank")):
        with pytest.raises(InvalidParameter, match="a charge of this ledger"):
            ledger.record(wrong, "cafe")
    with pytest.raises(InvalidParameter, match="release_hash"):
        ledger.record(ledger.charge("adult", Pure("0.3")), "")
    assert [(e.kind, e.charge, e.release_hash) for e in ledger.entries()] == [
        ("limit", None, None),
        ("charge", None, None),
        ("release", 2, "cafe"),
        ("charge", None, None),
    ]
    assert ledger.verify() == 4


def test_entries_come_back_as_they_went_in(ledger):
    events = (
        PureEvent(Fraction(1, 2)),
        GaussianEvent(0.1),
        ZcdpEvent(Fraction(1, 3)),
        ApproxEvent(Fraction(1, 7), Fraction(1, 10**9)),
    )
    ledger.set_limit("Ünï 'quoted' ?", Approx(3, 1e-5), who="ada")
    ledger.charge(
        "Ünï 'quoted' ?", Approx("1/3", "1e-300"), events, who="bob", what="100 %s; ?"
    )
    limit, charge = ledger.entries()
    assert (limit.who, limit.budget, limit.status) == ("ada", Approx(3, 1e-5), None)
    assert (charge.who, charge.what) == ("bob", "100 %s; ?")
    assert charge.budget == Approx("1/3", "1e-300")
    assert charge.counted == charge.spent == Amount.of(charge.budget)
    assert charge.events == events
    assert charge.at.endswith("+00:00")
    assert charge.digest == ledger.digest()


def test_who_is_the_login_name_or_unknown(file_ledger, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "grace")
    file_ledger.set_limit("adult", Pure(1))

    def nobody():
        raise OSError

    monkeypatch.setattr(getpass, "getuser", nobody)
    file_ledger.charge("adult", Pure(1))
    assert [entry.who for entry in file_ledger.entries()] == ["grace", "unknown"]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("dataset", lambda book: book.charge("", Pure(1))),
        ("dataset", lambda book: book.charge(" adult", Pure(1))),
        ("dataset", lambda book: book.charge("a\0", Pure(1))),
        ("dataset", lambda book: book.set_limit(3, Pure(1))),
        ("dataset", lambda book: book.account("\ud800")),
        ("budget", lambda book: book.charge("adult", 1.0)),
        ("budget", lambda book: book.set_limit("adult", 1.0)),
        ("budget", lambda book: book.charge("adult", Pure(Fraction(1, 3**9000) + 1))),
        ("events", lambda book: book.charge("adult", Pure(1), ("x",))),
        ("events", lambda book: book.charge("adult", Pure(1), PureEvent(Fraction(1)))),
        ("events", lambda book: book.charge("adult", Pure(1), [PureEvent(Fraction(-1))])),
        ("events", lambda book: book.charge("adult", Pure(1), [GaussianEvent(math.nan)])),
        ("status", lambda book: book.charge("adult", Pure(1), status="PROVED")),
        ("charge", lambda book: book.record(2, "cafe")),
        ("what", lambda book: book.charge("adult", Pure(1), what="two\nlines")),
        ("who", lambda book: book.charge("adult", Pure(1), who=7)),
    ],
)
def test_wrong_arguments_are_named_and_spend_nothing(file_ledger, name, call):
    file_ledger.set_limit("adult", Pure(9))
    with pytest.raises(InvalidParameter) as refused:
        call(file_ledger)
    assert refused.value.name == name
    assert len(file_ledger.entries()) == 1


sizes = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
budgets = st.one_of(
    st.builds(Pure, sizes),
    st.builds(Zcdp, sizes),
    st.builds(Approx, sizes, sizes.map(lambda size: size / 10**6)),
)
events = st.lists(
    st.one_of(st.builds(PureEvent, sizes), st.builds(GaussianEvent, st.floats(0.01, 2))),
    max_size=2,
)


@pytest.mark.slow
@settings(max_examples=some(50))
@given(limit=budgets, asked=st.lists(st.tuples(budgets, events), max_size=12))
def test_any_sequence_of_charges_stays_within_the_limit_and_adds_up(limit, asked):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "budget.db")
        ledger.set_limit("adult", limit)
        spent = [Fraction(0)] * len(limit.fields)
        cap = [getattr(limit, name) for name in limit.fields]
        for budget, parts in asked:
            try:
                charge = ledger.charge("adult", budget, parts)
            except MixedBudgets:
                assert type(budget) is not type(limit)
                continue
            except BudgetExceeded:
                if type(budget) is type(limit):
                    wish = [getattr(budget, name) for name in limit.fields]
                    after = [a + b for a, b in zip(spent, wish, strict=True)]
                    assert any(a > b for a, b in zip(after, cap, strict=True))
                continue
            spent = [a + b for a, b in zip(spent, charge.counted.parts, strict=True)]
            left = [a - b for a, b in zip(cap, spent, strict=True)]
            assert list(charge.left.parts) == left
            assert min(left) >= 0
        account = ledger.account("adult")
        assert list(account.spent.parts) == spent
        assert ledger.verify() == account.charges + 1
        ledger.close()
