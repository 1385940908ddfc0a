"""Estimates from noisy counts: exact cases, and how often intervals hold."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy
from scipy.stats import norm
from sklearn.metrics import average_precision_score, roc_auc_score

from confide.evaluation.cells import cells_of, even_cells
from confide.evaluation.counts import count_cells, count_edges, entropies
from confide.evaluation.estimates import between, noise_bias, proportion, slopes_of, smooth
from confide.evaluation.numbers import (
    ErrorTable,
    last_octave,
    octave_sums,
    residual_cells,
    residual_edges,
)
from confide.evaluation.two_classes import (
    ScoreTable,
    TwoClasses,
    fine_edges,
    groups_of,
    mean_precision,
    roc_area,
)

COUNTS = st.lists(st.floats(-50, 1e6), min_size=1, max_size=9)


@given(COUNTS, COUNTS, st.floats(0, 1e4), st.floats(0.5, 0.999))
def test_a_proportion_is_within_its_interval_and_that_between_0_and_1(a, b, v, level):
    found = proportion("", np.array(a), np.array(b), v, level)
    assert 0 <= found.lower <= found.upper <= 1
    assert found.value is None or found.lower <= found.value <= found.upper


@pytest.mark.parametrize("few", [-400.0, -30.0, 0.0])
def test_a_count_that_noise_makes_negative_leaves_an_interval_with_a_length(few):
    low = proportion("", np.array([few]), np.array([1000.0]), 100.0, 0.95)
    high = proportion("", np.array([1000.0]), np.array([few]), 100.0, 0.95)
    assert (low.value, low.lower) == (0.0, 0.0)
    assert (high.value, high.upper) == (1.0, 1.0)
    assert 1.9 * 10 / 1000 < low.upper < 0.05
    assert low.upper == pytest.approx(1 - high.lower)


def test_without_noise_a_proportion_has_wilsons_interval():
    """18 of 60: Wilson (1927) by its formula."""
    found = proportion("", np.array([18.0]), np.array([42.0]), 0.0, 0.95)
    z, n, p = norm.ppf(0.975), 60, 0.3
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert found.lower == pytest.approx(middle - half)
    assert found.upper == pytest.approx(middle + half)


def test_the_area_of_a_table_is_that_of_its_rows():
    rng = np.random.default_rng(0)
    cell, label = rng.integers(0, 7, 500), rng.integers(0, 2, 500)
    table = np.stack([np.bincount(cell[label == k], minlength=7) for k in (0, 1)], 1)
    assert roc_area(table.astype(float)) == pytest.approx(roc_auc_score(label, cell))


def test_the_average_precision_of_fine_cells_is_that_of_rows():
    rng = np.random.default_rng(0)
    score = rng.normal(size=20_000)
    label = (score + rng.normal(size=20_000) > 1).astype(int)
    cell = np.searchsorted(np.linspace(-3, 3, 200), score)
    table = np.stack([np.bincount(cell[label == k], minlength=201) for k in (0, 1)], 1)
    exact = average_precision_score(label, score)
    assert mean_precision(table.astype(float)) == pytest.approx(exact, abs=0.01)


def test_the_variance_of_an_area_is_delongs():
    """Without noise, on cells of single rows: DeLong, DeLong and Clarke-Pearson (1988)."""
    rng = np.random.default_rng(1)
    label = np.arange(400) % 4 == 0
    score = rng.normal(size=400) + label
    order = np.argsort(score)
    table = np.stack([~label[order], label[order]], axis=1).astype(float)
    found = smooth("", roc_area, table, 0.0, 0.95)
    pos, neg = score[label], score[~label]
    wins = (pos[:, None] > neg[None, :]).mean(axis=1), (pos[:, None] > neg).mean(axis=0)
    variance = sum(w.var() / len(w) for w in wins)
    half = norm.ppf(0.975) * math.sqrt(variance)
    assert found.upper - found.value == pytest.approx(half, rel=1e-3)


def test_slopes_are_those_of_a_known_function():
    counts = np.array([[3.0, 4.0], [5.0, -2.0]])
    found = slopes_of(lambda t: float((t**2).sum()), counts)
    assert np.allclose(found, 2 * counts)


def test_estimates_that_are_no_numbers_are_hidden():
    assert between("", math.nan, 1.0, 0.0, 1.0).value is None
    assert between("", 0.5, math.inf, 0.0, 1.0).value is None
    assert between("R²", math.nan, 1.0, highest=1.0).lower is None


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40, unique=True),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=40),
)
def test_cells_are_those_of_a_search(edges, values):
    ends = np.sort(np.array(edges))
    asked = np.array([*values, *ends, *np.nextafter(ends, np.inf)])
    assert (cells_of(asked, ends) == np.searchsorted(ends, asked)).all()
    even = np.union1d(np.linspace(-3, 3, 50), [0.0])
    near = np.concatenate([asked, even, np.nextafter(even, 9), np.nextafter(even, -9)])
    assert (cells_of(near, even) == np.searchsorted(even, near)).all()


@given(st.floats(-60, 60), st.floats(0, 100))
def test_a_grid_of_scores_is_cut_at_0_and_nowhere_twice(level, reach):
    edges = fine_edges(level, reach, 12.0)
    assert 0.0 in edges
    assert all(a < b for a, b in pairwise(edges))
    rule = TwoClasses(edges, "", chances=True)
    assert rule.fixed <= {*range(1, len(edges) + 1)}


@given(st.lists(st.floats(-100, 1e5), min_size=1, max_size=60), st.floats(0.1, 100))
def test_cells_cover_the_grid_whatever_the_noise(fine, deviation):
    rule = TwoClasses(fine_edges(0.0, 3.0, 12.0), "", chances=True)
    counts = np.resize(np.array(fine), len(rule.edges) + 1)
    cuts = rule.cuts(counts, deviation, deviation)
    assert cuts[0] == 0
    assert cuts[-1] == len(counts)
    assert (np.diff(cuts) > 0).all()
    assert rule.edges.index(0.0) + 1 in cuts


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30))
def test_groups_cover_all_cells(weights):
    groups = groups_of(np.array(weights), 10)
    assert groups[0].start == 0
    assert groups[-1].stop == len(weights)
    assert all(a.stop == b.start for a, b in pairwise(groups))
    assert len(groups) <= 10


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50))
def test_residuals_lie_in_the_cells_that_a_search_finds(errors):
    edges = residual_edges()
    near = [edges, np.nextafter(edges, 2), np.nextafter(edges, -2), [1.0, -1.0]]
    asked = np.clip(np.concatenate([errors, *near]), -1, 1)
    sizes = edges[edges > 0]
    place = np.searchsorted(sizes, np.abs(asked), side="right")
    wanted = np.where(asked > 0, len(sizes) + 1 + place, len(sizes) - place)
    assert (residual_cells(asked) == wanted).all()


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50))
def test_octaves_hold_every_residual_once(errors):
    given_ = np.array(errors)
    found = octave_sums(given_, residual_cells(given_))
    assert found[:, 0].sum() == len(errors)
    assert (found[:, 1] <= found[:, 0]).all()
    assert (np.abs(found[:, 3]) <= found[:, 2]).all()
    assert 0 <= last_octave(found[:, 0], 1.0) <= 8


@given(st.lists(st.floats(0, 300), min_size=1, max_size=50), st.integers(1, 300))
def test_counts_lie_in_the_cells_that_a_search_finds(counts, most):
    edges = count_edges(float(most))
    asked = np.rint(np.minimum(counts, most))
    assert (count_cells(asked, edges) == np.searchsorted(edges, asked)).all()
    assert entropies(np.array(counts)) == pytest.approx(xlogy(counts, counts))


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=50))
def test_even_cells_are_those_of_a_search(values):
    edges = np.linspace(-2, 3, 41)[1:-1]
    place = even_cells(np.array(values), -2.0, 3.0, 40)
    ends = np.concatenate([[-10], edges, [10]])
    assert (ends[place] - 1e-12 <= values).all()
    assert (values <= ends[place + 1] + 1e-12).all()
    assert even_cells(np.array([math.nan]), 0.0, 1.0, 4)[0] in range(4)
    assert not even_cells(np.array([-1.0, 0.5, 7.0]), 0.5, 0.5, 4).any()


def test_noise_moves_a_square_by_its_variance_and_counts_cut_off_at_0_upwards():
    counts = np.array([[3.0, 4.0], [5.0, 70.0]])
    assert noise_bias(lambda t: float((t**2).sum()), counts, 9.0) == pytest.approx(36)
    low = np.array([[0.0, -2.0]])
    found = noise_bias(lambda t: float(np.maximum(t, 0).sum()), low, 9.0)
    assert found == pytest.approx(2 * math.sqrt(27) / 6)


@pytest.mark.slow
def test_the_interval_of_average_precision_makes_up_for_its_bias():
    """300 tables with few rows of high scores, where noise lowers the precision."""
    rng = np.random.default_rng(7)
    chance = np.linspace(0.02, 0.97, 20)
    table = 80 * np.stack([1 - chance, chance], axis=1)
    truth, held = mean_precision(table), 0
    for _ in range(300):
        noisy = rng.poisson(table) + 8 * rng.normal(size=table.shape)
        found = ScoreTable(noisy, None, 10, 64.0, 0.95, "").average_precision()
        held += found.lower <= truth <= found.upper
    assert 0.92 < held / 300 < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.5, 4.0, 30.0])
def test_intervals_hold_as_often_as_they_say(deviation):
    """400 tables of 2,000 rows: 95 % within 0.92 and 0.985 by chance but for 1 in 10⁴."""
    rng = np.random.default_rng(5)
    chance = np.linspace(0.02, 0.9, 14)
    table = 2000 * np.stack([1 - chance, chance], axis=1) / 14
    truth = roc_area(table), float(table[7:, 1].sum() / table[:, 1].sum())
    held = np.zeros(2)
    for _ in range(400):
        noisy = rng.poisson(table) + deviation * rng.normal(size=table.shape)
        found = ScoreTable(noisy, None, 7, deviation**2, 0.95, "")
        for place, one in enumerate((found.area(), found.rates()[1])):
            held[place] += one.lower <= truth[place] <= one.upper
    assert (held / 400 > 0.92).all()
    assert (held / 400 < 0.985).all()


def test_an_empty_table_of_errors_has_no_curves():
    cells = ErrorTable(np.zeros((2, 3)), np.array([-0.5, 0, 0.5]), np.arange(4) - 1.5, 9.0)
    assert not cells.histogram(1.0, 0.95).points
    assert not cells.against_predictions(1.0, 0.0, 0.95).points
