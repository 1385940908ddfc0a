"""A gradient with very small rounding errors, at the cost of a few ordinary passes.

Features, coefficients and slopes are split into a leading part on a coarse grid and a small
remainder. Products of leading parts have few bits, so that sums of them fit into doubles
and are exact in any order of addition. All other terms are smaller by a factor of 2²⁰. The
remaining error comes from rounding one margin and one slope per row, and almost vanishes if
these have double-double precision. If it is still too large for the number of rows,
`twofold_gradient` is used instead.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.category_tables import CodedGroup, joint_cells
from confide.data.matrix.csr import Csr
from confide.data.matrix.dense import Dense
from confide.data.matrix.matrix import Matrix
from confide.data.matrix.sums import (
    MOST_ADDED,
    Partial,
    addition_depth,
    pairwise_sum,
)
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows
from confide.objectives import Loss, curvature_bound
from confide.objectives.twofold import TWOFOLD_UNIT, Twofold
from confide.solvers.problem import Problem, slope_scale
from confide.solvers.twofold_gradient import twofold_gradient, written_out

LEADING_BITS = 20
"""The number of bits of a leading part. A product has 40 bits, and a sum of 8192 products
53 bits, which is the precision of a double."""

FEW_ROWS = 1024
"""The number of rows summed at once if rounding of the smaller terms would matter."""

Numbers: TypeAlias = Dense | Csr
Pieces: TypeAlias = tuple[Numbers, Numbers, Numbers | None]
"""Numeric columns, their leading parts, and the remainders (None if known to be 0)."""


def precise_gradient(
    problem: Problem, theta: Array | Twofold, goal: float = math.inf
) -> tuple[Array, float]:
    """Return ∇f(θ), rounded to doubles, and a bound on the norm of its error.

    Double-double precision is used if the rounding of slopes in doubles would exceed half
    of ``goal``, or if rows have too many entries for exact inner products.
    """
    found, error = careful_gradient(problem, theta, goal)
    unit = float(np.finfo(np.float64).eps) / 2
    return found.high, error + unit * float(np.linalg.norm(found.high))


def careful_gradient(
    problem: Problem, theta: Array | Twofold, goal: float
) -> tuple[Twofold, float]:
    """Return the result of `precise_gradient` before it is rounded to doubles."""
    rows = problem.rows
    few = problem.sum_shape.entries <= MOST_ADDED and not written_out(rows)
    few = few and problem.objective.responses == 1
    point = Twofold.of(theta)
    if few and _Rounding.of(problem).slopes(problem) <= goal / 2:
        found, error = split_gradient(problem, point)
        if error <= goal / 2:
            return found, error
    most = problem.sum_shape.rows_added
    for at_once in (most, min(most, FEW_ROWS)) if few else ():
        rounding = _Rounding.of(problem, at_once, fine=True)
        if rounding.of_gradient(problem, point.high, 0.0) <= goal / 2:
            return split_gradient(problem, point, at_once, fine=True)
    return twofold_gradient(problem, theta)


def split_gradient(
    problem: Problem, theta: Twofold, at_once: int | None = None, *, fine: bool = False
) -> tuple[Twofold, float]:
    """Return ∇f(θ) and a bound on the norm of its error.

    Slopes are computed in doubles, or in double-double precision if ``fine`` is true.
    ``at_once`` rows are summed at a time; None means ``problem.sum_shape.rows_added``.
    """
    objective, rows = problem.objective, problem.rows
    longest, steepest = objective.reach, objective.heaviest_slope
    exact = _wide(theta.high) + theta.low
    point = _Point.of(rows, exact)
    at_once = at_once or problem.sum_shape.rows_added
    rounding = _Rounding.of(problem, at_once, fine=fine)

    def part(block: Block) -> Partial:
        groups = tuple(group.unpacked() for group in block.features.groups)
        pieces = _split(block.features.number_columns(block.factor), longest)
        margin = point.margin(pieces, groups)
        if block.offset is not None:
            margin = margin + block.offset
        slope = _slopes(objective.loss, margin, block, fine=fine)
        strong = _leading(slope.high, steepest)
        weak = (slope.high - strong) + slope.low
        cells = (_wide(g.cell_sums(strong)) + g.cell_sums(weak) for g in groups)
        whole = _wide(strong.sum()) + weak.sum()
        total = _weighted_sum(pieces, strong, weak)
        return float(np.abs(margin.high).sum()), whole, total, *cells

    def whole(block: Block) -> Partial:
        return pairwise_sum(map(part, block.pieces(at_once)))

    size, last, total, *cells = rows.sum(whole)
    if cells:
        total = _sum_over_columns(rows.layout, total, cells)
    if rows.height:
        total = np.append(total, np.longdouble(rows.height) * last)
    wide: AnyArray = total + problem.ridge * exact + (_wide(problem.linear) + problem.rest)
    high = wide.astype(np.float64)
    found = Twofold(high, (wide - high).astype(np.float64))
    return found, rounding.of_gradient(problem, theta.high, size)


def _slopes(loss: Loss, margin: Twofold, block: Block, *, fine: bool) -> Twofold:
    """Return the slopes of rows, multiplied by the weights of the rows."""
    if not fine:
        return Twofold.of(block.weigh(loss.slope(margin.high, block.target)))
    slope = loss.twofold_slope(margin, block.target)
    return slope if block.weight is None else slope * block.weight


def _sum_over_columns(layout: Matrix, numbers: AnyArray, cells: list[AnyArray]) -> AnyArray:
    """Return Σ wᵢxᵢ from its numeric entries and from the sums of weights by cell.

    Cells are those of the contingency tables of categorical columns.
    """
    total = np.empty(layout.shape[1], np.longdouble)
    total[layout.places] = numbers
    for group, counts in zip(layout.groups, cells, strict=True):
        total[group.places] = _wide(group.table.T) @ counts
    return total


def _wide(values: Any) -> Any:
    return values.astype(np.longdouble)


@dataclass(frozen=True, slots=True)
class _Point:
    """Coefficients in two parts, with the contributions of cells computed in advance.

    A cell is a combination of levels of one group of categorical columns. For every group,
    ``known`` contains the contribution of each cell to the linear predictor, in two parts;
    the first group includes the intercept. The leading parts have twice as many bits and
    lie on a common grid, so they are added without error.
    """

    slopes: Array
    coarse: Array
    fine: Array
    known: tuple[tuple[Array, Array], ...]

    @classmethod
    def of(cls, rows: Rows, theta: AnyArray) -> "_Point":
        wide = _wide(theta[:-1] if rows.height else theta)
        known = [np.longdouble(rows.height) * _wide(theta[-1:])]
        layout = rows.layout
        sums = [group.lookup(wide) for group in layout.groups]
        if sums:
            known = [sums[0] + (known[0] if rows.height else 0), *sums[1:]]
        wide = wide[layout.places]
        slopes = wide.astype(np.float64)
        coarse = _leading(slopes, float(np.abs(slopes).max(initial=0.0)))
        fine = (wide - coarse).astype(np.float64)
        return cls(slopes, coarse, fine, tuple(_on_one_grid(known)))

    def margin(self, pieces: Pieces, groups: tuple[CodedGroup, ...]) -> Twofold:
        """Return ⟨x, θ⟩ for all rows of a block, including the intercept."""
        _, lead, rest = pieces
        total = lead @ self.coarse
        small = lead @ self.fine
        if rest is not None:
            small += rest @ self.slopes
        known, tails = self._known(groups)
        small += tails
        after = total + known
        back = after - total
        small += (total - (after - back)) + (known - back)
        return Twofold.sum_of(after, small)

    def _known(self, groups: tuple[CodedGroup, ...]) -> tuple[Array, Array]:
        if not groups:
            return self.known[0]
        known, tails = np.zeros((2, len(groups[0].cells)))
        for group, (leads, rests) in zip(groups, self.known, strict=True):
            known += leads.take(group.cells)
            tails += rests.take(group.cells)
        return known, tails


def _on_one_grid(known: list[AnyArray]) -> Iterator[tuple[Array, Array]]:
    largest = max(float(np.abs(sums).max()) for sums in known)
    for sums in known:
        lead = _leading(sums.astype(np.float64), largest, 2 * LEADING_BITS)
        yield lead, (sums - lead).astype(np.float64)


def _split(numbers: Numbers, longest: float) -> Pieces:
    """Return numeric columns, their leading parts and the remainders."""
    return numbers, *numbers.split(lambda values: _leading(values, longest))


def _weighted_sum(pieces: Pieces, strong: Array, weak: Array) -> AnyArray:
    """Return Σ wᵢxᵢ for numeric columns and weights that are given in two parts."""
    numbers, lead, rest = pieces
    if rest is None:
        both = numbers.weighted_sum(np.column_stack((strong, weak)))
        return _wide(both[:, 0]) + both[:, 1]
    small = rest.weighted_sum(strong) + numbers.weighted_sum(weak)
    return _wide(lead.weighted_sum(strong)) + small


def _leading(values: Array, largest: float, bits: int = LEADING_BITS) -> Array:
    """Round to multiples of about 2^−bits·``largest``, using a large added constant."""
    if largest == 0:
        return np.zeros_like(values)
    grid = 2.0 ** (np.ceil(np.log2(largest)) - bits)
    anchor = 1.5 * 2.0**52 * grid
    return (values + anchor) - anchor


@dataclass(frozen=True, slots=True)
class _Rounding:
    """Relative rounding errors of slopes, of margins, and of the smaller terms of sums.

    ``margin`` is relative to the actual margins, and ``inner`` to the bound on margins.

    Every entry of a remainder is at most 2⁻²⁰ times the largest magnitude, so the remainder
    of a row with k entries has a norm of at most √k times this bound. The proof is in
    docs/proofs/finite-precision.md, section split-gradient.
    """

    slope: float
    margin: float
    inner: float
    outer: float

    @classmethod
    def of(
        cls, problem: Problem, at_once: int | None = None, *, fine: bool = False
    ) -> "_Rounding":
        """Return the errors for a problem whose rows are summed ``at_once`` at a time."""
        shape, layout = problem.sum_shape, problem.rows.layout
        added = at_once or shape.rows_added
        depth = shape.depth + addition_depth(-(-shape.rows_added // added))
        cells = joint_cells(layout.groups)
        looked_up = layout.sum_shape.entries + 2 if layout.groups else 1
        unit = float(np.finfo(np.float64).eps) / 2
        extended = float(np.finfo(np.longdouble).eps) / 2
        rest = 2.0**-LEADING_BITS * (math.sqrt(shape.entries) + 1)
        inner = 4 * unit * (shape.entries + 4) * rest + extended * looked_up
        outer = unit * (added + 4) * rest + extended * (depth + cells + 10)
        if not fine:
            return cls(5 * unit, unit, inner, outer)
        slope, margin = problem.objective.loss.twofold_error
        weighing = 2 * TWOFOLD_UNIT if problem.objective.weighted else 0.0
        return cls(slope + weighing, 0.0, inner + margin, outer)

    def slopes(self, problem: Problem) -> float:
        """Return the part of the gradient's error that is due to the slopes."""
        objective = problem.objective
        return self.slope * slope_scale(objective) * problem.rows.count * objective.row_norm

    def of_gradient(self, problem: Problem, theta: Array, margins: float) -> float:
        """Bound the error of a gradient; ``margins`` is the sum of |⟨x, θ⟩| over rows."""
        objective, count = problem.objective, problem.rows.count
        length = float(np.linalg.norm(theta))
        curvature = curvature_bound(objective.loss, objective.public)
        inner = curvature * self.inner * objective.margin_size(length)
        whole = objective.row_norm * (count * inner + self.margin * curvature * margins)
        whole += objective.reach * count * self.outer * objective.heaviest_slope
        outside = float(np.linalg.norm(problem.linear)) + length * float(
            problem.ridge.max()
        )
        extended = float(np.finfo(np.longdouble).eps) / 2
        return 1.001 * (whole + self.slopes(problem)) + 4 * extended * outside
