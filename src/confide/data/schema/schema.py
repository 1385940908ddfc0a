"""The schema: public facts about a table, which are declared before the table is read."""

import dataclasses
import math
import numbers
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from confide._types import Array
from confide.data.matrix.coded_design import CodedDesign
from confide.data.matrix.sums import MAX_ROWS
from confide.data.schema.arrow_columns import without_missing
from confide.data.schema.case_weights import (
    NO_CASES,
    Cases,
    CaseWeights,
    check_offset,
    middle_of,
    read_offset,
)
from confide.data.schema.columns import COLUMNS, Column, Part
from confide.data.schema.declared import (
    check_columns,
    declared_fields,
    pick_columns,
    plain_weights,
    speaks_arrow,
    with_text_dates,
)
from confide.data.schema.effect_moments import still_directions
from confide.data.schema.effects import (
    Display,
    display,
    unidentified_directions,
    units_matrix,
)
from confide.data.schema.encoder import Encoder
from confide.data.schema.formula import schema_of_formula
from confide.data.schema.sections import (
    Purchase,
    alternatives,
    check_sections,
    purchase_records,
    read_column,
    read_offset_section,
    read_purchases,
    read_target,
    read_toml,
    read_weights,
    write_toml,
)
from confide.data.schema.target import Target
from confide.data.schema.terms import Effect, checked_terms, columns_of, read_terms
from confide.errors import InvalidParameter, did_you_mean

INTERCEPT_HEIGHT = 0.3
"""Value of the intercept column, as a fraction of the bound on the norm of rows."""
UNNAMED = "data"
"""Default name of a dataset; ledgers reject it."""
MOST_ROWS_PER_PERSON = 10**6
SHARE_POWER = 0.0
"""Default exponent p: weights of the k features of a column are ∝ k^(−p)."""
EARLIER_SHARE_POWER = 0.25
"""Exponent for older model files, which do not record it."""
ROUNDING_MARGIN = 1e-14
"""Relative margin below norm 1, so that the norm of a rounded row never exceeds 1."""


