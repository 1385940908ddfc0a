"""Cells in which ranges are looked for: whatever is found there is a range of a column."""

from datetime import date

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from confide import Date, Number, Target
from confide.data.schema.range_grid import PARTS, RangeGrid
from confide.errors import InvalidParameter

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LIMITS = st.one_of(
    st.none(),
    NUMBERS,
    st.sampled_from([0.0, 1.0, 2.0, 1e100, 1e308, -1e308, 1e-200, 5e-324, 1e-99, 1e-95]),
    st.sampled_from([1.0, 2.0, 4.0, 1e100]).map(lambda x: float(np.nextafter(x, 0))),
    st.sampled_from([1.0, 2.0, 4.0, -2.0]).map(lambda x: float(np.nextafter(x, 9))),
)
TRANSFORMS = st.sampled_from(["none", "log", "signed-log", "sqrt"])


def check_all_parts(part):
    """Parts of cells, the outermost ones and others, and all together can be bought."""
    grid = part.grid
    if grid is None:
        assert part.has_limits
        return
    edges = grid.edges_at(np.arange(grid.cells * PARTS + 1))
    assert np.isfinite(edges).all()
    middle = grid.cells // 2 * PARTS
    some = {*range(PARTS), *range(middle, middle + PARTS), *range(0, len(edges) - 1, 97)}
    some |= {len(edges) - 2 - place for place in range(PARTS)}
    pairs = [(edges[place], edges[place + 1]) for place in sorted(some)]
    for lower, upper in [*pairs, grid.ends]:
        found = part.within(float(lower), float(upper))
        assert found.has_limits
        width = max(upper - lower, 1e-3 * max(abs(lower), abs(upper)))
        assert np.allclose(found.ends, (lower, upper), rtol=0, atol=1e-2 * width)


@pytest.mark.slow
@given(LIMITS, LIMITS, TRANSFORMS)
@example(None, None, "log")
@example(None, None, "sqrt")
@example(None, None, "signed-log")
@example(None, 1e-200, "log")
@example(1e-250, 1.0, "log")
@example(1e308, None, "none")
@example(None, -1e308, "signed-log")
@example(1.0, float(np.nextafter(1, 2)), "none")
@example(float(np.nextafter(2, 0)), 1000.0, "none")
@example(0.0, 2e-100, "none")
@example(-1e-300, 5.0, "none")
@example(1.0, 1 + 1e-15, "log")
def test_whatever_is_bought_is_a_range_of_the_column(lower, upper, transform):
    try:
        column = Number("x", lower, upper, transform=transform)
    except InvalidParameter:
        assume(False)
    check_all_parts(column)


@pytest.mark.slow
@given(LIMITS, LIMITS)
@example(None, None)
@example(0.0, 2e-100)
@example(1.0, float(np.nextafter(1, 2)))
@example(6e99, None)
def test_whatever_is_bought_is_a_range_of_the_target(lower, upper):
    try:
        target = Target("y", lower=lower, upper=upper, range="private")
    except InvalidParameter:
        assume(False)
    check_all_parts(target)


@pytest.mark.parametrize(
    ("limits", "transform"),
    [
        ((None, 5e-324), "log"),
        ((None, 0.0), "sqrt"),
        ((1.7976931348623157e308, None), "none"),
    ],
)
def test_limits_that_leave_no_room_are_refused(limits, transform):
    with pytest.raises(InvalidParameter, match="range of column"):
        Number("x", *limits, transform=transform)
    with pytest.raises(InvalidParameter, match="range of target"):
        Target("y", lower=1e100, range="private")


@given(
    st.lists(st.floats() | st.integers(-90, 90).map(float), max_size=40),
    st.sampled_from(
        [
            (None, None),
            (-40.0, 40.0),
            (17.0, 90.0),
            (-125.0, -114.0),
            (0.0, 1e9),
            (-64.0, 1.0),
        ]
    ),
)
@example(
    [-0.0, 0.0, -1.0, -2.0, -64.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324], (None,) * 2
)
def test_values_are_counted_where_each_is_placed(values, limits):
    grid = RangeGrid.between(*limits)
    places = grid.place(np.array(values, dtype=float))
    each = np.bincount(places[places >= 0], minlength=grid.cells * PARTS)
    assert (grid.count(np.array(values)).ravel() == each).all()


def test_numbers_of_negative_columns_are_counted_together(monkeypatch):
    """Cells between powers of two need no second look at any value."""
    grid = RangeGrid.between(-40.0, 40.0)
    looked_at, place = [], RangeGrid.place
    monkeypatch.setattr(
        RangeGrid,
        "place",
        lambda grid, some: looked_at.append(len(some)) or place(grid, some),
    )
    values = np.random.default_rng(0).normal(size=100_000)
    assert grid.count(values).sum() == 100_000
    assert sum(looked_at) < 5_000


DAYS = st.dates()


@given(DAYS, DAYS, st.data())
@example(date.min, date.max, None)
@example(date(2000, 1, 1), date(2000, 1, 2), None)
def test_whatever_is_bought_is_a_range_of_days(first, second, data):
    assume(first != second)
    column = Date("day", min(first, second), max(first, second))
    grid = column.grid
    edges = grid.edges_at(np.arange(grid.cells * PARTS + 1))
    assert (np.diff(edges) > 0).all()
    pairs = [(0, len(edges) - 1), (0, 1), (len(edges) - 2, len(edges) - 1)]
    if data is not None:
        low = data.draw(st.integers(0, len(edges) - 2))
        pairs.append((low, data.draw(st.integers(low + 1, len(edges) - 1))))
    for low, high in pairs:
        found = column.within(float(edges[low]), float(edges[high]))
        assert column.lower <= found.lower < found.upper <= column.upper
        assert found.ends[0] <= edges[low] < found.ends[0] + 1
        assert found.ends[1] - 1 < edges[high] <= found.ends[1]


def test_numbers_of_every_type_are_placed():
    grid = Number("x").grid
    wanted = grid.place(np.array([0.0, 1.0, 3.0]))
    for kind in ("?", "i1", "u8", "f2", "f4", "g"):
        values = np.array([0, 1, 3]).astype(kind)
        assert (grid.place(values)[:2] == wanted[:2]).all()
