"""Loss bounds against quadrature, and composition against dp_accounting."""

import itertools
import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr

from confide.accounting import (
    ORDERS,
    ApproxEvent,
    GaussianEvent,
    LossBound,
    PureEvent,
    ZcdpEvent,
    approx_delta,
    as_pure,
    as_zcdp,
    compose,
    copies_delta,
    gaussian_shift,
    rho_of_curve,
    sharp_renyi,
    zcdp_rho,
)
from confide.errors import InvalidParameter
from confide.privacy import Approx, Pure, gaussian_delta, gaussian_epsilon

KNOTS = np.array([-2.0, -0.5, 0.3, 1.7])
VALUES = np.array([0.1, 0.2, 0.6, 2.0])
BOUNDS = {
    "shift": gaussian_shift(0.7),
    "folded shift": gaussian_shift(0.7, folded=True),
    "shift with an offset": gaussian_shift(0.4, offset=0.3),
    "folded shift with an offset": gaussian_shift(0.4, offset=0.3, folded=True),
    "pieces": LossBound(KNOTS, VALUES, 1.2),
    "folded pieces": LossBound(
        np.array([0.0, 0.4, 1.5]), np.array([0.2, 0.3, 1.0]), 0.9, folded=True
    ),
    "flat piece": LossBound(np.array([-1.0, 1.0]), np.array([0.4, 0.4]), 0.5),
}
every_bound = pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)


def loss(bound, z):
    """Evaluate M(z) from its definition: constant, then linear, then the last slope."""
    z = abs(z) if bound.folded else z
    beyond = bound.slope * max(0.0, z - bound.knots[-1])
    return float(np.interp(z, bound.knots, bound.values)) + beyond


def last_place(bound, level):
    """Return the largest z >= (0 or −40) with M(z) <= level, by bisection."""
    low, high = (0.0 if bound.folded else -40.0), 40.0
    if loss(bound, low) > level:
        return -math.inf
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(bound, middle) <= level else (low, middle)
    return low


def expectation(bound, f, *kinks):
    """Integrate f(M(z)) against the normal density, piece by piece."""
    places = [*kinks, *bound.knots, *range(-14, 15)]
    ends = sorted({float(x) for place in places for x in (place, -place) if abs(x) <= 14})
    return sum(
        quad(
            lambda z: f(loss(bound, z)) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi),
            low,
            high,
            epsabs=1e-16,
            epsrel=1e-10,
        )[0]
        for low, high in itertools.pairwise(ends)
    )


@every_bound
@pytest.mark.parametrize("epsilon", [-2.0, -0.3, 0.0, 0.15, 0.5, 1.3, 3.0])
def test_delta_is_the_integral_that_it_claims(bound, epsilon):
    def gain(m):
        return max(0.0, -math.expm1(epsilon - m))

    exact = expectation(bound, gain, max(-14.0, last_place(bound, epsilon)))
    assert bound.delta(epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-15)


@every_bound
def test_moments_are_the_integrals_that_they_claim(bound):
    powers = np.array([-3.0, -1.0, 0.0, 0.01, 1.0, 2.5])
    exact = [math.log(expectation(bound, lambda m, k=k: math.exp(k * m))) for k in powers]
    np.testing.assert_allclose(bound.log_moments(powers), exact, rtol=1e-9, atol=1e-11)
    orders = np.array([1.01, 2.0, 3.5])
    np.testing.assert_allclose(
        bound.renyi(orders), bound.log_moments(orders - 1) / (orders - 1)
    )


@every_bound
def test_chances_are_those_of_the_loss(bound):
    levels = np.array([0.0, 0.05, 0.15, 0.35, 0.4, 0.7, 1.5, 4.0])
    places = np.array([last_place(bound, level) for level in levels])
    exact = np.minimum(2 * ndtr(-places), 1) if bound.folded else ndtr(-places)
    np.testing.assert_allclose(bound.chance_above(levels), exact, rtol=1e-11, atol=1e-12)
    assert (bound.chance_above(levels) >= exact * (1 - 1e-14)).all()


