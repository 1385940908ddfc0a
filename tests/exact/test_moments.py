"""How far one record moves curvature and scatter, and the noise that hides it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from confide.data import bound_rows
from confide.data.matrix.sums import MAX_ROWS, SumShape
from confide.errors import InvalidParameter
from confide.mechanisms.intervals import moments
from confide.mechanisms.intervals.moments import (
    ROUNDING_SLACK,
    add_noise,
    sensitivity,
    sums,
)
from confide.noise import Entropy
from confide.noise.symmetric import HALF_ROOT, as_symmetric, degrees_of_freedom
from confide.objectives import Box, L2Ball, Logistic, Objective, Poisson, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from support.cases import LOSSES, labels, objective
from support.examples import some
from support.whole import calibrated

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
FALSE_ALARM = 1e-6
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
CONSTRAINED = {
    "squared in a ball": (Squared(), L2Ball(1.5), (-2.0, 2.0)),
    "poisson in a box": (Poisson(), Box(-0.5, 0.5), (0.0, 2.0)),
}


def gap(calibration, theta, first, second):
    """Return ‖(ΔC, w·ΔS)‖ between two small tables, over what is claimed for it."""
    target = calibration.objective
    norm = target.row_norm
    tables = [
        sums(target, bound_rows(np.array(x), np.array(y, dtype=float), norm, 0.0), theta)
        for x, y in (first, second)
    ]
    bend, scatter = (a - b for a, b in zip(*tables, strict=True))
    length = float(np.linalg.norm(theta))
    weight = calibration.weight(length)
    moved = math.hypot(np.linalg.norm(bend), weight * np.linalg.norm(scatter))
    return moved / sensitivity(calibration, length)


def steepest_margin(calibration, length, label):
    """Return a margin where a record with this label contributes most at this length."""
    target = calibration.objective
    loss, public = target.loss, moments.bounds_at(target, length)
    slopes = np.linspace(0, moments.steepest_slope(target, length), 200_001)[1:-1]
    weight = calibration.weight(length)
    size = np.hypot(loss.max_curvature(slopes, public), weight * slopes**2)
    slope = slopes[np.argmax(size + 1e-9 * slopes)]
    sign = 1.0 if loss.targets == "counts" else -label
    return float(loss.inverse_slope(np.array([sign * slope]), np.array([label]))[0])


def witness(calibration, length, label):
    """Return how much of the claim two rows at right angles with a worst margin attain."""
    target = calibration.objective
    norm = target.row_norm
    along = steepest_margin(calibration, length, label) / (length or 1.0)
    across = math.sqrt(norm**2 - along**2)
    turn = -(along**2) / across**2
    first = np.array([along, across, 0.0])
    second = np.array([along, across * turn, across * math.sqrt(1 - turn**2)])
    assert abs(first @ second) < 1e-12
    theta = np.array([length, 0.0, 0.0])
    base = (np.eye(3) * 0.5, [label] * 3)
    more, other = (
        (np.vstack([base[0], row * (1 - 1e-15)]), [*base[1], label])
        for row in (first, second)
    )
    if calibration.neighbours is ADD:
        other = base
    return gap(calibration, theta, more, other)


ATTAINED = [
    ("logistic", 0.0, 1.0),
    ("logistic", 3.0, -1.0),
    ("logistic", 40.0, 1.0),
    ("clipped-logistic", 2.0, 1.0),
    ("huberized-hinge", 2.0, 1.0),
    ("narrow-hinge", 2.0, -1.0),
    ("smoothed-hinge", 1.0, 1.0),
    ("huber", 1.0, 1.0),
    ("clipped-poisson", 4.0, 3.0),
]
SHRUNK = [
    (Squared(), L2Ball(8.0), 0.5, 1.0, 2.0),
    (Squared(), L2Ball(8.0), 0.0, 1.0, 10.0),
    (Poisson(), L2Ball(4.0), 1.0, 3.0, 10.0),
    (Poisson(), L2Ball(4.0), 0.1, 3.0, 40.0),
]
"""Losses in a ball, the length of the coefficients, the bound of the target, and by how
much the length shrinks the noise on the curvature or on the scatter at least."""


@every_relation
@pytest.mark.parametrize("recipe", ["joint", "curvature"])
@pytest.mark.parametrize(("name", "length", "label"), ATTAINED)
def test_the_claimed_sensitivity_is_attained(relation, recipe, name, length, label):
    calibration = calibrated(objective(name, 3), Pure(1), relation, recipe)
    check_witness(calibration, length, label)


def check_witness(calibration, length, label):
    share = witness(calibration, length, label) * (1 + ROUNDING_SLACK)
    assert 1 - 1e-3 <= share <= 1 + 1e-9, share


@every_relation
@pytest.mark.parametrize(("loss", "ball", "length", "bound", "shorter"), SHRUNK)
def test_the_length_of_the_coefficients_shrinks_noise(
    relation, loss, ball, length, bound, shorter
):
    target = Objective(loss, 3, 1.0, 1.0, constraint=ball, target_bound=bound)
    calibration = calibrated(target, Pure(1), relation)
    near, far = (
        (one, one / calibration.weight(size))
        for size in (length, math.inf)
        for one in [sensitivity(calibration, size)]
    )
    assert max(b / a for a, b in zip(near, far, strict=True)) > shorter
    assert all(a <= b * (1 + 1e-12) for a, b in zip(near, far, strict=True))


@pytest.mark.parametrize(
    ("loss", "label"), [(Squared(), -1.0), (Poisson(), 0.0)], ids=["squared", "poisson"]
)
def test_short_coefficients_are_claimed_no_shorter_than_they_are(loss, label, monkeypatch):
    """A row along the coefficients attains the claim, and breaks a claim for less."""
    target = Objective(loss, 2, 1.0, 1.0, constraint=L2Ball(5.0), target_bound=1.0)
    theta = np.array([0.4, 0.0])
    record = (np.array([[1 - 1e-15, 0.0]]), [label])
    nothing = (np.zeros((1, 2)), [0.0])
    calibration = calibrated(target, Pure(1), ADD)
    assert 1 - 2 * ROUNDING_SLACK < gap(calibration, theta, record, nothing) <= 1
    honest = moments.bounds_at
    monkeypatch.setattr(moments, "bounds_at", lambda o, length: honest(o, length / 2))
    assert gap(calibration, theta, record, nothing) > 1


@st.composite
def neighbours(draw):
    """Draw a loss, bounds, coefficients and two tables that differ in a record."""
    name = draw(st.sampled_from([*sorted(LOSSES), *CONSTRAINED]))
    size = draw(st.integers(1, 4))
    norm = draw(st.sampled_from([0.3, 1.0, 2.5]))
    if name in CONSTRAINED:
        loss, constraint, ends = CONSTRAINED[name]
        target = Objective(
            loss, size, norm, 1.0, constraint=constraint, target_bound=max(ends)
        )
    else:
        target, ends = replace(objective(name, size), row_norm=norm), labels(name)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    theta = rng.normal(size=size)
    theta *= draw(st.floats(0, 30)) / np.linalg.norm(theta)
    if target.constraint is not None:
        theta = target.constraint.project(theta)
    rows = rng.normal(size=(4, size))
    if draw(st.booleans()):
        rows[:2] = theta + 0.1 * rng.normal(size=(2, size))
    rows *= rng.choice([-1, 1], (4, 1)) * norm
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[0] *= draw(st.sampled_from([0.0, 0.5, 1.0]))
    ys = rng.choice(ends, 4)
    relation = draw(st.sampled_from([ADD, REPLACE]))
    recipe = draw(st.sampled_from(["joint", "curvature"]))
    weight = draw(st.sampled_from([0.1, 1.0, 10.0]))
    calibration = calibrated(target, Pure(1), relation, recipe)
    calibration = replace(calibration, ratio=calibration.ratio * weight)
    kept = [0, 2, 3]
    other = (rows[[2, 3]], ys[[2, 3]]) if relation is ADD else (rows[1:], ys[1:])
    return calibration, theta, (rows[kept], ys[kept]), other


@pytest.mark.slow
@settings(max_examples=some(1000))
@given(neighbours())
def test_no_neighbour_moves_the_moments_further(case):
    assert gap(*case) * (1 + 0.9 * ROUNDING_SLACK) <= 1


@pytest.mark.parametrize("weight", [0.0, 0.2, 1.0, 7.0])
@pytest.mark.parametrize("length", [0.0, 0.3, 2.0, 50.0])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_the_grid_bounds_every_slope_from_above(name, length, weight):
    target = objective(name)
    claim = moments.largest_contribution(target, weight, length)
    slopes = np.linspace(0, moments.steepest_slope(target, length), 99_991)
    public = moments.bounds_at(target, length)
    size = np.hypot(target.loss.max_curvature(slopes, public), weight * slopes**2)
    assert size.max() <= claim * (1 + 1e-15)
    assert size.max() >= claim * (1 - 5e-3)


def test_a_row_contributes_the_same_wherever_it_stands():
    """A matrix product would round the margin of a row by its place in a block."""
    rng = np.random.default_rng(3)
    for size in (1, 3, 7, 11, 37, 90):
        x, theta = rng.normal(size=(203, size)), rng.normal(size=size)
        rows = bound_rows(x, np.ones(203), 2.0, 0.0)
        (whole,) = rows.blocks(0, 203)
        every = whole.margin(theta, row_independent=True)
        for start, stop in ((0, 1), (1, 9), (2, 203), (5, 202)):
            (part,) = rows.blocks(start, stop)
            alone = part.margin(theta, row_independent=True)
            assert np.array_equal(alone, every[start:stop])


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_slope_and_curvature_of_a_record_do_not_depend_on_its_place(name):
    """Libraries compute several numbers at once, and the last ones in another way."""
    loss, rng = objective(name).loss, np.random.default_rng(6)
    margin, target = rng.normal(size=1003) * 5, rng.choice(labels(name), 1003)

    def both(cut):
        slope = loss.slope(margin[cut], target[cut])
        return slope, loss.curvature_from_slope(slope, margin[cut], target[cut])

    whole = both(slice(None))
    for start, stop in ((0, 1), (1, 2), (1, 9), (3, 1003), (998, 1003), (7, 20)):
        for part, every in zip(both(slice(start, stop)), whole, strict=True):
            assert np.array_equal(part, every[start:stop])


def test_sums_of_doubles_stay_within_the_slack():
    """The same rows in another order move the sums by far less than the slack."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(20_000, 5))
    y = rng.choice([-1.0, 1.0], 20_000)
    order = rng.permutation(20_000)
    calibration = calibrated(objective("logistic", 5), Pure(1), ADD)
    tables = ((x, y), (x[order], y[order]))
    assert gap(calibration, np.ones(5), *tables) < ROUNDING_SLACK / 100


