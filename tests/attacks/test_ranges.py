"""Black-box attacks on ranges that are bought: which of two tables were they bought from?

An attacker buys many ranges from either table. One half of them tells which ranges speak
for the first table, the other half, which was not looked at, how often they do.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, norm

from confide.data.schema.range_grid import RangeGrid
from confide.mechanisms.ranges.mechanism import range_noise
from confide.mechanisms.ranges.read_range import RangeQuery, read_range
from confide.noise import Entropy
from confide.privacy import Neighbours, Pure, Zcdp

pytestmark = pytest.mark.slow

PURCHASES = 20_000
FALSE_ALARM = 1e-4
"""The chance that an attack on noise that is long enough succeeds, at most."""
GRID = RangeGrid(np.array([0.0, 1.0, 2.0, 4.0]))
PAIRS = {
    "one value or none": ([3.0], []),
    "none or one value": ([], [3.0]),
    "eight values or seven": ([3.0] * 8, [3.0] * 7),
    "seven values or eight": ([3.0] * 7, [3.0] * 8),
}
every_pair = pytest.mark.parametrize("pair", list(PAIRS))
every_limit = pytest.mark.parametrize("has_limits", [True, False])


def purchases(values, has_limits, noise, seed):
    query = RangeQuery("x", GRID, 0.01, 0.01, has_limits)
    counts, entropy = GRID.count(np.array(values, dtype=float)), Entropy.seeded(seed)
    return [read_range(query, counts, noise, entropy) for _ in range(PURCHASES)]


def chances(inside, count, error):
    """Return exact bounds on a chance, each wrong with a chance of ``error``."""
    low = beta.ppf(error, inside, count - inside + 1) if inside else 0.0
    high = beta.ppf(1 - error, inside + 1, count - inside) if inside < count else 1.0
    return low, high


def log_ratio(low, high):
    """Return what pure privacy bounds: how much more often the first table says so."""
    return float(np.log(low / high)) if low else -np.inf


def shift(low, high):
    """Return what Gaussian privacy bounds: how far apart two unit normals are."""
    return float(norm.ppf(low) - norm.ppf(high))


def attack(pair, has_limits, noise, measure):
    """Return what was found of the loss: hardly ever more than it is."""
    first, second = (purchases(v, has_limits, noise, s) for s, v in enumerate(PAIRS[pair]))
    half = PURCHASES // 2
    seen, other = Counter(first[:half]), Counter(second[:half])
    order = sorted({*seen, *other}, key=lambda ends: (other[ends] + 1) / (seen[ends] + 1))

    def strength(most, counted, error):
        event = set(order[:most])
        inside = [sum(ends in event for ends in side) for side in counted]
        low, _ = chances(inside[0], half, error)
        _, high = chances(inside[1], half, error)
        return measure(low, high)

    looked_at, kept = (first[:half], second[:half]), (first[half:], second[half:])
    best = max(range(1, len(order) + 1), key=lambda most: strength(most, looked_at, 0.05))
    return strength(best, kept, FALSE_ALARM / 2)


@every_limit
@every_pair
def test_ranges_with_laplace_noise_tell_no_more_than_was_paid(pair, has_limits):
    noise, event = range_noise(Pure(4), 1, Neighbours.ADD_REMOVE)
    assert attack(pair, has_limits, noise, log_ratio) <= event.epsilon


@every_limit
@every_pair
def test_ranges_with_normal_noise_tell_no_more_than_was_paid(pair, has_limits):
    noise, event = range_noise(Zcdp(2), 1, Neighbours.ADD_REMOVE)
    assert attack(pair, has_limits, noise, shift) <= event.mu


def test_too_little_noise_would_be_seen():
    """Of normal noise the half, of Laplace noise a third."""
    laplace, event = range_noise(Pure(4), 1, Neighbours.ADD_REMOVE)
    short = replace(laplace, scale=laplace.scale / 3)
    assert max(attack(pair, False, short, log_ratio) for pair in PAIRS) > event.epsilon
    normal, event = range_noise(Zcdp(2), 1, Neighbours.ADD_REMOVE)
    short = replace(normal, scale=normal.scale / 2)
    assert max(attack(pair, False, short, shift) for pair in PAIRS) > event.mu