@pytest.mark.parametrize("mu", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("epsilon", [-1.5, -0.01, 0.0, 0.4, 2.0])
def test_closed_forms_of_a_gaussian_shift(mu, epsilon):
    """The closed forms of objective-gaussian-add-remove, both signs of epsilon."""
    plain = (
        gaussian_delta(epsilon, mu)
        if epsilon >= 0
        else 1 - 2 * math.exp(epsilon) * ndtr(-mu / 2)
    )
    assert gaussian_shift(mu).delta(epsilon) == pytest.approx(plain, rel=1e-9, abs=1e-15)
    start = max(0.0, epsilon / mu - mu / 2)
    folded = 2 * ndtr(-start) - 2 * math.exp(epsilon) * ndtr(-start - mu)
    assert gaussian_shift(mu, folded=True).delta(epsilon) == pytest.approx(
        folded, rel=1e-9, abs=1e-15
    )
    shifted = gaussian_shift(mu, offset=0.3).delta(epsilon + 0.3)
    assert shifted == pytest.approx(plain, rel=1e-9, abs=1e-15)
    assert folded <= 2 * gaussian_delta(epsilon, mu) + 1e-15


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0])
def test_a_plain_gaussian_costs_half_its_squared_shift(mu):
    shift = gaussian_shift(mu)
    rho = zcdp_rho(((shift, shift),))
    assert mu**2 / 2 <= rho <= 1.01 * mu**2 / 2


@pytest.mark.parametrize("mu", [0.1, 1.0])
def test_sharp_divergences_of_a_plain_gaussian_are_exact(mu):
    """Formula (3) gives exactly α·mu²/2 when both directions are a plain shift."""
    shift = gaussian_shift(mu)
    orders = np.array([1.1, 1.5, 2.0, 4.0, 10.0])
    sharp = sharp_renyi(shift, shift, orders)
    np.testing.assert_allclose(sharp, orders * mu**2 / 2, rtol=1e-8)
    assert np.all(sharp <= shift.renyi(orders))


@every_bound
def test_rho_bounds_the_divergence_of_every_order(bound):
    curve = bound.renyi(ORDERS)
    rho = rho_of_curve(curve, bound)
    between = 1 + np.geomspace(2e-3, 9e4, 777)
    assert np.all(bound.renyi(between) <= rho * between * (1 + 1e-12))
    assert rho <= 1.02 * max(float((curve / ORDERS).max()), float(curve[0]))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_delta_from_divergences_is_above_the_true_one(epsilon):
    mu = 0.6
    found = approx_delta(ORDERS, ORDERS * mu**2 / 2, epsilon)
    true = gaussian_delta(epsilon, mu)
    assert true <= found <= 12 * true


def test_delta_from_divergences_is_at_most_one():
    assert approx_delta(ORDERS, 50 * ORDERS, 0.1) <= 1.0


@pytest.mark.parametrize(("copies", "epsilon"), [(2, 0.8), (5, 1.0), (10, 2.0)])
def test_copies_of_a_gaussian_compose_as_gaussians_do(copies, epsilon):
    """Forgetting negative losses costs something, so the bound is above but near."""
    mu = 0.2
    found = copies_delta(gaussian_shift(mu), copies, epsilon)
    exact = gaussian_delta(epsilon, mu * math.sqrt(copies))
    assert exact * (1 - 1e-9) <= found
    draws = np.random.default_rng(0).normal(size=(400_000, copies))
    losses = np.maximum(mu * draws + mu**2 / 2, 0).sum(axis=1)
    gains = np.maximum(1 - np.exp(epsilon - losses), 0)
    error = gains.std() / math.sqrt(len(gains))
    assert found == pytest.approx(gains.mean(), abs=6 * error, rel=2e-3)


def test_one_copy_is_the_bound_itself():
    for bound in (BOUNDS["pieces"], BOUNDS["folded shift with an offset"]):
        found = copies_delta(bound, 1, 0.9)
        assert bound.delta(0.9) <= found * (1 + 1e-9)
        assert found == pytest.approx(bound.delta(0.9), rel=2e-3)


