"""Lookup of declared columns in tables, and conversion of declarations to plain values."""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Any

import pandas as pd

from confide.data.schema.arrow_columns import arrow_column, is_arrow
from confide.data.schema.case_weights import CaseWeights
from confide.errors import InvalidData, did_you_mean


def check_columns(held: Any, names: list[str]) -> None:
    """Reject a table that does not hold every declared column exactly once."""
    times = Counter(held)
    for count, fault in ((0, "lacks"), (2, "repeats")):
        wrong = [name for name in names if min(times[name], 2) == count]
        if wrong:
            others = [name for name in map(str, held) if name not in names]
            hint = next(filter(None, (did_you_mean(name, others) for name in wrong)), "")
            raise InvalidData(
                f"the table must hold every declared column once; it {fault} {wrong}. "
                f"Rename its columns, or correct the schema. {hint}".rstrip()
            )


def declared_columns(schema: Any, held: list[str], *, target: bool) -> list[str]:
    """Return the names of the columns to read, after checking that the table has them."""
    names = [column.name for column in schema.predictors]
    if schema.offset is not None:
        names.append(schema.offset.name)
    if target:
        names.append(schema.target.column)
        names += [one.column for one in (schema.case_weights,) if one and one.column]
    check_columns(held, names)
    return names


def pick_columns(frame: Any, *names: str) -> list[Any]:
    """Return declared columns of a table, after checking that each occurs exactly once."""
    if speaks_arrow(frame):
        check_columns(frame.column_names, list(names))
        return [arrow_column(frame.column(name)) for name in names]
    if not isinstance(frame, pd.DataFrame):
        raise InvalidData(
            "with a schema the data must be a table with named columns. Pass a DataFrame."
        )
    check_columns(frame.columns, list(names))
    return [frame[name] for name in names]


def speaks_arrow(frame: Any) -> bool:
    """Whether a table is an Arrow table or record batch, not a pandas DataFrame."""
    return not isinstance(frame, pd.DataFrame) and is_arrow(frame)


def declared_fields(part: Any) -> dict[str, Any]:
    """Return the fields, except the name, that differ from their defaults."""
    return {
        field.name: getattr(part, field.name)
        for field in dataclasses.fields(part)
        if field.name not in ("name", "column")
        and getattr(part, field.name) != field.default
    }


def plain_weights(weights: CaseWeights) -> dict[str, Any]:
    """Return the declaration of case weights as a mapping of plain values."""
    own = {name: value for name, value in declared_fields(weights).items() if value}
    column = {"column": weights.column} if weights.column else {}
    return {**column, **own}


def with_text_dates(value: Any) -> Any:
    """Convert tuples to lists and dates to text for JSON."""
    if isinstance(value, Mapping):
        return {key: with_text_dates(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [with_text_dates(part) for part in value]
    return value.isoformat() if isinstance(value, date) else value