def test_nothing_but_the_public_cap_on_rows_refuses_a_table():
    class Many:
        sum_shape = SumShape(1, 1, 1, 1, 1)
        count = MAX_ROWS

    calibration = calibrated(objective("logistic"), Pure(1), ADD)
    calibration.check_rows(Many())
    Many.count += 1
    with pytest.raises(InvalidParameter, match="at most 1,000,000,000 rows"):
        calibration.check_rows(Many())


def test_noise_that_doubles_cannot_hold_is_refused_before_anything_is_spent():
    for norm in (1e-80, 1e80):
        target = replace(objective("logistic"), row_norm=norm)
        with pytest.raises(InvalidParameter, match="scale of the noise"):
            calibrated(target, Pure(1), ADD)


@every_relation
@pytest.mark.parametrize("budget", [Pure(0.7), Approx(0.7, 1e-5), Zcdp(0.3)], ids=repr)
@pytest.mark.parametrize("copies", [1, 4])
def test_copies_together_cost_the_event(relation, budget, copies):
    """K problems, each with noise for one K-th of the budget or of the squared shift."""
    for recipe in ("joint", "curvature", "published"):
        found = calibrated(objective("huber", 3), budget, relation, recipe, copies)
        for unit, event in zip(found.parts, found.events, strict=True):
            if isinstance(budget, Pure):
                assert copies / unit.scale == pytest.approx(float(event.epsilon))
            else:
                assert math.sqrt(copies) / unit.scale == pytest.approx(event.mu)


