"""Numbers of repetitions by inversion, as fifty digits decide them."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from confide.noise import Entropy, TruncatedNegativeBinomial, fixed_point
from confide.noise.repetition_counts import invert
from support.exact_noise import DIGITS, FALSE_ALARM, FEW, MANY, Script, p_value

SIZES = [pytest.param(FEW), pytest.param(MANY, marks=pytest.mark.slow)]
LAWS = [
    TruncatedNegativeBinomial(1.0, 0.25),
    TruncatedNegativeBinomial(0.0, 0.1),
    TruncatedNegativeBinomial(2.5, 0.3),
]


def chances(law, most):
    """Return P(K = k) for k = 1, ..., most, to fifty digits."""
    shape, gamma = mpmath.mpf(law.shape), mpmath.mpf(law.gamma)
    total = -mpmath.log(gamma) if shape == 0 else (gamma**-shape - 1) / shape
    chance = (1 - gamma) / total
    found = []
    for k in range(1, most + 1):
        found.append(chance)
        chance *= (1 - gamma) * (k + shape) / (k + 1)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_repetitions_have_their_law(law):
    """Chi-square over the numbers up to 60; false alarm 1e-6."""
    entropy = Entropy.seeded(61)
    drawn = np.array([law.draw(entropy) for _ in range(10_000)])
    counts = np.bincount(np.minimum(drawn, 61), minlength=62)[1:]
    with mpmath.workdps(DIGITS):
        expected = [float(chance) for chance in chances(law, 60)]
    assert p_value(counts, [*expected, 1 - sum(expected)]) > FALSE_ALARM


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("count", SIZES)
def test_uniforms_next_to_a_step_are_decided_as_by_fifty_digits(law, count):
    rng = np.random.default_rng(62)
    with mpmath.workdps(DIGITS):
        steps = np.cumsum(chances(law, 40))
        for place, last in zip(
            rng.integers(0, 20, count),
            itertools.cycle([0, 2**63, 2**64 - 1]),
            strict=False,
        ):
            word = int(steps[place] * 2**64)
            script = Script([word, last])
            found = law.draw(script.entropy)
            drawn = (word + mpmath.mpf(last) / 2**64) / 2**64
            assert found == 1 + int(sum(step <= drawn for step in steps))
            assert len(script.log) >= 2


def test_chances_too_small_for_a_double():
    law = TruncatedNegativeBinomial(160.0, 1e-2)
    assert law.chance_of_one < 1e-310
    drawn = [law.draw(Entropy.seeded(seed)) for seed in range(5)]
    assert 0.5 * law.mean < np.mean(drawn) < 2 * law.mean


def test_any_law_with_known_ratios_can_be_drawn():
    """Poisson with mean 3/2; chi-square, false alarm 1e-6."""
    entropy = Entropy.seeded(63)

    def total(bits):
        return fixed_point.exp(3 << (bits - 1), bits)

    drawn = [invert(lambda k: (3, 2 * (k + 1)), total, entropy) for _ in range(10_000)]
    counts = np.bincount(np.minimum(drawn, 9), minlength=10)
    weights = [Fraction(3, 2) ** k / mpmath.factorial(k) for k in range(9)]
    expected = [float(weight * mpmath.exp(-1.5)) for weight in weights]
    assert p_value(counts, [*expected, 1 - sum(expected)]) > FALSE_ALARM