def test_gaussian_events_compose_in_closed_form():
    events = [GaussianEvent(0.3), GaussianEvent(0.4), GaussianEvent(1.2)]
    found = compose(events, 1e-6)
    assert found.delta == Fraction(1, 10**6)
    assert float(found.epsilon) == pytest.approx(gaussian_epsilon(1.3, 1e-6), rel=1e-9)
    theirs = dp_accounting.get_epsilon_gaussian(1 / 1.3, 1e-6)
    assert float(found.epsilon) == pytest.approx(theirs, rel=1e-5)


def test_pure_events_compose_better_than_they_add():
    events = [PureEvent(Fraction(1, 10))] * 30
    found = float(compose(events, 1e-6).epsilon)
    one = pld.from_privacy_parameters(
        dp_accounting.pld.common.DifferentialPrivacyParameters(0.1, 0.0)
    )
    theirs = one.self_compose(30).get_epsilon_for_delta(1e-6)
    assert found == pytest.approx(theirs, rel=1e-3)
    assert found < 3.0


def test_mixtures_without_zcdp_agree_with_an_accountant():
    events = [
        GaussianEvent(0.5),
        PureEvent(Fraction(1, 5)),
        ApproxEvent(Fraction(1, 10), Fraction(1, 10**8)),
    ]
    found = float(compose(events, 1e-6).epsilon)
    common = dp_accounting.pld.common.DifferentialPrivacyParameters
    total = pld.from_gaussian_mechanism(2.0)
    total = total.compose(pld.from_privacy_parameters(common(0.2, 0.0)))
    total = total.compose(pld.from_privacy_parameters(common(0.1, 1e-8)))
    assert found == pytest.approx(total.get_epsilon_for_delta(1e-6), rel=1e-6)
    assert found > gaussian_epsilon(0.5, 1e-6)


def test_mixtures_with_zcdp_are_between_their_parts_and_the_sum_in_zcdp():
    events = [ZcdpEvent(Fraction(1, 50)), PureEvent(Fraction(1, 5)), GaussianEvent(0.1)]
    found = float(compose(events, 1e-6).epsilon)
    line = as_zcdp(events)
    assert line is not None
    assert float(line.rho) == pytest.approx(0.02 + 0.02 + 0.005)
    alone = float(compose(events[:1], 1e-6).epsilon)
    assert alone == pytest.approx(0.8999, abs=1e-3)
    orders = 1 + np.geomspace(1e-2, 1e4, 5000)
    theirs, _ = dp_accounting.rdp.compute_epsilon(orders, float(line.rho) * orders, 1e-6)
    assert alone < found <= theirs * (1 + 1e-4)


def test_approximate_events_among_zcdp_cost_half_the_delta():
    rough = ApproxEvent(Fraction(1, 2), Fraction(1, 10**8))
    found = compose([ZcdpEvent(Fraction(1, 50)), rough], 1e-6)
    alone = compose([ZcdpEvent(Fraction(1, 50))], 5e-7)
    assert found.delta == Fraction(1, 10**6)
    assert float(found.epsilon) == pytest.approx(float(alone.epsilon) + 0.5, rel=1e-3)


@settings(max_examples=15)
@given(
    mus=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=5), extra=st.floats(0.1, 1.0)
)
def test_one_more_event_costs_more(mus, extra):
    events = [GaussianEvent(mu) for mu in mus]
    less = compose(events, 1e-6).epsilon
    assert compose([*events, GaussianEvent(extra)], 1e-6).epsilon > less


def test_sums_in_one_currency():
    pure = [PureEvent(Fraction(1, 10))] * 10
    assert as_pure(pure) == Pure(1)
    assert float(as_zcdp(pure).rho) == pytest.approx(10 * 0.005, rel=1e-9)
    assert float(as_zcdp(pure).rho) >= 0.05
    assert as_pure([*pure, GaussianEvent(1.0)]) is None
    assert as_zcdp([*pure, ApproxEvent(Fraction(1), Fraction(1, 100))]) is None


def test_nothing_costs_next_to_nothing():
    assert isinstance(compose([], 1e-6), Approx)
    assert compose([], 1e-6).epsilon <= Fraction(1, 10**9)


def test_a_delta_below_what_the_events_need_is_refused_in_plain_words():
    event = ApproxEvent(Fraction(1), Fraction(1, 10**6))
    assert float(compose([event], 1e-6).epsilon) == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(InvalidParameter, match="delta"):
        compose([event], 1e-7)
