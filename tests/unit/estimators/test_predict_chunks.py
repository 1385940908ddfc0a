"""Predictions for tables that are not in memory are those of the same rows in memory."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from confide import (
    Approx,
    Category,
    LinearRegression,
    LogisticRegression,
    Number,
    Schema,
    Target,
)
from confide.data.partitioned.progress import watching
from confide.data.tables import files
from confide.data.tables.files import open_table
from confide.errors import InvalidData, InvalidParameter
from confide.estimators import each_piece
from confide.mechanisms import MECHANISMS

SCHEMA = Schema(
    (Number("dose", 0, 10), Category("ward", ("north", "south"))),
    Target("ill", labels=("no", "maybe", "yes")),
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces of few rows."""
    monkeypatch.setattr(files, "PIECE_ROWS", 64)
    monkeypatch.setattr(files, "TEXT_ROWS", 64)


@pytest.fixture(scope="module")
def table():
    """Rows of which some lie outside what is declared."""
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "ill": rng.choice(["no", "maybe", "yes"], 300),
            "dose": rng.uniform(-2, 12, 300),
            "ward": rng.choice(["north", "south", "elsewhere"], 300),
            "length": rng.normal(size=300),
        }
    )


@pytest.fixture(scope="module")
def model(table):
    """A model of three classes with a schema."""
    return LogisticRegression(Approx(3, 1e-6), schema=SCHEMA, random_state=0).fit(table)


@pytest.fixture(scope="module")
def plain(table):
    """A model of two columns without a schema, which shortens rows."""
    model = LinearRegression(
        Approx(3, 1e-6), target_bound=2.0, random_state=0, row_norm=1.0
    )
    return model.fit(table[["dose", "length"]], table["length"])


@pytest.fixture
def written(table, tmp_path):
    """Write the table in three files; return the pattern that stands for them."""

    def write(kind):
        for place in range(3):
            part, path = (
                table[100 * place : 100 * place + 100],
                tmp_path / f"{place}.{kind}",
            )
            part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)
        return tmp_path / f"*.{kind}"

    return write


def same(found, expected):
    """Numbers are the same but for how products of matrices are rounded."""
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_and_patterns(kind, written, table, model, plain):
    pattern = written(kind)
    assert (model.predict(pattern) == model.predict(table)).all()
    same(model.predict_proba(open_table(pattern)), model.predict_proba(table))
    same(model.decision_function(str(pattern)), model.decision_function(table))
    columns = table[["dose", "length"]]
    same(plain.predict(pattern), plain.predict(columns))
    same(plain.predict(pattern.parent / f"0.{kind}"), plain.predict(columns[:100]))


def test_pieces_are_small_and_in_order_and_watched(written, table, model):
    seen = []
    with watching(seen.append):
        pieces = list(each_piece(model, written("parquet"), lambda piece: piece))
    assert max(map(len, pieces)) == 64
    assert set(pieces[0].columns) == {"dose", "ward"}
    whole = pd.concat(pieces, ignore_index=True)
    pd.testing.assert_frame_equal(whole, table[["dose", "ward"]])
    assert (seen[-1].rows, seen[-1].expected, seen[-1].over) == (300, 300, True)


def test_dask_collections(table, model, plain):
    dask_frame = pytest.importorskip("dask.dataframe")
    dask_array = pytest.importorskip("dask.array")
    frame = dask_frame.from_pandas(table, npartitions=4)
    same(model.predict_proba(frame), model.predict_proba(table))
    same(model.predict_proba(frame[["ward", "dose"]]), model.predict_proba(table))
    columns = table[["dose", "length"]]
    same(plain.predict(frame), plain.predict(columns))
    numbers = columns.to_numpy()
    model = LinearRegression(
        Approx(3, 1e-6), target_bound=2.0, random_state=0, row_norm=1.0
    )
    model.fit(numbers, table["length"])
    blocks = dask_array.from_array(numbers, chunks=(70, 1))
    same(model.predict(blocks), model.predict(numbers))
    thin = blocks.rechunk((70, 2)).map_blocks(sparse.csr_array)
    same(model.predict(thin), model.predict(numbers))
    with pytest.raises(InvalidData, match=r"X has 1 features, but .* expecting 2"):
        model.predict(blocks[:, :1])
    with pytest.raises(InvalidData, match=r"lacks \['length'\]"):
        plain.predict(frame[["dose"]])


def test_what_cannot_be_predicted_from_is_refused(written, table, model, tmp_path):
    dask_frame = pytest.importorskip("dask.dataframe")
    dask_array = pytest.importorskip("dask.array")
    with pytest.raises(InvalidData, match=r"lacks \['ward'\]"):
        model.predict(dask_frame.from_pandas(table[["dose"]], npartitions=2))
    with pytest.raises(InvalidData, match="named columns"):
        model.predict(dask_array.zeros((5, 2)))
    with pytest.raises(InvalidParameter, match="matches none"):
        model.predict(tmp_path / "*.parquet")
    table[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(InvalidData, match="empty"):
        model.predict(tmp_path / "*.parquet")


def test_a_small_file_without_a_schema_is_fitted_by_the_name_of_its_target(table, tmp_path):
    numbers = table[["dose", "length"]]
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    model = LinearRegression(
        Approx(3, 1e-6), target_bound=2.0, random_state=0, row_norm=1.0
    )
    found = model.fit(tmp_path / "numbers.csv", "length").coef_
    known = model.fit(numbers[["dose"]], numbers["length"]).coef_
    np.testing.assert_allclose(found, known, rtol=1e-4)


def refused(act):
    """Whether something is refused for a reason that is public."""
    try:
        act()
    except ValueError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LogisticRegression, LinearRegression])
def test_intervals_are_offered_exactly_where_they_are_not_refused(kind, table):
    labelled = Target("length", labels=(0, 1))
    target = labelled if kind is LogisticRegression else Target("length", bound=3)
    schema = Schema((Number("dose", 0, 10),), target)
    rows = table.assign(length=(table["length"] > 0).astype(int))
    offered = {}
    for name, l1 in product(MECHANISMS, (0.0, 2.0)):
        model = kind(Approx(1, 1e-6), schema=schema, mechanism=name, l1=l1)
        if not refused(partial(model.fit, rows)):
            wishful = clone(model).set_params(intervals=True)
            offered[name, l1] = model.offers_intervals()
            assert offered[name, l1] is not refused(partial(wishful.rehearse, rows))
    assert {key for key, possible in offered.items() if possible} == {
        ("objective", 0.0),
        ("output", 0.0),
    }
    assert len(offered) > 4
