"""Private counts from which ranges are bought: functions that can travel to the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.data.partitioned.cluster_rows import collected
from confide.data.partitioned.dask_collections import DaskTable
from confide.data.partitioned.stream import Prepare
from confide.data.rows.in_memory import InMemoryRows
from confide.data.schema.range_grid import PARTS
from confide.data.tables.files import FileTable
from confide.estimators._validate import read_numbers
from confide.mechanisms.ranges.purchase import RangeQuery


@dataclass(frozen=True, slots=True)
class CountCells:
    """How many values of a table lie in every part of some grids; it can travel."""

    schema: Schema
    queries: tuple[RangeQuery, ...]

    def __call__(self, table: Any, target: Any) -> tuple[Array, ...]:
        """Count; ``target`` is that of the rows where the table does not hold it."""
        columns = {column.name: column for column in self.schema.columns}
        found = []
        for query in self.queries:
            if query.name in columns:
                values = columns[query.name].read(self.schema.column(table, query.name))
            else:
                own = self.schema.target_column(table) if target is None else target
                values = read_numbers(own, len(table), clamped=True)
            found.append(query.grid.count(query.grid.place(values)))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class CountChunk:
    """The counts of a piece of a table: a function that can travel."""

    count: CountCells

    def __call__(self, piece: Any) -> tuple[Array, ...]:
        """Count the rows that a fit would take."""
        if isinstance(piece, tuple):
            return self.count(*piece)
        return self.count(self.count.schema.kept(piece), None)


class RangeTally:
    """Prepare pieces of a stream, and count their values on the way."""

    def __init__(self, prepare: Prepare, count: CountChunk) -> None:
        self._prepare, self._count, self._lock = prepare, count, Lock()
        queries = count.count.queries
        self.counts: list[Array] = [np.zeros((q.grid.cells, PARTS)) for q in queries]

    def __call__(self, piece: Any) -> InMemoryRows:
        """Return the rows of a piece; they are refused before they are counted."""
        rows = self._prepare(piece)
        found = self._count(piece)
        with self._lock:
            self.add(found)
        return rows

    def add(self, found: Sequence[Array]) -> None:
        """Add counts to those so far."""
        pairs = zip(self.counts, found, strict=True)
        self.counts = [whole + part for whole, part in pairs]


def count_in_parts(
    table: FileTable | DaskTable, cells: CountCells, *, beside: bool
) -> list[Array]:
    """Return the counts of a table in parts; ``beside`` it may be its target."""
    sources, count = table.sources(cells.schema, target=not beside), CountChunk(cells)
    if table.cluster is None:
        found = [count(piece) for source in sources for piece in source.read()]
    else:
        found = collected(table.cluster, sources, count)
    return [np.sum(tables, axis=0) for tables in zip(*found, strict=True)]
