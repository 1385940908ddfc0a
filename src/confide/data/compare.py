"""A table held against its schema, for the eyes of whoever holds the data.

A fit says nothing about what it clamps or does not know, for that would tell about the
records. Here they are counted, and undeclared values named: what comes out is not private.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from confide._types import AnyArray
from confide.data.columns import Category, Column, Date, Number
from confide.data.delimited import read_header
from confide.data.schema import Schema
from confide.data.tables import is_parquet, parquet_names, read_table
from confide.data.target import Target
from confide.data.values import as_days, as_truths, level_codes
from confide.errors import InvalidData, closest

MOST_NAMED = 20
"""So many undeclared values of a column are named, the most frequent ones."""


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


def compare_table(schema: Schema, path: str | Path) -> Comparison:
    """Count what in a table is not as its schema says.

    Reads private values, spends nothing, and guarantees nothing: the result is for the
    person who holds the data.
    """
    path = Path(path)
    held = parquet_names(path) if is_parquet(path) else read_header(path)[0]
    parts: tuple[Column | Target, ...] = (*schema.columns, schema.target)
    present = [part for part in parts if _name(part) in held]
    declared = {_name(part) for part in parts}
    extra = tuple(name for name in held if name not in declared)
    absent = tuple(
        (_name(part), closest(_name(part), extra)) for part in parts if part not in present
    )
    if not present:
        return Comparison(0, absent, extra, ())
    frame = _as_text(path, present)
    findings = tuple(_finding(part, frame[_name(part)]) for part in present)
    return Comparison(len(frame), absent, extra, findings)


def _as_text(path: Path, parts: Sequence[Column | Target]) -> pd.DataFrame:
    """Read columns so that nothing is refused: what is no category is read as text."""
    columns = tuple(_readable(part) for part in parts)
    unused = Target("\0".join(column.name for column in columns) + "\0", bound=1)
    return read_table(path, Schema(columns, unused), target=False)


def _readable(part: Column | Target) -> Category:
    levels = _levels(part)
    return Category(_name(part), levels or ("\0",))


def _finding(part: Column | Target, values: pd.Series) -> Finding:
    name, kind = _name(part), _kind(part)
    missing = int(values.isna().sum())
    refused = bool(missing) and part.missing == "refuse"
    counts = _counts(values, name)
    distinct, rows = counts.index, counts.to_numpy()
    levels = _levels(part)
    if levels:
        strange = _strange(distinct, levels, name)
        named = tuple(
            Undeclared(str(value), int(count), _nearest(value, levels))
            for value, count in zip(distinct[strange], rows[strange], strict=True)
        )
        total = int(rows[strange].sum())
        return Finding(
            name,
            kind,
            missing,
            undeclared=total,
            named=named[:MOST_NAMED],
            refused=refused,
        )
    numbers = _numbers(part, distinct)
    unreadable = np.isnan(numbers)
    lower, upper = _ends(part)
    outside = (numbers < lower) | (numbers > upper)
    return Finding(
        name,
        kind,
        missing,
        unreadable=int(rows[unreadable].sum()),
        outside=int(rows[outside].sum()),
        refused=refused or bool(unreadable.any()),
    )


def _counts(values: pd.Series, name: str) -> pd.Series:
    """Return how often every distinct value occurs, the most frequent first."""
    try:
        return values.value_counts()
    except TypeError:
        raise InvalidData(
            f"column {name!r} must hold plain values; it holds lists or other objects."
        ) from None


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
    read = as_days if isinstance(part, Date) else as_truths
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
