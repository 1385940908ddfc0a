"""Ranges read off noisy counts: a first look at whole cells, a second at pieces of them."""

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
"""A range that is narrower, as a part of that with the usual tails, holds one value."""


FALSE_ALARMS, CLOSER_ALARMS = 0.01, 0.05
"""How many cells without values seem to have some, on average, where a tail is nothing:
in the first look, and in the second, where they are near the others.

Runs of cells are looked at as well: they make it about four times as many."""


PIECE_DEVIATIONS = 7
"""Average content of the pieces of the second look, in deviations of the noise."""


DOUBT = 0.1
"""A cell may hold as much more than it seems to as noise exceeds with this probability."""


EXTENSION = 0.4
"""By such a share of itself, on either side, a range is extended over doubtful cells."""


MOST_BEYOND = 0.25
"""More than such a share of the values must not seem to lie, within a deviation of the
noise, beyond an end that could be where the limits are."""


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """A column whose range is to be found, on which grid, and between which quantiles.

    Without a lower tail the range begins where the grid does. Unless it ``allows_step`` a
    range that holds little but one value, such as 0, becomes wider: a column would be a
    step in it, and its coefficient that of a step per unit.
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
    """Return a range from private counts, and whether any values exceed the noise.

    Both are post-processing of two noisy looks. The first is at whole cells. The second is
    at pieces of equal width where the range seems to lie and beside it, the more the
    clearer the values stand out; both counts of a piece are combined.
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
    # The fullest of many noisy cells seems full at the second look too.
    return ends, seen is not None or (query.has_limits and again is not None)


def _beyond_one_value(query: RangeQuery, cells: Array, noise: CountNoise) -> RangeQuery:
    """Take the usual tails where larger ones leave little but one value."""
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
    """Take ends next to 0 for 0; where both are, the range goes to 1, or to a limit.

    Of a column that seems to be 0 almost always effects are then per unit as usual.
    """
    first, last = grid.ends
    low, high = (0.0 if abs(end) <= SMALLEST_NUMBER else end for end in (lower, upper))
    if low == high == 0.0:
        low, high = (0.0, 1.0) if last > 0 else (-1.0, 0.0)
    return max(low, first), min(high, last)


def _fallback(query: RangeQuery, cells: Array) -> slice:
    """Return all cells where they have limits, and the fullest where they have none."""
    fullest = int(np.argmax(cells))
    return slice(0, len(cells)) if query.has_limits else slice(fullest, fullest + 1)


def _piece_count(values: float, noise: CountNoise) -> float:
    """Return the number of pieces, a power of two, that values are divided into."""
    share = values / (PIECE_DEVIATIONS * noise.deviation(1))
    return float(np.clip(2.0 ** np.round(np.log2(max(share, 1.0))), 1, PARTS))


def _pieces(grid: RangeGrid, near: slice, width: float) -> AnyArray:
    """Return where pieces of about some width begin, counted in parts of cells.

    Wide cells are divided into equal pieces and narrow ones taken together; what lies below
    the cells near the range is one piece, and what lies above.
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
    """Weigh noisy counts of cells and of pieces together, by least squares.

    A piece is some cells, or a part of one. Returns counts of pieces, and their covariance
    in units of the variance of the noise.
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
    """Return the cells from the lower quantile to the upper one, None if noise hides all.

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
    """Add cells beside the ends that may well hold values and widen the range by little.

    ``most`` is what they hold at most. A cell that was cut off wrongly biases a model, one
    that is kept for nothing costs a part of the column's length.
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

    Where noise hides most cells the few that stand out are a small part of the values.
    """
    last = len(counts) - found.stop
    low = _last_with_few_before(found.start, counts, covariance)
    high = _last_with_few_before(last, counts[::-1], covariance[::-1, ::-1])
    return slice(low, len(counts) - high)


def _last_with_few_before(most: int, counts: Array, covariance: Array) -> int:
    """Return the last cell, up to ``most``, before which no more than a share can lie."""
    allowed = MOST_BEYOND * max(0.0, float(counts.sum()))
    sums, spread = _sums_from_the_first(counts, covariance)
    before = (sums + np.sqrt(np.diag(spread)))[: most + 1]
    return int(np.flatnonzero(before <= allowed)[-1]) if allowed else 0


def _first_beyond(
    counts: Array, covariance: Array, tail: float, margin: float
) -> int | None:
    """Return the first cell at which some run of cells holds more than a tail and noise."""
    sums, spread = _sums_from_the_first(counts, covariance)
    own = np.diag(spread)
    for stop in range(1, len(sums)):
        variance = own[stop] + own[:stop] - 2 * spread[stop, :stop]
        if (sums[stop] - sums[:stop] > tail + margin * np.sqrt(variance)).any():
            return stop - 1
    return None


def _sums_from_the_first(counts: Array, covariance: Array) -> tuple[Array, Array]:
    """Return what the first cells hold together, none of them at first, and covariances."""
    spread = np.zeros((len(counts) + 1, len(counts) + 1))
    spread[1:, 1:] = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(counts)]), spread
