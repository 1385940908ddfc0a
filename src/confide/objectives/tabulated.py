"""tanh and exp beyond doubles: a table of exact values, and a short series in between.

A table holds the function on a fine grid, to 106 bits from whole numbers. From the nearest
point on, the first-order term is a product of twofold numbers or one without error, and all
that follows is below 2⁻²⁰, so that doubles lose little there. The bounds are proved in
docs/proofs/finite-precision.md, tabulated.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from confide._types import Array
from confide.objectives.twofold import Twofold, two_sum

STEPS = 256
"""The number of points of the tables between two whole numbers."""
REACH = 64
"""Beyond this tanh is a whole number for all purposes; exp is tabulated no further."""
FIXED_BITS = 224
TANH_ERROR = 2.0**-70
"""How far off `tanh_of_half` can be."""
FINE_STEPS = 1024
"""The number of steps of a second table, for exp, between two whole numbers."""
EXP_ERROR = 2.0**-72
"""How far off `exp_of` can be, as a share of the value, for arguments up to the reach."""


@dataclass(frozen=True, slots=True)
class _Table:
    """Values in two parts; slopes in two parts, the first of 26 bits."""

    high: Array
    low: Array
    lead: Array
    rest: Array


def tanh_of_half(margin: Twofold) -> Twofold:
    """Return tanh(m/2)."""
    inside = np.clip(margin.high, -REACH, REACH)
    nearest = np.rint(inside * STEPS)
    place = np.abs(nearest).astype(np.intp)
    sign = np.where(nearest < 0, -1.0, 1.0)
    gap = 0.5 * (inside - nearest / STEPS)
    lead = _on_grid(gap, 2.0**-36)
    rest = (gap - lead) + 0.5 * np.where(inside == margin.high, margin.low, 0.0)
    table = _tanh_table()
    high, low = sign * table.high[place], sign * table.low[place]
    slope, tail = table.lead[place], table.rest[place]
    gap = lead + rest
    square = gap * gap
    correction = -gap * square * (1 / 3 - square * (2 / 15))
    moved = gap + correction
    small = (slope + tail) * ((correction - high * moved * gap) / (1 + high * moved))
    small += tail * lead + (slope + tail) * rest
    total, error = two_sum(high, slope * lead)
    return Twofold.sum_of(total, error + (low + small))


def exp_of(margin: Twofold) -> Twofold:
    """Return exp(m), in doubles beyond the range of the table."""
    inside = np.clip(margin.high, -REACH, REACH)
    nearest = np.rint(inside * FINE_STEPS)
    place = (nearest + REACH * FINE_STEPS).astype(np.intp)
    coarse, fine = _exp_tables()
    near = coarse[place // FINE_STEPS] * fine[place % FINE_STEPS]
    gap = inside - nearest / FINE_STEPS
    low = np.where(inside == margin.high, margin.low, 0.0)
    whole = gap + low
    rest = whole * whole * (0.5 + whole * (1 / 6 + whole * (1 / 24 + whole / 120)))
    found = near + near * Twofold.sum_of(gap, low + rest)
    with np.errstate(over="ignore"):
        return found.where(margin.high <= REACH, np.exp(margin.high))


def _on_grid(value: Array, grid: float) -> Array:
    anchor = 1.5 * 2.0**52 * grid
    return (value + anchor) - anchor


def _power(over: int, under: int) -> int:
    """Return e^(over/under) in units of 2^-224, by its series."""
    total = term = 1 << FIXED_BITS
    order = 1
    while term:
        term = term * over // (order * under)
        total += term
        order += 1
    return total


@cache
def _tanh_table() -> _Table:
    one = 1 << FIXED_BITS
    step, powers = _power(1, STEPS), [one]
    for _ in range(REACH * STEPS):
        powers.append(powers[-1] * step >> FIXED_BITS)
    values = [((power - one) << FIXED_BITS) // (power + one) for power in powers]
    high, low = _in_two(values)
    slopes = [one - (value * value >> FIXED_BITS) for value in values]
    slope, tail = _in_two(slopes)
    lead = _on_grid(slope, 2.0**-26)
    return _Table(high, low, lead, (slope - lead) + tail)


@cache
def _exp_tables() -> tuple[Twofold, Twofold]:
    """Return exp at whole numbers from −reach on, and at steps from 0 to 1."""
    one = 1 << FIXED_BITS
    rising = [_power(place, 1) for place in range(REACH + 1)]
    falling = [(one << FIXED_BITS) // power for power in reversed(rising[1:])]
    steps = [_power(place, FINE_STEPS) for place in range(FINE_STEPS)]
    return Twofold(*_in_two(falling + rising)), Twofold(*_in_two(steps))


def _in_two(values: list[int]) -> tuple[Array, Array]:
    """Return whole numbers of 2^-224 as a double and what it leaves over, as another."""
    one = 1 << FIXED_BITS
    high = [value / one for value in values]
    left = []
    for value, lead in zip(values, high, strict=True):
        over, under = lead.as_integer_ratio()
        left.append((value - over * (one // under)) / one)
    return np.array(high), np.array(left)
