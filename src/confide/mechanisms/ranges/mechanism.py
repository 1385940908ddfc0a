"""Estimation of column ranges from noisy counts, and a subsequent fit, for one budget.

The values of every column are counted in the bins of a public grid, each of which is
divided into equal parts. Quantiles of the noisy counts give the range to which the column
is then clamped.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

from confide._types import Array
from confide.accounting import Event, GaussianEvent, PureEvent
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import Calibration, Mechanism, gaussian_shift_of
from confide.mechanisms.intervals.budget import divide_budget
from confide.mechanisms.intervals.mechanism import WithIntervals
from confide.mechanisms.needs import Need
from confide.mechanisms.ranges.read_range import (
    USUAL_TAIL,
    CountNoise,
    RangeQuery,
    read_range,
)
from confide.mechanisms.release import NoiseRecord, RangeRelease, Release
from confide.noise import Entropy, Gaussian, Laplace
from confide.objectives import Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, Zcdp, round_down, round_up
from confide.privacy.budgets import exact
from confide.privacy.guarantee import ROW_LIMIT

PAGE = "private-ranges.md#"
LOOKS = 2
"""Number of counting rounds: first in whole bins, and then in finer pieces near the range
found."""
USUAL_SHARE = Fraction(1, 10)
INTERVAL_TAIL = 0.05
"""Tail for fits with intervals for the plain coefficients. If a range includes rare values,
the column varies little relative to the range, and noise hides its curvature."""
NEEDED_TAIL = 0.05
NEEDED_DEVIATIONS: Mapping[type[Any], float] = {Gaussian: 0.5, Laplace: 0.8}
"""Ranges are worthwhile if the share `NEEDED_TAIL` of the rows is at least this number of
standard deviations of the noise on a count, by type of noise.

