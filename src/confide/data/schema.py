"""A schema: everything about a table that is public, declared before it is read."""

import dataclasses
import numbers
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data.columns import KINDS, Column
from confide.data.design import Design
from confide.data.encode import compact_design, dense_design
from confide.data.toml import read_toml, write_toml
from confide.data.values import plain_levels
from confide.errors import InvalidData, InvalidParameter

UNKNOWN = "?"
"""What a template holds where a person has to decide."""
MOST_ROWS_PER_PERSON = 10**6
A_LITTLE = 1e-14
"""By so much rows stay shorter than 1, so that rounding never makes one longer."""


@dataclass(frozen=True, slots=True)
class Target:
    """The column to predict: its labels, or its bound.

    ``labels`` are for classification; with two of them the second is the positive one.
    ``bound`` is for numbers, |y| <= bound, and for counts, 0 <= y <= bound; what lies
    beyond is clamped. A row whose target is ``missing`` is refused with the whole table,
    or dropped by itself.
    """

    column: str
    labels: tuple[Any, ...] | None = None
    bound: float | None = None
    missing: Literal["refuse", "drop"] = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidParameter("column of the target", "text", self.column)
        if self.missing not in ("refuse", "drop"):
            raise InvalidParameter(
                f"missing of target {self.column!r}", "'refuse' or 'drop'", self.missing
            )
        if (self.labels is None) == (self.bound is None):
            raise InvalidParameter(
                f"target {self.column!r}",
                "declared by labels (for a classifier) or by a bound, not by both",
                {"labels": self.labels, "bound": self.bound},
            )
        if self.labels is not None:
            what = f"labels of target {self.column!r}"
            object.__setattr__(self, "labels", plain_levels(what, self.labels, least=2))
            return
        bound: Any = self.bound
        real = isinstance(bound, numbers.Real) and not isinstance(bound, bool)
        if not real or not 1e-100 <= bound <= 1e100:
            raise InvalidParameter(
                f"bound of target {self.column!r}", "a positive, finite number", bound
            )
        if type(bound) is not int:
            object.__setattr__(self, "bound", float(bound))


