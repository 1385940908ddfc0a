"""Charges for one neighbour relation, limits for the other."""

import math
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.accounting import (
    ApproxEvent,
    GaussianEvent,
    PureEvent,
    SubsampledGaussianEvent,
    ZcdpEvent,
)
from confide.errors import (
    BudgetExceeded,
    InvalidParameter,
    MixedNeighbours,
    TamperedLedger,
)
from confide.ledger import Amount, Ledger
from confide.ledger.amounts import charge_amount, cost
from confide.privacy import Approx, Neighbours, Pure, Zcdp, gaussian_mu, zcdp_to_approx
from support.examples import some
from support.ledger_books import forged

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
PURE = (PureEvent(Fraction(1, 2)), PureEvent(Fraction(1, 4)))
BATCHES = SubsampledGaussianEvent(1.0, Fraction(1, 10), 5, "poisson")


@pytest.mark.parametrize(
    ("limit", "budget", "events", "counted"),
    [
        (Pure(3), Pure("0.5"), (), Amount.of(Pure(1))),
        (Zcdp(3), Zcdp("0.25"), (), Amount.of(Zcdp(1))),
        (Zcdp(3), Pure("0.5"), (), Amount.of(Zcdp("0.5"))),
        (Approx(3, 1e-5), Pure("0.5"), (), Amount(Approx, (Fraction(1), Fraction(0)))),
        (Approx(3, 1e-5), Zcdp(0.01), (), Amount.of(zcdp_to_approx(Zcdp(0.04), 1e-6))),
        (Pure(3), Approx(1, 1e-6), PURE, Amount.of(Pure("1.5"))),
        (Approx(3, 1e-5), Approx(1, 1e-6), PURE, Amount.of(Approx(2, 1e-6))),
    ],
)
def test_a_removal_and_an_addition_cost_exactly(
    file_ledger, limit, budget, events, counted
):
    file_ledger.set_limit("adult", limit, neighbours="replace-one")
    charge = file_ledger.charge("adult", budget, events, neighbours="add-remove")
    assert charge.counted == counted
    assert charge.neighbours is REPLACE
    account = file_ledger.account("adult")
    assert (account.spent, account.neighbours) == (counted, REPLACE)
    assert file_ledger.entries()[-1].neighbours is ADD
    assert file_ledger.verify() == 2


def test_zcdp_by_gaussian_events_is_that_of_twice_the_shift(file_ledger):
    file_ledger.set_limit("adult", Zcdp(3), neighbours=REPLACE)
    events = (GaussianEvent(0.6), GaussianEvent(0.8))
    charge = file_ledger.charge("adult", Approx(5, 1e-6), events, neighbours=ADD)
    assert float(charge.counted.rho) == pytest.approx(2**2 / 2, rel=1e-11)
    assert charge.counted.rho >= 2


NOT_GAUSSIAN = [
    (),
    (BATCHES,),
    (GaussianEvent(0.1), ApproxEvent(Fraction(1), Fraction(1, 10**7))),
    (ZcdpEvent(Fraction(1, 100)),),
    (PureEvent(Fraction(2)),),
]


@pytest.mark.parametrize("events", NOT_GAUSSIAN, ids=str)
def test_what_is_known_by_its_budget_alone_costs_one_plus_e_deltas(events):
    """(1 + e)·10⁻⁶ at ε = 1, rounded up."""
    _, delta = cost(Approx(1, 1e-6), events, ADD, Approx(3, 1e-5), REPLACE).parts
    assert float(delta) == pytest.approx(3.718281828459045e-6, rel=1e-15)
    assert delta > Fraction("3.71828182845904523536028747135e-6")


def gaussian_profile(epsilon, mu):
    """Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), straight from the formula."""

    def below(z):
        return math.erfc(-z / math.sqrt(2)) / 2

    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (3, 1e-5), (0.1, 1e-6)])
