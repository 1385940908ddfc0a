"""Random division of the rows of a table in two, before any row is dropped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from confide._types import AnyArray
from confide.data.partitioned.stream import Source

Coins: TypeAlias = Callable[[int, int, int], AnyArray]
"""Function that returns one random bit per row. Its arguments are the index of a part, the
index of the first row within that part, and the number of rows."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Division:
    """One side of a table that is divided by one random bit per row.

    ``heads`` is the value of the bit for rows on this side.
    """

    coins: Coins
    heads: bool

    def mask(self, part: int, start: int, count: int) -> AnyArray:
        """Return a mask of the rows on this side, among consecutive rows of a part."""
        return np.asarray(self.coins(part, start, count) == self.heads)

    def of_part(self, source: Source, place: int) -> Source:
        """Return a part of the table restricted to the rows on this side."""
        return ChosenSource(source, ChosenRows(self, place))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ChosenRows:
    """Picklable callable that selects the rows of one part that are on one side."""

    division: Division
    part: int

    def __call__(self, piece: Any, start: int = 0) -> Any:
        """Return the selected rows of a block that begins at row ``start``."""
        return take_rows(piece, self.division.mask(self.part, start, row_count(piece)))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ChosenSource:
    """A part of a table, restricted to the rows on one side."""

    source: Source
    chosen: ChosenRows

    def read(self) -> Iterator[Any]:
        """Yield the selected rows in blocks."""
        start = 0
        for piece in self.source.read():
            yield self.chosen(piece, start)
            start += row_count(piece)

    def whole(self) -> Any:
        """Return all selected rows as one block."""
        return self.chosen(self.source.whole())


def divided(parts: Sequence[Source], division: Division | None) -> tuple[Source, ...]:
    """Return the parts of a table, restricted to one side if a division is given."""
    if division is None:
        return tuple(parts)
    return tuple(division.of_part(part, place) for place, part in enumerate(parts))


def row_count(piece: Any) -> int:
    """Return the number of rows of a block, which may be a pair of features and target."""
    table = piece[0] if isinstance(piece, tuple) else piece
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)


def take_rows(piece: Any, mask: AnyArray) -> Any:
    """Return the rows of a block, of any supported type, that a mask selects."""
    if isinstance(piece, tuple):
        return tuple(take_rows(part, mask) for part in piece)
    if isinstance(piece, pd.DataFrame | pd.Series):
        return piece[mask]
    if hasattr(piece, "num_rows"):
        return piece.take(np.flatnonzero(mask))
    if hasattr(piece, "shape"):
        return piece[np.flatnonzero(mask)]
    return [row for row, kept in zip(piece, mask.tolist(), strict=True) if kept]
