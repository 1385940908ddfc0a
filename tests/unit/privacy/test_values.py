"""Budgets, neighbours, guarantees, conversions and the Gaussian profile."""

import math
import pickle
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import ConfideError, InvalidParameter, MixedBudgets
from confide.privacy import (
    Approx,
    Guarantee,
    Neighbours,
    Pure,
    Status,
    Zcdp,
    approx_to_zcdp,
    check_budget,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    pure_to_approx,
    pure_to_zcdp,
    zcdp_to_approx,
)
from support.examples import some

BUDGETS = (Pure("0.3"), Approx("0.3", "1e-6"), Zcdp("0.3"))
every_budget = pytest.mark.parametrize("budget", BUDGETS, ids=repr)
EPSILONS = (1e-3, 0.1, 1.0, 8.0)
DELTAS = (1e-12, 1e-6, 1e-2)
both = pytest.mark.parametrize(
    ("epsilon", "delta"), [(e, d) for e in EPSILONS for d in DELTAS]
)


def test_ten_tenths_are_one_whole():
    total = Pure(0.1)
    for _ in range(9):
        total += Pure(0.1)
    assert total == Pure(1)
    assert sum([0.1] * 10) != 1.0


@pytest.mark.parametrize(
    "written",
    [
        0.1,
        "0.1",
        " 1e-1 ",
        "1/10",
        Decimal("0.1"),
        Fraction(1, 10),
        np.float64(0.1),
        np.float32(0.1),
    ],
    ids=repr,
)
def test_a_number_means_its_shortest_decimal(written):
    assert Pure(written).epsilon == Fraction(1, 10)
    assert Zcdp(written) == Zcdp("0.1")
    assert Approx(1, written).delta == Fraction(1, 10)


@pytest.mark.parametrize("whole", [2, np.int64(2), np.uint8(2), 2.0])
def test_whole_numbers_of_any_kind_are_taken(whole):
    assert Pure(whole) == Pure("2")


@pytest.mark.parametrize(
    "bad",
    [0, -1, math.inf, -math.inf, math.nan, np.nan, None, "much", True, [1], "1/0", 1j],
    ids=repr,
)
def test_bad_values_are_refused_by_name(bad):
    with pytest.raises(InvalidParameter, match="epsilon"):
        Pure(bad)
    with pytest.raises(InvalidParameter, match="rho"):
        Zcdp(bad)
    with pytest.raises(InvalidParameter, match="delta"):
        Approx(1, bad)
    with pytest.raises(InvalidParameter, match="epsilon"):
        Approx(bad, 1e-6)


@pytest.mark.parametrize("delta", [1, 1.5])
def test_delta_must_be_below_one(delta):
    with pytest.raises(InvalidParameter, match="delta"):
        Approx(1, delta)


@every_budget
@settings(max_examples=some(50))
@given(
    fraction=st.fractions(min_value=Fraction(1, 10**9), max_value=1),
    ways=st.integers(1, 40),
)
def test_parts_add_up_to_the_whole_exactly(budget, fraction, ways):
    if fraction < 1:
        assert budget.share(fraction) + budget.share(1 - fraction) == budget
    parts = budget.split(ways)
    total = parts[0]
    for part in parts[1:]:
        total += part
    assert len(parts) == ways
    assert total == budget


@every_budget
@pytest.mark.parametrize("fraction", [0, -0.5, 1.5, math.nan, None])
def test_a_share_is_a_part(budget, fraction):
    with pytest.raises(InvalidParameter, match="fraction"):
        budget.share(fraction)


@every_budget
@pytest.mark.parametrize("ways", [0, -2])
def test_a_split_needs_parts(budget, ways):
    with pytest.raises(ConfideError):
        budget.split(ways)


def test_kinds_do_not_mix():
    for one in BUDGETS:
        for other in (*BUDGETS, 1, 0.5):
            if type(one) is type(other):
                continue
            with pytest.raises(MixedBudgets, match="convert"):
                one + other
            with pytest.raises(TypeError):
                other + one
            assert one != other


def test_deltas_cannot_add_up_to_certainty():
    with pytest.raises(InvalidParameter, match="delta"):
        Approx(1, 0.6) + Approx(1, 0.6)


