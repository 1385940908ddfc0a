"""Private counts from which ranges are bought: functions that can travel to the rows."""

from dataclasses import dataclass
from typing import Any

from confide._types import Array
from confide.data import Schema
from confide.data.schema.parse_values import numbers_or_nan
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
                values = numbers_or_nan(own)
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
