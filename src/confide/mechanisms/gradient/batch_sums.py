"""Sums of clipped gradients over random batches, in exact arithmetic.

Entries of rows and slopes are truncated towards zero to multiples of public units. The
units are so coarse that sums of products are exact in doubles. A sum therefore depends
neither on the order of the rows nor on where they are stored
(docs/proofs/gradient-mechanisms.md#batch-sums).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.dense import Dense, truncate
from confide.data.partitioned.rows import PartitionedRows
from confide.data.rows.block import Block
from confide.data.rows.in_memory import InMemoryRows, Rows
from confide.mechanisms.gradient.clipped_gradient import caps, coefficient_shape, cut_slopes
from confide.objectives import Loss, Objective

BatchSum: TypeAlias = Callable[[Array, AnyArray], Array]
"""Function of coefficients and row indices that returns Σ∇φ over these rows."""

ROW_BITS, SLOPE_BITS = 23, 20
ROWS_AT_ONCE = 1024
"""Number of products of an entry and a slope whose sum fits into 53 bits."""
CARRIED_BITS = 30
MOST_BYTES = 2**28
MAX_DENSE_COLUMNS = 1024
MOST_FETCHED, MOST_ROWS_FETCHED = 256, 2**16
"""Largest number of batches, and approximate number of rows, per fetch from workers."""


@dataclass(frozen=True, slots=True)
class ExactSum:
    """Rules for clipping gradients, truncating them to units and adding them up exactly."""

    loss: Loss
    clip: float
    row_unit: float
    slope_unit: float

    @classmethod
    def of(cls, objective: Objective, clip: float) -> "ExactSum":
        """Choose units from the public bounds on rows and gradients."""
        longest = math.frexp(objective.row_norm)[1]
        steepest = math.frexp(clip / objective.row_norm)[1]
        return cls(
            objective.loss,
            clip,
            math.ldexp(1.0, longest - ROW_BITS),
            math.ldexp(1.0, steepest - SLOPE_BITS),
        )

    def caps(self, lengths: Array, shape: tuple[int, ...]) -> Array:
        """Return the largest permitted slope of every row."""
        return caps(lengths, self.clip, shape, self.row_unit)

    def cut(self, block: Block) -> tuple[Block, Block]:
        """Return the block from which margins are computed, and the one that is summed.

        Rows with few columns are converted to a truncated array, used for both. This choice
        and the rounding of margins depend on the number of columns, never on that of rows.
        """
        if is_narrow(block.features.shape[1]):
            narrow = Block(Dense(self.dense(block)), block.target, None, 0.0)
            return narrow, narrow
        features = block.features
        if block.factor is not None:
            features = features.scaled(block.factor)
        height = float(truncate(np.array([block.height]), self.row_unit)[0])
        cut = Block(features.truncated(self.row_unit), block.target, None, height)
        return block, cut

    def dense(self, block: Block) -> Array:
        """Return an array of rows with intercept, truncated to multiples of a unit."""
        return truncate(block.toarray(), self.row_unit)

    def carried(self, block: Block, slopes: Array) -> tuple[Array, Array]:
        """Return high and low parts of Σ slope·row, each summed exactly over blocks."""
        unit = self.row_unit * self.slope_unit * 2.0**CARRIED_BITS
        high = low = np.zeros(())
        for start in range(0, max(1, len(slopes)), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            total = block.take(some).weighted_sum(slopes[some])
            top = np.rint(total / unit) * unit
            high, low = high + top, low + (total - top)
        return high, low

    def slopes(self, block: Block, theta: Array, cap: AnyArray) -> Array:
        """Return slopes clipped to the caps, each a function of its record alone."""
        slopes = cut_slopes(self.loss, block, theta, cap, by_row=True)
        return truncate(slopes, self.slope_unit)


def is_narrow(columns: int) -> bool:
    """Whether rows with this number of columns are converted to an array."""
    return columns < MAX_DENSE_COLUMNS


def batch_sums(objective: Objective, clip: float, rows: Rows, usual: int) -> BatchSum:
    """Return a function that computes Σ∇φ over rows with given indices: not private.

    ``usual`` is the typical number of rows in a batch.
    """
    exact = ExactSum.of(objective, clip)
    if isinstance(rows, InMemoryRows) and Batches.afford(rows):
        return _sums_of_copies(exact, rows, usual)
    return _sums_in_place(exact, rows)


def _sums_of_copies(exact: ExactSum, rows: InMemoryRows, usual: int) -> BatchSum:
    shape = coefficient_shape(rows)
    cap = exact.caps(rows.lengths(), shape)
    batches = Batches.of(rows, exact, usual)

    def batch_sum(theta: Array, places: AnyArray) -> Array:
        block = batches.pick(places)
        slopes = exact.slopes(block, theta.reshape(shape), cap.take(places))
        if len(places) <= ROWS_AT_ONCE:
            return block.weighted_sum(slopes).ravel()
        high, low = exact.carried(block, slopes)
        return np.asarray(high + low).ravel()

    return batch_sum


def _sums_in_place(exact: ExactSum, rows: Rows) -> BatchSum:
    return lambda theta, places: _sum(exact, theta, rows.take(places))


def _sum(exact: ExactSum, theta: Array, rows: Rows) -> Array:
    """Return Σ∇φ over all given rows."""
    shape = coefficient_shape(rows)
    point = theta.reshape(shape)

    def part(block: Block) -> tuple[Any, ...]:
        cap = exact.caps(block.lengths(), shape)
        seen, cut = exact.cut(block)
        return exact.carried(cut, exact.slopes(seen, point, cap))

    high, low = rows.sum(part)
    return np.asarray(high + low).ravel()


def sums_of_batches(
    objective: Objective,
    clip: float,
    rows: Rows,
    places: Iterator[AnyArray],
    steps: int,
    *,
    usual: int,
) -> Callable[[Array], Array]:
    """Return a function that computes Σ∇φ over the next batch at each call: not private.

    ``places`` yields the row indices of ``steps`` batches, typically ``usual`` per batch.
    Rows held by workers are fetched for many batches at once, because fetching the rows of
    one step would take longer than computing the step.
    """
    groups = _groups(places, steps)
    if isinstance(rows, PartitionedRows):
        exact = ExactSum.of(objective, clip)
        batches = chain.from_iterable(_fetched(rows, group) for group in groups)
        return lambda theta: _sum(exact, theta, next(batches))
    add_up = batch_sums(objective, clip, rows, usual)
    following = chain.from_iterable(groups)
    return lambda theta: add_up(theta, next(following))


def _groups(places: Iterator[AnyArray], steps: int) -> Iterator[list[AnyArray]]:
    """Yield row indices of many batches at once, independently of where rows are stored."""
    while steps > 0:
        group: list[AnyArray] = []
        size = 0
        while len(group) < min(steps, MOST_FETCHED) and size < MOST_ROWS_FETCHED:
            group.append(next(places).copy())
            size += len(group[-1])
        yield group
        steps -= len(group)


def _fetched(rows: PartitionedRows, group: Sequence[AnyArray]) -> Iterator[InMemoryRows]:
    """Fetch the rows of a group of batches at once, and yield those of every batch."""
    wanted = np.unique(np.concatenate(group))
    held = rows.gather(wanted)
    return (held.take(np.searchsorted(wanted, own)) for own in group)


@dataclass(frozen=True, slots=True, repr=False)
class Batches:
    """Copy of private rows from which random batches are gathered quickly.

    The dense copy holds the bounded rows with their intercept column, truncated to the unit
    of rows. All batches are gathered into the same memory.
    """

    dense: Array
    target: Array
    memory: list[Array]

    @staticmethod
    def afford(rows: InMemoryRows) -> bool:
        """Whether the table is small enough for a dense copy."""
        size = 8 * rows.dimension * rows.count
        return is_narrow(rows.features.shape[1]) and size <= MOST_BYTES

    @classmethod
    def of(cls, rows: InMemoryRows, exact: ExactSum, usual: int) -> "Batches":
        """Copy rows, and allocate memory for batches of a typical size."""
        dense = np.empty((rows.count, rows.dimension))
        for block in rows.blocks(0, rows.count):
            dense[block.start : block.start + len(block.target)] = exact.dense(block)
        return cls(dense, rows.target, [np.empty((usual, rows.dimension))])

    def pick(self, places: AnyArray) -> Block:
        """Return the rows with these indices as one block."""
        if len(places) > len(self.memory[0]):
            self.memory[0] = np.empty((2 * len(places), self.dense.shape[1]))
        room = self.memory[0][: len(places)]
        np.take(self.dense, places, axis=0, out=room, mode="clip")
        return Block(Dense(room), self.target.take(places, axis=0), None, 0.0)

    def __repr__(self) -> str:
        return "<private rows>"
