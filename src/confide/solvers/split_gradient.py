"""A gradient almost free of rounding, at the price of a few ordinary sweeps.

Features, coefficients and slopes are split into a leading part on a coarse grid and a
small rest. Products of leading parts fit a double with room for their sums, so their inner
products are exact in whatever order they are added; everything else is smaller by 2⁻²⁰.
What is left is the rounding of one margin and one slope per row. Where even that is too
much for so many rows, these two are computed in the extended format.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.matrix import csr
from confide.data.matrix.coded_design import MOST_ADDED, CodedDesign
from confide.data.rows.block import Block, Partial, addition_depth, pairwise_sum, scaled
from confide.data.rows.in_memory import Rows
from confide.objectives import Objective, curvature_bound
from confide.solvers.problem import Problem, slope_scale

BITS = 20
"""Leading bits: 2·20 for a product and 13 for a sum of 8192 of them fill a double."""

ROWS_PER_SPLIT = 1024
"""So many rows at most are added up at once where there are very many."""

Pieces: TypeAlias = tuple[Any, Any, Any]
"""Numbers, their leading parts and the rest."""


def can_split(problem: Problem) -> bool:
    """Whether rows hold few enough entries for exact inner products."""
    return problem.weight == 1.0 and splits(problem.rows, problem.entries)


def splits(rows: Rows, entries: int) -> bool:
    """Whether rows of so many entries at most are split."""
    coded = isinstance(rows.layout, CodedDesign) and rows.shortened
    return not coded and entries <= MOST_ADDED


def precise_gradient(
    problem: Problem, theta: AnyArray, goal: float = math.inf
) -> tuple[Array, float]:
    """Return ∇f(θ) and a bound on the length of its error; θ may be in extended format.

    Where slopes in doubles would cost more than half the ``goal`` they are computed in the
    extended format.
    """
    fine = _Rounding.of(problem, fine=False).slopes(problem) > goal / 2
    objective, rows = problem.objective, problem.rows
    loss, longest, steepest = objective.loss, objective.row_norm, objective.slope_bound
    point, most = _Point.of(rows, theta), _rows_of_a_piece(rows, fine=fine)

    def part(block: Block) -> Partial:
        features, numbers = block.features, block.features
        if isinstance(features, CodedDesign):
            features = features.unpacked()
            numbers = features.numbers.T
        else:
            numbers = scaled(features, block.factor)
        pieces = _split(numbers, longest)
        margin = point.margin(pieces, features, fine=fine)
        slope = loss.slope(margin, block.target)
        strong = _leading(slope.astype(np.float64, copy=False), steepest)
        weak = (slope - strong).astype(np.float64, copy=False)
        groups = features.groups if isinstance(features, CodedDesign) else ()
        cells = (_wide(g.counted(strong)) + g.counted(weak) for g in groups)
        whole = _wide(strong.sum()) + weak.sum()
        return float(np.abs(margin).sum()), whole, _pull(pieces, strong, weak), *cells

    def whole(block: Block) -> Partial:
        return pairwise_sum(part(piece) for _, piece in block.pieces(most))

    size, last, total, *cells = rows.sum(whole)
    if cells:
        total = _uncoded(rows.layout, total, cells)
    if rows.height:
        total = np.append(total, np.longdouble(rows.height) * last)
    wide: AnyArray = total + problem.ridge * _wide(theta) + problem.linear
    found: Array = wide.astype(np.float64)
    unit = float(np.finfo(np.float64).eps) / 2
    error = _Rounding.of(problem, fine=fine).of_gradient(problem, theta, size)
    return found, error + unit * float(np.linalg.norm(found))


def _rows_of_a_piece(rows: Rows, *, fine: bool) -> int:
    return min(rows.added, ROWS_PER_SPLIT) if fine else rows.added


def careful_gradient(problem: Problem, theta: Array, goal: float) -> tuple[AnyArray, float]:
    """Return what `precise_gradient` does, from long doubles where rows do not split."""
    if can_split(problem):
        return precise_gradient(problem, theta, goal)
    wide = _wide(theta)
    return problem.gradient(wide)[0], problem.careful_rounding(wide)


def _uncoded(features: CodedDesign, numbers: AnyArray, cells: list[AnyArray]) -> AnyArray:
    """Return sums over rows from those of numbers and of cells, in the extended format."""
    total = np.empty(features.shape[1], np.longdouble)
    total[features.places] = numbers
    for group, counts in zip(features.groups, cells, strict=True):
        total[group.places] = _wide(group.table.T) @ counts
    return total


def _wide(values: Any) -> Any:
    return values.astype(np.longdouble)


@dataclass(frozen=True, slots=True)
class _Point:
    """Coefficients split in two; those of categories are added up beforehand.

    ``known`` holds such sums, and the intercept's share, in two parts: the leading ones,
    of twice as many bits, lie on one grid and add up without error.
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
        if isinstance(layout, CodedDesign):
            sums = [group.lookup(wide) for group in layout.groups]
            if sums:
                known = [sums[0] + (known[0] if rows.height else 0), *sums[1:]]
            wide = wide[layout.places]
        slopes = wide.astype(np.float64)
        coarse = _leading(slopes, float(np.abs(slopes).max(initial=0.0)))
        fine = (wide - coarse).astype(np.float64)
        return cls(slopes, coarse, fine, tuple(_on_one_grid(known)))

    def margin(self, pieces: Pieces, features: Any, *, fine: bool) -> AnyArray:
        """Return ⟨x, θ⟩ with the intercept, rounded once; if fine, in extended format."""
        _, lead, rest = pieces
        total = lead @ self.coarse
        small = lead @ self.fine
        if rest is not None:
            small += rest @ self.slopes
        known, tails = self._known(features)
        small += tails
        after = total + known
        back = after - total
        small += (total - (after - back)) + (known - back)
        return (_wide(after) if fine else after) + small

    def _known(self, features: Any) -> tuple[Array, Array]:
        if not isinstance(features, CodedDesign) or not features.groups:
            return self.known[0]
        known, tails = np.zeros((2, features.shape[0]))
        for group, (leads, rests) in zip(features.groups, self.known, strict=True):
            known += leads.take(group.cells)
            tails += rests.take(group.cells)
        return known, tails


