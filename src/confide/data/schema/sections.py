"""Conversion between schema files in TOML and columns, targets and purchases.

A schema contains public facts. Facts that were released from a dataset under differential
privacy are recorded as purchases, with the dataset, the privacy cost and the ledger entry.
"""

import dataclasses
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from confide._files import read_limited
from confide.data.schema.case_weights import CaseWeights
from confide.data.schema.columns import COLUMNS, Column
from confide.data.schema.target import ENDS, Target
from confide.errors import Described, InvalidParameter, did_you_mean


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file; raise an InvalidParameter error if it is not valid."""
    content = read_limited(Path(path), "schema file")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except ValueError as error:
        reason = Described(f"{path} ({error})")
        raise InvalidParameter("schema file", "valid TOML in UTF-8", reason) from None
    except RecursionError:
        reason = Described(f"{path} (nested too deeply)")
        raise InvalidParameter("schema file", "valid TOML in UTF-8", reason) from None


def quoted(text: str) -> str:
    """Return text as a TOML string, which is a JSON string with DEL escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_toml(content: Mapping[str, Any], above: str = "") -> str:
    """Return a nested mapping of plain values and lists as TOML."""
    tables = {key: value for key, value in content.items() if isinstance(value, Mapping)}
    lines = [
        f"{quoted_key(key)} = {_value(value)}\n"
        for key, value in content.items()
        if key not in tables
    ]
    for key, table in tables.items():
        path = f"{above}{quoted_key(key)}"
        inner = write_toml(table, f"{path}.")
        only_tables = table and all(isinstance(part, Mapping) for part in table.values())
        lines.append(inner if only_tables else f"\n[{path}]\n{inner}")
    return "".join(lines)


