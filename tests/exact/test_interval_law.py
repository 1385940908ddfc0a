"""The law that intervals are read off: quantiles, and the paper's formulas."""

import math

import numpy as np
import pytest
from scipy import stats

from confide.data import bound_rows
from confide.mechanisms import (
    Moments,
    NoiseRecord,
    ObjectivePerturbation,
    OutputPerturbation,
)
from confide.mechanisms.intervals.laws import (
    CAUTION,
    published_uncertainty,
    uncertainty,
)
from confide.mechanisms.intervals.moments import sums
from confide.mechanisms.release import Uncertainty, sampled_offsets
from confide.objectives import HuberizedHinge, Logistic, Objective
from confide.privacy import Neighbours, Pure, Zcdp
from support.cases import objective
from support.intervals import calibrate_with_intervals

FALSE_ALARM = 1e-6
DRAWS = 100_000


def laplace_law(size, sampling=0.0, privacy=1.0):
    eye = np.eye(size)
    return Uncertainty(sampling * eye, privacy * eye, "spherical-laplace", size)


def inside(law, half, seed):
    """Count draws of the first coordinate's error within half an interval."""
    rng, size = np.random.default_rng(seed), law.dimension
    direction = rng.normal(size=(DRAWS, size))
    radius = rng.gamma(size, size=DRAWS)
    noise = direction[:, 0] * radius / np.linalg.norm(direction, axis=1)
    error = math.sqrt(law.privacy[0, 0]) * noise
    error += math.sqrt(law.sampling[0, 0]) * rng.normal(size=DRAWS)
    return int(np.count_nonzero(np.abs(error) <= half))


@pytest.mark.parametrize("size", [1, 2, 5, 30])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("sampling", [0.0, 0.3, 40.0])
def test_half_lengths_hold_the_error_as_often_as_they_say(size, level, sampling):
    law = laplace_law(size, sampling)
    half = law.half_lengths(np.eye(size)[:1], level)[0]
    count = inside(law, half, seed=size)
    assert stats.binomtest(count, DRAWS, level).pvalue > FALSE_ALARM
    for wrong in (0.95, 1.05):
        seen = stats.binomtest(inside(law, wrong * half, size), DRAWS, level).pvalue
        assert level == 0.999 or seen < FALSE_ALARM


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 1 - 1e-6, 1 - 1e-9])
def test_on_a_line_the_noise_alone_is_laplace(level):
    half = laplace_law(1, privacy=4.0).half_lengths(np.ones((1, 1)), level)[0]
    assert half == pytest.approx(-2 * math.log(1 - level), rel=1e-3)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_on_a_line_the_sum_of_both_has_a_closed_form(level):
    """P(|sZ + T| <= q) by completing the square, with T Laplace of scale 1."""
    spread = 0.7
    half = laplace_law(1, spread**2).half_lengths(np.ones((1, 1)), level)[0]
    tails = [
        0.5
        * math.exp(spread**2 / 2 + sign * half)
        * stats.norm.cdf(-sign * half / spread - spread)
        for sign in (1, -1)
    ]
    beyond = stats.norm.sf(half / spread) + tails[1] - tails[0]
    assert 1 - 2 * beyond == pytest.approx(level, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("size", [300, 343, 344, 345, 1000, 5000])
def test_many_dimensions_are_nearly_normal(size):
    law = laplace_law(size, 2.0)
    half = law.half_lengths(np.eye(1, size), 0.95)[0]
    assert half == pytest.approx(1.959964 * math.sqrt(2 + size + 1), rel=2e-3)


def test_the_variance_of_a_coordinate_is_a_gamma_variable():
    """A spherical Laplace vector is normal given a variance 2·Gamma((p+1)/2)."""
    size = 4
    rng = np.random.default_rng(2)
    variance = 2 * rng.gamma((size + 1) / 2, size=DRAWS)
    mixed = rng.normal(size=(DRAWS, size)) * np.sqrt(variance)[:, None]
    lengths = np.linalg.norm(mixed, axis=1)
    assert stats.kstest(lengths, stats.gamma(size).cdf).pvalue > FALSE_ALARM


def test_nothing_to_doubt_makes_an_interval_of_no_length():
    law = laplace_law(3, 0.0, 0.0)
    assert np.all(law.half_lengths(np.eye(3), 0.95) < 1e-9)


def table(rows=60, size=3):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(rows, size))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, rng.choice([-1.0, 1.0], rows)


