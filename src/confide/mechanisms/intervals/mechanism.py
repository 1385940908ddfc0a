"""Intervals as a combinator: a mechanism, and what the errors of its coefficients need.

`WithIntervals` calibrates a mechanism and a release of moments to cost one budget together.
The release keeps the distribution of its errors, not the intervals: those can be computed
again at any level and for any linear function of the coefficients.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, get_args

import numpy as np

from confide._types import Array
from confide.accounting import Event
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import WEIGHTED_RECORDS, Calibration, Mechanism, Need
from confide.mechanisms.intervals.budget import (
    NOTHING,
    IntervalTarget,
    SplitBudget,
    Variant,
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
from confide.mechanisms.release import IntervalRelease, PlainLaw, Release, Uncertainty
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours
from confide.privacy.budgets import exact
from confide.privacy.guarantee import ROW_LIMIT


@dataclass(frozen=True, slots=True)
class Intervals:
    """What intervals are about, how they are paid for and how they are made.

    ``of`` is "plain" (default): the coefficients that the same model has without its ridge;
    or "penalised": those that it has with it, as in Wang, Kifer and Lee (2018). ``share``
    is the part of the budget that goes to uncertainty; None chooses it from public facts.
    ``split`` fixes all three parts instead: coefficients, curvature, scatter. ``variant``
    is "tight", "model-based" (assumes that the model is right and saves the scatter) or
    "published" (Wang, Kifer and Lee 2018, with ``samples`` draws).
    """

    share: Any = None
    split: Any = None
    level: float = 0.95
    variant: Variant = "tight"
    samples: int = 10_000
    of: IntervalTarget | None = None

    def __post_init__(self) -> None:
        self._settle_target()
        if not (isinstance(self.level, float) and 0.5 <= self.level < 1):
            raise InvalidParameter("level", "from 0.5 to below 1, like 0.95", self.level)
        if type(self.samples) is not int or not 100 <= self.samples <= 10**7:
            raise InvalidParameter("samples", "between 100 and ten million", self.samples)
        if self.share is not None and self.split is not None:
            raise InvalidParameter("intervals", "a share or a split, not both", "both")
        if self.share is not None:
            part = exact(self.share, "intervals")
            if not 0 < part < 1:
                raise InvalidParameter(
                    "intervals",
                    "a share of the budget between 0 and 1",
                    self.share,
                    "Try intervals=0.2, or intervals=True to have it chosen.",
                )
            object.__setattr__(self, "share", part)
        if self.split is not None:
            object.__setattr__(self, "split", _three_parts(self.split))

    def _settle_target(self) -> None:
        """Check variant and target; the published variant is about penalised ones."""
        if self.variant not in get_args(Variant):
            raise InvalidParameter(
                "variant", f"one of {list(get_args(Variant))}", self.variant
            )
        if self.of not in (None, *get_args(IntervalTarget)):
            raise InvalidParameter(
                "of", f"one of {list(get_args(IntervalTarget))}", self.of
            )
        published = self.variant == "published"
        if published and self.of == "plain":
            raise InvalidParameter(
                "of", "'penalised' for variant='published'", self.of, "Leave it out."
            )
        usual: IntervalTarget = "penalised" if published else "plain"
        object.__setattr__(self, "of", self.of or usual)

    @classmethod
    def read(cls, value: Any) -> "Intervals | None":
        """Read what an estimator was given: None, True, a share or settings."""
        if value is None or value is False:
            return None
        if isinstance(value, Intervals):
            return value
        if isinstance(value, Mapping):
            return cls(**value)
        if value is True or (isinstance(value, str) and value == "auto"):
            return cls()
        if isinstance(value, Sequence) and not isinstance(value, str):
            return cls(split=tuple(value))
        return cls(share=value)


def weighs_records(mechanism: Mechanism, intervals: Intervals | None) -> bool:
    """Whether a fit weighs records: their curvature alone says nothing of their scatter."""
    alone = intervals is not None and intervals.variant == "model-based"
    return WEIGHTED_RECORDS in mechanism.needs and not alone


def _three_parts(split: Any) -> tuple[Fraction, ...]:
    must = "three positive shares for coefficients, curvature and scatter that add up to 1"
    if not isinstance(split, Sequence) or len(split) != 3:
        raise InvalidParameter("intervals", must, split)
    parts = tuple(exact(part, "intervals") for part in split)
    if min(parts) <= 0 or sum(parts) != 1:
        raise InvalidParameter("intervals", must, split, "Try 0.5, 0.25, 0.25.")
    return parts


@dataclass(frozen=True, slots=True)
class IntervalCalibration(Calibration):
    """Coefficients (``main``) and ``moments``, calibrated to cost the budget together.

    ``split`` has the parts of coefficients, curvature and scatter.
    """

    main: Calibration = field(kw_only=True)
    moments: MomentCalibration = field(kw_only=True)
    split: tuple[Fraction, Fraction, Fraction] = field(kw_only=True)

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the coefficients rest on the number of rows being a public number."""
        return self.main.takes_count_as_public

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the coefficients and the sums assume."""
        return (*self.main.guarantee.assumptions, ROW_LIMIT)

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent."""
        self.main.check_rows(rows)
        self.moments.check_rows(rows)


@dataclass(frozen=True, slots=True)
class WithIntervals:
    """A mechanism whose release tells how far its coefficients may be off.

    Guarantee    that of the mechanism and of `MomentRelease` together.
    Public       ``rows``, their number, under replace-one neighbours; ``unidentified``
                 directions (columns of a matrix) that no row has; ``heights``, the largest
                 entry of every column.
    Proof        docs/proofs/private-intervals.md
    """

    mechanism: Mechanism
    settings: Intervals = Intervals()
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
        """Refuse mechanisms and objectives that have no intervals; calibrate nothing."""
        check_intervals(self.mechanism, objective)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> IntervalCalibration:
        """Divide a budget between coefficients and moments, and calibrate both."""
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
        """Calibrate with all of a budget but a reserve, as `divide_budget` does."""
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
        """Release coefficients, then moments at them, and combine both."""
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
                _on_boundary(calibration.objective, values),
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
        absent = self._absent(objective)
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
            unidentified=self._absent(objective),
        )

    def _public_rows(self, calibration: IntervalCalibration) -> int | None:
        return self.rows if calibration.neighbours is Neighbours.REPLACE_ONE else None

    def _absent(self, objective: Objective) -> Array | None:
        """Return directions that no row has, for every score."""
        if self.unidentified is None or objective.responses == 1:
            return self.unidentified
        each = np.eye(objective.responses)
        return np.asarray(np.kron(self.unidentified, each), np.float64)


def _on_boundary(objective: Objective, values: list[Array]) -> bool:
    if objective.constraint is None:
        return False
    radius = objective.constraint.radius(objective.dimension)
    return any(float(np.linalg.norm(value)) >= radius * (1 - 1e-6) for value in values)
