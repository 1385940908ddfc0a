"""The protocol for declared columns, the registry of their kinds, and two base classes.

A design matrix consists of scaled numbers and indicators. A declared column is therefore
either a `RangeColumn`, which becomes one number scaled from a declared range, or a
`LevelColumn`, which becomes one indicator per level. Each kind of column derives from one
of these classes, and defines only the fields of its declaration and how values are read.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from confide._registry import Registry
from confide._types import AnyArray, Array
from confide.data.schema.columns.lines import Lines
from confide.data.schema.parse_values import level_codes, read_each
from confide.data.schema.range_grid import RangeGrid
from confide.errors import InvalidData, InvalidParameter

COLUMNS: Registry[type[Any]] = Registry("kind of a column")
"""Column classes, by the ``kind`` that schema files give, such as "number"."""
TYPICAL_SHARE = 0.8
"""Assumed proportion of values in a typical range; half of the rest is on each side."""


@dataclass(frozen=True, slots=True, eq=False)
class Faults:
    """Masks of the values that are unreadable, out of range, or undeclared levels."""

    unreadable: AnyArray
    outside: AnyArray
    undeclared: AnyArray

    @classmethod
    def of_numbers(cls, numbers: AnyArray, ends: tuple[float, float]) -> "Faults":
        """Return masks for numbers, given their range; NaN means an unreadable value."""
        lower, upper = ends
        none = np.zeros(len(numbers), dtype=bool)
        return cls(np.isnan(numbers), (numbers < lower) | (numbers > upper), none)

    @classmethod
    def of_levels(cls, values: Any, levels: tuple[Any, ...], what: str) -> "Faults":
        """Return masks for values, given the levels; all are undeclared if types differ."""
        none = np.zeros(len(values), dtype=bool)
        try:
            return cls(none, none, level_codes(values, levels, what) < 0)
        except InvalidData:
            return cls(none, none, ~none)


class Part(Protocol):
    """Protocol for a declared column of a table, which may be the target."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """Name of the column in the table."""
        ...

    @property
    def missing(self) -> str:
        """Rule for missing values, such as "midpoint"; "refuse" rejects the table."""
        ...

    @property
    def levels(self) -> tuple[Any, ...]:
        """The declared levels; empty for numbers and dates."""
        ...

    @property
    def dtype(self) -> type[float] | type[str]:
        """Type in which text files are read: float, or str for text to be parsed later."""
        ...

    def faults(self, values: Any) -> Faults:
        """Return masks of the non-missing values that violate the declaration."""
        ...


class Column(Part, Protocol):
    """Protocol for a declared column, with the fields of its section in a schema file.

    ``coded`` is True for columns encoded as indicators, and False for columns encoded as
    one number. ``hint`` describes the kind of column in schema templates, and ``examples``
    contains example values of the required fields.

    Examples
    --------
    Features are derived from the limits of a number or from the levels of a category:

    >>> from confide import Category, Number
    >>> Number("age", lower=18, upper=90).ends
    (18.0, 90.0)
    >>> Category("region", ("north", "south")).features
    ('region=north', 'region=south')
    """

    coded: ClassVar[bool]
    hint: ClassVar[str]
    examples: ClassVar[Mapping[str, str]]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features into which the column is encoded."""
        ...

    @property
    def ends(self) -> tuple[float, float]:
        """The lower and the upper end of the range, which are encoded as −1 and 1."""
        ...

    @property
    def possible(self) -> tuple[Any, ...]:
        """All possible values of a discrete column; empty for other columns."""
        ...

    @property
    def per(self) -> str:
        """Description of the unit of the coefficients, such as "year"."""
        ...

    @property
    def grid(self) -> RangeGrid | None:
        """Histogram grid for a private estimate of the range; None if none is possible."""
        ...

    def read(self, values: Any) -> AnyArray:
        """Return one number per value: the index of its level, or the unscaled number."""
        ...

    def units(self) -> tuple[Array, float]:
        """Return factors and the origin, with feature = factor · (value − origin)."""
        ...

    def lines(self) -> Lines:
        """Return the lines of the coefficient table for this column."""
        ...

    @property
    def baseline(self) -> Array:
        """Weights of levels in the average used as their baseline; empty for a range."""
        ...

    @property
    def against(self) -> str:
        """Description of the baseline with which levels are compared; empty for a range."""
        ...

    @property
    def typical_ends(self) -> tuple[float, float] | None:
        """Limits between which about four in five values lie, if publicly known."""
        ...

    @property
    def shares(self) -> tuple[float, ...] | None:
        """Proportions of all possible values, if publicly known."""
        ...

    def moments(self) -> tuple[Array, Array]:
        """Return mean and covariance of the features for uniformly distributed values."""
        ...

    def mean_squares(self) -> Array:
        """Return the mean squares of the features without computing the covariance."""
        ...

    def centres(self, height: float, parts: int) -> Array:
        """Return one row of scaled features per level, or per part of the range."""
        ...


