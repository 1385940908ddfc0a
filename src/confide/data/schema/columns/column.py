"""The protocol of a column, the registry of its kinds, and the two encodings they share.

A design matrix holds numbers and indicators. A column is therefore a `RangeColumn`, one
number with its place between two ends, or a `LevelColumn`, an indicator for every level.
A kind derives from one of them and says how it is declared and how its values are read;
everything else that is asked of a column follows from its encoding.
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
"""The kinds of columns by the names that a schema file calls them."""
TYPICAL_SHARE = 0.8
"""Share of the values in a typical range; half of the rest lies on each side."""


@dataclass(frozen=True, slots=True, eq=False)
class Faults:
    """Faults of values: unreadable, out of range, or an undeclared level."""

    unreadable: AnyArray
    outside: AnyArray
    undeclared: AnyArray

    @classmethod
    def of_numbers(cls, numbers: AnyArray, ends: tuple[float, float]) -> "Faults":
        """Compare numbers, NaN where a value cannot be read, with their range."""
        lower, upper = ends
        none = np.zeros(len(numbers), dtype=bool)
        return cls(np.isnan(numbers), (numbers < lower) | (numbers > upper), none)

    @classmethod
    def of_levels(cls, values: Any, levels: tuple[Any, ...], what: str) -> "Faults":
        """Compare values with levels; in another type none of them is a level."""
        none = np.zeros(len(values), dtype=bool)
        try:
            return cls(none, none, level_codes(values, levels, what) < 0)
        except InvalidData:
            return cls(none, none, ~none)


class Part(Protocol):
    """A declared part of a table: a column or the target."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """Its name in the table."""
        ...

    @property
    def missing(self) -> str:
        """Rule for missing values; "refuse" rejects the table."""
        ...

    @property
    def levels(self) -> tuple[Any, ...]:
        """The declared values where they can be listed, else none."""
        ...

    @property
    def dtype(self) -> type[float] | type[str]:
        """The type of its cells in a file of text: numbers, or text to be read later."""
        ...

    def faults(self, values: Any) -> Faults:
        """Return which of some known values differ from the declaration; reject none."""
        ...


class Column(Part, Protocol):
    """A declared column: a frozen dataclass whose fields are its section of a schema file.

    ``coded`` distinguishes the two encodings, one number or indicators. ``hint`` describes
    the kind in templates, and ``examples`` are values for its required fields.

    Examples
    --------
    Every kind has features and the ends or levels that they come from:

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
        """The names of the numbers it becomes."""
        ...

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest number; those of a range become −1 and 1."""
        ...

    @property
    def possible(self) -> tuple[Any, ...]:
        """All values that it may have, where they can be listed, else none."""
        ...

    @property
    def per(self) -> str:
        """The unit of its coefficients, in words."""
        ...

    @property
    def grid(self) -> RangeGrid | None:
        """The cells in which a fit may look for a range; None if it has no range to buy."""
        ...

    def read(self, values: Any) -> AnyArray:
        """Return one number for every value: the place of a level, or the number itself."""
        ...

    def units(self) -> tuple[Array, float]:
        """Return what turns coefficients back: a factor per feature, and an origin."""
        ...

    def lines(self) -> Lines:
        """Return how its coefficients are shown."""
        ...

    @property
    def baseline(self) -> Array:
        """What levels are compared with: a weight for each; nothing for a range."""
        ...

    @property
    def against(self) -> str:
        """Description of the baseline of levels; empty for a range."""
        ...

    @property
    def typical_ends(self) -> tuple[float, float] | None:
        """Numbers between which four in five values lie, if public."""
        ...

    @property
    def shares(self) -> tuple[float, ...] | None:
        """Shares of all possible values, if public."""
        ...

    def moments(self) -> tuple[Array, Array]:
        """Return mean and covariance of the features, for values spread evenly."""
        ...

    def mean_squares(self) -> Array:
        """Return the mean squares that `moments` imply, without their covariance."""
        ...

    def centres(self, height: float, parts: int) -> Array:
        """Return cells of the features at a height, a row each; a range has ``parts``."""
        ...


class RangeColumn:
    """Base class for columns that become one number: −1 and 1 at the ends, 0 in the middle.

    A kind has the fields ``name`` and ``missing`` ("midpoint" or "refuse"), and defines its
    ``ends`` and how values are ``read``. Values beyond the ends are clamped.

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
    """That of values spread evenly from −1 to 1."""
    finest: ClassVar[float] = 0.0
    """No two values are closer to each other, as far as the kind says."""
    hint: ClassVar[str] = ""
    examples: ClassVar[Mapping[str, str]] = {}

    @property
    def typical_ends(self) -> tuple[float, float] | None:
        """None: nothing is known."""
        return None

    @property
    def shares(self) -> tuple[float, ...] | None:
        """None: nothing is known."""
        return None

    @property
    def grid(self) -> RangeGrid | None:
        """None: a range that is declared is the range."""
        return None

    @property
    def features(self: Column) -> tuple[str, ...]:
        """The column itself."""
        return (self.name,)

    @property
    def per(self) -> str:
        """A unit without a name."""
        return "1"

    def faults(self: Column, values: Any) -> Faults:
        """Return which of some known values cannot be read or lie beyond the ends."""
        return Faults.of_numbers(read_each(self.read, values), self.ends)

    @property
    def whole(self) -> bool:
        """Whether limits are declared as whole numbers."""
        return False

    def original(self, numbers: Any) -> Any:
        """Return numbers as a table has them, from those that were read."""
        return numbers

    def shown(self, number: float) -> str:
        """Return a number as a table has it, for readers."""
        return f"{number:.6g}"

    def units(self: Column) -> tuple[Array, float]:
        """Return 2/width, and the middle as origin."""
        lower, upper = self.ends
        return np.array([2 / (upper - lower)]), lower / 2 + upper / 2

    @property
    def baseline(self) -> Array:
        """Nothing: a range has no levels."""
        return np.zeros(0)

    @property
    def against(self) -> str:
        """Nothing: a range has no levels."""
        return ""

    def lines(self: Column) -> Lines:
        """Return a line for the feature."""
        return Lines(self.features, np.eye(1), np.zeros(1))

    def place_of(self: Column, value: float) -> float | None:
        """Return where a number lies in the range, as −1 to 1; None if that is unknown."""
        return None

    def shown_place(self, place: float) -> str:
        """Describe where in the range a place from −1 to 1 is."""
        return f"at {50 * (place + 1):.3g} % of its range"

    def moments(self) -> tuple[Array, Array]:
        """Return mean and variance of values spread evenly."""
        return np.zeros(1), np.eye(1) * self.deviation**2

    def mean_squares(self) -> Array:
        """Return the variance: the mean is 0."""
        return np.full(1, self.deviation**2)

    def centres(self, height: float, parts: int) -> Array:
        """Return the middles of equal parts of the range."""
        ends = np.linspace(-height, height, parts + 1)
        return ((ends[1:] + ends[:-1]) / 2)[:, None]


