"""Range estimation from noisy counts: in bins, then in finer pieces near the range."""

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
"""A range narrower than this share of the range with the usual tails is assumed to contain
hardly more than one value."""


FALSE_ALARMS, CLOSER_ALARMS = 0.01, 0.05
"""Expected number of empty bins that appear occupied because of noise, if the tail is 0: in
the first counting round, and in the second, which is limited to the vicinity of occupied
bins.

Runs of consecutive bins are tested as well, which makes false alarms about four times as
frequent."""


PIECE_DEVIATIONS = 7
"""Desired average count per piece in the second round, in standard deviations of the
noise."""


DOUBT = 0.1
"""Probability that a count exceeds its upper bound because of noise."""


EXTENSION = 0.4
"""Largest extension of a range on each side over bins that may be occupied, as a share of
its width."""


MOST_BEYOND = 0.25
"""Largest share of the values that may lie beyond each end of the range if the column has
declared limits. It is compared with the noisy share plus one standard deviation."""


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """Column whose range is to be estimated, with its grid and the shares left out.

    ``lower_tail`` and ``upper_tail`` are the shares of values left out at each end. With a
    ``lower_tail`` of 0, the range begins at the lower end of the grid. ``allows_step``
    permits a narrow range around a single frequent value, such as 0. Within such a range
    the column is almost a step function, and its coefficient is the size of the step. If
    this is not permitted, the range is widened.
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
    """Return an estimated range, and whether any values stand out from the noise.

    Both results are post-processing of two rounds of noisy counts. The first round counts
    the values in whole bins. The second round counts them in pieces of about equal width,
    in and next to the range found in the first round. The clearer the first counts, the
    finer the pieces. Both rounds are combined by least squares.
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
    # Without limits, the second round is near the fullest noisy bin and is no evidence.
    return ends, seen is not None or (query.has_limits and again is not None)


def _beyond_one_value(query: RangeQuery, cells: Array, noise: CountNoise) -> RangeQuery:
    """Return the query with the tails to be used.

    If the requested tails leave hardly more than one value in the range, they are reduced
    to the usual tails.
    """
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
    """Return the ends of a range, with ends close to 0 replaced by 0.

    If both are close to 0, the range extends from 0 to 1 or −1, or to the limit of the
    column if that is closer. Effects of a column that is almost always 0 are then per unit,
    as usual.
    """
    first, last = grid.ends
    low, high = (0.0 if abs(end) <= SMALLEST_NUMBER else end for end in (lower, upper))
    if low == high == 0.0:
        low, high = (0.0, 1.0) if last > 0 else (-1.0, 0.0)
    return max(low, first), min(high, last)


def _fallback(query: RangeQuery, cells: Array) -> slice:
    """Return all bins if the column has limits, and otherwise the fullest bin."""
    fullest = int(np.argmax(cells))
    return slice(0, len(cells)) if query.has_limits else slice(fullest, fullest + 1)


def _piece_count(values: float, noise: CountNoise) -> float:
    """Return the number of pieces, a power of two, for an estimated number of values."""
    share = values / (PIECE_DEVIATIONS * noise.deviation(1))
    return float(np.clip(2.0 ** np.round(np.log2(max(share, 1.0))), 1, PARTS))


def _pieces(grid: RangeGrid, near: slice, width: float) -> AnyArray:
    """Return the boundaries of pieces of about the given width, in parts of bins.

    Wide bins are divided into equal pieces, and narrow bins are merged. All bins below
    those near the range form one piece, as do all bins above.
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
    """Combine the noisy counts of bins and of pieces by least squares.

    A piece consists of several bins or of a part of one bin. The results are the counts of
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
    """Return the bins from the lower to the upper quantile, or None if noise hides them.

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
    """Add adjacent bins that may contain values and widen the range only a little.

    ``most`` contains upper bounds on the counts. Excluding an occupied bin would bias
    the model. Including an empty bin only makes the range wider than necessary.
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

    This matters if noise hides most bins. The few bins that stand out then contain only a
    small share of the values.
    """
    last = len(counts) - found.stop
    low = _last_with_few_before(found.start, counts, covariance)
    high = _last_with_few_before(last, counts[::-1], covariance[::-1, ::-1])
    return slice(low, len(counts) - high)


def _last_with_few_before(most: int, counts: Array, covariance: Array) -> int:
    """Return the last bin before which few values can lie.

    "Few" means at most the share `MOST_BEYOND`. Bins after ``most`` are not considered.
    """
    allowed = MOST_BEYOND * max(0.0, float(counts.sum()))
    sums, spread = _sums_from_the_first(counts, covariance)
    before = (sums + np.sqrt(np.diag(spread)))[: most + 1]
    return int(np.flatnonzero(before <= allowed)[-1]) if allowed else 0


def _first_beyond(
    counts: Array, covariance: Array, tail: float, margin: float
) -> int | None:
    """Return the last bin of the first run of bins that stands out.

    The count of the run must exceed ``tail`` by more than noise can explain.
    """
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
