"""Minimise the hinge loss with a ridge, certified by a duality gap.

For any s in [0, 1]ⁿ the point θ(s) = (Σ sᵢyᵢxᵢ − b)/Λ has the gap
Σ [max(0, 1 − mᵢ) − sᵢ(1 − mᵢ)] with margins mᵢ = yᵢ⟨xᵢ, θ(s)⟩: a sum of terms that are
never negative, so nothing cancels, and ‖θ − θ*‖ <= √(2·gap/Λ). A point that rounding moved
away from θ(s) has its own sum, and ½Λ times the square of that distance besides.

The multipliers s come from huberised hinges of falling width; rows inside the band are
then put exactly on the margin by solving for their multipliers.
"""

from dataclasses import dataclass

import numpy as np

from confide._types import AnyArray, Array
from confide.data.rows.in_memory import Block, Rows
from confide.errors import NotSolved
from confide.objectives import HuberizedHinge, Objective
from confide.solvers.problem import Solution
from confide.solvers.smooth import minimise_smooth

SMOOTHING_WIDTHS = tuple(10.0**-k for k in range(1, 10))
MOST_ON_MARGIN = 4000


def minimise_hinge(
    objective: Objective, rows: Rows, linear: Array, tolerance: float
) -> Solution:
    """Return a point within ``tolerance`` of the minimiser of hinge losses and ridge."""
    theta: Array | None = None
    for width in SMOOTHING_WIDTHS:
        smooth = Objective(
            HuberizedHinge(width),
            objective.dimension,
            objective.row_norm,
            objective.l2,
            objective.penalty,
        )
        close = 0.01 * width / objective.row_norm
        theta = minimise_smooth(smooth, rows, linear, close, theta, certify=False).theta
        solution = _on_the_margin(objective, rows, linear, theta, width)
        if solution is not None and solution.distance <= tolerance:
            return solution
    raise NotSolved("the hinge solver could not certify its answer")


def _on_the_margin(
    objective: Objective, rows: Rows, linear: Array, theta: Array, width: float
) -> Solution | None:
    """Turn an approximate solution into multipliers, a point and its gap."""
    ridge, loss = objective.ridge, HuberizedHinge(width)

    def multipliers(block: Block) -> AnyArray:
        return np.abs(loss.slope(block.margin(theta), block.target))

    def gather(block: Block) -> tuple[AnyArray, "_Band"]:
        share = multipliers(block)
        whole = np.where(share >= 1, block.target, 0.0)
        return block.weighted_sum(whole), _Band.of(block, share)

    pulled, band = rows.sum(gather)
    if band.count > MOST_ON_MARGIN:
        return None
    signed, share = np.concatenate(band.signed), np.concatenate(band.share)
    base = (pulled - linear) / ridge
    system = (signed / ridge) @ signed.T
    missing = 1 - signed @ base - system @ share
    share = np.clip(share + np.linalg.lstsq(system, missing, rcond=None)[0], 0, 1)
    point = base + signed.T @ share / ridge

    def gap_off_the_band(block: Block) -> tuple[float]:
        share = multipliers(block)
        short = 1 - block.target * block.margin(point)
        gap = np.maximum(np.where(share >= 1, -short, short) + blur, 0)
        return (float(gap[(share <= 0) | (share >= 1)].sum()),)

    unit = float(np.finfo(np.float64).eps)
    reach = objective.row_norm * float(np.linalg.norm(point))
    shape = rows.sum_shape
    blur = unit * (2 + (shape.entries + 4) * reach)
    short = 1 - signed @ point
    loose = blur + 2 * unit * np.abs(short)
    gap = float((np.maximum(short, 0) - share * short + loose).sum())
    gap += float(rows.sum(gap_off_the_band)[0])
    added = rows.count * shape.terms + len(share) * (len(share) + 4)
    pull = objective.row_norm * added + 4 * float(np.linalg.norm(linear))
    astray = unit * pull / ridge.min()
    return Solution(point, float(np.sqrt(2 * gap / ridge.min() + astray**2)))


@dataclass(frozen=True, slots=True)
class _Band:
    """Rows inside the band, yᵢxᵢ with their multipliers, gathered through the one seam.

    Of more than can be put on the margin only the number is kept.
    """

    count: int
    signed: list[Array]
    share: list[AnyArray]

    @classmethod
    def of(cls, block: Block, share: AnyArray) -> "_Band":
        inside = np.flatnonzero((share > 0) & (share < 1))
        if len(inside) > MOST_ON_MARGIN:
            return cls(len(inside), [], [])
        return cls(
            len(inside),
            [block.take(inside).toarray() * block.target[inside, None]],
            [share[inside]],
        )

    def __add__(self, other: "_Band") -> "_Band":
        count = self.count + other.count
        if count > MOST_ON_MARGIN:
            return _Band(count, [], [])
        return _Band(count, self.signed + other.signed, self.share + other.share)
