"""Sparse rows seen by columns: what a change of one coefficient touches."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import PrivacyLeak


@dataclass(frozen=True, slots=True, repr=False)
class ColumnIndexedRows:
    """CSR rows, by row and by column; the constant column is left to whoever asks."""

    by_row: Any
    by_column: Any
    lengths: AnyArray
    target: Array

    @classmethod
    def of(cls, rows: InMemoryRows) -> "ColumnIndexedRows":
        """Look at sparse rows from both sides, in doubles whatever they are kept in."""
        features, target = rows.plain()
        by_row = sparse.csr_array(features, dtype=np.float64)
        exact = target.astype(np.float64, copy=False)
        return cls(by_row, by_row.tocsc(), np.diff(by_row.indptr), exact)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.target)

    def column(self, place: int) -> tuple[AnyArray, Array]:
        """Return the rows where a column is not 0, and its values there."""
        first, last = self.by_column.indptr[place : place + 2]
        return self.by_column.indices[first:last], self.by_column.data[first:last]

    def entries_of(self, rows: AnyArray | slice) -> int:
        """Return how many entries some rows have."""
        return int(self.lengths[rows].sum())

    def pull(self, weights: Array) -> Array:
        """Return Σ wᵢxᵢ over all rows."""
        return np.asarray(self.by_column.T @ weights)

    def pull_some(self, rows: AnyArray, weights: Array) -> tuple[AnyArray, Array]:
        """Return Σ wᵢxᵢ over some rows: entry by entry, columns and terms."""
        starts = self.by_row.indptr[rows]
        counts = self.lengths[rows]
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(starts - before, counts)
        terms = self.by_row.data[places] * np.repeat(weights, counts)
        return self.by_row.indices[places], terms

    def __reduce__(self) -> tuple[Any, ...]:
        raise PrivacyLeak("private rows cannot be copied or stored")

    def __repr__(self) -> str:
        return "<private rows>"
