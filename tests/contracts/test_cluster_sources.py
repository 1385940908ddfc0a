"""Rows that workers hold: the same releases, and neither noise nor a value told there."""

import os
from itertools import chain, pairwise

import numpy as np
import pytest
from sklearn.base import clone

from confide import (
    Approx,
    Ledger,
    LinearRegression,
    LogisticRegression,
    Number,
    Schema,
    Target,
)
from confide.data.partitioned.cluster_rows import ClusterParts
from confide.data.partitioned.progress import watching
from confide.data.partitioned.rows import PartitionedRows
from confide.data.rows.in_memory import bound_rows
from confide.data.tables.files import open_table
from confide.errors import ConfideError, InvalidData
from confide.mechanisms import MomentumDescent
from confide.mechanisms.gradient import batch_sums
from confide.parallel.dask_cluster import connected
from support.parted_tables import (
    BUDGET,
    CASES,
    EDGES,
    MULTI,
    NAMES,
    SCHEMA,
    SOURCES,
    TERMS,
    assert_same,
    collection,
    fitted_in_memory,
    given,
    numbers,
    opened,
    people,
    written,
)

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:The inplace keyword")]

SECRET = 123456.789


def forbid_drawing():
    """Let every way to draw a number raise, in the process where this runs."""
    from confide.noise import entropy

    def refuse(*_values, **_settings):
        raise RuntimeError("a number was drawn on a worker")

    for name in ("system", "seeded", "of", "uniform", "below", "signs"):
        setattr(entropy.Entropy, name, refuse)
    os.urandom = refuse
    np.random.default_rng = refuse


def drawn():
    from confide.noise import Entropy

    return Entropy.seeded(1)


@pytest.fixture(scope="module")
def client():
    """Two workers that cannot draw a random number; all fits of this file use them."""
    with connected(workers=2) as client:
        client.run(forbid_drawing)
        yield client


@pytest.fixture(scope="module")
def table():
    return numbers()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def test_workers_cannot_draw(client):
    with pytest.raises(RuntimeError, match="drawn on a worker"):
        client.run(drawn)
    with pytest.raises(RuntimeError, match="drawn on a worker"):
        client.run(lambda: os.urandom(1))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", CASES)
def test_every_case_gives_from_every_source_what_memory_gives(
    name, source, table, folder, client
):
    case = CASES[name]
    there = clone(case.model).fit(*given(source, table, folder, case, client))
    assert_same(there, fitted_in_memory(case, table), case.within)


def test_several_targets_on_workers(table, client):
    there = clone(MULTI).fit(*collection("array", table, ["line", "counts"]))
    here = clone(MULTI).fit(table[NAMES].to_numpy(), table[["line", "counts"]].to_numpy())
    assert_same(there, here)


@pytest.mark.parametrize("schema", [SCHEMA, TERMS], ids=["columns", "terms"])
@pytest.mark.parametrize("source", ["parquet file", "csv pattern", "hive folder", "frame"])
def test_a_schema_reads_every_kind_of_column_on_workers(source, schema, folder, client):
    table = people()
    if not (folder / "people").exists():
        written(table, folder / "people")
    model = LogisticRegression(BUDGET, schema=schema, random_state=3)
    passed = (
        collection("frame", table, "ill")[0]
        if source == "frame"
        else opened(source, folder / "people", client)
    )
    assert_same(clone(model).fit(passed), clone(model).fit(table))


# ------------------------------------------------------------------------------ rows there


class Cut:
    """A part of a table that travels by itself."""

    def __init__(self, features, target):
        self.features, self.target = features, target

    def whole(self):
        return self.features, self.target


def closed(piece):
    return bound_rows(*piece, 1.0, 0.5)


def picked_rows(block):
    """Return sums that tell which rows were seen, and how often."""
    marks = np.bincount(block.target.astype(int), minlength=230)
    return block.weighted_sum(block.target), marks


def plain_rows(rows):
    features, target = rows.plain()
    return features[np.argsort(target)], np.sort(target)


