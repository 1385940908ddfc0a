"""Gradients by splitting: their error bound holds, and is far below that of doubles."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy import sparse

from confide.data import bound_rows
from confide.data.matrix.sums import addition_depth, pairwise_sum
from confide.objectives import (
    Clipped,
    HuberizedHinge,
    Logistic,
    Objective,
    Poisson,
    Squared,
)
from confide.objectives.twofold import Twofold
from confide.solvers import minimise, smooth
from confide.solvers import split_gradient as precise
from confide.solvers.problem import Problem
from confide.solvers.split_gradient import precise_gradient, split_gradient
from confide.solvers.twofold_gradient import Grids, leading_bits, on_grid, twofold_gradient

LOSSES = {
    "logistic": (Logistic(), None),
    "hinge": (HuberizedHinge(), None),
    "huber": (Clipped(Squared(), 1.0), 1.0),
    "poisson": (Clipped(Poisson(), 4.0), 9.0),
}


def problem(name, count=6000, columns=12, stretch=1.0, height=0.3, l2=1.0):
    rng = np.random.default_rng(4)
    features = rng.normal(size=(count, columns)) * stretch / np.sqrt(columns)
    loss, bound = LOSSES[name]
    target = (
        np.sign(rng.normal(size=count)) if bound is None else rng.uniform(0, bound, count)
    )
    rows = bound_rows(features, target, stretch, height * stretch)
    norm = stretch * np.hypot(1, height)
    dimension = columns + (1 if height else 0)
    objective = Objective(loss, dimension, norm, l2, target_bound=bound)
    linear = rng.normal(size=objective.dimension)
    return Problem(objective, rows, linear, objective.ridge), rng


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("stretch", [1.0, 1e-3, 37.0])
@pytest.mark.parametrize("height", [0.0, 0.3])
def test_the_error_stays_below_its_bound_and_the_bound_below_that_of_doubles(
    name, stretch, height
):
    task, rng = problem(name, stretch=stretch, height=height)
    theta = rng.normal(size=task.objective.dimension) / stretch
    found, bound = precise_gradient(task, theta)
    truth, mass = task.gradient(theta.astype(np.longdouble))
    error = float(np.linalg.norm((truth - found).astype(float)))
    allowed = task.rounding(theta.astype(np.longdouble), mass) + bound
    assert error <= allowed
    assert bound < 0.2 * task.rounding(theta, mass)


def test_leading_parts_multiply_and_add_without_error():
    """The inner product of leading parts equals the one in rational arithmetic."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 8192))
    coarse = [precise._leading(v, float(np.abs(v).max())) for v in (a, b)]
    grid = [
        2.0 ** (np.ceil(np.log2(np.abs(v).max())) - precise.LEADING_BITS) for v in (a, b)
    ]
    whole = [np.rint(v / g).astype(np.int64) for v, g in zip(coarse, grid, strict=True)]
    exact = int(sum(int(x) * int(y) for x, y in zip(*whole, strict=True)))
    assert float(coarse[0] @ coarse[1]) == exact * grid[0] * grid[1]


def sparse_problem(name, stretch=1.0, height=0.3, full=False, loose=False):
    """Return rows with few entries; ``full`` is one that holds all, ``loose`` long rows."""
    rng = np.random.default_rng(5)
    task, _ = problem(name, columns=30, stretch=stretch, height=height)
    held = rng.uniform(size=task.rows.features.shape) < 0.2
    held[17] |= full
    features = sparse.csr_array(np.where(held, task.rows.features.toarray(), 0.0))
    bound = (0.1 if loose else 1.0) * stretch
    rows = bound_rows(features, task.rows.target, bound, height * stretch)
    return Problem(task.objective, rows, task.linear, task.ridge), rng


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("stretch", [1.0, 1e-3, 37.0])
@pytest.mark.parametrize("height", [0.0, 0.3])
@pytest.mark.parametrize("loose", [False, True])
def test_sparse_rows_are_split_as_well(name, stretch, height, loose):
    task, rng = sparse_problem(name, stretch, height, loose=loose)
    theta = rng.normal(size=task.objective.dimension) / stretch
    assert (task.rows.factor is not None) == loose
    found, bound = precise_gradient(task, theta)
    truth, mass = task.gradient(theta.astype(np.longdouble))
    error = float(np.linalg.norm((truth - found).astype(float)))
    assert error <= task.rounding(theta.astype(np.longdouble), mass) + bound
    assert bound < 0.2 * task.rounding(theta, mass)


