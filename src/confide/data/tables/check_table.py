"""A table held against its schema, for the eyes of whoever holds the data.

A fit says nothing about what it clamps or does not know, for that would tell about the
records. Here they are counted, and undeclared values named: what comes out is not private.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from confide._types import AnyArray
from confide.data.schema.columns import Category, Column, Date, Number
from confide.data.schema.parse_values import as_booleans, as_days, level_codes
from confide.data.schema.schema import Schema
from confide.data.schema.target import Target
from confide.data.tables.files import as_frame, open_table, walk
from confide.errors import InvalidData, closest

MOST_NAMED = 20
"""So many undeclared values of a column are named, the most frequent ones."""
MOST_KEPT = 2**16
"""So many of them are counted one by one; beyond that the rarest are let go."""


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A value that the schema does not know, and the declared one most like it."""

    value: str
    rows: int
    nearest: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """What stands in one column: in how many rows, and what a fit makes of it."""

    column: str
    kind: str
    missing: int = 0
    unreadable: int = 0
    outside: int = 0
    undeclared: int = 0
    named: tuple[Undeclared, ...] = ()
    refused: bool = False

    @property
    def fine(self) -> bool:
        """Whether every value is as declared."""
        return not (self.missing or self.unreadable or self.outside or self.undeclared)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A table held against its schema: not private, and not to be published."""

    rows: int
    absent: tuple[tuple[str, str | None], ...]
    extra: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        """Whether a fit would refuse this table."""
        return bool(self.absent) or any(finding.refused for finding in self.findings)


def compare_table(schema: Schema, source: str | Path) -> Comparison:
    """Count what in a table is not as its schema says, piece by piece.

    Reads private values, spends nothing, and guarantees nothing: the result is for the
    person who holds the data. A table is a file, a folder or a pattern.
    """
    table = open_table(source)
    held = table.names
    parts: tuple[Column | Target, ...] = (*schema.columns, schema.target)
    present = [part for part in parts if _name(part) in held]
    declared = {_name(part) for part in parts}
    extra = tuple(name for name in held if name not in declared)
    absent = tuple(
        (_name(part), closest(_name(part), extra)) for part in parts if part not in present
    )
    if not present:
        return Comparison(0, absent, extra, ())

    def look(piece: Any) -> tuple[int, list[Tally]]:
        frame = as_frame(piece)
        return len(frame), [_tally(part, frame[_name(part)]) for part in present]

    rows, tallies = 0, [Tally() for _ in present]
    sources = table.sources(_as_text(present), target=False)
    for count, found in walk(sources, look, table.expected):
        rows += count
        tallies = [whole + piece for whole, piece in zip(tallies, found, strict=True)]
    findings = map(_finding, present, tallies)
    return Comparison(rows, absent, extra, tuple(findings))


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one column; ``strange`` counts every undeclared value by itself."""

    missing: int = 0
    unreadable: int = 0
    outside: int = 0
    undeclared: int = 0
    strange: Counter[Any] = field(default_factory=Counter)

    def __add__(self, other: "Tally") -> "Tally":
        strange = self.strange + other.strange
        if len(strange) > MOST_KEPT:
            strange = Counter(dict(strange.most_common(MOST_KEPT // 2)))
        return Tally(
            self.missing + other.missing,
            self.unreadable + other.unreadable,
            self.outside + other.outside,
            self.undeclared + other.undeclared,
            strange,
        )


def _as_text(parts: Sequence[Column | Target]) -> Schema:
    """Declare columns so that nothing is refused: what is no category is read as text."""
    columns = tuple(_readable(part) for part in parts)
    unused = Target("\0".join(column.name for column in columns) + "\0", bound=1)
    return Schema(columns, unused)


def _readable(part: Column | Target) -> Category:
    levels = _levels(part)
    return Category(_name(part), levels or ("\0 ",))


def _finding(part: Column | Target, tally: Tally) -> Finding:
    """Say what a fit makes of a column that was counted."""
    levels = _levels(part)
    return Finding(
        _name(part),
        _kind(part),
        tally.missing,
        tally.unreadable,
        tally.outside,
        tally.undeclared,
        tuple(
            Undeclared(str(value), rows, _nearest(value, levels))
            for value, rows in tally.strange.most_common(MOST_NAMED)
        ),
        bool(tally.unreadable) or (bool(tally.missing) and part.missing == "refuse"),
    )


def _tally(part: Column | Target, values: pd.Series) -> Tally:
    """Count what in some rows of a column is not as declared."""
    missing = int(values.isna().sum())
    distinct, rows = _distinct(part, values)
    levels = _levels(part)
    if levels:
        strange = _strange(distinct, levels, _name(part))
        counts = Counter(
            dict(zip(distinct[strange].tolist(), rows[strange].tolist(), strict=True))
        )
        return Tally(missing, undeclared=counts.total(), strange=counts)
    numbers = _numbers(part, distinct)
    unreadable = np.isnan(numbers)
    lower, upper = _ends(part)
    outside = (numbers < lower) | (numbers > upper)
    return Tally(missing, int(rows[unreadable].sum()), int(rows[outside].sum()))


def _distinct(part: Column | Target, values: pd.Series) -> tuple[Any, AnyArray]:
    """Return distinct values and how often each occurs; of mere numbers all of them."""
    if isinstance(part, Number) and values.dtype.kind in "iuf":
        known = pd.Index(values.dropna())
        return known, np.ones(len(known), dtype=np.int64)
    counts = _counts(values, _name(part))
    return counts.index, counts.to_numpy()


def _counts(values: pd.Series, name: str) -> pd.Series:
    """Return how often every distinct value occurs, the most frequent first."""
    try:
        counts = values.value_counts()
    except TypeError:
        raise InvalidData(
            f"column {name!r} must hold plain values; it holds lists or other objects."
        ) from None
    counts = counts[counts > 0]
    if isinstance(counts.index.dtype, pd.CategoricalDtype):
        counts.index = pd.Index(counts.index.tolist())
    return counts


def _strange(distinct: Any, levels: tuple[Any, ...], name: str) -> AnyArray:
    """Tell which values are none of the levels; in another type none of them is."""
    try:
        return level_codes(distinct, levels, name) < 0
    except InvalidData:
        return np.ones(len(distinct), dtype=bool)


def _nearest(value: Any, levels: tuple[Any, ...]) -> str | None:
    return closest(str(value), [str(level) for level in levels])


def _numbers(part: Column | Target, distinct: Any) -> AnyArray:
    """Read values as numbers, NaN where that cannot be done."""
    if isinstance(part, Number | Target):
        if distinct.dtype.kind in "cmM":
            return np.full(len(distinct), np.nan)
        return np.array(pd.to_numeric(distinct, errors="coerce"), dtype=np.float64)
    read = as_days if isinstance(part, Date) else as_booleans
    with suppress(InvalidData):
        return np.array(read(distinct.tolist(), part.name), dtype=np.float64)
    return np.array([_one(read, value, part.name) for value in distinct], dtype=np.float64)


def _one(read: Any, value: Any, name: str) -> float:
    try:
        return float(read([value], name)[0])
    except InvalidData:
        return np.nan


def _ends(part: Column | Target) -> tuple[float, float]:
    match part:
        case Number():
            return float(part.lower), float(part.upper)
        case Date():
            return float(part.lower.toordinal()), float(part.upper.toordinal())
        case Target(ends=(lower, upper)):
            return lower, upper
        case _:
            return 0.0, 1.0


def _name(part: Column | Target) -> str:
    return part.column if isinstance(part, Target) else part.name


def _kind(part: Column | Target) -> str:
    if isinstance(part, Target):
        return "target"
    return part.kind


def _levels(part: Column | Target) -> tuple[Any, ...]:
    if isinstance(part, Target):
        return part.labels or ()
    return part.levels if isinstance(part, Category) else ()
