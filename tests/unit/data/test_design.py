"""Categories kept as codes: the same rows, sums and fits as the dense design."""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import (
    Approx,
    Boolean,
    Category,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
)
from confide.data import InMemoryRows, bound_rows
from confide.data.matrix.category_tables import MOST_CELLS, CodedGroup
from confide.data.matrix.coded_design import CodedDesign
from confide.data.matrix.matrix import as_matrix
from confide.errors import InvalidData, PrivacyLeak
from confide.objectives import Logistic, Objective
from confide.objectives.twofold import Twofold
from confide.solvers import split_gradient as precise
from confide.solvers.problem import Problem
from confide.solvers.split_gradient import precise_gradient, split_gradient
from confide.solvers.twofold_gradient import twofold_gradient
from support.examples import some

LABELS = Target("y", labels=("no", "yes"))
WIDE = tuple(f"w{i}" for i in range(400))
SCHEMAS = {
    "mixed": (
        Category("town", levels=("a", "b", "c"), other=True),
        Number("age", 0, 100),
        Boolean("member"),
        Category("job", levels=tuple(f"j{i}" for i in range(9))),
        Number("income", -1, 1),
        Category("sex", levels=("f", "m")),
    ),
    "only numbers": (Number("age", 0, 100), Boolean("member"), Number("income", -1, 1)),
    "no numbers": (
        Category("town", levels=("a", "b", "c")),
        Category("sex", levels=("f", "m")),
    ),
    "many cells": tuple(
        Category(f"c{k}", levels=tuple(f"j{i}" for i in range(k))) for k in range(3, 12)
    ),
    "many levels": (Number("age", 0, 100), Category("wide", levels=WIDE)),
    "one level": (Category("one", levels=("a",)), Number("age", 0, 100)),
}
KINDS = pytest.mark.parametrize("kind", SCHEMAS)


def table(columns, count=3000, seed=0):
    """Return rows with missing, unknown and out-of-range values."""
    rng = np.random.default_rng(seed)
    made = {}
    for column in columns:
        if isinstance(column, Category):
            values = np.array([*column.levels, "unknown", None], dtype=object)
        elif isinstance(column, Boolean):
            values = np.array([True, False, None], dtype=object)
        else:
            values = np.array([*rng.uniform(-2, 120, 50), np.nan, np.inf])
        made[column.name] = values[rng.integers(0, len(values), count)]
    made["y"] = np.where(rng.random(count) < 0.4, "yes", "no")
    return pd.DataFrame(made)


def both(kind, count=3000):
    schema = Schema(columns=SCHEMAS[kind], target=LABELS)
    frame = table(schema.columns, count)
    return schema.compact_design(frame), schema.design(frame)


def close(found, expected):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


@KINDS
def test_it_holds_the_rows_of_the_dense_design(kind):
    compact, dense = both(kind)
    assert isinstance(compact, CodedDesign)
    np.testing.assert_array_equal(compact.toarray(), dense)
    np.testing.assert_array_equal(compact[[5, 2, 2]].toarray(), dense[[5, 2, 2]])
    np.testing.assert_array_equal(compact[::7].toarray(), dense[::7])
    assert np.linalg.norm(dense, axis=1).max() <= compact.reach <= 1


@KINDS
@pytest.mark.parametrize("height", [0.0, 0.3])
@pytest.mark.parametrize("norm", [1.0, 0.5])
def test_every_sum_over_its_rows_is_that_of_the_dense_design(kind, height, norm):
    rng = np.random.default_rng(1)
    weights = rng.uniform(size=3000)
    rows, plain = (bound_rows(design, weights, norm, height) for design in both(kind))
    theta = rng.normal(size=rows.dimension)
    wide = theta.astype(np.longdouble)
    parts = (
        lambda block: (block.margin(theta) ** 3 @ block.target,),
        lambda block: (block.weighted_sum(block.target),),
        lambda block: (block.gram(block.target, double=True),),
        lambda block: (block.gram_diagonal(block.target),),
        lambda block: (block.lengths() ** 3 @ block.target,),
        lambda block: (block.absolute().margin(theta) ** 3 @ block.target,),
        lambda block: (block.weighted_sum(block.margin(wide)),),
    )
    for part in parts:
        close(rows.sum(part)[0], plain.sum(part)[0])
    rough = (r.sum(lambda b: (b.gram(b.target),))[0] for r in (rows, plain))
    np.testing.assert_allclose(*rough, rtol=1e-5, atol=1e-3)


