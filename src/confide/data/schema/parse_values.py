"""Conversion of the raw values of one column to numbers.

Each value is converted independently of all other rows, and equal values are converted only
once. Missing values become NaN, or −1 for levels. Error messages name the column but never
show a value.
"""

import math
import numbers
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from confide._types import AnyArray, Array
from confide.errors import InvalidData, InvalidParameter

BEYOND_DOUBLES = 2**53
"""Not all integers beyond this number are representable as doubles. Columns of integers are
converted to doubles if a value is missing."""
TRUTHS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Accepted strings for a Boolean, in lower case; 1 and 0 are accepted as well."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CodedText:
    """A text column, stored as indices into distinct ``texts``; −1 means missing."""

    codes: AnyArray
    texts: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> bool:
        """Whether any value is missing."""
        return bool((self.codes < 0).any())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array([*self.texts, None], dtype=object)[self.codes]


def as_cells(values: Any) -> Any:
    """Return a list as an array without converting its entries to a common string type.

    NumPy infers one type from all entries of a list, so that a single string turns numbers
    into strings. Arrays and tables already have types and are returned unchanged.
    """
    if not isinstance(values, list | tuple):
        return values
    array = np.asarray(values)
    return array if array.dtype.kind in "biufc" else np.asarray(values, dtype=object)


def as_numbers(values: Any, name: str) -> AnyArray:
    """Convert a column to a numeric array; missing values become NaN."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "fiub":
        return np.asarray(values)
    if isinstance(kind, pd.api.extensions.ExtensionDtype) and is_numeric_dtype(kind):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return one_by_one(values, _number, name, not_a_number(name))


def not_a_number(name: str) -> InvalidData:
    """Return the error for values that are not numbers in a column of numbers."""
    return InvalidData(
        f"column {name!r} is declared as a number but holds other values. Declare it as "
        "a category, or convert it first."
    )


def not_numbers(columns: Sequence[str]) -> InvalidData:
    """Return the error for non-numeric columns in a table without a schema."""
    return InvalidData(
        f"columns {list(columns)} of X must hold numbers. Declare them in a schema "
        "(schema=Schema(...)), which encodes categories by their public levels."
    )


def cells_as_numbers(cells: AnyArray) -> Array | None:
    """Convert an array of objects to numbers; return None if any object is not a number."""
    read = [_number(cell) if not _is_missing(cell) else math.nan for cell in cells.flat]
    if None in read:
        return None
    return np.array(read, dtype=np.float64).reshape(cells.shape)


def numbers_or_nan(values: Any) -> Array:
    """Convert values to numbers, and to NaN if they are not numbers."""
    if values.dtype.kind in "cmM":
        return np.full(len(values), np.nan)
    return np.array(pd.to_numeric(values, errors="coerce"), dtype=np.float64)


def read_each(read: Callable[[Any], AnyArray], values: Any) -> Array:
    """Apply ``read`` to every value, with NaN for values that it rejects."""
    with suppress(InvalidData):
        return np.array(read(values.tolist()), dtype=np.float64)
    return np.array([_read_one(read, value) for value in values], dtype=np.float64)


def _read_one(read: Callable[[Any], AnyArray], value: Any) -> float:
    try:
        return float(read([value])[0])
    except InvalidData:
        return math.nan


def _is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NA or cell is pd.NaT


def are_numbers(texts: Any) -> bool:
    """Whether every non-missing string represents a number."""
    return not any(_number(text) is None for text in pd.unique(texts.dropna()))


def as_booleans(values: Any, name: str) -> AnyArray:
    """Convert a column of yes and no to 1 and 0; missing values become NaN."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "b":
        return np.asarray(values)
    fault = InvalidData(
        f"column {name!r} is declared as a boolean but holds values other than true and "
        "false, yes and no, or 1 and 0. Declare it as a category, or convert it first."
    )
    return one_by_one(values, _truth, name, fault)


