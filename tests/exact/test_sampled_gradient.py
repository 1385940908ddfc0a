"""One step on a random batch: the code draws the law that the budget is for."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

from confide.data import bound_rows
from confide.mechanisms import SsAdmm
from confide.mechanisms.gradient.noisy_gradient import noisy_gradient
from confide.noise import Entropy, Gaussian
from confide.objectives import Logistic, Objective
from confide.privacy import Approx, Neighbours

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
CLIP, RATE = 0.1, Fraction(1, 2)
ONE_STEP = SsAdmm(Fraction(1, 2), RATE, clip=CLIP)
TARGET = Objective(Logistic(), 1, 1.0, 1.0)
GRID = np.linspace(-12, 12, 6001)
DRAWS = 5000
ALARM = 1e-4


def table(*slopes):
    """Return rows whose clipped gradients are these multiples of the clip."""
    features = np.array([[abs(s)] for s in slopes], dtype=float).reshape(-1, 1)
    labels = [-1.0 if s > 0 else 1.0 for s in slopes]
    return bound_rows(features, np.array(labels), 1.0, 0.0)


def mixture(relation, slopes):
    """Return means and weights of the noisy sum of a batch, in units of the clip."""
    if relation is ADD:
        count = len(slopes)
        return np.arange(count + 1.0), binom(count, float(RATE)).pmf(np.arange(count + 1))
    means, weights = np.unique(slopes, return_counts=True)
    return means, weights / weights.sum()


CASES = [(ADD, (1, 1, 1)), (REPLACE, (1, -1)), (REPLACE, (1, 0))]


@pytest.mark.parametrize(("relation", "slopes"), CASES, ids=str)
def test_a_noisy_gradient_has_its_mixture_of_normals(relation, slopes):
    """By Kolmogorov and Smirnov; a false alarm once in 10 000 seeds."""
    deviation = 0.3
    calibration = ONE_STEP.calibrate(TARGET, Approx(1, "0.01"), relation)
    noise = Gaussian(deviation * CLIP)
    often = replace(calibration, noise=noise, steps=DRAWS)
    gradient = noisy_gradient(often, table(*slopes), Entropy.seeded(9))
    drawn = np.array([gradient(np.zeros(1))[0] for _ in range(DRAWS)])
    means, weights = mixture(relation, slopes)

    def law(x):
        return (norm.cdf(np.subtract.outer(x, means) / deviation) * weights).sum(axis=-1)

    assert kstest(drawn * float(RATE) / CLIP, law).pvalue > ALARM


def density(relation, slopes, noise):
    """Return the density of the noisy sum over a grid in units of the noise."""
    means, weights = mixture(relation, slopes)
    shifted = np.subtract.outer(GRID, means * CLIP / noise)
    return (norm.pdf(shifted) * weights).sum(axis=1)


def excess(p, q, level):
    return float(np.maximum(p - level * q, 0).sum() * (GRID[1] - GRID[0]))


def delta(calibration, first, second, epsilon):
    """Return δ(ε) of one step, together with the count where it is bought."""
    noise = calibration.noise.scale
    p = density(calibration.neighbours, first, noise)
    q = density(calibration.neighbours, second, noise)
    if calibration.counted is None:
        return excess(p, q, math.exp(epsilon))
    shift = (len(first) - len(second)) / calibration.counted.scale
    places = np.linspace(-8, 8, 401)
    chances = norm.pdf(places) * (places[1] - places[0])
    losses = shift * places + shift**2 / 2
    levels = np.exp(epsilon - losses)
    return sum(c * excess(p, q, v) for c, v in zip(chances, levels, strict=True))


PAIRS = [
    (ADD, (1,), (), 0.9),
    (ADD, (), (1,), 0.0),
    (ADD, (1, 1, 1), (1, 1), 0.3),
    (REPLACE, (1, -1), (-1, -1), 0.9),
    (REPLACE, (-1, -1), (1, -1), 0.0),
    (REPLACE, (1, 0), (-1, 0), 0.1),
]


@pytest.mark.parametrize(("relation", "first", "second", "least"), PAIRS, ids=str)
def test_one_sampled_step_keeps_its_budget(relation, first, second, least):
    calibration = ONE_STEP.calibrate(TARGET, Approx(1, "0.01"), relation)
    assert calibration.steps == 1
    found = delta(calibration, first, second, 1.0)
    assert least * 0.01 <= found <= 0.01 * 1.001


def test_noise_without_the_count_beside_it_would_be_too_small():
    calibration = ONE_STEP.calibrate(TARGET, Approx(1, "0.01"), ADD)
    rich = replace(calibration, counted=Gaussian(calibration.counted.scale / 2))
    assert delta(rich, (1,), (), 1.0) > 0.0101
    loud = replace(calibration, noise=Gaussian(0.97 * calibration.noise.scale))
    assert delta(loud, (1,), (), 1.0) > 0.0101