def test_gaussian_releases_cost_the_delta_of_twice_their_shift(epsilon, delta, whole):
    mu = gaussian_mu(epsilon, delta)
    events = (GaussianEvent(0.6 * mu), GaussianEvent(0.8 * mu))
    if whole:
        events = (SubsampledGaussianEvent(2 / mu, Fraction(1), 4, "poisson"),)
    limit = Approx(100, 0.1)
    counted = cost(Approx(epsilon, delta), events, ADD, limit, REPLACE)
    assert counted.epsilon == 2 * Approx(epsilon, delta).epsilon
    true = gaussian_profile(2 * epsilon, 2 * mu)
    assert true <= counted.delta < true * (1 + 1e-6)
    assert counted.delta < (1 + math.exp(epsilon)) * delta


def test_a_delta_that_was_asked_for_is_never_given_back():
    """Events far smaller than their budget need no delta at 2ε, and yet it counts."""
    counted = cost(Approx(1, 1e-6), (GaussianEvent(0.01),), ADD, Approx(3, 1e-5), REPLACE)
    assert counted == Amount.of(Approx(2, 1e-6))


def test_so_large_an_epsilon_that_nothing_is_left_is_over_every_limit(file_ledger):
    file_ledger.set_limit("adult", Approx(10**6, 0.9), neighbours=REPLACE)
    for epsilon in (60, 5000):
        with pytest.raises(BudgetExceeded, match="requested δ = 1,"):
            file_ledger.charge("adult", Approx(epsilon, 1e-6), neighbours=ADD)
    file_ledger.charge("adult", Approx(5000, 1e-6), neighbours=REPLACE)


def test_mixed_charges_add_up_under_replace_one(ledger):
    """0.5 + 2·0.25 + 2·0.125 = 1.25, the last one of unknown relation."""
    ledger.set_limit("adult", Pure("1.25"), neighbours="replace-one")
    ledger.charge("adult", Pure("0.5"), neighbours="replace-one")
    ledger.charge("adult", Pure("0.25"), neighbours="add-remove")
    assert ledger.charge("adult", Pure("0.125")).left == Amount.nothing(Pure)
    assert [entry.neighbours for entry in ledger.entries()] == [REPLACE, REPLACE, ADD, None]
    assert ledger.verify() == 4


@pytest.mark.parametrize("relation", ["add-remove", "replace-one", None])
def test_the_first_charge_decides_where_the_limit_does_not(ledger, relation):
    ledger.set_limit("adult", Pure(1))
    assert ledger.account("adult").neighbours is None
    for _ in range(2):
        charge = ledger.charge("adult", Pure("0.4"), neighbours=relation)
    assert charge.left.epsilon == Fraction(1, 5)
    ledger.set_limit("adult", Pure(2))
    found = ledger.account("adult").neighbours
    assert found is (None if relation is None else Neighbours(relation))
    assert ledger.verify() == 4


def test_replace_one_says_nothing_under_add_remove(ledger):
    ledger.set_limit("adult", Pure(1))
    ledger.charge("adult", Pure("0.1"), neighbours=ADD)
    before = ledger.entries(), ledger.digest()
    with pytest.raises(MixedNeighbours, match="number of rows") as refused:
        ledger.charge("adult", Pure("0.1"), neighbours=REPLACE)
    assert "Fit with neighbours='add-remove'" in str(refused.value)
    assert "--dataset adult --neighbours replace-one" in str(refused.value)
    with pytest.raises(MixedNeighbours, match="Pass neighbours='add-remove'"):
        ledger.charge("adult", Pure("0.1"))
    assert (ledger.entries(), ledger.digest()) == before
    ledger.set_limit("adult", Pure(1), neighbours="replace-one")
    assert ledger.account("adult").spent == Amount.of(Pure("0.2"))
    assert ledger.charge("adult", Pure("0.1"), neighbours=REPLACE).number == 4
    with pytest.raises(MixedNeighbours, match="cannot be for add-remove"):
        ledger.set_limit("adult", Pure(1), neighbours="add-remove")
    assert ledger.verify() == 4


