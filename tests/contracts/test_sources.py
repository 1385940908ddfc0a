"""A table in parts gives the release that it gives in memory, or is refused in words.

Streams are tried here: files and Dask's collections without a client. What workers hold is
tried in test_cluster_sources.py.
"""

import numpy as np
import pytest
from sklearn.base import clone

from confide import Approx, Ledger, LogisticRegression
from confide.data import read_table
from confide.errors import InvalidParameter
from confide.mechanisms import MECHANISMS
from confide.mechanisms.published import Napp
from confide.tuning import PrivateSearch
from support.parted_tables import (
    BUDGET,
    BY_MECHANISM,
    CASES,
    COLLECTIONS,
    FILES,
    MULTI,
    NAMES,
    SCHEMA,
    SOURCES,
    TERMS,
    Case,
    assert_same,
    collection,
    fitted_in_memory,
    given,
    numbers,
    opened,
    people,
    written,
)

pytest.importorskip("dask.dataframe")
pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")
pytestmark = pytest.mark.filterwarnings("ignore:A column-vector y was passed")

COSTLY = ("intervals, several classes", "three classes that are read", "hinge")
QUICK = [
    (name, SOURCES[i % len(SOURCES)]) for i, name in enumerate(CASES) if name not in COSTLY
]
QUICK += [("output", source) for source in SOURCES]
SLOW = [(name, source) for name in CASES for source in SOURCES]


@pytest.fixture(scope="module")
def table():
    return numbers()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def check(name, source, table, folder):
    case = CASES[name]
    passed = given(source, table, folder, case, None)
    model = clone(case.model)
    if not case.picks:
        assert_same(model.fit(*passed), fitted_in_memory(case, table), case.within)
        return
    with pytest.raises(InvalidParameter, match="a table that is streamed") as caught:
        model.fit(*passed)
    assert "on a cluster" in str(caught.value)
    assert not hasattr(model, "release_")


def test_every_registered_mechanism_is_tried():
    assert set(BY_MECHANISM) == set(MECHANISMS)
    for name, case in BY_MECHANISM.items():
        chosen = case.model.mechanism
        assert name == (chosen if isinstance(chosen, str) else chosen.name)


@pytest.mark.parametrize(("name", "source"), QUICK)
def test_a_stream_gives_what_memory_gives(name, source, table, folder):
    check(name, source, table, folder)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "source"), SLOW)
def test_every_case_gives_from_every_stream_what_memory_gives(name, source, table, folder):
    check(name, source, table, folder)


@pytest.mark.parametrize("source", ["array", "frame and column"])
def test_several_targets_from_collections(source, table):
    passed = collection(source, table, ["line", "counts"])
    there = clone(MULTI).fit(*passed)
    here = clone(MULTI).fit(table[NAMES].to_numpy(), table[["line", "counts"]].to_numpy())
    assert_same(there, here)
    assert there.coef_.shape == (2, 3)


@pytest.mark.parametrize("source", [*FILES, "hive folder", "frame"])
def test_a_schema_reads_every_kind_of_column_from_every_stream(source, folder):
    table = people()
    if not (folder / "people").exists():
        written(table, folder / "people")
    model = LogisticRegression(BUDGET, schema=SCHEMA, intervals=True, random_state=3)
    passed = (
        collection("frame", table, "ill")[0]
        if source == "frame"
        else opened(source, folder / "people")
    )
    there = clone(model).fit(passed)
    here = clone(model).fit(table)
    assert_same(there, here)
    assert there.n_features_in_ == here.n_features_in_
    assert "drop" in str(SCHEMA.target), "rows without a target are dropped"


