"""Tables from files and foreign frames, templates, and input from a hostile world."""

import builtins
import gzip
import json
import lzma
import tomllib

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confide import Approx, ConfideError, LogisticRegression, Schema, Target
from confide.data import Boolean, Category, Date, Number, read_table, schema_template
from confide.data.tables import delimited as quotes
from confide.errors import InvalidData, InvalidParameter
from support.examples import some

WORD = "SECRET123"
SCHEMA = Schema(
    (
        Number("age", 0, 100),
        Category("town", ("NA", "south", "01")),
        Category("rooms", (1, 2), other=True),
        Boolean("smoker"),
        Date("joined", "2010-01-01", "2020-01-01"),
    ),
    Target("ill", labels=("no", "yes")),
)
HEAD = "ill,age,town,rooms,smoker,joined,name"
ROWS = (
    "yes,50,NA,1,Yes,2015-01-01,x",
    "no,,01,2.0,FALSE,2020-01-01,y",
    "no,200,1,7,,,z",
    "yes,1e1,south,two,0,2009-05-05T10:00,w",
)
ENCODED = [
    [0.0, 1, 0, 0, 1, 0, 0, 1.0, 0.0],
    [0.0, 0, 0, 1, 0, 1, 0, -1.0, 1.0],
    [1.0, 0, 0, 0, 0, 0, 1, 0.0, 0.0],
    [-0.8, 0, 1, 0, 0, 0, 1, -1.0, -1.0],
]


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    return written(tmp_path / "clinic.csv", "\n".join((HEAD, *ROWS)) + "\n")


def test_a_csv_is_read_as_the_schema_says(table):
    frame = read_table(table, SCHEMA)
    assert "name" not in frame
    np.testing.assert_allclose(SCHEMA.encode(frame), ENCODED)
    assert list(frame["ill"]) == ["yes", "no", "no", "yes"]
    assert read_table(str(table)).shape == (4, 7)


def test_a_row_means_the_same_whatever_stands_in_the_others(tmp_path):
    for row, expected in zip(ROWS, ENCODED, strict=True):
        alone = written(tmp_path / "alone.csv", f"{HEAD}\n{row}\n")
        np.testing.assert_allclose(SCHEMA.encode(read_table(alone, SCHEMA)), [expected])


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
def test_separators_and_packing_are_found_out(tmp_path, separator, packed):
    text = "\r\n".join(line.replace(",", separator) for line in (HEAD, *ROWS))
    content = ("\N{BYTE ORDER MARK}" + text).encode()
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packed]
    path = tmp_path / f"clinic.csv{packed}"
    path.write_bytes(pack(content))
    np.testing.assert_allclose(SCHEMA.encode(read_table(path, SCHEMA)), ENCODED)


PADDED = {
    "after separators": ("ill,age,town\nno, 20, north\nyes,30,  south\n", True),
    "before quotes": ('ill,age,town\nno,20, "north"\nyes,30,"south"\n', True),
    "at line starts": ("ill,age,town\nno,20,north\n yes,30,south\n", True),
    "after carriage returns": ("ill,age,town\r\nno,20,north\r\n yes,30,south\r\n", True),
    "inside text": ("ill,age,town\nno,20,north\nyes,30,south\n\nyes,20,new town", False),
    "nowhere": ("ill,age,town\nno,20,north\nyes,30,south\n", False),
}


@pytest.mark.parametrize("case", PADDED)
@pytest.mark.parametrize("piece", [1, 2, 7, 2**20])
def test_spaces_before_fields_are_skipped_wherever_they_stand(
    tmp_path, monkeypatch, case, piece
):
    text, padded = PADDED[case]
    schema = Schema(
        (Number("age", 0, 100), Category("town", ("north", "south"), missing="refuse")),
        Target("ill", labels=("no", "yes")),
    )
    path = written(tmp_path / "padded.csv", text)
    monkeypatch.setattr(quotes, "CHUNK_BYTES", piece)
    with path.open("rb") as stream:
        assert quotes.check_quotes(stream, ",") is padded
    frame = read_table(path, schema)
    expected = [[-0.6, 1, 0], [-0.4, 0, 1]]
    np.testing.assert_allclose(schema.encode(frame)[:2], expected)
    assert frame["ill"].tolist()[:2] == ["no", "yes"]


def test_the_target_may_be_absent_to_predict_it(tmp_path, table):
    rows = [line.split(",", 1)[1] for line in (HEAD, *ROWS)]
    path = written(tmp_path / "new.csv", "\n".join(rows))
    np.testing.assert_allclose(
        SCHEMA.encode(read_table(path, SCHEMA, target=False)), ENCODED
    )
    with pytest.raises(InvalidData, match=r"lacks \['ill'\]"):
        read_table(path, SCHEMA)
    assert "ill" not in read_table(table, SCHEMA, target=False)