def quoted_key(key: str) -> str:
    """Return a TOML key, quoted if necessary."""
    bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if bare else quoted(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


UNKNOWN = "?"
"""Placeholder in a template for a value that the user has to fill in."""
SECTIONS = (
    *("name", "rows_per_person", "rows", "share_power", "terms"),
    *("target", "case_weights", "offset", "columns", "bought"),
)
_TARGET = {"column": '"outcome"', "lower": "0", "upper": "120"}
"""Example values for the fields of a target, for messages."""


def alternatives(names: Sequence[str]) -> str:
    """Join names as in "a, b or c"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def check_sections(content: Any) -> None:
    """Reject a schema with missing, unknown or unfilled sections."""
    if not isinstance(content, Mapping):
        raise _no_schema(type(content).__name__, "")
    strange = [key for key in content if key not in SECTIONS]
    columns = content.get("columns")
    tables = [content.get("target"), columns]
    tables += columns.values() if isinstance(columns, Mapping) else []
    if strange or not all(isinstance(table, Mapping) for table in tables):
        hints = (did_you_mean(key, SECTIONS) for key in strange)
        raise _no_schema(list(content), next(filter(None, hints), ""))
    _refuse_unfilled(content)


def _no_schema(got: Any, hint: str) -> InvalidParameter:
    return InvalidParameter(
        "schema",
        "made of a name, a [target] section and a section [columns.NAME] per column",
        got,
        hint or "See confide schema init, or Schema.from_toml.",
    )


def read_target(entry: Mapping[str, Any]) -> Target:
    """Return the target declared in the [target] section."""
    half = [name for name in ENDS if name in entry]
    bought = entry.get("range") == "private"
    needed = ("column", *(ENDS if half and not bought else ()))
    built: Target = _build(Target, "[target]", entry, needed, _TARGET)
    return built


def read_weights(content: Mapping[str, Any]) -> CaseWeights | None:
    """Return the case weights declared in a schema file, or None."""
    entry = content.get("case_weights")
    if entry is None:
        return None
    built: CaseWeights = _build(CaseWeights, "[case_weights]", _section(entry), (), {})
    return built


def read_offset_section(content: Mapping[str, Any]) -> Column | None:
    """Return the offset declared in a schema file, or None."""
    if content.get("offset") is None:
        return None
    entry = _section(content["offset"])
    if "column" not in entry:
        raise _incomplete("[offset]", ("column",), entry, {"column": '"exposure"'})
    own = {key: value for key, value in entry.items() if key != "column"}
    return read_column(entry["column"], {"kind": "number", **own})


def _section(entry: Any) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise _no_schema(entry, "")
    return entry


def read_column(name: str, entry: Mapping[str, Any]) -> Column:
    """Return the column declared in a section of a schema file."""
    where = f"[columns.{quoted_key(str(name))}]"
    if "kind" not in entry:
        kinds = " or ".join(map(quoted, COLUMNS))
        raise _incomplete(where, ("kind",), entry, {"kind": kinds})
    kind = entry["kind"]
    if kind not in list(COLUMNS):
        raise InvalidParameter(
            f"kind of column {name!r}",
            f"one of {list(COLUMNS)}",
            kind,
            did_you_mean(kind, COLUMNS),
        )
    if entry.get("name", name) != name:
        raise InvalidParameter(
            f"column {name!r}", "named as in its section heading", entry["name"]
        )
    made = COLUMNS[kind]
    fields = dataclasses.fields(made)
    needed = [f.name for f in fields if f.default is dataclasses.MISSING]
    whole = {"name": name, **entry}
    built: Column = _build(made, where, whole, needed, made.examples)
    return built


def _build(
    made: type[Any],
    where: str,
    entry: Mapping[str, Any],
    needed: Any,
    examples: Mapping[str, str],
) -> Any:
    fields = [field.name for field in dataclasses.fields(made)]
    known = [*fields, "kind"] if "name" in fields else fields
    strange = [key for key in entry if key not in known]
    if strange:
        shown = [key for key in known if key != "name"]
        hint = did_you_mean(strange[0], shown)
        raise InvalidParameter(f"fields of {where}", f"among {shown}", strange, hint)
    absent = tuple(key for key in needed if key not in entry)
    if absent:
        raise _incomplete(where, absent, entry, examples)
    return made(**{key: value for key, value in entry.items() if key != "kind"})


def _incomplete(
    where: str,
    absent: tuple[str, ...],
    entry: Mapping[str, Any],
    examples: Mapping[str, str],
) -> InvalidParameter:
    held = [key for key in entry if key != "name"]
    example = ", ".join(f"{key} = {examples[key]}" for key in absent)
    return InvalidParameter(
        where, f"given {' and '.join(absent)}", held, f"Write {example} under {where}."
    )


def _refuse_unfilled(content: Mapping[str, Any]) -> None:
    """Raise an error that lists the fields of a template that are not filled in."""
    open_questions = [
        f"kind of column {name!r}"
        for name, entry in content["columns"].items()
        if entry.get("kind") == UNKNOWN
    ]
    if UNKNOWN in map(str, content["target"].values()):
        open_questions.insert(0, "[target]")
    if content.get("name") == UNKNOWN:
        open_questions.insert(0, "name")
    if open_questions:
        more = len(open_questions) - 3
        shown = ", ".join(open_questions[:3]) + (f" and {more} more" if more > 0 else "")
        raise InvalidParameter(
            "schema",
            f'filled in wherever the template contains "{UNKNOWN}": {shown}',
            Described("an unfilled template"),
            "Delete the sections of columns that the model should not use.",
        )


NOT_BOOKED = ""
MOST_FACTS = 3
"""Largest number of facts that are named in one line."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """Facts in a schema that were released from a dataset under differential privacy.

    ``kind`` is the type of the facts, such as "ranges". ``facts`` maps names to values: a
    number, text, a date, or a list of these. For ranges, the names are columns and the
    values are pairs of lower and upper ends. ``budget`` and ``neighbours`` describe the
    privacy cost and the neighbour relation. ``bought_on`` is the date of the release.
    ``entry`` is the number of the charge in a ledger; it is empty if there was no ledger.
    ``use`` is the purpose of the facts, if it matters.
    """

    kind: str
    dataset: str
    facts: Mapping[str, Any]
    budget: str
    neighbours: str
    bought_on: str
    entry: str = NOT_BOOKED
    use: str = ""

    def __post_init__(self) -> None:
        texts = [getattr(self, one.name) for one in fields(self) if one.name != "facts"]
        if not all(isinstance(text, str) and text.isprintable() for text in texts):
            raise InvalidParameter(
                "entries of a [bought.NAME] section", "single lines of text", texts
            )
        named = isinstance(self.facts, Mapping) and all(
            isinstance(name, str) for name in self.facts
        )
        if not named or not self.facts:
            must = "one or more entries such as age = [17, 90] (in Python, a dict)"
            raise InvalidParameter("facts in a [bought.NAME] section", must, self.facts)
        plain = {name: _plain_fact(name, value) for name, value in self.facts.items()}
        object.__setattr__(self, "facts", plain)
        try:
            date.fromisoformat(self.bought_on)
        except ValueError:
            raise InvalidParameter(
                "bought_on in a [bought.NAME] section",
                "a date such as 2024-12-31",
                self.bought_on,
            ) from None

    def assumption(self, dataset: str) -> str:
        """Return, as text, what a guarantee for a dataset assumes about this purchase."""
        what = f"{self.kind} of {', '.join(list(self.facts)[:MOST_FACTS])}"
        more = len(self.facts) - MOST_FACTS
        what += f" and {more} more" if more > 0 else ""
        booked = f", entry {self.entry} of the ledger" if self.entry else ""
        where = f"({self.budget}, {self.neighbours} neighbours{booked})"
        if self.dataset == dataset:
            return f"{what} were released before and charged separately {where}"
        return f"{what} were released from {self.dataset!r} {where} and are public here"


def _plain_fact(name: str, value: Any) -> Any:
    """Return a fact with dates converted to text, and lists to tuples."""
    if isinstance(value, list | tuple):
        return tuple(_plain_fact(name, one) for one in value)
    if not isinstance(value, bool | int | float | str | date):
        must = "a number, text, a date, or a list of these"
        raise InvalidParameter(f"{name!r} in a [bought.NAME] section", must, value)
    return value.isoformat() if isinstance(value, date) else value


def read_purchases(content: Any) -> tuple[Purchase, ...]:
    """Return the purchases in a schema file, which has one section per purchase."""
    if not isinstance(content, Mapping) or not all(
        isinstance(entry, Mapping) for entry in content.values()
    ):
        must = "divided into sections [bought.NAME], one per earlier release"
        raise InvalidParameter("[bought]", must, content)
    known = [field.name for field in fields(Purchase)]
    for name, entry in content.items():
        if set(entry) - set(known) or set(known) - {"entry", "use"} - set(entry):
            raise InvalidParameter(
                f"fields of [bought.{name}]",
                f"{known}, where 'entry' and 'use' may be left out",
                list(entry),
            )
    return tuple(Purchase(**entry) for entry in content.values())


def purchase_records(purchases: tuple[Purchase, ...]) -> dict[str, dict[str, Any]]:
    """Return purchases as sections of a schema file."""
    return {
        f"{one.kind}-{number}": {
            field.name: getattr(one, field.name) for field in fields(one)
        }
        for number, one in enumerate(purchases, 1)
    }
