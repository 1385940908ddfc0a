"""A gradient almost free of rounding, at the price of a few ordinary sweeps.

Features, coefficients and slopes are split into a leading part on a coarse grid and a
small rest. Products of leading parts fit a double with room for their sums, so their inner
products are exact in whatever order they are added; everything else is smaller by 2⁻²⁰.
What is left is the rounding of one margin and one slope per row.
"""

import numpy as np
from scipy import sparse

from confide._types import Array
from confide.data.rows import MOST_BLOCK_ROWS, Block
from confide.objectives import curvature_bound
from confide.solvers.sums import Problem

BITS = 20
"""Leading bits: 2·20 for a product and 13 for a sum of 8192 of them fill a double."""


def can_split(problem: Problem) -> bool:
    """Whether the rows are dense and few enough columns wide for exact inner products."""
    return (
        not sparse.issparse(problem.rows.features)
        and problem.objective.dimension <= MOST_BLOCK_ROWS
        and problem.weight == 1.0
    )


def precise_gradient(problem: Problem, theta: Array) -> tuple[Array, float]:
    """Return ∇f(θ) and a bound on the length of its error."""
    objective, rows = problem.objective, problem.rows
    loss, reach = objective.loss, objective.row_norm
    slopes = theta[:-1] if rows.height else theta
    coarse = _leading(slopes, float(np.abs(slopes).max(initial=0.0)))
    fine = slopes - coarse
    level = rows.height * theta[-1] if rows.height else 0.0
    steepest = objective.slope_bound

    def part(block: Block) -> tuple[Array, ...]:
        features = block.features
        longest = reach
        if block.factor is not None:
            longest = float(np.abs(features).max(initial=0.0))
        lead = _leading(features, longest)
        rest = features - lead
        margin = lead @ coarse + (lead @ fine + rest @ slopes)
        if block.factor is not None:
            margin *= block.factor
        margin += level
        slope = loss.slope(margin, block.target)
        scaled = slope if block.factor is None else slope * block.factor
        strong = _leading(scaled, steepest)
        weak = scaled - strong
        total = (strong @ lead).astype(np.longdouble) + (strong @ rest + weak @ features)
        if not rows.height:
            return (total,)
        return total, np.longdouble(rows.height) * slope.sum(dtype=np.longdouble)

    sums = rows.sum(part)
    total = np.append(sums[0], sums[1]) if rows.height else sums[0]
    wide = theta.astype(np.longdouble)
    gradient = (total + problem.ridge * wide + problem.linear).astype(np.float64)
    unit = float(np.finfo(np.float64).eps) / 2
    return gradient, _error(problem, theta) + unit * float(np.linalg.norm(gradient))


def _leading(values: Array, largest: float) -> Array:
    """Round to a grid of 2⁻²⁰ of the largest magnitude, by adding and taking away."""
    if largest == 0:
        return np.zeros_like(values)
    grid = 2.0 ** (np.ceil(np.log2(largest)) - BITS)
    anchor = 1.5 * 2.0**52 * grid
    return (values + anchor) - anchor


def _error(problem: Problem, theta: Array) -> float:
    """Bound the error: a few roundings per row, and what the small parts lose."""
    objective, count = problem.objective, problem.rows.count
    unit = float(np.finfo(np.float64).eps) / 2
    extended = float(np.finfo(np.longdouble).eps) / 2
    length = float(np.linalg.norm(theta))
    bend = curvature_bound(objective.loss, objective.public)
    scale = objective.slope_bound + 2 * (objective.target_bound or 0.0)
    small = 2.0**-BITS * (problem.rows.terms + objective.dimension + 8)
    margins = bend * objective.row_norm * length * (4 + 2 * small)
    per_row = unit * (6 * scale + margins + 2 * small * objective.slope_bound)
    per_row += extended * problem.rows.terms * objective.slope_bound
    outside = float(np.linalg.norm(problem.linear)) + float(problem.ridge.max()) * length
    return count * objective.row_norm * per_row + 4 * extended * outside
