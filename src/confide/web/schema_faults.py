"""Validation of the schema form: one message for every invalid field."""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from confide.data import COLUMNS, UNKNOWN, UNNAMED
from confide.data.matrix.sums import MAX_ROWS
from confide.data.schema.schema import MOST_ROWS_PER_PERSON
from confide.data.schema.sections import read_column, read_target
from confide.errors import ConfideError
from confide.web.forms import read_number
from confide.web.schema_form import (
    ColumnForm,
    column_values,
    facts_of,
    form_of,
    holds_days,
    plain_values,
    target_of,
)

NO_NUMBER = "must be a number, such as 18 or 20,000 or 0.5."
DAY = " as year-month-day, such as 2020-12-31."
SHARES = (
    "one number from 0 to 1 for every {}, in order, or for some of them, such as {} = 0.4"
)


def form_faults(names: Sequence[str], answers: Mapping[str, str]) -> dict[str, str]:
    """Return one message for every field that must be corrected, keyed by field name."""
    found = _dataset_faults(answers)
    target = target_of(names, answers)
    if target is None:
        found["target"] = "Choose the column to predict."
    else:
        found |= _target_faults(target, answers)
    lines = [one for one in form_of(names, answers) if one.kind and one.name != target]
    if not lines:
        free = (place for place, name in enumerate(names) if name != target)
        found[f"kind-{next(free, 0)}"] = (
            "Choose number, category, boolean or date for at least one column to predict "
            "from."
        )
    for line in lines:
        own = _column_faults(line)
        found |= {f"{field}-{line.number}": f"{line.name}: {own[field]}" for field in own}
    return found


def _dataset_faults(answers: Mapping[str, str]) -> dict[str, str]:
    found = {}
    name = answers.get("name", "")
    if name in ("", UNNAMED, UNKNOWN) or not name.isprintable():
        found["name"] = (
            "Name: give the dataset a name; the ledger records spending "
            "on the table under this name."
        )
    if not _is_count(answers.get("rows_per_person", "1") or "1", MOST_ROWS_PER_PERSON):
        found["rows_per_person"] = (
            "Rows per person: write a whole number, 1 if every person has one row."
        )
    if answers.get("rows") and not _is_count(answers["rows"], MAX_ROWS):
        found["rows"] = (
            "Number of rows: write a whole number, such as 20,000, or leave it empty."
        )
    return found


def _is_count(text: str, most: int) -> bool:
    number = read_number(text)
    return isinstance(number, int) and 0 < number <= most


def _target_faults(name: str, answers: Mapping[str, str]) -> dict[str, str]:
    """Return messages about invalid fields of the target, keyed by field name."""

    def texts(*fields: str) -> dict[str, str]:
        return {field: answers.get(f"target-{field}", "") for field in fields}

    def builds(*fields: str) -> bool:
        given: dict[str, Any] = {"column": name, **plain_values(texts(*fields))}
        if not {"labels", "lower", "upper"} & set(given):
            given["range"] = "private"
        return _builds(lambda: read_target(given))

    if answers.get("target-kind", "") == "labels":
        own = _label_faults(texts("labels", "share"), builds)
    else:
        own = _range_faults(texts("lower", "upper"), texts("low", "high"), builds)
        own |= _half_range(texts("lower", "upper"), own)
    return {f"target-{field}": f"{name}: {told}" for field, told in own.items()}


def _half_range(texts: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    empty = [field for field, text in texts.items() if not text]
    if len(empty) != 1 or known:
        return {}
    return {empty[0]: "fill in both the lowest and the highest value, or neither."}


def _label_faults(texts: Mapping[str, str], builds: Any) -> dict[str, str]:
    if not builds("labels") or not plain_values(texts).get("labels"):
        return {
            "labels": (
                "fill in two or more different labels, separated by commas, such as "
                "no, yes."
            )
        }
    if texts["share"] and not builds("labels", "share"):
        return {"share": f"write {SHARES.format('label', 'yes')}; together at most 1."}
    return {}


def _column_faults(line: ColumnForm) -> dict[str, str]:
    """Return messages about invalid fields of a column, keyed by field."""
    if line.kind not in COLUMNS:
        return {"kind": "choose number, category, boolean or date."}
    given = column_values(line)

    def builds(*fields: str) -> bool:
        own = {name: value for name, value in given.items() if name in ("kind", *fields)}
        return _builds(lambda: read_column(line.name, own))

    fields, facts = line.fields, facts_of(line.kind)
    if "levels" in facts:
        found = _level_faults(fields, builds)
    elif holds_days(COLUMNS[line.kind]):
        found = _date_faults(fields, builds)
    elif "typical" in facts:
        ends = {name: fields[name] for name in ("lower", "upper")}
        typical = {name: fields[name] for name in ("low", "high")}
        found = _range_faults(ends, typical, builds)
    elif fields["share"] and not builds("share"):
        found = {"share": "write the share of yes, a number from 0 to 1."}
    else:
        found = {}
    if fields["missing"] not in ("", "refuse", "midpoint", "category"):
        found["missing"] = "choose one of the two options."
    return found


def _range_faults(
    ends: Mapping[str, str], typical: Mapping[str, str], builds: Any
) -> dict[str, str]:
    words = {"lower": "its lowest value", "upper": "its highest value"}
    words |= {"low": "this end of its typical range", "high": words["upper"]}
    words["high"] = words["low"]
    found = {
        name: f"{words[name]} {NO_NUMBER}"
        for name, text in (*ends.items(), *typical.items())
        if text and not _is_finite(text)
    }
    if found:
        return found
    if all(ends.values()) and not builds(*ends):
        return {"upper": "its highest value must be above its lowest."}
    given = [name for name, text in typical.items() if text]
    if len(given) == 1:
        absent = "high" if given == ["low"] else "low"
        return {absent: "fill in both ends of its typical range, or neither."}
    if given and not builds(*ends, "typical", "low", "high"):
        return {
            "high": (
                "its typical range must lie between its lowest and its highest value, "
                "the lower number first."
            )
        }
    return {}


def _is_finite(text: str) -> bool:
    number = read_number(text)
    return not isinstance(number, str) and math.isfinite(number)


def _date_faults(fields: Mapping[str, str], builds: Any) -> dict[str, str]:
    words = {"first": "earliest", "last": "latest"}
    found = {
        name: f"fill in its {word} day{DAY if fields[name] else '.'}"
        for name, word in words.items()
        if not _is_day(fields[name])
    }
    if not found and not builds("lower", "upper"):
        return {"last": "its latest day must be after its earliest."}
    return found


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _level_faults(fields: Mapping[str, str], builds: Any) -> dict[str, str]:
    if not builds("levels"):
        return {"levels": "fill in its levels, without repeating any, separated by commas."}
    found = {}
    if fields["reference"] and not builds("levels", "reference"):
        found["reference"] = "the level to compare with must be one of its levels."
    if fields["share"] and not builds("levels", "share"):
        found["share"] = f"write {SHARES.format('level', 'north')}; together at most 1."
    return found


def _builds(make: Any) -> bool:
    try:
        make()
    except ConfideError:
        return False
    return True
