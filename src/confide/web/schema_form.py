"""The schema form: column names from the header of a table, the rest from the user.

No value of the table is read. Users can note the source of each declaration.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide._files import check_regular
from confide.data import COLUMNS, UNNAMED, Schema
from confide.data.tables.check_table import name_of_sign, separator_in
from confide.data.tables.files import column_names, name_of
from confide.data.tables.read import local_path
from confide.data.tables.schema_template import schema_template
from confide.errors import Described, InvalidData, InvalidParameter
from confide.reporting.format import one_line
from confide.web.forms import read_number

MOST_COLUMNS = 200
"""Largest number of columns in a form; for wider tables the user names the columns."""
COLUMN_FIELDS = (
    *("lower", "upper", "first", "last", "unit", "levels"),
    *("reference", "missing", "share", "low", "high"),
)
LABEL_FIELDS = ("labels", "missing", "share")
NUMBER_FIELDS = ("lower", "upper", "unit", "missing", "low", "high")


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """Entries of the form for one column."""

    number: int
    name: str
    kind: str
    fields: Mapping[str, str]
    reason: str


def read_header(table: Path) -> list[str]:
    """Return the column names in a file; reject files that are not tables."""
    try:
        found = local_path(str(table))
        check_regular(found, "the table")
    except ValueError as error:
        if isinstance(error, InvalidParameter):
            raise
        must = "a valid path on this machine"
        raise InvalidParameter("the table", must, str(table)) from None
    names = column_names(found)
    if any("\0" in name for name in names):
        raise InvalidData(
            f"the first line of {table} must hold the column names; it is not text."
        )
    sign = separator_in(names)
    if sign is not None:
        raise InvalidData(
            f"the first line of {table} must name the columns, separated by commas, "
            f"semicolons or tabs; its only name contains {name_of_sign(sign)}. Write the "
            "table with one of these separators."
        )
    schema_template(found)
    return names


def form_of(names: Sequence[str], answers: Mapping[str, str]) -> list[ColumnForm]:
    """Return the entries of the form for every column, as filled in before."""
    return [
        ColumnForm(
            number,
            name,
            answers.get(f"kind-{number}", ""),
            {key: answers.get(f"{key}-{number}", "") for key in COLUMN_FIELDS},
            answers.get(f"reason-{number}", ""),
        )
        for number, name in enumerate(names)
    ]


def first_answers(table: Path) -> dict[str, str]:
    """Return the initial entries of the form."""
    return {"name": name_of(table), "rows_per_person": "1", "target-kind": "labels"}


def wanted_columns(names: Sequence[str], answers: Mapping[str, str]) -> list[str]:
    """Return the columns to show in the form: all, or those that the user named."""
    if len(names) <= MOST_COLUMNS:
        return list(names)
    asked = _listed(answers.get("columns", ""))
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise InvalidData(f"the columns to use must be in the table; it has no {unknown}.")
    if not 0 < len(asked) <= MOST_COLUMNS:
        raise InvalidParameter(
            "columns to use",
            f"1 to {MOST_COLUMNS} names, because the table has {len(names):,} columns",
            len(asked),
        )
    return list(dict.fromkeys(asked))


def moved(names: Sequence[str], answers: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of the form, renamed to the current positions of the columns.

    Field names contain column positions, which may have changed since the form was sent.
    """
    now = [one_line(name) for name in names]
    then = [answers.get(f"column-{place}") for place in range(MOST_COLUMNS)]
    known = [label for label in then if label is not None]
    if known in ([], now):
        return dict(answers)
    places = {
        str(place): str(now.index(label))
        for place, label in enumerate(then)
        if label is not None and label in now
    }
    found = {"target": places.get(answers.get("target", ""), "")}
    for name, text in answers.items():
        stem, _, place = name.rpartition("-")
        if place in places:
            found[f"{stem}-{places[place]}"] = text
        elif not place.isdigit() and name != "target":
            found[name] = text
    return found


