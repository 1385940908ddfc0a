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

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from confide._types import AnyArray, Array
from confide.data.schema.columns.column import (
    COLUMNS,
    Faults,
    LevelColumn,
    RangeColumn,
    check_name,
    check_rule,
    inside,
    plain_share,
    plain_shares,
    plain_typical,
)
from confide.data.schema.columns.transforms import (
    TRANSFORMS,
    TransformName,
    transformed,
)
from confide.data.schema.parse_values import (
    as_booleans,
    as_days,
    as_numbers,
    numbers_or_nan,
    plain_levels,
)
from confide.data.schema.range_grid import (
    SMALLEST_PART,
    RangeGrid,
    is_divisible,
)
from confide.errors import InvalidParameter, did_you_mean

DAYS_PER_YEAR = 365.25
MIDDLE_DAY = float(date(2000, 1, 1).toordinal())
"""Reference day: ranges of dates are searched in octaves before and after it."""
NARROWEST_RANGE = 1e-100
"""Narrower ranges are treated as a single value."""
OTHER = "other"

Middle = Literal["midpoint", "refuse"]
RangeSource = Literal["auto", "private", "public"]
Apart = Literal["category", "refuse"]


@COLUMNS.register("number")
@dataclass(frozen=True, slots=True)
class Number(RangeColumn):
    """A number between two limits, scaled to [−1, 1].

    ``lower`` and ``upper`` are public; they may be generous, or absent. With
    ``range="private"`` a fit buys a narrower range from its budget, with "public" it takes
    the limits as they are; "auto" leaves that to the fit, which always buys where a limit
    is absent. ``transform`` is "log", "signed-log" (sign(x)·log(1 + |x|)) or "sqrt": the
    model is then linear in the transformed number. ``unit`` is for the reader:
    coefficients are effects per unit. ``typical`` is where about four in five values lie,
    if that is publicly known: plans use it, fits do not.
    """

    name: str
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    missing: Middle = "midpoint"
    range: RangeSource = "auto"
    transform: TransformName = "none"
    typical: tuple[float, float] | None = None
    kind: ClassVar[str] = "number"
    dtype: ClassVar[type[float] | type[str]] = float
    hint: ClassVar[str] = (
        'lower = 0, upper = 120, or wider, or neither; optionally unit = "year"'
    )
    examples: ClassVar[Mapping[str, str]] = {"lower": "0", "upper": "120"}

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.unit, str):
            raise InvalidParameter(f"unit of column {self.name!r}", "text", self.unit)
        check_rule(self.name, self.missing, ("midpoint", "refuse"))
        _check_choice(f"range of column {self.name!r}", self.range, get_args(RangeSource))
        what = f"transform of column {self.name!r}"
        _check_choice(what, self.transform, tuple(TRANSFORMS))
        for end in ("lower", "upper"):
            object.__setattr__(self, end, self._plain_limit(getattr(self, end)))
        if self.has_limits and not self.lower < self.upper:  # type: ignore[operator]
            raise self._no_range()
        if not _is_range(*self._ends) or not (self.has_limits or self.grid):
            raise self._no_range()
        if self.range == "public" and not self.has_limits:
            raise InvalidParameter(
                f"column {self.name!r}",
                'given lower and upper where range = "public"',
                (self.lower, self.upper),
                'Declare both, or write range = "private" to estimate the range privately.',
            )
        least = TRANSFORMS[self.transform].least if self.lower is None else self.lower
        found = plain_typical(f"column {self.name!r}", self.typical, (least, self.upper))
        object.__setattr__(self, "typical", found)

    @property
    def typical_ends(self) -> tuple[float, float] | None:
        """The typical range, as the model sees it."""
        if self.typical is None:
            return None
        apply = TRANSFORMS[self.transform].apply
        low, high = (float(apply(np.float64(end))) for end in self.typical)
        return low, high

    def _plain_limit(self, value: Any) -> Any:
        """Return a limit as Python's own number, None where it is absent."""
        if value is None:
            return None
        number = _plain_number(value)
        least = TRANSFORMS[self.transform].least
        if number is None or not math.isfinite(number) or not number >= least:
            raise self._no_range()
        return number

    def _no_range(self) -> InvalidParameter:
        must = "two finite numbers, lower below upper"
        if self.transform in ("log", "sqrt"):
            must += f", for which {self.transform} is defined"
        return InvalidParameter(
            f"range of column {self.name!r}",
            must,
            (self.lower, self.upper),
            "Use what is known without looking at the table.",
        )

    @property
    def _limits(self) -> tuple[Any, Any]:
        """The limits as the model sees them, None where they are absent."""
        apply = TRANSFORMS[self.transform].apply
        pair = (self.lower, self.upper)
        lower, upper = (None if x is None else float(apply(np.float64(x))) for x in pair)
        return lower, upper

    @property
    def label(self) -> str:
        """What the model is linear in, by name."""
        if self.transform == "none":
            return self.name
        return f"{self.transform}({self.name})"

    @property
    def features(self) -> tuple[str, ...]:
        """The column itself, with its unit."""
        plain = self.transform == "none" and self.unit
        return (f"{self.name} (per {self.unit})" if plain else self.label,)

    @property
    def ends(self) -> tuple[float, float]:
        """The limits as the model sees them; where one is absent, that of the grid."""
        return self._ends

    @property
    def _ends(self) -> tuple[float, float]:
        lower, upper = self._limits
        if lower is not None and upper is not None:
            return lower, upper
        return self._grid.ends

    @property
    def has_limits(self) -> bool:
        """Whether both limits are declared."""
        return self.lower is not None and self.upper is not None

    @property
    def _grid(self) -> RangeGrid:
        known = TRANSFORMS[self.transform]
        return RangeGrid.between(*self._limits, known.span, known.reach)

    @property
    def grid(self) -> RangeGrid | None:
        """The cells in which a fit looks for a range; None if it is too narrow for any."""
        pair = (self.lower, self.upper)
        own = [0.0 if limit is None else float(limit) for limit in pair]
        width = own[1] - own[0]
        apart = not self.has_limits or width >= SMALLEST_PART * max(map(abs, own))
        return self._grid if apart and is_divisible(*self._ends) else None

    @property
    def per(self) -> str:
        """The unit; half of the range where that is still to be bought."""
        if not self.has_limits:
            return "half of its range"
        if self.transform == "none":
            return self.unit or "1"
        return f"1 of {self.label}"

    def units(self) -> tuple[Array, float]:
        """Return what turns coefficients back: nothing, where there is no range yet."""
        if not self.has_limits:
            return np.ones(1), 0.0
        return RangeColumn.units(self)

    @property
    def whole(self) -> bool:
        """Whether both limits are whole numbers, and nothing transforms them."""
        ends = (self.lower, self.upper)
        return self.transform == "none" and all(isinstance(end, int) for end in ends)

    def original(self, numbers: Any) -> Any:
        """Return numbers as a table has them: the transform is undone."""
        return TRANSFORMS[self.transform].invert(numbers)

    def place_of(self, value: float) -> float | None:
        """Return where a number lies in the range, as −1 to 1; None without limits."""
        lower, upper = self._ends
        if not self.has_limits or not self.lower < value < self.upper:  # type: ignore[operator]
            return None
        own = float(TRANSFORMS[self.transform].apply(np.float64(value)))
        return (own - (lower / 2 + upper / 2)) / (upper / 2 - lower / 2)

    def shown_place(self, place: float) -> str:
        """Return which number is at a place; which share of the range, without limits."""
        if not self.has_limits:
            return RangeColumn.shown_place(self, place)
        lower, upper = self._ends
        found = TRANSFORMS[self.transform].invert(lower + (upper - lower) * (place + 1) / 2)
        return f"at {float(found):.4g}"

    def within(self, lower: float, upper: float) -> "Number":
        """Return the column with a range that was bought, in the model's own terms."""
        invert = TRANSFORMS[self.transform].invert
        ends = float(invert(np.float64(lower))), float(invert(np.float64(upper)))
        typical = None if self.typical is None else inside(self.typical, ends)
        return replace(self, lower=ends[0], upper=ends[1], range="public", typical=typical)

    def read(self, values: Any) -> AnyArray:
        """Return numbers, transformed, NaN for what is missing."""
        found = as_numbers(values, self.name)
        return found if self.transform == "none" else transformed(found, self.transform)

    def faults(self, values: Any) -> Faults:
        """Return which of some known values are no numbers or beyond the limits."""
        lower = -math.inf if self.lower is None else float(self.lower)
        upper = math.inf if self.upper is None else float(self.upper)
        return Faults.of_numbers(numbers_or_nan(values), (lower, upper))


