"""Tables in files or in Dask's hands that cannot be fitted on: what is said about them."""

import numpy as np
import pandas as pd
import pytest

from confide import LogisticRegression, Number, Schema, Target
from confide.data.tables.files import is_in_parts, open_table
from confide.errors import ConfideError, InvalidData, InvalidParameter
from support.parted_tables import BUDGET, NAMES, numbers

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pyarrow")

SCHEMA = Schema(tuple(Number(name, -2, 2) for name in NAMES), Target("y", labels=(0, 1)))
TABLE = numbers()[[*NAMES, "signs"]].rename(columns={"signs": "y"})


def model(**settings):
    return LogisticRegression(BUDGET, random_state=1, row_norm=2.0, **settings)


def refusal(kind, source, y=None, **settings):
    """Return what is said when a fit is refused, and see that nothing was fitted."""
    asked = model(**settings)
    with pytest.raises(kind) as caught:
        asked.fit(source, y)
    assert not hasattr(asked, "release_")
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    TABLE.to_parquet(tmp_path / "a.parquet", index=False)
    return tmp_path


# ----------------------------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["none.parquet", "none.csv", "none.csv.gz"])
def test_a_file_that_is_not_there(name, folder):
    with pytest.raises(InvalidParameter, match="a file that can be read") as caught:
        open_table(folder / name)
    assert name in str(caught.value)
    assert name in refusal(InvalidParameter, folder / name, "y")


def test_an_empty_folder_and_a_pattern_without_files(folder):
    (folder / "empty").mkdir()
    (folder / "empty" / "_SUCCESS").touch()
    (folder / "empty" / ".hidden.csv").touch()
    for source in (folder / "empty", folder / "*.tsv"):
        said = refusal(InvalidParameter, str(source), "y")
        assert "matches at least one file" in said
        assert "which has none" in said or "which matches none" in said


def test_files_of_two_kinds_and_of_unknown_kinds(folder):
    assert "Select one format by a pattern" in refusal(InvalidParameter, folder, "y")
    (folder / "a.xlsx").touch()
    assert "ends in one of" in refusal(InvalidParameter, folder / "a.xlsx", "y")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("settings", [{}, {"schema": SCHEMA}], ids=["plain", "schema"])
def test_files_with_other_columns(kind, settings, folder):
    other = TABLE.rename(columns={"a": "z"})
    getattr(other, f"to_{kind}")(folder / f"b.{kind}", index=False)
    y = None if settings else "y"
    said = refusal(InvalidData, str(folder / f"*.{kind}"), y, **settings)
    assert "same columns; some lack ['a', 'z']" in said


def test_parquet_columns_may_come_in_another_order(folder):
    TABLE[["y", *reversed(NAMES)]].to_parquet(folder / "b.parquet", index=False)
    there = model(classes=[0, 1]).fit(str(folder / "*.parquet"), "y")
    twice = pd.concat([TABLE, TABLE])
    here = model(classes=[0, 1]).fit(twice[NAMES], twice["y"])
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"schema": SCHEMA}], ids=["plain", "schema"])
def test_parquet_columns_of_another_type(settings, folder):
    TABLE.assign(a="123456.789x").to_parquet(folder / "b.parquet", index=False)
    y = None if settings else "y"
    said = refusal(InvalidData, str(folder / "*.parquet"), y, **settings)
    assert (
        "b.parquet must be a complete Parquet file, with columns of the same types" in said
    )
    assert "123456" not in said


