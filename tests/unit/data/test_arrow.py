"""Tables and batches of Arrow become the same rows as through pandas."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import Boolean, Category, Date, Number, Schema, Target
from confide.data.matrix.coded_design import CodedDesign
from confide.data.schema.arrow_columns import arrow_column
from confide.data.schema.parse_values import CodedText, level_codes
from confide.errors import InvalidData
from support.examples import some

pa = pytest.importorskip("pyarrow")

SIGNS = Target("y", labels=(0, 1))
TEXTS = ("a", "b", "yes", "No", "1", "0", "2.5", "1e3", "2024-02-29", " true", "x" * 40)
DAY = dt.date(2024, 2, 29)
DAYS = tuple(DAY + dt.timedelta(days=365 * k) for k in range(-3, 3))
TIMES = tuple(dt.datetime.combine(day, dt.time(23, 59)) for day in DAYS)
WHOLE = (0, 1, 2, 5, 100)
REAL = (0.0, 1.0, -0.0, 2.5, 1e6, -3.0, float("nan"), float("inf"), float("-inf"))
TYPES = {
    **dict.fromkeys((pa.int8(), pa.uint8(), pa.int64(), pa.uint64()), WHOLE),
    **dict.fromkeys((pa.float32(), pa.float64()), REAL),
    **dict.fromkeys((pa.string(), pa.large_string()), TEXTS),
    **dict.fromkeys((pa.date32(), pa.date64()), DAYS),
    **dict.fromkeys((pa.timestamp("ns"), pa.timestamp("s", "Asia/Tokyo")), TIMES),
    pa.bool_(): (True, False),
    pa.decimal128(10, 2): (Decimal("1.00"), Decimal("0.00"), Decimal("2.50")),
    pa.dictionary(pa.int8(), pa.string()): TEXTS,
    pa.dictionary(pa.uint8(), pa.large_string()): TEXTS,
    pa.dictionary(pa.int32(), pa.int64()): WHOLE,
    pa.dictionary(pa.int32(), pa.bool_()): (True, False),
    pa.null(): (None,),
    pa.list_(pa.int8()): ([1], []),
}
COLUMNS = (
    Number("v", -2, 3),
    Number("v", 0, 1, missing="refuse"),
    Boolean("v"),
    Boolean("v", missing="refuse"),
    Date("v", "2022-01-01", "2025-06-30"),
    Category("v", levels=("a", "yes", "2024-02-29", "1"), other=True),
    Category("v", levels=("a", "b"), missing="refuse"),
    Category("v", levels=(0, 1, 2.5), other=True),
    Category("v", levels=(True, False)),
    Category("v", levels=("a", 1, 2, "0")),
)


def outcome(schema, frame):
    try:
        return schema.compact_design(frame).toarray()
    except InvalidData as error:
        return str(error)


def same(found, expected):
    if isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_array_equal(found, expected)


@st.composite
def columns_of_arrow(draw):
    """A column of any type, with nulls, in chunks, and cut out of a longer one."""
    kind = draw(st.sampled_from(list(TYPES)))
    values = st.sampled_from(TYPES[kind])
    if draw(st.booleans()):
        values |= st.none()
    chunks = draw(st.lists(st.lists(values, max_size=6), min_size=1, max_size=3))
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    made = [pa.array(chunk, plain) for chunk in chunks]
    if pa.types.is_dictionary(kind):
        made = [chunk.dictionary_encode().cast(kind) for chunk in made]
    start = draw(st.integers(0, 2))
    return pa.chunked_array(made, kind).slice(start)


@pytest.mark.slow
@settings(max_examples=some(250), deadline=None)
@given(columns_of_arrow(), st.sampled_from(COLUMNS))
def test_any_column_is_read_as_through_pandas(values, column):
    schema = Schema(columns=(column,), target=SIGNS)
    table = pa.table({"v": values})
    expected = outcome(schema, table.to_pandas(ignore_metadata=True))
    same(outcome(schema, table), expected)
    batches = table.combine_chunks().to_batches()
    if len(batches) == 1:
        same(outcome(schema, batches[0]), expected)


def wide(count=20_000, seed=0):
    rng = np.random.default_rng(seed)
    reals = rng.normal(50, 40, count)
    reals[rng.integers(0, count, 50)] = np.nan
    towns = pa.array(
        rng.choice(["a", "b", "c", "zzz"], count), mask=rng.random(count) < 0.1
    )
    return pa.table(
        {
            "town": towns,
            "age": pa.array(reals.astype(np.float32), from_pandas=False),
            "home": towns.dictionary_encode(),
            "visits": pa.array(rng.integers(0, 300, count), mask=rng.random(count) < 0.1),
            "member": pa.array(rng.random(count) < 0.5),
            "since": pa.array(rng.integers(0, 20_000, count).astype("datetime64[D]")),
            "y": pa.array(rng.integers(0, 2, count).astype(np.int8)),
        }
    )


MIXED = (
    Category("town", levels=("a", "b", "c"), other=True),
    Number("age", 0, 100),
    Category("home", levels=("a", "b")),
    Number("visits", 0, 255),
    Boolean("member"),
    Date("since", "1980-01-01", "2020-01-01"),
)


@pytest.mark.parametrize("columns", [MIXED, MIXED[1:2], MIXED[3:], MIXED[::2]])
def test_a_batch_of_many_columns_is_the_design_of_its_frame(columns):
    schema, table = Schema(columns=columns, target=SIGNS), wide()
    frame = table.to_pandas(ignore_metadata=True)
    dense = schema.design(frame)
    for batch in (table, table.combine_chunks().to_batches()[0]):
        compact = schema.compact_design(batch)
        assert isinstance(compact, CodedDesign)
        np.testing.assert_array_equal(compact.toarray(), dense)
        np.testing.assert_array_equal(schema.encode(batch), schema.encode(frame))
    whole = np.vstack(
        [schema.design(batch) for batch in table.to_batches(max_chunksize=777)]
    )
    np.testing.assert_array_equal(whole, dense)


def test_numbers_without_nulls_are_not_copied():
    column = wide().column("y").combine_chunks()
    view = arrow_column(column)
    assert np.shares_memory(view, np.frombuffer(column.buffers()[1], np.int8))


def test_a_dictionary_is_compared_with_the_levels_once_per_entry():
    """Rows go by their codes: entries that nothing uses are looked at, rows are not."""
    codes = pa.array([0, 1, None, 1], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["b", None, "a"]))
    coded = arrow_column(column)
    assert isinstance(coded, CodedText)
    np.testing.assert_array_equal(np.asarray(coded), ["b", None, None, None])
    found = level_codes(coded, ("a", "b"), "column 'v'", other=7)
    np.testing.assert_array_equal(found, [1, -1, -1, -1])


def test_chunks_may_have_more_values_together_than_their_codes_can_count():
    names = [f"v{k}" for k in range(300)]
    kind = pa.dictionary(pa.int8(), pa.string())
    chunks = [
        pa.array(names[low : low + 100]).dictionary_encode().cast(kind)
        for low in (0, 200, 100)
    ]
    column = Category("v", levels=tuple(names))
    schema = Schema(columns=(column,), target=SIGNS)
    found = schema.encode(pa.table({"v": pa.chunked_array(chunks)}))
    order = np.r_[:100, 200:300, 100:200]
    np.testing.assert_array_equal(found, np.eye(300)[order])


@pytest.mark.parametrize(
    "y",
    [
        pa.array(["no", "yes", "no", None]),
        pa.array(["no", "yes", "no", None]).dictionary_encode(),
        pa.array([0, 1, 0, None], pa.int8()),
        pa.array([0.0, 1.0, float("nan"), None], pa.float32()),
        pa.array([False, True, False, None]),
    ],
    ids=lambda y: str(y.type),
)
def test_targets_are_those_of_pandas(y):
    labels = ("no", "yes") if "string" in str(y.type) else (0, 1)
    for rule in ("refuse", "drop"):
        target = Target("y", labels=labels, missing=rule)
        schema = Schema(columns=(Number("x", 0, 1),), target=target)
        table = pa.table({"x": np.linspace(0, 1, 4), "y": y})
        frame = table.to_pandas(ignore_metadata=True)
        for arrow in (table, table.to_batches()[0]):
            kept, expected = schema.kept(arrow), schema.kept(frame)
            assert kept.num_rows == len(expected)
            np.testing.assert_array_equal(
                level_codes(schema.target_column(kept), labels, "y"),
                level_codes(schema.target_column(expected), labels, "y"),
            )
            np.testing.assert_array_equal(schema.design(kept), schema.design(expected))


def test_a_table_with_every_target_is_kept_as_it_is():
    target = Target("y", labels=(0, 1), missing="drop")
    table = wide()
    assert Schema(columns=MIXED, target=target).kept(table) is table


def test_columns_are_checked_as_those_of_pandas():
    schema = Schema(columns=MIXED[1:3], target=Target("y", labels=(0, 1), missing="drop"))
    for names in (["age", "y"], ["age", "age", "y", "home"], ["ag", "home", "y"]):
        arrays = [np.zeros(2) for _ in names]
        table = pa.Table.from_arrays([pa.array(a) for a in arrays], names=names)
        frame = pd.DataFrame(np.zeros((2, len(names))), columns=names)
        texts = []
        for given_table in (table, frame, table.to_batches()[0]):
            with pytest.raises(InvalidData) as caught:
                schema.compact_design(given_table)
            texts.append(str(caught.value))
        assert len(set(texts)) == 1
    with pytest.raises(InvalidData, match="lacks \\['y'\\]"):
        schema.kept(pa.table({"age": [1.0]}))


def test_a_frame_may_call_its_columns_what_it_likes():
    frame = pd.DataFrame({"column": [0.0, 1.0], "column_names": [1.0, 0.0], "y": [0, 1]})
    columns = (Number("column", 0, 1), Number("column_names", 0, 1))
    schema = Schema(columns=columns, target=SIGNS)
    np.testing.assert_array_equal(schema.encode(frame), [[-1, 1], [1, -1]])


def test_what_arrow_cannot_hand_over_is_refused_without_its_values():
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.int32([0, 3])), pa.py_buffer(b"\xff\xfes")]
    )
    schema = Schema(columns=(Category("v", levels=("a", "b")),), target=SIGNS)
    with pytest.raises(InvalidData, match="simple types") as caught:
        schema.compact_design(pa.table({"v": bad}))
    assert caught.value.__suppress_context__
    assert "xff" not in str(caught.value)
