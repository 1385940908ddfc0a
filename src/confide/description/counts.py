"""Counting the rows of a table in memory, in streamed files, or on a cluster."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema, read_table
from confide.data.matrix.sums import MAX_ROWS, Partial, pairwise_sum
from confide.data.partitioned.cluster_rows import collected
from confide.data.tables.files import walk
from confide.description.cells import Table, number_column
from confide.errors import InvalidData
from confide.estimators._readings import PartedTable, parted_table
from confide.mechanisms.ranges.read_range import RangeQuery


@dataclass(frozen=True, slots=True)
class Counted:
    """Private counts for range queries and tables, and the private number of rows.

    ``grids`` are the counts for the range queries. ``cells`` are the public layouts of the
    tables, and ``tables`` their counts.
    """

    cells: tuple[Table, ...]
    grids: list[Array]
    tables: list[Array]
    rows: int


@dataclass(frozen=True, slots=True)
class Count:
    """Picklable function that counts records for range queries and tables."""

    schema: Schema
    queries: tuple[RangeQuery, ...]
    tables: tuple[Table, ...]

    def __call__(self, piece: Any) -> Partial:
        """Count the records in a chunk of rows, reading every column only once."""
        held: dict[str, Any] = {}

        def values(name: str) -> Any:
            if name not in held:
                held[name] = self.schema.column(piece, name)
            return held[name]

        parts = self.schema.parts
        grids = [
            query.grid.count(number_column(parts[query.name]).read(values(query.name)))
            for query in self.queries
        ]
        tables = []
        for table in self.tables:
            code = np.zeros(len(piece), dtype=np.intp)
            for cells in table.parts:
                code = code * cells.size + cells.place(values(cells.name))
            tables.append(np.bincount(code, minlength=table.size).astype(np.float64))
        return *grids, *tables, np.array(len(piece))


@dataclass(frozen=True, slots=True)
class TableRows:
    """A table whose rows can be counted repeatedly."""

    schema: Schema
    table: Any
    parts: PartedTable | None

    @classmethod
    def of(cls, table: Any, schema: Schema) -> "TableRows":
        """Open a table in files or on a cluster, or use a table in memory."""
        parts = parted_table(table, None)
        return cls(schema, table if parts else read_table(table, schema), parts)

    @property
    def known(self) -> int | None:
        """Number of rows if the table is in memory; None if they must be counted."""
        return len(self.table) if self.parts is None else None

    def count(self, queries: tuple[RangeQuery, ...], tables: tuple[Table, ...]) -> Counted:
        """Count all rows for the range queries and tables, in one pass."""
        look = Count(self.schema, queries, tables)
        if self.parts is None:
            found = look(self.table)
        else:
            sources = self.parts.sources(self.schema, target=True)
            if self.parts.cluster is None:
                pieces: Any = walk(sources, look, self.parts.expected)
            else:
                pieces = collected(self.parts.cluster, sources, look)
            found = pairwise_sum(pieces)
        *counts, rows = found
        if rows > MAX_ROWS:
            raise InvalidData(
                f"describe accepts at most {MAX_ROWS:,} rows, because larger counts are "
                "not "
                "exact. Describe a part of the rows."
            )
        grids = len(queries)
        return Counted(tables, list(counts[:grids]), list(counts[grids:]), int(rows))