@pytest.fixture(scope="module")
def held(client):
    table = numbers()[NAMES].to_numpy()
    place = np.arange(len(table), dtype=float)
    cuts = [slice(a, b) for a, b in pairwise(EDGES)]
    parts = ClusterParts.of(client, [Cut(table[c], place[c]) for c in cuts], closed)
    return PartitionedRows.over(parts, 0.5, 3), bound_rows(table, place, 1.0, 0.5)


@pytest.mark.parametrize(
    "places",
    [[0], [229], [89, 90, 91], [90], [200, 199, 3], [], range(230), [5, 100, 150]],
    ids=str,
)
def test_rows_that_are_picked_are_those_rows(places, held):
    there, here = held
    chosen = np.array([*places], dtype=np.int64)
    some, own = there.take(chosen), here.take(chosen)
    assert (some.count, some.table_count) == (len(chosen), len(chosen))
    sums, seen = some.sum(picked_rows)
    np.testing.assert_array_equal(np.flatnonzero(seen), np.sort(chosen))
    expected, _ = own.sum(picked_rows)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)
    (found,) = there.map_subsets([chosen], plain_rows)
    for ours, theirs in zip(found, plain_rows(own), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)


def test_no_part_travels_between_workers_in_a_fit(table, client):
    import dask.array as da

    def empty(dask_worker):
        dask_worker.transfer_incoming_log.clear()

    def travelled(dask_worker):
        log = dask_worker.transfer_incoming_log
        return [str(key) for one in log for key in one["keys"]]

    client.run(empty)
    case = CASES["momentum"]
    X = da.from_array(table[NAMES].to_numpy(), chunks=(12, 3))
    y = da.from_array(table["signs"].to_numpy(), chunks=12)
    there = clone(case.model).fit(X, y)
    assert_same(there, fitted_in_memory(case, table))
    keys = [*chain.from_iterable(client.run(travelled).values())]
    assert any(key.startswith("confide-sum") for key in keys), "sums are seen to travel"
    assert not [key for key in keys if "hold" in key]


# ------------------------------------------------------------------------- what goes wrong


