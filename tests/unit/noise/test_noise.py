"""Entropy and noise: what can be said without statistics."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma as gamma_function

from confide.errors import InvalidParameter, PrivacyLeak
from confide.noise import (
    Entropy,
    Gaussian,
    Gumbel,
    Laplace,
    SphericalLaplace,
    truncated_gaussian,
    truncated_spherical_laplace,
)

NOISES = (SphericalLaplace(0.7), Gaussian(0.7))
every_noise = pytest.mark.parametrize(
    "noise", NOISES, ids=lambda value: type(value).__name__
)
DRAWS = {
    "words": lambda entropy: entropy.words(8),
    "uniform": lambda entropy: entropy.uniform(8),
    "signs": lambda entropy: entropy.signs(64),
    "normal": lambda entropy: entropy.normal(8),
    "gamma": lambda entropy: np.array([entropy.gamma(3)]),
    "gaussian": lambda entropy: Gaussian(1.0).draw(8, entropy),
    "spherical laplace": lambda entropy: SphericalLaplace(1.0).draw(8, entropy),
    "truncated gaussian": lambda entropy: truncated_gaussian(1.0, -1.0, 8, entropy),
    "truncated laplace": lambda entropy: truncated_spherical_laplace(1, -1, 8, entropy),
}
every_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


@every_draw
def test_system_entropy_never_repeats(draw):
    one, other = draw(Entropy.system()), draw(Entropy.system())
    assert not np.array_equal(one, other)
    source = Entropy.system()
    assert not np.array_equal(draw(source), draw(source))


@every_draw
def test_a_seed_repeats_and_moves_on(draw):
    source, again, other = Entropy.seeded(5), Entropy.seeded(5), Entropy.seeded(6)
    first = draw(source)
    assert np.array_equal(first, draw(again))
    assert not np.array_equal(first, draw(source))
    assert not np.array_equal(first, draw(other))


def test_only_the_operating_system_keeps_a_secret():
    assert Entropy.system().secret
    assert Entropy.of(None).secret
    for state in (0, 7, [1, 2], np.random.default_rng(0), np.random.RandomState(0)):
        assert not Entropy.of(state).secret
    given = Entropy.seeded(3)
    assert Entropy.of(given) is given


def test_a_number_and_a_generator_are_read_as_numpy_does():
    by_number = Entropy.of(11).words(4)
    by_generator = Entropy.of(np.random.default_rng(11)).words(4)
    assert np.array_equal(by_number, by_generator)
    one = Entropy.of(np.random.RandomState(11)).words(4)
    assert np.array_equal(one, Entropy.of(np.random.RandomState(11)).words(4))


@pytest.mark.parametrize(
    "bad", [-1, "seed", 1.5, object()], ids=lambda value: type(value).__name__
)
def test_what_is_no_seed_is_refused(bad):
    with pytest.raises(InvalidParameter, match="random_state"):
        Entropy.of(bad)


@pytest.mark.parametrize("source", [Entropy.system(), Entropy.seeded(1)])
@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_entropy_cannot_be_copied_or_stored(source, take):
    with pytest.raises(PrivacyLeak):
        take(source)


def constant(word):
    """Return a source that yields one word for ever."""
    return Entropy(lambda count: np.full(count, word, dtype=np.uint64), secret=False)


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 2**11, 2**64 - 1])
def test_no_word_leads_out_of_the_open_interval(word):
    source = constant(word)
    assert 0 < source.uniform(1)[0] < 1
    assert np.isfinite(source.normal(1)[0])
    assert 0 < source.gamma(1) < math.inf


def test_rare_words_reach_far_into_the_tail():
    assert abs(constant(0).normal(1)[0]) > 9
    assert constant(0).gamma(1) > 44


def test_every_bit_of_a_word_counts():
    words = Entropy.seeded(0).words(4096)
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    ones = bits.sum(axis=0)
    assert np.all(np.abs(ones - 2048.0) < 6 * 32)
    uniform = Entropy.seeded(0).uniform(4096)
    np.testing.assert_allclose(uniform, words / 2.0**64, atol=2.0**-52)


@every_noise
def test_noise_has_the_dimension_asked_for(noise):
    for dimension in (1, 2, 50):
        drawn = noise.draw(dimension, Entropy.seeded(0))
        assert drawn.shape == (dimension,)
        assert np.all(np.isfinite(drawn))


@every_noise
def test_scale_multiplies_the_noise(noise):
    double = type(noise)(2 * noise.scale)
    one = noise.draw(5, Entropy.seeded(3))
    np.testing.assert_allclose(double.draw(5, Entropy.seeded(3)), 2 * one, rtol=1e-14)


@every_noise
@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_densities_integrate_to_one_and_to_the_expected_length(noise, dimension):
    sphere = 2 * math.pi ** (dimension / 2) / gamma_function(dimension / 2)

    def shell(radius):
        density = math.exp(float(noise.log_density(np.array(radius**2), dimension)))
        return density * sphere * radius ** (dimension - 1)

    mass = quad(shell, 0, 60, limit=200)[0]
    length = quad(lambda radius: radius * shell(radius), 0, 60, limit=200)[0]
    assert mass == pytest.approx(1, rel=1e-9)
    assert length <= noise.expected_norm(dimension) * (1 + 1e-9)
    assert noise.expected_norm(dimension) <= 1.26 * length


def test_the_kinds_have_their_names():
    assert [noise.kind for noise in NOISES] == ["spherical-laplace", "gaussian"]


@pytest.mark.parametrize("sample", [truncated_gaussian, truncated_spherical_laplace])
def test_truncated_noise_stays_above_its_floor(sample):
    source = Entropy.seeded(0)
    drawn = np.array([sample(1.0, -0.2, 6, source) for _ in range(100)])
    assert drawn.min() >= -0.2
    assert drawn.max() > 1.0
    assert sample(1.0, 0.0, 6, source).min() >= 0
    with pytest.raises(InvalidParameter, match="floor"):
        sample(1.0, 0.1, 6, source)


def test_a_floor_that_cuts_nothing_changes_nothing():
    deep = truncated_gaussian(1.0, -math.inf, 2000, Entropy.seeded(1))
    assert deep.min() < -2.5
    assert abs(deep.mean()) < 0.15


@pytest.mark.parametrize("kind", [Gaussian, Laplace, SphericalLaplace, Gumbel])
@pytest.mark.parametrize("dimension", [1, 7])
def test_a_noise_knows_the_deviation_of_its_coordinates(kind, dimension):
    """With 4,000 vectors the estimate is off by 10 % with a chance below 1e-4; seeded."""
    noise, entropy = kind(0.5), Entropy.seeded(11)
    drawn = np.stack([noise.draw(dimension, entropy) for _ in range(4000)])
    np.testing.assert_allclose(drawn.std(), noise.deviation(dimension), rtol=0.1)


@pytest.mark.parametrize("kind", [Gaussian, SphericalLaplace])
def test_a_round_noise_knows_its_distribution_on_a_line(kind):
    noise = kind(2.0)
    drawn = np.concatenate([noise.draw(1, Entropy.seeded(k)) for k in range(4000)])
    for value in (-3.0, -0.5, 0.0, 1.0):
        assert abs(np.mean(drawn <= value) - noise.chance_below(value)) < 0.04