def as_days(values: Any, name: str) -> Array:
    """Convert dates to day numbers (`date.toordinal`); missing values become NaN.

    Strings must be in ISO format, such as 2024-12-31, with or without a time. For a
    time with a time zone, the local date is used.
    """
    column = values if isinstance(values, CodedText) else pd.Series(values)
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
    if isinstance(column, pd.Series) and column.dtype.kind == "M":
        local = column.dt.tz_localize(None) if column.dt.tz is not None else column
        days = local.to_numpy().astype("datetime64[D]")
        numbers = days.astype(np.int64).astype(np.float64) + date(1970, 1, 1).toordinal()
        numbers[np.isnat(days)] = np.nan
        return numbers
    if isinstance(column, pd.Series) and column.dtype == object:
        # Datetimes for the same instant in different zones are equal, but the local date
        # may differ.
        column = pd.Series([_without_zone(value) for value in column], dtype=object)
    fault = InvalidData(
        f"column {name!r} is declared as a date but holds other values. Write dates as "
        "2024-12-31, or declare the column as another kind."
    )
    return one_by_one(column, _day, name, fault)


def level_codes(
    values: Any, levels: tuple[Any, ...], what: str, *, other: int = -1
) -> AnyArray:
    """Return the index of each value in the tuple of levels.

    A missing value has index −1, and an undeclared value has index ``other``. True and
    False equal 1 and 0. A text column with only numeric levels, or a numeric column with
    only text levels, is rejected, because no value could match.
    """
    codes, found = _distinct(values, what)
    if found:
        _check_type(values, levels, what)
    known = {level: k for k, level in enumerate(levels)}
    small = np.min_scalar_type(-len(levels) - 3)
    places = np.array([*(known.get(value, other) for value in found), -1], dtype=small)
    return places.take(codes)


