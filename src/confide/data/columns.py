"""Kinds of columns: how one value becomes bounded numbers, by public knowledge alone.

Each column is encoded row by row, without looking at any other row. What is missing or
undeclared has a fixed meaning: a number becomes the middle of its range, a category the
all-zero vector. Numbers outside their range are clamped to it.
"""

import numbers
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from confide._types import AnyArray, Array
from confide.errors import InvalidData, InvalidParameter


class Column(Protocol):
    """A declared column."""

    @property
    def name(self) -> str:
        """Its name in the table."""
        ...

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the numbers it becomes."""
        ...

    def encode(self, values: Any) -> Array:
        """Return one row of numbers, of length at most 1, for every value."""
        ...

    def units(self) -> tuple[Array, float]:
        """Return what turns coefficients back: a factor per feature, and an origin."""
        ...


@dataclass(frozen=True, slots=True)
class Number:
    """A number between two public bounds, scaled to [0, 1]."""

    name: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        ends = (self.lower, self.upper)
        if not (
            all(isinstance(end, numbers.Real) for end in ends)
            and self.lower < self.upper
            and np.isfinite(float(self.upper) - float(self.lower))
        ):
            raise InvalidParameter(
                f"range of column {self.name!r}",
                "two finite numbers, lower below upper",
                ends,
                "Take what is known without looking at the table.",
            )

    @property
    def features(self) -> tuple[str, ...]:
        """The column itself."""
        return (str(self.name),)

    def encode(self, values: Any) -> Array:
        """Scale to [0, 1], clamp, and put what is missing in the middle."""
        scaled = as_numbers(values, self.name)
        np.clip(scaled, self.lower, self.upper, out=scaled)
        scaled -= self.lower
        scaled /= self.upper - self.lower
        scaled[np.isnan(scaled)] = 0.5
        return scaled[:, None]

    def units(self) -> tuple[Array, float]:
        """Return 1/width, and the lower bound as origin."""
        return np.array([1 / (self.upper - self.lower)]), self.lower


@dataclass(frozen=True, slots=True)
class Category:
    """One of some public levels, as indicators; anything else is all zeros."""

    name: str
    levels: tuple[Any, ...]

    def __post_init__(self) -> None:
        levels = check_levels(f"levels of column {self.name!r}", self.levels, least=1)
        object.__setattr__(self, "levels", levels)

    @property
    def features(self) -> tuple[str, ...]:
        """One name per level."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    def encode(self, values: Any) -> Array:
        """Return an indicator per level."""
        codes = level_codes(values, self.levels, f"column {self.name!r}")
        out = np.zeros((len(codes), len(self.levels)))
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1.0
        return out

    def units(self) -> tuple[Array, float]:
        """Return ones: an indicator has no unit."""
        return np.ones(len(self.levels)), 0.0


def as_numbers(values: Any, name: str) -> Array:
    """Read a column as doubles; what is missing becomes NaN."""
    column = pd.Series(values)
    try:
        if column.dtype.kind not in "cmM":
            return np.array(pd.to_numeric(column), dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        pass
    raise InvalidData(
        f"column {name!r} is declared as a number but holds something else. Declare it as "
        "a category, or convert it first."
    )


def check_levels(what: str, levels: Any, least: int) -> tuple[Any, ...]:
    """Return public levels as a tuple: listed once each, none of them missing."""
    try:
        found = () if isinstance(levels, str) else tuple(levels)
        fine = len(set(found)) == len(found) >= least and not any(map(pd.isna, found))
    except TypeError:
        fine = False
    if not fine:
        count = "one level or more" if least == 1 else "two labels or more"
        raise InvalidParameter(
            what, f"a list of {count}, each once and none missing", levels
        )
    return found


def level_codes(values: Any, levels: tuple[Any, ...], what: str) -> AnyArray:
    """Return the position of each value among the levels, −1 where it is none of them.

    True and False equal 1 and 0. Where a column of text meets levels that are all
    numbers, or the other way round, nothing could ever match: that is refused.
    """
    column, known = pd.Index(pd.Series(values)), pd.Index(levels)
    text = isinstance(column.dtype, pd.StringDtype)
    typed = text or pd.api.types.is_numeric_dtype(column.dtype)
    if typed and not any(isinstance(level, str) is text for level in levels):
        if column.isna().all():
            return np.full(len(column), -1, dtype=np.intp)
        holds, none = ("text", "text") if text else ("numbers", "a number")
        raise InvalidData(
            f"{what} holds {holds}, but none of its declared values is {none}. Declare "
            "them in the type that the table holds, or convert the table first."
        )
    if "boolean" in map(pd.api.types.infer_dtype, (column, known)):
        column, known = column.astype(object), known.astype(object)
    return np.asarray(known.get_indexer(column), dtype=np.intp)
