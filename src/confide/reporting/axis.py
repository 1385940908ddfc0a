"""Where a number stands on an axis: linear, or by powers of ten on both sides of zero."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

UNEVEN = 30.0
DECADES = 6
TINY, HUGE = 1e-290, 1e300


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis that holds zero; ``unit`` is the end of its linear middle, or None."""

    low: float
    high: float
    unit: float | None = None

    def place(self, value: float) -> float:
        """Return where a value stands, from 0 to 1; what is beyond stands at the edge."""
        low, high = self._bend(self.low), self._bend(self.high)
        bent = self._bend(min(max(value, self.low), self.high))
        return (bent - low) / (high - low)

    def ticks(self, most: int) -> tuple[float, ...]:
        """Return round numbers on the axis, about as many as asked for."""
        if self.unit is None:
            return _even_ticks(self.low, self.high, most)
        return self._decade_ticks(self.unit, most)

    def _bend(self, value: float) -> float:
        if self.unit is None:
            return value
        size = abs(value) / self.unit
        return math.copysign(size if size <= 1 else 1 + math.log10(size), value)

    def _decade_ticks(self, unit: float, most: int) -> tuple[float, ...]:
        sides = [side for side in (self.low, self.high) if abs(side) >= unit]
        first = round(math.log10(unit))
        last = math.floor(math.log10(max(-self.low, self.high)) + 1e-9)
        room = max(1, (most - 1) // max(1, len(sides)))
        stride = math.ceil((last - first + 1) / room)
        powers = [10.0**power for power in range(last, first - 1, -stride)]
        signed = [math.copysign(p, s) for s in sides for p in powers if p <= abs(s)]
        return (0.0, *signed)


def scale_for(
    estimates: Sequence[float], ends: Sequence[float], reach: Sequence[float] = ()
) -> Scale:
    """Return the axis for these estimates and the finite ends of their intervals.

    ``reach`` is how far from zero each of them goes with its interval; without it the
    estimates count. Where one dwarfs most others a linear axis would show a heap of dots
    on zero; then distances from zero are drawn by powers of ten.
    """
    values = [value for value in (*estimates, *ends) if math.isfinite(value)]
    low, high = max(min(0.0, 0.0, *values), -HUGE), min(max(0.0, 0.0, *values), HUGE)
    if high - low < TINY:
        return Scale(-1.0, 1.0)
    sizes = [abs(e) for e in reach or estimates if TINY <= abs(e) <= HUGE]
    if sizes and max(sizes) / median(sizes) > UNEVEN:
        top = math.ceil(math.log10(max(-low, high)))
        unit = 10.0 ** max(math.floor(math.log10(min(sizes))), top - DECADES)
        return Scale(1.6 * low, 1.6 * high, unit)
    margin = 0.04 * (high - low)
    return Scale(low - margin, high + margin)


def _even_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step), math.floor(high / step)
    return tuple(float(f"{k * step:.6g}") for k in range(first, last + 1))
