"""Gradients along a path that moves one coefficient at a time.

A path starts at 0. Every step shrinks all coefficients by one factor and moves one. What
it keeps up is Σ aᵢxᵢ, where aᵢ is the slope of record i at the coefficients, or at earlier
ones: a record's term is bounded either way and depends on that record and the path alone.
"""

from typing import Any, Protocol

import numpy as np

from confide._types import AnyArray, Array
from confide.data.rows.block import Block
from confide.data.rows.column_index import ColumnIndexedRows
from confide.data.rows.in_memory import InMemoryRows, Rows
from confide.objectives import Objective

STALE = 0.85
"""How far slopes may fall behind: refreshed once coefficients shrank to this share."""

DENSE_COLUMN_SHARE = 10
"""Where a column touches a tenth of all entries, all pulls are computed anew."""


class Path(Protocol):
    """Σ aᵢxᵢ in ``pulls``, constant column last, along a path of single moves."""

    pulls: Array

    def move(self, place: int, gain: float, keep: float) -> AnyArray | None:
        """Shrink by ``keep``, add ``gain`` at a place; say where pulls changed, or None."""
        ...


class PlainPath:
    """Pulls that are computed anew from all rows at every step."""

    def __init__(self, objective: Objective, rows: Rows) -> None:
        self._objective, self._rows = objective, rows
        self._theta = np.zeros(objective.dimension)
        self.pulls = self._summed()

    def move(self, place: int, gain: float, keep: float) -> None:
        """Shrink by ``keep``, add ``gain`` at a place; all pulls change."""
        self._theta *= keep
        self._theta[place] += gain
        self.pulls = self._summed()

    def _summed(self) -> Array:
        loss, theta = self._objective.loss, self._theta

        def part(block: Block) -> tuple[Any, ...]:
            return (block.pull(loss.slope(block.margin(theta), block.target)),)

        return np.asarray(self._rows.sum(part)[0])


class TouchedPath:
    """Pulls of sparse rows, updated where a row holds the column that moved.

    Margins are ``scale`` times ``margins``, so that shrinking costs nothing. When slopes
    are brought up to date is decided by the path, and record by record by its own entries:
    how full columns are decides only how a sum is computed, never what is summed.
    """

    def __init__(self, objective: Objective, rows: InMemoryRows) -> None:
        self._loss, self._height = objective.loss, rows.height
        self._columns = objective.columns
        self._rows = ColumnIndexedRows.of(rows)
        self._margins = np.zeros(self._rows.count)
        self._scale = self._fresh = 1.0
        self._many = self._rows.entries_of(slice(None)) // DENSE_COLUMN_SHARE
        self._refresh()

    def move(self, place: int, gain: float, keep: float) -> AnyArray | None:
        """Shrink by ``keep``, add ``gain`` at a place; say where pulls changed, or None."""
        self._scale *= keep
        if self._scale <= 0:
            self._margins[:] = 0.0
            self._scale = 1.0
            self._fresh = np.inf
        if place == self._columns:
            self._margins += gain / self._scale * self._height
            self._refresh()
            return None
        rows, values = self._rows.column(place)
        self._margins[rows] += gain / self._scale * values
        if self._scale < STALE * self._fresh:
            self._refresh()
            return None
        slopes = self._loss.slope(
            self._scale * self._margins[rows], self._rows.target[rows]
        )
        change = slopes - self._slopes[rows]
        self._slopes[rows] = slopes
        self._added += len(rows)
        if self._added > self._rows.count or self._rows.entries_of(rows) > self._many:
            self._sum_up()
            return None
        columns, terms = self._rows.pull_some(rows, change)
        np.add.at(self.pulls, columns, terms)
        if self._height:
            self.pulls[-1] += self._height * change.sum()
            columns = np.append(columns, self._columns)
        return columns

    def _refresh(self) -> None:
        """Bring the slopes of all records up to date; the path alone says when."""
        self._slopes = self._loss.slope(self._scale * self._margins, self._rows.target)
        self._fresh = self._scale
        self._sum_up()

    def _sum_up(self) -> None:
        """Compute all pulls anew from slopes as they are."""
        pulls = self._rows.pull(self._slopes)
        if self._height:
            pulls = np.append(pulls, self._height * self._slopes.sum())
        self.pulls, self._added = pulls, 0
