"""Public histogram grids for estimating the range of a column.

The bins extend from one power of two to the next, on both sides of zero, and end at the
declared limits of the column. A range that is declared ten or a hundred times too wide
therefore adds a few empty bins and leaves the others unchanged. Every bin is divided into
equal parts for a finer estimate. The grid does not depend on data.
"""

from dataclasses import dataclass

import numpy as np

from confide._types import AnyArray, Array

PARTS = 64
"""Number of equal parts into which every bin is divided."""
LOWEST_OCTAVE, HIGHEST_OCTAVE = -20, 60
"""Exponents of the smallest and the largest power of two that serve as bin edges."""
SMALLEST_NUMBER = 2.0**LOWEST_OCTAVE
KEY_SHIFT, KEYS = 46, 2**18
"""Right shift that leaves the first 18 bits of a double, and the number of such keys.

These bits are the sign, the exponent and six bits of the significand.
"""
DAY_OCTAVES = 22.0
"""Number of bin edges, at 1, 2, 4, … days, on each side: enough for all dates."""
USUAL_SPAN = (-(2.0**HIGHEST_OCTAVE), 2.0**HIGHEST_OCTAVE)
LARGEST_DOUBLE = float(np.finfo(np.float64).max)
WHOLE_REACH = (-LARGEST_DOUBLE, LARGEST_DOUBLE)
SMALLEST_PART, SMALLEST_WIDTH = 2.0**-40, 1e-90
"""Smallest width of a range that can be divided: relative to its larger end, and absolute.
The parts of narrower ranges would not be distinct in double precision."""
LEAST_GAP, LEAST_GAP_SHARE = 2.0**-40, 2.0**-20
"""Bin edges closer to a limit than these distances (absolute, relative) are omitted."""


def is_divisible(lower: float, upper: float) -> bool:
    """Whether a range is wide enough for its parts to be distinct, valid ranges."""
    least = SMALLEST_PART * max(abs(lower), abs(upper))
    return upper - lower >= max(least, SMALLEST_WIDTH)


@dataclass(frozen=True, slots=True, eq=False)
class RangeGrid:
    """Bins between consecutive edges; the outer bins also count the values beyond them."""

    edges: Array

    @classmethod
    def between(
        cls,
        lower: float | None,
        upper: float | None,
        span: tuple[float, float] = USUAL_SPAN,
        reach: tuple[float, float] = WHOLE_REACH,
    ) -> "RangeGrid":
        """Return the grid between two limits, either of which may be missing (None).

        A missing limit is replaced by the corresponding end of ``span``. If the other limit
        is close to that end or beyond it, twice the other limit is used instead, but never
        beyond ``reach``.
        """
        low, high = span
        if lower is None:
            near = upper is None or upper > low / 2
            lower = low if near or upper is None else max(2 * upper, reach[0])
        if upper is None:
            upper = high if lower < high / 2 else min(2 * lower, reach[1])
        octaves = np.exp2(np.arange(LOWEST_OCTAVE, HIGHEST_OCTAVE + 1.0))
        edges = np.concatenate([-octaves[::-1], [0.0], octaves])
        first = lower + max(LEAST_GAP, LEAST_GAP_SHARE * abs(lower))
        last = upper - max(LEAST_GAP, LEAST_GAP_SHARE * abs(upper))
        inside = edges[(edges > first) & (edges < last)]
        return cls(np.concatenate([[lower], inside, [upper]]))

    @classmethod
    def of_days(cls, lower: float, upper: float, origin: float) -> "RangeGrid":
        """Return a grid between two days, with edges 0, 1, 2, 4, … days from ``origin``."""
        octaves = np.exp2(np.arange(DAY_OCTAVES))
        edges = origin + np.concatenate([-octaves[::-1], [0.0], octaves])
        inside = edges[(edges > lower) & (edges < upper)]
        return cls(np.concatenate([[lower], inside, [upper]]))

    @property
    def cells(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    @property
    def ends(self) -> tuple[float, float]:
        """The outermost edges."""
        return float(self.edges[0]), float(self.edges[-1])

    def place(self, values: AnyArray) -> AnyArray:
        """Return the index of the part that contains each value, or −1 if it is missing.

        Parts are numbered consecutively over all bins. The index of a value does not
        depend on other values.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(values, dtype=np.float64)
            inside = np.clip(values, *self.ends)
            cell = np.searchsorted(self.edges, inside, side="right") - 1
            np.clip(cell, 0, self.cells - 1, out=cell)
            lower = self.edges[cell]
            width = self.edges[cell + 1] - lower
            known = ~np.isnan(values)
            part = np.floor(np.where(known, (inside - lower) / width, 0.0) * PARTS)
            part = np.clip(part, 0, PARTS - 1).astype(np.intp)
        return np.where(known, cell * PARTS + part, -1)

    def count(self, values: AnyArray) -> Array:
        """Return the number of values in each part, as an array with one row per bin.

        For speed, values are first counted by the leading 18 bits of the double. Doubles
        with the same leading bits form an interval. If both ends of the interval lie in one
        part, its count is added to that part; otherwise its values are placed one by one.
        """
        with np.errstate(over="ignore"):
            # Adding 0 turns -0.0 into 0.0.
            doubles = np.asarray(values, dtype=np.float64) + 0.0
        bits = np.ascontiguousarray(doubles).view(np.int64)
        # Bins contain their lower edges, which are farther from 0 for negative numbers.
        keys = bits >> 63
        keys += bits
        keys >>= KEY_SHIFT
        keys &= KEYS - 1
        held = np.bincount(keys, minlength=KEYS)
        known = np.flatnonzero(held)
        first = (known << KEY_SHIFT) + (known >= KEYS // 2)
        last = first + ((1 << KEY_SHIFT) - 1)
        places = self.place(first.view(np.float64))
        alike = places == self.place(last.view(np.float64))
        found = self._add_up(places[alike], held[known[alike]])
        if not alike.all():
            apart = np.zeros(KEYS, dtype=np.bool_)
            apart[known[~alike]] = True
            rest = self.place(doubles[apart[keys]])
            found += self._add_up(rest, np.ones(len(rest)))
        return found.reshape(self.cells, PARTS)

    def _add_up(self, places: AnyArray, held: AnyArray) -> Array:
        inside = places >= 0
        found = np.bincount(places[inside], held[inside], self.cells * PARTS)
        return found.astype(np.float64)

    def edges_at(self, places: AnyArray) -> Array:
        """Return the lower edges of parts; the index past the last gives the upper end."""
        cell, part = np.divmod(places, PARTS)
        own = np.minimum(cell, self.cells - 1)
        lower = self.edges[own]
        inside = lower + (self.edges[own + 1] - lower) * (part / PARTS)
        return np.where(cell == self.cells, self.edges[-1], inside)


def counts_between(counts: Array, places: AnyArray) -> Array:
    """Sum the counts of the parts between each two consecutive indices."""
    return np.add.reduceat(counts.ravel(), places[:-1])
