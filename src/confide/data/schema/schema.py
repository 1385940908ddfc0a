"""A schema: everything about a table that is public, declared before it is read."""

import dataclasses
import math
import numbers
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.matrix.coded_design import CodedDesign
from confide.data.matrix.sums import MAX_ROWS
from confide.data.schema.arrow_columns import arrow_column, is_arrow, without_missing
from confide.data.schema.columns import COLUMNS, Column, Part
from confide.data.schema.encoder import Encoder
from confide.data.schema.sections import (
    Purchase,
    alternatives,
    check_sections,
    purchase_records,
    read_column,
    read_purchases,
    read_target,
    read_toml,
    write_toml,
)
from confide.data.schema.target import Target
from confide.errors import InvalidData, InvalidParameter, did_you_mean

INTERCEPT = "(intercept)"
INTERCEPT_HEIGHT = 0.3
"""Height of the intercept column as a share of the row norm."""


@dataclass(frozen=True, slots=True, repr=False)
class Display:
    """The lines of a summary as an affine function of coefficients.

    ``shown = matrix @ coefficients + constant``, where the coefficients are the slopes
    and, last, the intercept; ``names`` are those of the lines, the intercept's last.
    """

    names: tuple[str, ...]
    matrix: Array
    constant: Array

    def show(self, coefficients: Array) -> Array:
        """Return what stands in the lines."""
        shown: Array = self.matrix @ coefficients + self.constant
        return shown


def units_matrix(columns: Sequence[Column], weights: Array) -> AnyArray:
    """Return the sparse matrix that turns coefficients into effects per original unit.

    Both sides hold slopes and, last, an intercept, to which a change of origin adds.
    """
    units = [column.units() for column in columns]
    factors = weights * np.concatenate([factor for factor, _ in units])
    origins = np.concatenate([np.full(len(factor), origin) for factor, origin in units])
    last = sparse.csr_array(np.append(-origins * factors, 1.0)[None, :])
    slopes = sparse.diags_array(factors).tocsr()
    slopes.resize(len(factors), len(factors) + 1)
    return sparse.vstack([slopes, last], format="csr")


def display(columns: Sequence[Column], weights: Array) -> Display:
    """Return what turns coefficients of the design matrix into lines to be shown."""
    lines = [column.lines() for column in columns]
    names = (name for one in lines for name in one.names)
    centring = sparse.block_diag([*(one.matrix for one in lines), np.ones((1, 1))])
    centring = centring.toarray()
    centring[-1, :-1] = np.concatenate([one.intercept for one in lines])
    matrix = np.asarray(centring @ units_matrix(columns, weights))
    return Display((*names, INTERCEPT), matrix, np.zeros(len(matrix)))


def unidentified_directions(
    columns: Sequence[Column], weights: Array, height: float
) -> Array:
    """Return directions, as columns, along which a row that has all its levels is still.

    The indicators of a category add up to 1 wherever there is a level, as the intercept
    does: coefficients may move along their difference and no such row notices.
    """
    sizes = [len(column.features) for column in columns]
    starts = np.cumsum([0, *sizes])
    sums = []
    for column, start, size in zip(columns, starts, sizes, strict=False):
        if column.coded and size > 1:
            one = np.zeros(len(weights) + bool(height))
            one[start : start + size] = 1 / weights[start : start + size]
            sums.append(one)
    if height:
        intercept = np.zeros(len(weights) + 1)
        intercept[-1] = 1 / height
        sums.append(intercept)
    if len(sums) < 2:
        return np.zeros((len(weights) + bool(height), 0))
    return np.column_stack([one - sums[-1] for one in sums[:-1]])


UNNAMED = "data"
"""The name of a dataset that nobody named; no ledger books under it."""
MOST_ROWS_PER_PERSON = 10**6
SHARE_POWER = 0.0
"""A column of k features gets a share of the length proportional to k to minus this."""
EARLIER_SHARE_POWER = 0.25
"""What it was in model files that do not say."""
ROUNDING_MARGIN = 1e-14
"""By so much rows stay shorter than 1, so that rounding never makes one longer."""


