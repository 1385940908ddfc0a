"""A gradient almost free of rounding, at the price of a few ordinary sweeps.

Features, coefficients and slopes are split into a leading part on a coarse grid and a
small rest. Products of leading parts fit a double with room for their sums, so their inner
products are exact in whatever order they are added; everything else is smaller by 2⁻²⁰.
What is left is the rounding of one margin and one slope per row.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data import csr
from confide.data.design import MOST_ADDED, Design
from confide.data.rows import Block, Partial, Rows, add_up
from confide.objectives import curvature_bound
from confide.solvers.sums import Problem

BITS = 20
"""Leading bits: 2·20 for a product and 13 for a sum of 8192 of them fill a double."""

Pieces: TypeAlias = tuple[Any, Any, Any]
"""Numbers, their leading parts and the rest."""


def can_split(problem: Problem) -> bool:
    """Whether rows hold few enough entries for exact inner products."""
    rows = problem.rows
    return (
        not (isinstance(rows.features, Design) and rows.factor is not None)
        and problem.entries <= MOST_ADDED
        and problem.weight == 1.0
    )


def precise_gradient(problem: Problem, theta: Array) -> tuple[Array, float]:
    """Return ∇f(θ) and a bound on the length of its error."""
    objective, rows = problem.objective, problem.rows
    loss, longest, steepest = objective.loss, objective.row_norm, objective.slope_bound
    point, most = _Point.of(rows, theta), _rows_of_a_piece(rows)

    def part(block: Block) -> Partial:
        features, numbers = block.features, block.features
        if isinstance(features, Design):
            features = features.unpacked()
            numbers = features.numbers.T
        elif sparse.issparse(features):
            numbers = csr.scaled(features, block.factor)
        elif block.factor is not None:
            numbers = features * block.factor[:, None]
        pieces = _split(numbers, longest)
        margin = point.margin(pieces, features)
        slope = loss.slope(margin, block.target)
        strong = _leading(slope, steepest)
        weak = slope - strong
        groups = features.groups if isinstance(features, Design) else ()
        cells = (_wide(g.counted(strong)) + g.counted(weak) for g in groups)
        whole = _wide(strong.sum()) + weak.sum()
        return float(np.abs(margin).sum()), whole, _pull(pieces, strong, weak), *cells

    def whole(block: Block) -> Partial:
        return add_up(part(piece) for _, piece in block.pieces(most))

    size, last, total, *cells = rows.sum(whole)
    if cells:
        total = _uncoded(rows.features, total, cells)
    if rows.height:
        total = np.append(total, np.longdouble(rows.height) * last)
    wide: AnyArray = total + problem.ridge * _wide(theta) + problem.linear
    found: Array = wide.astype(np.float64)
    unit = float(np.finfo(np.float64).eps) / 2
    return found, _error(problem, theta, size) + unit * float(np.linalg.norm(found))


def _rows_of_a_piece(rows: Rows) -> int:
    """Return how many rows to add up at once: more where there is no product to add up."""
    coded = isinstance(rows.features, Design) and not len(rows.features.numbers)
    return rows.block_rows if coded else min(rows.block_rows, MOST_ADDED)


def careful_gradient(problem: Problem, theta: Array) -> tuple[AnyArray, float]:
    """Return what `precise_gradient` does, from long doubles where rows do not split."""
    if can_split(problem):
        return precise_gradient(problem, theta)
    wide = _wide(theta)
    return problem.gradient(wide)[0], problem.careful_rounding(wide)


def _uncoded(features: Design, numbers: AnyArray, cells: list[AnyArray]) -> AnyArray:
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
    def of(cls, rows: Rows, theta: Array) -> "_Point":
        slopes = theta[:-1] if rows.height else theta
        wide = _wide(slopes)
        known = [np.longdouble(rows.height) * theta[-1:]]
        if isinstance(rows.features, Design):
            sums = [group.lookup(wide) for group in rows.features.groups]
            known = [sums[0] + (known[0] if rows.height else 0), *sums[1:]]
            slopes = slopes[rows.features.places]
        coarse = _leading(slopes, float(np.abs(slopes).max(initial=0.0)))
        return cls(slopes, coarse, slopes - coarse, tuple(_on_one_grid(known)))

    def margin(self, pieces: Pieces, features: Any) -> Array:
        """Return ⟨x, θ⟩ with the intercept, rounded once."""
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
        return after + small

    def _known(self, features: Any) -> tuple[Array, Array]:
        if not isinstance(features, Design):
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


def _error(problem: Problem, theta: Array, margins: float) -> float:
    """Bound the error: a few roundings per row, and what the small parts lose.

    ``margins`` is the sum of |⟨x, θ⟩| over the rows. Every entry of a rest is at most 2⁻²⁰
    of the largest magnitude, so as a vector it is at most √k times that, where a row holds
    k entries. The proof is
    docs/proofs/finite-precision.md, split-gradient.
    """
    objective, count = problem.objective, problem.rows.count
    features = problem.rows.features
    block = _rows_of_a_piece(problem.rows)
    cells = features.added_cells if isinstance(features, Design) else 0
    unit = float(np.finfo(np.float64).eps) / 2
    extended = float(np.finfo(np.longdouble).eps) / 2
    length, size = float(np.linalg.norm(theta)), problem.entries
    bend = curvature_bound(objective.loss, objective.public)
    scale = objective.slope_bound + 2 * (objective.target_bound or 0.0)
    rest = 2.0**-BITS * (math.sqrt(size) + 1)
    shrunk = 0 if problem.rows.factor is None else 1
    inner = unit * (shrunk + 4 * (size + 4) * rest) + extended * (size + 2)
    outer = unit * (shrunk + (block + 3) * rest) + extended * (count // block + cells + 10)
    per_row = 4 * unit * scale + bend * inner * objective.row_norm * length
    per_row += outer * objective.slope_bound
    whole = count * per_row + unit * bend * margins
    outside = float(np.linalg.norm(problem.linear)) + float(problem.ridge.max()) * length
    return 1.001 * objective.row_norm * whole + 4 * extended * outside
