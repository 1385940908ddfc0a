"""Winners of noisy scores and choices by weights, as fifty digits decide them."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from confide.noise import Entropy
from confide.noise.random_choice import (
    ExponentialWeights,
    SignedWeights,
    choose,
    choose_several,
    exponential_coin,
    largest,
)
from confide.noise.real_vector import Draws, ScaledDraws, gumbel, laplace
from confide.noise.staircase import GUMBEL, LAPLACE
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
both_laws = pytest.mark.parametrize("law", [GUMBEL, LAPLACE], ids=["gumbel", "laplace"])


def in_doubles(scores, count, noise):
    return np.sort(np.argsort(-(scores + noise.values), kind="stable")[:count])


def decide_near_ties(law, count, choosing=largest):
    """Put two scores as near as doubles allow: how many winners are wrong?"""
    words = random_words(3 * count, 41)
    wrong = refined = 0
    for case in range(count):
        first = [box_word(law, word) for word in words[3 * case : 3 * case + 3]]
        scale = (1.0, 0.3, 5e-8)[case % 3]
        numbers = [number_of(law, [word]) * Fraction(scale) for word in first]
        second = float(numbers[0] - numbers[1])
        second = math.nextafter(second, (-1) ** case * math.inf) if case % 4 else second
        scores = np.array([0.0, second, float(min(numbers) - numbers[2]) - 1.0])
        noise = ScaledDraws.of(Draws.of(law, 3, Script(first, case).entropy), scale)
        found = choosing(scores, 1, noise)
        intervals = [noise.enclose(index, 4) for index in range(2)]
        sums = [Fraction(scores[i]) + intervals[i][0] for i in range(2)]
        wrong += found.tolist() != [int(sums[1] > sums[0])]
        refined += len(noise.draws.known) == 2
    return wrong, refined


@both_laws
@pytest.mark.parametrize("count", SIZES)
def test_near_ties_have_the_winner_of_their_digits(law, count):
    wrong, _ = decide_near_ties(law, count)
    assert wrong == 0


@both_laws
def test_winners_decided_in_doubles_are_seen(law):
    assert decide_near_ties(law, FEW, in_doubles)[0] > 0.05 * FEW


@both_laws
@pytest.mark.parametrize("count", [1, 3, 7, 8])
@pytest.mark.parametrize("bits", [4, 52])
def test_the_largest_are_those_of_deep_digits(law, count, bits):
    entropy = Entropy.seeded(42)
    for _ in range(40):
        noise = ScaledDraws.of(Draws.of(law, 8, entropy, bits), 0.5)
        scores = np.linspace(0, 2, 8)
        found = largest(scores, count, noise)
        sums = [Fraction(scores[i]) + noise.enclose(i, 3)[0] for i in range(8)]
        assert found.tolist() == sorted(sorted(range(8), key=lambda i: -sums[i])[:count])


@pytest.mark.parametrize("bits", [4, 52])
def test_winners_by_gumbel_noise_have_exponential_weights(bits):
    """Chi-square over four places; false alarm 1e-6."""
    entropy, scores = Entropy.seeded(43), np.array([0.0, 0.5, 1.0, -1.0])
    counts = np.zeros(4)
    for _ in range(3000):
        noise = ScaledDraws.of(Draws.of(GUMBEL, 4, entropy, bits), 0.5)
        counts[largest(scores, 1, noise)] += 1
    weights = np.exp(scores / 0.5)
    assert p_value(counts, weights / weights.sum()) > FALSE_ALARM


def test_scores_of_any_size():
    entropy = Entropy.seeded(44)
    far = np.array([-1.7e308, 1.7e308, 1.7e308])
    assert 0 not in largest(far, 2, gumbel(3, 1e150, entropy))
    seen = {int(largest(far, 1, gumbel(3, 1.0, entropy))[0]) for _ in range(40)}
    assert seen == {1, 2}
    for bad in (math.nan, math.inf):
        with pytest.raises(FloatingPointError, match="finite"):
            largest(np.array([0.0, bad]), 1, laplace(2, 1.0, entropy))


@pytest.mark.parametrize("count", SIZES)
def test_coins_at_the_edge_of_their_chance_fall_as_fifty_digits_say(count):
    rng = np.random.default_rng(45)
    for exponent, last in zip(
        rng.choice([1e-12, 1e-3, 1.0, 20.0], count) * rng.exponential(size=count),
        itertools.cycle([0, 2**63, 2**64 - 1]),
        strict=False,
    ):
        halvings = int(exponent / 0.7)
        with mpmath.workdps(DIGITS):
            chance = mpmath.exp(-mpmath.mpf(float(exponent))) * 2**halvings
            word = int(chance * 2**64)
            script = Script([word, last])
            found = exponential_coin(Fraction(float(exponent)), script.entropy, halvings)
            digits = enumerate(script.log, start=1)
            drawn = sum(mpmath.mpf(w) / mpmath.mpf(2) ** (64 * k) for k, w in digits)
        assert len(script.log) >= 2
        assert found is bool(drawn < chance)


def test_choices_follow_their_weights():
    """Chi-square over places and signs; false alarm 1e-6."""
    powers = np.array([0.0, -math.inf, 1.3, -2.0, 1.2999999, -800.0])
    entropy = Entropy.seeded(46)
    drawn = [choose(powers, entropy) for _ in range(6_000)]
    weights = np.exp(powers)
    counts = np.bincount(drawn, minlength=6)
    assert p_value(counts, weights / weights.sum()) > FALSE_ALARM
    assert counts[1] == counts[5] == 0


@pytest.mark.slow
def test_signed_choices_follow_their_weights():
    """Chi-square over six corners; false alarm 1e-6."""
    powers = np.array([0.3, -1.0, 0.0])
    entropy = Entropy.seeded(47)
    counts = np.zeros((2, 3))
    weights = SignedWeights(powers.copy())
    for _ in range(6_000):
        place, sign = weights.draw(entropy)
        counts[int(sign < 0), place] += 1
    expected = np.exp([powers, -powers])
    assert p_value(counts.ravel(), (expected / expected.sum()).ravel()) > FALSE_ALARM


@pytest.mark.parametrize("top", [50.0, 1e4, 1e15, 1e300, -1e300])
def test_choices_hold_however_large_powers_are(top):
    entropy = Entropy.seeded(48)
    drawn = [choose(np.array([-1.7e308, top, top]), entropy) for _ in range(60)]
    assert set(drawn) == {1, 2}


def test_many_places_have_powers_of_two_above_their_weights():
    """A place at the top among many far below is chosen by its weight."""
    powers = np.full(2**16, -10.0)
    powers[12345] = 0.0
    entropy = Entropy.seeded(49)
    found = sum(choose(powers, entropy) == 12345 for _ in range(400))
    chance = 1 / (1 + (2**16 - 1) * math.exp(-10))
    spread = math.sqrt(400 * chance * (1 - chance))
    assert abs(found - 400 * chance) < 4.9 * spread  # false alarm 1e-6


def test_a_choice_needs_a_finite_power():
    for bad in ([-math.inf, -math.inf], [0.0, math.nan], [math.inf, 0.0]):
        with pytest.raises(FloatingPointError, match="finite"):
            choose(np.array(bad), Entropy.seeded(1))


def walk_of_powers(seed, places, moves):
    """Yield powers that change at some places, also far up and far down."""
    rng = np.random.default_rng(seed)
    powers = rng.normal(size=places)
    for move in range(moves):
        some = rng.integers(0, places, size=1 + move % 4)
        far = rng.choice([0.0, 1.0, 100.0, -100.0, 5e4, -5e4, -1e300])
        powers[some] = rng.normal(size=len(some)) + far
        yield some, powers


@pytest.mark.parametrize("seed", range(6))
def test_weights_that_are_kept_up_stand_below_their_powers_of_two(seed):
    """A power of two below a weight would make its coin's chance exceed 1."""
    steps = walk_of_powers(seed, 40, 60)
    _, powers = next(steps)
    weights = ExponentialWeights(powers.copy())
    for some, powers in steps:
        weights.update(some, powers[some])
        weights.draw(Entropy.seeded(seed))
        assert np.array_equal(weights._powers, powers)
        counts = np.bincount(weights._halvings, minlength=len(weights._counts))
        assert np.array_equal(counts, weights._counts)
        with mpmath.workdps(DIGITS):
            for power, halvings in zip(powers, weights._halvings.tolist(), strict=True):
                gap = mpmath.mpf(weights._top) - mpmath.mpf(float(power))
                assert gap / mpmath.log(2) >= halvings
                assert halvings == 1000 or gap / mpmath.log(2) < halvings + 1 + 1e-9