@dataclass(frozen=True)
class Schema:
    """Columns, target and a name; gives a design matrix whose rows are no longer than 1.

    Every column gets a share of the unit length by a public rule: all get the same, or with
    ``share_power`` a column of k levels k^(−share_power) of what a number gets.
    Most rows are shorter: `record_norm` is the length whose records count once.

    ``name`` is the name of the dataset, under which a ledger books what is spent on it; a
    fit with a ledger needs one.
    Where one person may have several rows, ``rows_per_person`` says how many at most: a
    fit then protects persons, by group privacy. ``rows`` is about how many rows there are,
    as far as that is publicly known: a guess that affects accuracy, never privacy.
    ``bought`` lists what of all this was released from a table, and at what price.
    """

    columns: tuple[Column, ...]
    target: Target
    name: str = UNNAMED
    rows_per_person: int = 1
    rows: int | None = None
    bought: tuple[Purchase, ...] = ()
    share_power: float = SHARE_POWER

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        kinds = tuple(COLUMNS.values())
        if not all(isinstance(column, kinds) for column in self.columns):
            known = alternatives([kind.__name__ for kind in kinds])
            raise InvalidParameter("columns", f"declared by {known}", self.columns)
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
        count = _whole("rows_per_person", self.rows_per_person, MOST_ROWS_PER_PERSON)
        object.__setattr__(self, "rows_per_person", count)
        power: Any = self.share_power
        if not isinstance(power, float | int) or not -1 <= power <= 1:
            raise InvalidParameter("share_power", "a number from -1 to 1", power)
        object.__setattr__(self, "share_power", float(power))
        if not all(isinstance(one, Purchase) for one in self.bought):
            raise InvalidParameter("bought", "purchases", self.bought)
        object.__setattr__(self, "bought", tuple(self.bought))
        if self.rows is not None:
            object.__setattr__(self, "rows", _whole("rows", self.rows, MAX_ROWS))

    @classmethod
    def from_toml(cls, path: str | Path) -> "Schema":
        """Read a schema file.

        It holds a ``name``, where needed ``rows_per_person``, a ``[target]`` with
        ``column`` and ``labels``, or ``lower`` and ``upper``, or ``bound``, and one
        ``[columns.NAME]`` for every feature: its ``kind`` ("number", "category",
        "boolean" or "date") and the fields of `Number`, `Category`, `Boolean` or `Date`.
        """
        return cls.from_mapping(read_toml(path))

    @classmethod
    def bundled(cls, name: str) -> "Schema":
        """Return a schema that ships with confide, such as "adult"."""
        folder = files("confide.data").joinpath("schemas").iterdir()
        known = {file.name.removesuffix(".toml"): file for file in folder}
        if name not in known:
            must = f"one of {sorted(known)}"
            hint = did_you_mean(name, known)
            raise InvalidParameter("bundled schema", must, name, hint)
        return cls.from_mapping(tomllib.loads(known[name].read_text("utf-8")))

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> "Schema":
        """Build a schema from what a TOML file or `to_mapping` holds."""
        check_sections(content)
        target = read_target(content["target"])
        columns = tuple(read_column(*item) for item in content["columns"].items())
        name, count = content.get("name", UNNAMED), content.get("rows_per_person", 1)
        bought = read_purchases(content.get("bought", {}))
        power = content.get("share_power", SHARE_POWER)
        return cls(columns, target, name, count, content.get("rows"), bought, power)

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values, as for JSON, from which `from_mapping` makes it again."""
        plain: dict[str, Any] = _with_text_dates(self._entries())
        return {**plain, "share_power": self.share_power}

    def to_toml(self) -> str:
        """Return the text of a schema file that says the same."""
        return write_toml(self._entries())

    def _entries(self) -> dict[str, Any]:
        columns = {
            column.name: {"kind": column.kind, **_fields(column)} for column in self.columns
        }
        head: dict[str, Any] = {"name": self.name, "rows_per_person": self.rows_per_person}
        if self.rows is not None:
            head["rows"] = self.rows
        if self.share_power != SHARE_POWER:
            head["share_power"] = self.share_power
        target = {"column": self.target.column, **_fields(self.target)}
        whole = {**head, "target": target, "columns": columns}
        return {**whole, "bought": purchase_records(self.bought)} if self.bought else whole

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """Columns and target by their names in a table."""
        parts: tuple[Part, ...] = (*self.columns, self.target)
        return {part.name: part for part in parts}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a guarantee assumes about facts that were bought before."""
        return tuple(one.assumption(self.name) for one in self.bought)

    def with_ranges(self, ranges: Mapping[str, tuple[float, float]]) -> "Schema":
        """Return the schema with ranges that were bought, by the names of the columns."""

        def narrowed(part: Any) -> Any:
            return part.within(*ranges[part.name]) if part.name in ranges else part

        columns = tuple(map(narrowed, self.columns))
        return dataclasses.replace(self, columns=columns, target=narrowed(self.target))

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of the design matrix."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def weights(self) -> Array:
        """The share of the unit length that every feature gets."""
        sizes = np.array([len(column.features) for column in self.columns])
        shares = sizes**-self.share_power
        shares /= np.linalg.norm(shares) * (1 + ROUNDING_MARGIN)
        weights: Array = np.repeat(shares, sizes)
        weights.flags.writeable = False
        return weights

    @cached_property
    def typical_length(self) -> float:
        """How long a row is for the most part, from public facts: at most 1.

        It is the root of the mean squared length of rows whose numbers spread evenly over
        their ranges and whose levels are equally frequent: a number has a third of its
        share squared, a category its whole one.
        """
        moments = (column.moments() for column in self.columns)
        squares = [np.diag(spread) + mean**2 for mean, spread in moments]
        return min(1.0, math.sqrt(float(self.weights**2 @ np.concatenate(squares))))

    def record_norm(self, height: float) -> float:
        """Return X, the length of a row, beside a constant column, that counts once.

        It is the typical one. Where a mechanism weighs records they count X/‖x‖ times, so
        that none moves a fit by more than a row of length X would.
        """
        return math.hypot(self.typical_length, height)

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder.of(self.columns, self.weights)

    def encode(self, frame: Any) -> Array:
        """Return numbers in [−1, 1] and indicators, before any weight."""
        ones = np.ones(len(self.features))
        return Encoder.of(self.columns, ones).dense(self._values(frame))

    def design(self, frame: Any) -> Array:
        """Return the weighted design matrix: every row has length at most 1."""
        return self._encoder.dense(self._values(frame))

    def compact_design(self, frame: Any) -> CodedDesign:
        """Return what `design` does, column by column, with categories kept as codes.

        A table or batch of Arrow goes without a detour over pandas.
        """
        return self._encoder.compact(self._values(frame))

    def _values(self, frame: Any) -> list[Any]:
        return _pick(frame, *(column.name for column in self.columns))

    def column(self, frame: Any, name: str) -> Any:
        """Return a declared column as it is in a table."""
        return _pick(frame, name)[0]

    def target_column(self, frame: Any) -> Any:
        """Return the target column as it is; of Arrow, as `level_codes` takes it."""
        return self.column(frame, self.target.column)

    def kept(self, frame: Any) -> Any:
        """Return the rows to fit on: where the rule is to drop, those with a target."""
        if self.target.missing != "drop":
            return frame
        if _speaks_arrow(frame):
            check_columns(frame.column_names, [self.target.column])
            return without_missing(frame, self.target.column)
        return frame[self.target_column(frame).notna().to_numpy()]

    def in_units(self, coefficients: Array) -> tuple[Array, float]:
        """Turn coefficients of the design matrix into effects per original unit.

        Returns them with the constant that the change of origin adds to the intercept.
        """
        whole = units_matrix(self.columns, self.weights) @ np.append(coefficients, 0.0)
        return whole[:-1], float(whole[-1])

    def unidentified_directions(self, height: float) -> Array:
        """Return directions of the coefficients that rows with all levels do not notice.

        ``height`` is that of the intercept's column, 0 if there is none.
        """
        return unidentified_directions(self.columns, self.weights, height)

    def display_map(self) -> Display:
        """Return what turns slopes and an intercept into the lines of a summary.

        They are effects per original unit; levels of a category are shown against the
        average of its levels.
        """
        return display(self.columns, self.weights)


