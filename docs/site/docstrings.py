"""Docstrings as they are written, made into what docutils reads."""

import re
from typing import Any

from sphinx.application import Sphinx

LITERAL = re.compile(r"(``.*?``|`[^`]*`)")
FACT = re.compile(r"^([A-Z][a-z]+) {2,}")
"""Lines such as `Noise    Gaussian`, on which a mechanism says what it promises."""
EXAMPLE = (">>>", "...")


def escape(text: str) -> str:
    """Keep |x| and * from being read as markup, outside of literals."""
    parts = LITERAL.split(text)
    parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def adapt(lines: list[str]) -> list[str]:
    """Return the lines of a docstring for docutils; examples stay as they are."""
    found: list[str] = []
    shown = False
    for line in lines:
        shown = line.lstrip().startswith(EXAMPLE) or (shown and bool(line.strip()))
        text = line if shown else escape(line)
        fact = FACT.match(text)
        if fact is not None:
            text = f":{fact[1]}: {text[fact.end() :]}"
        found.append(text)
    return found


def adapt_docstring(
    _app: Sphinx, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    """Adapt one docstring before numpydoc reads it."""
    lines[:] = adapt(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Adapt docstrings."""
    app.connect("autodoc-process-docstring", adapt_docstring, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
