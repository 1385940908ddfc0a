"""The bounds of Wu and others, against closed forms, witnesses and simulation."""

import math

import numpy as np
import pytest

from confide.errors import InvalidParameter
from confide.noise import Entropy, SphericalLaplace, generator
from confide.studies.regression.bounds import (
    best_penalty,
    convex_excess,
    noise_tail,
    stability,
    strongly_convex_excess,
)


def minimiser(vectors, slope, convexity):
    """Return the minimiser of the mean of ρ⟨z,w⟩ plus ½λ‖w‖²."""
    return -slope * vectors.mean(axis=0) / convexity


def test_theorem_fourteen_is_attained_at_half_of_what_is_published():
    """Linear losses: a record of length 1, turned round, moves the minimiser most."""
    slope, convexity, rows = 3.0, 0.4, 50
    vectors = generator(1).normal(size=(rows, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    turned = vectors.copy()
    turned[7] *= -1
    moved = minimiser(vectors, slope, convexity) - minimiser(turned, slope, convexity)
    share = np.linalg.norm(moved) / stability(slope, convexity, rows)
    assert share == pytest.approx(1, abs=1e-12)
    published = stability(slope, convexity, rows, "published")
    assert np.linalg.norm(moved) == pytest.approx(published / 2)


def test_noise_is_rarely_longer_than_its_tail():
    dimension, failure, entropy = 5, 0.1, Entropy.seeded(2)
    noise = SphericalLaplace(0.3)
    lengths = [np.linalg.norm(noise.draw(dimension, entropy)) for _ in range(2000)]
    assert np.mean(np.array(lengths) > noise_tail(dimension, 0.3, 1.0, failure)) <= failure
    assert noise_tail(5, 0.6, 2.0, 0.1) == pytest.approx(5 * math.log(50) * 0.3)


def test_theorem_twenty_in_closed_form():
    found = strongly_convex_excess(2, 0.5, 1000, 3, 0.7, failure=0.1, constants="published")
    sample = 4 * 4 / (0.05 * 0.5 * 1000)
    noise = 4 * 3 * math.log(60) * 4 / (0.5 * 1000 * 0.7)
    assert found == pytest.approx(sample + noise)
    tight = strongly_convex_excess(2, 0.5, 1000, 3, 0.7, failure=0.1)
    assert tight == pytest.approx(sample + noise / 2)


def test_theorem_twenty_one_in_closed_form_and_near_its_best_penalty():
    settings = (4.0, 1.0, 3000, 14, 0.2)
    given = convex_excess(*settings, penalty=0.3)
    expected = strongly_convex_excess(4.3, 0.3, 3000, 14, 0.2) + 0.15
    assert given == pytest.approx(expected)
    penalty = best_penalty(4.0, 1.0, 3000, 14, 0.2)
    assert penalty == pytest.approx(4 * math.sqrt(14 * math.log(280) / (3000 * 0.05 * 0.2)))
    assert convex_excess(*settings) == convex_excess(*settings, penalty=penalty)
    assert convex_excess(*settings) < convex_excess(*settings, penalty=10 * penalty)
    many = convex_excess(4.0, 1.0, 3000 * 10**4, 14, 0.2)
    assert many == pytest.approx(convex_excess(*settings) / 100, rel=0.9)


def excess_of_a_release(rows, epsilon, entropy):
    """Linear losses along random unit vectors, so the risk is explicit."""
    slope, convexity, size = 1.0, 1.0, 3
    mean = np.array([0.5, 0.0, 0.0])
    directions = entropy.normal(rows * size).reshape(rows, size)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    keep = entropy.uniform(rows)[:, None] < 0.5
    vectors = np.where(keep, [1.0, 0.0, 0.0], directions)
    noise = SphericalLaplace(stability(slope, convexity, rows) / epsilon)
    point = minimiser(vectors, slope, convexity) + noise.draw(size, entropy)
    return convexity / 2 * float(np.sum((point + slope * mean / convexity) ** 2))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_releases_are_within_the_bound_as_often_as_it_says(epsilon):
    """The regularised loss is 2-Lipschitz in the unit ball; the bound is generous."""
    entropy = Entropy.seeded(3)
    bound = strongly_convex_excess(2.0, 1.0, 200, 3, epsilon, failure=0.2)
    found = [excess_of_a_release(200, epsilon, entropy) for _ in range(300)]
    assert np.mean(np.array(found) > bound) <= 0.2
    assert max(found) > bound / 1000


@pytest.mark.parametrize("wrong", [(0, 1, 10), (1, 0, 10), (1, 1, 0), (math.inf, 1, 10)])
def test_bounds_refuse_what_is_not_positive(wrong):
    with pytest.raises(InvalidParameter):
        stability(*wrong)
    with pytest.raises(InvalidParameter):
        strongly_convex_excess(1, 1, 10, 2, 1, failure=0.0)
