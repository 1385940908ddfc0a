"""Select columns privately, then fit any mechanism on them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms import (
    MECHANISMS,
    Calibration,
    Mechanism,
    Need,
    ObjectivePerturbation,
    Release,
    RowBounds,
)
from confide.mechanisms.base import check_needs, checked_copies
from confide.noise import Entropy
from confide.objectives import Objective, is_uniform
from confide.privacy import (
    Budget,
    Guarantee,
    Neighbours,
    Status,
    assumptions_of,
    weakest,
)
from confide.privacy.budgets import exact
from confide.selection.base import (
    PAGE,
    Selector,
    SelectorCalibration,
    bounds_of,
    entry_bounds,
    height_beside,
)
from confide.selection.budget import Stages, split_budget
from confide.selection.choice_cost import check_size
from confide.selection.screening import ScreeningSelector

ALIKE = Need(
    "a penalty that weighs all columns alike, one by one",
    lambda objective: is_uniform(objective.penalty, objective.columns),
    "use one weight for all columns",
)


@dataclass(frozen=True, slots=True)
class TwoStages(Calibration):
    """The fit on the selected columns, with the selection, and what both cost together.

    ``objective`` is that of all columns; ``fit`` is calibrated for any ``size`` of them.
    """

    selector: Selector = field(kw_only=True)
    first: SelectorCalibration = field(kw_only=True)
    fit: Calibration = field(kw_only=True)

    @property
    def guarantee(self) -> Guarantee:
        """What the release will promise, assuming what either stage assumes."""
        return Guarantee(
            None if self.status is Status.REFUTED else self.budget,
            self.neighbours,
            self.status,
            self.theorem,
            assumptions_of((self.first.guarantee, self.fit.guarantee)),
            reason=self.reason,
        )

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the fit rests on the number of rows being a public number."""
        return self.fit.takes_count_as_public

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent."""
        self.selector.check_rows(self.first, rows)
        self.fit.check_rows(rows.columns(range(self.selector.size)))


@MECHANISMS.register("select")
@dataclass(frozen=True, slots=True)
class SelectThenFit:
    """Select few columns, fit a mechanism on them alone, and put zeros elsewhere.

    Noise and ridge of the fit are those of ``selector.size`` columns, however many the
    table has. Entries beyond ``column_bound`` are clipped to it; with ``scaled`` a row is
    scaled down instead where its largest ``size`` entries are longer than
    column_bound·√size together.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, ridge, budget, ``share`` of it for the selection.
    Private      rows and targets; the support is released and private.
    Proof        docs/proofs/sparse-selection.md
    """

    selector: Selector = field(default_factory=ScreeningSelector)
    mechanism: Mechanism = field(default_factory=ObjectivePerturbation)
    share: Fraction = Fraction(2, 5)
    column_bound: float = 1.0
    scaled: bool = False

    name: ClassVar[str] = "select"
    needs: ClassVar[tuple[Need, ...]] = (ALIKE,)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "select-then-fit-exact",)

    def __post_init__(self) -> None:
        share = exact(self.share, "share")
        object.__setattr__(self, "share", share)
        if not 0 < share < 1:
            raise InvalidParameter("share", "between 0 and 1", self.share)
        if not hasattr(self.selector, "select"):
            example = "Try ScreeningSelector(10)."
            raise InvalidParameter("selector", "a selector", self.selector, example)
        if not hasattr(self.mechanism, "calibrate"):
            example = "Try ObjectivePerturbation()."
            raise InvalidParameter("mechanism", "a mechanism", self.mechanism, example)
        _ = self.row_bounds

    @property
    def row_bounds(self) -> RowBounds:
        """How entries are bounded, and the height of the constant column beside them."""
        entries = entry_bounds(self.column_bound, self.selector.size, scaled=self.scaled)
        return RowBounds(entries, height_beside(self.column_bound, self.selector.size))

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> TwoStages:
        """Choose both noises and the ridge from public facts alone."""
        check_needs(type(self).__name__, self.needs, objective)
        check_size(self.selector.size, objective)
        task = Stages(self.selector, self.mechanism, objective, neighbours, copies)
        first, fit, events = split_budget(task, budget, self.share)
        least = weakest(first.guarantee, fit.guarantee)
        return TwoStages(
            self,
            objective.with_l2(fit.objective.l2 or 0.0),
            budget,
            neighbours,
            PAGE + "select-then-fit-exact",
            fit.noise,
            fit.solver_noise,
            fit.tolerance,
            events,
            copies,
            least.status,
            least.reason,
            selector=self.selector,
            first=first,
            fit=fit,
        )

    def release(
        self, calibration: TwoStages, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Select and fit for every task, and release the results together."""
        supports: list[list[int]] = []

        def restricted() -> Iterator[Rows]:
            for rows in checked_copies(tasks, calibration.copies):
                support = self.selector.select(calibration.first, rows, entropy)
                supports.append([int(j) for j in support])
                yield rows.columns(supports[-1])

        fitted = calibration.fit.release(restricted(), entropy)
        objective = calibration.objective
        values = np.zeros((calibration.copies, objective.dimension))
        few = np.atleast_2d(fitted.value)
        for line, part, support in zip(values, few, supports, strict=True):
            line[support] = part[: len(support)]
            line[objective.columns :] = part[len(support) :]
        guarantee = calibration.guarantee
        return replace(
            fitted,
            value=values[0] if calibration.copies == 1 else values,
            guarantee=guarantee if entropy.secret else guarantee.seeded(),
            noise=(*fitted.noise, *calibration.first.records()),
            events=calibration.events,
            support=tuple(map(tuple, supports)),
            row_bounds=bounds_of(objective),
        )
