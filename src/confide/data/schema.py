"""A schema: everything about a table that is public, declared before it is read."""

import dataclasses
import numbers
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from confide._types import Array
from confide.data.columns import Category, Column, Number, check_levels
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
                "declared by labels (for a classifier) or by a bound, not by both",
                {"labels": self.labels, "bound": self.bound},
            )
        if self.labels is not None:
            what = f"labels of target {self.column!r}"
            object.__setattr__(self, "labels", check_levels(what, self.labels, least=2))
            return
        bound: Any = self.bound
        if not isinstance(bound, numbers.Real) or not 0 < float(bound) < np.inf:
            raise InvalidParameter(
                f"bound of target {self.column!r}", "a positive, finite number", bound
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
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        if not names:
            raise InvalidParameter("columns", "one or more", names)
        if len({*names, self.target.column}) != len(names) + 1:
            raise InvalidParameter(
                "columns",
                f"named once each, and not as the target {self.target.column!r}",
                names,
            )

    @classmethod
    def from_toml(cls, path: str | Path) -> "Schema":
        """Read a schema file.

        It holds a ``name``, a ``[target]`` with ``column`` and ``labels`` or ``bound``,
        and one ``[columns.NAME]`` for every feature, with ``kind = "number"``, ``lower``
        and ``upper``, or ``kind = "category"`` and ``levels``.
        """
        try:
            content = tomllib.loads(Path(path).read_text("utf-8"))
        except OSError as error:
            reason = f"{path} ({error.strerror})"
            raise InvalidParameter("schema file", "a file to be read", reason) from None
        except ValueError as error:
            reason = f"{path} ({error})"
            raise InvalidParameter("schema file", "valid TOML in UTF-8", reason) from None
        return cls.from_mapping(content)

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
        """Build a schema from what a TOML file holds."""
        tables = [content.get("target"), content.get("columns")]
        tables += tables[1].values() if isinstance(tables[1], Mapping) else []
        known = set(content) <= {"name", "target", "columns"}
        if not known or not all(isinstance(table, Mapping) for table in tables):
            raise InvalidParameter(
                "schema",
                "a name, a [target] and a [columns.NAME] for every column",
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
        weights: Array = np.repeat(shares, sizes)
        weights.flags.writeable = False
        return weights

    def encode(self, frame: Any) -> Array:
        """Return numbers in [0, 1] and indicators, before any weight."""
        values = _pick(frame, *(column.name for column in self.columns))
        pairs = zip(self.columns, values, strict=True)
        return np.hstack([column.encode(part) for column, part in pairs])

    def design(self, frame: Any) -> Array:
        """Return the weighted design matrix: every row has length at most 1."""
        matrix = self.encode(frame)
        matrix *= self.weights
        return matrix

    def target_column(self, frame: Any) -> Any:
        """Return the target column as it is."""
        return _pick(frame, self.target.column)[0]

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


def _pick(frame: Any, *names: str) -> list[Any]:
    """Return declared columns, each of which a table must hold exactly once."""
    if not hasattr(frame, "columns"):
        raise InvalidData(
            "with a schema the data must be a table with named columns. Pass a DataFrame."
        )
    held = Counter(frame.columns)
    for times, fault in ((0, "misses"), (2, "repeats")):
        wrong = [name for name in names if min(held[name], 2) == times]
        if wrong:
            raise InvalidData(
                f"the table must hold every declared column once; it {fault} {wrong}. "
                "Rename its columns, or correct the schema."
            )
    return [frame[name] for name in names]


def _column(name: str, entry: dict[str, Any]) -> Column:
    kinds: dict[str, type[Any]] = {"number": Number, "category": Category}
    kind = entry.pop("kind", None)
    if kind not in list(kinds):
        raise InvalidParameter(f"kind of column {name!r}", f"one of {list(kinds)}", kind)
    built: Column = _build(kinds[kind], f"column {name!r}", {"name": name, **entry})
    return built


def _build(kind: type[Any], what: str, entry: dict[str, Any]) -> Any:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    needed = {name for name in fields if fields[name].default is dataclasses.MISSING}
    if not needed <= set(entry) <= set(fields):
        known = [name for name in fields if name != "name"]
        raise InvalidParameter(what, f"described by {known}", sorted(entry))
    return kind(**entry)
