"""Public cells in which the values of a column are counted, to find a range for it.

A grid has two levels: cells, and equal parts of every cell. Between declared limits the
cells are equally wide, but for the first and the last, which are cut into octaves: values
that crowd at one end of a generous range are still told apart. Where a limit is absent the
cells are octaves on that side. Nothing here depends on data.
"""

import math
from dataclasses import dataclass

import numpy as np

from confide._types import AnyArray, Array

EVEN_CELLS = 16
PARTS = 16
"""Into so many equal parts every cell is divided."""
OCTAVES_AT_ENDS = 16
LOWEST_OCTAVE, HIGHEST_OCTAVE = -30, 67
"""Without limits, numbers from 2^-30 to 2^67 in size are told apart."""


@dataclass(frozen=True, slots=True, eq=False)
class RangeGrid:
    """Cells from one edge to the next; values beyond the outermost belong to the last."""

    edges: Array

    @classmethod
    def between(cls, lower: float | None, upper: float | None) -> "RangeGrid":
        """Return the cells between two limits, either of which may be absent."""
        if lower is not None and upper is not None:
            return cls(_distinct(_even_edges(lower, upper)))
        octaves = np.exp2(np.arange(LOWEST_OCTAVE, HIGHEST_OCTAVE + 1.0))
        if lower is not None:
            return cls(_distinct(np.concatenate([[lower], lower + octaves])))
        if upper is not None:
            return cls(_distinct(np.concatenate([upper - octaves[::-1], [upper]])))
        return cls(np.concatenate([-octaves[::-1], octaves]))

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
        inside = np.clip(values, *self.ends)
        cell = np.searchsorted(self.edges, inside, side="right") - 1
        np.clip(cell, 0, self.cells - 1, out=cell)
        lower, upper = self.edges[cell], self.edges[cell + 1]
        part = np.floor((inside - lower) / (upper - lower) * PARTS)
        known = ~np.isnan(values)
        part = np.clip(np.where(known, part, 0.0), 0, PARTS - 1).astype(np.intp)
        return np.where(known, cell * PARTS + part, -1)

    def count(self, places: AnyArray) -> Array:
        """Return how many values every part has: a row for each cell."""
        found = np.bincount(places[places >= 0], minlength=self.cells * PARTS)
        return found.reshape(self.cells, PARTS).astype(np.float64)

    def part_edges(self, cell: int) -> Array:
        """Return the edges of the parts of a cell."""
        return np.linspace(self.edges[cell], self.edges[cell + 1], PARTS + 1)


def _even_edges(lower: float, upper: float) -> Array:
    """Return equal cells whose first and last are cut into octaves."""
    step = upper / EVEN_CELLS - lower / EVEN_CELLS
    octaves = step * np.exp2(np.arange(-OCTAVES_AT_ENDS, 1.0))
    inner = lower + step * np.arange(2.0, EVEN_CELLS - 1)
    return np.concatenate([[lower], lower + octaves, inner, upper - octaves[::-1], [upper]])


def _distinct(edges: Array) -> Array:
    """Leave out edges that doubles cannot tell from the one before."""
    found = np.unique(edges)
    if len(found) < 2:
        found = np.array([found[0], math.nextafter(found[0], math.inf)])
    return found