@KINDS
@pytest.mark.parametrize("stride", [3, 40])
def test_a_sample_of_its_rows_is_that_of_the_dense_design(kind, stride):
    target = np.arange(3000.0)
    rows, plain = (bound_rows(design, target, 1.0, 0.3) for design in both(kind))
    found, expected = rows.subsample(stride), plain.subsample(stride)
    np.testing.assert_array_equal(found.features.toarray(), expected.features.toarray())
    np.testing.assert_array_equal(found.target, expected.target)


@KINDS
@pytest.mark.parametrize("height", [0.0, 0.3])
def test_the_split_gradient_keeps_its_bound(kind, height):
    rng = np.random.default_rng(3)
    target = np.sign(rng.normal(size=20_000))
    norm = 1 + 1e-9
    rows, plain = (bound_rows(one, target, norm, height) for one in both(kind, 20_000))
    objective = Objective(Logistic(), rows.dimension, float(np.hypot(norm, height)), 1.0)
    linear = rng.normal(size=rows.dimension)
    task = Problem(objective, rows, linear, objective.ridge)
    theta = 5 * rng.normal(size=rows.dimension)
    found, bound = precise_gradient(task, theta)
    truth, mass = task.gradient(theta.astype(np.longdouble))
    error = float(np.linalg.norm((truth - found).astype(float)))
    assert error <= bound + task.rounding(theta.astype(np.longdouble), mass)
    assert bound < 0.1 * task.rounding(theta, mass)
    other, _ = precise_gradient(Problem(objective, plain, linear, task.ridge), theta)
    assert np.linalg.norm(found - other) <= 2 * bound


@KINDS
def test_slopes_beyond_doubles_agree_with_the_gradient_that_leaves_nothing_to_them(kind):
    rows = bound_rows(both(kind)[0], np.resize([1.0, -1.0, 1.0], 3000), 1.0, 0.3)
    objective = Objective(Logistic(), rows.dimension, math.hypot(1.0, 0.3), 1.0)
    task = Problem(objective, rows, np.zeros(rows.dimension), objective.ridge)
    theta = Twofold.of(np.random.default_rng(4).normal(size=rows.dimension))
    best, error = twofold_gradient(task, theta)
    _, rough = split_gradient(task, theta)
    for at_once in (None, 200):
        found, bound = split_gradient(task, theta, at_once, fine=True)
        gap = np.linalg.norm((found - best).high)
        assert gap <= bound + error
        assert bound < 0.2 * rough


def test_shortened_designs_are_written_out_for_a_gradient_beyond_doubles():
    rows, plain = (bound_rows(one, np.ones(3000), 0.5, 0.1) for one in both("mixed"))
    objective = Objective(Logistic(), rows.dimension, 0.6, 1.0)
    theta = np.random.default_rng(3).normal(size=rows.dimension)
    assert rows.factor is not None
    found, other = (
        precise_gradient(Problem(objective, one, theta, objective.ridge), theta)
        for one in (rows, plain)
    )
    assert np.linalg.norm(found[0] - other[0]) <= found[1] + other[1]


