"""Schema files: TOML in and out."""

import json
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from confide.errors import InvalidParameter


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file, or say why it cannot be read."""
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        reason = f"{path} ({error.strerror})"
        raise InvalidParameter("schema file", "a file to be read", reason) from None
    except ValueError as error:
        reason = f"{path} ({error})"
        raise InvalidParameter("schema file", "valid TOML in UTF-8", reason) from None
    except RecursionError:
        reason = f"{path} (nested too deeply)"
        raise InvalidParameter("schema file", "valid TOML in UTF-8", reason) from None


def quoted(text: str) -> str:
    """Return text as a TOML string: that of JSON, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_toml(content: Mapping[str, Any], above: str = "") -> str:
    """Return a mapping of plain values, lists and further mappings as TOML."""
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
    """Return a key as it is where TOML allows, else in quotes."""
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
