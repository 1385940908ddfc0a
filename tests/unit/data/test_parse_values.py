"""Cells of a column, each read by itself."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from confide.data import EntryBounds, bound_entries, bound_rows
from confide.data.matrix.csr import Csr, as_csr
from confide.data.matrix.dense import Dense
from confide.data.rows.block import Block
from confide.data.schema.columns import Category, Number
from confide.data.schema.parse_values import (
    as_booleans,
    as_cells,
    as_days,
    as_numbers,
    level_codes,
)
from confide.data.schema.schema import Schema
from confide.data.schema.target import Target
from confide.data.tables.delimited import read_delimited
from confide.errors import InvalidData, InvalidParameter


def column(*cells):
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    return pd.Series(values, dtype=object)


NUMBERS = {
    "truth": (True, 1.0),
    "beyond 64 bits": (10**20, 1e20),
    "beyond doubles": (10**400, np.inf),
    "far below": (-(10**400), -np.inf),
    "text": (" 1.5 ", 1.5),
    "empty text": ("", np.nan),
    "decimal": (Decimal("0.1"), 0.1),
    "fraction": (Fraction(1, 3), 1 / 3),
    "single precision": (np.float32(0.1), float(np.float32(0.1))),
    "missing": (None, np.nan),
    "missing too": (pd.NA, np.nan),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_is_read_alike_alone_and_among_others(case):
    cell, number = NUMBERS[case]
    alone = as_numbers(column(cell), "c")
    among = as_numbers(column(*(other for other, _ in NUMBERS.values()), cell), "c")
    np.testing.assert_array_equal(alone, [number])
    np.testing.assert_array_equal(among, [n for _, n in NUMBERS.values()] + [number])


@pytest.mark.parametrize("cell", ["1_000", "word", "nan", "١", 1j, np.timedelta64(5), b"1"])
def test_what_spells_no_number_is_refused(cell):
    with pytest.raises(InvalidData, match="column 'c'"):
        as_numbers(column(1, cell), "c")


def test_truths_do_not_depend_on_their_neighbours():
    cells = (True, False, "yes", "NO", 1, 0.0, "1.0", None)
    read = as_booleans(column(*cells), "c")
    np.testing.assert_array_equal(read, [1, 0, 1, 0, 1, 0, 1, np.nan])
    for cell, truth in zip(cells, read, strict=True):
        np.testing.assert_array_equal(as_booleans(column(cell), "c"), [truth])


def test_one_instant_is_another_day_in_another_zone_whichever_comes_first():
    west = datetime(2020, 1, 1, 23, tzinfo=timezone(timedelta(hours=-5)))
    east = datetime(2020, 1, 2, 4, tzinfo=UTC)
    assert west == east
    days = [date(2020, 1, 1).toordinal(), date(2020, 1, 2).toordinal()]
    assert as_days(column(west, east), "d").tolist() == days
    assert as_days(column(east, west), "d").tolist() == days[::-1]


def test_levels_are_matched_cell_by_cell():
    cells = (1, "1", 10**20, True, 1.0, None, "x")
    assert level_codes(column(*cells), ("0", "1"), "y").tolist() == [-1, 1, *[-1] * 5]
    assert level_codes(column(*cells), (0, 1), "y").tolist() == [1, -1, -1, 1, 1, -1, -1]


@pytest.mark.parametrize("extra", ["x", 10**20, None, True, 0.5, Decimal(1)])
def test_a_list_keeps_every_entry_as_it_is(extra):
    read = as_cells([1, 2, extra])
    assert read.tolist()[:2] == [1, 2]
    assert not isinstance(read.tolist()[0], str)
    assert as_cells((1, 2.5)).dtype == np.float64
    assert as_cells(["a", "b\0"]).tolist() == ["a", "b\0"]


@pytest.mark.parametrize("extra", ["100000000000000000000", "", "0.5", "x", "True"])
def test_cells_of_text_mean_the_same_beside_every_other(tmp_path, extra):
    schema = Schema(
        (Number("n", 0, 1e19), Category("c", (0, 1), other=True)), Target("y", bound=1)
    )
    path = tmp_path / "t.csv"
    lines = ["9007199254740993,01,1", ",,0", "1e3,1.0,0.5"]
    path.write_text("n,c,y\n" + "\n".join(lines) + "\n", "utf-8")
    alone = schema.design(read_delimited(path, schema, target=True))
    path.write_text("n,c,y\n" + "\n".join([*lines, f"5,{extra},0"]) + "\n", "utf-8")
    np.testing.assert_array_equal(
        schema.design(read_delimited(path, schema, target=True))[:-1], alone
    )


WIDTHS = (1, 2, 7, 33, 4096, 4097, 9000)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("width", WIDTHS)
def test_lengths_and_margins_are_rounded_row_by_row(order, width):
    rng = np.random.default_rng(width)
    rows = np.array(rng.normal(size=(5, width)), order=order)
    theta = rng.normal(size=width)
    matrix = Dense(rows)
    block = Block(matrix, np.zeros(5), None, 0.0)
    margins = block.margin(theta, row_independent=True)
    squares = matrix.squared_lengths()
    for k in range(5):
        one = block.take(slice(k, k + 1))
        assert one.margin(theta, row_independent=True)[0] == margins[k]
        assert one.features.squared_lengths()[0] == squares[k]


@pytest.mark.parametrize("bounds", [EntryBounds(0.1), EntryBounds.scaled(2, 0.1)])
def test_single_precision_keeps_to_its_bound_and_its_type(bounds):
    rows = np.float32([[0.1, 0.05], [3.0, -3.0], [0.1, 0.0]])
    held = bound_entries(rows, np.zeros(3), bounds, 0.0)
    plain, _ = held.plain()
    assert plain.dtype == np.float64
    assert held.features.array.dtype == np.float32
    few = bound_entries(rows[:1], np.zeros(1), bounds, 0.0).plain()[0]
    np.testing.assert_array_equal(few, plain[:1])
    if bounds.length is None:
        assert np.abs(plain).max() <= bounds.most
    else:
        assert np.linalg.norm(plain, axis=1).max() <= bounds.length * (1 + 1e-15)


def test_short_rows_are_bounded_though_their_squares_underflow():
    rows = bound_rows(np.full((2, 2), 1e-170), np.zeros(2), 1e-175, 0.0)
    assert np.abs(rows.plain()[0]).max() <= 1e-175
    with pytest.raises(InvalidParameter, match="column_bound"):
        EntryBounds(1e-175)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_array, sparse.csc_array])
def test_duplicates_are_added_up_as_stored_whatever_other_rows_hold(kind):
    values = [1e17, -1e17, 1.0] + [0.0] * 40
    row = sparse.csr_array((values, [0] * 43, [0, 43]), shape=(1, 3))
    odd = sparse.csr_array(([1.0, 2.0], [2, 1], [0, 2]), shape=(1, 3))
    for places in ([row], [row, odd], [odd, row, row]):
        stored = sparse.coo_array(
            (
                np.concatenate([one.data for one in places]),
                (
                    np.repeat(np.arange(len(places)), [one.nnz for one in places]),
                    np.concatenate([one.indices for one in places]),
                ),
            ),
            shape=(len(places), 3),
        )
        whole = stored
        if kind is sparse.csr_array:
            ends = np.cumsum([0, *(one.nnz for one in places)])
            whole = kind((stored.data, stored.col, ends), shape=stored.shape)
        elif kind is sparse.csc_array:
            order = np.lexsort((stored.row, stored.col))
            ends = np.searchsorted(stored.col[order], np.arange(4))
            parts = (stored.data[order], stored.row[order], ends)
            whole = kind(parts, shape=stored.shape)
        added = Csr(as_csr(whole)).without_duplicates().toarray()
        rows = [k for k, one in enumerate(places) if one is row]
        np.testing.assert_array_equal(added[rows], [[1.0, 0.0, 0.0]] * len(rows))


def test_entries_outside_of_a_matrix_are_refused():
    bad = sparse.csr_array(np.eye(3))
    bad.indices[-1] = 3
    with pytest.raises(InvalidData, match="within its shape"):
        as_csr(bad)


def test_numbers_in_single_precision_are_not_doubles_that_they_equal():
    single = np.float32(0.1)
    assert single == 0.1
    read = as_numbers(column(0.1, single, 0.1), "c")
    assert read.tolist() == [0.1, float(single), 0.1]