@every_budget
def test_budgets_are_frozen_values(budget):
    assert pickle.loads(pickle.dumps(budget)) == budget  # noqa: S301
    assert hash(budget) == hash(budget.share(1))
    assert len({*BUDGETS, budget}) == 3
    assert eval(repr(budget), {"Pure": Pure, "Approx": Approx, "Zcdp": Zcdp}) == budget  # noqa: S307
    with pytest.raises(FrozenInstanceError):
        setattr(budget, budget.fields[0], Fraction(1))
    assert check_budget(budget) is budget


def test_budgets_print_what_they_promise():
    assert str(Pure(1)) == "ε = 1"
    assert str(Approx("0.5", 1e-6)) == "ε = 0.5, δ = 1e-06"
    assert str(Zcdp(Fraction(1, 3))) == "ρ = 0.333333 (zCDP)"
    assert repr(Pure(Fraction(1, 3))) == "Pure(0.333333)"


@pytest.mark.parametrize("bad", [None, 1.0, "Pure(1)", Pure], ids=repr)
def test_what_is_no_budget_is_told_what_is(bad):
    with pytest.raises(InvalidParameter, match=r"Pure\(1.0\), Approx\(1.0, 1e-6\)"):
        check_budget(bad)


def test_neighbours_are_read_from_themselves_and_their_names():
    assert Neighbours.of("add-remove") is Neighbours.ADD_REMOVE
    assert Neighbours.of(Neighbours.REPLACE_ONE) is Neighbours.REPLACE_ONE
    assert [n.shifts for n in Neighbours] == [1, 2]
    assert str(Neighbours.ADD_REMOVE) == "add-remove"
    for bad in ("add_remove", None, 1, "ADD-REMOVE"):
        with pytest.raises(InvalidParameter, match="'add-remove' or 'replace-one'"):
            Neighbours.of(bad)


@pytest.fixture
def guarantee():
    return Guarantee(
        Approx(1, 1e-6), Neighbours.ADD_REMOVE, Status.PROVED, "page.md#theorem"
    )


def test_a_guarantee_prints_everything_it_rests_on(guarantee):
    text = str(guarantee)
    assert "NOT PRIVATE" not in text
    for part in ("ε = 1, δ = 1e-06", "add-remove", "PROVED (page.md#theorem)", "one row"):
        assert part in text


def test_a_seed_leaves_a_stamp(guarantee):
    stamped = guarantee.seeded()
    assert guarantee.private
    assert not stamped.private
    assert str(stamped).startswith("NOT PRIVATE")
    assert "seed" in stamped.assumptions[-1]
    assert stamped.seeded() == stamped


def test_assumptions_are_added_once(guarantee):
    more = guarantee.assuming("the moon is made of cheese")
    assert more.assumptions == (*guarantee.assumptions, "the moon is made of cheese")
    assert more.assuming("the moon is made of cheese") is more
    assert pickle.loads(pickle.dumps(more)) == more  # noqa: S301


def test_a_refuted_mechanism_promises_nothing():
    refuted = Guarantee(None, Neighbours.REPLACE_ONE, Status.REFUTED, "page.md#gap")
    assert "none" in str(refuted)
    assert "REFUTED" in str(refuted)


@both
def test_the_gaussian_profile_agrees_with_dp_accounting(epsilon, delta):
    """The other library searches to about 1e-6, so its numbers are compared to that."""
    mu = gaussian_mu(epsilon, delta)
    sigma = dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert mu == pytest.approx(1 / sigma, rel=1e-5)
    there = dp_accounting.get_epsilon_gaussian(1 / mu, delta)
    assert gaussian_epsilon(mu, delta) == pytest.approx(there, rel=1e-5)


