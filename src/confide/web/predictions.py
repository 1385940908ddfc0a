"""Predictions for one row from a form; no table is read and no budget is spent."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import confide
from confide.errors import Described, InvalidParameter
from confide.reporting.format import short
from confide.web.forms import read_number
from confide.web.schema_form import holds_days

DIGITS = 4


@dataclass(frozen=True, slots=True)
class RowField:
    """Form field for one column of a row; ``options`` are its choices, if any."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    type: str
    hint: str


def row_fields(schema: confide.Schema) -> list[RowField]:
    """Return a form field for every predictor."""
    return [
        RowField(f"value-{place}", column.name, *_kind_of(column))
        for place, column in enumerate(schema.predictors)
    ]


def _kind_of(column: Any) -> tuple[tuple[tuple[str, str], ...], str, str]:
    names = {False: "no", True: "yes"} if not column.coded else {}
    if column.possible:
        shown = [names.get(value, str(value)) for value in column.possible]
        return tuple((name, name) for name in shown), "text", ""
    return (), "date" if holds_days(column) else "text", _range_text(column)


def _range_text(column: Any) -> str:
    """Return the range of a column in words; empty if it has no limits."""
    if not getattr(column, "has_limits", False):
        return ""
    ends = [_shown(end) for end in (column.lower, column.upper)]
    unit = "" if holds_days(column) else column.unit
    return f"From {ends[0]} to {ends[1]}{f' ({unit})' if unit else ''}."


def _shown(end: Any) -> str:
    return str(end) if isinstance(end, date) else f"{end:,.6g}"


def predicted(model: Any, schema: confide.Schema, fields: Mapping[str, str]) -> list[str]:
    """Return the prediction for a row, and a remark on every out-of-range value."""
    import pandas as pd

    row, beyond = {}, []
    for field, column in zip(row_fields(schema), schema.predictors, strict=True):
        text = fields.get(field.name, "")
        if not text:
            raise InvalidParameter(column.name, "filled in", Described("nothing"))
        value = read_number(text) if column.dtype is float else text
        row[column.name] = [value]
        beyond += _beyond(column, value)
    frame = pd.DataFrame(row)
    guess = model.predict(frame)[0]
    target = schema.target.column
    if not hasattr(model, "classes_"):
        return [f"{target}: {short(float(guess), DIGITS)}", *beyond]
    told = [f"{target}: {guess}"]
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(frame)[0]
        pairs = zip(model.classes_, chances, strict=True)
        told += [f"probability of {label}: {chance:.1%}" for label, chance in pairs]
    return told + beyond


def _beyond(column: Any, value: Any) -> list[str]:
    """Return a remark if a value lies outside the range of its column."""
    if not getattr(column, "has_limits", False):
        return []
    try:
        known = date.fromisoformat(value) if holds_days(column) else value
        inside = column.lower <= known <= column.upper
    except (TypeError, ValueError):
        return []
    if inside:
        return []
    end = column.lower if known < column.lower else column.upper
    ends = f"{_shown(column.lower)} to {_shown(column.upper)}"
    what = _shown(known)
    return [f"{column.name}: {what} is outside {ends}; {_shown(end)} is used instead."]
