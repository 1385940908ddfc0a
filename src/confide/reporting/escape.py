"""Text from outside, made safe: nothing in it is ever taken for markup."""

import re
import unicodedata
from html import escape

UNPRINTABLE = {"Cc", "Cs"}
INVISIBLE = set(
    "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
MARKDOWN = re.compile(r"([\\`*_\[\]|~#!])")


def one_line(text: str) -> str:
    """Return the text on one line, without what cannot be printed or turns it around."""
    flat = " ".join(str(text).split())
    return "".join("\ufffd" if _hidden(sign) else sign for sign in flat)


def html(text: str) -> str:
    """Return the text for the inside of an element or a quoted attribute."""
    return escape(one_line(text))


def markdown(text: str) -> str:
    """Return the text for the inside of a Markdown line, raw HTML disarmed too."""
    return MARKDOWN.sub(r"\\\1", escape(one_line(text), quote=False))


def cut(text: str, width: float) -> str:
    """Shorten a label in the middle to that many average letters."""
    line = one_line(text)
    if _width(line) <= width:
        return line
    head, tail = len(line), 0
    while head > 1 and _width(line[:head]) > 0.62 * width - 1:
        head -= 1
    while _width(line[len(line) - tail - 1 :]) <= 0.38 * width:
        tail += 1
    return f"{line[:head].rstrip()}…{line[len(line) - tail :].lstrip()}"


def _hidden(sign: str) -> bool:
    return sign in INVISIBLE or unicodedata.category(sign) in UNPRINTABLE


def _width(text: str) -> float:
    return sum(map(_letter, text))


def _letter(sign: str) -> float:
    """Return about how wide a letter is, measured in average letters."""
    if unicodedata.combining(sign):
        return 0.0
    if sign in "MW@%—" or unicodedata.east_asian_width(sign) in {"W", "F"}:
        return 1.85
    return 1.3 if sign.isupper() or sign in "mw" else 1.0
