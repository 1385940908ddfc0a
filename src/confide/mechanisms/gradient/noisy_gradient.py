"""Sums of clipped gradients with Gaussian noise: the one way gradients leave the rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.dense import Dense
from confide.data.rows.in_memory import Block, InMemoryRows, Rows
from confide.mechanisms.gradient.calibration import GradientCalibration
from confide.noise import Entropy, fixed_size_subsets, poisson_subsets
from confide.objectives import Loss
from confide.privacy import Neighbours

Gradient: TypeAlias = Callable[[Array], Array]
"""From coefficients to an estimate of Σ∇φ there; what it returns is the caller's own."""

DRAWN_AT_ONCE = 2**13
SHORTEST, LEAST, MOST = 1e-300, 1e-290, 1e300


def noisy_gradient(
    calibration: GradientCalibration, rows: Rows, entropy: Entropy
) -> Gradient:
    """Return a gradient that can be asked as often as was paid for, and no more often."""
    noise = _vectors(calibration, entropy)
    if calibration.rate == 1:
        exact = clipped_gradient(calibration.objective.loss, rows, calibration.clip)
        return lambda theta: next(noise) + exact(theta)
    return _subsampled(calibration, rows, entropy, noise)


def clipped_gradient(loss: Loss, rows: Rows, clip: float) -> Gradient:
    """Return Σ∇φ over all rows, every gradient shortened to the clip: not private.

    The gradient of a record is its slope times its row, so it is the slope that is cut;
    with several targets there is a slope for each, and all are shortened alike.
    """
    known = _caps(rows.lengths(), clip) if isinstance(rows, InMemoryRows) else None
    shape = _shape(rows)

    def gradient(theta: Array) -> Array:
        point = theta.reshape(shape)

        def part(block: Block) -> tuple[Any, ...]:
            if known is None:
                cap = _caps(block.lengths(), clip)
            else:
                cap = known[block.start : block.start + len(block.target)]
            return (block.weighted_sum(_slopes(loss, block, point, cap)),)

        return np.asarray(rows.sum(part)[0], dtype=np.float64).ravel()

    return gradient


def _subsampled(
    calibration: GradientCalibration,
    rows: Rows,
    entropy: Entropy,
    noise: Iterator[Array],
) -> Gradient:
    rate = calibration.rate
    size = int(rate * rows.count)
    if calibration.neighbours is Neighbours.REPLACE_ONE:
        subsets = fixed_size_subsets(rows.count, size, entropy)
    else:
        subsets = poisson_subsets(rows.count, rate, entropy)
    batch_sum = _batch_sums(calibration, rows, size)
    upscale = float(1 / rate)

    def gradient(theta: Array) -> Array:
        total = next(noise)
        total += batch_sum(theta, next(subsets))
        total *= upscale
        return total

    return gradient


def _batch_sums(
    calibration: GradientCalibration, rows: Rows, size: int
) -> Callable[[Array, AnyArray], Array]:
    """Return Σ∇φ over the rows at some places, as a function of θ and the places."""
    loss, clip = calibration.objective.loss, calibration.clip
    if not isinstance(rows, InMemoryRows):
        return lambda theta, places: clipped_gradient(loss, rows.take(places), clip)(theta)
    batches = Batches.of(rows, size + 1)
    cap, shape = _caps(rows.lengths(), clip), _shape(rows)

    def batch_sum(theta: Array, places: AnyArray) -> Array:
        block = batches.pick(places)
        slopes = _slopes(loss, block, theta.reshape(shape), cap.take(places))
        return block.weighted_sum(slopes).ravel()

    return batch_sum


MOST_BYTES = 2**28
MAX_DENSE_COLUMNS = 1024


@dataclass(frozen=True, slots=True, repr=False)
class Batches:
    """Private rows that are picked in any order, a batch at a time, by one gather each.

    Where a dense copy of the table is affordable it holds the bounded rows with their
    intercept column, and a batch is written into memory that the next one uses again.
    """

    rows: InMemoryRows
    dense: Array | None
    memory: list[Array]

    @classmethod
    def of(cls, rows: InMemoryRows, usual: int) -> "Batches":
        """Prepare rows for batches of a usual size."""
        width = rows.dimension
        if width > MAX_DENSE_COLUMNS or 8 * width * rows.count > MOST_BYTES:
            return cls(rows, None, [])
        dense = np.empty((rows.count, width))
        for block in rows.blocks(0, rows.count):
            dense[block.start : block.start + len(block.target)] = block.toarray()
        return cls(rows, dense, [np.empty((usual, width))])

    def pick(self, places: AnyArray) -> Block:
        """Return the rows at these places as one block."""
        if self.dense is None:
            return self.rows.take(places).as_block()
        if len(places) > len(self.memory[0]):
            self.memory[0] = np.empty((2 * len(places), self.dense.shape[1]))
        room = self.memory[0][: len(places)]
        np.take(self.dense, places, axis=0, out=room, mode="clip")
        return Block(Dense(room), self.rows.target.take(places, axis=0), None, 0.0)

    def __repr__(self) -> str:
        return "<private rows>"


def _caps(lengths: Array, clip: float) -> Array:
    """Return the largest slope of every row, so that its gradient is within the clip.

    Caps so small that they would be rounded by more than a little are 0.
    """
    with np.errstate(over="ignore"):
        caps = np.minimum(clip / np.maximum(lengths, SHORTEST), MOST)
    caps[caps < LEAST] = 0.0
    return np.asarray(caps)


def _slopes(loss: Loss, block: Block, theta: Array, cap: AnyArray) -> AnyArray:
    """Return slopes within the caps, also where a margin of ∞ − ∞ makes one no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = loss.slope(block.margin(theta), block.target)
    most = cap if slopes.ndim == 1 else cap[:, None]
    np.fmin(slopes, most, out=slopes)
    np.maximum(slopes, -most, out=slopes)
    if slopes.ndim == 2:
        shares = np.divide(slopes, most, out=np.zeros_like(slopes), where=most > 0)
        slopes /= np.maximum(1.0, np.linalg.norm(shares, axis=1, keepdims=True))
    return slopes


def _shape(rows: Rows) -> tuple[int, ...]:
    """Return the shape of coefficients: a matrix where a record has several targets."""
    return (rows.dimension, rows.responses) if rows.responses else (rows.dimension,)


def _vectors(calibration: GradientCalibration, entropy: Entropy) -> Iterator[Array]:
    """Yield the noise of every step, drawn for many steps at once."""
    dimension, left = calibration.objective.dimension, calibration.steps
    noise = calibration.noise
    while left > 0:
        some = min(left, max(1, DRAWN_AT_ONCE // dimension))
        yield from noise.draw(some * dimension, entropy).reshape(some, dimension)
        left -= some
