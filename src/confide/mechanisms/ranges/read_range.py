"""Range estimation from noisy counts: first of cells, then of pieces near the range."""

import math
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.sums import MAX_ROWS
from confide.data.schema.range_grid import (
    PARTS,
    SMALLEST_NUMBER,
    RangeGrid,
    counts_between,
)
from confide.mechanisms.base import publish
from confide.noise import Entropy, Gaussian, Laplace

CountNoise: TypeAlias = Gaussian | Laplace
USUAL_TAIL = 0.01


LEAST_OF_USUAL = 1 / 8
"""Ranges narrower than this share of the range with usual tails mostly hold one value."""


FALSE_ALARMS, CLOSER_ALARMS = 0.01, 0.05
"""Expected number of empty cells that appear occupied, with a tail of 0: in the first
counting round, and in the second, where cells are near occupied ones.

Runs of consecutive cells are tested as well, which makes false alarms about four times as
frequent."""


PIECE_DEVIATIONS = 7
"""Average count of the pieces in the second round, in standard deviations of the noise."""


DOUBT = 0.1
"""Probability that noise exceeds the margin in upper bounds on the counts of cells."""


EXTENSION = 0.4
"""Largest extension of a range over doubtful cells, as a share of its width, per side."""


MOST_BEYOND = 0.25
"""Largest share of the values that may lie beyond an end of a range with declared limits,
by an upper bound of one standard deviation of the noise."""


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """Column whose range is to be estimated, with its grid and quantiles.

    With a ``lower_tail`` of 0 the range begins at the lower end of the grid.
    ``allows_step`` permits a narrow range around a single frequent value, such as 0. Within
    such a range the column is almost a step function, and its coefficient is the size of
    the step. Otherwise the range is widened.
    """

    name: str
    grid: RangeGrid = field(compare=False)
    lower_tail: float
    upper_tail: float
    has_limits: bool
    allows_step: bool = True


def read_range(
    query: RangeQuery, counts: Array, noise: CountNoise, entropy: Entropy
) -> tuple[tuple[float, float], bool]:
    """Estimate a range from private counts; also return whether values exceed the noise.

    Both results are post-processing of two rounds of noisy counts. The first round counts
    whole cells. The second round counts pieces of about equal width in and next to the
    range found first, with more pieces for clearer counts. Both rounds are combined by
    least squares.
    """
    grid = query.grid
    cells = publish(counts.sum(axis=1), noise, entropy, MAX_ROWS)
    if not query.allows_step:
        query = _beyond_one_value(query, cells, noise)
    seen = _bracket(query, cells, np.eye(grid.cells), noise, FALSE_ALARMS)
    first = _fallback(query, cells) if seen is None else seen
    near = slice(max(0, first.start - 1), min(grid.cells, first.stop + 1))
    width = float(grid.edges[first.stop] - grid.edges[first.start])
    cuts = _pieces(grid, near, width / _piece_count(float(cells[first].sum()), noise))
    closer = publish(counts_between(counts, cuts), noise, entropy, MAX_ROWS)
    merged, covariance = _merge(cells, closer, cuts)
    edges = grid.edges_at(cuts)
    inner = slice(int(near.start > 0), len(merged) - int(near.stop < grid.cells))
    again = _bracket(query, merged[inner], covariance[inner, inner], noise, CLOSER_ALARMS)
    if again is None:
        low = int(np.searchsorted(cuts, first.start * PARTS, side="right")) - 1
        found = slice(low, int(np.searchsorted(cuts, first.stop * PARTS)))
    else:
        found = slice(again.start + inner.start, again.stop + inner.start)
    most = merged + noise.exceeded(DOUBT) * np.sqrt(np.diag(covariance))
    found = _extended(found, edges, most, query)
    if query.has_limits:
        found = _safe(found, merged, noise.deviation(1) ** 2 * covariance)
    lower = float(edges[found.start]) if query.lower_tail else grid.ends[0]
    upper = float(edges[found.stop])
    ends = _rounded(lower, upper, grid)
    if query.has_limits and not query.allows_step:
        ends = grid.ends if upper - lower <= np.diff(grid.edges).min() else ends
    # Without limits, the fullest noisy cell is chosen, so the second round is no evidence.
    return ends, seen is not None or (query.has_limits and again is not None)


def _beyond_one_value(query: RangeQuery, cells: Array, noise: CountNoise) -> RangeQuery:
    """Use the usual tails if larger ones leave hardly more than one value in the range."""
    usual = replace(
        query,
        lower_tail=min(query.lower_tail, USUAL_TAIL),
        upper_tail=min(query.upper_tail, USUAL_TAIL),
    )
    brackets = (
        _bracket(one, cells, np.eye(len(cells)), noise, FALSE_ALARMS)
        for one in (query, usual)
    )
    edges = query.grid.edges
    narrow, wide = (
        edges[-1] - edges[0] if one is None else edges[one.stop] - edges[one.start]
        for one in brackets
    )
    return usual if narrow < LEAST_OF_USUAL * wide else query


def _rounded(lower: float, upper: float, grid: RangeGrid) -> tuple[float, float]:
    """Round ends close to 0 to 0. If both are, the range extends to 1, −1 or the limit.

    Effects of a column that is almost always 0 are then per unit as usual.
    """
    first, last = grid.ends
    low, high = (0.0 if abs(end) <= SMALLEST_NUMBER else end for end in (lower, upper))
    if low == high == 0.0:
        low, high = (0.0, 1.0) if last > 0 else (-1.0, 0.0)
    return max(low, first), min(high, last)


