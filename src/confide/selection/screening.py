"""Screening: selection of columns by their covariances with the target."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from confide._types import Array
from confide.accounting import Event, event_of
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import check_length, check_whole, publish
from confide.noise import Entropy, Gumbel
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours
from confide.privacy.budgets import exact
from confide.selection.base import (
    PAGE,
    SELECTORS,
    SelectorCalibration,
    scaled_target,
    target_size,
)
from confide.selection.choice_cost import (
    best_budget_kind,
    check_size,
    score_scale,
    sum_noise,
)


@SELECTORS.register("screening")
@dataclass(frozen=True, slots=True)
class ScreeningSelector:
    """Select the columns with the largest |Σ xᵢⱼ(tᵢ − t̄)| after adding Gumbel noise.

    t is the target divided by its bound, and t̄ a private estimate of the mean of t.
    Columns that are informative only in combination with others are not found.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       the bound on entries, target bound, size, budget.
    Sensitivity  bound·(1 + |t̄|) per score, twice that under replace-one.
    Proof        docs/proofs/sparse-selection.md

    Parameters
    ----------
    size : int, default=10
        Number of columns to select.
    centre_share : float, str or Fraction, default=1/20
        Share of the budget for t̄. If it is 0, t̄ is 0, and columns that are seldom 0 seem
        informative if one class is much more frequent than the other.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.selection import ScreeningSelector, SelectThenFit
    >>> SelectThenFit(ScreeningSelector(size=5)).selector.size
    5
    """

    size: int = 10
    centre_share: Fraction = Fraction(1, 20)

    name: ClassVar[str] = "screening"
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "screening-exact",
        PAGE + "gumbel-top",
    )

    def __post_init__(self) -> None:
        check_whole("size", self.size, "It is the number of columns to select.")
        share = exact(self.centre_share, "centre_share")
        object.__setattr__(self, "centre_share", share)
        if not 0 <= share < 1:
            raise InvalidParameter("centre_share", "0 or more, below 1", share)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> SelectorCalibration:
        """Choose the noise from public information only."""
        check_size(self.size, objective)
        target_size(objective)
        choices = self.size * copies
        whole = best_budget_kind(budget, choices)
        main, centre = whole.share(1 - self.centre_share), None
        events: tuple[Event, ...] = (event_of(main),)
        if self.centre_share:
            part = whole.share(self.centre_share)
            centre = sum_noise(part, mean_reach(neighbours), copies)
            events = (*events, event_of(part))
        width = score_width(objective.entry_bound, neighbours)
        return SelectorCalibration(
            objective,
            budget,
            neighbours,
            PAGE + "screening-exact",
            Gumbel(score_scale(main, choices, width)),
            events,
            copies,
            centre,
        )

    def check_rows(self, calibration: SelectorCalibration, rows: Rows) -> None:
        """Raise if the table has an unsuitable shape, before any budget is spent."""
        check_length(rows)

    def select(
        self, calibration: SelectorCalibration, rows: Rows, entropy: Entropy
    ) -> Sequence[int]:
        """Select ``size`` columns privately, in increasing order."""
        mean = private_mean(calibration, rows, entropy)
        scores = column_scores(calibration.objective, rows, mean)
        noise = calibration.noise
        widened = replace(noise, scale=noise.scale * (1 + abs(mean)))
        return widened.largest(scores, self.size, entropy).tolist()


def score_width(bound: float, neighbours: Neighbours) -> float:
    """Return a bound on how differently one record can change two scores."""
    return 2 * neighbours.shifts * bound


def column_scores(objective: Objective, rows: Rows, mean: float) -> Array:
    """Return |Σ xᵢⱼ(tᵢ − t̄)| for every column except the constant one."""

    def part(block: Block) -> tuple[Any, ...]:
        return (block.weighted_sum(scaled_target(objective, block.target) - mean),)

    return np.abs(rows.sum(part)[0][: objective.columns])


def private_mean(calibration: SelectorCalibration, rows: Rows, entropy: Entropy) -> float:
    """Return t̄, a noisy sum divided by a noisy count and clipped to [−1, 1]."""
    noise, objective = calibration.centre, calibration.objective
    if noise is None:
        return 0.0

    def part(block: Block) -> tuple[Any, ...]:
        return (float(scaled_target(objective, block.target).sum()),)

    sums = np.array([float(rows.sum(part)[0]), rows.count])
    pair = publish(sums, noise, entropy, MAX_ROWS)
    mean = pair[0] / max(1.0, pair[1])
    return float(np.clip(mean, -1.0, 1.0))


def mean_reach(neighbours: Neighbours) -> float:
    """Return the Euclidean sensitivity of the pair (Σtᵢ, number of rows)."""
    return 2.0 if neighbours is Neighbours.REPLACE_ONE else math.sqrt(2)
