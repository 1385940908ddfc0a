"""Bounded entries of rows, and Frank–Wolfe's walk along columns."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from confide.data import EntryBounds, bound_entries
from confide.data.matrix.matrix import as_matrix
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import InvalidData, PrivacyLeak
from confide.noise import Entropy
from confide.objectives import Logistic, Objective
from confide.privacy import Neighbours, Pure
from confide.selection import (
    FrankWolfe,
)
from confide.selection.frank_wolfe import ColumnIndexedRows, DensePath, SparsePath
from support.sparse_tables import objective, signal

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


# --- entries of rows
def test_entries_are_clipped_and_the_rest_is_left_alone():
    dense = np.array([[0.5, -3.0], [2.0, 0.25]])
    for features in (dense, sparse.csr_array(dense)):
        kept, _ = bound_entries(features, np.zeros(2), EntryBounds(1.0), 0.0).plain()
        kept = kept.toarray() if sparse.issparse(kept) else kept
        assert np.array_equal(kept, [[0.5, -1.0], [1.0, 0.25]])


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_rows_are_scaled_by_their_largest_entries(seed, few, thin):
    features = np.random.default_rng(seed).normal(size=(5, 6)) * 2
    matrix = sparse.csr_array(np.where(features > 0, features, 0)) if thin else features
    bounds = EntryBounds.scaled(few, 1.0)
    kept, _ = bound_entries(matrix, np.zeros(5), bounds, 0.0).plain()
    kept = kept.toarray() if thin else kept
    before = matrix.toarray() if thin else matrix
    tops = [np.sort(np.abs(x), axis=1)[:, -few:] for x in (before, kept)]
    lengths = [np.linalg.norm(top, axis=1) for top in tops]
    assert np.allclose(lengths[1], np.minimum(lengths[0], np.sqrt(few)))
    for count in range(1, 7):
        longest = np.linalg.norm(np.sort(np.abs(kept), axis=1)[:, -count:], axis=1)
        assert longest.max() <= bounds.norm(count) * (1 + 1e-12)


def test_bounds_of_entries_in_closed_form():
    assert EntryBounds(2.0).norm(9) == 6.0
    assert EntryBounds.scaled(4, 1.0).norm(4) == 2.0
    assert EntryBounds.scaled(4, 1.0).norm(1) == 2.0
    assert EntryBounds.scaled(4, 1.0).norm(9) == pytest.approx(2 * np.sqrt(3))
    restricted = objective(50, height=0.4).restricted_to(4)
    assert restricted.dimension == 5
    assert restricted.row_norm == pytest.approx(np.hypot(2.0, 0.4), rel=1e-15)
    assert Fraction(restricted.row_norm) ** 2 >= 4 + Fraction(0.4) ** 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_must_be_finite(bad):
    for features in (np.array([[1.0, bad]]), sparse.csr_array([[1.0, bad]])):
        with pytest.raises(InvalidData, match="finite"):
            bound_entries(features, np.zeros(1), EntryBounds(1.0), 0.0)


def test_columns_of_any_kind_of_rows_are_the_same():
    rows = signal(50)
    thin = InMemoryRows(
        as_matrix(sparse.csr_array(rows.features.toarray())), rows.target, None, 0.3
    )
    expected = rows.features.toarray()[:, [3, 7]]
    assert np.array_equal(thin.columns([3, 7]).features.toarray(), expected)
    assert thin.columns([3, 7]).dimension == 3
    assert np.array_equal(rows.take(np.array([4, 1])).target, rows.target[[4, 1]])


def test_rows_seen_by_columns_cannot_be_stored():
    seen = ColumnIndexedRows.of(
        InMemoryRows(as_matrix(sparse.csr_array(np.eye(2))), np.zeros(2), None, 0.0)
    )
    assert repr(seen) == "<private rows>"
    with pytest.raises(PrivacyLeak):
        pickle.dumps(seen)


def kept_up(rows, columns, steps, seed=0):
    """Walk at random; yield sums as they are kept, and of the same slopes exactly."""
    rng = np.random.default_rng(seed)
    path = SparsePath(objective(columns), rows)
    features = rows.features.toarray().astype(np.longdouble)
    for step in range(steps):
        share = 2 / (step + 2)
        gain = float(rng.choice([-1.0, 1.0])) * share * 20.0
        path.move(int(rng.integers(columns - 1)), gain, 1 - share)
        yield path, path._slopes.astype(np.longdouble) @ features


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_that_are_kept_up_are_as_exact_as_was_paid_for(kind):
    """The last column is in every row and never moves: all its changes are corrections."""
    rng, count = np.random.default_rng(3), 20_000
    features = rng.uniform(0.3, 1, (count, 12)) * (rng.random((count, 12)) < 0.05)
    features[:, -1] = rng.uniform(0.3, 1, count)
    rows = InMemoryRows(
        as_matrix(sparse.csr_array(features.astype(kind))), np.ones(count), None, 0.0
    )
    corrected = 0
    for path, exact in kept_up(rows, 12, 60):
        assert np.abs(path.pulls - exact).max() <= 2 * count * (count + 2) * 2.0**-53
        corrected += path._added > 0
    assert corrected > 5, "some sums must have been corrected, not added up anew"


def test_rows_in_single_precision_walk_in_doubles():
    """Slopes are those of the same numbers as doubles, to the last bit."""
    rng = np.random.default_rng(4)
    single = (rng.random((500, 12)) * (rng.random((500, 12)) < 0.3)).astype(np.float32)
    paths = []
    for kind in (np.float32, np.float64):
        rows = InMemoryRows(
            as_matrix(sparse.csr_array(single.astype(kind))), np.ones(500), None, 0.0
        )
        paths.append([path for path, _ in kept_up(rows, 12, 20)][-1])
    assert np.array_equal(paths[0]._slopes, paths[1]._slopes)
    assert np.array_equal(paths[0].pulls, paths[1].pulls)


# --- Frank–Wolfe
@pytest.mark.parametrize("height", [0.0, 0.5])
def test_lazy_pulls_are_those_of_the_slopes_that_they_claim(height):
    """Fresh slopes where a column moved; elsewhere those of the last public time."""
    rng = np.random.default_rng(9)
    dense = np.where(rng.uniform(size=(60, 30)) < 0.1, rng.uniform(-1, 1, (60, 30)), 0)
    target = np.where(rng.uniform(size=60) < 0.5, 1.0, -1.0)
    rows = InMemoryRows(as_matrix(sparse.csr_array(dense)), target, None, height)
    columns = 30 + bool(height)
    goal = Objective(Logistic(), columns, 6.0, entries=EntryBounds(1.0), height=height)
    lazy, theta = SparsePath(goal, rows), np.zeros(columns)
    slopes = Logistic().slope(np.zeros(60), target)
    whole = np.hstack([dense, np.full((60, int(height > 0)), height)])
    scale = fresh = 1.0
    for step, place in enumerate([4, 9, 4, 17, columns - 1, 2, 4, 21, 9, 3]):
        share = 2 / (step + 2)
        theta *= 1 - share
        theta[place] += share * 2.0
        scale = 1.0 if step == 0 else scale * (1 - share)
        moved = whole[:, place] != 0
        everywhere = step == 0 or scale < 0.85 * fresh or (height and place == 30)
        if everywhere:
            moved, fresh = np.ones(60, dtype=bool), scale
        slopes = np.where(moved, Logistic().slope(whole @ theta, target), slopes)
        lazy.move(place, share * 2.0, 1 - share)
        assert np.allclose(lazy.pulls, whole.T @ slopes)


def test_lazy_and_plain_walks_end_near_each_other():
    rows = signal(800)
    thin = InMemoryRows(
        as_matrix(sparse.csr_array(rows.features.toarray())), rows.target, None, 0.0
    )
    mechanism = FrankWolfe(3.0, 60)
    calibration = mechanism.calibrate(objective(), Pure(4000), ADD)
    ends = [calibration.release([r], Entropy.seeded(1)).value for r in (rows, thin)]
    assert np.allclose(ends[0], ends[1], atol=0.15)
    assert np.abs(ends[0]).sum() <= 3.0 + 1e-9
    assert isinstance(DensePath(objective(), rows).pulls, np.ndarray)


def test_how_full_columns_are_never_decides_whose_slopes_are_fresh(monkeypatch):
    """Sums added up anew at every step must be those that were corrected."""
    rng = np.random.default_rng(3)
    dense = np.where(rng.uniform(size=(80, 12)) < 0.2, 1.0, 0.0)
    target = np.where(rng.uniform(size=80) < 0.5, 1.0, -1.0)
    rows = InMemoryRows(as_matrix(sparse.csr_array(dense)), target, None, 0.0)
    paths = [SparsePath(objective(12), rows) for _ in range(2)]
    paths[1]._many = -1
    for step, place in enumerate([1, 5, 2, 2, 7, 1, 9, 11, 3]):
        share = 2 / (step + 2)
        for path in paths:
            path.move(place, share, 1 - share)
        assert np.allclose(paths[0].pulls, paths[1].pulls)
