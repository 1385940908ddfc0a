"""Sums of clipped gradients over random batches, without any rounding.

Entries of rows and slopes are cut toward zero to multiples of public units, so coarse that
every sum of products is a double. In which order rows are added, or where they are stored,
leaves no trace in a sum (docs/proofs/gradient-mechanisms.md#batch-sums).
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
"""From coefficients and the places of rows to Σ∇φ over these rows."""

ROW_BITS, SLOPE_BITS = 23, 20
ROWS_AT_ONCE = 1024
"""Number of products of a row's entry and a slope whose sum has at most 53 bits."""
CARRIED_BITS = 30
MOST_BYTES = 2**28
MAX_DENSE_COLUMNS = 1024
MOST_FETCHED, MOST_ROWS_FETCHED = 256, 2**16
"""Batches, and about as many rows, that come from workers at once."""


@dataclass(frozen=True, slots=True)
class ExactSum:
    """How gradients of some records are clipped, cut to units and added up exactly."""

    loss: Loss
    clip: float
    row_unit: float
    slope_unit: float

    @classmethod
    def of(cls, objective: Objective, clip: float) -> "ExactSum":
        """Choose units by the public bounds on rows and gradients."""
        longest = math.frexp(objective.row_norm)[1]
        steepest = math.frexp(clip / objective.row_norm)[1]
        return cls(
            objective.loss,
            clip,
            math.ldexp(1.0, longest - ROW_BITS),
            math.ldexp(1.0, steepest - SLOPE_BITS),
        )

    def caps(self, lengths: Array, shape: tuple[int, ...]) -> Array:
        """Return the largest slope of every row."""
        return caps(lengths, self.clip, shape, self.row_unit)

    def cut(self, block: Block) -> tuple[Block, Block]:
        """Return the rows as margins are taken of them, and as they are added up.

        Rows of few columns become an array. That depends on their width, never on their
        number, and so does how margins are rounded.
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
        """Return rows as an array, intercept included, truncated to their unit."""
        return truncate(block.toarray(), self.row_unit)

    def carried(self, block: Block, slopes: Array) -> tuple[Array, Array]:
        """Return high and low parts of Σ slope·row; each adds up exactly over blocks."""
        unit = self.row_unit * self.slope_unit * 2.0**CARRIED_BITS
        high = low = np.zeros(())
        for start in range(0, max(1, len(slopes)), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            total = block.take(some).weighted_sum(slopes[some])
            top = np.rint(total / unit) * unit
            high, low = high + top, low + (total - top)
        return high, low

    def slopes(self, block: Block, theta: Array, cap: AnyArray) -> Array:
        """Return slopes within the caps, each a function of its record alone."""
        slopes = cut_slopes(self.loss, block, theta, cap, by_row=True)
        return truncate(slopes, self.slope_unit)


def is_narrow(columns: int) -> bool:
    """Whether rows are worked on as an array."""
    return columns < MAX_DENSE_COLUMNS


def batch_sums(objective: Objective, clip: float, rows: Rows, usual: int) -> BatchSum:
    """Return Σ∇φ over the rows at some places: not private.

    ``usual`` is how many rows a batch has as a rule.
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
    """Return Σ∇φ over all of some rows."""
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
    """Return Σ∇φ over one batch after the other: not private.

    ``places`` yields where the rows of ``steps`` batches stand, as a rule ``usual`` many.
    Rows that workers hold come here for many batches at once: a step would wait longer for
    them than it computes.
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
    """Yield the places of many batches at once: the same draws wherever the rows are."""
    while steps > 0:
        group: list[AnyArray] = []
        size = 0
        while len(group) < min(steps, MOST_FETCHED) and size < MOST_ROWS_FETCHED:
            group.append(next(places).copy())
            size += len(group[-1])
        yield group
        steps -= len(group)


def _fetched(rows: PartitionedRows, group: Sequence[AnyArray]) -> Iterator[InMemoryRows]:
    """Yield the rows of every batch from one look at the workers."""
    wanted = np.unique(np.concatenate(group))
    held = rows.gather(wanted)
    return (held.take(np.searchsorted(wanted, own)) for own in group)


@dataclass(frozen=True, slots=True, repr=False)
class Batches:
    """Private rows that are picked in any order, a batch at a time, by one gather each.

    A dense copy holds the bounded rows with their intercept column, cut to their unit; a
    batch is written into memory that the next one uses again.
    """

    dense: Array
    target: Array
    memory: list[Array]

    @staticmethod
    def afford(rows: InMemoryRows) -> bool:
        """Whether rows are few and short enough for a copy."""
        size = 8 * rows.dimension * rows.count
        return is_narrow(rows.features.shape[1]) and size <= MOST_BYTES

    @classmethod
    def of(cls, rows: InMemoryRows, exact: ExactSum, usual: int) -> "Batches":
        """Copy rows for batches of a usual size."""
        dense = np.empty((rows.count, rows.dimension))
        for block in rows.blocks(0, rows.count):
            dense[block.start : block.start + len(block.target)] = exact.dense(block)
        return cls(dense, rows.target, [np.empty((usual, rows.dimension))])

    def pick(self, places: AnyArray) -> Block:
        """Return the rows at these places as one block."""
        if len(places) > len(self.memory[0]):
            self.memory[0] = np.empty((2 * len(places), self.dense.shape[1]))
        room = self.memory[0][: len(places)]
        np.take(self.dense, places, axis=0, out=room, mode="clip")
        return Block(Dense(room), self.target.take(places, axis=0), None, 0.0)

    def __repr__(self) -> str:
        return "<private rows>"