@COLUMNS.register("category")
@dataclass(frozen=True, slots=True)
class Category(LevelColumn):
    """One of some public levels, as indicators.

    With ``other`` an undeclared value gets an indicator of its own, "other"; without, it
    is all zeros. A missing value is all zeros too: the category against which the
    coefficients of the others are read. ``missing="refuse"`` refuses it instead.
    ``share`` says how often levels occur, if that is publicly known: in their order, or by
    name for some of them. Plans use it, and levels are shown against the average with
    these weights; coefficients do not depend on it. ``reference`` is the level that the
    others are shown against, instead of an average.
    """

    name: str
    levels: tuple[Any, ...]
    other: bool = False
    missing: Apart = "category"
    share: Any = None
    reference: Any = None
    kind: ClassVar[str] = "category"
    hint: ClassVar[str] = (
        'levels = ["a", "b"], optionally other = true for undeclared values'
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
                "without 'other', because other = true gives undeclared values that name",
                levels,
            )
        check_rule(self.name, self.missing, ("category", "refuse"))
        found = plain_shares(f"column {self.name!r}", self.share, self._set_levels)
        object.__setattr__(self, "share", found)
        known = self._set_levels
        if self.reference is not None and self.reference not in known:
            raise InvalidParameter(
                f"reference of column {self.name!r}",
                f"one of its levels {list(known)}",
                self.reference,
                did_you_mean(str(self.reference), list(map(str, known))),
            )

    @property
    def baseline(self) -> Array:
        """The reference, else the public shares of the levels, else all alike."""
        count = len(self.features)
        if self.reference is not None:
            return np.eye(count)[self._set_levels.index(self.reference)]
        shares = np.array(self.share or (), dtype=float)
        if not shares.sum() > 0:
            return np.full(count, 1 / count)
        return np.asarray(shares / shares.sum())

    @property
    def against(self) -> str:
        """What levels are compared with, in words."""
        if self.reference is not None:
            return str(self.reference)
        if self.share is not None and sum(self.share) > 0:
            return "the average of its levels weighted by public shares"
        return "the average of the levels of its column"

    @property
    def _set_levels(self) -> tuple[Any, ...]:
        return (*self.levels, OTHER) if self.other else self.levels

    @property
    def shares(self) -> tuple[float, ...] | None:
        """Shares of the indicators, if public."""
        found: tuple[float, ...] | None = self.share
        return found

    @property
    def features(self) -> tuple[str, ...]:
        """One name per level."""
        return tuple(f"{self.name}={level}" for level in self._set_levels)


