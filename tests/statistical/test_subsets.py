"""Random batches have exactly the law that their accounting is about.

All tests are chi-square with fixed seeds; each raises a false alarm once in 10 000 seeds.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from confide.noise import Entropy, fixed_size_subsets, poisson_subsets

ALARM = 1e-4
DRAWS = 20_000


def first(stream, count):
    return [np.sort(next(stream)).tolist() for _ in range(count)]


@pytest.mark.parametrize(("count", "size"), [(5, 2), (6, 3), (5, 4), (4, 1)])
def test_all_subsets_of_a_size_are_equally_likely(count, size):
    drawn = first(fixed_size_subsets(count, size, Entropy.seeded(11)), DRAWS)
    index = {subset: i for i, subset in enumerate(combinations(range(count), size))}
    places = [index[tuple(subset)] for subset in drawn]
    found = np.bincount(places, minlength=len(index))
    assert chisquare(found).pvalue > ALARM


def test_large_subsets_have_different_places_and_no_favourites():
    stream = fixed_size_subsets(1000, 90, Entropy.seeded(12))
    drawn = np.array(first(stream, 4000))
    assert (np.diff(drawn, axis=1) > 0).all()
    found = np.bincount(drawn.ravel(), minlength=1000)
    spread = 4000 * 0.09 * 0.91
    assert chisquare(found).statistic * 0.09 * 4000 / spread < 1000 + 5 * np.sqrt(2000)
    pairs = np.bincount((drawn[:, ::2] // 500).sum(axis=1), minlength=46)
    assert abs(pairs @ np.arange(46) / 4000 - 22.5) < 0.3


def test_the_whole_table_and_its_complement():
    assert first(fixed_size_subsets(3, 3, Entropy.seeded(1)), 2) == [[0, 1, 2]] * 2


def test_every_combination_of_a_batch_by_chance():
    """Four places at rate 2/5: the sixteen sets have product probabilities."""
    rate = Fraction(2, 5)
    drawn = first(poisson_subsets(4, rate, Entropy.seeded(13)), DRAWS)
    found = np.zeros(16)
    for subset in drawn:
        found[sum(2**place for place in subset)] += 1
    sizes = np.array([i.bit_count() for i in range(16)])
    expected = DRAWS * 0.4**sizes * 0.6 ** (4 - sizes)
    assert chisquare(found, expected).pvalue > ALARM


def test_sizes_of_batches_by_chance_are_binomial_and_batches_independent():
    stream = poisson_subsets(300, Fraction(1, 50), Entropy.seeded(14))
    sizes = np.array([len(next(stream)) for _ in range(DRAWS)])
    most = 16
    law = binom(300, 0.02)
    expected = np.append(law.pmf(np.arange(most)), law.sf(most - 1)) * DRAWS
    assert chisquare(np.bincount(np.minimum(sizes, most)), expected).pvalue > ALARM
    related = np.corrcoef(sizes[1:], sizes[:-1])[0, 1]
    assert abs(related) < 4 / np.sqrt(DRAWS)


@pytest.mark.slow
def test_a_wrong_rate_would_be_noticed():
    drawn = first(poisson_subsets(4, Fraction(41, 100), Entropy.seeded(13)), 4 * DRAWS)
    found = sum(len(subset) for subset in drawn)
    assert abs(found / (16 * DRAWS) - 0.4) > 4 * np.sqrt(0.24 / (16 * DRAWS))


def test_an_empty_table_has_empty_batches():
    assert first(poisson_subsets(0, Fraction(1, 2), Entropy.seeded(1)), 3) == [[]] * 3


@pytest.mark.parametrize("limit", [1, 7, 2**20, 2**63 + 1])
def test_whole_numbers_below_a_limit_are_even(limit):
    """2**63 + 1 rejects nearly half of all words: the loop that redraws them is used."""
    drawn = Entropy.seeded(15).below(limit, DRAWS)
    values = drawn.astype(np.float64) % 2**64 / limit
    assert values.min() >= 0
    assert values.max() < 1
    if limit >= 7:
        cells = np.bincount((values * 7).astype(int), minlength=7)
        assert chisquare(cells).pvalue > ALARM
