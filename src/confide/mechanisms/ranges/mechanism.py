"""Ranges of number columns from noisy counts, and a fit that follows, for one budget.

Every column is counted on a public grid of cells and of parts of cells. Noise is added to
the counts, and quantiles are read from them: the range that columns are clamped to.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.accounting import Event, GaussianEvent, PureEvent
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import Rows
from confide.data.schema.range_grid import (
    PARTS,
    SMALLEST_NUMBER,
    RangeGrid,
    counts_between,
)
from confide.errors import InvalidParameter
from confide.mechanisms.base import (
    Calibration,
    Mechanism,
    Need,
    gaussian_shift_of,
    publish,
)
from confide.mechanisms.intervals.budget import divide_budget
from confide.mechanisms.intervals.mechanism import WithIntervals
from confide.mechanisms.release import NoiseRecord, RangeRelease, Release
from confide.noise import Entropy, Gaussian, Laplace
from confide.objectives import Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, Zcdp, round_down, round_up
from confide.privacy.budgets import exact
from confide.privacy.guarantee import ROW_LIMIT

CountNoise: TypeAlias = Gaussian | Laplace
PAGE = "private-ranges.md#"
LOOKS = 2
"""Every value is counted twice: in a cell, and in one that may be a part of it."""
LEAST_OF_USUAL = 1 / 8
"""A range that is narrower, as a part of that with the usual tails, holds one value."""
USUAL_SHARE = Fraction(1, 10)
USUAL_TAIL = 0.01
INTERVAL_TAIL = 0.05
"""The tail for plain intervals: a column whose range holds rare values has little spread
in it, and noise hides its curvature."""
FALSE_ALARMS, CLOSER_ALARMS = 0.01, 0.05
"""How many cells without values seem to have some, on average, where a tail is nothing:
in the first look, and in the second, where they are near the others.

Runs of cells are looked at as well: they make it about four times as many."""
PIECE_DEVIATIONS = 7
"""Pieces of the second look are so large that on average they hold so many noises."""
DOUBT = 0.1
"""A cell may hold as much more than it seems to as noise exceeds with this chance."""
EXTENSION = 0.4
"""By such a share of itself, on either side, a range is extended over doubtful cells."""
MOST_BEYOND = 0.25
"""More than such a share of the values must not seem to lie, within a deviation of the
noise, beyond an end that could be where the limits are."""
NEEDED_TAIL = 0.05
NEEDED_DEVIATIONS: Mapping[type[Any], float] = {Gaussian: 0.5, Laplace: 0.8}
"""Ranges are worth their price if such a share of the rows is so many noises long.