def by_the_paper(loss, x, y, theta, c, noises):
    """Return H̃⁻¹ and Σ̃ of the mean objective, from equations 5 and 6 and algorithm 2."""
    n, d = x.shape
    z = y * (x @ theta)
    if isinstance(loss, Logistic):
        first, second = -1 / (1 + np.exp(z)), 1 / (1 + np.exp(z)) / (1 + np.exp(-z))
    else:
        h = loss.width
        first = np.where(z > 1 + h, 0, np.where(z < 1 - h, -1, (z - 1 - h) / (2 * h)))
        second = (np.abs(1 - z) <= h) / (2 * h)
    hessian = (x.T * second) @ x / n + 2 * c * np.eye(d) + noises[0] / n
    spread = (x.T * first**2) @ x / n - 4 * c**2 * np.outer(theta, theta) + noises[1] / n
    floored = []
    for matrix in (hessian, spread):
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        floored.append(vectors @ np.diag(np.maximum(values, 2 * c)) @ vectors.T)
    return np.linalg.inv(floored[0]), floored[1]


@pytest.mark.parametrize("loss", [Logistic(), HuberizedHinge(1.0)], ids=["LR", "SVM"])
@pytest.mark.parametrize("noisy", [0.0, 3.0])
def test_the_published_variant_follows_the_paper(loss, noisy):
    x, y = table()
    n, d = x.shape
    c, theta = 0.02, np.array([0.5, -1.0, 0.3])
    draws = noisy * np.random.default_rng(0).normal(size=(2, d, d))
    noises = (draws + draws.transpose(0, 2, 1)) / 2
    target = Objective(loss, d, 1.0, 2 * c * n)
    curvature, scatter = sums(target, bound_rows(x, y, 1.0, 0.0), theta)
    moments = Moments(curvature + noises[0], scatter + noises[1], 1.0, 1.0)
    inverse, spread = by_the_paper(loss, x, y, theta, c, noises)
    sampling = inverse @ spread @ inverse / n

    plan = calibrate_with_intervals(
        OutputPerturbation(), target, Zcdp(0.5), Neighbours.REPLACE_ONE, variant="published"
    )
    noise = plan.main.records("coefficients")[0]
    assert noise.scale**2 == pytest.approx(1 / (2 * 0.25 * (n * c) ** 2), rel=1e-6)
    law = published_uncertainty(target, theta, noise, moments, n)
    wide = np.diag(np.eye(d) / (2 * 0.25 * (n * c) ** 2) + sampling)
    assert law.half_lengths(np.eye(d), 0.95) == pytest.approx(
        stats.norm.ppf(0.975) * np.sqrt(wide), rel=1e-6
    )

    plan = calibrate_with_intervals(
        ObjectivePerturbation(),
        target,
        Pure(2),
        Neighbours.REPLACE_ONE,
        variant="published",
    )
    noise = plan.main.records("linear term")[0]
    bend = 0.25 if isinstance(loss, Logistic) else 1 / (2 * loss.width)
    left = 0.99 - math.log(1 + bend / (2 * n * c))
    assert noise.scale == pytest.approx(2 / left, rel=1e-9)
    law = published_uncertainty(target, theta, noise, moments, n)
    low, high = sampled_offsets(law, np.eye(d), 0.95, 100_000)
    errors = drawn_by_the_paper(inverse, spread, 2 / left, n)
    ends = np.quantile(errors, [0.025, 0.975], axis=0)
    assert np.concatenate([low, high]) == pytest.approx(ends.ravel(), rel=0.04)
    assert law.half_lengths(np.eye(d), 0.95) == pytest.approx(ends[1], rel=0.04)


def drawn_by_the_paper(inverse, spread, scale, n, count=100_000):
    """Draw H̃⁻¹(G + β/√n)/√n as in algorithm 3."""
    rng = np.random.default_rng(13)
    beta = rng.normal(size=(count, 3))
    beta *= scale * (rng.gamma(3, size=count) / np.linalg.norm(beta, axis=1))[:, None]
    normal = rng.multivariate_normal(np.zeros(3), spread, count)
    return (normal + beta / math.sqrt(n)) @ inverse / math.sqrt(n)


@pytest.mark.parametrize("rows", [60, None])
@pytest.mark.parametrize("added_to", ["linear term", "coefficients"])
def test_the_tight_variant_is_the_sandwich(rows, added_to):
    x, y = table()
    theta = np.array([0.5, -1.0, 0.3])
    target = objective("logistic", 3, l2=4.0)
    curvature, scatter = sums(target, bound_rows(x, y, 1.0, 0.0), theta)
    moments = Moments(curvature, scatter, 0.4, 0.4)
    noise = NoiseRecord("gaussian", 0.7, added_to)
    law = uncertainty(target, theta, noise, moments, rows)
    bend = curvature - CAUTION * 0.4 * np.eye(3)
    inverse = np.linalg.inv(bend + 4 * np.eye(3))
    gradients = scatter - (0 if rows is None else np.outer(4 * theta, 4 * theta) / rows)
    through = inverse @ inverse if added_to == "linear term" else np.eye(3)
    wanted = np.diag(inverse @ gradients @ inverse + 0.49 * through)
    assert law.half_lengths(np.eye(3), 0.9) == pytest.approx(
        stats.norm.ppf(0.95) * np.sqrt(wanted), rel=1e-9
    )