class LevelColumn:
    """Base class for columns that become indicators, of which at most one is 1.

    A kind has the fields or properties ``name``, ``levels`` and ``missing`` ("category" or
    "refuse"). It has a feature for every level, and possibly a last one for undeclared
    values; without that, all indicators of an undeclared value are 0.

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
        """None: levels have no range."""
        return None

    @property
    def shares(self) -> tuple[float, ...] | None:
        """None: nothing is known."""
        return None

    @property
    def grid(self) -> RangeGrid | None:
        """None: levels have no range."""
        return None

    @property
    def features(self: Column) -> tuple[str, ...]:
        """One name per level."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    def read(self: Column, values: Any) -> AnyArray:
        """Return which indicator every value sets, −1 for none."""
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
        """What a level is compared with."""
        count = len(self.features)
        return "level against none" if count == 1 else f"level, of {count}"

    def faults(self: Column, values: Any) -> Faults:
        """Return which of some known values are not levels."""
        return Faults.of_levels(values, self.levels, self.name)

    def units(self: Column) -> tuple[Array, float]:
        """Return ones: an indicator has no unit."""
        return np.ones(len(self.features)), 0.0

    @property
    def baseline(self: Column) -> Array:
        """What levels are compared with: a weight for each, which add up to 1."""
        count = len(self.features)
        return np.full(count, 1 / count)

    @property
    def against(self) -> str:
        """What levels are compared with, in words."""
        return "the average of the levels of its column"

    def lines(self: Column) -> Lines:
        """Return levels against the baseline, and a line for rows without a level."""
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
        """Return mean and covariance for equally frequent levels."""
        count = len(self.features)
        if count == 1:
            return np.full(1, 0.5), np.full((1, 1), 0.25)
        even = np.full(count, 1 / count)
        return even, np.diag(even) - np.outer(even, even)

    def mean_squares(self: Column) -> Array:
        """Return how often each indicator is 1."""
        count = len(self.features)
        return np.full(count, 0.5 if count == 1 else 1 / count)

    def centres(self: Column, height: float, parts: int) -> Array:
        """Return a cell for every indicator."""
        return height * np.eye(len(self.features))


def refuse_missing(name: str, instead: str) -> InvalidData:
    """Return the error for a missing value that must be known."""
    return InvalidData(
        f"column {name!r} must have no missing values, because its schema says missing = "
        f'"refuse". Drop the rows without a value, or declare missing = "{instead}".'
    )


def check_name(name: Any) -> None:
    """Reject anything that is not a name of a column."""
    if not isinstance(name, str) or not name:
        raise InvalidParameter("name of a column", "text", name)


def check_rule(name: str, rule: Any, rules: tuple[str, ...]) -> None:
    """Reject a rule for missing values that a kind does not have."""
    if not isinstance(rule, str) or rule not in rules:
        raise InvalidParameter(f"missing of column {name!r}", f"one of {list(rules)}", rule)