class RangeColumn:
    """Base class for columns encoded as one number in [−1, 1].

    The ends of the range become −1 and 1, and its middle becomes 0. Values beyond the ends
    are clamped. A subclass has the fields ``name`` and ``missing`` ("midpoint" or
    "refuse"), and defines ``ends`` and ``read``.

    Examples
    --------
    >>> from confide import Date, Number
    >>> from confide.data import RangeColumn
    >>> issubclass(Number, RangeColumn), issubclass(Date, RangeColumn)
    (True, True)
    """

    __slots__ = ()
    coded: ClassVar[bool] = False
    dtype: ClassVar[type[float] | type[str]] = str
    levels: ClassVar[tuple[Any, ...]] = ()
    possible: ClassVar[tuple[Any, ...]] = ()
    deviation: ClassVar[float] = 1 / math.sqrt(3)
    """Standard deviation of the uniform distribution on [−1, 1]."""
    finest: ClassVar[float] = 0.0
    """Smallest possible distance between two different values; 0 if unknown."""
    hint: ClassVar[str] = ""
    examples: ClassVar[Mapping[str, str]] = {}

    @property
    def typical_ends(self) -> tuple[float, float] | None:
        """None, because no typical range is declared."""
        return None

    @property
    def shares(self) -> tuple[float, ...] | None:
        """None, because no proportions are declared."""
        return None

    @property
    def grid(self) -> RangeGrid | None:
        """None, because the declared range is used unchanged."""
        return None

    @property
    def features(self: Column) -> tuple[str, ...]:
        """The name of the only feature, which is that of the column."""
        return (self.name,)

    @property
    def per(self) -> str:
        """The unit "1", because none is declared."""
        return "1"

    def faults(self: Column, values: Any) -> Faults:
        """Return masks of the non-missing values that are unreadable or out of range."""
        return Faults.of_numbers(read_each(self.read, values), self.ends)

    @property
    def whole(self) -> bool:
        """Whether the limits are declared as whole numbers."""
        return False

    def original(self, numbers: Any) -> Any:
        """Convert numbers returned by ``read`` back to values of the table."""
        return numbers

    def shown(self, number: float) -> str:
        """Format a number returned by ``read`` as text, in the units of the table."""
        return f"{number:.6g}"

    def units(self: Column) -> tuple[Array, float]:
        """Return 2/width as the factor, and the middle of the range as the origin."""
        lower, upper = self.ends
        return np.array([2 / (upper - lower)]), lower / 2 + upper / 2

    @property
    def baseline(self) -> Array:
        """An empty array, because a range has no levels."""
        return np.zeros(0)

    @property
    def against(self) -> str:
        """An empty string, because a range has no levels."""
        return ""

    def lines(self: Column) -> Lines:
        """Return one line of the coefficient table, for the only feature."""
        return Lines(self.features, np.eye(1), np.zeros(1))

    def place_of(self: Column, value: float) -> float | None:
        """Return the position of a number in the range, from −1 to 1; None if not known."""
        return None

    def shown_place(self, place: float) -> str:
        """Describe a position in the range, which is given on a scale from −1 to 1."""
        return f"at {50 * (place + 1):.3g} % of its range"

    def moments(self) -> tuple[Array, Array]:
        """Return mean and variance of the feature for uniformly distributed values."""
        return np.zeros(1), np.eye(1) * self.deviation**2

    def mean_squares(self) -> Array:
        """Return the variance, which is the mean square because the mean is 0."""
        return np.full(1, self.deviation**2)

    def centres(self, height: float, parts: int) -> Array:
        """Return the midpoints of equal parts of the interval from −height to height."""
        ends = np.linspace(-height, height, parts + 1)
        return ((ends[1:] + ends[:-1]) / 2)[:, None]


