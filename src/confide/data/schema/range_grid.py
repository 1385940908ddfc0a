"""Public cells in which the values of a column are counted, to find a range for it.

The cells are octaves on both sides of zero, from one power of two to the next, cut off at
the limits of the column where it has any. A range that is declared ten or a hundred times
too wide then adds a few empty cells and changes none of the others. Every cell is divided
into equal parts, for a closer look. Nothing here depends on data.
"""

from dataclasses import dataclass

import numpy as np

from confide._types import AnyArray, Array

PARTS = 64
"""Number of equal parts of a cell."""
LOWEST_OCTAVE, HIGHEST_OCTAVE = -20, 60
"""Numbers between 2^-20 and 2^60 in size are told apart; beyond lie the outermost cells."""
SMALLEST_NUMBER = 2.0**LOWEST_OCTAVE
KEY_SHIFT, KEYS = 46, 2**18
"""Of the 64 bits of a double the first 18 are sign, exponent and six more."""
DAY_OCTAVES = 22.0
"""Number of octaves that contain all calendar days."""
USUAL_SPAN = (-(2.0**HIGHEST_OCTAVE), 2.0**HIGHEST_OCTAVE)
LARGEST_DOUBLE = float(np.finfo(np.float64).max)
WHOLE_REACH = (-LARGEST_DOUBLE, LARGEST_DOUBLE)
SMALLEST_PART, SMALLEST_WIDTH = 2.0**-40, 1e-90
"""Narrower ranges, by themselves or as a share of their ends, are not divided: doubles
would not tell the parts apart."""
LEAST_GAP, LEAST_GAP_SHARE = 2.0**-40, 2.0**-20
"""Edges that lie as close to a limit, by themselves or as a share of it, are left out."""


def is_divisible(lower: float, upper: float) -> bool:
    """Whether the parts of a range are distinct, and valid ranges themselves."""
    least = SMALLEST_PART * max(abs(lower), abs(upper))
    return upper - lower >= max(least, SMALLEST_WIDTH)


@dataclass(frozen=True, slots=True, eq=False)
class RangeGrid:
    """Cells from one edge to the next; values beyond the outermost belong to the last."""

    edges: Array

    @classmethod
    def between(
        cls,
        lower: float | None,
        upper: float | None,
        span: tuple[float, float] = USUAL_SPAN,
        reach: tuple[float, float] = WHOLE_REACH,
    ) -> "RangeGrid":
        """Return the cells between two limits, either of which may be absent.

        An absent one is that of the ``span``; where the other limit leaves little room up
        to there it is twice that, but within ``reach``.
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
        """Return the cells between two days: octaves of days before and after an origin."""
        octaves = np.exp2(np.arange(DAY_OCTAVES))
        edges = origin + np.concatenate([-octaves[::-1], [0.0], octaves])
        inside = edges[(edges > lower) & (edges < upper)]
        return cls(np.concatenate([[lower], inside, [upper]]))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.edges) - 1

    @property
    def ends(self) -> tuple[float, float]:
        """The outermost edges."""
        return float(self.edges[0]), float(self.edges[-1])

    def place(self, values: AnyArray) -> AnyArray:
        """Return the part that every value belongs to, −1 where it is missing.

        Parts are numbered from the first one of the first cell on. Each value is placed by
        itself.
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
        """Return how many values every part has: a row for each cell.

        Doubles that share sign, exponent and six bits lie side by side. They are counted
        together, and placed together where the first and the last of them have one place.
        """
        with np.errstate(over="ignore"):
            # There is no other zero than 0 afterwards.
            doubles = np.asarray(values, dtype=np.float64) + 0.0
        bits = np.ascontiguousarray(doubles).view(np.int64)
        # A cell has its lower edge: of negative numbers that is the one farther from 0.
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
        """Return the lower edges of parts; that after the last part is the upper end."""
        cell, part = np.divmod(places, PARTS)
        own = np.minimum(cell, self.cells - 1)
        lower = self.edges[own]
        inside = lower + (self.edges[own + 1] - lower) * (part / PARTS)
        return np.where(cell == self.cells, self.edges[-1], inside)


def counts_between(counts: Array, places: AnyArray) -> Array:
    """Return how many values lie from each of some places, by parts, up to the next."""
    return np.add.reduceat(counts.ravel(), places[:-1])
