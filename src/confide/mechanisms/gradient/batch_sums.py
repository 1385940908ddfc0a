"""Sums of clipped gradients over random batches, in exact arithmetic.

Entries of rows and slopes of the loss are truncated towards zero to multiples of public
units. The units are so coarse that sums of products are exact in doubles. A sum therefore
depends neither on the order of the rows nor on where they are stored
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
"""Type of a function of coefficients and row indices that returns the sum of clipped
gradients over these rows."""

ROW_BITS, SLOPE_BITS = 23, 20
ROWS_AT_ONCE = 1024
"""Number of rows over which the sum of the products of entry and slope fits into the 53
bits of a double."""
CARRIED_BITS = 30
MOST_BYTES = 2**28
MAX_DENSE_COLUMNS = 1024
MOST_FETCHED, MOST_ROWS_FETCHED = 256, 2**16
"""Limits on one request for rows that workers hold: the largest number of batches, and the
number of rows at which no further batch is added."""


@dataclass(frozen=True, slots=True)
class ExactSum:
    """Exact sums of clipped gradients, which are truncated to multiples of public units."""

    loss: Loss
    clip: float
    row_unit: float
    slope_unit: float

    @classmethod
    def of(cls, objective: Objective, clip: float) -> "ExactSum":
        """Choose the units from the public bounds on the norms of rows and gradients."""
        longest = math.frexp(objective.row_norm)[1]
        steepest = math.frexp(clip / objective.row_norm)[1]
        return cls(
            objective.loss,
            clip,
            math.ldexp(1.0, longest - ROW_BITS),
            math.ldexp(1.0, steepest - SLOPE_BITS),
        )

    def caps(self, lengths: Array, shape: tuple[int, ...]) -> Array:
        """Return for every row the largest slope of the loss that the clip permits."""
        return caps(lengths, self.clip, shape, self.row_unit)

    def cut(self, block: Block) -> tuple[Block, Block]:
        """Return two versions of a block of rows: for computing margins, and for summing.

        Entries of the second version are truncated. Rows with few columns are first copied
        to a truncated array, which then serves as both versions. The choice between the two
        procedures and the rounding of margins depend on the number of columns, never on the
        number of rows.
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
        """Return rows with their intercept as an array, truncated to whole units."""
        return truncate(block.toarray(), self.row_unit)

    def carried(self, block: Block, slopes: Array) -> tuple[Array, Array]:
        """Return Σ slope·row as the sum of two arrays, without rounding errors.

        The arrays contain the high and the low bits. Each can be added up exactly over
        blocks.
        """
        unit = self.row_unit * self.slope_unit * 2.0**CARRIED_BITS
        high = low = np.zeros(())
        for start in range(0, max(1, len(slopes)), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            total = block.take(some).weighted_sum(slopes[some])
            top = np.rint(total / unit) * unit
            high, low = high + top, low + (total - top)
        return high, low

    def slopes(self, block: Block, theta: Array, cap: AnyArray) -> Array:
        """Return the slopes of the loss, clipped to the caps and truncated.

        Each slope is computed from its own record alone.
        """
        slopes = cut_slopes(self.loss, block, theta, cap, by_row=True)
        return truncate(slopes, self.slope_unit)


def is_narrow(columns: int) -> bool:
    """Whether rows have so few columns that they are copied to a dense array."""
    return columns < MAX_DENSE_COLUMNS


def batch_sums(objective: Objective, clip: float, rows: Rows, usual: int) -> BatchSum:
    """Return a function that sums clipped gradients, without noise, over given row indices.

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
    """Return the sum of the clipped gradients of all given rows."""
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
    """Return a function that sums clipped gradients over the next batch at each call.

    No noise is added. ``places`` yields the row indices of ``steps`` batches, each
    typically of ``usual`` rows. Rows held by workers are fetched for many batches at once,
    because fetching the rows of one step would take longer than computing the step.
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
    """Yield lists of consecutive batches, given by their row indices.

    The lists do not depend on where the rows are stored.
    """
    while steps > 0:
        group: list[AnyArray] = []
        size = 0
        while len(group) < min(steps, MOST_FETCHED) and size < MOST_ROWS_FETCHED:
            group.append(next(places).copy())
            size += len(group[-1])
        yield group
        steps -= len(group)


def _fetched(rows: PartitionedRows, group: Sequence[AnyArray]) -> Iterator[InMemoryRows]:
    """Fetch the rows of all batches in a list at once, and yield the rows of each batch."""
    wanted = np.unique(np.concatenate(group))
    held = rows.gather(wanted)
    return (held.take(np.searchsorted(wanted, own)) for own in group)


@dataclass(frozen=True, slots=True, repr=False)
class Batches:
    """Copy of private rows from which random batches are gathered quickly.

    The dense copy contains the bounded rows with their intercept column, truncated to
    multiples of ``row_unit``. All batches are gathered into the same working memory.
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
        """Copy the rows, and allocate working memory for a batch of ``usual`` rows."""
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