def kept_up_law(entropy, draws=4000):
    """Draw after updates: a place twice, the top falls by far, another rises above it."""
    weights = SignedWeights(np.array([900.0, 0.1, -0.4, 1.0]))
    counts = np.zeros((2, 4))
    for _ in range(draws):
        weights.update(np.array([0, 2, 0]), np.array([-0.7, 3.0, -0.7]))
        weights.update(np.array([2]), np.array([0.2]))
        place, sign = weights.draw(entropy)
        counts[int(sign < 0), place] += 1
    powers = np.array([-0.7, 0.1, 0.2, 1.0])
    expected = np.exp([powers, -powers])
    return p_value(counts.ravel(), (expected / expected.sum()).ravel())


@pytest.mark.slow
def test_weights_that_are_kept_up_have_their_law():
    """Chi-square over eight corners; false alarm 1e-6."""
    assert kept_up_law(Entropy.seeded(71)) > FALSE_ALARM


@pytest.mark.slow
def test_powers_of_two_below_the_weights_are_seen(monkeypatch):
    monkeypatch.setattr("confide.noise.random_choice.LOG2_OF_E", 3.0)
    assert kept_up_law(Entropy.seeded(71)) < FALSE_ALARM


def test_proposals_that_are_all_kept_are_seen(monkeypatch):
    monkeypatch.setattr("confide.noise.random_choice.exponential_coin", lambda *_: True)
    assert kept_up_law(Entropy.seeded(71)) < FALSE_ALARM


