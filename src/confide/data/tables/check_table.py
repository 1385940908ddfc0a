"""Comparison of a table with its schema, for the data holder only.

A fit does not report clamped or undeclared values, because that would reveal information
about the records. This module counts such values and lists undeclared ones. Its output is
confidential.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from confide._types import AnyArray
from confide.data.schema.columns import Category, Part
from confide.data.schema.schema import Schema
from confide.data.schema.target import Target
from confide.data.tables.files import as_frame, open_table, walk
from confide.errors import InvalidData, closest

RANGE = "its range"
"""Entry of `Finding.unmatched` if all values of a number are outside its range."""
MOST_NAMED = 20
"""Largest number of undeclared values that are listed, in order of frequency."""
MOST_KEPT = 2**16
"""Largest number of distinct undeclared values that are counted; the rarest are dropped."""


@dataclass(frozen=True, slots=True)
class Undeclared:
    """An undeclared value of a table, and the most similar declared value.

    Parameters
    ----------
    value : str
        The undeclared value.
    rows : int
        Number of rows with this value.
    nearest : str or None
        The most similar declared value, if there is one.

    Examples
    --------
    >>> from confide.data import Undeclared
    >>> Undeclared("North", 12, "north").difference
    'the case'
    """

    value: str
    rows: int
    nearest: str | None

    @property
    def difference(self) -> str:
        """Description of the difference if only blanks or case differ; otherwise empty."""
        if self.nearest is None:
            return ""
        if self.value.strip() == self.nearest.strip():
            return "a blank"
        same = self.value.strip().casefold() == self.nearest.strip().casefold()
        return "the case" if same else ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Numbers of rows that do not agree with the declaration of a column.

    Parameters
    ----------
    column : str
        Name of the column.
    kind : str
        The kind of the column, such as "number".
    missing : int, default=0
        Number of rows with a missing value.
    unreadable : int, default=0
        Number of rows with a value of another type.
    outside : int, default=0
        Number of rows with a value outside the range.
    undeclared : int, default=0
        Number of rows with an undeclared level.
    named : tuple of Undeclared, default=()
        The most frequent undeclared values.
    refused : bool, default=False
        Whether a fit would reject the table because of this column.
    unmatched : tuple of str, default=()
        Labels of the target that do not occur; or all levels, if none of them occurs; or
        "its range", if no value lies within the range.

    Examples
    --------
    >>> from confide.data import Finding
    >>> Finding("age", "number", outside=3).fine
    False
    """

    column: str
    kind: str
    missing: int = 0
    unreadable: int = 0
    outside: int = 0
    undeclared: int = 0
    named: tuple[Undeclared, ...] = ()
    refused: bool = False
    unmatched: tuple[str, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether all values agree with the declaration."""
        faults = self.missing or self.unreadable or self.outside or self.undeclared
        return not faults and not self.unmatched


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a table with its schema. The result is confidential.

    Parameters
    ----------
    rows : int
        Number of rows.
    absent : tuple of pairs
        Declared columns that the table lacks, each with the most similar name or None.
    extra : tuple of str
        Columns that the schema does not declare.
    findings : tuple of Finding
        Findings for each declared column of the table.
    separator : str, optional
        If the table has only one column: character in its name that may be an unrecognised
        separator.

    Examples
    --------
    >>> from confide.data import Comparison
    >>> Comparison(rows=10, absent=(("age", "ages"),), extra=("ages",), findings=()).refused
    True
    """

    rows: int
    absent: tuple[tuple[str, str | None], ...]
    extra: tuple[str, ...]
    findings: tuple[Finding, ...]
    separator: str | None = None

    @property
    def failed(self) -> bool:
        """Whether a fit would reject this table, or a column would have no effect."""
        return self.refused or any(finding.unmatched for finding in self.findings)

    @property
    def refused(self) -> bool:
        """Whether a fit would reject this table."""
        return bool(self.absent) or any(finding.refused for finding in self.findings)

    @property
    def separator_name(self) -> str | None:
        """Name of the character that may be an unrecognised separator."""
        return None if self.separator is None else name_of_sign(self.separator)


def compare_table(schema: Schema, source: str | Path) -> Comparison:
    r"""Count the values of a table that do not agree with its schema.

    The result is computed without noise, is not charged to a privacy budget, and has no
    privacy guarantee. It is for the data holder only.

    Parameters
    ----------
    schema : Schema
        Public description of the table.
    source : str or Path
        File, folder or pattern.

    Returns
    -------
    Comparison
        Counts for every column.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from confide import Number, Schema, Target
    >>> from confide.data import compare_table
    >>> schema = Schema((Number("age", 18, 90),), Target("ill", labels=("no", "yes")))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "people.csv")
    ...     _ = table.write_text("age,ill\n30,no\n99,yes\n")
    ...     found = compare_table(schema, table)
    >>> found.rows, found.findings[0].outside
    (2, 1)
    """
    table = open_table(source)
    held, parts = table.names, schema.parts
    present = [part for name, part in parts.items() if name in held]
    extra = tuple(name for name in held if name not in parts)
    absent = tuple((name, closest(name, extra)) for name in parts if name not in held)
    separator = separator_in(held)
    if not present:
        return Comparison(0, absent, extra, (), separator)

    def look(piece: Any) -> tuple[int, list[Tally]]:
        frame = as_frame(piece)
        return len(frame), [_tally(part, frame[part.name]) for part in present]

    rows, tallies = 0, [Tally() for _ in present]
    sources = table.sources(_as_text(present), target=False)
    for count, found in walk(sources, look, table.expected):
        rows += count
        tallies = [whole + piece for whole, piece in zip(tallies, found, strict=True)]
    findings = map(_finding, present, tallies)
    return Comparison(rows, absent, extra, tuple(findings), separator)


def separator_in(held: Sequence[str]) -> str | None:
    """Return the likely separator of a table that seems to have a single column."""
    if len(held) != 1:
        return None
    return next((sign for sign in "|;,:\t " if sign in held[0]), None)


def name_of_sign(sign: str) -> str:
    """Return the name of an invisible character, or any other character in quotes."""
    return {"\t": "a tab", " ": "a blank"}.get(sign, repr(sign))


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts for one column.

    ``known`` is the number of values that are not missing, ``met`` is the set of levels
    that occur, and ``strange`` counts every undeclared value separately.
    """

    known: int = 0
    met: frozenset[Any] = frozenset()
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
            self.known + other.known,
            self.met | other.met,
            self.missing + other.missing,
            self.unreadable + other.unreadable,
            self.outside + other.outside,
            self.undeclared + other.undeclared,
            strange,
        )


def _as_text(parts: Sequence[Part]) -> Schema:
    """Return a schema that reads columns as text and rejects no value."""
    columns = tuple(Category(part.name, part.levels or ("\0 ",)) for part in parts)
    unused = Target("\0".join(column.name for column in columns) + "\0", bound=1)
    return Schema(columns, unused)


def _finding(part: Part, tally: Tally) -> Finding:
    """Return the findings for a column from its counts."""
    return Finding(
        part.name,
        part.kind,
        tally.missing,
        tally.unreadable,
        tally.outside,
        tally.undeclared,
        tuple(
            Undeclared(str(value), rows, _nearest(value, part.levels))
            for value, rows in tally.strange.most_common(MOST_NAMED)
        ),
        bool(tally.unreadable) or (bool(tally.missing) and part.missing == "refuse"),
        _unmatched(part, tally),
    )


def _unmatched(part: Part, tally: Tally) -> tuple[str, ...]:
    """Return the parts of a declaration that no value matches."""
    if not tally.known:
        return ()
    if part.levels:
        absent = tuple(str(level) for level in part.levels if level not in tally.met)
        # A label that does not occur is probably a mistake; a single level may be rare.
        return absent if part.kind == Target.kind or not tally.met else ()
    inside = tally.known - tally.unreadable - tally.outside
    return () if inside or tally.unreadable else (RANGE,)


def _tally(part: Part, values: pd.Series) -> Tally:
    """Count the values in a block of a column that do not agree with the declaration."""
    distinct, rows = _distinct(part, values)
    faults = part.faults(distinct)
    names, times = distinct[faults.undeclared].tolist(), rows[faults.undeclared].tolist()
    strange = Counter(dict(zip(names, times, strict=True)))
    met = distinct[~np.asarray(faults.undeclared)].tolist() if part.levels else []
    return Tally(
        int(rows.sum()),
        frozenset(level for level in part.levels if level in met),
        int(values.isna().sum()),
        int(rows[faults.unreadable].sum()),
        int(rows[faults.outside].sum()),
        strange.total(),
        strange,
    )


def _distinct(part: Part, values: pd.Series) -> tuple[Any, AnyArray]:
    """Return distinct values and their counts; numbers are listed singly, with count 1."""
    if part.dtype is float and values.dtype.kind in "iuf":
        known = pd.Index(values.dropna())
        return known, np.ones(len(known), dtype=np.int64)
    counts = _counts(values, part.name)
    return counts.index, counts.to_numpy()


def _counts(values: pd.Series, name: str) -> pd.Series:
    """Return the counts of distinct values, in decreasing order."""
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


def _nearest(value: Any, levels: tuple[Any, ...]) -> str | None:
    return closest(str(value), [str(level) for level in levels])
