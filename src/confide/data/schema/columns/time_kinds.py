"""Date columns, with coefficients per year."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, ClassVar, get_args

import numpy as np

from confide._types import AnyArray, Array
from confide.data.schema.columns.column import COLUMNS, RangeColumn, check_name, check_rule
from confide.data.schema.columns.kinds import Middle, RangeSource, check_choice
from confide.data.schema.parse_values import as_days
from confide.data.schema.range_grid import RangeGrid
from confide.errors import InvalidParameter

DAYS_PER_YEAR = 365.25
MIDDLE_DAY = float(date(2000, 1, 1).toordinal())
"""Origin of the histogram grids for dates: edges are 0, 1, 2, 4, … days on both sides."""


@COLUMNS.register("date")
@dataclass(frozen=True, slots=True)
class Date(RangeColumn):
    """A date between two public dates, scaled to [−1, 1]; its coefficient is per year.

    Parameters
    ----------
    name : str
        Name of the column in the table.
    lower : date or str
        First day, such as "2010-01-01". It may be earlier than necessary.
    upper : date or str
        Last day. It may be later than necessary.
    missing : {"midpoint", "refuse"}, default="midpoint"
        Whether a missing date becomes the middle of the range, or the table is rejected.
    range : {"auto", "private", "public"}, default="auto"
        Whether a fit spends part of its budget on estimating a narrower range, as for
        `Number`.

    Raises
    ------
    InvalidParameter
        The dates cannot be read, or the first is not before the last.

    Examples
    --------
    >>> from confide import Date
    >>> joined = Date("joined", "2010-01-01", "2024-12-31")
    >>> joined.features
    ('joined (per year)',)
    >>> joined.upper.year
    2024
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
    hint: ClassVar[str] = "for example lower = 2010-01-01, upper = 2024-12-31"
    examples: ClassVar[Mapping[str, str]] = {"lower": "2010-01-01", "upper": "2024-12-31"}

    def __post_init__(self) -> None:
        check_name(self.name)
        ends = (_plain_day(self.lower), _plain_day(self.upper))
        if ends[0] is None or ends[1] is None or not ends[0] < ends[1]:
            raise InvalidParameter(
                f"range of column {self.name!r}",
                "two dates such as 2024-12-31, lower before upper",
                tuple(map(str, (self.lower, self.upper))),
                "Choose limits that are known without looking at the table.",
            )
        check_rule(self.name, self.missing, ("midpoint", "refuse"))
        check_choice(f"range of column {self.name!r}", self.range, get_args(RangeSource))
        object.__setattr__(self, "lower", ends[0])
        object.__setattr__(self, "upper", ends[1])

    @property
    def features(self) -> tuple[str, ...]:
        """The name of the column, with the unit."""
        return (f"{self.name} (per year)",)

    @property
    def ends(self) -> tuple[float, float]:
        """The day numbers of the first and the last day."""
        return float(self.lower.toordinal()), float(self.upper.toordinal())

    @property
    def grid(self) -> RangeGrid | None:
        """Histogram grid for a private estimate of the range."""
        return RangeGrid.of_days(*self.ends, MIDDLE_DAY)

    def within(self, lower: float, upper: float) -> "Date":
        """Return the column with an estimated range, rounded outwards to whole days."""
        days = math.floor(lower), math.ceil(upper)
        first, last = (date.fromordinal(day) for day in days)
        return replace(self, lower=first, upper=last, range="public")

    def read(self, values: Any) -> AnyArray:
        """Return day numbers, and NaN for missing values."""
        return as_days(values, self.name)

    def shown(self, number: float) -> str:
        """Return the date with a given day number, in ISO format."""
        ends = date.min.toordinal(), date.max.toordinal()
        return date.fromordinal(min(max(round(number), ends[0]), ends[1])).isoformat()

    def shown_place(self, place: float) -> str:
        """Describe a position in the range, from −1 to 1, by its date."""
        first, last = self.ends
        day = date.fromordinal(round(first + (last - first) * (place + 1) / 2))
        return f"at {day.isoformat()}"

    def units(self) -> tuple[Array, float]:
        """Return the factor 2/width and the origin width/2, in years since ``lower``."""
        years = (self.upper - self.lower).days / DAYS_PER_YEAR
        return np.array([2 / years]), years / 2


def _plain_day(value: Any) -> date | None:
    """Return a date given as a date, a datetime or ISO text; None for anything else."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None