With fewer rows, ranges are hardly ever found. The thresholds are low because a failed
attempt costs little: the column keeps its limits. With Laplace noise, false alarms are more
frequent, so the threshold is higher."""
ROWS_IF_UNKNOWN: Mapping[type[Any], int] = {Gaussian: 30_000, Laplace: 10_000}
"""Number of rows that is assumed if it is private and not declared, by type of noise."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Settings for estimated ranges: their share of the budget, and the quantiles.

    Parameters
    ----------
    share : float, str or Fraction, default=1/10
        Share of the budget of the fit that is spent on ranges. A larger share finds
        narrower ranges, but leaves less budget for the coefficients.
    tail : float, optional
        Share of the values that may lie below the range, and also the share that may lie
        above it. A larger tail gives narrower ranges, to which more values are clamped. By
        default 0.01, or 0.05 in fits with plain intervals.

    Raises
    ------
    InvalidParameter
        The share is not in (0, 1], or the tail is not between 0 and 0.5.

    Examples
    --------
    >>> from confide import Ranges
    >>> settings = Ranges(share="1/5")
    >>> settings.tail_for(inference=False), settings.tail_for(inference=True)
    (0.01, 0.05)

    For plain intervals the range is from the 5 % to the 95 % quantile instead of from the
    1 % to the 99 % quantile.
    """

    share: Any = USUAL_SHARE
    tail: float | None = None

    def __post_init__(self) -> None:
        part = exact(self.share, "share of ranges")
        if not 0 < part <= 1:
            raise InvalidParameter(
                "share of ranges",
                "a share of the budget, above 0 and at most 1",
                self.share,
            )
        object.__setattr__(self, "share", part)
        if self.tail is None:
            return
        if not isinstance(self.tail, float) or not 0 < self.tail < 0.5:
            raise InvalidParameter("tail of ranges", "between 0 and 0.5", self.tail)

    def tail_for(self, *, inference: bool) -> float:
        """Return the tail for fits with or without plain intervals.

        Parameters
        ----------
        inference : bool
            Whether the fit has plain intervals.

        Returns
        -------
        float
            Share of the values below the range, which is also the share above it.
        """
        if self.tail is not None:
            return self.tail
        return INTERVAL_TAIL if inference else USUAL_TAIL


def is_affordable(
    budget: Budget, columns: int, neighbours: Neighbours, settings: Ranges, rows: int | None
) -> bool:
    """Return whether ranges are worthwhile, judged from public information alone.

    ``rows`` is the number of rows if it is known. Otherwise `ROWS_IF_UNKNOWN` is assumed.
    """
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
    """Return the noise on every count, and the privacy event of all counts.

    In each counting round, a record is counted in at most one bin or piece per column.
    """
    counts = LOOKS * columns * neighbours.shifts
    if isinstance(budget, Pure):
        return Laplace(round_up(counts / budget.epsilon)), PureEvent(budget.epsilon)
    mu = gaussian_shift_of(budget)
    return Gaussian(round_up(math.sqrt(counts) / mu)), GaussianEvent(mu)


@dataclass(frozen=True, slots=True)
class RangesCalibration(Calibration):
    """Calibration of the counts for ``queries``, and of the subsequent fit, ``main``."""

    main: Calibration = field(kw_only=True)
    queries: tuple[RangeQuery, ...] = field(kw_only=True)
    count_noise: CountNoise = field(kw_only=True)
    share: Fraction = field(kw_only=True)

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the fit relies on the number of rows being public."""
        return self.main.takes_count_as_public

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the fit and of the counts."""
        return (*self.main.guarantee.assumptions, ROW_LIMIT)

    def check_rows(self, rows: Rows) -> None:
        """Reject tables of unsuitable shape, before any budget is spent."""
        self.main.check_rows(rows)

    def buy(self, counts: Sequence[Array], entropy: Entropy) -> RangeRelease:
        """Estimate ranges from private counts with noise.

        ``counts`` has one array per query, with a row per bin and a column per part of a
        bin.
        """
        return buy(self.queries, counts, self.count_noise, entropy, self.share)

    def release_after(
        self, bought: RangeRelease, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Fit rows clamped to the estimated ranges, and release both results together."""
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
    """Mechanism that first estimates the ranges of columns privately, and then fits.

    Guarantee    composition of the mechanism and the noisy counts.
    Public       grids, quantiles, share of the budget.
    Sensitivity  for every column and counting round, one count changes by 1 under
                 add-remove, and two counts under replace-one.
    Noise        Gaussian on counts, Laplace for pure budgets.
    Proof        docs/proofs/private-ranges.md

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that releases the coefficients.
    queries : tuple of RangeQuery
        Columns whose ranges are estimated.
    settings : Ranges, optional
        Share of the budget, and the quantiles.

    Examples
    --------
    >>> from confide import Approx, LinearRegression, Number, Schema, Target
    >>> schema = Schema([Number("income", 0, 1e6)], Target("rent", lower=0, upper=5000))
    >>> model = LinearRegression(Approx(1, 1e-6), schema=schema, ranges="private")
    >>> mechanism = model.calibrated(rows=10_000).calibration.mechanism
    >>> type(mechanism).__name__, [query.name for query in mechanism.queries]
    ('WithRanges', ['income', 'rent'])

    The ranges of two columns are estimated before the fit.
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
        """Choose noise and ridge from public information alone.

        Parameters
        ----------
        objective : Objective
            Loss, ridge, penalty and public bounds.
        budget : Pure, Approx or Zcdp
            Privacy budget of the release. A larger one means less noise.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.
        copies : int, default=1
            Number of objectives, such as one per class, that share the rows and the
            budget.

        Returns
        -------
        RangesCalibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        share = self.settings.share
        if share == 1:
            raise InvalidParameter(
                "share of ranges",
                "less than 1, because the fit needs the rest",
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
        """Raise an error, because rows must be read again between estimation and fit.

        Parameters
        ----------
        calibration : RangesCalibration
            Result of `calibrate`.
        tasks : iterable of Rows
            Private rows with the targets of each objective, one item per objective.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Differentially private coefficients with their guarantee.
        """
        raise AssertionError("ranges are estimated before the rows are read for the fit")


def buy(
    queries: Sequence[RangeQuery],
    counts: Sequence[Array],
    noise: CountNoise,
    entropy: Entropy,
    share: Fraction,
) -> RangeRelease:
    """Estimate ranges from private counts with noise.

    ``counts`` has one array per query, with a row per bin and a column per part of a bin.
    """
    found = {
        query.name: read_range(query, table, noise, entropy)
        for query, table in zip(queries, counts, strict=True)
    }
    ranges = {name: ends for name, (ends, _) in found.items()}
    hidden = tuple(name for name, (_, stands_out) in found.items() if not stands_out)
    record = NoiseRecord(noise.kind, noise.scale, "counts")
    return RangeRelease(ranges, share, record, hidden)
