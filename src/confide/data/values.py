"""Raw values of one column as numbers: levels, quantities, truth values and days.

Every function treats each value by itself; equal values are looked at once. What is
missing becomes NaN or −1. Errors name the column and never a value.
"""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd

from confide._types import AnyArray, Array
from confide.errors import InvalidData, InvalidParameter

BEYOND_DOUBLES = 2**53
"""From here on whole numbers share doubles: one missing value would blur a column."""
TRUTHS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Words that say yes or no, in any case; numbers do as well."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Coded:
    """A column of text: which of some ``texts`` every row holds, −1 for a missing one."""

    codes: AnyArray
    texts: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> bool:
        """Whether a row holds none."""
        return bool((self.codes < 0).any())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array([*self.texts, None], dtype=object)[self.codes]


def as_numbers(values: Any, name: str) -> AnyArray:
    """Read a column as numbers of any type; what is missing becomes NaN."""
    if isinstance(values, Coded):
        found = as_numbers(pd.Series(values.texts, dtype=str), name)
        return _spread(found, values.codes)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return values
    column = pd.Series(values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        found = as_numbers(column.cat.categories, name)
        return _spread(found, column.cat.codes.to_numpy())
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return column.to_numpy()
    try:
        if column.dtype.kind not in "cmM":
            return np.array(pd.to_numeric(column), dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        pass
    raise InvalidData(
        f"column {name!r} is declared as a number but holds something else. Declare it as "
        "a category, or convert it first."
    )


def as_truths(values: Any, name: str) -> AnyArray:
    """Read a column of yes and no as 1 and 0; what is missing becomes NaN."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "b":
        return np.asarray(values)
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
    column = values if isinstance(values, Coded) else pd.Series(values)
    if not isinstance(column, Coded) and column.dtype.kind == "M":
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
    small = np.min_scalar_type(-len(levels) - 3)
    codes, found = _distinct(values, what)
    look = _text_places if isinstance(values, Coded) else _places
    places = np.append(look(found, levels, what), -1).astype(small)
    places[:-1][places[:-1] < 0] = other
    return places.take(codes)


def _text_places(texts: list[str], levels: tuple[Any, ...], what: str) -> AnyArray:
    """Return the place of every text among the levels, −1 for none."""
    if texts:
        _check_type(levels, what, text=True)
    known = {level: k for k, level in enumerate(levels) if isinstance(level, str)}
    return np.array([known.get(text, -1) for text in texts], dtype=np.intp)


def _places(found: Any, levels: tuple[Any, ...], what: str) -> AnyArray:
    """Return the place of every value among the levels, −1 for none."""
    text = isinstance(found.dtype, pd.StringDtype)
    if len(found) and (text or pd.api.types.is_numeric_dtype(found.dtype)):
        _check_type(levels, what, text=text)
    known = pd.Index(levels)
    if "boolean" in map(pd.api.types.infer_dtype, (found, known)):
        found, known = found.astype(object), known.astype(object)
    return known.get_indexer(found)


def _check_type(levels: tuple[Any, ...], what: str, *, text: bool) -> None:
    if not any(isinstance(level, str) is text for level in levels):
        holds, none = ("text", "text") if text else ("numbers", "a number")
        raise InvalidData(
            f"{what} holds {holds}, but none of its declared values is {none}. Declare "
            "them in the type that the table holds, or convert the table first."
        )


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
    real: list[Any] = [level for level in found if isinstance(level, numbers.Real)]
    far = [level for level in real if not -BEYOND_DOUBLES < level < BEYOND_DOUBLES]
    if any(level not in (math.inf, -math.inf) for level in far):
        raise InvalidParameter(
            what, "numbers below 2**53, or text", levels, "Declare longer ones as text."
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
    if isinstance(values, Coded):
        return values.codes, values.texts
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
    spread: Array = np.append(found, np.nan).take(codes)
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