def test_one_long_row_does_not_spoil_the_splitting_of_the_others(monkeypatch):
    """Rows are scaled before they are split: the grid is that of the bound."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(8000, 6)) / 3
    features[17] *= 1e12
    rows = bound_rows(features, np.sign(rng.normal(size=8000)), 1.0, 0.0)
    objective = Objective(Logistic(), 6, 1.0, 1.0)
    task = Problem(objective, rows, np.zeros(6), objective.ridge)
    rests = []
    honest = precise._split
    monkeypatch.setattr(
        precise, "_split", lambda *given: rests.append(honest(*given)) or rests[-1]
    )
    precise_gradient(task, np.ones(6))
    assert all(rest.largest_entry() <= 2.0**-precise.LEADING_BITS for _, _, rest in rests)


@pytest.mark.parametrize("count", [100, 5000, 100_000, 10**6, 3 * 10**6, 10**8])
@pytest.mark.parametrize(
    "sizes", [(), (2, 3), (2, 3, 3, 3, 4, 4, 4, 5), (9,) * 9, (1,) * 12]
)
def test_no_sum_is_longer_than_that_of_the_dense_design(sizes, count):
    """What can be certified, and so the largest table that is not refused, stays."""
    columns = tuple(
        Category(f"c{k}", levels=tuple(f"j{i}" for i in range(size)))
        for k, size in enumerate(sizes)
    )
    numbers = tuple(Number(f"n{k}", 0, 1) for k in range(12))
    schema = Schema(columns=(*numbers, *columns), target=LABELS)
    compact = schema.compact_design(table(schema.columns, 10))
    width = compact.shape[1]
    dense = np.broadcast_to(0.0, (count, width))
    rows, plain = (
        InMemoryRows(as_matrix(features), np.zeros(0), None, 0.3)
        for features in (replace(compact, shape=(count, width)), dense)
    )
    assert rows.sum_shape.terms <= plain.sum_shape.terms + 32


def test_a_sum_takes_no_longer_chains_than_it_says(monkeypatch):
    """Only the rows of a piece, its cells and the pieces are added one by one."""
    compact, _ = both("many cells", 20_000)
    lengths = []
    honest = CodedGroup.cell_sums
    monkeypatch.setattr(
        CodedGroup, "cell_sums", lambda self, w: lengths.append(len(w)) or honest(self, w)
    )
    compact.weighted_sum(np.ones(20_000))
    cells = max(group.table.shape[0] for group in compact.groups)
    pieces = -(-20_000 // max(lengths))
    assert max(lengths) + cells + pieces <= compact.sum_shape.terms


MODELS = {
    "logistic": LogisticRegression(Approx(1, 1e-6), random_state=0),
    "pure": LogisticRegression(Pure(2), random_state=0),
    "lasso": LogisticRegression(Approx(1, 1e-6), l1=3.0, random_state=0),
    "ball": LogisticRegression(Approx(1, 1e-6), coef_norm=1.0, random_state=0),
    "output": LogisticRegression(Approx(1, 1e-6), mechanism="output", random_state=0),
    "svc": LinearSVC(Approx(1, 1e-6), random_state=0),
    "hinge": LinearSVC(
        Approx(1, 1e-6), loss="hinge", mechanism="output", l2=50.0, random_state=0
    ),
    "linear": LinearRegression(Approx(1, 1e-6), slope_bound=1.0, random_state=0),
    "poisson": PoissonRegression(Approx(1, 1e-6), slope_bound=4.0, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["mixed", "many levels", "only numbers"])
def test_a_fit_is_that_of_the_dense_design(name, kind, monkeypatch):
    counts = name in {"linear", "poisson"}
    target = Target("y", bound=5.0) if counts else LABELS
    schema = Schema(columns=SCHEMAS[kind], target=target)
    frame = table(schema.columns, 300 if name == "hinge" else 3000)
    if counts:
        frame["y"] = np.random.default_rng(2).poisson(1.0, len(frame))
    model = MODELS[name].set_params(schema=schema)
    compact = copy.copy(model.fit(frame))
    shown = compact._margins(frame)
    monkeypatch.setattr(Schema, "compact_design", Schema.design)
    dense = model.fit(frame)
    close(shown, compact._margins(frame))
    reach = 5e-9 * (1 + np.linalg.norm(dense.release_.value))
    assert np.linalg.norm(compact.release_.value - dense.release_.value) <= reach


@settings(max_examples=some(60), deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 40))
def test_any_numbers_of_levels_are_grouped_without_a_loss(sizes, count):
    columns = tuple(
        Category(f"c{k}", levels=tuple(f"j{i}" for i in range(size)), other=k % 2 == 0)
        for k, size in enumerate(sizes)
    )
    schema = Schema(columns=columns, target=LABELS)
    frame = table(columns, count)
    compact = schema.compact_design(frame)
    np.testing.assert_array_equal(compact.toarray(), schema.design(frame))
    assert all(group.table.shape[0] <= MOST_CELLS for group in compact.groups)


def test_a_missing_level_is_still_refused_where_the_schema_says_so():
    for other in (False, True):
        strict = Category("town", levels=("a", "b"), other=other, missing="refuse")
        schema = Schema(columns=(strict,), target=LABELS)
        unknown = pd.DataFrame({"town": ["a", "zzz"]})
        place = [[1, 0, 0], [0, 0, 1]] if other else [[1, 0], [0, 0]]
        np.testing.assert_array_equal(schema.encode(unknown), place)
        with pytest.raises(InvalidData, match="must have no missing values"):
            schema.compact_design(pd.DataFrame({"town": ["a", None]}))


def test_coded_rows_do_not_leak():
    compact, _ = both("mixed")
    assert "0." not in repr(compact)
    with pytest.raises(PrivacyLeak):
        pickle.dumps(bound_rows(compact, np.zeros(0), 1.0, 0.3))