def test_parquet_files_that_end_too_early(folder):
    whole = (folder / "a.parquet").read_bytes()
    for name, content in (("empty", b""), ("torn", whole[: len(whole) // 2])):
        (folder / f"{name}.parquet").write_bytes(content)
        with pytest.raises(InvalidData, match="must be a complete Parquet file"):
            open_table(folder / f"{name}.parquet")


def test_files_without_rows(folder):
    import pyarrow as pa
    from pyarrow import parquet

    TABLE.iloc[:0].to_csv(folder / "none.csv", index=False)
    TABLE.iloc[:0].to_parquet(folder / "none.parquet", index=False)
    scheme = pa.Table.from_pandas(TABLE, preserve_index=False).schema
    parquet.ParquetWriter(folder / "bare.parquet", scheme).close()
    for name in ("none.csv", "none.parquet", "bare.parquet"):
        table = open_table(folder / name)
        public = {"neighbours": "replace-one"}
        assert "one row" in refusal(InvalidData, table, "y", classes=[0, 1], **public)
        assert "one row" in refusal(InvalidData, table, schema=SCHEMA, **public)
        assert refusal(InvalidData, table, "y"), "labels cannot be read either"


def test_packed_text_is_read_in_parts(folder):
    TABLE.to_csv(folder / "a.csv.gz", index=False)
    there = model().fit(open_table(folder / "a.csv.gz"), "y")
    here = model().fit(TABLE[NAMES].to_numpy(), TABLE["y"])
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)
    (folder / "b.csv.gz").write_bytes(b"no such thing")
    with pytest.raises(InvalidData, match="compressed in the format that its name implies"):
        open_table(folder / "b.csv.gz")


@pytest.mark.parametrize(
    "address",
    ["s3://bucket/a.parquet", "https://host/a.csv", "gs://bucket/*.csv", "file:///a.csv"],
)
def test_addresses_are_no_paths(address):
    for settings, y in (({}, "y"), ({"schema": SCHEMA}, None)):
        said = refusal(InvalidParameter, address, y, **settings)
        assert "the path of a local file" in said
        assert address in said
        assert "dask.dataframe" in said
    with pytest.raises(InvalidParameter, match="the path of a local file"):
        open_table(address)


def test_what_is_in_parts(folder):
    assert not is_in_parts(folder / "a.csv")
    assert not is_in_parts(TABLE)
    assert is_in_parts(folder)
    assert is_in_parts(str(folder / "*.csv"))
    assert is_in_parts(open_table(folder / "a.csv"))
    assert is_in_parts(da.zeros((3, 2)))


# ------------------------------------------------------------------------------ the target


def test_the_target_of_a_file_is_named_once(folder):
    for table in (folder / "a.csv", open_table(folder / "a.csv")):
        assert "the name of the target's column" in refusal(InvalidParameter, table)
        said = refusal(InvalidData, table, "why")
        assert "lacks ['why']" in said
        said = refusal(InvalidParameter, table, "a", schema=SCHEMA)
        assert "left out: the schema names the target" in said
        assert model(schema=SCHEMA).fit(table, "y").coef_.shape == (1, 3)


def test_the_target_of_a_file_is_in_it(folder):
    said = refusal(InvalidParameter, open_table(folder / "a.csv"), TABLE["y"])
    assert "got 'Series'" in said
    assert refusal(InvalidData, folder / "a.csv", TABLE["y"])


def test_labels_of_two_types_in_two_files(folder):
    text = TABLE.assign(y=np.where(TABLE["y"] == 0, "no", "yes"))
    text.to_csv(folder / "b.csv", index=False)
    said = refusal(InvalidData, open_table(str(folder / "*.csv")), "y")
    assert "labels of one type" in said


# ------------------------------------------------------------------------------ collections

X = TABLE[NAMES].to_numpy()
Y = TABLE["y"].to_numpy()
ARRAY = da.from_array(X, chunks=(100, 3))
FRAME = dd.from_pandas(TABLE, npartitions=3, sort=False)
REFUSED = {
    "no target": (ARRAY, None, "fit requires y to be passed"),
    "a target in memory": (ARRAY, Y, "must be one as well"),
    "a name for an array": (ARRAY, "y", "must be one as well"),
    "a shorter target": (ARRAY, da.from_array(Y[:-7], chunks=100), "same number of rows"),
    "fewer parts": (
        FRAME[NAMES],
        dd.from_pandas(TABLE["y"], npartitions=2, sort=False),
        "the same number of partitions. Rechunk or repartition",
    ),
    "other parts": (
        FRAME[NAMES],
        dd.from_pandas(TABLE["y"].iloc[:-7], npartitions=3, sort=False),
        "chunks with the same numbers of rows",
    ),
    "other parts of unknown size": (
        FRAME[NAMES].to_dask_array(),
        da.from_array(Y, chunks=((90, 90, 50),)),
        "chunks with the same numbers of rows. Take both from one collection",
    ),
    "one dimension": (ARRAY[:, 0], ARRAY[:, 1], "two dimensions"),
    "one column": (FRAME["a"], FRAME["y"], "two dimensions"),
    "no such column": (FRAME, "why", "lacks ['why']"),
    "text": (FRAME.assign(a="123456"), "y", "columns ['a'] of X must hold numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_collections_that_cannot_be_fitted_on(name):
    features, target, words = REFUSED[name]
    assert words in refusal(ConfideError, features, target, classes=[0, 1])


def test_a_schema_needs_names():
    said = refusal(InvalidData, ARRAY, da.from_array(Y, chunks=100), schema=SCHEMA)
    assert "Pass a dask.dataframe" in said


ACCEPTED = {
    "target cut otherwise": (ARRAY, da.from_array(Y, chunks=130)),
    "columns cut": (ARRAY.rechunk((100, 2)), da.from_array(Y, chunks=100)),
    "sizes unknown": (FRAME[NAMES].to_dask_array(), FRAME["y"].to_dask_array()),
    "frame and array": (FRAME[NAMES], FRAME["y"].to_dask_array()),
    "array and column": (FRAME[NAMES].to_dask_array(), FRAME["y"]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_collections_that_fit_together(name):
    there = model(classes=[0, 1]).fit(*ACCEPTED[name])
    here = model(classes=[0, 1]).fit(X, Y)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_frames_of_many_small_files_stay_cut_as_their_targets(tmp_path):
    """Dask joins small files of a narrow column and leaves those of wide ones apart."""
    for place in range(8):
        part = TABLE.iloc[20 * place : 20 * (place + 1)]
        part.to_parquet(tmp_path / f"{place}.parquet", index=False)
    frame = dd.read_parquet(tmp_path)
    assert len(frame["y"].to_delayed()) < len(frame[NAMES].to_delayed())
    there = model(classes=[0, 1]).fit(frame[NAMES], frame["y"])
    here = model(classes=[0, 1]).fit(X[:160], Y[:160])
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)
