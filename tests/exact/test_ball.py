"""Replacing a record of a logistic fit in a ball: exact losses, and geometry.

In the plane a minimiser is inside of a disc or on its circle; on the line, inside of an
interval or at one of its ends. Both parts have explicit laws.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtr

from confide.attacks import Records, exact_pair, hockey_stick
from confide.attacks import exact_loss as exact
from confide.mechanisms import ObjectivePerturbation
from confide.mechanisms.objective import ball
from confide.noise import Gaussian
from confide.objectives import Box, Logistic, Objective
from confide.privacy import Approx, Neighbours, gaussian_delta

REPLACE = Neighbours.REPLACE_ONE
BUDGET = Approx(1, 1e-6)


def logistic(radius, size=2, l2=4.0, longest=None):
    return Objective(Logistic(), size, 1.0, l2, longest_row=longest).with_ball(radius)


def claimed(target, budget=BUDGET):
    """Return the scale, epsilon and delta of the linear term's noise by objective-ball."""
    main = budget.share(1 - ObjectivePerturbation().precision_share)
    epsilon, delta = float(main.epsilon), float(main.delta)
    most = ObjectivePerturbation(noise="gaussian").calibrate(target, budget, REPLACE)
    sigma = ball.smallest_ball_scale(target, epsilon, delta, most.noise.scale)
    assert sigma < most.noise.scale
    return sigma, epsilon, delta


def largest_distance(bound):
    """Return S(B): how far two gradients are apart at coefficients of length B."""
    margin = np.linspace(0, bound, 200_001)
    return float(np.max(2 * expit(margin) * np.sqrt(1 - (margin / bound) ** 2)))


@pytest.mark.parametrize("bound", [0.5, 1.0, 2.0, 4.0, 8.0, 30.0])
def test_gradients_are_as_far_apart_as_the_formula_says(bound):
    found = max(float(pair.length.max()) for pair in ball._pairs(logistic(bound)))
    assert largest_distance(bound) <= found <= 1.012 * largest_distance(bound)


@pytest.mark.parametrize("longest", [pytest.param(None, marks=pytest.mark.slow), 3.0])
@pytest.mark.parametrize("bound", [0.7, 4.0, 12.0])
def test_no_pair_of_records_is_outside_of_the_cells(bound, longest):
    """Rows of any length, weight and direction, coefficients anywhere in the ball."""
    target = logistic(bound, longest=longest)
    rng, pairs = np.random.default_rng(5), ball._pairs(target)
    step = math.pi / len(pairs)
    for _ in range(10_000):
        theta = rng.normal(size=3)
        theta *= bound * rng.choice([1.0, rng.random()]) / np.linalg.norm(theta)
        rows = rng.normal(size=(2, 3)) + rng.choice([0, 2]) * theta / bound
        lengths = np.where(rng.random(2) < 0.5, 1.0, rng.random(2))
        lengths *= target.reach
        rows *= (lengths / np.linalg.norm(rows, axis=1))[:, None]
        counted = exact._weights(target, rows) * lengths
        own, other = counted * expit(rows @ theta)
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


@pytest.mark.parametrize("radius", [pytest.param(2.0, marks=pytest.mark.slow), 4.0])
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
    gaussian = ObjectivePerturbation(noise="gaussian")
    usual = gaussian.calibrate(target, BUDGET, REPLACE).noise
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


def middles(low, high, count):
    edges = np.linspace(low, high, count + 1)
    return (edges[1:] + edges[:-1]) / 2


def inside_masses(target, sigma, records, angles, radii):
    """Return chances of cells of the open disc."""
    length, turn = np.meshgrid(radii, angles, indexing="ij")
    grid = np.stack([length * np.cos(turn), length * np.sin(turn)], axis=-1).reshape(-1, 2)
    law = exact._law(target, Gaussian(sigma), records, grid, 1.0)
    cell = (radii[1] - radii[0]) * (angles[1] - angles[0])
    return np.exp(law.log_density) * length.reshape(-1) * cell


def arc_masses(target, sigma, records, angles):
    """Return chances of arcs of the circle, whatever the multiplier.

    On the circle b = −(∇ + νn) with ν >= 0 and n the outward normal; (angle, ν) ↦ b has
    the determinant R·tᵀHt + ν, t the tangent, and the integral over ν is explicit.
    """
    radius = target.constraint.size
    outward = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    along = np.stack([-outward[:, 1], outward[:, 0]], axis=1)
    pull, bend = radius * outward * target.ridge, (along**2) @ target.ridge
    counted = records.times * exact._weights(target, records.features)
    for x, y, times in zip(records.features, records.target, counted, strict=True):
        margin = radius * outward @ x
        label = np.full_like(margin, y)
        pull += times * target.loss.slope(margin, label)[:, None] * x
        bend += times * target.loss.curvature(margin, label) * (along @ x) ** 2
    push, side = (np.sum(pull * one, axis=1) / sigma for one in (outward, along))
    density = (radius * bend / sigma - push) * ndtr(-push) + normal_density(push)
    return normal_density(side) * density * (angles[1] - angles[0])