@pytest.mark.parametrize("source", [*FILES, "hive folder", "frame", "polars", "arrow"])
def test_terms_weights_and_offsets_are_the_same_from_every_source(source, folder):
    table = people()
    if not (folder / "people").exists():
        written(table, folder / "people")
    model = LogisticRegression(BUDGET, schema=TERMS, intervals=True, random_state=3)
    if source == "frame":
        passed = collection("frame", table, "ill")[0]
    elif source in ("polars", "arrow"):
        passed = pyarrow.Table.from_pandas(table)
        passed = polars.from_arrow(passed) if source == "polars" else passed
    else:
        passed = opened(source, folder / "people")
    there, here = clone(model).fit(passed), clone(model).fit(table)
    assert_same(there, here)
    assert here.release_.ranges is not None
    assert len(here.release_.value) == len(TERMS.features) + 1
    if source not in ("frame", "polars", "arrow"):
        assert np.array_equal(there.predict_proba(passed), here.predict_proba(table))


def test_a_target_beside_a_table_with_a_schema(folder):
    table = people().dropna(subset="ill")
    model = LogisticRegression(BUDGET, schema=SCHEMA, random_state=3)
    frame, _ = collection("frame", table, "ill")
    there = clone(model).fit(frame.drop(columns="ill"), frame["ill"])
    assert_same(there, clone(model).fit(table.drop(columns="ill"), table["ill"]))


@pytest.mark.parametrize("name", ["whole.parquet", "whole.csv"])
def test_a_small_file_is_read_whole_and_its_target_named(name, table, folder):
    case = CASES["sgd"]
    given("parquet file", table, folder, case, None)
    there = clone(case.model).fit(str(folder / "signs" / name), "signs")
    assert_same(there, fitted_in_memory(case, table))
    assert list(there.feature_names_in_) == NAMES


def test_a_folder_by_its_name_is_read_in_parts(table, folder):
    case = CASES["objective"]
    given("parquet file", table, folder, case, None)
    there = clone(case.model).fit(folder / "signs" / "some", "signs")
    assert_same(there, fitted_in_memory(case, table))
    assert list(there.feature_names_in_) == NAMES


def test_folders_named_after_values_give_a_column(table, folder):
    case = CASES["objective"]
    given("parquet file", table, folder, case, None)
    there = clone(case.model).fit(folder / "signs" / "hive", "signs")
    whole = read_table(folder / "signs" / "whole.parquet")
    edges = np.diff([0, 90, 90, 91, 200, len(whole)])
    wide = whole[NAMES].assign(place=np.repeat(np.arange(5), edges))
    assert_same(there, clone(case.model).fit(wide.to_numpy(), whole["signs"]))


# -------------------------------------------------------------------------------- refusals


@pytest.fixture
def book(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db").for_dataset("people")
    ledger.set_limit("people", Approx(5, "1e-5"))
    yield ledger
    ledger.close()


@pytest.mark.parametrize("source", ["parquet file", "array"])
def test_what_needs_all_rows_at_once_is_refused_before_it_is_charged(
    source, table, folder, book
):
    case = Case(
        LogisticRegression(
            BUDGET,
            mechanism=Napp(accept_unproved=True),
            classes=[0, 1],
            ledger=book,
            row_norm=1.0,
        ),
        "signs",
    )
    with pytest.raises(InvalidParameter, match="in memory for NAPP"):
        case.model.fit(*given(source, table, folder, case, None))
    assert [entry.kind for entry in book.entries()] == ["limit"]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.picks])
def test_random_rows_of_a_stream_are_refused_before_they_are_charged(
    name, table, folder, book
):
    case = CASES[name]
    model = clone(case.model).set_params(ledger=book, random_state=None)
    with pytest.raises(InvalidParameter, match="streamed"):
        model.fit(*given("parquet file", table, folder, case, None))
    assert [entry.kind for entry in book.entries()] == ["limit"]


@pytest.mark.parametrize("source", ["parquet file", *COLLECTIONS])
@pytest.mark.parametrize("method", ["chunks", "random-stopping"])
def test_a_search_wants_its_table_in_memory(source, method, table, folder):
    case = CASES["objective"]
    search = PrivateSearch(clone(case.model), {"l1": [0.0, 0.1]}, method=method)
    with pytest.raises(InvalidParameter, match="in memory for a search"):
        search.fit(*given(source, table, folder, case, None))