def test_sparse_sums_are_exact_where_entries_lie_on_the_grid():
    """Rational arithmetic finds the gradient of a squared loss with no error but a slope's.

    Indicators have no rest: a margin is rounded once and then moves a slope.
    """
    rng = np.random.default_rng(6)
    count, columns = 500, 12
    places = rng.integers(0, 4, (count, 3)) + np.arange(0, columns, 4)
    parts = (np.ones(3 * count), places.ravel(), np.arange(0, 3 * count + 1, 3))
    features = sparse.csr_array(parts, shape=(count, columns))
    target = rng.integers(-3, 4, count).astype(float)
    objective = Objective(Clipped(Squared(), 50.0), columns, 2.0, 1.0, target_bound=3.0)
    rows = bound_rows(features, target, 2.0, 0.0)
    task = Problem(objective, rows, np.zeros(columns), objective.ridge)
    theta = rng.normal(size=columns)
    found, bound = precise_gradient(task, theta)
    whole = [Fraction(value) for value in theta]
    exact = list(whole)
    for row, label in zip(places.tolist(), target, strict=True):
        slope = sum(whole[j] for j in row) - Fraction(label)
        for j in row:
            exact[j] += slope
    error = [float(Fraction(f) - e) for f, e in zip(found, exact, strict=True)]
    assert np.linalg.norm(error) <= bound
    sweep, _ = task.gradient(theta)
    plain = [float(Fraction(f) - e) for f, e in zip(sweep, exact, strict=True)]
    assert np.linalg.norm(error) < np.linalg.norm(plain)


def test_the_fullest_row_counts_in_the_bounds():
    few, many = (sparse_problem("logistic", full=full)[0] for full in (False, True))
    assert few.sum_shape.entries < many.sum_shape.entries == 31
    theta = np.ones(31)
    assert few.rounding(theta, 1.0) < many.rounding(theta, 1.0)
    assert precise_gradient(few, theta)[1] < precise_gradient(many, theta)[1]
    assert few.rows.sum_shape.max_entries == many.rows.sum_shape.max_entries == 31


def exact_slope(name, margin, label):
    """Return φ′ to 60 digits; the losses are those of `LOSSES`."""
    if name == "logistic":
        return -label / (1 + mpmath.exp(label * margin))
    if name == "hinge":
        return -label * min(mpmath.mpf(1), max(mpmath.mpf(0), 1.5 - label * margin))
    if name == "huber":
        return min(mpmath.mpf(1), max(mpmath.mpf(-1), margin - label))
    return min(mpmath.mpf(4), max(mpmath.mpf(-4), mpmath.exp(margin) - label))


def exact_gradient(name, task, theta):
    point = [
        mpmath.mpf(h) + mpmath.mpf(v) for h, v in zip(theta.high, theta.low, strict=True)
    ]
    total = [r * t + b for r, t, b in zip(task.ridge, point, task.linear, strict=True)]
    rows = task.rows
    weights = np.ones(rows.count) if rows.weight is None else rows.weight
    for row, label, weight in zip(rows.toarray(), rows.target, weights, strict=True):
        entries = [mpmath.mpf(value) for value in row]
        margin = sum(x * t for x, t in zip(entries, point, strict=True))
        slope = exact_slope(name, margin, mpmath.mpf(label)) * mpmath.mpf(weight)
        total = [t + slope * x for t, x in zip(total, entries, strict=True)]
    return total


fine_gradient = partial(split_gradient, at_once=64, fine=True)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("stretch", [1.0, 37.0])
@pytest.mark.parametrize("fine", [False, True], ids=["double", "twofold"])
def test_gradients_beyond_doubles_keep_their_bound(name, stretch, fine):
    """Against gradients of 60 digits, for coefficients of either kind."""
    mpmath.mp.dps = 60
    task, rng = problem(name, count=300, columns=5, stretch=stretch)
    theta = Twofold.of(rng.normal(size=6) / stretch)
    theta = theta + 1e-18 * rng.normal(size=6) if fine else theta
    exact = exact_gradient(name, task, theta)
    bounds = []
    for gradient in (split_gradient, fine_gradient, twofold_gradient):
        found, bound = gradient(task, theta)
        gaps = [
            float(mpmath.mpf(high) + mpmath.mpf(low) - e)
            for high, low, e in zip(found.high, found.low, exact, strict=True)
        ]
        assert np.linalg.norm(gaps) <= bound
        bounds.append(bound)
    assert bounds[1] < 0.02 * bounds[0]
    assert bounds[2] < 0.02 * bounds[1]


def test_slopes_that_lose_their_second_double_break_the_bound(monkeypatch):
    mpmath.mp.dps = 60
    task, rng = problem("huber", count=300, columns=5)
    theta = Twofold.of(rng.normal(size=6))
    honest = precise._slopes
    monkeypatch.setattr(
        precise, "_slopes", lambda *given, fine: Twofold.of(honest(*given, fine=fine).high)
    )
    found, bound = fine_gradient(task, theta)
    exact = exact_gradient("huber", task, theta)
    gaps = [float(mpmath.mpf(f) - e) for f, e in zip(found.high, exact, strict=True)]
    assert np.linalg.norm(gaps) > 2 * bound


def weighed(task, most):
    """Return a problem whose records count min(4, most/‖x‖) times."""
    objective = replace(task.objective, row_norm=most, longest_row=task.objective.row_norm)
    return replace(task, objective=objective, rows=task.rows.weighed(most))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("stretch", [1.0, 37.0])
