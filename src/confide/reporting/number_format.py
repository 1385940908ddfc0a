"""Numbers as text: promises are rounded towards caution, estimates to the nearest."""

import math
from fractions import Fraction

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def factor_text(epsilon: float) -> str:
    """Return exp(epsilon) rounded up, as a power of ten where it is astronomical."""
    if epsilon > math.log(1e7):
        return power_of_ten(math.ceil(epsilon / math.log(10)))
    excess = math.expm1(epsilon)
    digits = 2 - math.floor(math.log10(excess if excess < 0.1 else 1 + excess))
    return _rounded_up(1 + excess, max(digits, 0))


def even_odds_text(epsilon: float) -> str:
    """Return, rounded up, how far exp(epsilon) moves someone who thinks it 50:50."""
    percent = 100 / (1 + math.exp(-epsilon))
    return "practically 100%" if percent > 99.9 else f"{_rounded_up(percent, 1)}%"


def chance_text(delta: float) -> str:
    """Return ``one in N`` with N rounded down, which is never less than delta."""
    if delta < 1e-12:
        return f"one in {power_of_ten(math.floor(-math.log10(delta)))}"
    return f"one in {math.floor(1 / delta * (1 + 1e-12)):,}"


def round_up(value: float) -> str:
    """Return a bound with four significant digits, rounded up."""
    digits = 3 - math.floor(math.log10(value))
    step = Fraction(10) ** digits
    return f"{float(math.ceil(Fraction(value) * step) / step):.6g}"


def percent_of(part: Fraction, whole: Fraction) -> str:
    """Return a share in percent, rounded up so that what is spent is never played down."""
    return f"{math.ceil(1000 * part / whole) / 10:.6g}%"


def short(value: float, digits: int = 5) -> str:
    """Return an estimate with that many digits and a real minus sign."""
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
    """Return the label of an axis: no more digits than it needs."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{abs(value):.3e}".split("e")
    power, sign = int(exponent), "−" if value < 0 else ""
    if -5 < power < 6:
        return f"{sign}{abs(value):.6g}"
    lead = mantissa.rstrip("0").rstrip(".")
    return sign + (f"{lead}×" if lead != "1" else "") + power_of_ten(power)


def power_of_ten(exponent: int) -> str:
    """Return 10 with a raised exponent."""
    return "10" + str(exponent).translate(SUPERSCRIPTS)


def _rounded_up(value: float, digits: int) -> str:
    step = 10**digits
    return f"{math.ceil(value * step * (1 - 1e-15)) / step:,.{digits}f}"
