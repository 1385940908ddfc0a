"""Safe terminal output: control characters are escaped, and any encoding works.

Names of columns, files and datasets come from others. A control character, or one that
reverses the direction of writing, could make a line look different from what it says.
"""

from __future__ import annotations

import codecs
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

SPELLED = {
    "ε": "epsilon",
    "δ": "delta",
    "ρ": "rho",
    "Λ": "Lambda",
    "θ": "theta",
    "±": "+/-",
    "≤": "<=",
    "≥": ">=",
    "×": "x",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "•": "*",
    "²": "^2",
}
"""Replacements for characters that an old encoding may lack."""
HANDLER = "confide-spelled"
STEERING = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Unicode categories of control and format characters."""


def visible(text: str) -> str:
    """Return a text with control characters written as codes."""
    if text.isprintable():
        return text
    return "".join(map(_visible_sign, text))


def _visible_sign(sign: str) -> str:
    if sign == "\n" or unicodedata.category(sign) not in STEERING:
        return sign
    return f"\\x{ord(sign):02x}" if ord(sign) < 256 else f"\\u{ord(sign):04x}"


class Screen(Console):
    """A console on which only confide itself moves the cursor or sets colours."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what is drawn; rich's own controls are apart from its text."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def spell(error: UnicodeError) -> tuple[str, int]:
    """Write characters that an encoding lacks as letters or codes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(SPELLED.get(sign, _code(sign)) for sign in wrong), error.end


def _code(sign: str) -> str:
    return sign.encode("ascii", "backslashreplace").decode("ascii")


def spell_what_cannot_be_printed() -> None:
    """Let both streams print any text in any encoding of the system."""
    codecs.register_error(HANDLER, spell)
    for stream in (sys.stdout, sys.stderr):
        change: Any = getattr(stream, "reconfigure", None)
        if change is not None:
            change(errors=HANDLER)
