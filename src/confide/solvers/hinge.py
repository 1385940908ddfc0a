"""Minimise the hinge loss with a ridge, certified by a duality gap.

For any s in [0, 1]ⁿ the point θ(s) = (Σ sᵢyᵢxᵢ − b)/Λ has the gap
Σ [max(0, 1 − mᵢ) − sᵢ(1 − mᵢ)] with margins mᵢ = yᵢ⟨xᵢ, θ(s)⟩: a sum of terms that are
never negative, so nothing cancels, and ‖θ − θ*‖ <= √(2·gap/Λ).

The multipliers s come from huberised hinges of falling width; rows inside the band are
then put exactly on the margin by solving for their multipliers.
"""

import numpy as np

from confide._types import Array
from confide.data.rows import Block, Rows
from confide.errors import NotSolved
from confide.objectives import HuberizedHinge, Objective
from confide.solvers.smooth import minimise_smooth
from confide.solvers.solution import Solution

WIDTHS = tuple(10.0**-k for k in range(1, 10))
MOST_ON_MARGIN = 4000


def minimise_hinge(
    objective: Objective, rows: Rows, linear: Array, tolerance: float
) -> Solution:
    """Return a point within ``tolerance`` of the minimiser of hinge losses and ridge."""
    theta: Array | None = None
    for width in WIDTHS:
        smooth = Objective(
            HuberizedHinge(width),
            objective.dimension,
            objective.row_norm,
            objective.l2,
            objective.penalty,
        )
        close = 0.01 * width / objective.row_norm
        theta = minimise_smooth(smooth, rows, linear, close, theta).theta
        solution = _on_the_margin(objective, rows, linear, theta, width)
        if solution is not None and solution.distance <= tolerance:
            return solution
    raise NotSolved("the hinge solver could not certify its answer")


def _on_the_margin(
    objective: Objective, rows: Rows, linear: Array, theta: Array, width: float
) -> Solution | None:
    """Turn an approximate solution into multipliers, a point and its gap."""
    ridge = objective.ridge
    loss = HuberizedHinge(width)

    def inside(block: Block) -> tuple[Array, ...]:
        margin = block.margin(theta)
        slope = loss.slope(margin, block.target)
        share = np.abs(slope)
        band = (share > 0) & (share < 1)
        full = np.where(share >= 1, -block.target, 0.0)
        return block.pull(full), _Stack(band, block, share)

    pulled, stack = rows.sum(inside)
    directions, shares = stack.collect()
    if len(shares) > MOST_ON_MARGIN:
        return None
    # Σ over full rows of y x is −pulled; θ = (−pulled + Zᵀs − b)/Λ, and Zθ = 1 on the band
    base = (-pulled - linear) / ridge
    system = (directions / ridge) @ directions.T
    wanted = 1 - directions @ base
    shares = shares + np.linalg.lstsq(system, wanted - system @ shares, rcond=None)[0]
    shares = np.clip(shares, 0, 1)
    point = base + directions.T @ shares / ridge

    def gap(block: Block) -> tuple[float]:
        short = 1 - block.target * block.margin(point)
        old = np.abs(loss.slope(block.margin(theta), block.target))
        band = (old > 0) & (old < 1)
        return (float(np.where(old >= 1, np.maximum(-short, 0), np.maximum(short, 0))[~band].sum()),)

    short = 1 - directions @ point
    on_band = float((np.maximum(short, 0) - shares * short).sum())
    rounding = 4 * np.finfo(float).eps * (1 + float(np.abs(point).max())) * max(1, len(shares))
    total = float(rows.sum(gap)[0]) + max(on_band, 0.0) + rounding
    return Solution(point, float(np.sqrt(2 * total / ridge.min())))


class _Stack:
    """Rows on the margin, gathered block by block through the same seam as sums."""

    def __init__(self, band: Array, block: Block, share: Array) -> None:
        signed = np.flatnonzero(band)
        self.parts = [(_dense_rows(block, signed), share[signed])]

    def __add__(self, other: "_Stack") -> "_Stack":
        self.parts.extend(other.parts)
        return self

    def collect(self) -> tuple[Array, Array]:
        """Return the signed rows yᵢxᵢ and their multipliers."""
        directions = np.concatenate([rows for rows, _ in self.parts])
        return directions, np.concatenate([share for _, share in self.parts])


def _dense_rows(block: Block, chosen: Array) -> Array:
    rows = block.features[chosen]
    rows = np.asarray(rows.todense() if hasattr(rows, "todense") else rows, dtype=float)
    if block.factor is not None:
        rows = rows * block.factor[chosen, None]
    if block.height:
        rows = np.column_stack([rows, np.full(len(rows), block.height)])
    return rows * block.target[chosen, None]