@both
def test_gaussian_searches_end_on_the_safe_side_and_close_to_it(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    assert gaussian_delta(epsilon, mu * (1 + 1e-7)) > delta
    back = gaussian_epsilon(mu, delta)
    assert gaussian_delta(back, mu) <= delta
    assert back == pytest.approx(epsilon, rel=1e-7)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-4, 1e-8), (1e-5, 1e-10), (1e-6, 1e-10), (3e-6, 1e-12)]
)
def test_gaussian_searches_are_safe_for_tiny_budgets_too(epsilon, delta):
    """Evaluated in fifty digits, so that rounding here excuses nothing there."""
    import mpmath

    with mpmath.workdps(50):

        def exact_delta(epsilon, mu):
            epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
            lower = mpmath.ncdf(-epsilon / mu - mu / 2)
            return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * lower

        mu = gaussian_mu(epsilon, delta)
        assert exact_delta(epsilon, mu) <= delta
        assert exact_delta(gaussian_epsilon(mu, delta), mu) <= delta


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [-3.0, -0.1, 0.0, 0.2, 2.0, 20.0])
def test_the_gaussian_profile_is_its_definition(mu, epsilon):
    import mpmath

    with mpmath.workdps(40):
        exact = mpmath.ncdf(mu / 2 - mpmath.mpf(epsilon) / mu)
        exact -= mpmath.exp(epsilon) * mpmath.ncdf(-mpmath.mpf(epsilon) / mu - mu / 2)
    tiny = float(exact) < 1e-290
    assert gaussian_delta(epsilon, mu) == pytest.approx(
        float(exact), rel=1e-9 if not tiny else 1, abs=1e-300
    )


def test_no_shift_reveals_nothing():
    assert gaussian_delta(0.5, 0.0) == 0.0
    assert gaussian_delta(-0.5, 0.0) == pytest.approx(1 - math.exp(-0.5))
    assert gaussian_epsilon(1e-9, 1e-6) == 0.0


@settings(max_examples=some(60))
@given(epsilon=st.floats(0.01, 10), mu=st.floats(0.05, 5), more=st.floats(1.001, 2.0))
def test_the_gaussian_profile_is_monotone(epsilon, mu, more):
    here = gaussian_delta(epsilon, mu)
    assert gaussian_delta(epsilon * more, mu) <= here <= gaussian_delta(epsilon, mu * more)


def test_zcdp_to_approx_in_numbers():
    assert float(zcdp_to_approx(Zcdp("0.02"), 1e-6).epsilon) == pytest.approx(
        0.8999, abs=1e-4
    )


@pytest.mark.parametrize("rho", [1e-3, 0.02, 0.5, 10.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_to_approx_agrees_with_dp_accounting(rho, delta):
    """The other library takes the best of given orders, so ours is at most as large."""
    ours = float(zcdp_to_approx(Zcdp(rho), delta).epsilon)
    orders = 1 + np.geomspace(1e-3, 1e6, 20_000)
    theirs, _ = dp_accounting.rdp.compute_epsilon(orders, rho * orders, delta)
    assert ours <= theirs * (1 + 1e-9)
    assert ours == pytest.approx(theirs, rel=1e-5)


def test_zcdp_that_a_generous_delta_pays_for_converts_to_almost_nothing():
    assert 0 < zcdp_to_approx(Zcdp(1e-4), 0.01).epsilon <= Fraction(1, 10**6)


@both
def test_approx_to_zcdp_is_the_way_back(epsilon, delta):
    rho = approx_to_zcdp(epsilon, delta)
    assert float(zcdp_to_approx(rho, delta).epsilon) <= epsilon * (1 + 1e-9)
    more = Zcdp(rho.rho * Fraction(10001, 10000))
    assert float(zcdp_to_approx(more, delta).epsilon) > epsilon


@settings(max_examples=some(40))
@given(rho=st.floats(1e-4, 10), delta=st.floats(1e-10, 0.01), more=st.floats(1.01, 2.0))
def test_zcdp_conversions_are_monotone(rho, delta, more):
    here = zcdp_to_approx(Zcdp(rho), delta).epsilon
    assert here < zcdp_to_approx(Zcdp(rho * more), delta).epsilon
    assert here > zcdp_to_approx(Zcdp(rho), delta * more).epsilon


def test_pure_budgets_convert_exactly():
    assert pure_to_approx(Pure("0.3"), 1e-6) == Approx("0.3", "1e-6")
    assert pure_to_zcdp(Pure("0.3")) == Zcdp("0.045")


@pytest.mark.parametrize("delta", [0, -1e-6, 1, 1.5, math.nan, None], ids=repr)
@pytest.mark.parametrize(
    "convert",
    [
        lambda delta: zcdp_to_approx(Zcdp("0.1"), delta),
        lambda delta: approx_to_zcdp(1.0, delta),
        lambda delta: pure_to_approx(Pure(1), delta),
    ],
    ids=["zcdp to approx", "approx to zcdp", "pure to approx"],
)
def test_conversions_refuse_a_delta_that_is_none(convert, delta):
    with pytest.raises(InvalidParameter, match="delta"):
        convert(delta)
