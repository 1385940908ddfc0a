"""How a target becomes numbers, record by record; each way can travel to where rows are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data.schema.parse_values import as_cells
from confide.errors import InvalidData
from confide.estimators._validate import label_codes, read_numbers

ReadTarget: TypeAlias = Callable[[Any, int], AnyArray]
"""From a column of a table and its length to the target as it is kept."""
Code: TypeAlias = Callable[[AnyArray], Array]
"""From the target as it is kept to what a loss takes."""


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """What was found in the target: labels that nobody declared, how many targets."""

    labels: AnyArray | None = None
    responses: int = 1


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """Labels, as their places among the classes; −1 for none of them."""

    classes: tuple[Any, ...]

    def __call__(self, y: Any, count: int) -> AnyArray:
        """Read a column of labels."""
        return label_codes(y, count, self.classes)


@dataclass(frozen=True, slots=True)
class OneVsRest:
    """1 for the class at a place, −1 for all others."""

    place: int

    def __call__(self, places: AnyArray) -> Array:
        """Code labels that were read as places."""
        coding: Array = (places == self.place).astype(np.float64)
        coding *= 2
        coding -= 1
        return coding


@dataclass(frozen=True, slots=True)
class ScaledTarget:
    """Numbers around an origin, in units, within ±1."""

    origin: float
    unit: float

    def __call__(self, y: Any, count: int) -> Array:
        """Read a column of numbers."""
        target = (read_numbers(y, count) - self.origin) / self.unit
        return np.clip(target, -1.0, 1.0, out=target)


@dataclass(frozen=True, slots=True)
class ClippedCounts:
    """Counts from 0 to a bound."""

    most: float

    def __call__(self, y: Any, count: int) -> Array:
        """Read a column of counts."""
        return np.clip(read_numbers(y, count), 0.0, self.most)


@dataclass(frozen=True, slots=True)
class ScaledTargets:
    """Several columns of numbers, in units of their bound, within ±1."""

    bound: float

    def __call__(self, y: Any, count: int) -> Array:
        """Read a table of numbers; one column alone becomes a plain vector."""
        table = as_table(y)
        target = np.column_stack([read_numbers(column, count) for column in table.T])
        np.clip(target / self.bound, -1.0, 1.0, out=target)
        return target[:, 0] if target.shape[1] == 1 else target


def as_table(y: Any) -> AnyArray:
    """Return targets as a table with a column for each."""
    try:
        table = np.asarray(as_cells(y))
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2 or not table.shape[1]:
        raise InvalidData("the targets y must be a table with a column for each.")
    return table


def as_read(target: AnyArray) -> Array:
    """Take the target as it is kept."""
    return target
