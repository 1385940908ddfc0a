"""Profiles, loss bounds and sums of losses are above their exact values, and near them."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.fft import rfft
from scipy.special import log_ndtr, ndtr

from confide.accounting import (
    ApproxEvent,
    GaussianEvent,
    LossBound,
    PureEvent,
    SubsampledGaussianEvent,
    approx_delta,
    as_zcdp,
    compose,
    copies_delta,
    gaussian_shift,
    loss_bound,
    sampled_renyi,
    sharp_renyi,
)
from confide.accounting import loss_sum as loss_sums
from confide.accounting.loss_divergences import ORDERS
from confide.accounting.loss_lattice import lattice_step, losses_epsilon, sum_of_events
from confide.accounting.loss_sum import Losses, LossSum
from confide.errors import InvalidParameter
from confide.privacy import (
    Approx,
    Zcdp,
    approx_to_zcdp,
    conversions,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    rounding,
    zcdp_to_approx,
)
from support.examples import some
from support.fifty_digits import (
    DIGITS,
    bound_delta,
    bound_log_moment,
    number,
    profile,
)

EPSILONS = (1e-6, 1e-3, 0.1, 1.0, 7.0, 50.0)
DELTAS = ("1e-300", "1e-100", "1e-20", "1e-9", "1e-5", "0.01", "0.4")
NEAR = 1e-11


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(DIGITS):
        yield


def shift_is_safe(epsilon, delta):
    return profile(epsilon, gaussian_mu(epsilon, delta)) <= number(delta)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_shift_keeps_its_budget_and_wastes_none(epsilon, delta):
    delta = Fraction(delta)
    mu = gaussian_mu(epsilon, delta)
    assert shift_is_safe(epsilon, delta)
    assert profile(epsilon, mu * (1 + NEAR)) > number(delta)
    back = gaussian_epsilon(mu, delta)
    assert profile(back, mu) <= number(delta)
    assert back == 0 or profile(back * (1 - 1e-9), mu) > number(delta)


@settings(max_examples=some(60), deadline=None)
@given(
    st.floats(-14, 4).map(lambda x: 10**x),
    st.floats(-8, 2).map(lambda x: 10**x),
    st.booleans(),
)
def test_delta_of_a_shift_is_the_next_double_or_two(epsilon, mu, turned):
    with mpmath.workdps(DIGITS):
        value = -min(epsilon, 20.0) if turned else epsilon
        exact = profile(value, mu)
        found = number(gaussian_delta(value, mu))
        assert exact <= found
        assert found <= max(exact * (1 + mpmath.mpf(2) ** -50), 1e-307)


def exact_conversion(rho, delta):
    """Return the least epsilon over orders that ρ-zCDP implies."""
    rho, delta = number(rho), number(delta)

    def at(power):
        alpha = 1 + mpmath.exp(power)
        odds = (mpmath.log(delta) + mpmath.log(alpha)) / (alpha - 1)
        return rho * alpha + mpmath.log(1 - 1 / alpha) - odds

    low = high = mpmath.log(mpmath.log(1 / delta) / rho) / 2
    low, high = low - 4, high + 4
    for _ in range(160):
        third = (high - low) / 3
        if at(low + third) < at(high - third):
            high -= third
        else:
            low += third
    return at((low + high) / 2)


@pytest.mark.parametrize("delta", ["1e-300", "1e-12", "1e-3", "0.4"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 3.0, 50.0])
def test_conversions_are_on_the_safe_side(epsilon, delta):
    rho = approx_to_zcdp(epsilon, delta).rho
    assert exact_conversion(rho, Fraction(delta)) <= number(Fraction(str(epsilon)))
    assert exact_conversion(rho * Fraction(1 + 1e-9), Fraction(delta)) > epsilon
    back = zcdp_to_approx(Zcdp(rho), delta).epsilon
    assert exact_conversion(rho, Fraction(delta)) <= number(back)


PIECES = LossBound(np.array([-3.0, -1.0, 0.5]), np.array([0.2, 0.3, 0.9]), 0.6)
BOUNDS = {
    "shift": gaussian_shift(0.8),
    "small shift": gaussian_shift(1e-5),
    "large shift": gaussian_shift(9.0),
    "folded": gaussian_shift(0.8, folded=True),
    "offset": gaussian_shift(0.02, offset=0.3),
    "pieces": PIECES,
    "folded pieces": LossBound(
        np.array([0.0, 1.0]), np.array([0.1, 0.4]), 0.5, folded=True
    ),
}
every_bound = pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)


@every_bound
@pytest.mark.parametrize("deviations", [0.3, 2.0, 6.0, 12.0, 30.0])
def test_delta_of_a_bound_is_above_the_integral(bound, deviations):
    start = float(np.interp(0.0, bound.knots, bound.values))
    epsilon = start + bound.slope * deviations
    exact = bound_delta(bound, epsilon)
    found = number(bound.delta(epsilon))
    assert exact <= found
    assert found <= exact * (1 + 1e-12 * (1 + deviations) ** 3 * (1 + 1 / bound.slope))


@every_bound
def test_moments_of_a_bound_are_above_the_integrals(bound):
    powers = np.array([-20.0, -1.0, 1e-3, 1.0, 7.0, 300.0])
    exact = [bound_log_moment(bound, power) for power in powers]
    above = bound.log_moments(powers)
    below = bound.log_moments(powers, -rounding.FUNCTION_ERROR)
    for low, true, high in zip(below, exact, above, strict=True):
        assert number(low) <= true <= number(high)
        assert number(high) - number(low) <= 1e-12 * (1 + abs(true) + 3e4 * bound.slope**2)


def test_divergences_of_a_pair_are_above_those_of_a_shift():
    orders = np.array([1.001, 1.5, 4.0, 60.0, 5000.0])
    for mu in (0.01, 0.3, 2.0):
        shift = gaussian_shift(mu)
        found = sharp_renyi(shift, shift, orders)
        exact = orders * mu**2 / 2
        for order, claim in zip(orders, found, strict=True):
            assert number(order) * number(mu) ** 2 / 2 <= number(claim)
        assert found[orders * mu < 20] == pytest.approx(exact[orders * mu < 20], rel=1e-5)


def exact_renyi_delta(orders, curve, epsilon):
    found = []
    for order, cost in zip(map(number, orders), map(number, curve), strict=True):
        power = (order - 1) * (cost - number(epsilon) + mpmath.log(1 - 1 / order))
        found.append(mpmath.exp(power) / order)
    return min(found)


@pytest.mark.parametrize("rho", [1e-9, 1e-3, 1.0, 200.0])
@pytest.mark.parametrize("deviations", [2.0, 8.0, 25.0])
def test_the_best_order_gives_a_delta_above_its_formula(rho, deviations):
    orders = ORDERS
    epsilon = rho + deviations * math.sqrt(2 * rho)
    exact = exact_renyi_delta(orders, rho * orders, epsilon)
    found = number(approx_delta(orders, rho * orders, epsilon))
    assert min(exact, 1) <= found <= min(exact * (1 + 1e-8), 1)


COINS = Losses(0.25, -2, np.array([0.125, 0.0, 0.25, 0.5, 0.0, 0.125]))
SLOPE = Losses(0.25, 0, np.array([0.5, 0.25, 0.125, 0.0625]), 2.0**-20)


def exact_sum_delta(parts, epsilon):
    """Convolve masses as fractions, and return the exact delta."""
    law, infinite = {0: Fraction(1)}, Fraction(0)
    for one, times in parts:
        pairs = zip(one.places.tolist(), one.masses.tolist(), strict=True)
        masses = {place: Fraction(mass) for place, mass in pairs if mass}
        infinite += times * Fraction(one.infinite)
        for _ in range(times):
            fresh = {}
            for here, chance in law.items():
                for there, mass in masses.items():
                    place = here + there
                    fresh[place] = fresh.get(place, Fraction(0)) + chance * mass
            law = fresh
    step = number(parts[0][0].step)
    return number(infinite) + mpmath.fsum(
        number(chance) * -mpmath.expm1(number(epsilon) - place * step)
        for place, chance in law.items()
        if place * step > epsilon
    )


def sum_share(parts, epsilon):
    """Return the claimed delta over the exact one."""
    return number(LossSum(parts).delta(epsilon)) / exact_sum_delta(parts, epsilon)


SUMS = [
    ((COINS, 1),),
    ((COINS, 7),),
    ((SLOPE, 40),),
    ((COINS, 9), (SLOPE, 5)),
    ((COINS, 60),),
]


@pytest.mark.parametrize(
    "parts", SUMS, ids=lambda parts: "+".join(str(n) for _, n in parts)
)
@pytest.mark.parametrize("part", [0.05, 0.3, 0.7, 0.95])
def test_a_sum_of_losses_pays_for_its_own_error(parts, part):
    most = sum(times * float(one.step * one.places[-1]) for one, times in parts)
    assert 1 <= sum_share(parts, part * most) <= 1 + 1e-9 + 1e-4 * part**20


def test_a_sum_of_losses_reaches_deltas_far_below_the_precision_of_doubles():
    assert exact_sum_delta(((COINS, 60),), 40.0) < 1e-30
    assert 1 <= sum_share(((COINS, 60),), 40.0) <= 1 + 1e-8


@settings(max_examples=some(40), deadline=None)
@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=12).filter(any),
    st.integers(-6, 2),
    st.integers(1, 12),
    st.floats(0.0, 1.0),
)
def test_any_sum_of_losses_is_above_its_exact_delta(weights, first, times, part):
    total = sum(weights)
    masses = np.array([weight / total for weight in weights])
    parts = ((Losses(0.125, first, masses), times),)
    most = times * 0.125 * (first + len(weights) - 1)
    epsilon = part * max(most, 0.0)
    with mpmath.workdps(DIGITS):
        exact = exact_sum_delta(parts, epsilon)
        found = number(LossSum(parts).delta(epsilon))
        assert exact <= found
        assert found <= exact * (1 + 1e-7) + 1e-13


@pytest.mark.parametrize("steps", [1, 40, 2500])
@pytest.mark.parametrize("delta", [1e-3, 1e-8, 1e-40])
def test_steps_on_a_lattice_cost_what_their_one_shift_does_or_a_little_more(steps, delta):
    mu = 0.5 / math.sqrt(steps)
    event = SubsampledGaussianEvent(1 / mu, Fraction(1), steps, "poisson")
    epsilon = losses_epsilon((event,), delta)
    exact = gaussian_epsilon(mu * math.sqrt(steps), delta)
    assert profile(epsilon, number(mu) * mpmath.sqrt(steps)) <= number(delta)
    assert epsilon <= 1.002 * exact


def step_delta(epsilon, multiplier, rate, turned):
    """Return the exact delta of one Poisson batch, in one direction or the other."""
    mu, rate, odds = 1 / number(multiplier), number(rate), mpmath.exp(number(epsilon))
    if turned:
        left = 1 - odds * (1 - rate)
        if left <= 0:
            return mpmath.mpf(0)
        cut = mpmath.log(left / (odds * rate)) / mu + mu / 2
        return mpmath.ncdf(cut) * left - odds * rate * mpmath.ncdf(cut - mu)
    cut = mpmath.log((odds - 1 + rate) / rate) / mu + mu / 2
    return rate * mpmath.ncdf(mu - cut) - (odds - 1 + rate) * mpmath.ncdf(-cut)


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 10), Fraction(9, 10)])
@pytest.mark.parametrize("multiplier", [0.4, 1.0, 8.0])
def test_one_batch_on_a_lattice_is_above_its_exact_delta(rate, multiplier):
    event = SubsampledGaussianEvent(multiplier, rate, 1, "poisson")
    found = sum_of_events((event,), 1e-30, lattice_step(event))
    for turned, losses in zip((False, True), found, strict=True):
        for part in (0.2, 1.0, 3.0):
            epsilon = part * float(rate) / multiplier
            exact = step_delta(epsilon, multiplier, rate, turned)
            assert exact <= number(losses.delta(epsilon))
            assert losses.epsilon(float(exact) + 1e-30) <= epsilon + 2 * losses.step


def test_known_charges_are_added_up_without_loss():
    events = (ApproxEvent(Fraction(1, 3), Fraction(1, 10**6)), PureEvent(Fraction(1, 7)))
    together = compose(events, Fraction(1, 10**6))
    assert Fraction(10, 21) <= together.epsilon <= Fraction(10, 21) * Fraction(1 + 1e-15)


@settings(max_examples=some(60), deadline=None)
@given(st.lists(st.floats(1e-9, 30.0), min_size=1, max_size=9))
def test_totals_of_a_ledger_are_above_exact_ones(shifts):
    events = [GaussianEvent(mu) for mu in shifts]
    exact = sum(Fraction(mu) ** 2 for mu in shifts) / 2
    rho = as_zcdp(events).rho
    assert exact <= rho <= exact * Fraction(1 + 1e-9)
    with mpmath.workdps(DIGITS):
        delta = Fraction(1, 10**9)
        epsilon = compose(events, delta).epsilon
        assert profile(epsilon, mpmath.sqrt(number(2 * exact))) <= number(delta)


def test_copies_cost_what_their_sum_does_or_a_little_more():
    for mu, copies, delta in ((0.3, 3, 1e-6), (0.05, 20, 1e-60)):
        whole = mu * math.sqrt(copies)
        epsilon = gaussian_epsilon(whole, delta)
        exact = profile(epsilon, number(mu) * mpmath.sqrt(copies))
        found = number(copies_delta(gaussian_shift(mu), copies, epsilon))
        assert exact <= found <= 1.4 * exact


MUTATIONS = {
    "a shift without its margin": (
        rounding,
        {"round_down": lambda x: float(x) * (1 + 2**-50), "_holds": lambda *_: True},
        lambda: not all(shift_is_safe(e, Fraction(d)) for e in EPSILONS for d in DELTAS),
    ),
    "conversions without what terms are off": (
        conversions,
        {"FUNCTION_ERROR": 0.0, "round_up": float, "round_down": float},
        lambda: any(
            exact_conversion(approx_to_zcdp(e, d).rho, Fraction(d))
            > number(Fraction(str(e)))
            for e in (1e-6, 0.1, 3.0, 50.0)
            for d in DELTAS
        ),
    ),
    "bounds without what differences are off": (
        loss_bound,
        {"FUNCTION_ERROR": 0.0, "round_up": float},
        lambda: any(
            number(bound.delta(place)) < bound_delta(bound, place)
            for bound in BOUNDS.values()
            for place in np.linspace(0.4, 12.0, 25) * bound.slope
        ),
    ),
    "sums without the error of their transforms": (
        loss_sums,
        {
            "STAGE_ERROR": 0.0,
            "PRODUCT_ERROR": 0.0,
            "FUNCTION_ERROR": 0.0,
            "round_up": float,
        },
        lambda: any(
            sum_share(parts, place) < 1
            for parts in SUMS[1:]
            for place in np.linspace(0.1, 3.0, 12)
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_without_outward_rounding_a_claim_breaks(mutation, monkeypatch):
    module, changes, breaks = MUTATIONS[mutation]
    assert not breaks()
    for name, value in changes.items():
        monkeypatch.setattr(module, name, value)
    gaussian_mu.cache_clear()
    try:
        assert breaks()
    finally:
        gaussian_mu.cache_clear()


def test_budgets_of_tiny_deltas_are_certified_or_refused():
    assert shift_is_safe(1.0, Approx(1, "1e-300").delta)
    with pytest.raises(InvalidParameter, match="delta must be between 1e-300 and 1"):
        Approx(1, "1e-301")


def exact_divergence(order, multiplier, rate):
    """Return D_α of one Poisson batch."""
    mu, rate, order = 1 / number(multiplier), number(rate), number(order)

    def power(z):
        ratio = 1 - rate + rate * mpmath.exp(mu * z - mu**2 / 2)
        return ratio**order * mpmath.npdf(z)

    ends = [-16, 0, *(order * mu * part for part in (0.5, 1)), order * mu + 16]
    total = mpmath.quad(power, sorted(ends))
    return mpmath.log(total) / (order - 1)


@pytest.mark.parametrize(
    "order", [1.02, 9.5, *(pytest.param(o, marks=pytest.mark.slow) for o in (2.0, 120.0))]
)
@pytest.mark.parametrize(("multiplier", "rate"), [(0.6, 0.01), (2.0, 1e-3), (1.0, 0.5)])
def test_divergences_of_batches_are_above_their_integrals(order, multiplier, rate):
    exact = exact_divergence(order, multiplier, rate)
    found = number(sampled_renyi(order, multiplier, rate, "poisson"))
    assert exact <= found <= exact * (1 + 1e-6)


@pytest.mark.parametrize("place", [-37.0, -9.3, -1.0, -0.2, 0.0, 0.7, 6.0])
def test_library_functions_are_as_good_as_margins_assume(place):
    unit = mpmath.mpf(rounding.FUNCTION_ERROR)
    for x in np.linspace(place, place + 0.3, 60):
        tail = mpmath.ncdf(number(x))
        log = mpmath.log(tail) if x < 0 else mpmath.log1p(-mpmath.ncdf(-number(x)))
        assert abs(number(ndtr(x)) - tail) <= unit / 4 * (1 + number(x) ** 2) * tail
        assert abs(number(log_ndtr(x)) - log) <= unit / 4 * (1 + abs(log))


@pytest.mark.slow
@pytest.mark.parametrize("bits", [3, 8, 11])
def test_transforms_are_as_good_as_their_stages_allow(bits):
    count = 1 << bits
    masses = np.linspace(1.0, 2.0, count) ** 7
    masses /= masses.sum()
    found = rfft(masses)
    for place in range(0, count // 2 + 1, max(1, count // 64)):
        turn = -2 * mpmath.pi * place / count
        exact = mpmath.fsum(
            number(mass) * mpmath.expj(turn * k) for k, mass in enumerate(masses)
        )
        error = abs(mpmath.mpc(complex(found[place])) - exact)
        assert error <= loss_sums.STAGE_ERROR / 4 * bits
