"""Levels and bins by which records are counted, and the tables of these counts.

A cell is a level, a bin of numbers, or a group of special values. Cells are public, and the
cell of a value does not depend on other values. Missing, undeclared and out-of-range values
have separate cells, so every record is in exactly one cell of every table.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data import Number, Schema
from confide.data.schema.parse_values import level_codes
from confide.data.schema.range_grid import LARGEST_DOUBLE
from confide.errors import InvalidParameter

MISSING, UNDECLARED, BELOW, ABOVE = "missing", "undeclared", "below", "above"
WORDS = {False: "no", True: "yes"}
NICE = (1, 2, 5, 10)
"""Possible widths of bins, divided by a power of ten."""


@dataclass(frozen=True, slots=True)
class LevelCells:
    """One cell for every level, one for undeclared values and one for missing values."""

    name: str
    levels: tuple[Any, ...]
    kind: ClassVar[str] = "levels"

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the cells."""
        return (*map(str, self.levels), UNDECLARED, MISSING)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.levels) + 2

    def place(self, values: Any) -> AnyArray:
        """Return the index of the cell of every value."""
        other = len(self.levels)
        codes = level_codes(values, self.levels, f"column {self.name!r}", other=other)
        return np.where(codes < 0, other + 1, codes).astype(np.intp)


@dataclass(frozen=True, slots=True)
class TruthCells:
    """One cell for every possible value of a column, and one for missing values."""

    column: Any
    kind: ClassVar[str] = "levels"

    @property
    def name(self) -> str:
        """The name of the column."""
        name: str = self.column.name
        return name

    @property
    def levels(self) -> tuple[Any, ...]:
        """The possible values, in the order of their numeric codes."""
        values: tuple[Any, ...] = self.column.possible
        return values

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the cells."""
        return (*(WORDS.get(value, str(value)) for value in self.levels), MISSING)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.levels) + 1

    def place(self, values: Any) -> AnyArray:
        """Return the index of the cell of every value."""
        read = self.column.read(values)
        return np.where(np.isnan(read), len(self.levels), read).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class NumberCells:
    """Bins of a numeric column, and cells for smaller, larger and missing values.

    ``edges`` are the ends of the bins, after the transformation of the column if it has
    one. ``whole`` states whether the declared limits are whole numbers, in which case the
    edges lie between whole numbers.
    """

    column: Any
    edges: Array
    whole: bool
    kind: ClassVar[str] = "number"

    @property
    def name(self) -> str:
        """The name of the column."""
        name: str = self.column.name
        return name

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.bins + 3

    @property
    def shown_edges(self) -> Array:
        """The edges in the units of the table, limited to finite doubles."""
        edges = np.where(self.edges == math.ulp(0.0), 0.0, self.edges)
        with np.errstate(over="ignore"):
            shown = np.asarray(self.column.original(edges), dtype=np.float64)
        return np.clip(shown, -LARGEST_DOUBLE, LARGEST_DOUBLE)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the cells."""
        ends = [bin_label(self, low, high) for low, high in pairwise(self.shown_edges)]
        return (BELOW, *ends, ABOVE, MISSING)

    def show(self, value: float) -> str:
        """Format a value of the column as text."""
        text: str = self.column.shown(value)
        return text

    def place(self, values: Any) -> AnyArray:
        """Return the index of each value's cell; the last bin includes both of its ends."""
        read = np.asarray(self.column.read(values), dtype=np.float64)
        cell = np.searchsorted(self.edges, read, side="right")
        cell = np.where(read == self.edges[-1], self.bins, cell)
        return np.where(np.isnan(read), self.bins + 2, cell).astype(np.intp)


Cells: TypeAlias = LevelCells | TruthCells | NumberCells


def bin_label(cells: NumberCells, low: float, high: float) -> str:
    """Return the label of a bin: its ends, or its first and last whole number."""
    if cells.whole and high - low >= 1:
        low, high = math.ceil(low), math.floor(high)
        if low == high:
            return cells.show(low)
    return cells.show(low) if low == high else f"{cells.show(low)} to {cells.show(high)}"


def is_number(part: Any) -> bool:
    """Return whether a column has no list of possible values and is counted in bins."""
    return not part.levels and not getattr(part, "possible", ())


def level_cells(part: Any) -> LevelCells | TruthCells:
    """Return the cells of a column with a list of possible values."""
    if part.levels:
        return LevelCells(part.name, tuple(part.levels))
    return TruthCells(part)


def number_column(part: Any) -> Any:
    """Return the column itself or, for a target, a numeric column with the same range."""
    if hasattr(part, "read"):
        return part
    return Number(part.name, *part.ends)


def number_cells(part: Any, declared: Any, bins: int) -> NumberCells:
    """Return cells with about the given number of bins over the range of a column.

    ``declared`` is the column as declared in the schema, before its range was estimated.
    """
    column = number_column(part)
    lower, upper = column.ends
    whole = declared.whole
    width = max(nice_width((upper - lower) / bins), column.finest)
    shift = min(width, 1.0) / 2 if whole else 0.0
    first = math.floor((lower + shift) / width) * width - shift
    count = max(1, math.ceil((upper - first) / width * (1 - 1e-12)))
    edges = first + width * np.arange(count + 1.0)
    if lower <= 0 <= upper:
        # Many columns are 0 in most rows, so 0 has a bin of its own.
        around = (-shift, shift) if whole else (0.0, math.ulp(0.0))
        inside = [edge for edge in around if edges[0] <= edge <= edges[-1]]
        edges = np.union1d(edges, inside)
    return NumberCells(column, edges, whole)


def nice_width(least: float) -> float:
    """Round a width up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    if power >= 1:
        power = round(power)
    return float(next(one * power for one in NICE if one * power >= least * (1 - 1e-9)))


@dataclass(frozen=True, slots=True)
class Table:
    """Layout of a table of counts by one column, or of a cross-tabulation of two."""

    parts: tuple[Cells, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(cells.name for cells in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(cells.size for cells in self.parts)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)


def chosen_pairs(schema: Schema, pairs: Sequence[Sequence[str]]) -> tuple[Any, ...]:
    """Return the columns of the named pairs, or raise if a pair is invalid or repeated."""
    parts, found = schema.parts, []
    for pair in pairs:
        names = [pair] if isinstance(pair, str) else list(pair)
        if len(names) != 2 or len({*names}) != 2 or not {*names} <= {*parts}:
            raise InvalidParameter(
                "pairs",
                f"a list of pairs of different columns from {list(parts)}",
                names,
                'Write pairs=[("age", "region")].',
            )
        found.append((parts[names[0]], parts[names[1]]))
    if len({frozenset(names) for names in pairs}) != len(found):
        must = "different from each other"
        raise InvalidParameter("pairs", must, str([tuple(pair) for pair in pairs]))
    return tuple(found)
