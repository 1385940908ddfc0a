"""Escaped text and formatted numbers; bounds are rounded to the safe side."""

import math
import re
import unicodedata
from fractions import Fraction
from html import escape

UNPRINTABLE = {"Cc", "Cs"}
INVISIBLE = set(
    "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
MARKDOWN = re.compile(r"([\\`*_\[\]|~#!])")


def one_line(text: str) -> str:
    """Return a text on one line; replace unprintable characters and direction marks."""
    flat = " ".join(str(text).split())
    return "".join("\ufffd" if _hidden(sign) else sign for sign in flat)


def html(text: str) -> str:
    """Escape a text for HTML elements and quoted attributes."""
    return escape(one_line(text))


def markdown(text: str) -> str:
    """Escape the Markdown and the HTML in a text, and put the text on one line."""
    return MARKDOWN.sub(r"\\\1", escape(one_line(text), quote=False))


def cut(text: str, width: float) -> str:
    """Cut out the middle of a label wider than ``width`` average letters."""
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
    """Return the approximate width of a letter, relative to an average letter."""
    if unicodedata.combining(sign):
        return 0.0
    if sign in "MW@%—" or unicodedata.east_asian_width(sign) in {"W", "F"}:
        return 1.85
    return 1.3 if sign.isupper() or sign in "mw" else 1.0


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def factor_text(epsilon: float) -> str:
    """Format exp(epsilon), rounded up; as a power of ten if it is very large."""
    if epsilon > math.log(1e7):
        return power_of_ten(math.ceil(epsilon / math.log(10)))
    excess = math.expm1(epsilon)
    digits = 2 - math.floor(math.log10(excess if excess < 0.1 else 1 + excess))
    return _rounded_up(1 + excess, max(digits, 0))


def even_odds_text(epsilon: float) -> str:
    """Return the probability, rounded up, of an event whose odds are exp(epsilon) to 1."""
    percent = 100 / (1 + math.exp(-epsilon))
    return "practically 100%" if percent > 99.9 else f"{_rounded_up(percent, 1)}%"


def chance_text(delta: float) -> str:
    """Return ``one in N`` for delta, with N rounded down, so that 1/N is at least delta."""
    if delta < 1e-12:
        return f"one in {power_of_ten(math.floor(-math.log10(delta)))}"
    return f"one in {math.floor(1 / delta * (1 + 1e-12)):,}"


def round_up(value: float) -> str:
    """Format a bound with four significant digits, rounded up."""
    digits = 3 - math.floor(math.log10(value))
    step = Fraction(10) ** digits
    return f"{float(math.ceil(Fraction(value) * step) / step):.6g}"


def percent_of(part: Fraction, whole: Fraction) -> str:
    """Format a share in percent, to one decimal; 0 and 100 appear only if exact."""
    tenths = math.floor(1000 * part / whole + Fraction(1, 2))
    if part > whole:
        tenths = max(tenths, 1001)
    elif 0 < part < whole:
        tenths = min(max(tenths, 1), 999)
    return f"{tenths / 10:.6g}%"


def short(value: float, digits: int = 5) -> str:
    """Format an estimate with ``digits`` significant digits and a true minus sign."""
    if math.isnan(value):
        return "not a number"
    sign = "−" if value < 0 else ""
    size = abs(value)
    if math.isinf(size):
        return f"{sign}∞"
    if size == 0:
        return "0"
    mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
    power = int(exponent)
    if -5 < power < 7:
        return f"{sign}{size:.{max(digits - 1 - power, 0)}f}"
    return f"{sign}{mantissa}×{power_of_ten(power)}"


def tick_text(value: float) -> str:
    """Format a number as an axis label, with no more digits than needed."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{abs(value):.3e}".split("e")
    power, sign = int(exponent), "−" if value < 0 else ""
    if -5 < power < 6:
        return f"{sign}{abs(value):.6g}"
    lead = mantissa.rstrip("0").rstrip(".")
    return sign + (f"{lead}×" if lead != "1" else "") + power_of_ten(power)


def power_of_ten(exponent: int) -> str:
    """Format a power of ten with a superscript exponent."""
    return "10" + str(exponent).translate(SUPERSCRIPTS)


def _rounded_up(value: float, digits: int) -> str:
    step = 10**digits
    return f"{math.ceil(value * step * (1 - 1e-15)) / step:,.{digits}f}"
