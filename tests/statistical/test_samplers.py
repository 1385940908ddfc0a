"""Samplers draw from the laws they claim, tested exactly, with proof of power.

Every test computes a p-value and rejects below 1e-6: with the fixed seeds the outcome is
always the same, and a new seed would raise a false alarm once in a million per test. The
same tests run on noise that is 3 % off, or of another shape, must reject it.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from confide.noise import (
    Entropy,
    Gaussian,
    SphericalLaplace,
    truncated_gaussian,
    truncated_spherical_laplace,
)

FALSE_ALARM = 1e-6
NUMBERS = 80_000
MOST_VECTORS = 20_000
WRONG_SCALES = (0.97, 1.03)
DIMENSIONS = (1, 4, 25)
every_dimension = pytest.mark.parametrize("dimension", DIMENSIONS)
every_wrong_scale = pytest.mark.parametrize("factor", WRONG_SCALES)


@cache
def draws(noise, dimension, count=None):
    """Draw vectors with NUMBERS coordinates in all, but not more than MOST_VECTORS."""
    entropy = Entropy.seeded(0)
    count = count or min(MOST_VECTORS, NUMBERS // dimension)
    return np.array([noise.draw(dimension, entropy) for _ in range(count)])


def two_sided(law, observed):
    return 2 * min(law.cdf(observed), law.sf(observed))


def laplace_scale(vectors, scale):
    """Twice the radius over the scale is chi-square with 2p degrees of freedom."""
    count, dimension = vectors.shape
    total = 2 * np.linalg.norm(vectors, axis=1).sum() / scale
    return two_sided(stats.chi2(2 * dimension * count), total)


def laplace_shape(vectors, scale):
    radii = np.linalg.norm(vectors, axis=1)
    law = stats.gamma(vectors.shape[1], scale=scale)
    return stats.kstest(radii, law.cdf).pvalue


def gaussian_scale(vectors, scale):
    """The sum of squares over the variance is chi-square."""
    return two_sided(stats.chi2(vectors.size), float((vectors**2).sum()) / scale**2)


def gaussian_shape(vectors, scale):
    return stats.kstest(vectors.ravel() / scale, stats.norm.cdf).pvalue


def centre(vectors):
    """The mean of uniform directions is normal with covariance I/(p·count)."""
    count, dimension = vectors.shape
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    mean = directions.mean(axis=0)
    return stats.chi2(dimension).sf(count * dimension * float(mean @ mean))


def orientation(vectors):
    """A squared coordinate of a uniform direction is Beta(½, (p−1)/2), on any axis."""
    dimension = vectors.shape[1]
    axes = np.random.default_rng(9).normal(size=(2, dimension))
    axes[0] = np.eye(dimension)[0]
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    lengths = np.linalg.norm(vectors, axis=1)
    law = stats.beta(0.5, (dimension - 1) / 2)
    parts = ((vectors @ axis / lengths) ** 2 for axis in axes)
    return min(1.0, 2 * min(stats.kstest(part, law.cdf).pvalue for part in parts))


@pytest.mark.slow
@every_dimension
def test_spherical_laplace_has_its_radius(dimension):
    vectors = draws(SphericalLaplace(0.7), dimension)
    assert laplace_scale(vectors, 0.7) > FALSE_ALARM
    assert laplace_shape(vectors, 0.7) > FALSE_ALARM


@every_dimension
def test_spherical_laplace_has_no_preferred_direction(dimension):
    vectors = draws(SphericalLaplace(0.7), dimension)
    assert centre(vectors) > FALSE_ALARM
    if dimension > 1:
        assert orientation(vectors) > FALSE_ALARM


@every_dimension
def test_gaussian_has_its_scale_and_shape(dimension):
    vectors = draws(Gaussian(0.7), dimension)
    assert gaussian_scale(vectors, 0.7) > FALSE_ALARM
    assert gaussian_shape(vectors, 0.7) > FALSE_ALARM
    assert centre(vectors) > FALSE_ALARM


def test_coordinates_of_gaussian_noise_are_independent():
    """A product of two independent standard normals has mean 0 and variance 1."""
    vectors = draws(Gaussian(0.7), 4) / 0.7
    pairs = [vectors[:, i] * vectors[:, j] for i in range(4) for j in range(i)]
    successive = vectors[1:].ravel() * vectors[:-1].ravel()
    for products in (*pairs, successive):
        score = products.sum() / math.sqrt(products.size)
        assert 2 * stats.norm.sf(abs(score)) > FALSE_ALARM


@every_wrong_scale
@pytest.mark.parametrize("dimension", DIMENSIONS[1:])
def test_three_percent_are_noticed(dimension, factor):
    laplace = factor * draws(SphericalLaplace(0.7), dimension)
    assert laplace_scale(laplace, 0.7) < FALSE_ALARM
    gaussian = factor * draws(Gaussian(0.7), dimension)
    assert gaussian_scale(gaussian, 0.7) < FALSE_ALARM


@pytest.mark.parametrize("dimension", DIMENSIONS[1:])
def test_a_radius_of_the_wrong_shape_is_noticed(dimension):
    """An exponential radius, plain or with the right mean: the mistake of old code."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(NUMBERS // dimension, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = 0.7 * rng.exponential(size=(len(directions), 1))
    assert laplace_scale(directions * radius, 0.7) < FALSE_ALARM
    assert laplace_shape(directions * radius * dimension, 0.7) < FALSE_ALARM


