"""Ranges of number columns from noisy counts, and a fit that follows, for one budget.

Every column is counted on a public grid of cells and of parts of cells. Noise is added to
the counts, and quantiles are read from them: the range that columns are clamped to.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np

from confide._types import Array
from confide.accounting import Event, GaussianEvent, PureEvent
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import Rows
from confide.data.schema.range_grid import PARTS, RangeGrid
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
LEVELS = 2
"""A value is counted in a cell and in a part of it."""
USUAL_SHARE = Fraction(1, 10)
USUAL_TAIL = 0.05
FALSE_ALARMS = 1e-3
"""The chance that a grid without values seems to have some."""
DOUBT = 0.05
"""Beside a count that is beyond doubt, one that noise exceeds with this chance is kept."""
WIDEST_TAIL = 0.25
TAIL_SHARES = (1.0, 0.4, 0.2, 0.1)
"""What is left of a tail, in turn, until the ends of a range lie apart."""
NEEDED_DEVIATIONS = 3.0
"""A tail is worth buying if it holds so many deviations of the noise on a count."""
ROWS_IF_UNKNOWN = 10_000


@dataclass(frozen=True, slots=True)
class Ranges:
    """How ranges are bought: with which share of the budget, and at which quantiles.

    ``tail`` is the share of values that may lie below the range, and above it.
    """

    share: Any = USUAL_SHARE
    tail: float = USUAL_TAIL

    def __post_init__(self) -> None:
        part = exact(self.share, "share of ranges")
        if not 0 < part < 1:
            raise InvalidParameter(
                "share of ranges", "a share of the budget between 0 and 1", self.share
            )
        object.__setattr__(self, "share", part)
        if not isinstance(self.tail, float) or not 0 < self.tail < 0.5:
            raise InvalidParameter("tail of ranges", "between 0 and 0.5", self.tail)


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """A column whose range is to be found, on which grid, and between which quantiles."""

    name: str
    grid: RangeGrid = field(compare=False)
    lower_tail: float
    upper_tail: float


def is_affordable(
    budget: Budget, columns: int, neighbours: Neighbours, settings: Ranges, rows: int | None
) -> bool:
    """Say, from public facts, whether so many rows have tails that noise does not hide."""
    part: Budget = budget.share(settings.share)
    if isinstance(budget, Approx):
        shift = gaussian_shift_of(budget)
        part = Zcdp(repr(round_down(shift**2 / 2 * float(settings.share))))
    noise, _ = range_noise(part, columns, neighbours)
    count = ROWS_IF_UNKNOWN if rows is None else rows
    return settings.tail * count >= NEEDED_DEVIATIONS * noise.deviation(1)


def range_noise(
    budget: Budget, columns: int, neighbours: Neighbours
) -> tuple[CountNoise, Event]:
    """Return the noise on every count, and what it costs.

    A record is in one cell and in one part of it, for each column.
    """
    counts = LEVELS * columns * neighbours.shifts
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
        found = {
            query.name: read_range(query, table, self.count_noise, entropy)
            for query, table in zip(self.queries, counts, strict=True)
        }
        record = NoiseRecord(self.count_noise.kind, self.count_noise.scale, "counts")
        return RangeRelease(found, self.share, record)

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
    Sensitivity  one count per column and level under add-remove, two under replace-one.
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


def read_range(
    query: RangeQuery, counts: Array, noise: CountNoise, entropy: Entropy
) -> tuple[float, float]:
    """Return a range for private counts, by post-processing of noisy ones.

    Where almost all values are alike, both quantiles lie in one part: then they move
    outward until they are apart, so that the range holds some of the other values.
    """
    noisy = _NoisyCounts(query.grid, counts, noise, entropy)
    for shrink in TAIL_SHARES:
        lower = noisy.edge(shrink * query.lower_tail, upward=True)
        upper = noisy.edge(shrink * query.upper_tail, upward=False)
        if lower.part != upper.part:
            break
    return lower.low, upper.high


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a cell that a quantile lies in, by its place, and its edges."""

    part: tuple[int, int]
    low: float
    high: float


class _NoisyCounts:
    """Noisy counts of cells, and of those parts in which a quantile was looked for.

    The noise on parts that nobody looks at would be drawn for nothing.
    """

    def __init__(
        self, grid: RangeGrid, counts: Array, noise: CountNoise, entropy: Entropy
    ) -> None:
        self._grid, self._counts = grid, counts
        self._noise, self._entropy = noise, entropy
        self._cells = self._noised(counts.sum(axis=1))
        self._parts: dict[int, Array] = {}

    def edge(self, tail: float, *, upward: bool) -> _Part:
        """Return where so large a share of all values lies below, or above if not upward.

        Without a tail, or where noise hides everything, that is the end of the grid.
        """
        total = float(self._cells.sum())
        step = 1 if upward else -1
        if tail:
            tail = min(max(tail, self._noise.deviation(1) / max(total, 1.0)), WIDEST_TAIL)
        if not tail or total <= 0:
            place = 0 if upward else self._grid.cells - 1
            return self._part(place, 0 if upward else PARTS - 1)
        cell, rest = _quantile(self._cells[::step], tail * total)
        cell = cell if upward else self._grid.cells - 1 - cell
        parts = self._parts_of(cell)
        share = rest / float(self._cells[cell])
        part, _ = _quantile(parts[::step], share * float(parts.sum()))
        return self._part(cell, part if upward else PARTS - 1 - part)

    def _part(self, cell: int, part: int) -> _Part:
        edges = self._grid.part_edges(cell)
        return _Part((cell, part), float(edges[part]), float(edges[part + 1]))

    def _parts_of(self, cell: int) -> Array:
        if cell not in self._parts:
            self._parts[cell] = self._noised(self._counts[cell])
        return self._parts[cell]

    def _noised(self, counts: Array) -> Array:
        """Return counts with noise, 0 for those that noise alone may explain."""
        found = publish(counts, self._noise, self._entropy, MAX_ROWS)
        sure = found >= self._noise.exceeded(FALSE_ALARMS / len(found))
        near = np.convolve(sure, np.ones(3), "same") > 0
        return np.where(sure | (near & (found >= self._noise.exceeded(DOUBT))), found, 0.0)


def _quantile(counts: Array, wanted: float) -> tuple[int, float]:
    """Return where a running sum reaches a number, and what it lacked before that.

    Where all counts are 0 that is the first place.
    """
    sums = np.cumsum(counts)
    filled = np.flatnonzero(counts)
    if not len(filled):
        return 0, 0.0
    reached = min(int(np.searchsorted(sums[filled], wanted)), len(filled) - 1)
    place = int(filled[reached])
    return place, max(0.0, wanted - float(sums[place] - counts[place]))