@COLUMNS.register("boolean")
@dataclass(frozen=True, slots=True)
class Boolean(RangeColumn):
    """Yes or no: true and false, yes and no, 1 and 0, as values or as text.

    Its coefficient is the effect of yes against no. ``share`` is how often yes occurs, if
    that is publicly known: plans use it, fits do not.
    """

    name: str
    missing: Middle = "midpoint"
    share: float | None = None
    kind: ClassVar[str] = "boolean"
    hint: ClassVar[str] = "no further fields: true and false, yes and no, 1 and 0"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    possible: ClassVar[tuple[Any, ...]] = (False, True)
    per: ClassVar[str] = "yes against no"
    deviation: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_name(self.name)
        check_rule(self.name, self.missing, ("midpoint", "refuse"))
        found = plain_share(f"column {self.name!r}", self.share)
        object.__setattr__(self, "share", found)

    @property
    def shares(self) -> tuple[float, ...] | None:
        """Shares of no and yes, if public."""
        return None if self.share is None else (1 - self.share, self.share)

    def read(self, values: Any) -> AnyArray:
        """Return 1 or 0, NaN for what is missing."""
        return as_booleans(values, self.name)


@COLUMNS.register("date")
@dataclass(frozen=True, slots=True)
class Date(RangeColumn):
    """A day between two public days, scaled to [−1, 1]; coefficients are per year.

    The days may be generous: as for numbers, ``range`` says whether a fit buys a narrower
    range from its budget.
    """

    name: str
    lower: date
    upper: date
    missing: Middle = "midpoint"
    range: RangeSource = "auto"
    kind: ClassVar[str] = "date"
    has_limits: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    finest: ClassVar[float] = 1.0
    per: ClassVar[str] = "year"
    unit: ClassVar[str] = "years"
    hint: ClassVar[str] = "lower = 2010-01-01, upper = 2024-12-31, or wider"
    examples: ClassVar[Mapping[str, str]] = {"lower": "2010-01-01", "upper": "2024-12-31"}

    def __post_init__(self) -> None:
        check_name(self.name)
        ends = (_plain_day(self.lower), _plain_day(self.upper))
        if ends[0] is None or ends[1] is None or not ends[0] < ends[1]:
            raise InvalidParameter(
                f"range of column {self.name!r}",
                "two dates such as 2024-12-31, lower before upper",
                tuple(map(str, (self.lower, self.upper))),
                "Use what is known without looking at the table.",
            )
        check_rule(self.name, self.missing, ("midpoint", "refuse"))
        _check_choice(f"range of column {self.name!r}", self.range, get_args(RangeSource))
        object.__setattr__(self, "lower", ends[0])
        object.__setattr__(self, "upper", ends[1])

    @property
    def features(self) -> tuple[str, ...]:
        """The years that went by since the first day."""
        return (f"{self.name} (per year)",)

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers of the first and the last day."""
        return float(self.lower.toordinal()), float(self.upper.toordinal())

    @property
    def grid(self) -> RangeGrid | None:
        """The cells in which a fit looks for a range."""
        return RangeGrid.of_days(*self.ends, MIDDLE_DAY)

    def within(self, lower: float, upper: float) -> "Date":
        """Return the column with a range that was bought, rounded to whole days."""
        days = math.floor(lower), math.ceil(upper)
        first, last = (date.fromordinal(day) for day in days)
        return replace(self, lower=first, upper=last, range="public")

    def read(self, values: Any) -> AnyArray:
        """Return day numbers, NaN for what is missing."""
        return as_days(values, self.name)

    def shown(self, number: float) -> str:
        """Return a day."""
        ends = date.min.toordinal(), date.max.toordinal()
        return date.fromordinal(min(max(round(number), ends[0]), ends[1])).isoformat()

    def shown_place(self, place: float) -> str:
        """Return which day is at a place."""
        first, last = self.ends
        day = date.fromordinal(round(first + (last - first) * (place + 1) / 2))
        return f"at {day.isoformat()}"

    def units(self) -> tuple[Array, float]:
        """Return a year as a part of half the range, and that half as origin, in years."""
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


def _check_choice(what: str, value: Any, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InvalidParameter(what, f"one of {list(known)}", value)


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
