"""A gradient in double-double precision, practically exact for up to a billion rows.

Features, coefficients and slopes are split into parts on increasingly fine grids. Products
of parts have few bits, so that sums of them fit into doubles and are exact in any order of
addition. All other terms are smaller by a factor of at least 2⁴⁰. Sums over rows are
accumulated in double-double precision. The proof is in docs/proofs/finite-precision.md,
section twofold-gradient.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.category_tables import CodedGroup
from confide.data.matrix.csr import Csr
from confide.data.matrix.dense import Dense
from confide.data.matrix.matrix import Matrix, as_matrix
from confide.data.matrix.sums import Partial, pairwise_sum
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows
from confide.objectives import Loss, Objective, curvature_bound
from confide.objectives.twofold import TWOFOLD_UNIT, Twofold, two_sum
from confide.solvers.problem import UNIT, Problem, slope_scale

ROWS_PER_PIECE = 4096
"""The largest number of rows that are summed at once."""
CELLS_PER_PIECE = 128
"""The number of cells of a contingency table that are summed at once."""
DOUBLE_BITS = 53
MOST_LEADING_BITS = 20

Numbers: TypeAlias = Dense | Csr


def twofold_gradient(problem: Problem, theta: Array | Twofold) -> tuple[Twofold, float]:
    """Return ∇f(θ) and a bound on the norm of its error."""
    objective, rows = problem.objective, problem.rows
    loss = objective.loss
    grids = Grids.of(problem)
    layout = Dense(rows.layout.toarray()) if written_out(rows) else rows.layout
    several, whole_point = objective.responses, Twofold.of(theta)
    points = [
        _Point.of(layout, rows.height, whole_point[j::several], grids)
        for j in range(several)
    ]

    def part(block: Block) -> Partial:
        features = block.features
        if not layout.groups and features.groups:
            features = Dense(features.toarray())
        groups = tuple(group.unpacked() for group in features.groups)
        parts = grids.of_rows(features.number_columns(block.factor))
        margins = [point.margin(parts, groups) for point in points]
        if block.offset is not None:
            margins = [margin + block.offset for margin in margins]
        sums: list[Any] = []
        for slope in _slopes(loss, margins, block.target):
            own = slope if block.weight is None else slope * block.weight
            weights = grids.of_slopes(own)
            cells = (_add_up(map(group.cell_sums, weights)) for group in groups)
            constant = _add_up(weight.sum() for weight in weights)
            sums += constant, weighted_sum(parts, weights), *cells
        return tuple(sums)

    def whole(block: Block) -> Partial:
        return pairwise_sum(map(part, block.pieces(ROWS_PER_PIECE)))

    sums = rows.sum(whole)
    each = len(sums) // several
    columns = [
        _column(layout, rows.height, sums[j : j + each], grids)
        for j in range(0, len(sums), each)
    ]
    total = Twofold(
        np.column_stack([column.high for column in columns]).ravel(),
        np.column_stack([column.low for column in columns]).ravel(),
    )
    linear = Twofold.sum_of(problem.linear, problem.rest)
    found = total + whole_point * problem.ridge + linear
    length = float(np.linalg.norm(whole_point.high))
    rounding = Rounding.of(objective, problem.sum_shape.entries, coded=bool(layout.groups))
    outside = float(np.linalg.norm(linear.high)), float(problem.ridge.max())
    return found, rounding.of_gradient(rows.count, length, *outside)


def _slopes(loss: Loss, margins: list[Twofold], target: AnyArray) -> Iterable[Twofold]:
    """Return the slopes of rows, with one array for each margin of a record."""
    if len(margins) == 1:
        return (loss.twofold_slope(margins[0], target),)
    together = Twofold(
        np.column_stack([margin.high for margin in margins]),
        np.column_stack([margin.low for margin in margins]),
    )
    slope = loss.twofold_slope(together, target)
    return (slope[:, j] for j in range(len(margins)))


def _column(layout: Matrix, height: float, sums: Partial, grids: "Grids") -> Twofold:
    """Return Σ wᵢxᵢ for numeric, categorical and constant columns together."""
    last, total, *cells = sums
    if cells:
        total = _over_columns(layout, total, cells, grids)
    if not height:
        return total
    last = last * height
    return Twofold(np.append(total.high, last.high), np.append(total.low, last.low))


def written_out(rows: Rows) -> bool:
    """Return whether coded columns must be expanded, because rows were rescaled."""
    return rows.shortened and not rows.layout.scalable


@dataclass(frozen=True, slots=True)
class Grids:
    """Grids on which numbers are split into parts of ``bits`` bits each.

    ``longest`` is the bound on entries of rows, and ``steepest`` the bound on slopes.
    """

    bits: int
    longest: float
    steepest: float

    @classmethod
    def of(cls, problem: Problem) -> "Grids":
        """Return the grids for the rows of a problem."""
        objective = problem.objective
        bits = leading_bits(problem.sum_shape.entries)
        return cls(bits, objective.reach, objective.heaviest_slope)

    def of_rows(self, numbers: Numbers) -> list[Numbers]:
        """Split every entry into four parts, or fewer if the rest is known to be 0."""
        parts: list[Numbers] = []
        left: Numbers | None = numbers
        for power in range(3):
            if left is None:
                break
            grid = self._grid(self.longest, power)
            lead, left = left.split(partial(on_grid, grid=grid))
            parts.append(lead)
        return parts if left is None else [*parts, left]

    def of_slopes(self, slope: Twofold) -> list[Array]:
        """Split every slope into three parts."""
        return self.cut(slope, self.steepest, 3)

    def of_point(self, theta: Twofold) -> list[Array]:
        """Split every coefficient into four parts."""
        return self.cut(theta, float(np.abs(theta.high).max(initial=0.0)), 4)

    def cut(self, value: Twofold, largest: float, count: int) -> list[Array]:
        """Split each number, of magnitude at most ``largest``, into ``count`` summands."""
        parts, high, low = [], value.high, value.low
        for power in range(count - 1):
            lead = on_grid(high, self._grid(largest, power))
            parts.append(lead)
            high = high - lead
            if power == 1:
                high, low = high + low, np.zeros_like(low)
        return [*parts, high]

    def _grid(self, largest: float, power: int) -> float:
        if largest == 0:
            return 1.0
        top = math.ceil(math.log2(largest))
        return 2.0 ** (top - (power + 1) * self.bits - power)


def leading_bits(entries: int) -> int:
    """Return the largest number of bits per part for which sums of products are exact."""
    terms = max(entries, ROWS_PER_PIECE)
    room = DOUBLE_BITS - (terms - 1).bit_length()
    return min(MOST_LEADING_BITS, room // 2)


def on_grid(values: Array, grid: float) -> Array:
    """Round to multiples of a power of two, by adding and subtracting a large number."""
    anchor = 1.5 * 2.0**52 * grid
    return (values + anchor) - anchor


def weighted_sum(parts: Sequence[Numbers], weights: Sequence[Array]) -> Twofold:
    """Return Σ wᵢxᵢ from the parts of rows and weights.

    Products of two leading parts, and of a leading and a second part, are summed exactly.
    """
    sums = [part.weighted_sum(np.column_stack(weights)) for part in parts]
    total = Twofold.of(sums[0][:, 0])
    total = total + sums[0][:, 1]
    small = sums[0][:, 2]
    if len(parts) > 1:
        total = total + sums[1][:, 0]
        small = small + (sums[1][:, 1] + sums[1][:, 2])
    for rest in sums[2:]:
        small = small + rest.sum(axis=1)
    return total + small


def _add_up(sums: Iterable[Any]) -> Twofold:
    first, second, rest = sums
    return Twofold.sum_of(first, second) + rest


def _over_columns(
    layout: Matrix, numbers: Twofold, cells: list[Twofold], grids: Grids
) -> Twofold:
    """Return Σ wᵢxᵢ from its numeric entries and from the sums of weights by cell."""
    high, low = np.zeros((2, layout.shape[1]))
    high[layout.places], low[layout.places] = numbers.high, numbers.low
    for group, counts in zip(layout.groups, cells, strict=True):
        found = _table_sum(group, counts, grids)
        high[group.places], low[group.places] = found.high, found.low
    return Twofold(high, low)


def _table_sum(group: CodedGroup, counts: Twofold, grids: Grids) -> Twofold:
    """Return Σ wᵢxᵢ for one group of categorical columns, given total weights by cell."""
    table = as_matrix(group.table)
    total = Twofold.of(np.zeros(table.shape[1]))
    for start in range(0, table.shape[0], CELLS_PER_PIECE):
        lines = slice(start, start + CELLS_PER_PIECE)
        some = counts[lines]
        largest = float(np.abs(some.high).max(initial=0.0))
        total = total + weighted_sum(
            grids.of_rows(table[lines]),  # type: ignore[arg-type]
            grids.cut(some, largest, 3),
        )
    return total


@dataclass(frozen=True, slots=True)
class _Point:
    """Coefficients in parts, with the contributions of cells computed in advance.

    A cell is a combination of levels of one group of categorical columns. For every group,
    ``known`` contains the contribution of each cell to the linear predictor, in two parts;
    the first group includes the intercept. The leading parts lie on a common grid, so they
    are added without error.
    """

    parts: list[Array]
    known: tuple[tuple[Array, Array], ...]

    @classmethod
    def of(cls, layout: Matrix, height: float, theta: Twofold, grids: Grids) -> "_Point":
        slopes = theta[:-1] if height else theta
        last = theta[-1:] * height
        known = [last]
        parts = grids.of_point(slopes)
        sums = [
            _margin(
                grids.of_rows(as_matrix(group.table)),  # type: ignore[arg-type]
                [part[group.places] for part in parts],
            )
            for group in layout.groups
        ]
        if sums:
            known = [sums[0] + last if height else sums[0], *sums[1:]]
        largest = max(float(np.abs(some.high).max(initial=0.0)) for some in known)
        grid = 2.0 ** (math.ceil(math.log2(largest)) - 40) if largest else 1.0
        leads = [on_grid(some.high, grid) for some in known]
        rests = [
            (some.high - lead) + some.low for some, lead in zip(known, leads, strict=True)
        ]
        chosen = [part[layout.places] for part in parts]
        return cls(chosen, tuple(zip(leads, rests, strict=True)))

    def margin(self, parts: Sequence[Numbers], groups: tuple[CodedGroup, ...]) -> Twofold:
        """Return ⟨x, θ⟩ for all rows of a block, including the intercept."""
        known, tails = self._known(groups)
        found = _margin(parts, self.parts) + known
        return Twofold(found.high, found.low + tails)

    def _known(self, groups: tuple[CodedGroup, ...]) -> tuple[Array, Array]:
        if not groups:
            return self.known[0]
        known, tails = np.zeros((2, len(groups[0].cells)))
        for group, (leads, rests) in zip(groups, self.known, strict=True):
            known += leads.take(group.cells)
            tails += rests.take(group.cells)
        return known, tails


def _margin(parts: Sequence[Numbers], theta: Sequence[Array]) -> Twofold:
    """Return ⟨x, θ⟩ from the parts of rows and coefficients.

    Products of two leading parts, and of a leading and a second part, are summed exactly.
    """
    orders = np.column_stack(theta)
    products = [np.ascontiguousarray((part @ orders).T) for part in parts]
    high, low = two_sum(products[0][0], products[0][1])
    small = products[0][2] + products[0][3]
    if len(products) > 1:
        high, error = two_sum(high, products[1][0])
        low += error
    for place, found in enumerate(products[1:], 1):
        small += found[max(0, 2 - place) :].sum(axis=0)
    return Twofold.sum_of(high, low + small)


@dataclass(frozen=True, slots=True)
class Rounding:
    """Relative rounding errors of gradients, for a largest number of entries per row."""

    objective: Objective
    slope: float
    margin: float
    outer: float

    @classmethod
    def of(cls, objective: Objective, entries: int, *, coded: bool) -> "Rounding":
        """Compute the errors; ``coded`` states whether categories are stored as codes."""
        bits, root = leading_bits(entries), math.sqrt(entries)
        second, third = 2.0 ** (-2 * bits), 2.0 ** (-3 * bits)
        slope, margin = objective.loss.twofold_error
        few = 8 * (root + entries) * second
        few += 2 * (entries + 8) * (2 * root + entries) * third
        added = 4 * (ROWS_PER_PIECE + 8)
        added += 4 * (CELLS_PER_PIECE + 8) * CELLS_PER_PIECE if coded else 0
        return cls(
            objective,
            slope,
            margin + UNIT * few + 64 * UNIT**2,
            UNIT * added * second * (root + 1) + CARRIED * TWOFOLD_UNIT,
        )

    def of_gradient(self, count: int, length: float, linear: float, ridge: float) -> float:
        """Bound the error of a gradient of ``count`` rows.

        ``length`` is the norm of the coefficients, ``linear`` the norm of the linear term,
        and ``ridge`` the largest ridge weight.
        """
        objective = self.objective
        curvature = curvature_bound(objective.loss, objective.public)
        weighing = 2 * TWOFOLD_UNIT if objective.weighted else 0.0
        per_row = (
            (self.slope + weighing) * slope_scale(objective)
            + curvature * self.margin * objective.margin_size(length)
        ) * objective.row_norm
        per_row += self.outer * objective.heaviest_slope * objective.reach
        per_row *= math.sqrt(objective.responses)
        outside = 4 * TWOFOLD_UNIT * (linear + ridge * length)
        return 1.01 * (count * per_row + outside)


CARRIED = 2.0**14
"""The length of the longest chain of double-double additions."""