@pytest.mark.slow
def test_several_places_are_those_of_gumbel_noise():
    """Chi-square over the ten pairs of five; false alarm 1e-6."""
    powers = np.array([0.0, 1.5, -1.0, 1.4999, 0.3])
    pairs = {pair: i for i, pair in enumerate(itertools.combinations(range(5), 2))}
    weights = np.exp(powers)
    expected = np.zeros(10)
    for first, second in itertools.permutations(range(5), 2):
        chance = weights[first] / weights.sum() * weights[second]
        expected[pairs[tuple(sorted((first, second)))]] += chance / (
            weights.sum() - weights[first]
        )
    entropy = Entropy.seeded(72)
    by_choice, by_noise = np.zeros(10), np.zeros(10)
    for _ in range(4000):
        by_choice[pairs[tuple(choose_several(powers, 2, entropy).tolist())]] += 1
        noisy = largest(powers, 2, gumbel(5, 1.0, entropy))
        by_noise[pairs[tuple(noisy.tolist())]] += 1
    assert p_value(by_choice, expected) > FALSE_ALARM
    assert p_value(by_noise, expected) > FALSE_ALARM


def test_places_far_behind_are_chosen_once_the_others_are():
    powers = np.array([0.0, -1e300, -5e3, 8e3, -1.7e308])
    assert choose_several(powers, 4, Entropy.seeded(73)).tolist() == [0, 1, 2, 3]
    assert powers[3] == 8e3
    assert choose_several(powers, 5, Entropy.seeded(73)).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(FloatingPointError, match="finite"):
        choose_several(powers, 6, Entropy.seeded(73))
