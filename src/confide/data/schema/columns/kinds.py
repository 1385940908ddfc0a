"""Kinds of columns: numbers, categories, booleans and dates.

Each column is read row by row, without looking at any other row. What is missing,
undeclared or out of range has a meaning that is fixed beforehand:

=========  =================================  ==================  =========================
kind       a value becomes                    out of range        missing
=========  =================================  ==================  =========================
number     its place in the range, ±1 at the  clamped             the middle, or refused
           ends and 0 in the middle
date       its place in the range, as above   clamped             the middle, or refused
boolean    1 or −1                            refused             the middle, or refused
category   an indicator per level             all zeros, or the   all zeros (a category of
                                              indicator "other"   its own), or refused
=========  =================================  ==================  =========================
"""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, ClassVar, Literal

import numpy as np

from confide._types import AnyArray, Array
from confide.data.schema.columns.column import (
    COLUMNS,
    Faults,
    LevelColumn,
    RangeColumn,
    check_name,
    check_rule,
)
from confide.data.schema.parse_values import (
    as_booleans,
    as_days,
    as_numbers,
    numbers_or_nan,
    plain_levels,
)
from confide.errors import InvalidParameter

DAYS_PER_YEAR = 365.25
NARROWEST_RANGE = 1e-100
"""A range narrower than this has no inverse worth the name."""
OTHER = "other"

Middle = Literal["midpoint", "refuse"]
Apart = Literal["category", "refuse"]


