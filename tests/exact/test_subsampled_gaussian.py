"""The hockey-stick divergences of real pairs of tables, by quadrature, against the claim.

One step is a mixture of normals on a line, two steps a product on a plane. A claim of
(ε, δ) holds if δ is not exceeded at ε, in either direction.
"""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from confide.accounting import epsilon_for, sampled_renyi
from confide.accounting.events import SubsampledGaussianEvent
from confide.accounting.loss_lattice import FINE, lattice_step, sum_of_events

BATCH, ROWS = 3, 10
RATE = Fraction(BATCH, ROWS)
DELTAS = [1e-2, 1e-4, 1e-6]
MULTIPLIERS = [0.5, 1.0, 3.0]
LINE = np.linspace(-1, 1, 20_001)


def mixture(grid, parts, sd):
    """Return the density at every point of normals with means and chances."""
    return sum(
        chance * np.exp(-0.5 * ((grid - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        for mean, chance in parts
    )


def poisson_pairs():
    """Return laws of a batch's sum without and with a record of length 1."""
    q = float(RATE)
    yield [(0.0, 1.0)], [(0.0, 1 - q), (1.0, q)]
    half = [(0.0, (1 - q) ** 2), (0.5, 2 * q * (1 - q)), (1.0, q**2)]
    yield half, [(m + s, c * d) for m, c in half for s, d in ((0.0, 1 - q), (-0.9, q))]


def fixed_size_pairs():
    """Return laws of a batch's sum for tables that differ in one record of length 1.

    The others' values are −1 for all, 0 for all, or −1 for some and +1 for the rest.
    """
    q = float(RATE)
    for others in (-1.0, 0.0):
        base = BATCH * others
        yield tuple([(base, 1 - q), (base - others + own, q)] for own in (-1.0, 1.0))
    for own in ((-1.0, 1.0), (1.0, 0.2)):
        yield tuple(_with_mixed_others(record) for record in own)


def _with_mixed_others(own):
    ups, rest = 4, ROWS - 1
    parts = []
    for drawn, chance, extra in (
        (BATCH, 1 - float(RATE), 0.0),
        (BATCH - 1, float(RATE), own),
    ):
        for up in range(min(ups, drawn) + 1):
            ways = comb(ups, up) * comb(rest - ups, drawn - up) / comb(rest, drawn)
            parts.append((2 * up - drawn + extra, chance * ways))
    return parts


PAIRS = {"poisson": list(poisson_pairs()), "without-replacement": list(fixed_size_pairs())}
REACH = {"poisson": 1.0, "without-replacement": 2.0}


def line_for(pair, sd):
    means = [mean for law in pair for mean, _ in law]
    middle, half = (max(means) + min(means)) / 2, (max(means) - min(means)) / 2
    return middle + LINE * (half + 12 * sd)


def one_step_delta(pair, sd, epsilon):
    """Return the larger of both directions' ∫(p − e^ε q)₊."""
    grid = line_for(pair, sd)
    first, second = (mixture(grid, law, sd) for law in pair)
    width = grid[1] - grid[0]
    return max(
        float(np.maximum(p - np.exp(epsilon) * q, 0).sum() * width)
        for p, q in ((first, second), (second, first))
    )


def two_step_delta(pairs, sd, epsilon, points=1500):
    """Return the same for a product of two steps, whose pairs may differ."""
    laws = []
    for pair in pairs:
        grid = line_for(pair, sd)[:: len(LINE) // points]
        width = grid[1] - grid[0]
        laws.append([mixture(grid, law, sd) * width for law in pair])
    first, second = (np.multiply.outer(laws[0][i], laws[1][i]) for i in (0, 1))
    return max(
        float(np.maximum(p - np.exp(epsilon) * q, 0).sum())
        for p, q in ((first, second), (second, first))
    )


def worst_share(how, multiplier, delta, *, noise=1.0, rate=RATE):
    """Return the largest true δ over the claimed one; ``noise`` and ``rate`` can lie."""
    sd = noise * multiplier * REACH[how]
    epsilon = epsilon_for(multiplier, 1, delta, rate=rate, sampling=how)
    return max(one_step_delta(pair, sd, epsilon) for pair in PAIRS[how]) / delta


every_way = pytest.mark.parametrize("how", PAIRS)


@every_way
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
@pytest.mark.parametrize("delta", DELTAS)
def test_one_step_keeps_its_claim_and_uses_it_up(how, multiplier, delta):
    share = worst_share(how, multiplier, delta)
    assert 0.98 < share <= 1 + 1e-6


@every_way
@pytest.mark.parametrize("multiplier", [0.7, 2.0])
def test_two_steps_keep_their_claim(how, multiplier):
    delta, sd = 1e-3, multiplier * REACH[how]
    epsilon = epsilon_for(multiplier, 2, delta, rate=RATE, sampling=how)
    pairs = PAIRS[how]
    products = [(pair, pair) for pair in pairs]
    if how == "without-replacement":
        products.append((pairs[0], pairs[0][::-1]))
    true = [two_step_delta(product, sd, epsilon) for product in products]
    assert max(true) <= delta * (1 + 1e-6)
    assert max(true) > (0.98 if how == "poisson" else 0.5) * delta


@every_way
@pytest.mark.parametrize("multiplier", [0.7, 2.0])
@pytest.mark.parametrize("order", [1.3, 2.0, 5.0])
def test_divergences_of_real_pairs_are_below_the_bound(how, multiplier, order):
    sd = multiplier * REACH[how]
    bound = sampled_renyi(order, multiplier, float(RATE), how)
    found = []
    for pair in PAIRS[how]:
        grid = line_for(pair, sd)
        first, second = (np.log(mixture(grid, law, sd) + 1e-300) for law in pair)
        for p, q in ((first, second), (second, first)):
            total = np.exp(order * p + (1 - order) * q).sum() * (grid[1] - grid[0])
            found.append(np.log(total) / (order - 1))
    assert max(found) <= bound * (1 + 1e-8)
    assert max(found) >= (0.9999 if how == "poisson" else 0.6) * bound


@every_way
def test_the_whole_profile_is_above_the_true_one(how):
    event = SubsampledGaussianEvent(1.0, RATE, 1, how)
    losses = sum_of_events((event,), 1e-6, lattice_step(event, per_deviation=FINE))
    for epsilon in np.linspace(0.0, 3.0, 13):
        true = max(one_step_delta(pair, REACH[how], epsilon) for pair in PAIRS[how])
        claimed = max(one.delta(epsilon) for one in losses)
        assert true <= claimed * (1 + 1e-6) + 1e-9
        assert claimed <= true * 1.02 + 1e-6


@pytest.mark.parametrize(
    ("how", "lie"),
    [
        ("without-replacement", {"noise": 0.5}),
        ("poisson", {"noise": 0.9}),
        ("poisson", {"rate": RATE / 2}),
        ("without-replacement", {"rate": RATE / 2}),
    ],
    ids=["C for 2C", "a tenth less noise", "half the rate", "half the rate, fixed size"],
)
def test_a_wrong_constant_breaks_the_claim(how, lie):
    assert worst_share(how, 1.0, 1e-4, **lie) > 1.3
