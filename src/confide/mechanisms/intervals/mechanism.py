"""A wrapper that adds confidence intervals to a mechanism.

`WithIntervals` calibrates a mechanism and a release of moments for one joint budget. The
moments are the curvature (the Hessian of the loss) and the scatter (the sum of the outer
products of gradients), from which the covariance of the errors is estimated. The release
stores the distribution of the errors instead of intervals. Intervals can therefore be
computed later at any level and for any linear function of the coefficients.
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
    """Whether a fit gives rows of larger norm a smaller weight.

    Model-based intervals derive the scatter from the curvature, which requires records of
    equal weight.
    """
    alone = intervals is not None and intervals.variant == "model-based"
    return WEIGHTED_RECORDS in mechanism.needs and not alone


@dataclass(frozen=True, slots=True)
class IntervalCalibration(Calibration):
    """Joint calibration of coefficients and of the moments for their intervals.

    Parameters
    ----------
    mechanism : Mechanism
        The calibrated mechanism.
    objective : Objective
        Objective, including its ridge.
    budget : Pure, Approx or Zcdp
        Joint budget of both releases.
    neighbours : Neighbours
        Neighbour relation for which the guarantee holds.
    theorem : str
        Page and anchor of the theorem.
    noise : Noise
        Main noise of the coefficients.
    solver_noise : Noise or None
        Second noise of the coefficients, which covers the solver's tolerance.
    tolerance : float
        Largest permitted distance of the solver's result from the exact minimiser.
    events : tuple of Event
        Privacy events of both releases, as recorded in a ledger.
    copies : int, default=1
        Number of objectives that share the rows and the budget.
    status : Status, optional
        Status of the theorem.
    reason : str, default=""
        Reason why the status is not PROVED.
    main : Calibration
        Calibration of the coefficients alone.
    moments : MomentCalibration
        Calibration of the moments alone.
    split : tuple of Fraction
        Shares of the budget for coefficients, curvature and scatter.

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

    Intervals reduce accuracy, because the coefficients receive only a part of the budget.
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
        """Assumptions of both releases."""
        return (*self.main.guarantee.assumptions, ROW_LIMIT)

    def check_rows(self, rows: Rows) -> None:
        """Reject tables of unsuitable shape, before any budget is spent.

        Parameters
        ----------
        rows : Rows
            Bounded rows. Only their shape is used.

        Raises
        ------
        InvalidParameter
            The table has too many rows, or the tolerance cannot be certified in double
            precision.
        """
        self.main.check_rows(rows)
        self.moments.check_rows(rows)


@dataclass(frozen=True, slots=True)
class WithIntervals:
    """Mechanism whose release includes the error distribution of its coefficients.

    The budget is divided between the coefficients and two moments, the curvature and the
    scatter, from which the error distribution is estimated.

    Guarantee    composition of the mechanism and `MomentRelease`.
    Public       ``rows``, the number of rows, under replace-one neighbours;
                 ``unidentified``, directions (columns of a matrix) orthogonal to every row;
                 ``heights``, bounds on the absolute values in every column.
    Proof        docs/proofs/private-intervals.md

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that releases the coefficients.
    settings : Intervals, optional
        Shares of the budget, confidence level and method.
    rows : int, optional
        Number of rows, if it is public.
    unidentified : ndarray, optional
        Matrix whose columns are directions orthogonal to every row.
    heights : ndarray, optional
        Bounds on the absolute values in every column except the constant one.

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

    Three fifths of the budget are for the coefficients, and nine tenths of the rest for the
    curvature.
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
        """Raise an error if this mechanism or objective does not support intervals.

        Parameters
        ----------
        objective : Objective
            Objective of the fit.

        Raises
        ------
        UnmetNeeds
            Estimates would not be approximately normal.
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
        IntervalCalibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
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
        """Calibrate with the part of a budget that is not reserved for another release.

        Parameters
        ----------
        objective : Objective
            Loss, ridge and public bounds.
        budget : Pure, Approx or Zcdp
            Whole budget.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.
        copies : int
            Number of objectives, such as one per class, that share the rows and the
            budget.
        reserve : Fraction
            Share of the budget to reserve for another release.

        Returns
        -------
        calibration : IntervalCalibration
            Calibration of coefficients and moments.
        rest : Pure, Approx or Zcdp
            Reserved budget.
        events : tuple of Event
            A single privacy event for all releases, or empty if each release has its own
            events.
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
        """Release the coefficients, and then the moments for their intervals.

        Parameters
        ----------
        calibration : IntervalCalibration
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
        """Return the directions orthogonal to every row.

        Parameters
        ----------
        objective : Objective
            Objective of the fit.

        Returns
        -------
        ndarray or None
            Matrix whose columns are these directions, or None if none were given.
        """
        if self.unidentified is None or objective.responses == 1:
            return self.unidentified
        each = np.eye(objective.responses)
        return np.asarray(np.kron(self.unidentified, each), np.float64)


def _on_boundary(main: Calibration, values: list[Array], tasks: Iterable[Rows]) -> bool:
    """Whether any coefficients reach the largest norm that constraint and solver allow."""
    objective = main.objective
    radius = math.inf
    if objective.constraint is not None:
        radius = objective.constraint.radius(objective.dimension)
    for value, rows in zip(values, tasks, strict=True):
        longest = min(radius, longest_certified(objective, rows, main.tolerance))
        if float(np.linalg.norm(value)) >= longest * (1 - 1e-6):
            return True
    return False
