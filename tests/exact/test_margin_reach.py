"""Moments at public coefficients: no record contributes more than was paid for.

Rows have a constant entry and bounded others; contributions of random and of extreme rows
are held against the bound, which they nearly attain.
"""

import math

import numpy as np
import pytest

from confide.mechanisms.intervals import moments as rules
from confide.mechanisms.intervals.moments import (
    MomentRelease,
    add_noise,
    bounds_at,
    effective_length,
)
from confide.noise import Entropy
from confide.objectives import Clipped, Logistic, Objective, Poisson
from confide.privacy import Neighbours, Zcdp

HEIGHT, NORM = 0.3, math.hypot(1.0, 0.3)
CASES = {
    "logistic": (Logistic(), None, (-1.0, 1.0)),
    "poisson": (Clipped(Poisson(), 3.0), 4.0, (0.0, 1.0, 4.0)),
}
POINTS = [
    np.array([0.5, -0.4, 0.1, -3.0]),
    np.array([1.5, 0.2, -0.7, 2.0]),
    np.array([0.0, 0.0, 0.0, 5.0]),
    np.array([0.3, 0.1, -0.2, 4.0]),
]
HEIGHTS = np.full(3, 1 / math.sqrt(3))


def objective(name):
    loss, bound, _ = CASES[name]
    return Objective(loss, 4, NORM, 1.0, target_bound=bound, height=HEIGHT)


def rows(heights, theta):
    """Return rows in the box or in the ball, the ends of the margin's range among them."""
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=(4000, 3))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    slopes = theta[:3]
    if heights is not None:
        drawn = rng.uniform(-1, 1, size=(4000, 3)) * heights
        ends = np.sign(slopes) * heights
    else:
        ends = slopes / max(np.linalg.norm(slopes), 1e-300)
    features = np.vstack([drawn, ends, -ends])
    return np.column_stack([features, np.full(len(features), HEIGHT)])


def largest_seen(name, theta, heights, weight):
    loss, _, targets = CASES[name]
    table = rows(heights, theta)
    margin, found = table @ theta, 0.0
    for target in targets:
        y = np.full(len(margin), target)
        curvature, slope = loss.curvature(margin, y), loss.slope(margin, y)
        size = np.hypot(curvature, weight * slope**2) * np.sum(table**2, axis=1)
        found = max(found, float(size.max()))
    return found


def check(name, theta, heights):
    """Hold the records against what the released moments say that they paid for."""
    target = objective(name)
    fixed = MomentRelease(heights=heights).calibrate(target, Zcdp(1), Neighbours.ADD_REMOVE)
    nothing = np.zeros((len(theta), len(theta)))
    found = add_noise(fixed, theta, nothing, nothing, Entropy.seeded(1))
    numbers = len(theta) * (len(theta) + 1)
    paid = found.curvature_deviation / fixed.parts[0].deviation(numbers)
    weight = found.curvature_deviation / found.scatter_deviation
    assert largest_seen(name, theta, heights, weight) <= paid * (1 + 1e-9)


@pytest.mark.parametrize("heights", [None, HEIGHTS], ids=["ball", "box"])
@pytest.mark.parametrize("theta", POINTS, ids=["low", "high", "level", "raised"])
@pytest.mark.parametrize("name", CASES)
def test_no_record_contributes_more_than_was_paid_for(name, theta, heights):
    check(name, theta, heights)
    length = effective_length(objective(name), theta, heights)
    assert length <= float(np.linalg.norm(theta))


def test_the_highest_mean_of_a_count_is_nearly_attained():
    target, theta = objective("poisson"), POINTS[0]
    length = effective_length(target, theta, HEIGHTS)
    most = bounds_at(target, length).margin_bound
    highest = HEIGHT * theta[3] + HEIGHTS @ np.abs(theta[:3])
    assert most == pytest.approx(max(highest, 0.0), abs=1e-9)


@pytest.mark.parametrize("heights", [None, HEIGHTS], ids=["ball", "box"])
def test_a_forgotten_constant_entry_turns_the_check_red(monkeypatch, heights):
    """The release takes margins of the other columns alone for all of them."""
    whole = rules.effective_length

    def without_constant(objective, theta, heights=None):
        return whole(objective, np.append(theta[:-1], 0.0), heights)

    monkeypatch.setattr(rules, "effective_length", without_constant)
    with pytest.raises(AssertionError):
        check("poisson", POINTS[3], heights)
