"""Conversion of events to and from JSON records."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, get_type_hints

from confide.accounting.events import Event
from confide.privacy.budgets import fraction_of


def event_fields(event: Event, exact: Callable[[Fraction], str]) -> dict[str, Any]:
    """Return the fields of an event, ready for JSON; ``exact`` formats fractions."""
    write: dict[Any, Callable[[Any], Any]] = {
        Fraction: lambda value: exact(Fraction(value)),
        float: float,
    }
    return {
        name: write.get(kind, lambda value: value)(getattr(event, name))
        for name, kind in _types(type(event)).items()
    }


def event_from(kind: type[Any], record: Mapping[str, Any]) -> Event:
    """Return an event of class ``kind`` from the fields in a record; ignore other keys."""
    types = _types(kind)
    event: Event = kind(**{name: _read(types[name], record[name]) for name in types})
    return event


def _types(kind: type[Any]) -> dict[str, Any]:
    """Return a mapping from the field names of an event class to their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(kind: Any, value: Any) -> Any:
    """Convert a value from a record to the type of its field."""
    if kind is Fraction and isinstance(value, str):
        return fraction_of(value)
    if kind is float and isinstance(value, int | float | str) and value is not True:
        return float(value)
    if kind in (Fraction, float):
        raise TypeError("fractions must be stored as strings, and floats as numbers")
    return value
