"""Intervals as a combinator: a mechanism, and what the errors of its coefficients need.

`WithIntervals` calibrates a mechanism and a release of moments to cost one budget together.
The release keeps the distribution of its errors, not the intervals: those can be computed
again at any level and for any linear function of the coefficients.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from confide._types import Array
from confide.accounting import Event
from confide.data.rows.in_memory import Rows
from confide.mechanisms.base import Calibration, Mechanism
from confide.mechanisms.intervals.budget import (
    NOTHING,
    SplitBudget,
    check_intervals,
    split_between,
)
from confide.mechanisms.intervals.laws import plain_law, published_uncertainty, uncertainty
from confide.mechanisms.intervals.moments import (
    INTERVAL_NEEDS,
    PAGE,
    MomentCalibration,
    Moments,
    noise_records,
)
from confide.mechanisms.intervals.settings import Intervals
from confide.mechanisms.needs import WEIGHTED_RECORDS, Need
from confide.mechanisms.release import IntervalRelease, PlainLaw, Release, Uncertainty
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours
from confide.privacy.guarantee import ROW_LIMIT
from confide.solvers import longest_certified


def weighs_records(mechanism: Mechanism, intervals: Intervals | None) -> bool:
    """Whether a fit weights records: their curvature alone does not show their scatter."""
    alone = intervals is not None and intervals.variant == "model-based"
    return WEIGHTED_RECORDS in mechanism.needs and not alone


@dataclass(frozen=True, slots=True)
class IntervalCalibration(Calibration):
    """Calibration of coefficients and of the moments of their errors, for one budget.

    Parameters
    ----------
    mechanism : Mechanism
        What was calibrated.
    objective : Objective
        Objective with its ridge.
    budget : Pure, Approx or Zcdp
        What both releases cost together.
    neighbours : Neighbours
        Relation that is protected.
    theorem : str
        Page and anchor of the theorem.
    noise : Noise
        Noise of the coefficients.
    solver_noise : Noise or None
        Second noise of the coefficients.
    tolerance : float
        How close the solver must come.
    events : tuple of Event
        What both cost, for a ledger.
    copies : int, default=1
        Number of objectives.
    status : Status, optional
        Status of the theorem.
    reason : str, default=""
        Why the status is not PROVED.
    main : Calibration
        Calibration of the coefficients alone.
    moments : MomentCalibration
        Calibration of the moments alone.
    split : tuple of Fraction
        Shares of coefficients, curvature and scatter.

    Examples
    --------
    >>> from confide.mechanisms import ObjectivePerturbation, WithIntervals
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Approx, Neighbours
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> mechanism, budget = ObjectivePerturbation(), Approx(1, 1e-6)
    >>> alone = mechanism.calibrate(objective, budget, Neighbours.ADD_REMOVE)
    >>> both = WithIntervals(mechanism).calibrate(objective, budget, Neighbours.ADD_REMOVE)
    >>> both.noise.scale > 2 * alone.noise.scale
    True

    Intervals cost accuracy: coefficients that share a budget with them have more noise.
    """

    main: Calibration = field(kw_only=True)
    moments: MomentCalibration = field(kw_only=True)
    split: tuple[Fraction, Fraction, Fraction] = field(kw_only=True)

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the coefficients rely on the number of rows being public."""
        return self.main.takes_count_as_public

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the coefficients and the sums assume."""
        return (*self.main.guarantee.assumptions, ROW_LIMIT)

    def check_rows(self, rows: Rows) -> None:
        """Reject tables by their public shape, before anything is spent.

        Parameters
        ----------
        rows : Rows
            Bounded rows, of which only the shape is looked at.

        Raises
        ------
        InvalidParameter
            The table is too long, or arithmetic cannot certify the tolerance.
        """
        self.main.check_rows(rows)
        self.moments.check_rows(rows)


@dataclass(frozen=True, slots=True)
class WithIntervals:
    """Mechanism whose release includes the errors of its coefficients.

    It divides the budget between the coefficients and the moments of their errors.

    Guarantee    that of the mechanism and of `MomentRelease` together.
    Public       ``rows``, their number, under replace-one neighbours; ``unidentified``
                 directions (columns of a matrix) that no row has; ``heights``, the largest
                 entry of every column.
    Proof        docs/proofs/private-intervals.md

    Parameters
    ----------
    mechanism : Mechanism
        How the coefficients are released.
    settings : Intervals, optional
        Shares, level and variant.
    rows : int, optional
        Number of rows, where it is public.
    unidentified : ndarray, optional
        Directions that no row has.
    heights : ndarray, optional
        Largest entry of every column.

    Examples
    --------
    >>> from confide.mechanisms import ObjectivePerturbation, WithIntervals
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Approx, Neighbours
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> mechanism = WithIntervals(ObjectivePerturbation())
    >>> found = mechanism.calibrate(objective, Approx(1, 1e-6), Neighbours.ADD_REMOVE)
    >>> [str(share) for share in found.split]
    ['3/5', '9/25', '1/25']

    Coefficients get three fifths of the budget, their curvature nine tenths of the rest.
    """

    mechanism: Mechanism
    settings: Intervals = field(default_factory=Intervals)
    rows: int | None = None
    unidentified: Array | None = field(default=None, compare=False)
    heights: Array | None = field(default=None, compare=False)

    name: ClassVar[str] = "intervals"
    needs: ClassVar[tuple[Need, ...]] = INTERVAL_NEEDS
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "interval-release-exact",
        PAGE + "moments-pure-exact",
        PAGE + "moments-gaussian-exact",
    )

    def check(self, objective: Objective) -> None:
        """Reject mechanisms and objectives without intervals; calibrate nothing.

        Parameters
        ----------
        objective : Objective
            Objective of the fit.

        Raises
        ------
        UnmetNeeds
            Estimates would not be near normal.
        """
        check_intervals(self.mechanism, objective)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> IntervalCalibration:
        """Choose noise and ridge from public facts alone.

        Parameters
        ----------
        objective : Objective
            Loss, ridge, penalty and public bounds.
        budget : Pure, Approx or Zcdp
            What the release may cost. A larger one means less noise.
        neighbours : Neighbours
            Relation to protect.
        copies : int, default=1
            Number of objectives that share the rows and the budget.

        Returns
        -------
        IntervalCalibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise for this budget, relation or ridge.
        """
        split = self._split(objective, budget, neighbours, copies, NOTHING)
        return self._calibration(split, budget, neighbours, copies)

    def calibrate_beside(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int,
        reserve: Fraction,
    ) -> tuple[IntervalCalibration, Budget, tuple[Event, ...]]:
        """Calibrate with all of a budget but a reserve.

        Parameters
        ----------
        objective : Objective
            Loss, ridge and public bounds.
        budget : Pure, Approx or Zcdp
            Whole budget.
        neighbours : Neighbours
            Relation to protect.
        copies : int
            Number of objectives that share the rows and the budget.
        reserve : Fraction
            Share of the budget to keep for something else.

        Returns
        -------
        calibration : IntervalCalibration
            Coefficients and moments.
        rest : Pure, Approx or Zcdp
            What the reserve may spend.
        events : tuple of Event
            Cost of everything together, where it is accounted for jointly.
        """
        split = self._split(objective, budget, neighbours, copies, reserve)
        assert split.rest is not None  # noqa: S101
        found = self._calibration(split, budget, neighbours, copies)
        return found, split.rest, split.joint

    def _split(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        copies: int,
        reserve: Fraction,
    ) -> SplitBudget:
        return split_between(
            self.mechanism,
            objective,
            budget,
            neighbours,
            variant=self.settings.variant,
            of=self.settings.of or "plain",
            split=self.settings.split,
            share=self.settings.share,
            rows=self.rows if neighbours is Neighbours.REPLACE_ONE else None,
            copies=copies,
            reserve=reserve,
            heights=self.heights,
        )

    def _calibration(
        self, found: SplitBudget, budget: Budget, neighbours: Neighbours, copies: int
    ) -> IntervalCalibration:
        main = found.main
        return IntervalCalibration(
            self,
            main.objective,
            budget,
            neighbours,
            PAGE + "interval-release-exact",
            main.noise,
            main.solver_noise,
            main.tolerance,
            found.events,
            copies,
            main.status,
            main.reason,
            main=main,
            moments=found.moments,
            split=found.split,
        )

    def release(
        self, calibration: IntervalCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Release coefficients, then the moments of their errors.

        Parameters
        ----------
        calibration : IntervalCalibration
            What `calibrate` returned.
        tasks : iterable of Rows
            Private rows, with one target for every copy.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Private coefficients with their guarantee.
        """
        first = calibration.main.release(tasks, entropy)
        values = list(np.atleast_2d(first.value))
        moments = calibration.moments.release(values, tasks, entropy)
        guarantee = calibration.guarantee
        return replace(
            first,
            guarantee=guarantee if entropy.secret else guarantee.seeded(),
            noise=(*first.noise, *noise_records(calibration.moments, moments)),
            events=calibration.events,
            intervals=IntervalRelease(
                self.settings.level,
                self.settings.variant,
                self.settings.samples,
                calibration.split,
                _on_boundary(calibration.main, values, tasks),
                tuple(
                    self._law(calibration, first, value, moment)
                    for value, moment in zip(values, moments, strict=True)
                ),
                self.settings.of or "plain",
                tuple(
                    self._plain(calibration, first, value, moment)
                    for value, moment in zip(values, moments, strict=True)
                    if self.settings.variant != "published"
                ),
            ),
        )

    def _law(
        self,
        calibration: IntervalCalibration,
        first: Release,
        value: Array,
        moments: Moments,
    ) -> Uncertainty:
        objective, noise = calibration.objective, first.noise[0]
        public = self._public_rows(calibration)
        if self.settings.variant == "published" and public is not None:
            return published_uncertainty(objective, value, noise, moments, public)
        absent = self.absent(objective)
        return uncertainty(objective, value, noise, moments, public, unidentified=absent)

    def _plain(
        self,
        calibration: IntervalCalibration,
        first: Release,
        value: Array,
        moments: Moments,
    ) -> PlainLaw:
        objective = calibration.objective
        return plain_law(
            objective,
            value,
            first.noise[0],
            moments,
            self._public_rows(calibration),
            unidentified=self.absent(objective),
        )

    def _public_rows(self, calibration: IntervalCalibration) -> int | None:
        return self.rows if calibration.neighbours is Neighbours.REPLACE_ONE else None

    def absent(self, objective: Objective) -> Array | None:
        """Return the directions that no row has.

        Parameters
        ----------
        objective : Objective
            Objective of the fit.

        Returns
        -------
        ndarray or None
            Columns of a matrix.
        """
        if self.unidentified is None or objective.responses == 1:
            return self.unidentified
        each = np.eye(objective.responses)
        return np.asarray(np.kron(self.unidentified, each), np.float64)


def _on_boundary(main: Calibration, values: list[Array], tasks: Iterable[Rows]) -> bool:
    """Whether coefficients are as long as a ball, or what is certified of them, allows."""
    objective = main.objective
    radius = math.inf
    if objective.constraint is not None:
        radius = objective.constraint.radius(objective.dimension)
    for value, rows in zip(values, tasks, strict=True):
        longest = min(radius, longest_certified(objective, rows, main.tolerance))
        if float(np.linalg.norm(value)) >= longest * (1 - 1e-6):
            return True
    return False
