"""HeldRows picked in any order, a batch at a time, by one gather each.

Where a dense copy of the table is affordable it holds the scaled rows with their intercept
column, and a batch is written into memory that is reused: valid until the next one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.rows.block import Block
from confide.data.rows.in_memory import InMemoryRows

MOST_BYTES = 2**28
WIDEST = 1024


@dataclass(frozen=True, slots=True, repr=False)
class Batches:
    """Private rows, ready to be picked; use `Batches.of`."""

    rows: InMemoryRows
    dense: Array | None
    memory: list[Array]

    @classmethod
    def of(cls, rows: InMemoryRows, usual: int) -> "Batches":
        """Prepare rows for batches of about so many."""
        width = rows.dimension
        if width > WIDEST or 8 * width * rows.count > MOST_BYTES:
            return cls(rows, None, [])
        dense = np.empty((rows.count, width))
        for block in rows.blocks(0, rows.count):
            part = dense[block.start : block.start + len(block.target)]
            own = part[:, :-1] if rows.height else part
            own[:] = _dense(block.features)
            if block.factor is not None:
                own *= block.factor[:, None]
            if rows.height:
                part[:, -1] = rows.height
        return cls(rows, dense, [np.empty((usual, width))])

    def pick(self, places: AnyArray) -> Block:
        """Return the rows at these places as one block."""
        if self.dense is None:
            some = self.rows.at(places)
            return Block(some.features, some.target, some.factor, some.height)
        if len(places) > len(self.memory[0]):
            self.memory[0] = np.empty((2 * len(places), self.dense.shape[1]))
        room = self.memory[0][: len(places)]
        np.take(self.dense, places, axis=0, out=room, mode="clip")
        return Block(room, self.rows.target.take(places, axis=0), None, 0.0)

    def __repr__(self) -> str:
        return "<private rows>"


def _dense(features: Any) -> AnyArray:
    if isinstance(features, np.ndarray):
        return features
    dense = features.todense()
    return np.asarray(dense) if sparse.issparse(features) else dense
