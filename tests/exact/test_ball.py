"""Replacing a record of a logistic fit in a ball: exact losses, and geometry."""

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

from confide.attacks import Records
from confide.attacks import exact_loss as exact
from confide.mechanisms import ObjectivePerturbation
from confide.mechanisms.objective import ball
from confide.noise import Gaussian
from confide.objectives import Logistic, Objective
from confide.privacy import Approx, Neighbours, gaussian_delta

REPLACE = Neighbours.REPLACE_ONE
BUDGET = Approx(1, 1e-6)


def logistic(radius, size=2, l2=4.0):
    return Objective(Logistic(), size, 1.0, l2).with_ball(radius)


def largest_distance(bound):
    """Return S(B): how far two gradients are apart at coefficients of length B."""
    margin = np.linspace(0, bound, 200_001)
    return float(np.max(2 * expit(margin) * np.sqrt(1 - (margin / bound) ** 2)))


@pytest.mark.parametrize("bound", [0.5, 1.0, 2.0, 4.0, 8.0, 30.0])
def test_gradients_are_as_far_apart_as_the_formula_says(bound):
    found = max(float(pair.length.max()) for pair in ball._pairs(logistic(bound)))
    assert largest_distance(bound) <= found <= 1.012 * largest_distance(bound)


@pytest.mark.parametrize("bound", [0.7, 4.0, 12.0])
def test_no_pair_of_records_is_outside_of_the_cells(bound):
    """Rows of any length and direction, coefficients anywhere in the ball."""
    rng, pairs = np.random.default_rng(5), ball._pairs(logistic(bound))
    step = math.pi / len(pairs)
    for _ in range(20_000):
        theta = rng.normal(size=3)
        theta *= bound * rng.choice([1.0, rng.random()]) / np.linalg.norm(theta)
        rows = rng.normal(size=(2, 3)) + rng.choice([0, 2]) * theta / bound
        lengths = np.where(rng.random(2) < 0.5, 1.0, rng.random(2))
        rows *= (lengths / np.linalg.norm(rows, axis=1))[:, None]
        own, other = (float(expit(row @ theta)) * np.linalg.norm(row) for row in rows)
        first, second = (row / np.linalg.norm(row) for row in rows)
        angle = math.acos(np.clip(-first @ second, -1, 1))
        pair = pairs[min(int(angle / step), len(pairs) - 1)]
        cell = min(int(own * ball.SLOPES), len(pair.own) - 1)
        assert own <= pair.own[cell] * (1 + 1e-12)
        assert other <= pair.other[cell] * (1 + 1e-12)
        apart = np.linalg.norm(own * first - other * second)
        assert apart <= pair.length[cell] * (1 + 1e-12)


def steep_pair(bound):
    """Return the rest of a table and two records that are steep at its coefficients."""
    margin = np.linspace(0, bound, 20_001)
    best = margin[np.argmax(expit(margin) * np.sqrt(1 - (margin / bound) ** 2))]
    tilt = math.acos(best / bound)
    rest = Records.of(
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [1.0, -1.0, 1.0, -1.0]
    )
    odds = math.exp(0.93 * bound)
    rest = Records(rest.features, rest.target, np.array([odds * 200, 200, 400, 400]))
    rows = [[math.cos(tilt), math.sin(tilt)], [math.cos(tilt), -math.sin(tilt)]]
    return [rest.plus(row, -1.0) for row in rows]


def inside_delta(radius, sigma, epsilon, points=260):
    """Return the exact δ(ε) of what happens strictly inside of the ball."""
    target = Objective(Logistic(), 2, 1.0, 4.0)
    wide = np.linspace(0.75 * radius, radius, points)
    thin = np.linspace(-0.25 * radius, 0.25 * radius, points)
    grid = np.stack(np.meshgrid(wide, thin, indexing="ij"), axis=-1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) < radius]
    volume = float((wide[1] - wide[0]) * (thin[1] - thin[0]))
    laws = [
        exact._law(target, Gaussian(sigma), records, grid, volume)
        for records in steep_pair(radius)
    ]
    first, second = (np.exp(law.log_density) * volume for law in laws)
    assert first.sum() > 0.8
    return max(
        float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        for p, q in ((first, second), (second, first))
    )


@pytest.mark.parametrize("radius", [2.0, 4.0])
def test_the_exact_profile_inside_of_the_ball_is_within_the_claim(radius):
    found = ObjectivePerturbation(noise="shorter").calibrate(
        logistic(radius, size=30), BUDGET, REPLACE
    )
    assert found.theorem.endswith("objective-ball-exact")
    main = BUDGET.share(1 - ObjectivePerturbation().precision_share)
    epsilon, delta = float(main.epsilon), float(main.delta)
    sigma = found.noise.scale
    assert ball.ball_delta(found.objective, sigma, epsilon) <= delta
    assert inside_delta(radius, sigma, epsilon) <= delta
    assert inside_delta(radius, 0.85 * sigma, epsilon) > delta


@pytest.mark.parametrize(("l2", "least"), [(3.1, 0.806), (4.0, 0.797), (16.0, 0.778)])
def test_a_ball_of_four_needs_four_fifths_of_the_noise(l2, least):
    target = Objective(Logistic(), 30, 1.0, l2)
    usual = ObjectivePerturbation().calibrate(target, BUDGET, REPLACE).noise
    found = ObjectivePerturbation().calibrate(target.with_ball(4.0), BUDGET, REPLACE).noise
    assert 0.75 < found.scale / usual.scale < least


def test_a_loss_that_rises_with_the_length_is_integrated_exactly():
    """A loss in one direction only: the plane's bound is that of the line."""
    losses = ball._Losses(
        np.array([0.0, 20.0]), np.array([[0.02], [4.02]]), np.array([0.2])
    )
    assert losses.over_lengths(1.0)[0] == pytest.approx(
        rayleigh_tail(0.02, 0.2, 1.0), rel=1e-9
    )


def rayleigh_tail(start, slope, epsilon):
    """Return ∫ of slope·e^{ε − start − slope·r}·e^{−r²/2} from the crossing on."""
    crossing = (epsilon - start) / slope
    scale = slope * math.exp(epsilon - start + slope**2 / 2) * math.sqrt(math.tau)
    return scale * float(ndtr(-(crossing + slope)))


def test_directions_add_up_to_a_line():
    """Without an angle between the gradients the claim is that of a shift on a line."""
    pair = ball._Pair(
        0.0, 1e-9, np.array([1.0]), np.array([0.0]), np.array([1.0]), np.array([0.0])
    )
    claim = pair.delta(0.3, 1.0)
    assert gaussian_delta(1.0, 0.3) <= claim <= 1.03 * gaussian_delta(1.0, 0.3)