def test_a_limit_changes_its_relation_and_back(ledger):
    ledger.set_limit("adult", Zcdp(1), neighbours="add-remove")
    ledger.charge("adult", Zcdp("0.2"), neighbours=ADD)
    ledger.set_limit("adult", Zcdp(1), neighbours="replace-one")
    assert ledger.account("adult").spent == Amount.of(Zcdp("0.8"))
    with pytest.raises(BudgetExceeded):
        ledger.charge("adult", Zcdp("0.1"), neighbours=ADD)
    with pytest.raises(InvalidParameter, match=r"at least what is already spent \(ρ = 0.8"):
        ledger.set_limit("adult", Zcdp("0.7"))
    ledger.set_limit("adult", Zcdp("0.7"), neighbours="add-remove")
    assert ledger.charge("adult", Zcdp("0.5"), neighbours=ADD).left == Amount.nothing(Zcdp)
    with pytest.raises(InvalidParameter, match=r"already spent .*2.8.*, for replace-one"):
        ledger.set_limit("adult", Zcdp(2), neighbours="replace-one")
    assert ledger.verify() == 5


def test_a_second_limit_takes_nothing_back_that_the_first_counted_anew(ledger):
    ledger.set_limit("people", Pure(2))
    ledger.charge("people", Pure("1/2"), neighbours="add-remove")
    ledger.set_limit("people", Pure(2), neighbours="replace-one")
    ledger.set_limit("people", Pure(3))
    ledger.set_limit("people", Pure("7/4"))
    assert ledger.account("people").spent.epsilon == 1
    with pytest.raises(BudgetExceeded):
        ledger.charge("people", Pure(1), neighbours="replace-one")
    ledger.charge("people", Pure("3/4"), neighbours="replace-one")
    assert ledger.account("people").left.epsilon == 0
    assert ledger.verify() == 6


@settings(deadline=None, max_examples=some(60))
@given(st.data())
def test_no_order_of_limits_and_charges_makes_a_total_too_small(data):
    relation = st.sampled_from([None, *Neighbours])
    steps = st.lists(st.tuples(st.booleans(), relation), min_size=4, max_size=8)
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger.open(Path(folder) / "book.db")
        book.set_limit("people", Pure(9), neighbours=data.draw(relation))
        paid = []
        for pays, neighbours in data.draw(steps):
            try:
                if pays:
                    book.charge("people", Pure("1/4"), neighbours=neighbours)
                    paid.append(neighbours)
                else:
                    book.set_limit("people", Pure(9), neighbours=neighbours)
            except MixedNeighbours:
                continue
        book.verify()
        found = book.account("people")
        book.close()
    least = [cost(Pure("1/4"), (), one, Pure(9), found.neighbours) for one in paid]
    assert None not in least
    assert sum(one.epsilon for one in least) == found.spent.epsilon


def test_charges_without_a_record_count_as_the_dearer_until_somebody_knows(ledger):
    ledger.set_limit("adult", Pure(2))
    ledger.charge("adult", Pure("0.5"))
    with pytest.raises(MixedNeighbours, match="do not record") as refused:
        ledger.charge("adult", Pure("0.5"), neighbours=ADD)
    assert "--neighbours add-remove --earlier add-remove" in str(refused.value)
    with pytest.raises(MixedNeighbours, match="earlier='add-remove'"):
        ledger.set_limit("adult", Pure(2), neighbours=ADD)
    with pytest.raises(
        InvalidParameter, match="neighbours must be given together with 'earlier'"
    ):
        ledger.set_limit("adult", Pure(2), earlier=ADD)
    for relation, earlier, spent in (
        (REPLACE, None, 1),
        (REPLACE, REPLACE, Fraction(1, 2)),
        (REPLACE, ADD, 1),
        (ADD, None, Fraction(1, 2)),
        (REPLACE, None, 1),
        (REPLACE, REPLACE, Fraction(1, 2)),
    ):
        ledger.set_limit("adult", Pure(2), neighbours=relation, earlier=earlier)
        assert ledger.account("adult").spent.epsilon == spent
    with pytest.raises(MixedNeighbours):
        ledger.set_limit("adult", Pure(2), neighbours=ADD)
    ledger.charge("adult", Pure("0.1"))
    ledger.set_limit("adult", Pure(3), neighbours=REPLACE, earlier=None)
    assert ledger.account("adult").spent.epsilon == Fraction(7, 10)
    assert ledger.verify() == 10