@dataclass(frozen=True)
class Schema:
    """Columns, target and a name; gives a design matrix whose rows are no longer than 1.

    Every column gets a share of the unit length by a public rule: a column of k levels
    counts as k^(−1/2) of a number, because its indicators share the noise between them.

    ``name`` is the name of the dataset, under which a ledger books what is spent on it.
    Where one person may have several rows, ``rows_per_person`` says how many at most: a
    fit then protects persons, by group privacy.
    """

    columns: tuple[Column, ...]
    target: Target
    name: str = "data"
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not all(isinstance(column, tuple(KINDS.values())) for column in self.columns):
            raise InvalidParameter(
                "columns", "declared by Number, Category, Boolean or Date", self.columns
            )
        if not isinstance(self.target, Target):
            raise InvalidParameter("target", "a Target", self.target)
        names = [column.name for column in self.columns]
        if not names:
            raise InvalidParameter("columns", "one or more", names)
        if len({*names, self.target.column}) != len(names) + 1:
            raise InvalidParameter(
                "columns",
                f"named once each, and not as the target {self.target.column!r}",
                names,
            )
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameter("name", "the name of the dataset, as text", self.name)
        count: Any = self.rows_per_person
        whole = isinstance(count, numbers.Integral) and not isinstance(count, bool)
        if not whole or not 1 <= count <= MOST_ROWS_PER_PERSON:
            raise InvalidParameter(
                "rows_per_person", f"a whole number from 1 to {MOST_ROWS_PER_PERSON}", count
            )
        object.__setattr__(self, "rows_per_person", int(count))

    @classmethod
    def from_toml(cls, path: str | Path) -> "Schema":
        """Read a schema file.

        It holds a ``name``, where needed ``rows_per_person``, a ``[target]`` with
        ``column`` and ``labels`` or ``bound``, and one ``[columns.NAME]`` for every
        feature: its ``kind`` ("number", "category", "boolean" or "date") and the fields
        of `Number`, `Category`, `Boolean` or `Date`.
        """
        return cls.from_mapping(read_toml(path))

    @classmethod
    def bundled(cls, name: str) -> "Schema":
        """Return a schema that ships with confide, such as "adult"."""
        folder = files("confide.data").joinpath("schemas").iterdir()
        known = {file.name.removesuffix(".toml"): file for file in folder}
        if name not in known:
            raise InvalidParameter("bundled schema", f"one of {sorted(known)}", name)
        return cls.from_mapping(tomllib.loads(known[name].read_text("utf-8")))

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> "Schema":
        """Build a schema from what a TOML file or `to_mapping` holds."""
        tables: list[Any] = [None]
        if isinstance(content, Mapping):
            tables = [content.get("target"), content.get("columns")]
            tables += tables[1].values() if isinstance(tables[1], Mapping) else []
        fields = {"name", "rows_per_person", "target", "columns"}
        if not all(isinstance(t, Mapping) for t in tables) or not set(content) <= fields:
            raise InvalidParameter(
                "schema",
                "a name, a [target] and a [columns.NAME] for every column",
                list(content) if isinstance(content, Mapping) else type(content).__name__,
                "See Schema.from_toml.",
            )
        _refuse_unfilled(content)
        target = _build(Target, "target", dict(content["target"]))
        columns = tuple(
            _column(name, dict(entry)) for name, entry in content["columns"].items()
        )
        name, count = content.get("name", "data"), content.get("rows_per_person", 1)
        return cls(columns, target, name, count)

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values, as for JSON, from which `from_mapping` makes it again."""
        return _with_text_dates(self._entries())

    def to_toml(self) -> str:
        """Return the text of a schema file that says the same."""
        return write_toml(self._entries())

    def _entries(self) -> dict[str, Any]:
        columns = {
            column.name: {"kind": column.kind, **_fields(column)} for column in self.columns
        }
        head = {"name": self.name, "rows_per_person": self.rows_per_person}
        target = {"column": self.target.column, **_fields(self.target)}
        return {**head, "target": target, "columns": columns}

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of the design matrix."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def weights(self) -> Array:
        """The share of the unit length that every feature gets."""
        sizes = np.array([len(column.features) for column in self.columns])
        shares = sizes**-0.25
        shares /= np.linalg.norm(shares) * (1 + A_LITTLE)
        weights: Array = np.repeat(shares, sizes)
        weights.flags.writeable = False
        return weights

    def encode(self, frame: Any) -> Array:
        """Return numbers in [0, 1] and indicators, before any weight."""
        return self._matrix(frame, np.ones(len(self.features)))

    def design(self, frame: Any) -> Array:
        """Return the weighted design matrix: every row has length at most 1."""
        return self._matrix(frame, self.weights)

    def compact_design(self, frame: Any) -> Array | Design:
        """Return what `design` does, with categories kept as codes."""
        values = _pick(frame, *(column.name for column in self.columns))
        return compact_design(self.columns, values, self.weights)

    def _matrix(self, frame: Any, weights: Array) -> Array:
        values = _pick(frame, *(column.name for column in self.columns))
        return dense_design(self.columns, values, weights)

    def target_column(self, frame: Any) -> Any:
        """Return the target column as it is."""
        return _pick(frame, self.target.column)[0]

    def kept(self, frame: Any) -> Any:
        """Return the rows to fit on: where the rule is to drop, those with a target."""
        if self.target.missing != "drop":
            return frame
        return frame[self.target_column(frame).notna().to_numpy()]

    def in_units(self, coefficients: Array) -> tuple[Array, float]:
        """Turn coefficients of the design matrix into effects per original unit.

        Returns them with the constant that the change of origin adds to the intercept.
        """
        weighted = coefficients * self.weights
        parts, constant, start = [], 0.0, 0
        for column in self.columns:
            stop = start + len(column.features)
            factor, origin = column.units()
            part = weighted[start:stop] * factor
            constant -= origin * float(part.sum()) if origin else 0.0
            parts.append(part)
            start = stop
        return np.concatenate(parts), constant


def check_columns(held: Any, names: list[str]) -> None:
    """Refuse a table that does not hold every declared column exactly once."""
    times = Counter(held)
    for count, fault in ((0, "misses"), (2, "repeats")):
        wrong = [name for name in names if min(times[name], 2) == count]
        if wrong:
            raise InvalidData(
                f"the table must hold every declared column once; it {fault} {wrong}. "
                "Rename its columns, or correct the schema."
            )


def declared_columns(schema: Schema, held: list[str], *, target: bool) -> list[str]:
    """Return the names to read from a table that holds these columns, and check them."""
    names = [column.name for column in schema.columns]
    wanted = [*names, schema.target.column] if target else names
    check_columns(held, wanted)
    return wanted


def _pick(frame: Any, *names: str) -> list[Any]:
    """Return declared columns, each of which a table must hold exactly once."""
    if not isinstance(frame, pd.DataFrame):
        raise InvalidData(
            "with a schema the data must be a table with named columns. Pass a DataFrame."
        )
    check_columns(frame.columns, list(names))
    return [frame[name] for name in names]


def _refuse_unfilled(content: Mapping[str, Any]) -> None:
    """Say friendly what is left to decide in a template."""
    open_questions = [
        f"kind of column {name!r}"
        for name, entry in content["columns"].items()
        if entry.get("kind") == UNKNOWN
    ]
    if UNKNOWN in map(str, content["target"].values()):
        open_questions.insert(0, "[target]")
    if open_questions:
        more = len(open_questions) - 3
        shown = ", ".join(open_questions[:3]) + (f" and {more} more" if more > 0 else "")
        raise InvalidParameter(
            "schema",
            f'filled in by a person wherever its template says "{UNKNOWN}": {shown}',
            "an unfilled template",
            "Delete the sections of columns that the model must not use.",
        )


def _column(name: str, entry: dict[str, Any]) -> Column:
    kind = entry.pop("kind", None)
    if kind not in list(KINDS):
        raise InvalidParameter(f"kind of column {name!r}", f"one of {list(KINDS)}", kind)
    entry.setdefault("name", name)
    if entry["name"] != name:
        raise InvalidParameter(f"column {name!r}", "named once", entry["name"])
    built: Column = _build(KINDS[kind], f"column {name!r}", entry)
    return built


def _build(kind: type[Any], what: str, entry: dict[str, Any]) -> Any:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    needed = {name for name in fields if fields[name].default is dataclasses.MISSING}
    if not needed <= set(entry) <= set(fields):
        known = [name for name in fields if name != "name"]
        raise InvalidParameter(what, f"described by {known}", list(entry))
    return kind(**entry)


def _fields(part: Any) -> dict[str, Any]:
    """Return what is declared beyond the name and beyond the defaults."""
    return {
        field.name: getattr(part, field.name)
        for field in dataclasses.fields(part)
        if field.name not in ("name", "column")
        and getattr(part, field.name) != field.default
    }


def _with_text_dates(value: Any) -> Any:
    """Turn tuples into lists and dates into text, as JSON needs them."""
    if isinstance(value, Mapping):
        return {key: _with_text_dates(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [_with_text_dates(part) for part in value]
    return value.isoformat() if isinstance(value, date) else value