@dataclass(frozen=True)
class Schema:
    """Public description of a table: its columns, the target and a name.

    A schema defines a design matrix whose rows have Euclidean norm at most 1. A public rule
    determines the weights of the features. The norm of most rows is well below 1;
    `record_norm` is the norm at which a record has weight 1.

    Parameters
    ----------
    columns : tuple of Column
        Columns to predict from: `Number`, `Category`, `Boolean`, `Date` or other registered
        kinds.
    target : Target
        Column to predict.
    name : str, default="data"
        Name of the dataset, under which a ledger records privacy charges. A fit with a
        ledger requires a name.
    rows_per_person : int, default=1
        Largest number of rows of one person. Guarantees hold for persons, by group privacy.
    rows : int, optional
        Approximate number of rows, if publicly known. It affects accuracy but not privacy.
    bought : tuple of Purchase, default=()
        Facts in this schema that were released from a dataset, with their privacy cost.
    share_power : float, default=0
        Features of a column with k levels have k^(−share_power) times the weight of a
        numeric feature. By default, all features have the same weight.
    terms : tuple of str, optional
        Effects of the model, such as "age", "bs(weight, df=5)", "poly(age, 2)" or
        "age:region". By default there is one effect per column.
    case_weights : CaseWeights, optional
        Weights of the records.
    offset : Column, optional
        Number that is added to the linear predictor, such as the log of an exposure.

    Raises
    ------
    InvalidParameter
        A name occurs twice, a term cannot be parsed, or a field is not valid.

    Examples
    --------
    >>> from confide import Category, Number, Schema, Target
    >>> schema = Schema(
    ...     (Number("age", lower=18, upper=90), Category("region", ("north", "south"))),
    ...     Target("ill", labels=("no", "yes")),
    ...     name="people",
    ... )
    >>> [column.name for column in schema.columns]
    ['age', 'region']
    >>> print(schema.to_toml().splitlines()[0])
    name = "people"
    """

    columns: tuple[Column, ...]
    target: Target
    name: str = UNNAMED
    rows_per_person: int = 1
    rows: int | None = None
    bought: tuple[Purchase, ...] = ()
    share_power: float = SHARE_POWER
    terms: tuple[str, ...] = ()
    case_weights: CaseWeights | None = None
    offset: Column | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        kinds = tuple(COLUMNS.values())
        if not all(isinstance(column, kinds) for column in self.columns):
            known = alternatives([kind.__name__ for kind in kinds])
            raise InvalidParameter("columns", f"instances of {known}", self.columns)
        if not isinstance(self.target, Target):
            raise InvalidParameter("target", "a Target", self.target)
        names = [column.name for column in self.columns]
        if not names:
            raise InvalidParameter("columns", "a list of at least one column", names)
        self._check_beside()
        others = [part.name for part in self._beside]
        if len({*names, *others}) != len(names) + len(others):
            raise InvalidParameter(
                "columns",
                "named differently from each other, from the target "
                f"{self.target.column!r}, the weights and the offset",
                names,
            )
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameter("name", "the name of the dataset, not empty", self.name)
        count = _whole("rows_per_person", self.rows_per_person, MOST_ROWS_PER_PERSON)
        object.__setattr__(self, "rows_per_person", count)
        power: Any = self.share_power
        if not isinstance(power, float | int) or not -1 <= power <= 1:
            raise InvalidParameter("share_power", "a number from -1 to 1", power)
        object.__setattr__(self, "share_power", float(power))
        if not all(isinstance(one, Purchase) for one in self.bought):
            raise InvalidParameter("bought", "a list of Purchase objects", self.bought)
        object.__setattr__(self, "bought", tuple(self.bought))
        if self.rows is not None:
            object.__setattr__(self, "rows", _whole("rows", self.rows, MAX_ROWS))
        self._read_terms()

    def _check_beside(self) -> None:
        """Check the case weights and the offset."""
        weights = self.case_weights
        if weights is not None:
            if not isinstance(weights, CaseWeights):
                raise InvalidParameter("case_weights", "a CaseWeights object", weights)
            weights.check_labels(self.target.labels)
        if self.offset is not None:
            check_offset(self.offset)

    @property
    def _beside(self) -> tuple[Part, ...]:
        """The target, the offset and the column of case weights, if declared."""
        found: list[Any] = [self.target, self.offset]
        if self.case_weights is not None and self.case_weights.column:
            found.append(self.case_weights)
        return tuple(part for part in found if part is not None)

    def _read_terms(self) -> None:
        known: Any = self.terms
        if isinstance(known, str) or not isinstance(known, Sequence):
            raise InvalidParameter("terms", "a list of terms", known)
        texts, columns = checked_terms(known, self.columns) if known else ((), self.columns)
        object.__setattr__(self, "terms", texts)
        object.__setattr__(self, "columns", columns)

    def with_formula(self, formula: str) -> "Schema":
        """Return the schema with the terms of a formula.

        The intercept is a setting of the model. To fit a model without an intercept, set
        ``fit_intercept=False``.

        Parameters
        ----------
        formula : str
            A formula such as "y ~ age + bs(weight, df=5)".

        Returns
        -------
        Schema
            The schema with terms.
        """
        found, constant = schema_of_formula(self, formula)
        if not constant:
            must = "text with an intercept, without the terms 0 and -1"
            hint = "For a model without an intercept, set fit_intercept=False."
            raise InvalidParameter("formula", must, formula, hint)
        return found

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """The effects of the model; one per column if no terms are listed."""
        return read_terms(self.terms, self.columns) if self.terms else self.columns

    @property
    def offset_middle(self) -> float:
        """Middle of the range of offsets, by which the fitted intercept is shifted."""
        return 0.0 if self.offset is None else middle_of(self.offset)

    @cached_property
    def predictors(self) -> tuple[Column, ...]:
        """The columns that are used in effects, in declared order."""
        if not self.terms:
            return self.columns
        used = {column.name for effect in self.effects for column in columns_of(effect)}
        return tuple(column for column in self.columns if column.name in used)

    @classmethod
    def from_toml(cls, path: str | Path) -> "Schema":
        """Read a schema file.

        Parameters
        ----------
        path : str or Path
            TOML file with a ``name``, a section ``[target]``, and a section
            ``[columns.NAME]`` for every column, which contains the ``kind`` ("number",
            "category", "boolean" or "date") and the other fields.

        Returns
        -------
        Schema
            The schema.
        """
        return cls.from_mapping(read_toml(path))

    @classmethod
    def bundled(cls, name: str) -> "Schema":
        """Return a schema that ships with confide.

        Parameters
        ----------
        name : str
            Name of a dataset, such as "adult".

        Returns
        -------
        Schema
            The schema.
        """
        folder = files("confide.data").joinpath("schemas").iterdir()
        known = {file.name.removesuffix(".toml"): file for file in folder}
        if name not in known:
            must = f"one of {sorted(known)}"
            hint = did_you_mean(name, known)
            raise InvalidParameter("bundled schema", must, name, hint)
        return cls.from_mapping(tomllib.loads(known[name].read_text("utf-8")))

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> "Schema":
        """Build a schema from plain values.

        Parameters
        ----------
        content : mapping
            The content of a schema file, or the result of `to_mapping`.

        Returns
        -------
        Schema
            The schema.
        """
        check_sections(content)
        target = read_target(content["target"])
        columns = tuple(read_column(*item) for item in content["columns"].items())
        name, count = content.get("name", UNNAMED), content.get("rows_per_person", 1)
        bought = read_purchases(content.get("bought", {}))
        power = content.get("share_power", SHARE_POWER)
        rows, terms = content.get("rows"), content.get("terms", ())
        beside = read_weights(content), read_offset_section(content)
        return cls(columns, target, name, count, rows, bought, power, terms, *beside)

    def to_mapping(self) -> dict[str, Any]:
        """Return the schema as plain values for JSON; `from_mapping` is the inverse.

        Returns
        -------
        dict
            The sections of a schema file.
        """
        plain: dict[str, Any] = with_text_dates(self._entries())
        return {**plain, "share_power": self.share_power}

    def to_toml(self) -> str:
        """Return the schema as the text of a schema file.

        Returns
        -------
        str
            TOML.
        """
        return write_toml(self._entries())

    def _entries(self) -> dict[str, Any]:
        columns = {
            column.name: {"kind": column.kind, **declared_fields(column)}
            for column in self.columns
        }
        head: dict[str, Any] = {"name": self.name, "rows_per_person": self.rows_per_person}
        if self.rows is not None:
            head["rows"] = self.rows
        if self.share_power != SHARE_POWER:
            head["share_power"] = self.share_power
        if self.terms:
            head["terms"] = self.terms
        target = {"column": self.target.column, **declared_fields(self.target)}
        beside: dict[str, Any] = {}
        if self.case_weights is not None:
            beside["case_weights"] = plain_weights(self.case_weights)
        if self.offset is not None:
            beside["offset"] = {"column": self.offset.name, **declared_fields(self.offset)}
        whole = {**head, "target": target, **beside, "columns": columns}
        return {**whole, "bought": purchase_records(self.bought)} if self.bought else whole

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The declared columns used by the model, including the target, by name."""
        parts: tuple[Part, ...] = (*self.predictors, *self._beside)
        return {part.name: part for part in parts}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions, in words, that a guarantee makes about facts released earlier."""
        return tuple(one.assumption(self.name) for one in self.bought)

    def with_ranges(self, ranges: Mapping[str, tuple[float, float]]) -> "Schema":
        """Return the schema with the given ranges, which are then treated as public.

        Parameters
        ----------
        ranges : mapping of str to pairs of float
            Ranges by name of the column.

        Returns
        -------
        Schema
            The schema with these ranges.
        """

        def narrowed(part: Any) -> Any:
            return part.within(*ranges[part.name]) if part.name in ranges else part

        columns = tuple(map(narrowed, self.columns))
        return dataclasses.replace(self, columns=columns, target=narrowed(self.target))

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of the design matrix."""
        return tuple(name for effect in self.effects for name in effect.features)

    @cached_property
    def weights(self) -> Array:
        """Weights of the features, chosen so that no row has a norm above 1."""
        sizes = np.array([len(effect.features) for effect in self.effects])
        shares = sizes**-self.share_power
        shares /= np.linalg.norm(shares) * (1 + ROUNDING_MARGIN)
        weights: Array = np.repeat(shares, sizes)
        weights.flags.writeable = False
        return weights

    @cached_property
    def typical_length(self) -> float:
        """Typical norm of a row, at most 1, computed from public facts.

        This is the root mean square norm for uniform numbers and equally frequent levels. A
        number contributes a third of its squared weight, and a category its squared weight.
        """
        squares = [effect.mean_squares() for effect in self.effects]
        return min(1.0, math.sqrt(float(self.weights**2 @ np.concatenate(squares))))

    def record_norm(self, height: float) -> float:
        """Return X, the norm of a row at which a record has weight 1.

        X is the typical norm of a row, including an intercept column of the given height.
        Mechanisms that weight records use the weight X/‖x‖, up to a maximum, so that no
        record affects a fit more than one of norm X.
        """
        return math.hypot(self.typical_length, height)

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder.of(self.predictors, self.effects, self.weights)

    def encode(self, frame: Any) -> Array:
        """Return the unweighted features: numbers in [−1, 1] and indicators."""
        ones = np.ones(len(self.features))
        encoder = Encoder.of(self.predictors, self.effects, ones)
        return encoder.dense(self._values(frame))

    def design(self, frame: Any) -> Array:
        """Return the weighted design matrix, whose rows have norm at most 1."""
        return self._encoder.dense(self._values(frame))

    def compact_design(self, frame: Any) -> CodedDesign:
        """Return the weighted design matrix with categories stored as codes.

        Arrow tables and record batches are encoded without conversion to pandas.
        """
        return self._encoder.compact(self._values(frame))

    def _values(self, frame: Any) -> list[Any]:
        return pick_columns(frame, *(column.name for column in self.predictors))

    def column(self, frame: Any, name: str) -> Any:
        """Return the raw values of a declared column of a table."""
        return pick_columns(frame, name)[0]

    def cases(self, frame: Any, places: Any = None) -> Cases:
        """Return case weights and offsets, given the label indices of records."""
        weights, weight, offset = self.case_weights, None, None
        if weights is None and self.offset is None:
            return NO_CASES
        if weights is not None and places is not None:
            weight = np.ones(len(places))
            if weights.column:
                weight = weights.read(self.column(frame, weights.column))
            if weights.classes:
                weight = weight * weights.of_labels(places, self.target.levels)
        if self.offset is not None:
            offset = read_offset(self.offset, self.column(frame, self.offset.name))
        return Cases(weight, offset)

    def target_column(self, frame: Any) -> Any:
        """Return the raw values of the target column."""
        return self.column(frame, self.target.column)

    def kept(self, frame: Any) -> Any:
        """Return the rows to fit; drop rows without a target if the schema says so."""
        if self.target.missing != "drop":
            return frame
        if speaks_arrow(frame):
            check_columns(frame.column_names, [self.target.column])
            return without_missing(frame, self.target.column)
        return frame[self.target_column(frame).notna().to_numpy()]

    def in_units(self, coefficients: Array) -> tuple[Array, float]:
        """Convert coefficients of the design matrix to effects per original unit.

        Also returns the constant that the change of origin adds to the intercept.
        """
        whole = units_matrix(self.effects, self.weights) @ np.append(coefficients, 0.0)
        return whole[:-1], float(whole[-1])

    def unidentified_directions(self, height: float) -> Array:
        """Return a basis, as columns, of the directions that are not identified.

        Moving coefficients along them does not change the linear predictor of rows without
        missing or undeclared levels. ``height`` is the value of the intercept column, or 0.
        """
        found = still_directions if self.terms else unidentified_directions
        return found(self.effects, self.weights, height)

    def display_map(self) -> Display:
        """Return the map from slopes and intercept to the lines of the coefficient table.

        The lines are effects per original unit. Levels of a category are compared with the
        baseline of its column, by default the average of its levels.
        """
        return display(self.effects, self.weights)


def _whole(name: str, value: Any, most: int) -> int:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not 1 <= value <= most:
        raise InvalidParameter(name, f"a whole number from 1 to {most}", value)
    return int(value)