def noisy_stacks(budget, size, draws=3000):
    """Release moments of nothing, as pairs of matrices in the norm of the proof."""
    calibration = calibrated(objective("logistic", size), budget, REPLACE)
    nothing, theta = np.zeros((size, size)), np.ones(size)
    entropy = Entropy.seeded(1)
    found = [add_noise(calibration, theta, nothing, nothing, entropy) for _ in range(draws)]
    weight = calibration.weight(math.sqrt(size))
    stack = np.array([[one.curvature, one.scatter * weight] for one in found])
    reach = sensitivity(calibration, math.sqrt(size))
    return stack, calibration.parts[0].scale * reach, found[0]


def check_lengths(budget, size):
    """The Frobenius norm of the pair is the length of one vector of the noise."""
    stack, scale, _ = noisy_stacks(budget, size)
    free = 2 * degrees_of_freedom(size)
    squares = (stack**2).sum(axis=(1, 2, 3))
    if isinstance(budget, Pure):
        law, seen = stats.gamma(free), np.sqrt(squares) / scale
    else:
        law, seen = stats.chi2(free), squares / scale**2
    chance = stats.kstest(seen, law.cdf).pvalue
    assert chance > FALSE_ALARM, chance


def check_coordinates(budget, size):
    """Entries off the diagonal have half the variance, and nothing goes together."""
    stack, scale, first = noisy_stacks(budget, size)
    row, column = np.triu_indices(size)
    flat = stack[:, :, row, column].reshape(len(stack), -1)
    root = np.tile(np.where(row == column, 1.0, math.sqrt(2)), 2)
    factor = 1.0 if not isinstance(budget, Pure) else math.sqrt(flat.shape[1] + 1)
    assert first.curvature_deviation == pytest.approx(scale * factor)
    unit = flat * root / (scale * factor)
    for i in range(unit.shape[1]):
        for j in range(i + 1):
            product = unit[:, i] * unit[:, j] - (i == j)
            score = product.sum() / math.sqrt(len(product)) / product.std()
            assert 2 * stats.norm.sf(abs(score)) > FALSE_ALARM, (i, j, score)


