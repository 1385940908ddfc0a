"""Numbers of several columns brought to their public ranges, a piece of the rows at a time.

A value x becomes (x − middle)·height/half-width, cut at ±height. The cut comes last, so
that no rounding passes the height; the factor is rounded such that both ends of a range
reach it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from confide._types import AnyArray, Array

ROWS_AT_ONCE = 2**15
"""Fewer stay nearer to the processor, but threads wait for each other at every step."""
COLUMNS_AT_ONCE = 20
MOST_NUDGES = 4
"""So often a factor is rounded up. What lies far from zero has coarse ends by itself."""


@dataclass(frozen=True, slots=True)
class RangeScaler:
    """Public ranges of some columns, as upright arrays; use `Ranges.of`."""

    middle: Array
    factor: Array
    height: Array

    @classmethod
    def of(cls, ends: Sequence[tuple[float, float]], heights: Array) -> "RangeScaler":
        """Prepare to bring every range to ±its height."""
        lower, upper = np.array(ends, dtype=np.float64).reshape(-1, 2, 1).swapaxes(0, 1)
        middle, height = lower / 2 + upper / 2, np.reshape(heights, (-1, 1))
        factor = height / ((upper - lower) / 2)
        for _ in range(MOST_NUDGES):
            short = np.minimum(upper - middle, middle - lower) * factor < height
            factor = np.where(short, np.nextafter(factor, np.inf), factor)
        return cls(middle, factor, height)

    def write(
        self, raw: Sequence[AnyArray], out: Array, missing: Callable[[int], float]
    ) -> None:
        """Scale columns into the lines of ``out``.

        ``missing`` says what a missing value of a column becomes, or refuses it.
        """
        for first in range(0, len(raw), COLUMNS_AT_ONCE):
            some = slice(first, first + COLUMNS_AT_ONCE)
            part = out[some]
            for line, values in zip(part, raw[some], strict=True):
                line[:] = values
            middle, height = self.middle[some], self.height[some]
            with np.errstate(over="ignore"):
                if middle.any():
                    part -= middle
                part *= self.factor[some]
            np.clip(part, -height, height, out=part)
            if np.isnan(part.max(initial=0.0)):
                for place, line in enumerate(part, first):
                    absent = np.isnan(line)
                    if absent.any():
                        line[absent] = missing(place)


def pieces(count: int) -> list[slice]:
    """Divide rows into pieces, none much longer than another and none too short."""
    edges = np.linspace(0, count, max(1, count // ROWS_AT_ONCE) + 1).astype(int).tolist()
    return [slice(*pair) for pair in pairwise(edges)]