def test_undeclared_names_may_repeat_or_be_empty(tmp_path):
    lines = [f"{line},{line[0]},9" for line in ("age.1,age,y,x,x", "1,20,no,3,3")]
    schema = Schema((Number("age", 0, 100),), Target("y", labels=("no", "yes")))
    frame = read_table(written(tmp_path / "odd.csv", "\n".join(lines)), schema)
    assert frame["age"].tolist() == [20.0]


def test_guesses_of_types_are_not_trusted(tmp_path):
    """Chunks of a large file that look like numbers must not lose leading zeros."""
    schema = Schema(
        (Category("code", ("01", "x")), Category("flag", (True, False))),
        Target("y", labels=(0, 1)),
    )
    rows = 300_000
    lines = ["01,true,1,padding"] * rows + ["x,maybe,0,padding"]
    path = written(tmp_path / "large.csv", "code,flag,y,pad\n" + "\n".join(lines))
    encoded = schema.encode(read_table(path, schema))
    assert encoded.sum(axis=0).tolist() == [rows, 1, rows, 0]


BAD_FILES = {
    "word for a number": (f"age,y\n1,no\n{WORD},yes\n", "column 'age'"),
    "word for a date": (f"age,y,day\n1,no,{WORD}\n", "column 'day'"),
    "word for a boolean": (f"age,y,flag\n1,no,{WORD}\n", "column 'flag'"),
    "column absent": (f"{WORD},y\n1,no\n", r"lacks \['age'\]"),
    "column twice": ("age,age,y\n1,1,no\n", r"repeats \['age'\]"),
    "more fields than names": (f"age,y\n1,no,{WORD},4\n2,no\n", "must be a table"),
    "quote without end": (f'age,y\n1,"{WORD}\n2,no\n', "must be a table|empty|table"),
    "nothing": ("", "column names; it is empty"),
    "blank": ("\n\n", "column names"),
    "missing refused": ("age,y,must\n1,no,3\n1,no,\n", "column 'must'"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_without_a_value(tmp_path, case):
    text, says = BAD_FILES[case]
    extra = {
        "day": Date("day", "2010-01-01", "2020-01-01"),
        "flag": Boolean("flag"),
        "must": Number("must", 0, 1, missing="refuse"),
    }
    more = [column for name, column in extra.items() if name in text.split("\n")[0]]
    schema = Schema((Number("age", 0, 100), *more), Target("y", labels=("no", "yes")))
    path = written(tmp_path / "bad.csv", text)
    with pytest.raises(InvalidData, match=says) as caught:
        LogisticRegression(Approx(1, 1e-6), schema=schema).fit(read_table(path, schema))
    assert WORD not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_files_that_cannot_be_read_are_explained(tmp_path):
    with pytest.raises(InvalidParameter, match="No such file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(InvalidParameter, match="ends in one of"):
        read_table(tmp_path / "sheet.xlsx")
    (tmp_path / "latin.csv").write_bytes("größe\nä\n".encode("latin-1"))
    (tmp_path / "plain.csv.gz").write_bytes(b"age,y\n1,no\n")
    for name in ("latin.csv", "plain.csv.gz"):
        with pytest.raises(ConfideError, match=r"UTF-8|packed|read"):
            read_table(tmp_path / name)
    with pytest.raises(InvalidData, match="named columns"):
        read_table(np.zeros((3, 3)))


def test_parquet_files_are_read(tmp_path, table):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    plain = read_table(table, SCHEMA).assign(name=WORD, rooms=[1.0, 2.0, 7.0, 8.0])
    plain.to_parquet(tmp_path / "clinic.parquet")
    frame = read_table(tmp_path / "clinic.parquet", SCHEMA)
    assert "name" not in frame
    np.testing.assert_allclose(SCHEMA.encode(frame), ENCODED)
    with pytest.raises(InvalidData, match="lacks"):
        read_table(tmp_path / "clinic.parquet", Schema((Number("x", 0, 1),), SCHEMA.target))
    (tmp_path / "no.parquet").write_bytes(b"age,y\n1,no\n")
    with pytest.raises(ConfideError):
        read_table(tmp_path / "no.parquet")


def test_parquet_without_pyarrow_is_explained(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InvalidParameter, match=r"confide\[parquet\]"):
        read_table(tmp_path / "clinic.parquet", SCHEMA)


def test_polars_and_arrow_tables_fit_like_pandas(table):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    pyarrow = pytest.importorskip("pyarrow", reason="Arrow needs pyarrow")
    frame = pd.read_csv(table, dtype={"town": str}, keep_default_na=False, na_values=[""])
    frame["rooms"] = [1.0, 2.0, 7.0, 8.0]
    arrow = pyarrow.Table.from_pandas(frame)
    model = LogisticRegression(Approx(1, 1e-6), schema=SCHEMA, random_state=0)
    expected = model.fit(frame).coef_
    for other in (polars.from_arrow(arrow), arrow):
        np.testing.assert_array_equal(model.fit(other).coef_, expected)
        np.testing.assert_array_equal(model.predict(other), model.predict(frame))
        assert list(read_table(other, SCHEMA)) == [*(c.name for c in SCHEMA.columns), "ill"]
    np.testing.assert_array_equal(model.fit(str(table)).coef_.shape, expected.shape)


class OnlyInterchange:
    """A frame that knows the dataframe interchange protocol and nothing else."""

    def __init__(self, frame):
        self.frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.frame.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.filterwarnings("ignore:.*interchange.*")
@pytest.mark.filterwarnings("ignore:.*__dataframe__.*")
def test_the_interchange_protocol_is_enough():
    pytest.importorskip("pyarrow", reason="the interchange goes through Arrow")
    frame = pd.DataFrame({"age": [1.0, 2.0], "y": ["no", "yes"]})
    schema = Schema((Number("age", 0, 100),), Target("y", labels=("no", "yes")))
    taken = read_table(OnlyInterchange(frame), schema)
    assert taken["age"].tolist() == [1.0, 2.0]
    assert taken["y"].tolist() == ["no", "yes"]


# --- templates


def test_a_template_can_be_of_chosen_columns(table):
    *_, last = names = HEAD.split(",")
    content = tomllib.loads(schema_template(table, last, names[:2]))
    assert content["target"] == {"column": last}
    assert list(content["columns"]) == names[:2]
    with pytest.raises(InvalidData, match=f"Did you mean '{last}'"):
        schema_template(table, last + "x")
    with pytest.raises(InvalidData, match=f"Did you mean '{names[0]}'"):
        schema_template(table, last, [names[0] + "x"])


def test_a_file_called_data_names_no_dataset(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(HEAD + "\n", encoding="utf-8")
    assert tomllib.loads(schema_template(path))["name"] == "?"


def test_a_template_names_every_column_and_no_value(table, tmp_path):
    text = schema_template(table)
    content = tomllib.loads(text)
    assert list(content["columns"]) == HEAD.split(",")
    assert all(entry == {"kind": "?"} for entry in content["columns"].values())
    assert content["name"] == "clinic"
    assert content["rows_per_person"] == 1
    assert "never a value" in text
    assert not any(value in text for value in ("2015-01-01", "south,", "200"))
    path = written(tmp_path / "clinic.toml", text)
    with pytest.raises(InvalidParameter, match=r"\[target\], kind of column 'ill'.*more"):
        Schema.from_toml(path)


def test_a_template_reads_the_first_line_only(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes('a "b",ü;x,\n'.encode() + b"\xff\xfe not text")
    assert list(tomllib.loads(schema_template(path))["columns"]) == ['a "b"', "ü;x"]


def test_a_filled_template_is_a_schema(tmp_path):
    path = written(tmp_path / "small.csv", "age,sex,ill\n1,f,no\n")
    text = schema_template(path, "ill")
    text = text.replace('column = "ill"\n', 'column = "ill"\nlabels = ["no", "yes"]\n')
    text = text.replace('"?"  #', '"number"\nlower = 0\nupper = 99 #', 1)
    with pytest.raises(InvalidParameter, match="kind of column 'sex'"):
        Schema.from_mapping(tomllib.loads(text))
    text = text.replace('"?"  #', '"category"\nlevels = ["f", "m"]  #')
    found = Schema.from_mapping(tomllib.loads(text))
    assert found.features == ("age", "sex=f", "sex=m")
    assert found.name == "small"


def test_a_first_line_of_values_makes_no_template(tmp_path):
    path = written(tmp_path / "bare.csv", f"{WORD},17\n{WORD},18\n")
    with pytest.raises(InvalidData, match="column names") as caught:
        schema_template(path)
    assert WORD not in str(caught.value)
    for text, says in (
        ("a,a\n", "distinct"),
        ("\n", "it is empty"),
        (",\n", "it contains none"),
        ("a" * 2**20, "longer than 1 MiB"),
    ):
        with pytest.raises(InvalidData, match=says):
            schema_template(written(path, text))
    with pytest.raises(InvalidData, match="must have a column 'c'"):
        schema_template(written(path, "a,b\n"), "c")


def test_a_template_from_parquet_knows_names_only(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    path = tmp_path / "small.parquet"
    pd.DataFrame({"age": [31], "note": [WORD]}).to_parquet(path)
    text = schema_template(path)
    assert list(tomllib.loads(text)["columns"]) == ["age", "note"]
    assert WORD not in text


# --- fuzzing: a ConfideError or success, whatever comes

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.datetimes(),
    st.text(max_size=5),
    st.sampled_from(["number", "category", "boolean", "date", "?", 10**400, "2020-01-01"]),
)
KEYS = (
    ("kind", "name", "lower", "upper", "unit", "missing", "levels", "other", "column"),
    ("labels", "bound", "target", "columns", "rows_per_person", "age", "é\x7f'\"\\"),
)
PLAIN_KEYS = st.sampled_from(KEYS[0] + KEYS[1])
ANYTHING = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN_KEYS, inner)
)
ENTRY = st.one_of(
    st.dictionaries(PLAIN_KEYS, ANYTHING, max_size=5),
    st.fixed_dictionaries({"kind": st.just("number"), "lower": PLAIN, "upper": PLAIN}),
    st.fixed_dictionaries({"kind": st.just("date"), "lower": PLAIN, "upper": PLAIN}),
    st.fixed_dictionaries(
        {"kind": st.just("category"), "levels": st.lists(PLAIN), "other": PLAIN}
    ),
    st.fixed_dictionaries({"kind": st.just("boolean"), "missing": PLAIN}),
)
MAPPINGS = st.one_of(
    ANYTHING,
    st.fixed_dictionaries(
        {
            "target": st.one_of(
                ENTRY,
                st.fixed_dictionaries({"column": PLAIN, "labels": st.lists(PLAIN)}),
                st.just({"column": "y", "bound": 1}),
            ),
            "columns": st.dictionaries(st.text(max_size=3), ENTRY, min_size=1, max_size=3),
        },
        optional={"name": PLAIN, "rows_per_person": PLAIN},
    ),
)
GOOD_TOML = SCHEMA.to_toml()
CELLS = st.one_of(
    st.sampled_from(
        ["", "NA", "1", "yes", "no", '"', '""', "1e999", "\0", "a,b", "2011-1-1"]
    ),
    st.sampled_from(["2015-01-01", "0x1", "١", "inf", "-", "\r", "\n", "'", ";", "\t"]),
    st.text(max_size=4),
)
HEADS = st.one_of(
    st.just(HEAD), st.sampled_from(["ill;age", "age,age,ill", "", ",,", '"ill,age']), CELLS
)


def check_mapping(content):
    try:
        schema = Schema.from_mapping(content)
    except ConfideError:
        return
    again = Schema.from_mapping(json.loads(json.dumps(schema.to_mapping())))
    assert again == schema
    assert Schema.from_mapping(tomllib.loads(schema.to_toml())) == schema
    assert schema.weights.shape == (len(schema.features),)


def check_toml(path, text, cut, inserted):
    broken = text[:cut] + inserted + text[cut + len(inserted) :]
    path.write_bytes(broken.encode("utf-8", "surrogatepass"))
    try:
        Schema.from_toml(path)
    except ConfideError:
        return


def check_csv(path, head, rows):
    body = "\n".join([head, *(",".join(row) for row in rows)])
    path.write_bytes(body.encode("utf-8", "surrogatepass"))
    for job in (
        lambda: SCHEMA.design(read_table(path, SCHEMA)),
        lambda: SCHEMA.design(read_table(path)),
        lambda: tomllib.loads(schema_template(path)),
    ):
        try:
            job()
        except ConfideError:
            continue


QUIET = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}
LINES = st.lists(st.lists(CELLS, min_size=5, max_size=8), max_size=4)
PLACES = st.integers(0, len(GOOD_TOML))
PIECES = st.one_of(st.text(max_size=6), st.sampled_from(["[", "]", '"', "= ", "[" * 5000]))


@settings(max_examples=some(200), **QUIET)
@given(MAPPINGS)
def test_any_mapping_is_a_schema_or_an_error(content):
    check_mapping(content)


@settings(max_examples=some(150), **QUIET)
@given(PLACES, PIECES)
def test_any_toml_is_a_schema_or_an_error(tmp_path, cut, inserted):
    check_toml(tmp_path / "any.toml", GOOD_TOML, cut, inserted)


@settings(max_examples=some(200), **QUIET)
@given(HEADS, LINES)
def test_any_csv_is_a_table_or_an_error(tmp_path, head, rows):
    check_csv(tmp_path / "any.csv", head, rows)


@pytest.mark.slow
@settings(max_examples=2000, **QUIET)
@given(MAPPINGS, PLACES, PIECES, HEADS, LINES)
def test_two_thousand_hostile_inputs(tmp_path, content, cut, inserted, head, rows):
    check_mapping(content)
    check_toml(tmp_path / "any.toml", GOOD_TOML, cut, inserted)
    check_csv(tmp_path / "any.csv", head, rows)
