"""The exponential mechanism over all supports of a size."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from confide.accounting import event_of
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import check_whole
from confide.mechanisms.needs import SMOOTH_LOSS, Need, check_needs
from confide.noise import Entropy, Gumbel, largest
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours
from confide.selection.base import PAGE, SELECTORS, SelectorCalibration
from confide.selection.box_scores import BoxScores, loss_peak, loss_range
from confide.selection.choice_cost import (
    best_budget_kind,
    check_rounding,
    check_size,
    score_scale,
)
from confide.selection.target_scale import target_size

GAP = 1e-3
"""How far above the least loss a score may lie, in units of its sensitivity."""


@SELECTORS.register("exponential")
@dataclass(frozen=True, slots=True)
class ExponentialSelector:
    """A support with a chance in proportion to exp(−epsilon·score/width).

    The score of a support is the least sum of losses with coefficients in the box
    [−radius, radius]; the width is the range of one record's loss there, twice that under
    replace-one. A record that is added raises all scores, so under add-remove the range
    counts once. All supports are tried: more than ``most`` of them are refused.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, size, radius, budget.
    Proof        docs/proofs/sparse-selection.md
    """

    size: int = 2
    radius: float = 1.0
    most: int = 20_000

    name: ClassVar[str] = "exponential"
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH_LOSS,)
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "exponential-supports",
        PAGE + "bounded-range",
    )

    def __post_init__(self) -> None:
        check_whole("size", self.size, "It is how many columns to select.")
        check_whole("most", self.most)
        if not 0 < self.radius < math.inf:
            raise InvalidParameter("radius", "positive and finite", self.radius)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> SelectorCalibration:
        """Choose the noise from public facts alone."""
        check_needs(type(self).__name__, self.needs, objective)
        check_size(self.size, objective)
        target_size(objective)
        supports = math.comb(objective.columns, self.size)
        if supports > self.most:
            raise InvalidParameter(
                "size",
                f"such that there are at most {self.most} supports to try",
                f"{self.size} of {objective.columns} columns: {supports} supports",
                "Raise most, or use ScreeningSelector or SampleAggregateSelector.",
            )
        whole = best_budget_kind(budget, copies)
        width = support_width(objective, self.size, self.radius, neighbours)
        return SelectorCalibration(
            objective,
            budget,
            neighbours,
            PAGE + "exponential-supports",
            Gumbel(score_scale(whole, copies, width)),
            (event_of(whole),),
            copies,
        )

    def check_rows(self, calibration: SelectorCalibration, rows: Rows) -> None:
        """Refuse by shape, before anything is spent."""
        objective = calibration.objective
        margin = _margin(objective, self.size, self.radius)
        excess = loss_peak(objective, margin) / loss_range(objective, margin)
        check_rounding(rows, 4 * excess * rows.terms)

    def select(
        self, calibration: SelectorCalibration, rows: Rows, entropy: Entropy
    ) -> Sequence[int]:
        """Return ``size`` columns in rising order, privately."""
        objective = calibration.objective
        gap = GAP * loss_range(objective, _margin(objective, self.size, self.radius))
        scores = BoxScores(objective, self.radius, gap)
        supports, losses = scores.of_all(rows, self.size)
        return supports[int(largest(-losses, 1, calibration.noise, entropy)[0])]


def support_width(
    objective: Objective, size: int, radius: float, neighbours: Neighbours
) -> float:
    """Return how much the changes of two scores can differ, inexact as they are."""
    one = loss_range(objective, _margin(objective, size, radius))
    return (neighbours.shifts + 2 * GAP) * one


def _margin(objective: Objective, size: int, radius: float) -> float:
    """Return the largest |⟨x, θ⟩|: by entries one by one, or by lengths."""
    by_entries = size * objective.entry_bound
    by_length = objective.norm_of(size) * math.sqrt(size)
    return radius * (min(by_entries, by_length) + objective.height)
