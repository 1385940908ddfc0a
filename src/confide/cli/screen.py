"""Safe terminal output: control characters are escaped, and any encoding works.

Names of columns, files and datasets may come from anyone. A control character in a name,
or one that reverses the direction of writing, could make a line of output misleading.

Writing may fail, for example on a closed pipe or a full disk. Errors on standard error are
ignored, because work that has been charged must not stop when a message is lost. Errors on
standard output are raised, so that a release is saved elsewhere.
"""

from __future__ import annotations

import codecs
import errno
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any, cast

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
    """Return a text with control characters escaped, except line breaks."""
    if text.isprintable():
        return text
    return "".join(map(_visible_sign, text))


def in_one_line(text: str) -> str:
    """Return a text with control characters and line breaks escaped."""
    return visible(text).replace("\n", "\\x0a")


def _visible_sign(sign: str) -> str:
    if sign == "\n" or unicodedata.category(sign) not in STEERING:
        return sign
    return f"\\x{ord(sign):02x}" if ord(sign) < 256 else f"\\u{ord(sign):04x}"


class Aside:
    """Stream for messages that may be lost: text that cannot be written is dropped."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; ignore errors."""
        self._attempt(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream; ignore errors."""
        self._attempt(self._stream.flush)

    def _attempt(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except BlockingIOError:
            pass  # the reader is slow: the rest stays in the buffer
        except (OSError, ValueError):
            silence(self._stream)


class Screen(Console):
    """Console that escapes the control characters in all texts."""

    @property
    def file(self) -> IO[str]:
        """The stream; writing to standard error never raises an error."""
        stream: Any = super().file
        return cast("IO[str]", Aside(stream) if self.stderr else stream)

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def on_broken_pipe(self) -> None:
        """Raise ``BrokenPipeError``; by default, rich would exit the program."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the rendered segments, with control characters in their text escaped."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def silence(stream: Any) -> None:
    """Redirect a failed stream to the null device, because Python flushes it at exit."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def spell(error: UnicodeError) -> tuple[str, int]:
    """Handle a codec error: replace or escape characters that the encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(SPELLED.get(sign, _code(sign)) for sign in wrong), error.end


def _code(sign: str) -> str:
    return sign.encode("ascii", "backslashreplace").decode("ascii")


def spell_what_cannot_be_printed() -> None:
    """Make both output streams replace or escape characters that their encoding lacks."""
    codecs.register_error(HANDLER, spell)
    for stream in (sys.stdout, sys.stderr):
        change: Any = getattr(stream, "reconfigure", None)
        if change is not None:
            change(errors=HANDLER)