class LevelColumn:
    """Base class for columns encoded as indicators, of which at most one is 1.

    A subclass has the fields or properties ``name``, ``levels`` and ``missing``
    ("category" or "refuse"). The column has one feature per level, and optionally a last
    feature for undeclared values. Without this feature, all indicators of an undeclared
    value are 0.

    Examples
    --------
    >>> from confide import Category
    >>> from confide.data import LevelColumn
    >>> issubclass(Category, LevelColumn)
    True
    """

    __slots__ = ()
    coded: ClassVar[bool] = True
    dtype: ClassVar[type[float] | type[str]] = str
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    hint: ClassVar[str] = ""
    examples: ClassVar[Mapping[str, str]] = {}

    @property
    def typical_ends(self) -> tuple[float, float] | None:
        """None, because levels have no range."""
        return None

    @property
    def shares(self) -> tuple[float, ...] | None:
        """None, because no proportions are declared."""
        return None

    @property
    def grid(self) -> RangeGrid | None:
        """None, because levels have no range."""
        return None

    @property
    def features(self: Column) -> tuple[str, ...]:
        """One name per level."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    def read(self: Column, values: Any) -> AnyArray:
        """Return, for each value, the index of the indicator that is 1; −1 if all are 0."""
        other, what = len(self.levels), f"column {self.name!r}"
        has_other = len(self.features) > other
        if self.missing != "refuse":
            unknown = other if has_other else -1
            return level_codes(values, self.levels, what, other=unknown)
        codes = level_codes(values, self.levels, what, other=other)
        if (codes < 0).any():
            raise refuse_missing(self.name, "category")
        if not has_other:
            codes[codes == other] = -1
        return codes

    @property
    def possible(self: Column) -> tuple[Any, ...]:
        """The levels."""
        return self.levels

    @property
    def per(self: Column) -> str:
        """Description of the comparison that a coefficient expresses, in words."""
        count = len(self.features)
        return "level against none" if count == 1 else f"level, of {count}"

    def faults(self: Column, values: Any) -> Faults:
        """Return masks of the non-missing values that are not declared levels."""
        return Faults.of_levels(values, self.levels, self.name)

    def units(self: Column) -> tuple[Array, float]:
        """Return factors of 1, because an indicator has no unit."""
        return np.ones(len(self.features)), 0.0

    @property
    def baseline(self: Column) -> Array:
        """Weights, with sum 1, of the levels in the average used as their baseline."""
        count = len(self.features)
        return np.full(count, 1 / count)

    @property
    def against(self) -> str:
        """Description of the baseline with which levels are compared."""
        return "the average of the levels of its column"

    def lines(self: Column) -> Lines:
        """Return one line per level except a reference level, relative to the baseline.

        If levels may be missing or undeclared, the last line describes such rows.
        """
        features = self.features
        count = len(features)
        if count == 1:
            return Lines(features, np.eye(1), np.zeros(1))
        base = self.baseline
        shown = [place for place in range(count) if base[place] != 1]
        names = tuple(features[place] for place in shown)
        block: Any = sparse.eye_array(count, format="csr")[shown]
        kinds = [] if self.missing == "refuse" else ["missing"]
        kinds += ["undeclared"] if count == len(self.levels) else []
        if not kinds:
            return Lines(names, block, base, base)
        names = (*names, f"{self.name} ({' or '.join(kinds)})")
        block = sparse.vstack([block, sparse.csr_array((1, count))], format="csr")
        return Lines(names, block, base, base)

    def moments(self: Column) -> tuple[Array, Array]:
        """Return mean and covariance of the indicators for equally frequent levels."""
        count = len(self.features)
        if count == 1:
            return np.full(1, 0.5), np.full((1, 1), 0.25)
        even = np.full(count, 1 / count)
        return even, np.diag(even) - np.outer(even, even)

    def mean_squares(self: Column) -> Array:
        """Return the assumed proportion of rows in which each indicator is 1."""
        count = len(self.features)
        return np.full(count, 0.5 if count == 1 else 1 / count)

    def centres(self: Column, height: float, parts: int) -> Array:
        """Return one row of indicators per level, scaled to ``height``."""
        return height * np.eye(len(self.features))


def refuse_missing(name: str, instead: str) -> InvalidData:
    """Return the error for a missing value in a column that allows none."""
    return InvalidData(
        f"column {name!r} must have no missing values, because its schema has missing = "
        f'"refuse". Drop the rows without a value, or declare missing = "{instead}".'
    )


def check_name(name: Any) -> None:
    """Reject a column name that is not a non-empty string."""
    if not isinstance(name, str) or not name:
        raise InvalidParameter("name of a column", "text, not empty", name)


def check_rule(name: str, rule: Any, rules: tuple[str, ...]) -> None:
    """Reject a rule for missing values that the kind of column does not support."""
    if not isinstance(rule, str) or rule not in rules:
        raise InvalidParameter(f"missing of column {name!r}", f"one of {list(rules)}", rule)