@COLUMNS.register("number")
@dataclass(frozen=True, slots=True)
class Number(RangeColumn):
    """A number between two public bounds, scaled to [−1, 1].

    ``unit`` is for the reader: coefficients are effects per unit.
    """

    name: str
    lower: float
    upper: float
    unit: str = ""
    missing: Middle = "midpoint"
    kind: ClassVar[str] = "number"
    dtype: ClassVar[type[float] | type[str]] = float
    hint: ClassVar[str] = (
        'lower = 0, upper = 120, and if you like unit = "year"; clamped beyond'
    )
    examples: ClassVar[Mapping[str, str]] = {"lower": "0", "upper": "120"}

    def __post_init__(self) -> None:
        check_name(self.name)
        ends = (_plain_number(self.lower), _plain_number(self.upper))
        if None in ends or not _is_range(*ends):
            raise InvalidParameter(
                f"range of column {self.name!r}",
                "two finite numbers, lower below upper",
                (self.lower, self.upper),
                "Take what is known without looking at the table.",
            )
        if not isinstance(self.unit, str):
            raise InvalidParameter(f"unit of column {self.name!r}", "text", self.unit)
        check_rule(self.name, self.missing, ("midpoint", "refuse"))
        object.__setattr__(self, "lower", ends[0])
        object.__setattr__(self, "upper", ends[1])

    @property
    def features(self) -> tuple[str, ...]:
        """The column itself, with its unit."""
        return (f"{self.name} (per {self.unit})" if self.unit else self.name,)

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds."""
        return float(self.lower), float(self.upper)

    @property
    def per(self) -> str:
        """The unit."""
        return self.unit or "1"

    def read(self, values: Any) -> AnyArray:
        """Return numbers, NaN for what is missing."""
        return as_numbers(values, self.name)

    def faults(self, values: Any) -> Faults:
        """Say which of some known values are no numbers or beyond the bounds."""
        return Faults.of_numbers(numbers_or_nan(values), self.ends)


@COLUMNS.register("category")
@dataclass(frozen=True, slots=True)
class Category(LevelColumn):
    """One of some public levels, as indicators.

    With ``other`` an undeclared value gets an indicator of its own, "other"; without, it
    is all zeros. A missing value is all zeros too: the category against which the
    coefficients of the others are read. ``missing="refuse"`` refuses it instead.
    """

    name: str
    levels: tuple[Any, ...]
    other: bool = False
    missing: Apart = "category"
    kind: ClassVar[str] = "category"
    hint: ClassVar[str] = (
        'levels = ["a", "b"], and if you like other = true for undeclared values'
    )
    examples: ClassVar[Mapping[str, str]] = {"levels": '["north", "south"]'}

    def __post_init__(self) -> None:
        check_name(self.name)
        levels = plain_levels(f"levels of column {self.name!r}", self.levels, least=1)
        object.__setattr__(self, "levels", levels)
        if not isinstance(self.other, bool):
            raise InvalidParameter(
                f"other of column {self.name!r}", "True or False", self.other
            )
        if self.other and OTHER in levels:
            raise InvalidParameter(
                f"levels of column {self.name!r}",
                "without 'other' where other = true gives undeclared values that name",
                levels,
            )
        check_rule(self.name, self.missing, ("category", "refuse"))

    @property
    def features(self) -> tuple[str, ...]:
        """One name per level."""
        levels = (*self.levels, OTHER) if self.other else self.levels
        return tuple(f"{self.name}={level}" for level in levels)


@COLUMNS.register("boolean")
@dataclass(frozen=True, slots=True)
class Boolean(RangeColumn):
    """Yes or no: true and false, yes and no, 1 and 0, as values or as text.

    Its coefficient is the effect of yes against no.
    """

    name: str
    missing: Middle = "midpoint"
    kind: ClassVar[str] = "boolean"
    hint: ClassVar[str] = "nothing else: true and false, yes and no, 1 and 0"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    possible: ClassVar[tuple[Any, ...]] = (False, True)
    per: ClassVar[str] = "yes against no"
    deviation: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_name(self.name)
        check_rule(self.name, self.missing, ("midpoint", "refuse"))

    def read(self, values: Any) -> AnyArray:
        """Return 1 or 0, NaN for what is missing."""
        return as_booleans(values, self.name)


@COLUMNS.register("date")
@dataclass(frozen=True, slots=True)
class Date(RangeColumn):
    """A day between two public days, scaled to [−1, 1]; coefficients are per year."""

    name: str
    lower: date
    upper: date
    missing: Middle = "midpoint"
    kind: ClassVar[str] = "date"
    per: ClassVar[str] = "year"
    hint: ClassVar[str] = "lower = 2010-01-01, upper = 2024-12-31"
    examples: ClassVar[Mapping[str, str]] = {"lower": "2010-01-01", "upper": "2024-12-31"}

    def __post_init__(self) -> None:
        check_name(self.name)
        ends = (_plain_day(self.lower), _plain_day(self.upper))
        if ends[0] is None or ends[1] is None or not ends[0] < ends[1]:
            raise InvalidParameter(
                f"range of column {self.name!r}",
                "two dates such as 2024-12-31, lower before upper",
                tuple(map(str, (self.lower, self.upper))),
                "Take what is known without looking at the table.",
            )
        check_rule(self.name, self.missing, ("midpoint", "refuse"))
        object.__setattr__(self, "lower", ends[0])
        object.__setattr__(self, "upper", ends[1])

    @property
    def features(self) -> tuple[str, ...]:
        """The years that went by since the first day."""
        return (f"{self.name} (per year since {self.lower.isoformat()})",)

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers of the first and the last day."""
        return float(self.lower.toordinal()), float(self.upper.toordinal())

    def read(self, values: Any) -> AnyArray:
        """Return day numbers, NaN for what is missing."""
        return as_days(values, self.name)

    def units(self) -> tuple[Array, float]:
        """Return what a year is of half the range, and that half as origin, in years."""
        years = (self.upper - self.lower).days / DAYS_PER_YEAR
        return np.array([2 / years]), years / 2


def _plain_number(value: Any) -> Any:
    """Return a number as Python's own, or None."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return None
    try:
        double = float(value)
    except (OverflowError, ValueError):
        return None
    return int(value) if isinstance(value, numbers.Integral) else double


def _is_range(lower: Any, upper: Any) -> bool:
    width = float(upper) - float(lower)
    return bool(np.isfinite(width) and width >= NARROWEST_RANGE)


def _plain_day(value: Any) -> date | None:
    """Return a day, given as one, as a time or as text; or None."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None