def schema_from(names: Sequence[str], answers: Mapping[str, str]) -> Schema:
    """Return the schema that a form declares."""
    target = target_of(names, answers)
    if target is None:
        must = "a column of the table"
        raise InvalidParameter("column to predict", must, Described("none"))
    columns = {
        line.name: column_values(line)
        for line in form_of(names, answers)
        if line.kind and line.name != target
    }
    head: dict[str, Any] = {"name": answers.get("name", "") or UNNAMED}
    for name in ("rows_per_person", "rows"):
        if answers.get(name):
            head[name] = read_number(answers[name])
    section = target_values(target, answers)
    return Schema.from_mapping({**head, "target": section, "columns": columns})


def target_of(names: Sequence[str], answers: Mapping[str, str]) -> str | None:
    """Return the name of the column to predict; None if none is chosen."""
    places = {str(place): name for place, name in enumerate(names)}
    return places.get(answers.get("target", ""))


def target_values(name: str, answers: Mapping[str, str]) -> dict[str, Any]:
    """Return the declared values of the column to predict."""
    labelled = answers.get("target-kind", "") == "labels"
    own = LABEL_FIELDS if labelled else NUMBER_FIELDS
    given = plain_values({field: answers.get(f"target-{field}", "") for field in own})
    if not labelled and not {"lower", "upper"} & set(given):
        given["range"] = "private"
    return {"column": name, **given}


def facts_of(kind: str) -> set[str]:
    """Return the names of the attributes that a kind of column can declare."""
    return {field.name for field in dataclasses.fields(COLUMNS.find(kind))}


def holds_days(column: Any) -> bool:
    """Return whether a column, or a kind of column, has a range of dates."""
    return hasattr(column, "lower") and column.dtype is not float


def column_values(line: ColumnForm) -> dict[str, Any]:
    """Return the declared values of a column, for the attributes that its kind has."""
    fields = dict(line.fields)
    if holds_days(COLUMNS.find(line.kind)):
        fields |= {"lower": fields["first"], "upper": fields["last"]}
    known, values = facts_of(line.kind), plain_values(fields)
    own = {name: value for name, value in values.items() if name in known}
    return {"kind": line.kind, **own}


def plain_values(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the fields that were filled in."""
    found = {name: _value(name, text) for name, text in fields.items() if text}
    ends = [found.pop(end, None) for end in ("low", "high")]
    typical = {} if ends == [None, None] else {"typical": tuple(ends)}
    return {name: value for name, value in found.items() if value != ()} | typical


def schema_text(schema: Schema, names: Sequence[str], answers: Mapping[str, str]) -> str:
    """Return the text of a schema file, with comments on the source of each declaration."""
    lines = [
        f"# {one_line(line.name)}: {one_line(line.reason)}\n"
        for line in form_of(names, answers)
        if line.reason and line.name in schema.parts
    ]
    why = one_line(answers.get("target-reason", ""))
    lines += [f"# {one_line(schema.target.column)}: {why}\n"] if why else []
    head = "# How this is known without looking at the table:\n" if lines else ""
    return f"{head}{''.join(lines)}{schema.to_toml()}"


def _value(name: str, text: str) -> Any:
    if name in ("levels", "labels"):
        return tuple(_listed(text))
    if name == "share":
        return read_share_of(text)
    return read_number(text) if name in ("lower", "upper", "low", "high") else text


def read_share_of(text: str) -> Any:
    """Read a share, one share per level, or shares by level, such as "north = 0.4"."""
    parts = _listed(text)
    pairs = [part.rpartition("=") for part in parts]
    if all(sign for _, sign, _ in pairs):
        return {level.strip(): read_number(share.strip()) for level, _, share in pairs}
    numbers = tuple(read_number(part) for part in parts)
    return numbers[0] if len(numbers) == 1 else numbers


def _listed(text: str) -> list[str]:
    """Return the entries of a list: one per line, or separated by commas on one line."""
    parts = text.splitlines() if "\n" in text else text.split(",")
    return [part.strip() for part in parts if part.strip()]
