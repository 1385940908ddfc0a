"""Fits on wide sparse tables are lean: few sweeps, no dense copies."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from confide import Approx, Category, LogisticRegression, Schema, Target
from confide.data import bound_rows
from confide.data.rows.in_memory import InMemoryRows
from confide.objectives import Logistic, Objective
from confide.solvers import TableShape, finest_tolerance, minimise, smooth
from confide.solvers import smooth as descent
from confide.solvers.problem import Problem

COUNT, CATEGORIES, LEVELS = 20_000, 8, 200
WIDTH = CATEGORIES * LEVELS
DENSE_BYTES = 8 * COUNT * WIDTH


def places(count=COUNT, seed=0):
    """Return the indicators that rows set; low levels are frequent, high ones rare."""
    rng = np.random.default_rng(seed)
    levels = (LEVELS * rng.random((count, CATEGORIES)) ** 2).astype(np.int32)
    return levels + LEVELS * np.arange(CATEGORIES, dtype=np.int32)


def one_hot(dtype=np.float64, count=COUNT):
    held = places(count)
    ends = np.arange(0, held.size + 1, CATEGORIES)
    parts = (np.ones(held.size, dtype), held.ravel(), ends)
    slopes = np.random.default_rng(1).normal(size=WIDTH)
    labels = (slopes[held].sum(axis=1) > 0).astype(int)
    return sparse.csr_array(parts, shape=(count, WIDTH)), labels


def as_table():
    names = [f"level{k}" for k in range(LEVELS)]
    features, labels = one_hot()
    codes = features.indices.reshape(-1, CATEGORIES) % LEVELS
    held = {
        f"c{j}": pd.Categorical.from_codes(codes[:, j], categories=names)
        for j in range(CATEGORIES)
    }
    columns = tuple(Category(name, tuple(names)) for name in held)
    return pd.DataFrame({**held, "y": labels}), Schema(columns, Target("y", labels=(0, 1)))


@pytest.fixture
def sweeps(monkeypatch):
    """Return a list that fills with the precision of every sweep over all rows."""
    found = []
    honest, split = Problem.gradient, descent.precise_gradient

    def watched(self, theta):
        if self.weight == 1:
            found.append(theta.dtype)
        return honest(self, theta)

    def watched_split(problem, theta, goal):
        found.append("split")
        return split(problem, theta, goal)

    monkeypatch.setattr(Problem, "gradient", watched)
    monkeypatch.setattr(descent, "precise_gradient", watched_split)
    return found


def peak_of(fit):
    tracemalloc.start()
    try:
        fit()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["csr", "schema"])
def test_a_wide_fit_takes_few_sweeps_and_little_memory(kind, sweeps, monkeypatch):
    """A dense copy takes 256 MB, one of the sample 11 MB in single precision."""
    monkeypatch.setattr(smooth, "ROWS_PER_COLUMN", 1)
    if kind == "csr":
        given = one_hot()
        model = LogisticRegression(Approx(1, 1e-6), row_norm=CATEGORIES**0.5)
    else:
        frame, schema = as_table()
        given, model = (frame,), LogisticRegression(Approx(1, 1e-6), schema=schema)
    peak = peak_of(lambda: model.fit(*given))
    assert 5 < len(sweeps) <= 60
    assert peak < DENSE_BYTES / 20


@pytest.mark.slow
@pytest.mark.parametrize("kept", [{"l1": 5.0}, {"coef_norm": 3.0}], ids=["l1", "ball"])
def test_a_wide_penalised_fit_takes_tens_of_sweeps(kept, sweeps):
    """Without what steps teach about the curvature it takes six hundred."""
    model = LogisticRegression(Approx(1, 1e-6), row_norm=CATEGORIES**0.5, **kept)
    assert peak_of(lambda: model.fit(*one_hot())) < DENSE_BYTES / 20
    assert 5 < len(sweeps) <= 60


def task(features, labels, l2=2.0):
    rows = bound_rows(features, np.where(labels, 1.0, -1.0), CATEGORIES**0.5, 0.0)
    objective = Objective(Logistic(), WIDTH, CATEGORIES**0.5, l2)
    return objective, rows, np.random.default_rng(2).normal(size=WIDTH)


def test_a_sample_spares_sweeps_over_all_rows(sweeps, monkeypatch):
    problem = task(*one_hot())
    monkeypatch.setattr(smooth, "ROWS_PER_COLUMN", 1)
    quick = minimise(*problem, 1e-9)
    with_sample = len(sweeps)
    monkeypatch.setattr(smooth, "LEAST_STRIDE", np.inf)
    slow = minimise(*problem, 1e-9)
    assert with_sample <= len(sweeps) - with_sample
    distance = np.linalg.norm(quick.theta - slow.theta)
    assert distance <= quick.distance + slow.distance <= 2e-9


def test_single_precision_entries_are_summed_in_doubles():
    """Indicators are the same numbers in both precisions, so every bit is the same."""
    found = [minimise(*task(*one_hot(kind, 3000)), 1e-9) for kind in (np.float32, float)]
    np.testing.assert_array_equal(found[0].theta, found[1].theta)


@pytest.mark.slow
def test_long_rows_of_many_entries_are_split_to_the_same_minimiser(sweeps):
    features, labels = one_hot(count=4000)
    features.data *= np.random.default_rng(3).uniform(0.5, 2, features.nnz)
    objective, rows, linear = task(features, labels, l2=0.3)
    assert rows.factor is not None
    found = minimise(objective, rows, linear, 1e-9)
    assert "split" in sweeps
    dense = bound_rows(features.toarray(), rows.target, CATEGORIES**0.5, 0.0)
    again = minimise(objective, dense, linear, 1e-9)
    distance = np.linalg.norm(found.theta - again.theta)
    assert distance <= found.distance + again.distance


def test_a_place_held_twice_is_as_long_as_its_sum():
    """Twice 0.8 at one place is 1.6 long, not √2·0.8."""
    parts = (np.array([0.8, 0.8, 0.5]), np.array([0, 0, 1]), np.array([0, 2, 3]))
    twice = sparse.csr_array(parts, shape=(2, 2))
    rows = bound_rows(twice, np.ones(2), 1.0, 0.0)
    np.testing.assert_allclose(rows.lengths(), [1.0, 0.5])
    np.testing.assert_allclose(rows.factor, [1 / 1.6, 1.0])
    assert twice.nnz == 3
    assert rows.features.sum_shape.entries == 1


def test_a_wide_schema_is_not_refused_for_levels_that_a_row_does_not_set():
    """A margin adds up one coefficient per category, whatever the number of levels."""
    frame, schema = as_table()
    compact = schema.compact_design(frame[:50])
    many = replace(compact, shape=(2_000_000, WIDTH))
    rows = InMemoryRows(many, np.zeros(0), None, 0.3)
    assert rows.sum_shape.max_entries == rows.sum_shape.entries == CATEGORIES + 1
    objective = Objective(Logistic(), WIDTH + 1, 1.05, 1.5)
    assert finest_tolerance(objective, TableShape.of(rows)) < 1e-9


def test_one_full_row_changes_nothing_about_what_is_refused():
    """How many entries the fullest row holds is private."""
    features, labels = one_hot(count=3000)
    full = sparse.vstack([features[:-1], sparse.csr_array(np.full((1, WIDTH), 0.01))])
    found = []
    for rows in (features, sparse.csr_array(full)):
        objective, closed, _ = task(rows, labels)
        found.append(finest_tolerance(objective, TableShape.of(closed)))
    assert found[0] == found[1]
