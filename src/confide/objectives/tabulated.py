"""tanh and exp in double-double precision, from a table and a short series.

A table contains the values of the function on a fine grid to 106 bits, computed in integer
arithmetic. Other values are computed from a power series around the nearest grid point. Its
first-order term is an exact or a double-double product, and all further terms are below
2⁻²⁰, so doubles suffice for them. The error bounds are proved in
docs/proofs/finite-precision.md, section tabulated.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from confide._types import Array
from confide.objectives.twofold import Twofold, two_sum

STEPS = 256
"""The number of grid points per unit in the table of tanh."""
REACH = 64
"""The largest tabulated argument m, at which tanh(m/2) differs from 1 by at most 2⁻⁹¹."""
FIXED_BITS = 224
TANH_ERROR = 2.0**-70
"""The largest absolute error of `tanh_of_half`."""
FINE_STEPS = 1024
"""The number of grid points per unit in the table of exp."""
EXP_ERROR = 2.0**-72
"""The largest relative error of `exp_of`, for arguments from −REACH to REACH."""


@dataclass(frozen=True, slots=True)
class _Table:
    """Values of tanh, ``high`` + ``low``, and its derivatives, ``lead`` + ``rest``.

    ``lead`` has only 26 bits, so its product with another short number is exact.
    """

    high: Array
    low: Array
    lead: Array
    rest: Array


def tanh_of_half(margin: Twofold) -> Twofold:
    """Return tanh(m/2) for a margin m."""
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
    """Return exp(m), or exp(−REACH) if m < −REACH; a plain double if m > REACH."""
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
    """Return e^(over/under) in integer units of 2^-224, by its power series."""
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
    """Return exp at the integers from −REACH to REACH, and on the grid from 0 to 1."""
    one = 1 << FIXED_BITS
    rising = [_power(place, 1) for place in range(REACH + 1)]
    falling = [(one << FIXED_BITS) // power for power in reversed(rising[1:])]
    steps = [_power(place, FINE_STEPS) for place in range(FINE_STEPS)]
    return Twofold(*_in_two(falling + rising)), Twofold(*_in_two(steps))


def _in_two(values: list[int]) -> tuple[Array, Array]:
    """Convert integers in units of 2^-224 to doubles and their remainders."""
    one = 1 << FIXED_BITS
    high = [value / one for value in values]
    left = []
    for value, lead in zip(values, high, strict=True):
        over, under = lead.as_integer_ratio()
        left.append((value - over * (one // under)) / one)
    return np.array(high), np.array(left)
