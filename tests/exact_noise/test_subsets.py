"""Coins, orders, groups and subsets with exactly the chances that they name."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from confide.errors import InvalidParameter
from confide.noise import Entropy
from confide.noise.staircase import EXPONENTIAL
from confide.noise.subsets import (
    assign_groups,
    coins,
    geometric,
    poisson_subsets,
    shuffle,
)
from support.exact_noise import (
    DIGITS,
    FALSE_ALARM,
    FEW,
    MANY,
    Script,
    box_word,
    number_of,
    p_value,
    random_words,
)

SIZES = [pytest.param(FEW), pytest.param(MANY, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", SIZES)
def test_coins_at_the_edge_compare_all_digits_of_their_rate(count):
    rng = np.random.default_rng(51)
    for top, extra in zip(rng.integers(1, 10**9, count), range(count), strict=True):
        rate = Fraction(int(top), 10**9 + 7)
        first = int(rate * 2**64)
        second = int(rate * 2**128) - (first << 64) + (-1, 0, 1)[extra % 3]
        script = Script([first, min(max(second, 0), 2**64 - 1), 2**63])
        found = coins(rate, 1, script.entropy)[0]
        drawn = sum(Fraction(w, 2 ** (64 * k)) for k, w in enumerate(script.log, start=1))
        assert found == (drawn < rate)
        assert len(script.log) >= 2


def test_a_coin_of_a_double_is_that_double():
    """0.1 is a little more than a tenth: its digits end after 55 bits."""
    digits = int(Fraction(0.1) * 2**64)
    for word, heads in ((digits - 1, True), (digits, False)):
        assert coins(0.1, 1, Script([word]).entropy)[0] == heads
    assert coins(1, 3, Script([]).entropy).all()
    assert not coins(0, 3, Script([0, 0, 0]).entropy).any()
    for bad in (-0.1, 1.1):
        with pytest.raises(InvalidParameter, match="rate"):
            coins(bad, 1, Entropy.seeded(0))


def test_orders_are_equally_likely():
    """Chi-square over the 24 orders of four; false alarm 1e-6."""
    entropy = Entropy.seeded(52)
    index = {order: i for i, order in enumerate(itertools.permutations(range(4)))}
    drawn = [index[tuple(shuffle(4, entropy).tolist())] for _ in range(12_000)]
    counts = np.bincount(drawn, minlength=24)
    assert p_value(counts, np.full(24, 1 / 24)) > FALSE_ALARM


def test_equal_words_are_drawn_again():
    script = Script([5, 5, 1, 9, 2, 4])
    assert shuffle(3, script.entropy).tolist() == [1, 2, 0]
    assert len(script.log) == 6


def test_groups_are_equally_likely():
    counts = np.bincount(assign_groups(30_000, 7, Entropy.seeded(53)), minlength=7)
    assert p_value(counts, np.full(7, 1 / 7)) > FALSE_ALARM


def test_words_that_would_favour_a_group_are_drawn_again():
    last = 2**64 - 1
    assert assign_groups(1, 3, Script([last, 4]).entropy).tolist() == [1]


@pytest.mark.parametrize("rate", [Fraction(2, 5), Fraction(9, 10)])
def test_every_subset_by_chance(rate):
    """Chi-square over the sixteen subsets of four places; false alarm 1e-6."""
    stream = poisson_subsets(4, rate, Entropy.seeded(54))
    counts = np.zeros(16)
    for _ in range(20_000):
        counts[sum(2 ** int(place) for place in next(stream))] += 1
    sizes = np.array([i.bit_count() for i in range(16)])
    chances = float(rate) ** sizes * float(1 - rate) ** (4 - sizes)
    assert p_value(counts, chances) > FALSE_ALARM


def test_large_subsets_have_their_size_and_no_favourites():
    stream = poisson_subsets(1000, Fraction(1, 50), Entropy.seeded(55))
    drawn = [next(stream).copy() for _ in range(3000)]
    assert all((np.diff(subset) > 0).all() for subset in drawn)
    places = np.bincount(np.concatenate(drawn), minlength=1000)
    score = ((places - 60.0) ** 2 / (60 * 0.98)).sum()
    assert abs(score - 1000) < 6 * np.sqrt(2000)


@pytest.mark.parametrize("count", SIZES)
def test_leaps_next_to_a_whole_number_are_decided_as_by_fifty_digits(count):
    """The rate is chosen so that E/λ is as near to a whole number as it can be."""
    words = random_words(2 * count, 56)
    deep = 0
    for case in range(count):
        first = box_word(EXPONENTIAL, words[2 * case])
        second = words[2 * case + 1]
        number = number_of(EXPONENTIAL, [first, 2**63])
        leap = 1 + second % 1000
        with mpmath.workdps(DIGITS):
            drawn = mpmath.mpf(number.numerator) / number.denominator
            bits = (75, 90, 105)[case % 3]
            rate = Fraction(int(-mpmath.expm1(-drawn / leap) * 2**bits), 2**bits)
            script = Script([first, second])
            found = geometric(rate, 1, 10**6, script.entropy)[0]
            exact = number_of(EXPONENTIAL, [first, second])
            value = mpmath.mpf(exact.numerator) / exact.denominator
            expected = int(
                value / -mpmath.log1p(-mpmath.mpf(rate.numerator) / rate.denominator)
            )
        assert found == expected
        deep += len(script.log) > 1
    assert deep > 0.1 * count


def test_leaps_that_are_decided_in_doubles_are_seen():
    """Without refinement some of the same cases go wrong."""
    words = random_words(2 * FEW, 56)
    wrong = 0
    for case in range(FEW):
        first = box_word(EXPONENTIAL, words[2 * case])
        number = number_of(EXPONENTIAL, [first])
        leap = 1 + words[2 * case + 1] % 1000
        with mpmath.workdps(DIGITS):
            drawn = mpmath.mpf(number.numerator) / number.denominator
            rate = -mpmath.expm1(-drawn / leap)
            doubles = int(float(number) / -np.log1p(-float(rate)))
        wrong += doubles != leap
    assert wrong > 0


def test_rates_of_any_size():
    entropy = Entropy.seeded(57)
    tiny = Fraction(1, 10**400)
    assert (geometric(tiny, 20, 10**9, entropy) == 10**9).all()
    assert not geometric(1 - tiny, 20, 10**9, entropy).any()
    for bad in (Fraction(0), Fraction(1)):
        with pytest.raises(InvalidParameter, match="rate"):
            next(poisson_subsets(3, bad, entropy))
