"""Raw values of one column as numbers: levels, quantities, truth values and days.

Every function treats each value by itself; equal values are looked at once. What is
missing becomes NaN or −1. Errors name the column and never a value.
"""

import math
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd

from confide._types import AnyArray, Array
from confide.errors import InvalidData, InvalidParameter

TRUTHS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Words that say yes or no, in any case; numbers do as well."""


def as_numbers(values: Any, name: str) -> Array:
    """Read a column as doubles; what is missing becomes NaN."""
    column = pd.Series(values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        found = as_numbers(column.cat.categories, name)
        return _spread(found, column.cat.codes.to_numpy())
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return np.array(column, dtype=np.float64)
    try:
        if column.dtype.kind not in "cmM":
            return np.array(pd.to_numeric(column), dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        pass
    raise InvalidData(
        f"column {name!r} is declared as a number but holds something else. Declare it as "
        "a category, or convert it first."
    )


def as_truths(values: Any, name: str) -> Array:
    """Read a column of yes and no as 1 and 0; what is missing becomes NaN."""
    fault = (
        f"column {name!r} is declared as a boolean but holds something else than true and "
        "false, yes and no, or 1 and 0. Declare it as a category, or convert it first."
    )
    return _one_by_one(values, _truth, fault, f"column {name!r}")


def as_days(values: Any, name: str) -> Array:
    """Read a column of dates as day numbers (`date.toordinal`); missing becomes NaN.

    Text is read in ISO form, 2024-12-31, with or without a time. Of a time with a zone
    the day counts that was written down.
    """
    column = pd.Series(values)
    if column.dtype.kind == "M":
        local = column.dt.tz_localize(None) if column.dt.tz is not None else column
        days = local.to_numpy().astype("datetime64[D]")
        numbers = days.astype(np.int64).astype(np.float64) + date(1970, 1, 1).toordinal()
        numbers[np.isnat(days)] = np.nan
        return numbers
    fault = (
        f"column {name!r} is declared as a date but holds something else. Write dates as "
        "2024-12-31, or declare the column as another kind."
    )
    return _one_by_one(column, _day, fault, f"column {name!r}")


def level_codes(
    values: Any, levels: tuple[Any, ...], what: str, *, other: int = -1
) -> AnyArray:
    """Return the position of each value among the levels.

    A missing value has position −1, and one that is no level ``other``. True and False
    equal 1 and 0. Where a column of text meets levels that are all numbers, or the other
    way round, nothing could ever match: that is refused.
    """
    codes, found = _distinct(values, what)
    text = isinstance(found.dtype, pd.StringDtype)
    typed = text or pd.api.types.is_numeric_dtype(found.dtype)
    if typed and len(found) and not any(isinstance(level, str) is text for level in levels):
        holds, none = ("text", "text") if text else ("numbers", "a number")
        raise InvalidData(
            f"{what} holds {holds}, but none of its declared values is {none}. Declare "
            "them in the type that the table holds, or convert the table first."
        )
    known = pd.Index(levels)
    if "boolean" in map(pd.api.types.infer_dtype, (found, known)):
        found, known = found.astype(object), known.astype(object)
    small = np.min_scalar_type(-len(levels) - 3)
    places = known.get_indexer(found).astype(small)
    places[places < 0] = other
    return np.append(places, small.type(-1))[codes]


def check_levels(what: str, levels: Any, least: int) -> tuple[Any, ...]:
    """Return public levels as a tuple: listed once each, none of them missing."""
    try:
        found = () if isinstance(levels, str) else tuple(levels)
        fine = len(set(found)) == len(found) >= least and not any(map(pd.isna, found))
    except (TypeError, ValueError):
        fine = False
    if not fine:
        count = "one level or more" if least == 1 else "two labels or more"
        raise InvalidParameter(
            what, f"a list of {count}, each once and none missing", levels
        )
    return found


def plain_levels(what: str, levels: Any, least: int) -> tuple[Any, ...]:
    """Return levels that a file can hold: text, finite numbers and truth values."""
    found = check_levels(what, levels, least)
    plain = [level.item() if isinstance(level, np.generic) else level for level in found]
    for level in plain:
        if not isinstance(level, str | int | float) or level in (math.inf, -math.inf):
            raise InvalidParameter(
                what, "text, finite numbers or truth values", type(level).__name__
            )
    return tuple(plain)


def _distinct(values: Any, what: str) -> tuple[AnyArray, Any]:
    """Return the distinct values, and for every row which of them it holds."""
    column = pd.Series(values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories
    try:
        codes, found = pd.factorize(column)
    except (TypeError, ValueError):
        raise InvalidData(
            f"{what} must hold plain values; it holds lists or other objects."
        ) from None
    return codes, pd.Index(found)


def _one_by_one(
    values: Any, read: Callable[[Any], float | None], fault: str, what: str
) -> Array:
    codes, found = _distinct(values, what)
    numbers = [read(value) for value in found]
    if None in numbers:
        raise InvalidData(fault)
    return _spread(np.array(numbers, dtype=np.float64), codes)


def _spread(found: Array, codes: AnyArray) -> Array:
    """Return the number of every row; code −1 means missing."""
    spread: Array = np.append(found, np.nan)[codes]
    return spread


def _truth(value: Any) -> float | None:
    if isinstance(value, str):
        text = value.strip().lower()
        if text in TRUTHS:
            return TRUTHS[text]
        try:
            value = float(text)
        except ValueError:
            return None
    number = isinstance(value, bool | np.bool_ | int | float | np.number)
    return float(value) if number and value in (0, 1) else None


def _day(value: Any) -> float | None:
    if isinstance(value, date):
        return float(value.toordinal())
    try:
        return float(datetime.fromisoformat(value.strip()).toordinal())
    except (AttributeError, ValueError):
        return None
