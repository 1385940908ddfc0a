"""Kinds of columns: how one value becomes bounded numbers, by public knowledge alone.

Each column is encoded row by row, without looking at any other row. What is missing or
undeclared has a fixed meaning: a number becomes the middle of its range, a category the
all-zero vector. Numbers outside their range are clamped to it.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from confide._types import Array
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
        if not (np.isfinite([self.lower, self.upper]).all() and self.lower < self.upper):
            raise InvalidParameter(
                f"range of column {self.name!r}",
                "finite with lower below upper",
                (self.lower, self.upper),
            )

    @property
    def features(self) -> tuple[str, ...]:
        """The column itself."""
        return (self.name,)

    def encode(self, values: Any) -> Array:
        """Scale to [0, 1], clamp, and put what is missing in the middle."""
        numbers = as_numbers(values, self.name)
        width = self.upper - self.lower
        scaled = np.clip((numbers - self.lower) / width, 0.0, 1.0)
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
        if not self.levels or len(set(self.levels)) != len(self.levels):
            raise InvalidParameter(
                f"levels of column {self.name!r}", "listed once each", self.levels
            )

    @property
    def features(self) -> tuple[str, ...]:
        """One name per level."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    def encode(self, values: Any) -> Array:
        """Return an indicator per level."""
        codes = level_codes(values, self.levels)
        out = np.zeros((len(codes), len(self.levels)))
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1.0
        return out

    def units(self) -> tuple[Array, float]:
        """Return ones: an indicator has no unit."""
        return np.ones(len(self.levels)), 0.0


def as_numbers(values: Any, name: str) -> Array:
    """Read a column as doubles; what is missing becomes NaN."""
    try:
        numbers = pd.to_numeric(pd.Series(values), errors="raise")
        return np.array(numbers, dtype=np.float64)
    except (ValueError, TypeError):
        raise InvalidData(
            f"column {name!r} is declared as a number but holds something else. "
            "Declare it as a category, or convert it first."
        ) from None


def level_codes(values: Any, levels: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """Return the position of each value among the levels, −1 where it is none of them."""
    return np.asarray(pd.Categorical(values, categories=list(levels)).codes, dtype=np.intp)