@pytest.fixture
def book(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db").for_dataset("people")
    ledger.set_limit("people", Approx(5, "1e-5"))
    yield ledger
    ledger.close()


PLAIN = Schema(tuple(Number(name, -2, 2) for name in NAMES), Target("line", bound=2.0))
NAMED = Schema(PLAIN.columns, PLAIN.target, name="people")
FAULTS = {
    "text among numbers": ("a", f"{SECRET}x", NAMED),
    "a missing target": ("line", None, NAMED),
    "text in the target": ("line", f"{SECRET}x", NAMED),
    "no number at all": ("b", None, None),
    "infinity": ("b", np.inf, None),
    "a target that is missing": ("line", None, None),
}


@pytest.mark.parametrize("where", ["here", "there"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_last_part_is_told_as_in_memory_and_costs_nothing(
    fault, where, table, tmp_path, book, request
):
    client = request.getfixturevalue("client") if where == "there" else None
    column, value, schema = FAULTS[fault]
    broken = table[[*NAMES, "line"]].astype(object)
    broken.loc[len(broken) - 3, column] = value
    broken.loc[len(broken) - 2, "c"] = SECRET
    for place, (low, high) in enumerate(pairwise(EDGES)):
        broken.iloc[low:high].to_csv(tmp_path / f"{place}.csv", index=False)
    broken.to_csv(tmp_path / "whole.csv", index=False)
    model = LinearRegression(BUDGET, schema=schema, ledger=book)
    if schema is None:
        model.set_params(target_bound=2.0, row_norm=1.0)
    target = None if schema else "line"
    with pytest.raises(InvalidData) as here:
        model.fit(tmp_path / "whole.csv", target)
    with pytest.raises(InvalidData) as there:
        model.fit(open_table(str(tmp_path / "[0-9].csv"), cluster=client), target)
    assert str(there.value) == str(here.value)
    assert [entry.kind for entry in book.entries()] == ["limit"]
    if client is not None:
        assert_silent(client, str(there.value))


def assert_silent(client, text):
    """Assert that nobody could read the secret anywhere on the cluster."""

    def remembered(dask_scheduler):
        tasks = dask_scheduler.tasks.values()
        events = dask_scheduler.get_events("all")
        return f"{[(t.key, t.exception_text, t.traceback_text) for t in tasks]} {events}"

    logs = f"{client.get_worker_logs()} {client.get_scheduler_logs()}"
    for told in (text, logs, client.run_on_scheduler(remembered)):
        assert "123456" not in told


# ------------------------------------------------------------------------ workers that die


def killer(client):
    """Kill a worker after the second sweep of a fit, once."""
    killed = []

    def watch(sweep):
        if sweep.over and sweep.number == 2 and not killed:
            places = sorted(client.run(os.getpid).values())
            killed.append(places[0])
            os.kill(places[0], 9)

    return watch, killed


@pytest.fixture(scope="module")
def three():
    with connected(workers=3) as client:
        yield client


def many_parts(tmp_path):
    import dask.dataframe as dd

    table = numbers(rows=800)[[*NAMES, "signs"]]
    for place in range(8):
        part = table.iloc[100 * place : 100 * (place + 1)]
        part.to_parquet(tmp_path / f"{place}.parquet")
    frame = dd.read_parquet(tmp_path / "*.parquet")
    return table, frame[NAMES], frame["signs"]


@pytest.mark.parametrize("source", ["files", "frame"])
@pytest.mark.parametrize("mechanism", ["objective", MomentumDescent(6), "sgd"], ids=str)
def test_a_worker_that_dies_changes_nothing_but_time(
    source, mechanism, three, tmp_path, book, monkeypatch
):
    monkeypatch.setattr(batch_sums, "MOST_FETCHED", 2)  # several looks at the workers
    three.wait_for_workers(3, timeout=30)
    _, features, target = many_parts(tmp_path)
    passed = (features, target)
    if source == "files":
        passed = (open_table(str(tmp_path / "*.parquet"), cluster=three), "signs")
    chosen = CASES["sgd"].model.mechanism if mechanism == "sgd" else mechanism
    model = LogisticRegression(
        BUDGET, mechanism=chosen, classes=[0, 1], random_state=5, ledger=book, row_norm=1.0
    )
    whole = clone(model).fit(*passed)
    watch, killed = killer(three)
    with watching(watch):
        hurt = clone(model).fit(*passed)
    assert killed
    np.testing.assert_array_equal(hurt.release_.value, whole.release_.value)
    kinds = [entry.kind for entry in book.entries()]
    assert kinds == ["limit", "charge", "release", "charge", "release"], "paid once each"


def test_rows_that_nobody_can_make_again_are_said_to_be_lost(three):
    import dask.array as da
    from dask.delayed import delayed

    three.wait_for_workers(3, timeout=30)
    table = numbers(rows=800)
    pieces = [table.iloc[100 * i : 100 * (i + 1)] for i in range(8)]
    parts = three.scatter([piece[NAMES].to_numpy() for piece in pieces])
    labels = three.scatter([piece["signs"].to_numpy() for piece in pieces])
    X = da.concatenate([da.from_delayed(delayed(p), (100, 3), float) for p in parts])
    y = da.concatenate([da.from_delayed(delayed(p), (100,), int) for p in labels])
    watch, _ = killer(three)
    model = LogisticRegression(BUDGET, classes=[0, 1], row_norm=1.0)
    with pytest.raises(ConfideError, match="can be recomputed"), watching(watch):
        model.fit(X, y)
    assert not hasattr(model, "release_")


def slow_sum(block):
    import time

    time.sleep(0.1)
    return (float(len(block.target)),)


def test_an_idle_worker_steals_no_part():
    def kept(dask_worker):
        return [key for key in dask_worker.data if "hold" in str(key)]

    table = numbers(rows=800)[NAMES].to_numpy()
    with connected(workers=1) as client:
        cuts = [Cut(table[i::8], np.ones(100)) for i in range(8)]
        rows = PartitionedRows.over(ClusterParts.of(client, cuts, closed), 0.5, 3)
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=30)
        for _ in range(3):
            assert rows.sum(slow_sum) == (800.0,)
        assert sorted(len(keys) for keys in client.run(kept).values()) == [0, 8]