def _on_one_grid(known: list[AnyArray]) -> Iterator[tuple[Array, Array]]:
    largest = max(float(np.abs(sums).max()) for sums in known)
    for sums in known:
        lead = _leading(sums.astype(np.float64), largest, 2 * BITS)
        yield lead, (sums - lead).astype(np.float64)


def _split(values: Any, longest: float) -> Pieces:
    """Return numbers, their leading parts and the rest, None if a sparse one is zero."""
    if not sparse.issparse(values):
        lead = _leading(values, longest)
        return values, lead, values - lead
    lead = _leading(values.data, longest)
    if np.array_equal(lead, values.data):
        return values, values, None
    rest = values.data - lead
    return values, csr.with_values(values, lead), csr.with_values(values, rest)


def _pull(pieces: Pieces, strong: Array, weak: Array) -> AnyArray:
    """Return Σ wᵢxᵢ for weights in two parts."""
    numbers, lead, rest = pieces
    if rest is None:
        both = numbers.T @ np.column_stack((strong, weak))
        return _wide(both[:, 0]) + both[:, 1]
    return _wide(strong @ lead) + (strong @ rest + weak @ numbers)


def _leading(values: Array, largest: float, bits: int = BITS) -> Array:
    """Round to a grid of 2⁻²⁰ of the largest magnitude, by adding and taking away."""
    if largest == 0:
        return np.zeros_like(values)
    grid = 2.0 ** (np.ceil(np.log2(largest)) - bits)
    anchor = 1.5 * 2.0**52 * grid
    return (values + anchor) - anchor


@dataclass(frozen=True, slots=True)
class _Rounding:
    """What roundings cost: of a slope, of a margin, of the small parts of a sum.

    Every entry of a rest is at most 2⁻²⁰ of the largest magnitude, so as a vector it is at
    most √k times that, where a row holds k entries. The proof is
    docs/proofs/finite-precision.md, split-gradient.
    """

    slope: float
    margin: float
    inner: float
    outer: float

    @classmethod
    def of(cls, problem: Problem, *, fine: bool) -> "_Rounding":
        return cls.of_rows(problem.rows, problem.entries, fine=fine)

    @classmethod
    def of_rows(cls, rows: Rows, entries: int, *, fine: bool) -> "_Rounding":
        """Return them for rows of a shape, of so many entries at most."""
        layout = rows.layout
        coded = isinstance(layout, CodedDesign)
        cells = layout.added_cells if coded else 0
        looked_up = layout.entries + 2 if coded and layout.groups else 1
        added = _rows_of_a_piece(rows, fine=fine)
        depth = rows.depth + addition_depth(-(-rows.added // added))
        unit = float(np.finfo(np.float64).eps) / 2
        extended = float(np.finfo(np.longdouble).eps) / 2
        rest = 2.0**-BITS * (math.sqrt(entries) + 1)
        return cls(
            4 * extended + unit * rest if fine else 4 * unit,
            extended if fine else unit,
            4 * unit * (entries + 4) * rest + extended * looked_up,
            unit * (added + 3) * rest + extended * (depth + cells + 10),
        )

    def slopes(self, problem: Problem) -> float:
        """Return what computing the slopes costs, and nothing else."""
        objective = problem.objective
        return self.slope * slope_scale(objective) * problem.rows.count * objective.row_norm

    def of_gradient(self, problem: Problem, theta: AnyArray, margins: float) -> float:
        """Bound the error; ``margins`` is the sum of |⟨x, θ⟩| over the rows."""
        objective, count = problem.objective, problem.rows.count
        length = float(np.linalg.norm(theta.astype(np.float64)))
        bend = curvature_bound(objective.loss, objective.public)
        reach = objective.row_norm * length
        per_row = bend * self.inner * reach + self.outer * objective.slope_bound
        whole = objective.row_norm * (count * per_row + self.margin * bend * margins)
        outside = float(np.linalg.norm(problem.linear)) + length * float(
            problem.ridge.max()
        )
        extended = float(np.finfo(np.longdouble).eps) / 2
        return 1.001 * (whole + self.slopes(problem)) + 4 * extended * outside


def finest_length(objective: Objective, rows: Rows) -> float:
    """Return how short a gradient can be certified for this many rows.

    It depends on the shape of the table and on public facts alone: a mechanism can refuse
    before it spends anything, and a solver never fails because of what the rows say.
    """
    bend = curvature_bound(objective.loss, objective.public)
    bend = bend if np.isfinite(bend) else 1.0
    scale, steep = slope_scale(objective), objective.slope_bound
    unit = float(np.finfo(np.longdouble).eps)
    margins = bend * (rows.most_entries + 3) * WIDEST_MARGIN
    per_row = unit * (steep * rows.terms + 4 * scale + margins)
    if splits(rows, rows.most_entries):
        cost = _Rounding.of_rows(rows, rows.most_entries, fine=True)
        margin = bend * (cost.margin + cost.inner) * WIDEST_MARGIN
        per_row = min(per_row, 2 * (cost.slope * scale + cost.outer * steep + margin))
    return float(rows.count * per_row * objective.row_norm)


WIDEST_MARGIN = 100.0
"""A margin that no sensible model exceeds; e^100 to one."""