def test_batches_must_be_drawn_as_the_relation_asks(file_ledger):
    file_ledger.set_limit("adult", Approx(9, 1e-3))
    fixed = SubsampledGaussianEvent(1.0, Fraction(1, 10), 5, "without-replacement")
    for event, relation in ((BATCHES, REPLACE), (fixed, ADD)):
        with pytest.raises(InvalidParameter, match="in a charge for"):
            file_ledger.charge("adult", Approx(1, 1e-6), [event], neighbours=relation)
    with pytest.raises(InvalidParameter, match="neighbours"):
        file_ledger.charge("adult", Approx(1, 1e-6), neighbours="both")
    for event, relation in ((fixed, REPLACE), (BATCHES, ADD)):
        charge = file_ledger.charge("adult", Approx(1, 1e-6), [event], neighbours=relation)
    assert charge.counted.epsilon == 2


@pytest.mark.parametrize(
    ("number", "changes", "wrong"),
    [
        (4, {"spent": '{"kind":"Pure","epsilon":"1/10"}'}, "records less spending"),
        (4, {"spent": None}, "does not recount earlier charges"),
        (4, {"neighbours": None}, "earlier charges have no guarantee"),
        (2, {"neighbours": "replace-one"}, "relation that the limit does not accept"),
        (2, {"neighbours": None}, "relation that the limit does not accept"),
        (2, {"neighbours": "both"}, "cannot be read"),
        (1, {"spent": '{"kind":"Pure","epsilon":"0/1"}'}, "does not recount earlier"),
    ],
)
def test_a_forged_relation_is_noticed(ledger, number, changes, wrong):
    ledger.set_limit("adult", Pure(1), neighbours=ADD)
    ledger.charge("adult", Pure("0.1"), neighbours=ADD)
    ledger.charge("adult", Pure("0.1"), neighbours=ADD)
    ledger.set_limit("adult", Pure(1), neighbours=REPLACE)
    assert ledger.verify() == 4
    forged(ledger, number, changes)
    with pytest.raises(TamperedLedger, match=wrong):
        ledger.verify()


sizes = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
asked = st.tuples(
    st.one_of(
        st.builds(Pure, sizes),
        st.builds(Zcdp, sizes),
        st.builds(Approx, sizes, sizes.map(lambda size: size / 10**6)),
    ),
    st.lists(
        st.one_of(
            st.builds(PureEvent, sizes), st.builds(GaussianEvent, st.floats(0.01, 2))
        ),
        min_size=1,
        max_size=2,
    ),
    st.sampled_from([ADD, REPLACE, None]),
)


@settings(max_examples=some(100))
@given(charge=asked, limit=st.sampled_from([Approx(9, 1e-3), Zcdp(9)]))
def test_a_converted_charge_never_costs_less(charge, limit):
    budget, events, relation = charge
    native = charge_amount(budget, events, limit)
    counted = cost(budget, events, relation, limit, REPLACE)
    assert native.within(counted)
    assert (counted == native) == (relation is REPLACE)


@pytest.mark.slow
@settings(max_examples=10)
@given(charges=st.lists(asked, min_size=1, max_size=5), data=st.data())
def test_the_order_of_charges_and_of_deciding_does_not_matter(charges, data):
    limit = Approx(10**3, "0.5")
    permutation = data.draw(st.permutations(charges))
    decided = data.draw(st.integers(0, len(charges)))
    totals = []
    with tempfile.TemporaryDirectory() as folder:
        for order, late in ((charges, False), (permutation, False), (permutation, True)):
            book = Ledger.open(Path(folder) / f"{len(totals)}.db")
            first = ADD if late else REPLACE
            book.set_limit("adult", limit, neighbours=first)
            for k, (budget, events, relation) in enumerate(order):
                if late and (k == decided or relation is not ADD):
                    book.set_limit("adult", limit, neighbours=REPLACE)
                book.charge("adult", budget, events, neighbours=relation)
            book.set_limit("adult", limit, neighbours=REPLACE)
            totals.append(book.account("adult").spent)
            book.verify()
            book.close()
    assert totals[0] == totals[1] == totals[2]