def normal_density(place):
    return np.exp(-(place**2) / 2) / math.sqrt(math.tau)


def exact_delta(target, sigma, tables, epsilon, *, on_the_circle=False):
    """Return the exact δ(ε), the larger of both directions; cells only make it smaller.

    ``on_the_circle``: next to nothing is inside, and arcs may be fine.
    """
    angles = middles(-math.pi, math.pi, 6_000 if on_the_circle else 360)
    radii = middles(0.0, target.constraint.size, 120)
    laws = []
    for records in tables:
        law = arc_masses(target, sigma, records, angles)
        if not on_the_circle:
            inside = inside_masses(target, sigma, records, angles, radii)
            law = np.append(inside, law)
        assert law.sum() == pytest.approx(1.0, abs=2e-4)
        laws.append(law)
    return max(
        float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in (laws, laws[::-1])
    )


def worst_tilt(bound):
    margin = np.linspace(0, bound, 20_001)
    best = margin[np.argmax(expit(margin) * np.sqrt(1 - (margin / bound) ** 2))]
    return math.acos(best / bound)


def pressed(target, push=None, beside=400.0, lengths=None, tilts=None):
    """Return tables whose records press coefficients outward, and one that differs."""
    longest = target.reach
    if push is None:
        push = 600.0 / expit(-target.constraint.size)
    tilt = worst_tilt(longest * target.constraint.size)
    first, second = (tilt, tilt) if tilts is None else tilts
    one, other = (longest, longest) if lengths is None else lengths
    rest = Records.of([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [1.0, 1.0, -1.0])
    rest = Records(rest.features, rest.target, np.array([push, beside, beside]))
    rows = (
        [one * math.cos(first), one * math.sin(first)],
        [other * math.cos(second), -other * math.sin(second)],
    )
    return [rest.plus(row, -1.0) for row in rows]


@pytest.mark.parametrize("longest", [None, pytest.param(3.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("radius", "l2"), [(0.5, 16.0), (2.0, 4.0), (4.0, 16.0)])
def test_the_exact_profile_on_the_circle_is_within_the_claim(radius, l2, longest):
    """Gradients of both records differ along the circle, by as much as they can."""
    target = logistic(radius, l2=l2, longest=longest)
    sigma, epsilon, delta = claimed(target)
    tables = pressed(target)
    assert exact_delta(target, sigma, tables, epsilon, on_the_circle=True) <= delta
    if longest is None:
        tight = exact_delta(target, 0.92 * sigma, tables, epsilon, on_the_circle=True)
        assert tight > delta


@pytest.mark.parametrize("longest", [pytest.param(None, marks=pytest.mark.slow), 3.0])
@pytest.mark.parametrize(
    ("radius", "l2", "budget"),
    [(1.0, 1.5, Approx(1, 1e-2)), (3.0, 0.6, Approx(4, 1e-2)), (2.0, 4.0, Approx(1, 1e-3))],
)
def test_no_pair_of_tables_exceeds_the_claim_inside_and_on_the_circle(
    radius, l2, budget, longest
):
    """Tables of no records and of many, rows near the worst ones and far from them."""
    target = logistic(radius, l2=l2, longest=longest)
    sigma, epsilon, delta = claimed(target, budget)
    rng = np.random.default_rng(11)
    for turn in range(10):
        push = 0.0 if turn % 3 == 0 else math.exp(rng.uniform(0, 4))
        tilts = worst_tilt(target.reach * radius) * np.exp(0.3 * rng.normal(size=2))
        lengths = target.reach * np.where(rng.random(2) < 0.6, 1.0, rng.random(2) ** 2)
        beside = rng.choice([0.0, 3.0])
        tables = pressed(target, push, beside, lengths, tilts)
        assert exact_delta(target, sigma, tables, epsilon) <= delta


@pytest.mark.slow
@pytest.mark.parametrize("push", [0.0, 30.0, 3_000.0])
@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_the_ends_of_an_interval_are_within_the_claim(radius, push):
    """On the line a ball is an interval: its ends have atoms."""
    line = Objective(Logistic(), 1, 1.0, 4.0, constraint=Box(-radius, radius))
    assert line.public.coef_norm == radius
    sigma, epsilon, delta = claimed(line)
    rest = Records.of([[1.0]], [1.0], push)
    tables = [rest.plus([1.0], -1.0), rest.plus([-1.0], -1.0)]
    laws = exact_pair(line, Gaussian(sigma), *tables)
    assert all(law.mass == pytest.approx(1.0, abs=1e-4) for law in laws)
    assert min(law.atoms.sum() for law in laws) > 0.1
    for first, second in (laws, laws[::-1]):
        assert hockey_stick(first, second, epsilon) <= delta
    if radius == 2.0 and push == 0.0:
        half = exact_pair(line, Gaussian(0.5 * sigma), *tables)
        assert hockey_stick(*half, epsilon) > delta


@pytest.mark.slow
def test_a_ball_taken_for_a_line_is_seen_on_the_circle(monkeypatch):
    """On a line slopes of opposite records sum to one; in the plane they do not."""
    target = logistic(4.0)
    honest, _, _ = claimed(target)
    only = ball._pairs(target)[:1]
    monkeypatch.setattr(ball, "_pairs", lambda target: only)
    sigma, epsilon, delta = claimed(target)
    assert sigma < 0.8 * honest
    found = exact_delta(target, sigma, pressed(target), epsilon, on_the_circle=True)
    assert found > 100 * delta


@pytest.mark.slow
def test_a_forgotten_log_determinant_is_seen(monkeypatch):
    target, budget = logistic(1.0, l2=0.3), Approx(1, 0.1)
    honest, epsilon, delta = claimed(target, budget)
    tables = pressed(target, 300.0, 0.0, tilts=(1.2, 1.2))
    assert exact_delta(target, honest, tables, epsilon) < 0.2 * delta
    level = [replace(pair, height=0 * pair.height) for pair in ball._pairs(target)]
    monkeypatch.setattr(ball, "_pairs", lambda target: level)
    sigma, _, _ = claimed(target, budget)
    assert exact_delta(target, sigma, tables, epsilon) > 1.03 * delta


@pytest.mark.slow
def test_margins_of_short_rows_are_seen_where_long_ones_count_less():
    """Forgetting X̄ in the margins makes gradients of long rows too short."""
    target, short = logistic(1.0, l2=30.0, longest=6.0), logistic(1.0, l2=30.0)
    sigma, epsilon, delta = claimed(short)
    tables = pressed(target)
    assert exact_delta(target, sigma, tables, epsilon, on_the_circle=True) > 100 * delta
    honest, _, _ = claimed(target)
    assert exact_delta(target, honest, tables, epsilon, on_the_circle=True) <= delta


def direct_delta(target, sigma, epsilon, angle):
    """Return E(1 − e^{ε−W_β})₊ by plain quadrature, W over a few hundred pairs."""
    bound, ratio = target.public.margin_bound, target.row_square / target.strong_convexity
    margin = np.linspace(-bound, bound, 161)
    turned = angle + np.arccos(margin / bound)
    beyond = np.where(turned >= math.pi, bound, -bound * np.cos(turned))
    own, other = (steepest(one, weighted=target.weighted) for one in (margin, beyond))
    turns, lengths = middles(-math.pi, math.pi, 300), middles(0.0, 9.0, 180)
    loss = np.zeros((len(lengths), len(turns)))
    along, beside = np.cos(turns), np.cos(turns - angle)
    for a, b in zip(own, other, strict=True):
        apart = a**2 + b**2 + 2 * a * b * max(math.cos(angle), 0.0)
        start = math.log1p(a * (1 - a) * ratio) + apart / (2 * sigma**2)
        slope = np.maximum(a * along + b * beside, 0.0) / sigma
        np.maximum(loss, start + lengths[:, None] * slope, out=loss)
    weight = lengths * np.exp(-(lengths**2) / 2) * (lengths[1] - lengths[0])
    beyond_epsilon = np.maximum(-np.expm1(epsilon - loss), 0.0).mean(axis=1)
    return float(weight @ beyond_epsilon)


def steepest(margin, *, weighted):
    """Return the largest slope times length of a record, by trying lengths."""
    share = np.linspace(1e-9, 1.0, 2_001)
    counted = 1.0 if weighted else share
    return np.max(counted * expit(np.multiply.outer(margin, share)), axis=1)


@pytest.mark.parametrize("longest", [pytest.param(None, marks=pytest.mark.slow), 3.0])
@pytest.mark.parametrize(("radius", "l2"), [(0.5, 8.0), (4.0, 4.0)])
def test_cells_are_above_plain_quadrature_and_near_to_it(radius, l2, longest):
    target = logistic(radius, l2=l2, longest=longest)
    sigma, epsilon, delta = claimed(target)
    angles = np.linspace(0.0, math.pi, 25)
    found = [direct_delta(target, sigma, epsilon, angle) for angle in angles]
    assert 0.6 * delta < max(found) <= delta
    assert ball.ball_delta(target, sigma, epsilon) <= delta


def test_powers_that_no_double_holds_are_not_cut_short():
    losses = ball._Losses(np.array([0.0]), np.array([[500.0]]), np.array([40.0]))
    assert losses.over_lengths(900.0)[0] == 1.0
