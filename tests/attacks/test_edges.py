"""Neighbours at the edges: no row, one row, no target in any row, values beyond all bounds.

If one table is refused, warns or fails and its neighbour does not, whoever sees that has
told them apart. What is refused is refused by public facts, whatever the rows say.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from confide import (
    Approx,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
    Pure,
    Schema,
)
from confide.data import Category, Number, Target, open_table
from confide.errors import ClaimedGuarantee, InvalidData
from confide.mechanisms import MECHANISMS, Intervals
from confide.selection import (
    SELECTORS,
    HardThresholding,
    ScreeningSelector,
    SelectThenFit,
)
from confide.tuning import PrivateSearch
from support.commands import run

BUDGET = Approx(1, 1e-6)
COLUMNS = (Number("a", 0, 10), Category("c", ("x", "y")))
LINEAR = Schema(COLUMNS, Target("t", lower=0, upper=3, missing="drop"), name="people")
TABLE = pd.DataFrame({"a": [1.0, 2.0, 30.0], "c": ["x", "y", "z"], "t": [0.0, 1.0, 1.0]})
NO_TARGET = TABLE.assign(t=np.nan)
ONE = NO_TARGET.assign(t=[1.0, np.nan, np.nan])
CONFIGURED = {
    "select": SelectThenFit(ScreeningSelector(1)),
    "thresholding": HardThresholding(1),
}
SAME_COUNT = {"momentum", "sgd", "ssadmm", "mpadmm", "mpadmm-published", "dp-admm"}
"""Under replace-one they take the number of rows with a target for public."""
RELATIONS = ["add-remove", "replace-one"]


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ClaimedGuarantee)
        yield


def linear(mechanism="objective", **settings):
    budget = Pure(1) if mechanism == "functional" else BUDGET
    if mechanism == "adaptive":
        settings["l1"] = 1.0
    mechanism = CONFIGURED.get(mechanism, mechanism)
    return LinearRegression(budget, schema=LINEAR, mechanism=mechanism, **settings)


def released(model, table):
    return np.isfinite(model.fit(table).release_.value).all()


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_no_row_is_as_good_as_one_where_their_number_is_private(name):
    for table in (TABLE[:0], TABLE[:1], NO_TARGET, ONE):
        assert released(linear(name), table)


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - SAME_COUNT))
def test_a_table_without_a_target_is_released_like_its_neighbour(name):
    model = linear(name, neighbours="replace-one")
    for table in (NO_TARGET, ONE, NO_TARGET[:1], ONE[:1]):
        assert released(model, table)
    with pytest.raises(InvalidData, match="one row or more"):
        model.fit(TABLE[:0])


@pytest.mark.parametrize("name", sorted(SELECTORS))
@pytest.mark.parametrize("relation", RELATIONS)
def test_selectors_choose_from_no_rows(name, relation):
    model = linear(SelectThenFit(SELECTORS[name](1)), neighbours=relation)
    for table in (NO_TARGET, ONE):
        assert len(model.fit(table).release_.support[0]) == 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_of_no_rows_are_wide(relation):
    model = linear(intervals=Intervals(of="penalised"), neighbours=relation)
    plain = linear(intervals=True, neighbours=relation)
    for table in (NO_TARGET, ONE):
        lines = model.fit(table).intervals_.rows
        assert max(line.upper - line.lower for line in lines) > 1
        assert not any(line.reliable for line in plain.fit(table).intervals_)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", ["chunks", "random-stopping"])
def test_a_search_among_no_rows_ends(relation, method):
    for table in (NO_TARGET, ONE):
        model = LinearRegression(schema=LINEAR, neighbours=relation)
        search = PrivateSearch(model, {"l2": [90.0, 99.0]}, BUDGET, method=method)
        assert np.isfinite(search.fit(table).release_.value).all()
    if relation == "add-remove":
        assert search.fit(TABLE[:0]).best_params_["l2"] >= 90


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("table", [TABLE[:0], NO_TARGET, ONE], ids=["empty", "none", "one"])
def test_streams_and_commands_release_noise(kind, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"people.{kind}"
    table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    for source in (path, open_table(path)):
        assert released(linear(), source)
    (tmp_path / "people.toml").write_text(LINEAR.to_toml(), encoding="utf-8")
    options = ["--schema", "people.toml", "--epsilon", "1"]
    assert run("fit", path.name, *options).exit_code == 0


@pytest.mark.parametrize("table", [TABLE[:0], NO_TARGET, ONE], ids=["empty", "none", "one"])
def test_collections_release_noise(table):
    dask, frames = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    with dask.config.set(scheduler="synchronous"):
        assert released(linear(), frames.from_pandas(table, npartitions=1))


FAR = {
    "the largest double": [1.7e308, -1.7e308, 1.7e308],
    "infinity": [np.inf, -np.inf, np.inf],
    "integers beyond doubles": np.array([10**400, -(10**400), 10**400], dtype=object),
    "the smallest double": [5e-324, -5e-324, 5e-324],
}


@pytest.mark.parametrize("values", FAR.values(), ids=FAR)
@pytest.mark.parametrize("column", ["a", "t"])
@pytest.mark.parametrize("kind", ["linear", "poisson"])
def test_a_schema_clamps_whatever_a_cell_says(values, column, kind):
    model = linear(random_state=1)
    if kind == "poisson":
        model = PoissonRegression(BUDGET, schema=LINEAR, slope_bound=2.0, random_state=1)
    table = TABLE.assign(**{column: values})
    ends = {"a": (0, 10), "t": (0, 3)}[column]
    near = [min(max(value, ends[0]), ends[1]) for value in values]
    found = model.fit(table).release_.value
    clamped = model.fit(TABLE.assign(**{column: np.array(near, float)})).release_.value
    assert np.array_equal(found, clamped)
    search = PrivateSearch(
        LinearRegression(schema=LINEAR), {"l2": [90.0, 99.0]}, BUDGET, random_state=1
    )
    search.fit(table)


LONG = np.array([[1.7e308, 1.7e308, -1.7e308], [1e200, -1e200, 3e199], [0.1, 0.2, 0.3]])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("mechanism", ["objective", "output", "momentum", "frank-wolfe"])
def test_rows_as_long_as_doubles_are_bounded_like_others(kind, mechanism):
    target = np.array([1.7e308, -1.7e308, 0.5])
    model = LinearRegression(
        BUDGET, target_bound=1e-3, mechanism=mechanism, random_state=1, row_norm=1.0
    )
    assert np.isfinite(model.fit(kind(LONG), target).release_.value).all()
    shorter = LONG.copy()
    shorter[:2] *= 2.0**-200
    again = model.fit(kind(shorter), target).release_.value
    np.testing.assert_allclose(model.fit(kind(LONG), target).release_.value, again, 1e-9)
    assert np.isfinite(model.predict(kind(LONG))).all()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_has_no_direction_is_refused_before_anything_is_spent(value):
    rows = LONG.copy()
    rows[0, 0] = value
    with pytest.raises(InvalidData, match="X must hold finite numbers"):
        LogisticRegression(BUDGET, classes=[0, 1], row_norm=1.0).fit(rows, [0, 1, 1])


def test_a_record_far_away_does_not_move_how_others_are_bounded():
    rng = np.random.default_rng(2)
    rows, target = rng.normal(size=(50, 3)), rng.normal(size=50)
    model = LinearRegression(BUDGET, target_bound=1.0, row_norm=1.0)
    alone = model._prepare(rows, target).tasks
    beside = model._prepare(np.vstack([rows, LONG[:1]]), np.append(target, 9e99)).tasks
    (one,), (two,) = alone, beside
    assert np.array_equal(one.toarray(), two.toarray()[:50])
    assert np.array_equal(one.target, two.target[:50])
