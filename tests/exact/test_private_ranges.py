"""Ranges that are bought: what counts cost, and what a fit costs after them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from confide.accounting import GaussianEvent, PureEvent, as_pure, compose
from confide.data.schema.range_grid import PARTS, RangeGrid, counts_between
from confide.mechanisms import Intervals, ObjectivePerturbation, WithIntervals, WithRanges
from confide.mechanisms.ranges import mechanism as purchase
from confide.mechanisms.ranges.mechanism import range_noise
from confide.mechanisms.ranges.read_range import RangeQuery, _merge, _pieces, read_range
from confide.noise import Entropy, Gaussian, Laplace
from confide.objectives import Clipped, Logistic, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
LOGISTIC = Objective(Logistic(), 4)
SQUARES = Objective(Clipped(Squared(), 0.5), 4, target_bound=1.0)
LIMITS = st.sampled_from([(None, None), (0.0, None), (None, 5.0), (0.0, 1e7), (18.0, 90.0)])
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


def queries(count, lower=None, upper=None):
    grid = RangeGrid.between(lower, upper)
    known = lower is not None and upper is not None
    return tuple(RangeQuery(f"x{j}", grid, 0.01, 0.01, known) for j in range(count))


def looks(grid, values):
    """Return what two looks see, with all cells divided in the second."""
    counts = grid.count(np.array(values))
    return np.concatenate([counts.sum(axis=1), counts.ravel()])


def worst_profile(epsilon):
    """Return delta at every epsilon of the worst pair that pure privacy allows."""

    def profile(left):
        above = math.exp(epsilon) - math.exp(min(left, epsilon))
        return above / (1 + math.exp(epsilon))

    return profile


def moved(relation, columns):
    """Return how far one record moves the looks at all columns."""
    grid = RangeGrid.between(None, None)
    before = looks(grid, [1.0, 3.0])
    after = looks(grid, [3.0] if relation is ADD else [-70.0, 3.0])
    return np.tile(before - after, columns)


@pytest.mark.parametrize("columns", [1, 3, 14])
@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_a_record_in_all_columns_costs_the_budget_and_no_more(relation, columns):
    difference = moved(relation, columns)
    laplace, event = range_noise(Pure("0.3"), columns, relation)
    assert event == PureEvent(Fraction(3, 10))
    assert np.abs(difference).sum() / laplace.scale == pytest.approx(0.3)
    assert np.abs(difference).sum() / laplace.scale <= 0.3
    gaussian, event = range_noise(Zcdp("0.02"), columns, relation)
    shift = np.linalg.norm(difference) / gaussian.scale
    assert shift <= event.mu
    assert shift == pytest.approx(event.mu) == pytest.approx(0.2)


def test_a_forgotten_look_is_seen(monkeypatch):
    monkeypatch.setattr(purchase, "LOOKS", 1)
    noise, _ = range_noise(Pure("0.3"), 3, ADD)
    assert np.abs(moved(ADD, 3)).sum() / noise.scale > 0.59


def test_a_record_that_comes_back_elsewhere_is_seen(monkeypatch):
    monkeypatch.setattr(Neighbours, "shifts", property(lambda _: 1))
    noise, _ = range_noise(Pure("0.3"), 3, REPLACE)
    assert np.abs(moved(REPLACE, 3)).sum() / noise.scale > 0.59


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("objective", [LOGISTIC, SQUARES], ids=["logistic", "squares"])
@pytest.mark.parametrize("with_intervals", [False, True])
def test_ranges_and_fit_cost_one_budget(objective, relation, with_intervals):
    mechanism = ObjectivePerturbation()
    if with_intervals:
        mechanism = WithIntervals(mechanism, Intervals(share=0.2), 1000)
    for budget in (Pure(1), Zcdp("0.1"), Approx(1, "1e-6")):
        found = WithRanges(mechanism, queries(3)).calibrate(objective, budget, relation)
        if isinstance(budget, Pure):
            assert sum(event.epsilon for event in found.events) <= budget.epsilon
        elif isinstance(budget, Approx):
            spent = compose(found.events, budget.delta)
            assert 0.9 * budget.epsilon <= spent.epsilon <= budget.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("objective", [LOGISTIC, SQUARES], ids=["logistic", "squares"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_profile_of_the_fit_and_the_shift_of_ranges_compose(
    objective, relation, epsilon
):
    """The integral of the theorem, by quadrature, is at most delta and hardly less."""
    budget, mechanism = Approx(epsilon, "1e-6"), ObjectivePerturbation()
    found = WithRanges(mechanism, queries(3)).calibrate(objective, budget, relation)
    counts = purchase.LOOKS * 3 * relation.shifts
    others = [e.mu for e in found.main.events if isinstance(e, GaussianEvent)]
    mu = math.hypot(math.sqrt(counts) / found.count_noise.scale, *others)
    if len(others) == len(found.main.events):
        assert compose(found.events, budget.delta).epsilon <= budget.epsilon * (1 + 1e-9)
        return
    pure = as_pure(found.main.events)
    profile = mechanism.profile(found.main) or worst_profile(float(pure.epsilon))

    def anywhere(left):
        """Below 0 the roles of both tables are exchanged."""
        if left >= 0:
            return profile(left)
        return 1 - math.exp(left) * (1 - profile(-left))

    def integrand(z):
        return norm.pdf(z) * anywhere(float(epsilon) - mu * z - mu**2 / 2)

    kink = (float(epsilon) - mu**2 / 2) / mu
    parts = [
        quad(integrand, *ends, limit=400, epsabs=1e-14)[0]
        for ends in ((-12, kink), (kink, 12 + kink))
    ]
    delta = sum(parts)
    assert delta <= 1e-6 * (1 + 1e-7)
    assert delta >= 0.3e-6


@given(LIMITS, st.lists(NUMBERS, min_size=1, max_size=12), st.data())
def test_every_value_is_placed_by_itself(limits, values, data):
    grid = RangeGrid.between(*limits)
    place = data.draw(st.integers(0, len(values) - 1))
    whole = grid.place(np.array(values))
    assert grid.place(np.array(values[place : place + 1]))[0] == whole[place]
    assert ((whole >= 0) == ~np.isnan(values)).all()
    assert whole.max() < grid.cells * PARTS
    assert (np.diff(grid.edges) > 0).all()


@given(LIMITS, st.integers(0, 2**32 - 1), st.sampled_from([Gaussian(30.0), Laplace(20.0)]))
def test_a_range_is_two_edges_of_the_grid(limits, seed, noise):
    rng = np.random.default_rng(seed)
    kinds = [
        rng.normal(40, 10, 2000),
        np.zeros(5000),
        np.full(3, np.nan),
        np.array([np.inf]),
    ]
    values = kinds[seed % len(kinds)]
    grid = RangeGrid.between(*limits)
    query = RangeQuery("x", grid, 0.01, 0.01, None not in limits)
    counts = grid.count(values)
    (lower, upper), _ = read_range(query, counts, noise, Entropy.seeded(seed))
    edges = grid.edges_at(np.arange(grid.cells * PARTS + 1))
    assert lower < upper
    assert np.isclose(edges, lower, rtol=1e-12, atol=0).any()
    assert np.isclose(edges, upper, rtol=1e-12, atol=0).any()


def test_parts_add_up_to_cells():
    grid = RangeGrid.between(0.0, 100.0)
    values = np.random.default_rng(0).uniform(0, 100, 500)
    counts = grid.count(values)
    last = (grid.cells - 1) * PARTS
    places = np.array([0, 3 * PARTS, last - PARTS, last, last + PARTS // 4, last + PARTS])
    found, _ = np.histogram(values, grid.edges_at(places))
    assert counts_between(counts, places).tolist() == found.tolist()


@pytest.mark.parametrize("width", [0.5, 3.0, 40.0])
@pytest.mark.parametrize(
    "near", [slice(0, 12), slice(14, 18), slice(19, 28), slice(27, 28)], ids=str
)
def test_both_looks_are_weighed_by_least_squares(near, width):
    """Estimates and covariance are those of the normal equations, solved as they stand."""
    grid, rng = RangeGrid.between(0.0, 100.0), np.random.default_rng(3)
    assert grid.cells == 28
    cuts = _pieces(grid, near, width)
    starts, stops = cuts[:-1], cuts[1:]
    assert (starts < stops).all()
    assert cuts[0] == 0
    assert cuts[-1] == grid.cells * PARTS
    cells = rng.normal(0, 1, grid.cells)
    closer = rng.normal(0, 1, len(starts))
    merged, covariance = _merge(cells, closer, cuts)
    # Of cells that are one piece together the first look tells their sum alone.
    whole = (starts % PARTS == 0) & (stops % PARTS == 0)
    rows, seen, precision = list(np.eye(len(starts))), list(closer), [1.0] * len(starts)
    for cell in range(grid.cells):
        inside = (starts // PARTS == cell) & ~whole
        if inside.any():
            rows.append(inside.astype(float))
            seen.append(cells[cell])
            precision.append(1.0)
    for place in np.flatnonzero(whole):
        own = slice(starts[place] // PARTS, stops[place] // PARTS)
        rows.append(np.eye(len(starts))[place])
        seen.append(cells[own].sum())
        precision.append(1 / (own.stop - own.start))
    design, weights = np.array(rows), np.array(precision)
    inverse = np.linalg.inv(design.T @ (weights[:, None] * design))
    assert np.allclose(covariance, inverse, atol=1e-10)
    assert np.allclose(merged, inverse @ design.T @ (weights * np.array(seen)), atol=1e-9)


@pytest.mark.parametrize(
    ("limits", "values", "wanted"),
    [
        ((0.0, 1e7), np.random.default_rng(0).uniform(2e4, 9e4, 20_000), (2e4, 9e4)),
        ((None, None), np.random.default_rng(1).normal(50, 10, 20_000), (25, 75)),
        ((None, None), np.random.default_rng(2).uniform(-124, -114, 20_000), (-124, -114)),
        ((0.0, 1e9), np.random.default_rng(3).uniform(1940, 2010, 20_000), (1940, 2010)),
    ],
)
def test_generous_limits_are_narrowed(limits, values, wanted):
    """Twenty purchases: ends within the width of the values, none cut off by a tenth."""
    grid = RangeGrid.between(*limits)
    query = RangeQuery("x", grid, 0.01, 0.01, None not in limits)
    counts = grid.count(values)
    width = wanted[1] - wanted[0]
    for seed in range(20):
        ends, seen = read_range(query, counts, Gaussian(60.0), Entropy.seeded(seed))
        assert seen
        assert wanted[0] - width / 2 <= ends[0] <= wanted[0] + width / 10
        assert wanted[1] - width / 10 <= ends[1] <= wanted[1] + width / 2


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ((0.0, 1.0), (0.0, 1.0)),
        ((0.0, 1e9), (0.0, 1.0)),
        ((None, None), (0.0, 1.0)),
        ((0.0, 0.5), (0.0, 0.5)),
        ((-3.0, 0.0), (-1.0, 0.0)),
        ((0.0, 2e-100), (0.0, 2e-100)),
    ],
)
def test_a_column_that_is_nearly_always_zero_has_a_range_of_one(limits, wanted):
    """Effects are per unit: none is told per millionth of a unit."""
    grid = RangeGrid.between(*limits)
    query = RangeQuery("x", grid, 0.01, 0.01, None not in limits)
    counts = grid.count(np.zeros(20_000))
    for seed in range(10):
        ends, _ = read_range(query, counts, Gaussian(40.0), Entropy.seeded(seed))
        assert ends == wanted


@pytest.mark.parametrize(("rows", "scale"), [(500, 46.0), (100, 10.0)])
def test_few_rows_are_not_cut_to_what_stands_out(rows, scale):
    """Where noise hides most cells, one that does not is no range.

    A hundred purchases. Without `_safe` more than 30 % of the values lie beyond the range
    in 50 of them.
    """
    grid = RangeGrid.between(0.0, 100.0)
    values = np.random.default_rng(0).normal(50, 15, rows)
    counts = grid.count(values)
    query = RangeQuery("x", grid, 0.01, 0.01, True)
    beyond = []
    for seed in range(100):
        (lower, upper), _ = read_range(query, counts, Gaussian(scale), Entropy.seeded(seed))
        beyond.append(np.mean((values < lower) | (values > upper)))
    assert np.mean(np.array(beyond) > 0.3) <= 0.1
    assert np.mean(beyond) <= 0.15


def test_cells_without_values_seldom_seem_to_have_some():
    """Of 200 purchases from nothing few find something, and those say so."""
    grid = RangeGrid.between(0.0, 1e7)
    query = RangeQuery("x", grid, 0.01, 0.01, True)
    entropy, nothing = Entropy.seeded(0), np.zeros((grid.cells, PARTS))
    found = [read_range(query, nothing, Gaussian(5.0), entropy) for _ in range(200)]
    assert sum(ends != grid.ends for ends, _ in found) <= 10
    assert 0 < sum(seen for _, seen in found) <= 20
    assert all(seen for ends, seen in found if ends != grid.ends)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_ranges_and_intervals_and_the_profile_of_the_fit_compose(relation, epsilon):
    """One integral with all Gaussian shifts: of the solver, the moments and the ranges."""
    budget, mechanism = Approx(epsilon, "1e-6"), ObjectivePerturbation()
    both = WithIntervals(mechanism, Intervals(share=0.2), 1000)
    found = WithRanges(both, queries(3)).calibrate(LOGISTIC, budget, relation)
    own, moments = found.main.main, found.main.moments
    others = [e.mu for e in (*own.events, *moments.events) if isinstance(e, GaussianEvent)]
    counts = purchase.LOOKS * 3 * relation.shifts
    mu = math.hypot(math.sqrt(counts) / found.count_noise.scale, *others)
    profile = mechanism.profile(own)
    if profile is None or len(found.events) > 1:
        assert compose(found.events, budget.delta).epsilon <= budget.epsilon * (1 + 1e-9)
        return

    def integrand(z):
        return norm.pdf(z) * min(1, profile(max(0.0, float(epsilon) - mu * z - mu**2 / 2)))

    delta, _ = quad(integrand, -12, 12, limit=400)
    assert 0.3e-6 <= delta <= 1e-6