def test_gradients_of_weighted_records_keep_their_bounds(name, stretch):
    mpmath.mp.dps = 60
    whole, rng = problem(name, count=300, columns=5, stretch=stretch)
    task = weighed(whole, 0.7 * stretch)
    assert task.rows.weight.min() < 1 < task.rows.weight.max()
    theta = Twofold.of(rng.normal(size=6) / stretch)
    exact = exact_gradient(name, task, theta)
    plain, mass = task.gradient(theta.high)
    answers = [(Twofold.of(plain), task.rounding(theta.high, mass))]
    careful = (split_gradient, fine_gradient, twofold_gradient)
    answers += [gradient(task, theta) for gradient in careful]
    for found, bound in answers:
        gaps = [
            float(mpmath.mpf(high) + mpmath.mpf(low) - e)
            for high, low, e in zip(found.high, found.low, exact, strict=True)
        ]
        assert np.linalg.norm(gaps) <= bound
    bounds = [bound for _, bound in answers]
    assert bounds[3] < 0.02 * bounds[2] < 4e-4 * bounds[1] < 4e-4 * bounds[0]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_a_weighted_record_counts_like_a_share_of_itself(name, layout):
    """Records twice in the table count as much as once with twice the weight."""
    task = (sparse_problem if layout == "sparse" else problem)(name)[0]
    heavy = weighed(task, 2.0 * task.objective.row_norm / 5)
    half = np.full(heavy.rows.count, 0.5)
    places = np.repeat(np.arange(heavy.rows.count), 2)
    twice = replace(heavy.rows, weight=half).take(places)
    once = replace(heavy.rows, weight=2 * half)
    theta = np.linspace(-1, 1, task.objective.dimension)
    whole, parts = (replace(heavy, rows=rows) for rows in (once, twice))
    for look in (lambda p: p.gradient(theta)[0], lambda p: p.value(theta)):
        np.testing.assert_allclose(look(whole), look(parts), rtol=1e-9, atol=1e-9)
    diagonals = [p.diagonal(theta) for p in (whole, parts)]
    np.testing.assert_allclose(*diagonals, rtol=1e-9, atol=1e-9)
    hessians = [p.gradient_and_hessian(theta, double=True)[2] for p in (whole, parts)]
    np.testing.assert_allclose(*hessians, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_wide_rows_are_cut_into_parts_whose_products_are_exact(kind):
    """More entries than fit 20 bits: the parts are shorter, and still add up to the row."""
    rng = np.random.default_rng(7)
    entries = 20_000
    assert leading_bits(entries) == 19
    assert leading_bits(100) == 20
    row = rng.normal(size=(1, entries)) / np.sqrt(entries)
    features = row if kind == "dense" else sparse.csr_array(row)
    rows = bound_rows(features, np.ones(1), 2.0, 0.0)
    grids = Grids(leading_bits(entries), 2.0, 1.0)
    parts = grids.of_rows(rows.features)
    arrays = [part.toarray() for part in parts]
    np.testing.assert_array_equal(sum(arrays[1:], arrays[0]), row)
    theta = Twofold.of(rng.normal(size=entries))
    cut = grids.of_point(theta)
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0)):
        exact = sum(
            Fraction(a) * Fraction(b) for a, b in zip(arrays[i][0], cut[j], strict=True)
        )
        assert Fraction(float(arrays[i][0] @ cut[j])) == exact


def test_numbers_on_a_grid_stay_where_they_are():
    grid = 2.0**-20
    values = np.random.default_rng(8).integers(-(2**20), 2**20, 1000) * grid
    np.testing.assert_array_equal(on_grid(values, grid), values)


def test_few_sweeps_go_beyond_doubles(monkeypatch):
    task, _ = problem("logistic", count=60_000, l2=1.0)
    sweeps = []
    honest = precise.careful_gradient

    def watched(task, theta, goal):
        sweeps.append(goal)
        return honest(task, theta, goal)

    monkeypatch.setattr(precise, "careful_gradient", watched)
    monkeypatch.setattr(smooth.CurvatureCertificate, "of", lambda *_: None)
    found = minimise(task.objective, task.rows, task.linear, 1e-12)
    assert found.distance <= 1e-12
    assert 1 <= len(sweeps) <= 4


class Counted:
    """A number that knows how many additions it went through."""

    def __init__(self, places, additions=0):
        self.places, self.additions = places, additions

    def __add__(self, other):
        deeper = max(self.additions, other.additions) + 1
        return Counted(self.places + other.places, deeper)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 100, 1023, 1024, 1025])
def test_sums_keep_their_order_and_no_number_goes_through_many_additions(count):
    (total,) = pairwise_sum((Counted([place]),) for place in range(count))
    assert total.places == list(range(count))
    assert total.additions <= addition_depth(count)
