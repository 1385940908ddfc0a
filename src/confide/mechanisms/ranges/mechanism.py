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
from confide.data.schema.range_grid import PARTS, RangeGrid, regroup
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
FALSE_ALARMS = 0.01
"""How many cells without values seem to have some, on average, where a tail is nothing.

Runs of cells are looked at as well: they make it about four times as many."""
DOUBT = 0.05
"""A cell may hold as much more than it seems to as noise exceeds with this chance."""
EXTENSION = 0.5
"""By such a share of itself, on either side, a range is extended over doubtful cells."""
MOST_BEYOND = 0.25
"""More than such a share of the values must not seem to lie, within a deviation of the
noise, beyond an end that could be where the limits are."""
NEEDED_TAIL = 0.05
NEEDED_DEVIATIONS: Mapping[type[Any], float] = {Gaussian: 0.5, Laplace: 2.75}
"""Ranges are worth their price if such a share of the rows is so many noises long.

With less they are hardly ever found, but then the limits stay as they are: it costs
little to try. Laplace noise at times shows what is not there."""
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
    return RangeRelease(found, share, NoiseRecord(noise.kind, noise.scale, "counts"))


def read_range(
    query: RangeQuery, counts: Array, noise: CountNoise, entropy: Entropy
) -> tuple[float, float]:
    """Return a range for private counts, by post-processing of two noisy looks at them.

    The first look is at whole cells. The second divides those in which the range seems to
    lie, the more the fewer they are; what both say of a cell is weighed together.
    """
    grid = query.grid
    cells = publish(counts.sum(axis=1), noise, entropy, MAX_ROWS)
    if not query.allows_step:
        query = _beyond_one_value(query, cells, noise)
    first = _bracket(query, cells, np.ones(grid.cells), noise)
    parts = np.ones(grid.cells, dtype=np.intp)
    parts[first] = _parts_of_a_cell(first.stop - first.start)
    closer = publish(regroup(counts, parts), noise, entropy, MAX_ROWS)
    merged, variance = _merge(cells, closer, parts)
    edges = grid.divided(parts)
    found = _bracket(query, merged, variance, noise)
    most = merged + noise.exceeded(DOUBT) * np.sqrt(variance)
    found = _extended(found, edges, most, query)
    if query.has_limits:
        found = _safe(found, merged, noise.deviation(1) * np.sqrt(variance))
    lower, upper = float(edges[found.start]), float(edges[found.stop])
    if query.has_limits and not query.allows_step:
        least = float(np.diff(grid.divided(np.ones(grid.cells, dtype=np.intp))).min())
        if upper - lower <= least:
            return grid.ends
    return lower if query.lower_tail else grid.ends[0], upper


def _beyond_one_value(query: RangeQuery, cells: Array, noise: CountNoise) -> RangeQuery:
    """Take the usual tails where larger ones leave little but one value."""
    usual = replace(
        query,
        lower_tail=min(query.lower_tail, USUAL_TAIL),
        upper_tail=min(query.upper_tail, USUAL_TAIL),
    )
    edges = query.grid.divided(np.ones(query.grid.cells, dtype=np.intp))
    inner, outer = (
        _bracket(one, cells, np.ones(len(cells)), noise) for one in (query, usual)
    )
    narrow, wide = (edges[one.stop] - edges[one.start] for one in (inner, outer))
    return usual if narrow < LEAST_OF_USUAL * wide else query


def _parts_of_a_cell(cells: int) -> int:
    """Return into how many parts each of some cells is divided: 8 of one, 4 of two, ..."""
    return max(1, PARTS >> max(0, cells - 1).bit_length())


def _merge(cells: Array, parts: Array, divisions: AnyArray) -> tuple[Array, Array]:
    """Weigh noisy counts of cells and of their parts together, by least squares.

    Returns counts of parts, and their variances in units of that of the noise.
    """
    starts = np.cumsum(divisions) - divisions
    rest = cells - np.add.reduceat(parts, starts)
    weight = np.repeat(1 / (1 + divisions), divisions)
    return parts + np.repeat(rest, divisions) * weight, 1 - weight


def _bracket(query: RangeQuery, counts: Array, variance: Array, noise: CountNoise) -> slice:
    """Return the cells from the lower quantile to the upper one.

    Without any cell that noise does not explain they are all cells, or the fullest where
    these have no limits to fall back on.
    """
    total = max(0.0, float(counts.sum()))
    margin = noise.exceeded(FALSE_ALARMS / len(counts))
    lower = _first_beyond(counts, variance, query.lower_tail * total, margin)
    upper = _first_beyond(counts[::-1], variance[::-1], query.upper_tail * total, margin)
    if lower is None or upper is None:
        if query.has_limits:
            return slice(0, len(counts))
        lower = int(np.argmax(counts))
        return slice(lower, lower + 1)
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


def _safe(found: slice, counts: Array, deviations: Array) -> slice:
    """Move ends apart until few values can lie beyond them.

    Where noise hides most cells the few that stand out are a small part of the values.
    """
    last = len(counts) - found.stop
    low = _last_with_few_before(found.start, counts, deviations)
    high = _last_with_few_before(last, counts[::-1], deviations[::-1])
    return slice(low, len(counts) - high)


def _last_with_few_before(most: int, counts: Array, deviations: Array) -> int:
    """Return the last cell, up to ``most``, before which no more than a share can lie."""
    allowed = MOST_BEYOND * max(0.0, float(counts.sum()))
    before = np.concatenate([[0.0], np.cumsum(counts[:most])])
    spread = np.concatenate([[0.0], np.sqrt(np.cumsum(deviations[:most] ** 2))])
    return int(np.flatnonzero(before + spread <= allowed)[-1]) if allowed else 0


def _first_beyond(counts: Array, variance: Array, tail: float, margin: float) -> int | None:
    """Return the first cell at which some run of cells holds more than a tail and noise.

    Of a run of cells the noise has the root of their variances added up.
    """
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    spread = np.concatenate([[0.0], np.cumsum(variance)])
    for stop in range(1, len(sums)):
        held = sums[stop] - sums[:stop]
        if (held > tail + margin * np.sqrt(spread[stop] - spread[:stop])).any():
            return stop - 1
    return None