With less they are hardly ever found, but then the limits stay as they are: it costs
little to try. Laplace noise at times shows what is not there, so it needs more."""
ROWS_IF_UNKNOWN: Mapping[type[Any], int] = {Gaussian: 30_000, Laplace: 10_000}
"""What is supposed of tables whose number of rows is private and not declared."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """How ranges are bought: with which share of the budget, and at which quantiles.

    ``tail`` is the share of values that may lie below the range, and above it; None is a
    hundredth, and a twentieth for plain intervals.
    """

    share: Any = USUAL_SHARE
    tail: float | None = None

    def __post_init__(self) -> None:
        part = exact(self.share, "share of ranges")
        if not 0 < part <= 1:
            raise InvalidParameter(
                "share of ranges", "a part of the budget, above 0 and up to 1", self.share
            )
        object.__setattr__(self, "share", part)
        if self.tail is None:
            return
        if not isinstance(self.tail, float) or not 0 < self.tail < 0.5:
            raise InvalidParameter("tail of ranges", "between 0 and 0.5", self.tail)

    def tail_for(self, *, inference: bool) -> float:
        """Return the tail, where none was given by what the fit is for."""
        if self.tail is not None:
            return self.tail
        return INTERVAL_TAIL if inference else USUAL_TAIL


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


def is_affordable(
    budget: Budget, columns: int, neighbours: Neighbours, settings: Ranges, rows: int | None
) -> bool:
    """Say, from public facts, whether so many rows have tails that noise does not hide."""
    part: Budget = budget.share(settings.share)
    if isinstance(budget, Approx):
        shift = gaussian_shift_of(budget)
        part = Zcdp(repr(round_down(shift**2 / 2 * float(settings.share))))
    noise, _ = range_noise(part, columns, neighbours)
    count = ROWS_IF_UNKNOWN[type(noise)] if rows is None else rows
    return NEEDED_TAIL * count >= NEEDED_DEVIATIONS[type(noise)] * noise.deviation(1)


def range_noise(
    budget: Budget, columns: int, neighbours: Neighbours
) -> tuple[CountNoise, Event]:
    """Return the noise on every count, and what it costs.

    In each look, and for each column, a record is in one cell.
    """
    counts = LOOKS * columns * neighbours.shifts
    if isinstance(budget, Pure):
        return Laplace(round_up(counts / budget.epsilon)), PureEvent(budget.epsilon)
    mu = gaussian_shift_of(budget)
    return Gaussian(round_up(math.sqrt(counts) / mu)), GaussianEvent(mu)


@dataclass(frozen=True, slots=True)
class RangesCalibration(Calibration):
    """Noisy counts for ``queries``, and a fit (``main``) that costs the rest."""

    main: Calibration = field(kw_only=True)
    queries: tuple[RangeQuery, ...] = field(kw_only=True)
    count_noise: CountNoise = field(kw_only=True)
    share: Fraction = field(kw_only=True)

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the fit rests on the number of rows being a public number."""
        return self.main.takes_count_as_public

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the fit and the counts assume."""
        return (*self.main.guarantee.assumptions, ROW_LIMIT)

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent."""
        self.main.check_rows(rows)

    def buy(self, counts: Sequence[Array], entropy: Entropy) -> RangeRelease:
        """Return ranges from private counts, one table of cells by parts for each query."""
        return buy(self.queries, counts, self.count_noise, entropy, self.share)

    def release_after(
        self, bought: RangeRelease, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Fit rows that were read with the bought ranges, and release both together."""
        found = self.main.release(tasks, entropy)
        guarantee = self.guarantee
        return replace(
            found,
            guarantee=guarantee if entropy.secret else guarantee.seeded(),
            noise=(*found.noise, bought.noise),
            events=self.events,
            ranges=bought,
        )


@dataclass(frozen=True, slots=True)
class WithRanges:
    """A mechanism that is preceded by a purchase of ranges.

    Guarantee    that of the mechanism and of the noisy counts together.
    Public       grids, quantiles, share of the budget.
    Sensitivity  one count per column and look under add-remove, two under replace-one.
    Noise        Gaussian on counts, Laplace for pure budgets.
    Proof        docs/proofs/private-ranges.md
    """

    mechanism: Mechanism
    queries: tuple[RangeQuery, ...]
    settings: Ranges = Ranges()

    name: ClassVar[str] = "ranges"
    needs: ClassVar[tuple[Need, ...]] = ()
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "counts-exact",
        PAGE + "ranges-then-fit-exact",
    )

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> RangesCalibration:
        """Divide a budget between ranges and the fit, and calibrate both."""
        share = self.settings.share
        if share == 1:
            raise InvalidParameter(
                "share of ranges",
                "less than 1, so that a fit has something to spend",
                share,
            )
        main, rest, joint = self._divide(objective, budget, neighbours, copies)
        noise, event = range_noise(rest, len(self.queries), neighbours)
        return RangesCalibration(
            self,
            main.objective,
            budget,
            neighbours,
            PAGE + "ranges-then-fit-exact",
            main.noise,
            main.solver_noise,
            main.tolerance,
            joint or (*main.events, event),
            copies,
            main.status,
            main.reason,
            main=main,
            queries=self.queries,
            count_noise=noise,
            share=share,
        )

    def _divide(
        self, objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> tuple[Calibration, Budget, tuple[Event, ...]]:
        share = self.settings.share
        if isinstance(self.mechanism, WithIntervals):
            return self.mechanism.calibrate_beside(
                objective, budget, neighbours, copies=copies, reserve=share
            )
        return divide_budget(
            self.mechanism, objective, budget, neighbours, copies=copies, reserve=share
        )

    def release(
        self, calibration: RangesCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Refuse: rows must be read again between the two steps."""
        raise AssertionError("ranges are bought before rows are read for the fit")


def buy(
    queries: Sequence[RangeQuery],
    counts: Sequence[Array],
    noise: CountNoise,
    entropy: Entropy,
    share: Fraction,
) -> RangeRelease:
    """Return ranges from private counts, one table of cells by parts for each query."""
    found = {
        query.name: read_range(query, table, noise, entropy)
        for query, table in zip(queries, counts, strict=True)
    }
    ranges = {name: ends for name, (ends, _) in found.items()}
    hidden = tuple(name for name, (_, stands_out) in found.items() if not stands_out)
    record = NoiseRecord(noise.kind, noise.scale, "counts")
    return RangeRelease(ranges, share, record, hidden)


def read_range(
    query: RangeQuery, counts: Array, noise: CountNoise, entropy: Entropy
) -> tuple[tuple[float, float], bool]:
    """Return a range for private counts, and whether any values stand out of the noise.

    Both are post-processing of two noisy looks. The first is at whole cells. The second is
    at pieces of equal width where the range seems to lie and beside it, the more the
    clearer the values stand out; what both say of a piece is weighed together.
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
    """Return into how many pieces, a power of two, so many values are divided."""
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
    """Move ends apart until few values can lie beyond them.

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
