"""Kinds of columns: numbers, categories, booleans and dates.

Each value is encoded independently of all other rows. The treatment of missing, undeclared
and out-of-range values is fixed in advance:

=========  =================================  ==================  =========================
kind       encoding                           out of range        missing
=========  =================================  ==================  =========================
number     position in the range, ±1 at the   clamped             midpoint, or rejected
           ends and 0 in the middle
date       position in the range, as above    clamped             midpoint, or rejected
boolean    1 or −1                            rejected            midpoint, or rejected
category   one indicator per level            all zeros, or the   all zeros (a separate
                                              indicator "other"   category), or rejected
=========  =================================  ==================  =========================
"""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
)
from confide.data.schema.columns.plan_facts import (
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

NARROWEST_RANGE = 1e-100
"""Smallest width of a range; narrower ranges are rejected."""
OTHER = "other"

Middle = Literal["midpoint", "refuse"]
RangeSource = Literal["auto", "private", "public"]
Apart = Literal["category", "refuse"]


@COLUMNS.register("number")
@dataclass(frozen=True, slots=True)
class Number(RangeColumn):
    """A number between two public limits, scaled to [−1, 1].

    Values beyond the limits are clamped to them.

    Parameters
    ----------
    name : str
        Name of the column in the table.
    lower : float, optional
        Public lower limit. It may be lower than necessary, or omitted.
    upper : float, optional
        Public upper limit. It may be higher than necessary, or omitted.
    unit : str, default=""
        Name of the unit, for display. Coefficients are effects per unit.
    missing : {"midpoint", "refuse"}, default="midpoint"
        Whether a missing value becomes the middle of the range, or the table is rejected.
    range : {"auto", "private", "public"}, default="auto"
        "private" spends part of the privacy budget of a fit on estimating a narrower range;
        "public" uses the limits unchanged; "auto" leaves the choice to the fit, which
        always estimates the range if a limit is missing.
    transform : {"none", "log", "signed-log", "sqrt"}, default="none"
        Function that is applied to the number before scaling, so that the model is linear
        in the transformed number; "signed-log" is sign(x)·log(1 + |x|).
    typical : tuple of two floats, optional
        Numbers between which about four in five values lie, if this is publicly known. They
        make plans more accurate; fits do not use them.

    Raises
    ------
    InvalidParameter
        A field has a wrong type or an invalid value.

    Examples
    --------
    The middle of the range becomes 0, and an age of 120 is clamped to 100:

    >>> from confide import Number, Schema, Target
    >>> import pandas as pd
    >>> age = Number("age", lower=0, upper=100, unit="year")
    >>> schema = Schema((age,), Target("y", bound=1))
    >>> schema.encode(pd.DataFrame({"age": [50, 120]})).ravel().tolist()
    [0.0, 1.0]
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
        'for example lower = 0, upper = 120 (or omit both); optionally unit = "year"'
    )
    examples: ClassVar[Mapping[str, str]] = {"lower": "0", "upper": "120"}

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.unit, str):
            raise InvalidParameter(f"unit of column {self.name!r}", "text", self.unit)
        check_rule(self.name, self.missing, ("midpoint", "refuse"))
        check_choice(f"range of column {self.name!r}", self.range, get_args(RangeSource))
        what = f"transform of column {self.name!r}"
        check_choice(what, self.transform, tuple(TRANSFORMS))
        for end in ("lower", "upper"):
            object.__setattr__(self, end, self._plain_limit(getattr(self, end)))
        if self.has_limits and not self.lower < self.upper:  # type: ignore[operator]
            raise self._no_range()
        if not _is_range(*self._ends) or not (self.has_limits or self.grid):
            raise self._no_range()
        if self.range == "public" and not self.has_limits:
            raise InvalidParameter(
                f"column {self.name!r}",
                'given lower and upper if range = "public"',
                (self.lower, self.upper),
                'Declare both, or write range = "private" to estimate the range privately.',
            )
        least = TRANSFORMS[self.transform].least if self.lower is None else self.lower
        found = plain_typical(f"column {self.name!r}", self.typical, (least, self.upper))
        object.__setattr__(self, "typical", found)

    @property
    def typical_ends(self) -> tuple[float, float] | None:
        """The typical range on the transformed scale."""
        if self.typical is None:
            return None
        apply = TRANSFORMS[self.transform].apply
        low, high = (float(apply(np.float64(end))) for end in self.typical)
        return low, high

    def _plain_limit(self, value: Any) -> Any:
        """Check a limit, and return it as an int or float; None stays None."""
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
            "Choose limits that are known without looking at the table.",
        )

    @property
    def _limits(self) -> tuple[Any, Any]:
        """The limits on the transformed scale; None for a missing limit."""
        apply = TRANSFORMS[self.transform].apply
        pair = (self.lower, self.upper)
        lower, upper = (None if x is None else float(apply(np.float64(x))) for x in pair)
        return lower, upper

    @property
    def label(self) -> str:
        """The name of the column, with its transform."""
        if self.transform == "none":
            return self.name
        return f"{self.transform}({self.name})"

    @property
    def features(self) -> tuple[str, ...]:
        """The name of the column, with its unit or transform."""
        plain = self.transform == "none" and self.unit
        return (f"{self.name} (per {self.unit})" if plain else self.label,)

    @property
    def ends(self) -> tuple[float, float]:
        """The transformed limits; ends of the histogram grid if a limit is missing."""
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
        """Histogram grid for estimating the range; None if the range is too narrow."""
        pair = (self.lower, self.upper)
        own = [0.0 if limit is None else float(limit) for limit in pair]
        width = own[1] - own[0]
        apart = not self.has_limits or width >= SMALLEST_PART * max(map(abs, own))
        return self._grid if apart and is_divisible(*self._ends) else None

    @property
    def per(self) -> str:
        """Unit of the coefficient; "half of its range" if the range is not known yet."""
        if not self.has_limits:
            return "half of its range"
        if self.transform == "none":
            return self.unit or "1"
        return f"1 of {self.label}"

    def units(self) -> tuple[Array, float]:
        """Return the scale factor and the origin; 1 and 0 if a limit is missing."""
        if not self.has_limits:
            return np.ones(1), 0.0
        return RangeColumn.units(self)

    @property
    def whole(self) -> bool:
        """Whether both limits are whole numbers and no transform is used."""
        ends = (self.lower, self.upper)
        return self.transform == "none" and all(isinstance(end, int) for end in ends)

    def original(self, numbers: Any) -> Any:
        """Invert the transform, to obtain values of the table."""
        return TRANSFORMS[self.transform].invert(numbers)

    def place_of(self, value: float) -> float | None:
        """Return the position of a number strictly inside the limits, scaled to [−1, 1].

        Returns None for other numbers, and if a limit is missing.
        """
        lower, upper = self._ends
        if not self.has_limits or not self.lower < value < self.upper:  # type: ignore[operator]
            return None
        own = float(TRANSFORMS[self.transform].apply(np.float64(value)))
        return (own - (lower / 2 + upper / 2)) / (upper / 2 - lower / 2)

    def shown_place(self, place: float) -> str:
        """Describe a position by its number, or by a percentage if the range is unknown."""
        if not self.has_limits:
            return RangeColumn.shown_place(self, place)
        lower, upper = self._ends
        found = TRANSFORMS[self.transform].invert(lower + (upper - lower) * (place + 1) / 2)
        return f"at {float(found):.4g}"

    def within(self, lower: float, upper: float) -> "Number":
        """Return the column with an estimated range, given on the transformed scale."""
        invert = TRANSFORMS[self.transform].invert
        ends = float(invert(np.float64(lower))), float(invert(np.float64(upper)))
        typical = None if self.typical is None else inside(self.typical, ends)
        return replace(self, lower=ends[0], upper=ends[1], range="public", typical=typical)

    def read(self, values: Any) -> AnyArray:
        """Return transformed numbers, and NaN for missing values."""
        found = as_numbers(values, self.name)
        return found if self.transform == "none" else transformed(found, self.transform)

    def faults(self, values: Any) -> Faults:
        """Return masks of the non-missing values that are unreadable or out of range."""
        lower = -math.inf if self.lower is None else float(self.lower)
        upper = math.inf if self.upper is None else float(self.upper)
        return Faults.of_numbers(numbers_or_nan(values), (lower, upper))


@COLUMNS.register("category")
@dataclass(frozen=True, slots=True)
class Category(LevelColumn):
    """A categorical column with public levels, encoded as one indicator per level.

    Parameters
    ----------
    name : str
        Name of the column in the table.
    levels : sequence
        The public levels: strings, numbers or Booleans.
    other : bool, default=False
        Whether undeclared values share an indicator named "other". Otherwise all
        indicators of such a value are 0.
    missing : {"category", "refuse"}, default="category"
        Whether all indicators of a missing value are 0, or the table is rejected.
    share : sequence of float or mapping, optional
        Proportions of the levels, if publicly known: a sequence with one proportion per
        level, or a mapping for some of the levels. Plans use these proportions, and
        summaries compare each level with the average of the levels weighted by them.
        Coefficients do not depend on them.
    reference : object, optional
        Level with which summaries compare the other levels, instead of an average.

    Raises
    ------
    InvalidParameter
        A field has a wrong type or an invalid value.

    Examples
    --------
    >>> from confide import Category
    >>> ward = Category("ward", ("medicine", "surgery"), reference="medicine")
    >>> ward.features
    ('ward=medicine', 'ward=surgery')
    >>> ward.against
    'medicine'
    """

    name: str
    levels: tuple[Any, ...]
    other: bool = False
    missing: Apart = "category"
    share: Any = None
    reference: Any = None
    kind: ClassVar[str] = "category"
    hint: ClassVar[str] = (
        'for example levels = ["a", "b"]; optionally reference = "a", other = true '
        "(a level for all other values)"
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
                "a list without 'other', because other = true puts undeclared values into "
                "a level of that name",
                levels,
                "Rename the level, or set other = false.",
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
        """Weights of the levels in the baseline with which they are compared.

        If there is a reference level, it has weight 1 and the others 0. Otherwise, weights
        are proportional to ``share`` or, without public proportions, equal.
        """
        count = len(self.features)
        if self.reference is not None:
            return np.eye(count)[self._set_levels.index(self.reference)]
        shares = np.array(self.share or (), dtype=float)
        if not shares.sum() > 0:
            return np.full(count, 1 / count)
        return np.asarray(shares / shares.sum())

    @property
    def against(self) -> str:
        """Description of the baseline with which levels are compared."""
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
        """Proportions of rows in which each indicator is 1, if publicly known."""
        found: tuple[float, ...] | None = self.share
        return found

    @property
    def features(self) -> tuple[str, ...]:
        """One name per level."""
        return tuple(f"{self.name}={level}" for level in self._set_levels)


@COLUMNS.register("boolean")
@dataclass(frozen=True, slots=True)
class Boolean(RangeColumn):
    """A yes/no column, written as true and false, yes and no, or 1 and 0.

    The coefficient is the effect of yes compared with no.

    Parameters
    ----------
    name : str
        Name of the column in the table.
    missing : {"midpoint", "refuse"}, default="midpoint"
        Whether a missing value is encoded halfway between no and yes, or the table is
        rejected.
    share : float, optional
        Proportion of yes, if publicly known. Plans use it; fits do not.

    Examples
    --------
    >>> from confide import Boolean
    >>> Boolean("smoker", share=0.2).shares
    (0.8, 0.2)
    >>> Boolean("smoker").read(["yes", "no"]).tolist()
    [1.0, 0.0]
    """

    name: str
    missing: Middle = "midpoint"
    share: float | None = None
    kind: ClassVar[str] = "boolean"
    hint: ClassVar[str] = "no further fields; values are true/false, yes/no or 1/0"
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
        """Proportions of no and yes, if publicly known."""
        return None if self.share is None else (1 - self.share, self.share)

    def read(self, values: Any) -> AnyArray:
        """Return 1 for yes, 0 for no, and NaN for missing values."""
        return as_booleans(values, self.name)


def _plain_number(value: Any) -> Any:
    """Return a real number as an int or float; None for anything else."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return None
    try:
        double = float(value)
    except (OverflowError, ValueError):
        return None
    return int(value) if isinstance(value, numbers.Integral) else double


def check_choice(what: str, value: Any, known: tuple[str, ...]) -> None:
    """Reject a value that is not one of the known options."""
    if not isinstance(value, str) or value not in known:
        raise InvalidParameter(what, f"one of {list(known)}", value)


def _is_range(lower: Any, upper: Any) -> bool:
    width = float(upper) - float(lower)
    return bool(np.isfinite(width) and width >= NARROWEST_RANGE)