every_budget = pytest.mark.parametrize("budget", [Pure(1), Zcdp(0.1)], ids=repr)


@pytest.mark.slow
@every_budget
@pytest.mark.parametrize("size", [1, 2, 4])
def test_noise_on_the_moments_has_its_law(budget, size):
    check_lengths(budget, size)
    check_coordinates(budget, size)


def test_entries_stand_on_both_sides_of_the_diagonal():
    found = as_symmetric(np.arange(6.0), 3)
    assert np.array_equal(found, [[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    again = moments.upper_entries(found)
    assert np.array_equal(again, np.arange(6.0))


@settings(max_examples=some(300))
@given(st.floats(1e-140, 1e140), st.floats(1e-5, 1e5))
def test_scales_off_the_diagonal_and_of_the_scatter_are_rounded_up(scale, weight):
    """Doubles d with 2·d² ≥ scale², and for the scatter times the weight as well."""
    exact, stretch = Fraction(scale), moments.symmetric_stretch(2)
    off, on = (Fraction(scale * stretch[k]) for k in (1, 0))
    assert exact**2 <= 2 * off**2 < exact**2 * (1 + Fraction(1, 2**48))
    assert on == exact
    wider = stretch * (moments.ABOVE / weight)
    off, on = (Fraction(scale * wider[k]) * Fraction(weight) for k in (1, 0))
    assert 2 * off**2 >= exact**2
    assert on >= exact
    assert Fraction(math.sqrt(0.5)) ** 2 * 2 < 1 + Fraction(1, 2**52) < 2 * HALF_ROOT**2


@every_budget
@pytest.mark.parametrize(
    "factor",
    [
        math.sqrt(2),
        *(pytest.param(f, marks=pytest.mark.slow) for f in (1 / math.sqrt(2), 1.1)),
    ],
)
def test_entries_off_the_diagonal_of_another_scale_are_seen(monkeypatch, budget, factor):
    honest = moments.symmetric_stretch

    def wrong(size):
        return np.where(honest(size) < 1, factor, 1.0) * honest(size)

    monkeypatch.setattr(moments, "symmetric_stretch", wrong)
    for check in (check_lengths, check_coordinates):
        with pytest.raises(AssertionError):
            check(budget, 4)


def test_forgetting_the_root_of_two_is_seen(monkeypatch):
    calibration = calibrated(objective("logistic", 3), Pure(1), REPLACE)
    check_witness(calibration, 0.0, 1.0)
    honest = moments.sensitivity

    def single(found, length):
        return honest(replace(found, neighbours=ADD), length)

    monkeypatch.setitem(globals(), "sensitivity", single)
    with pytest.raises(AssertionError):
        check_witness(calibration, 0.0, 1.0)


@every_relation
def test_dropping_the_weight_is_seen_by_the_witness(monkeypatch, relation):
    calibration = calibrated(objective("huberized-hinge", 3), Pure(1), relation)
    check_witness(calibration, 2.0, 1.0)
    honest = moments.largest_contribution
    monkeypatch.setattr(
        moments, "largest_contribution", lambda o, w, length: honest(o, 0.0, length)
    )
    with pytest.raises(AssertionError):
        check_witness(calibration, 2.0, 1.0)


def test_published_sensitivities_are_those_of_the_paper():
    """Lemmas 2 to 5 of Wang, Kifer and Lee, times n: ½ and 2S² for the logistic loss."""
    target = Objective(Logistic(), 2, 1.0, 1.0)
    calibration = calibrated(target, Zcdp(0.5), REPLACE, "published")
    theta = np.array([0.6, 0.8])
    nothing = np.zeros((2, 2))
    found = add_noise(calibration, theta, nothing, nothing, Entropy.seeded(0))
    units = [part.scale for part in calibration.parts]
    steep = 1 / (1 + math.exp(-1))
    slack = 1 + ROUNDING_SLACK
    assert found.curvature_deviation == pytest.approx(0.5 * units[0] * slack)
    assert found.scatter_deviation == pytest.approx(2 * steep**2 * units[1] * slack)
    assert sum(1 / unit**2 for unit in units) / 2 == pytest.approx(0.5)
