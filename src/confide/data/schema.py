"""A schema: everything about a table that is public, declared before it is read."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from confide._types import Array
from confide.data.columns import Category, Column, Number, as_numbers
from confide.errors import InvalidData, InvalidParameter


@dataclass(frozen=True, slots=True)
class Target:
    """The column to predict: its labels, or its bound.

    ``labels`` are for classification; with two of them the second is the positive one.
    ``bound`` is for numbers, |y| <= bound, and for counts, 0 <= y <= bound.
    """

    column: str
    labels: tuple[Any, ...] | None = None
    bound: float | None = None

    def __post_init__(self) -> None:
        if (self.labels is None) == (self.bound is None):
            raise InvalidParameter(
                f"target {self.column!r}",
                "declared with labels or with a bound",
                {"labels": self.labels, "bound": self.bound},
            )
        if self.labels is not None and len(set(self.labels)) < 2:
            raise InvalidParameter(
                f"labels of target {self.column!r}", "at least two", self.labels
            )
        if self.bound is not None and not 0 < self.bound < np.inf:
            raise InvalidParameter(
                f"bound of target {self.column!r}", "positive and finite", self.bound
            )


@dataclass(frozen=True)
class Schema:
    """Columns, target and a name; gives a design matrix whose rows are no longer than 1.

    Every column gets a share of the unit length by a public rule: a column of k levels
    counts as k^(−1/2) of a number, because its indicators share the noise between them.
    """

    columns: tuple[Column, ...]
    target: Target
    name: str = "data"

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if not names:
            raise InvalidParameter("columns", "at least one", names)
        if len({*names, self.target.column}) != len(names) + 1:
            raise InvalidParameter(
                "columns", "named once each and apart from the target", names
            )

    @classmethod
    def from_toml(cls, path: str | Path) -> "Schema":
        """Read a schema file."""
        try:
            with Path(path).open("rb") as file:
                return cls.from_mapping(tomllib.load(file))
        except tomllib.TOMLDecodeError as error:
            raise InvalidParameter("schema file", "valid TOML", str(error)) from None

    @classmethod
    def bundled(cls, name: str) -> "Schema":
        """Return a schema that ships with confide, such as "adult"."""
        text = files("confide.data").joinpath("schemas", f"{name}.toml").read_text("utf-8")
        return cls.from_mapping(tomllib.loads(text))

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> "Schema":
        """Build a schema from what a TOML file holds."""
        unknown = set(content) - {"name", "target", "columns"}
        if unknown or "target" not in content or "columns" not in content:
            raise InvalidParameter(
                "schema",
                "a name, a [target] and [columns.*]",
                sorted(content),
                "See Schema.from_toml.",
            )
        target = _build(Target, "target", dict(content["target"]))
        columns = tuple(
            _column(name, dict(entry)) for name, entry in content["columns"].items()
        )
        return cls(columns, target, str(content.get("name", "data")))

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of the design matrix."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def weights(self) -> Array:
        """The share of the unit length that every feature gets."""
        sizes = np.array([len(column.features) for column in self.columns])
        shares = sizes**-0.25
        shares /= np.linalg.norm(shares)
        return np.asarray(np.repeat(shares, sizes))

    def encode(self, frame: Any) -> Array:
        """Return numbers in [0, 1] and indicators, before any weight."""
        absent = [c.name for c in self.columns if c.name not in frame.columns]
        if absent:
            raise InvalidData(
                f"the table must hold every declared column; missing: {absent}."
            )
        return np.hstack([c.encode(frame[c.name]) for c in self.columns])

    def design(self, frame: Any) -> Array:
        """Return the weighted design matrix: every row has length at most 1."""
        matrix = self.encode(frame)
        matrix *= self.weights
        return matrix

    def numbers(self, frame: Any) -> Array:
        """Return the target column as doubles."""
        return as_numbers(self.target_column(frame), self.target.column)

    def target_column(self, frame: Any) -> Any:
        """Return the target column as it is."""
        if self.target.column not in frame.columns:
            raise InvalidData(f"the table must hold the target {self.target.column!r}.")
        return frame[self.target.column]

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


def _column(name: str, entry: dict[str, Any]) -> Column:
    kinds: dict[str, type[Any]] = {"number": Number, "category": Category}
    kind = entry.pop("kind", None)
    if kind not in kinds:
        raise InvalidParameter(f"kind of column {name!r}", f"one of {sorted(kinds)}", kind)
    built: Column = _build(kinds[kind], f"column {name!r}", {"name": name, **entry})
    return built


def _build(kind: type[Any], what: str, entry: dict[str, Any]) -> Any:
    frozen = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    try:
        return kind(**frozen)
    except TypeError:
        known = [f for f in kind.__dataclass_fields__ if f != "name"]
        raise InvalidParameter(
            what, f"described by some of {known}", sorted(entry)
        ) from None