def _whole(name: str, value: Any, most: int) -> int:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not 1 <= value <= most:
        raise InvalidParameter(name, f"a whole number from 1 to {most}", value)
    return int(value)


def check_columns(held: Any, names: list[str]) -> None:
    """Refuse a table that does not hold every declared column exactly once."""
    times = Counter(held)
    for count, fault in ((0, "misses"), (2, "repeats")):
        wrong = [name for name in names if min(times[name], 2) == count]
        if wrong:
            others = [name for name in map(str, held) if name not in names]
            hint = next(filter(None, (did_you_mean(name, others) for name in wrong)), "")
            raise InvalidData(
                f"the table must hold every declared column once; it {fault} {wrong}. "
                f"Rename its columns, or correct the schema. {hint}".rstrip()
            )


def declared_columns(schema: Schema, held: list[str], *, target: bool) -> list[str]:
    """Return the names to read from a table that holds these columns, and check them."""
    names = [column.name for column in schema.columns]
    wanted = [*names, schema.target.column] if target else names
    check_columns(held, wanted)
    return wanted


def _pick(frame: Any, *names: str) -> list[Any]:
    """Return declared columns, each of which a table must hold exactly once."""
    if _speaks_arrow(frame):
        check_columns(frame.column_names, list(names))
        return [arrow_column(frame.column(name)) for name in names]
    if not isinstance(frame, pd.DataFrame):
        raise InvalidData(
            "with a schema the data must be a table with named columns. Pass a DataFrame."
        )
    check_columns(frame.columns, list(names))
    return [frame[name] for name in names]


def _speaks_arrow(frame: Any) -> bool:
    """Whether a table is Arrow's; pandas shows its columns as attributes of any name."""
    return not isinstance(frame, pd.DataFrame) and is_arrow(frame)


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
