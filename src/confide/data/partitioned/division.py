"""Tables divided row by row, as they are read and before any row is dropped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from confide._types import AnyArray
from confide.data.partitioned.stream import Source

Coins: TypeAlias = Callable[[int, int, int], AnyArray]
"""From the number of a part, a place in it and a number of rows to one coin for each."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Division:
    """Division of the rows of a table by one random bit per row."""

    coins: Coins
    heads: bool

    def mask(self, part: int, start: int, count: int) -> AnyArray:
        """Return for consecutive rows of a part which are kept."""
        return np.asarray(self.coins(part, start, count) == self.heads)

    def of_part(self, source: Source, place: int) -> Source:
        """Return the kept rows of a part."""
        return ChosenSource(source, ChosenRows(self, place))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ChosenRows:
    """From a whole part of a table to the rows that are kept; picklable."""

    division: Division
    part: int

    def __call__(self, piece: Any, start: int = 0) -> Any:
        """Return the kept rows of consecutive ones."""
        return take_rows(piece, self.division.mask(self.part, start, row_count(piece)))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ChosenSource:
    """A part of a table without the rows that are left out."""

    source: Source
    chosen: ChosenRows

    def read(self) -> Iterator[Any]:
        """Yield its kept rows piece by piece."""
        start = 0
        for piece in self.source.read():
            yield self.chosen(piece, start)
            start += row_count(piece)

    def whole(self) -> Any:
        """Return its kept rows as one piece."""
        return self.chosen(self.source.whole())


def divided(parts: Sequence[Source], division: Division | None) -> tuple[Source, ...]:
    """Return the parts of a table, with the rows that a division keeps."""
    if division is None:
        return tuple(parts)
    return tuple(division.of_part(part, place) for place, part in enumerate(parts))


def row_count(piece: Any) -> int:
    """Return how many rows a piece of a table has."""
    table = piece[0] if isinstance(piece, tuple) else piece
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)


def take_rows(piece: Any, mask: AnyArray) -> Any:
    """Return some rows of a piece of a table, of whatever kind it is."""
    if isinstance(piece, tuple):
        return tuple(take_rows(part, mask) for part in piece)
    if isinstance(piece, pd.DataFrame | pd.Series):
        return piece[mask]
    if hasattr(piece, "num_rows"):
        return piece.take(np.flatnonzero(mask))
    if hasattr(piece, "shape"):
        return piece[np.flatnonzero(mask)]
    return [row for row, kept in zip(piece, mask.tolist(), strict=True) if kept]
