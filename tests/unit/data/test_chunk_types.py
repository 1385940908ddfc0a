"""What a sceptic tried on tables in parts: every case here once went wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from confide.data import (
    Category,
    EntryBounds,
    Number,
    Schema,
    Target,
    bound_entries,
    bound_rows,
    read_table,
)
from confide.data.tables.delimited import read_pieces
from confide.data.tables.files import open_table
from confide.errors import ConfideError, InvalidData, InvalidParameter
from confide.estimators import LogisticRegression
from confide.ledger import Ledger
from confide.privacy import Approx, Pure

GRADES = Schema(
    (Category("grade", (0, 1)), Number("age", 0, 1)), Target("y", labels=(0, 1)), name="t"
)


def written(path: Path, lines: list[str], header: str = "grade,age,y") -> Path:
    """Write a file of text."""
    path.write_text("\n".join([header, *lines]) + "\n", "utf-8")
    return path


def in_pieces(path: Path, schema: Schema, rows: int) -> Any:
    """Return the design of a file that is read piece by piece."""
    pieces = read_pieces(path, schema, target=True, rows=rows)
    return np.concatenate([schema.design(piece) for piece in pieces])


@pytest.mark.parametrize("last", ["1", "true", "", "x", "0.5", "9" * 30])
def test_a_truth_value_is_no_level_whatever_stands_beside_it(
    tmp_path: Path, last: str
) -> None:
    path = written(tmp_path / "t.csv", ["True,.5,1", "False,.5,0", f"{last},.5,1"])
    whole = GRADES.design(read_table(path, GRADES))
    for rows in (1, 2, 3):
        found = in_pieces(path, GRADES, rows)
        assert not found[:2].any()
        assert np.array_equal(found, whole)


def test_a_word_in_a_wide_file_changes_no_other_record(tmp_path: Path) -> None:
    width, count = 64, 20_000
    names = [f"x{j}" for j in range(width)]
    schema = Schema(
        (Category("grade", (0, 1)), *(Number(name, -1, 1) for name in names)),
        Target("y", labels=(0, 1)),
    )
    rest = ",0" * width
    lines = [f"{i % 2}{rest},{i % 2}" for i in range(count)]
    lines[-1] = f"word{rest},word"
    path = written(tmp_path / "t.csv", lines, ",".join(["grade", *names, "y"]))
    (piece,) = read_pieces(path, schema, target=True, rows=count)
    design = schema.design(piece)[:, :2] > 0
    assert design.sum(axis=0).tolist() == [count // 2, count // 2 - 1]
    assert (piece["y"] == 1).sum() == count // 2 - 1
    for bare in (read_table(path), *read_pieces(path, None, target=True, rows=count)):
        kinds = {type(value) for value in bare["y"]}
        assert len(kinds) == 1


@pytest.mark.parametrize("level", [2**53, -(2**60), 1e300, 10**400])
def test_levels_that_doubles_blur_are_refused(level: float) -> None:
    with pytest.raises(InvalidParameter, match="numbers between"):
        Category("c", (0, level))
    with pytest.raises(InvalidParameter, match="numbers between"):
        Target("y", labels=(0, level))
    assert Category("c", (0, 2**53 - 1)).levels == (0, 2**53 - 1)


@pytest.mark.parametrize("name", [None, "y"])
@pytest.mark.parametrize("in_parts", [False, True])
def test_dropped_rows_are_private_however_the_target_is_named(
    tmp_path: Path, name: str | None, in_parts: bool
) -> None:
    schema = Schema((Number("age", 0, 1),), Target("y", labels=(0, 1), missing="drop"))
    path = written(tmp_path / "t.csv", [f".{i},{i % 2}" for i in range(9)], "age,y")
    model = LogisticRegression(
        Approx(1, 1e-6), schema=schema, mechanism="momentum", neighbours="replace-one"
    )
    table = open_table(path) if in_parts else path
    with pytest.raises(InvalidParameter, match="drops rows without a target"):
        model.fit(table, name)


def booked(tmp_path: Path) -> Ledger:
    """Return a book with a limit."""
    book = Ledger.open(tmp_path / "book.db").for_dataset("people")
    book.set_limit("people", Pure(10))
    return book


def test_an_index_of_pandas_is_a_column_in_parts_as_in_whole(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path / "t"
    folder.mkdir()
    table = pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, -0.4], "y": [0, 1]})
    table.set_index("a").to_parquet(folder / "0.parquet")
    model = LogisticRegression(
        Pure(1), classes=(0, 1), ledger=booked(tmp_path), row_norm=1.0
    )
    assert model.fit(folder, "y").feature_names_in_.tolist() == ["b", "a"]


def test_parts_of_another_width_are_refused_before_anything_is_paid(
    tmp_path: Path,
) -> None:
    delayed, array = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    blocks = [
        array.from_delayed(delayed.delayed(np.ones)((4, width)), (4, 2), dtype=float)
        for width in (2, 3)
    ]
    target = array.from_array(np.arange(8) % 2, chunks=4)
    book = booked(tmp_path)
    model = LogisticRegression(Pure(1), classes=(0, 1), ledger=book, row_norm=1.0)
    with pytest.raises(ConfideError, match="2 features; one part has 3"):
        model.fit(array.concatenate(blocks), target)
    assert book.account("people").charges == 0


def test_files_without_a_row_group_are_empty_tables(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "t"
    folder.mkdir()
    kinds = arrow.schema([("age", arrow.float64()), ("y", arrow.int64())])
    parquet.ParquetWriter(folder / "0.parquet", kinds).close()
    schema = Schema((Number("age", 0, 1),), Target("y", labels=(0, 1)))
    for model, named in (
        (LogisticRegression(Pure(1), schema=schema), None),
        (LogisticRegression(Pure(1), classes=(0, 1), row_norm=1.0), "y"),
    ):
        assert np.isfinite(model.fit(folder, named).coef_).all()
        with pytest.raises(InvalidData, match="it is empty"):
            model.set_params(neighbours="replace-one").fit(folder, named)


def test_a_date_that_pandas_cannot_hold_is_not_quoted(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    days = arrow.array([1, 2**30], arrow.int32()).view(arrow.date32())
    folder = tmp_path / "t"
    folder.mkdir()
    parquet.write_table(arrow.table({"day": days, "y": [0, 1]}), folder / "0.parquet")
    with pytest.raises(InvalidData, match="simple types"):
        LogisticRegression(Pure(1), classes=(0, 1), row_norm=1.0).fit(folder, "y")


def test_single_precision_does_not_stretch_a_bound() -> None:
    target = np.zeros(1)
    rows = bound_entries(np.array([[0.1]], np.float32), target, EntryBounds(0.1), 0.0)
    assert rows.features.largest_entry() <= 0.1
    bounds = EntryBounds.scaled(3, 0.1)
    table = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    for features in (table, sparse.csr_array(table)):
        assert bounds.length is not None
        longest = bound_entries(features, np.zeros(500), bounds, 0.0).lengths().max()
        assert longest <= bounds.length * (1 + 1e-15)


def test_a_row_counts_once_whatever_scipy_remembers() -> None:
    parts = (np.array([0.9, 0.9, 0.9]), np.array([0, 1, 2]), np.array([0, 3]))
    features = sparse.csr_array(parts, shape=(1, 3))
    assert features.has_canonical_format
    features.indices[:] = [2, 0, 2]
    for rows in (
        bound_rows(features, np.zeros(1), 1.0, 0.0),
        bound_entries(features, np.zeros(1), EntryBounds(1.0), 0.0),
    ):
        dense = rows.plain()[0].toarray()
        assert np.abs(dense).max() <= 1.0
    assert (
        np.linalg.norm(bound_rows(features, np.zeros(1), 1.0, 0.0).plain()[0].data) <= 1.0
    )


def test_a_label_that_is_a_word_changes_no_other_label_on_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.data.tables.files.TEXT_ROWS", 4)
    lines = [f".{i},{i % 2}" for i in range(7)]
    path = written(tmp_path / "t.csv", [*lines, ".7,word"], "age,y")
    (source,) = open_table(path).sources(None)
    whole = source.whole()
    assert {type(label) for label in whole["y"]} == {str}
    with pytest.raises(InvalidData, match="holds text"):
        LogisticRegression(Pure(1), classes=[0, 1], row_norm=1.0).fit(
            whole[["age"]], whole["y"]
        )


@pytest.mark.parametrize("size", [1e39, 1e150])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_record_too_large_for_single_precision_fails_no_fit(
    size: float, kind: Any
) -> None:
    rng = np.random.default_rng(0)
    table, target = rng.normal(size=(40_000, 3)), rng.integers(0, 2, 40_000)
    for count in (300, len(table)):
        features = table[:count].copy()
        features[::7] *= size
        model = LogisticRegression(Pure(1), classes=(0, 1), random_state=0, row_norm=1.0)
        model.fit(kind(features), target[:count])
        rows = bound_rows(kind(features), np.zeros(count), 1.0, 0.0)
        assert np.isfinite(rows.copy_sample(2).lengths()).all()
        (gram,) = rows.sum(lambda block: (block.gram(np.ones(len(block.target))),))
        (fine,) = rows.sum(
            lambda block: (block.gram(np.ones(len(block.target)), double=True),)
        )
        assert np.allclose(gram, fine, rtol=1e-4, atol=1e-2)
