"""Numbers brought to their ranges: bounded exactly, each by itself, almost unrounded."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import Number, Schema, Target
from confide.data.schema.encoder import (
    COLUMNS_AT_ONCE,
    ROWS_PER_THREAD,
    RangeScaler,
    pieces,
)
from confide.errors import InvalidData
from support.examples import some

ULP = float(np.finfo(float).eps)
ANY = st.floats(allow_nan=False)
ENDS = st.tuples(*[st.floats(-1e290, 1e290)] * 2).filter(lambda e: e[1] - e[0] >= 1e-100)


def write(raw, ends, heights):
    out = np.empty((len(raw), len(raw[0])))
    RangeScaler.of(ends, np.array(heights)).write(raw, out, lambda place: 0.0)
    return out


def one(values, ends, height):
    return write([np.array(values)], [ends], [height])[0]


@settings(max_examples=some(100), deadline=None)
@given(st.lists(ANY, min_size=1, max_size=20), ENDS, st.floats(1e-3, 1))
def test_nothing_is_larger_than_its_height(values, ends, height):
    found = one([*values, *ends, np.inf, -np.inf], ends, height)
    assert np.abs(found).max() <= height
    np.testing.assert_array_equal(found[-2:], [height, -height])


@settings(max_examples=some(100), deadline=None)
@given(st.lists(st.floats(0, 1), max_size=9), ENDS, st.floats(1e-3, 1))
def test_values_come_to_their_place_in_the_range(shares, ends, height):
    """Off by a few roundings, and by that of the middle, which is one of a value's own."""
    lower, upper = map(Fraction, ends)
    values = [ends[0], ends[1], *(ends[0] + s * (ends[1] - ends[0]) for s in shares)]
    found = one(values, ends, height)
    slack = Fraction(ULP) * (3 + max(map(abs, (lower, upper))) / (upper - lower))
    for value, number in zip(values, found, strict=True):
        within = min(max(Fraction(value), lower), upper)
        exact = (2 * within - lower - upper) / (upper - lower) * Fraction(height)
        assert abs(Fraction(number) - exact) <= slack * Fraction(height)


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.floats(1e-3, 1))
def test_both_ends_reach_the_height(start, steps, height):
    for unit in (1.0, 0.1, 1 / 3):
        ends = (start * unit, (start + steps) * unit)
        if abs(start) <= 4 * steps:
            np.testing.assert_array_equal(one(ends, ends, height), [-height, height])


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint64, np.bool_, np.float16])
def test_numbers_of_any_type_count_as_doubles(kind):
    values = np.array([0, 1, 1, 0, 3], dtype=kind)
    np.testing.assert_array_equal(
        one(values, (0.0, 3.0), 0.7), one(values.astype(float), (0.0, 3.0), 0.7)
    )


@pytest.mark.parametrize("count", [1, 7, ROWS_PER_THREAD, 3 * ROWS_PER_THREAD + 5])
@pytest.mark.parametrize("width", [1, COLUMNS_AT_ONCE + 3])
def test_a_value_does_not_depend_on_others(count, width):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(count, width))
    table[rng.integers(0, count, 3), rng.integers(0, width, 3)] = np.nan
    frame = pd.DataFrame(table, columns=[f"x{j}" for j in range(width)])
    columns = tuple(Number(f"x{j}", -j - 0.3, 1.1) for j in range(width))
    schema = Schema(columns=columns, target=Target("y", bound=1.0))
    whole = schema.design(frame)
    assert np.isfinite(whole).all()
    order = rng.permutation(count)[:2000]
    np.testing.assert_array_equal(schema.design(frame.iloc[order]), whole[order])
    for row in order[:5]:
        np.testing.assert_array_equal(schema.design(frame.iloc[[row]])[0], whole[row])


@pytest.mark.parametrize("row", [0, 20_000, 49_999])
def test_a_missing_number_is_found_wherever_it_stands(row):
    values = np.ones((50_000, 2))
    values[row, 1] = np.nan
    frame = pd.DataFrame(values, columns=["a", "b"])
    target = Target("y", bound=1.0)
    columns = (Number("a", 0, 1), Number("b", 0, 1))
    assert Schema(columns=columns, target=target).encode(frame)[row].tolist() == [1, 0]
    strict = (columns[0], Number("b", 0, 1, missing="refuse"))
    with pytest.raises(InvalidData, match="'b' must have no missing"):
        Schema(columns=strict, target=target).encode(frame)


@given(st.integers(0, 10**6))
def test_pieces_are_all_rows_once_and_none_is_short(count):
    cuts = pieces(count)
    assert [cut.start for cut in cuts] == [0, *(cut.stop for cut in cuts[:-1])]
    assert cuts[-1].stop == count
    sizes = [cut.stop - cut.start for cut in cuts]
    assert min(sizes) >= min(count, ROWS_PER_THREAD)
    assert max(sizes) < 2 * ROWS_PER_THREAD
