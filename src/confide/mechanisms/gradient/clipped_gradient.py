"""Sums of clipped gradients over all rows, computed in doubles and without noise.

Their rounding errors are bounded in docs/proofs/gradient-mechanisms.md#computed-sums.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.sums import sum_row_by_row
from confide.data.rows.block import Block
from confide.data.rows.in_memory import InMemoryRows, Rows
from confide.mechanisms.rounding import is_long
from confide.objectives import Loss

Gradient: TypeAlias = Callable[[Array], Array]
"""Type of a function of coefficients that returns a sum of clipped gradients, exact or
noisy. The caller may modify the result."""

SHORTEST, LEAST, MOST = 1e-300, 1e-290, 1e300
ROUNDINGS = 32


def clipped_gradient(
    loss: Loss, rows: Rows, clip: float, trusted_radius: float = 0.0
) -> Gradient:
    """Return a function that computes the sum of clipped gradients, without noise.

    The gradient of a record is the slope of its loss times its row, so a gradient is
    clipped by limiting the slope. With several targets per record, the vector of slopes is
    scaled down. If ‖θ‖ exceeds ``trusted_radius``, margins are computed row by row, so the
    rounding error of a margin depends on its own row alone.
    """
    shape = coefficient_shape(rows)
    known = caps(rows.lengths(), clip, shape) if isinstance(rows, InMemoryRows) else None

    def gradient(theta: Array) -> Array:
        point = theta.reshape(shape)
        by_row = is_long(theta, trusted_radius)

        def part(block: Block) -> tuple[Any, ...]:
            if known is None:
                cap = caps(block.lengths(), clip, shape)
            else:
                cap = known[block.start : block.start + len(block.target)]
            slopes = cut_slopes(loss, block, point, cap, by_row=by_row)
            return (block.weighted_sum(slopes),)

        return np.asarray(rows.sum(part)[0], dtype=np.float64).ravel()

    return gradient


def caps(
    lengths: Array, clip: float, shape: tuple[int, ...], shortest: float = SHORTEST
) -> Array:
    """Return for every row the largest slope that keeps its gradient within the clip.

    This slope is slightly less than ``clip`` divided by the norm of the row, because
    rounding may enlarge the gradient. Slopes too small for an accurate double are replaced
    by 0.
    """
    within = clip * (1 - (sum(shape) + ROUNDINGS) * 2.0**-52)
    with np.errstate(over="ignore"):
        found = np.minimum(within / np.maximum(lengths, shortest), MOST)
    found[found < LEAST] = 0.0
    return np.asarray(found)


def cut_slopes(
    loss: Loss, block: Block, theta: Array, cap: AnyArray, *, by_row: bool
) -> AnyArray:
    """Return the slopes of the loss, clipped to the caps.

    A slope that is NaN, because its margin is ∞ − ∞, is clipped too.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        margin = block.margin(theta, row_independent=by_row)
        slopes = loss.slope(margin, block.target)
    most = cap if slopes.ndim == 1 else cap[:, None]
    np.fmin(slopes, most, out=slopes)
    np.maximum(slopes, -most, out=slopes)
    if slopes.ndim == 2:
        shares = np.divide(slopes, most, out=np.zeros_like(slopes), where=most > 0)
        lengths = np.sqrt(sum_row_by_row("ij,ij->i", shares, shares))
        slopes /= np.maximum(1.0, lengths)[:, None]
    return slopes


def coefficient_shape(rows: Rows) -> tuple[int, ...]:
    """Return the shape of the coefficients: a matrix if records have several targets."""
    return (rows.dimension, rows.responses) if rows.responses else (rows.dimension,)
