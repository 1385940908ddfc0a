"""One budget for a selection and the fit that follows it, fixed before either."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from confide.accounting import Event
from confide.errors import InvalidParameter
from confide.mechanisms import Calibration, Mechanism, ObjectivePerturbation
from confide.objectives import Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, approx_to_zcdp
from confide.selection.base import Selector, SelectorCalibration
from confide.selection.joint_renyi_budget import fit_beside_selection

Divided: TypeAlias = tuple[SelectorCalibration, Calibration, tuple[Event, ...]]
"""Both stages, calibrated, and what happens to the data in them together."""


@dataclass(frozen=True, slots=True)
class Stages:
    """What is to be calibrated, whatever it may spend."""

    selector: Selector
    mechanism: Mechanism
    objective: Objective
    neighbours: Neighbours
    copies: int

    @property
    def few(self) -> Objective:
        """The objective of any ``size`` columns."""
        return self.objective.on_columns(self.selector.size)

    def first(self, budget: Budget) -> SelectorCalibration:
        """Calibrate the selection."""
        return self.selector.calibrate(
            self.objective, budget, self.neighbours, copies=self.copies
        )

    def cut(self, some: Budget, rest: Budget) -> Divided:
        """Calibrate both stages, each with a budget of its own."""
        first = self.first(some)
        fit = self.mechanism.calibrate(self.few, rest, self.neighbours, copies=self.copies)
        return first, fit, (*fit.events, *first.events)


def split_budget(stages: Stages, budget: Budget, share: Fraction) -> Divided:
    """Calibrate both stages so that together they cost the budget.

    Pure and zCDP budgets are cut. For (epsilon, delta) Renyi divergences of both stages are
    added up where that is possible. Elsewhere the zCDP budget is cut, or the selection
    spends no delta: whichever needs less noise. Public facts alone decide.
    """
    if not isinstance(budget, Approx):
        return stages.cut(budget.share(share), budget.share(1 - share))
    joint = approx_to_zcdp(budget.epsilon, budget.delta)
    plain = Pure(budget.epsilon * share)
    rest = Approx(budget.epsilon * (1 - share), budget.delta)
    mechanism, found = stages.mechanism, list[Divided]()
    refusal: InvalidParameter | None = None
    if isinstance(mechanism, ObjectivePerturbation) and mechanism.analysis == "coupled":
        try:
            return _together(stages, mechanism, budget, share)
        except InvalidParameter as error:
            refusal = error
    for parts in ((plain, rest), (joint.share(share), joint.share(1 - share))):
        try:
            found.append(stages.cut(*parts))
        except InvalidParameter as error:
            refusal = refusal or error
    if refusal is not None and not found:
        raise refusal
    return min(found, key=_effort)


def _together(
    stages: Stages, mechanism: ObjectivePerturbation, budget: Approx, share: Fraction
) -> Divided:
    selection, fit, events = fit_beside_selection(
        mechanism,
        stages.few,
        budget,
        stages.neighbours,
        copies=stages.copies,
        share=share,
    )
    return stages.first(selection), fit, events


def _effort(divided: Divided) -> float:
    """Return how much noise there is in both stages, as a sum of logarithms."""
    first, fit, _ = divided
    length = fit.noise.expected_norm(fit.objective.dimension)
    ridge = fit.objective.strong_convexity * fit.objective.typical_norm
    return math.log(first.noise.scale) + math.log(length + ridge)