def test_independent_laplace_coordinates_are_not_spherical():
    vectors = np.random.default_rng(0).laplace(size=(NUMBERS // 4, 4))
    assert orientation(vectors) < FALSE_ALARM


def test_directions_from_a_cube_are_noticed():
    cube = np.random.default_rng(0).uniform(-1, 1, size=(NUMBERS // 2, 2))
    assert orientation(cube) < FALSE_ALARM


def test_a_shifted_centre_is_noticed():
    vectors = draws(Gaussian(0.7), 4)
    assert centre(vectors + 0.03) < FALSE_ALARM


def test_heavier_tails_of_the_same_variance_are_noticed():
    rng = np.random.default_rng(0)
    vectors = rng.logistic(size=NUMBERS) * math.sqrt(3) / math.pi * 0.7
    assert gaussian_scale(vectors, 0.7) > FALSE_ALARM
    assert gaussian_shape(vectors, 0.7) < FALSE_ALARM


def truncated_normal_scores(vectors, scale, floor):
    """Map truncated normals to standard normals by their own distribution function."""
    law = stats.truncnorm(floor / scale, math.inf, scale=scale)
    chances = np.clip(law.cdf(vectors.ravel()), 1e-15, 1 - 1e-15)
    return stats.norm.ppf(chances)


def truncated_law(vectors, scale, floor):
    """Combine a chi-square test, a test of the mean and a Kolmogorov-Smirnov test."""
    scores = truncated_normal_scores(vectors, scale, floor)
    spread = two_sided(stats.chi2(scores.size), float(scores @ scores))
    mean = 2 * stats.norm.sf(abs(scores.sum()) / math.sqrt(scores.size))
    return min(1.0, 3 * min(spread, mean, stats.kstest(scores, stats.norm.cdf).pvalue))


@pytest.mark.parametrize("floor", [0.0, -0.3, -2.0])
def test_truncated_gaussian_has_its_law(floor):
    vectors = truncated_gaussian(0.7, floor, NUMBERS, Entropy.seeded(0))
    assert truncated_law(vectors, 0.7, floor) > FALSE_ALARM


@every_wrong_scale
@pytest.mark.parametrize("floor", [0.0, -0.3, -2.0])
def test_three_percent_are_noticed_in_a_truncated_gaussian(floor, factor):
    vectors = truncated_gaussian(factor * 0.7, floor, NUMBERS, Entropy.seeded(0))
    assert truncated_law(np.maximum(vectors, floor), 0.7, floor) < FALSE_ALARM


def rejected_laplace(scale, floor, dimension, count):
    """Draw spherical Laplace vectors and keep those above the floor, until enough."""
    rng, kept = np.random.default_rng(1), []
    while sum(map(len, kept)) < count:
        vectors = rng.normal(size=(50_000, dimension))
        radii = scale * rng.gamma(dimension, size=50_000)
        vectors *= (radii / np.linalg.norm(vectors, axis=1))[:, None]
        kept.append(vectors[(vectors > floor).all(axis=1)])
    return np.concatenate(kept)[:count]


def same_law(vectors, reference):
    """Compare radii by their means, and radii and coordinates by their distributions."""
    ours, theirs = (np.linalg.norm(v, axis=1) for v in (vectors, reference))
    error = math.hypot(
        ours.std() / math.sqrt(len(ours)), theirs.std() / math.sqrt(len(theirs))
    )
    mean = 2 * stats.norm.sf(abs(ours.mean() - theirs.mean()) / error)
    radius = stats.ks_2samp(ours, theirs).pvalue
    coordinate = stats.ks_2samp(vectors[:, 0], reference[:, 0]).pvalue
    return min(1.0, 3 * min(mean, radius, coordinate))


TRUNCATED = {"few coordinates": (3, -0.5, 1500), "many coordinates": (30, -10.0, 2000)}


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "floor", "count"), TRUNCATED.values(), ids=TRUNCATED)
def test_truncated_spherical_laplace_is_what_rejection_leaves(dimension, floor, count):
    entropy = Entropy.seeded(2)
    vectors = np.array(
        [truncated_spherical_laplace(1.0, floor, dimension, entropy) for _ in range(count)]
    )
    reference = rejected_laplace(1.0, floor, dimension, 30_000)
    assert same_law(vectors, reference) > FALSE_ALARM
    if dimension == 30:
        for factor in WRONG_SCALES:
            assert same_law(factor * vectors, reference) < FALSE_ALARM
    untruncated = draws(SphericalLaplace(1.0), dimension, count)
    assert same_law(untruncated, reference) < FALSE_ALARM
    careless = np.maximum(untruncated, floor)
    assert same_law(careless, reference) < FALSE_ALARM