def _fallback(query: RangeQuery, cells: Array) -> slice:
    """Return all cells if the column has limits, and otherwise the fullest cell."""
    fullest = int(np.argmax(cells))
    return slice(0, len(cells)) if query.has_limits else slice(fullest, fullest + 1)


def _piece_count(values: float, noise: CountNoise) -> float:
    """Return the number of pieces, a power of two, for an estimated number of values."""
    share = values / (PIECE_DEVIATIONS * noise.deviation(1))
    return float(np.clip(2.0 ** np.round(np.log2(max(share, 1.0))), 1, PARTS))


def _pieces(grid: RangeGrid, near: slice, width: float) -> AnyArray:
    """Return the boundaries of pieces of about the given width, in parts of cells.

    Wide cells are divided into equal pieces, and narrow cells are merged. All cells below
    those near the range form one piece, as do all cells above.
    """
    cuts, last = [0] if near.start else [], -math.inf
    for cell in range(near.start, near.stop):
        lower, upper = (float(edge) for edge in grid.edges[cell : cell + 2])
        count = min(PARTS, 2 ** round(math.log2(max(upper / width - lower / width, 1.0))))
        if count > 1 or lower - last >= width:
            cuts.extend(cell * PARTS + PARTS // count * part for part in range(count))
            last = lower if count == 1 else upper - width
    cuts.append(near.stop * PARTS)
    if near.stop < grid.cells:
        cuts.append(grid.cells * PARTS)
    return np.array(cuts)


def _merge(cells: Array, closer: Array, cuts: AnyArray) -> tuple[Array, Array]:
    """Combine noisy counts of cells and of pieces by least squares.

    A piece consists of several cells or of a part of one cell. The result is the counts of
    the pieces and their covariance, in units of the variance of the noise.
    """
    first, after = cuts[:-1] // PARTS, -(-cuts[1:] // PARTS)
    same = first[:, None] == first
    covariance = np.eye(len(closer)) - same / (same.sum(axis=1) + after - first)
    sums = np.concatenate([[0.0], np.cumsum(cells)])
    rest = sums[after] - sums[first] - same @ closer
    return closer + rest * (1 - np.diag(covariance)), covariance


def _bracket(
    query: RangeQuery, counts: Array, covariance: Array, noise: CountNoise, alarms: float
) -> slice | None:
    """Return the cells from the lower to the upper quantile, or None if noise hides them.

    The covariance is in units of the variance of the noise.
    """
    total = max(0.0, float(counts.sum()))
    margin = noise.exceeded(alarms / len(counts))
    turned = covariance[::-1, ::-1]
    lower = _first_beyond(counts, covariance, query.lower_tail * total, margin)
    upper = _first_beyond(counts[::-1], turned, query.upper_tail * total, margin)
    if lower is None or upper is None:
        return None
    low, high = sorted((lower, len(counts) - 1 - upper))
    return slice(low, high + 1)


def _extended(found: slice, edges: Array, most: Array, query: RangeQuery) -> slice:
    """Add adjacent cells that may well hold values and widen the range only a little.

    ``most`` has upper bounds on the counts. Wrongly excluding a cell biases the model.
    Including an empty cell only makes the range wider than necessary.
    """
    total = max(0.0, float(most[found].sum()))
    allowed = EXTENSION * float(edges[found.stop] - edges[found.start])
    low, high = found.start, found.stop
    while low > 0 and (
        edges[found.start] - edges[low - 1] <= allowed
        and most[low - 1] > query.lower_tail * total
    ):
        low -= 1
    while high < len(most) and (
        edges[high + 1] - edges[found.stop] <= allowed
        and most[high] > query.upper_tail * total
    ):
        high += 1
    return slice(low, high)


def _safe(found: slice, counts: Array, covariance: Array) -> slice:
    """Widen a range until few values can lie beyond it.

    If noise hides most cells, the few cells above the noise hold only a small share of the
    values.
    """
    last = len(counts) - found.stop
    low = _last_with_few_before(found.start, counts, covariance)
    high = _last_with_few_before(last, counts[::-1], covariance[::-1, ::-1])
    return slice(low, len(counts) - high)


def _last_with_few_before(most: int, counts: Array, covariance: Array) -> int:
    """Return the last cell, up to ``most``, before which at most `MOST_BEYOND` can lie."""
    allowed = MOST_BEYOND * max(0.0, float(counts.sum()))
    sums, spread = _sums_from_the_first(counts, covariance)
    before = (sums + np.sqrt(np.diag(spread)))[: most + 1]
    return int(np.flatnonzero(before <= allowed)[-1]) if allowed else 0


def _first_beyond(
    counts: Array, covariance: Array, tail: float, margin: float
) -> int | None:
    """Return the last cell of the first run whose count exceeds the tail and the noise."""
    sums, spread = _sums_from_the_first(counts, covariance)
    own = np.diag(spread)
    for stop in range(1, len(sums)):
        variance = own[stop] + own[:stop] - 2 * spread[stop, :stop]
        if (sums[stop] - sums[:stop] > tail + margin * np.sqrt(variance)).any():
            return stop - 1
    return None


def _sums_from_the_first(counts: Array, covariance: Array) -> tuple[Array, Array]:
    """Return cumulative counts, starting from 0, and their covariance."""
    spread = np.zeros((len(counts) + 1, len(counts) + 1))
    spread[1:, 1:] = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(counts)]), spread