def _check_type(values: Any, levels: tuple[Any, ...], what: str) -> None:
    """Reject a column whose type matches none of the levels."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    text = isinstance(values, CodedText) or getattr(kind, "kind", "") == "U"
    text = text or isinstance(kind, pd.StringDtype)
    if text or (kind is not None and is_numeric_dtype(kind)):
        check_levels_of_type(levels, what, text=text)


def check_levels_of_type(levels: tuple[Any, ...], what: str, *, text: bool) -> None:
    """Raise an error if no level has the type of the column: text, or else numbers."""
    if not any(isinstance(level, str) is text for level in levels):
        holds, none = ("text", "text") if text else ("numbers", "a number")
        raise InvalidData(
            f"{what} holds {holds}, but none of its declared values is {none}. Declare "
            "values of the type that the table holds, or convert the table first."
        )


def check_levels(what: str, levels: Any, least: int) -> tuple[Any, ...]:
    """Check that levels are distinct and not missing, and return them as a tuple."""
    try:
        found = () if isinstance(levels, str) else tuple(levels)
        fine = len(set(found)) == len(found) >= least and not any(map(pd.isna, found))
    except (TypeError, ValueError):
        fine = False
    if not fine:
        count = "at least one level" if least == 1 else "at least two labels"
        raise InvalidParameter(
            what, f"a list of {count}, without duplicates or missing values", levels
        )
    if any(isinstance(level, str) and level.endswith("\0") for level in found):
        raise InvalidParameter(what, "text that does not end in a null character", levels)
    real: list[Any] = [level for level in found if isinstance(level, numbers.Real)]
    far = [level for level in real if not -BEYOND_DOUBLES < level < BEYOND_DOUBLES]
    if any(level not in (math.inf, -math.inf) for level in far):
        raise InvalidParameter(
            what,
            "text, or numbers between -2**53 and 2**53",
            levels,
            "Declare larger numbers as text.",
        )
    return found


def plain_levels(what: str, levels: Any, least: int) -> tuple[Any, ...]:
    """Check that levels are strings, finite numbers or Booleans, and return a tuple."""
    found = check_levels(what, levels, least)
    plain = [level.item() if isinstance(level, np.generic) else level for level in found]
    for level in plain:
        if not isinstance(level, str | int | float) or level in (math.inf, -math.inf):
            raise InvalidParameter(
                what, "text, finite numbers, True or False", type(level).__name__
            )
    return tuple(plain)


def _distinct(values: Any, what: str) -> tuple[AnyArray, Sequence[Any]]:
    """Return for every row the index of its value, and the list of distinct values.

    Equal values, such as 1 and True, are not distinct. A missing value has index −1.
    """
    if isinstance(values, CodedText):
        return values.codes, values.texts
    text = isinstance(values, np.ndarray) and values.dtype.kind in "OU"
    column = pd.Series(values, dtype=object if text else None)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories.tolist()
    try:
        kinds = set(map(type, column)) if column.dtype == object else set()
        if any(issubclass(kind, np.generic) for kind in kinds):
            column = pd.Series([_own_type(value) for value in column], dtype=object)
        # Factorising an array keeps the types of values; an index would convert them.
        codes, found = cast("Any", pd.factorize)(column.array)
    except (TypeError, ValueError, ArithmeticError, NotImplementedError):
        raise InvalidData(
            f"{what} must hold plain values; it holds lists or other objects."
        ) from None
    return codes, found.tolist()


def one_by_one(
    values: Any, read: Callable[[Any], float | None], name: str, fault: InvalidData
) -> Array:
    """Convert a column to numbers, each distinct value once; missing values become NaN.

    Parameters
    ----------
    values : sequence
        The values of the column.
    read : callable
        Returns the number for a value, or None if the value cannot be read.
    name : str
        Name of the column, for messages.
    fault : InvalidData
        Error to raise if a value cannot be read.

    Returns
    -------
    ndarray of float
        One number per value.

    Examples
    --------
    >>> from confide.data import one_by_one
    >>> from confide.errors import InvalidData
    >>> grades = {"low": 0.0, "high": 1.0}
    >>> fault = InvalidData("no grade")
    >>> one_by_one(["low", None, "high"], grades.get, "risk", fault).tolist()
    [0.0, nan, 1.0]
    """
    codes, found = _distinct(values, f"column {name!r}")
    read_values = [read(value) for value in found]
    if None in read_values:
        raise fault
    return _expand_codes(np.array(read_values, dtype=np.float64), codes)


def _expand_codes(found: Array, codes: AnyArray) -> Array:
    """Return the number that belongs to the code of every row; NaN for code −1."""
    spread: Array = np.append(found, np.nan).take(codes)
    return spread


def _own_type(value: Any) -> Any:
    """Convert a NumPy scalar to the corresponding Python type.

    Comparing a NumPy number in single precision with a double can round the double, so
    different numbers may compare as equal.
    """
    plain = isinstance(value, np.bool_ | np.number | np.str_)
    return value.item() if plain and not isinstance(value, np.timedelta64) else value


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return parsed(value) if value.strip() else math.nan
    real = isinstance(value, bool | np.bool_ | numbers.Real | Decimal)
    if not real or isinstance(value, np.timedelta64):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (ValueError, ArithmeticError):
        return None


def parsed(text: str) -> float | None:
    """Parse a number; return None for NaN, underscores, non-ASCII digits and other text."""
    if "_" in text or not text.isascii() or "nan" in text.lower():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _truth(value: Any) -> float | None:
    text = value.strip().lower() if isinstance(value, str) else ""
    number = TRUTHS[text] if text in TRUTHS else _number(value)
    return number if number in (0, 1) else None


def _without_zone(value: Any) -> Any:
    """Return a datetime without its time zone, keeping the local time."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _day(value: Any) -> float | None:
    if isinstance(value, date):
        return float(value.toordinal())
    try:
        return float(datetime.fromisoformat(value.strip()).toordinal())
    except (AttributeError, TypeError, ValueError):
        return None
