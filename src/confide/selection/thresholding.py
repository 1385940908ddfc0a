"""Iterative hard thresholding: noisy gradient steps that keep few columns."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from confide._types import Array
from confide.accounting import event_of
from confide.data.rows.in_memory import Block, Rows
from confide.mechanisms import (
    MECHANISMS,
    Calibration,
    Need,
    NoiseRecord,
    Release,
    RowBounds,
)
from confide.mechanisms.base import (
    BOUNDED_SLOPE,
    SMOOTH_LOSS,
    SMOOTH_PENALTY,
    check_needs,
    check_whole,
    checked_copies,
    make_release,
)
from confide.noise import Entropy, Gumbel, Noise
from confide.objectives import Objective, curvature_bound
from confide.privacy import Budget, Neighbours
from confide.selection.base import PAGE, bounds_of, entry_bounds
from confide.selection.choice_cost import (
    best_budget_kind,
    check_count,
    check_size,
    score_scale,
    select_largest,
    sum_noise,
)
from confide.selection.screening import score_width

FREE = Need(
    "coefficients that are not confined",
    lambda objective: objective.constraint is None,
    "leave out coef_norm and set slope_bound instead",
)
SCALE_SHARE = Fraction(1, 20)
"""What the private step lengths get of the budget."""
BEND_REACH = 1.0
"""One record raises the largest eigenvalue by its squared length at most."""


@dataclass(frozen=True, slots=True)
class StepCalibration(Calibration):
    """Noise on gradients (``noise``), on scores of columns and on step lengths."""

    scores: Gumbel = field(kw_only=True)
    bend: Noise = field(kw_only=True)
    steps: int = field(kw_only=True)
    size: int = field(kw_only=True)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the three noises for the release."""
        return (
            NoiseRecord(self.noise.kind, self.noise.scale, added_to),
            NoiseRecord(self.scores.kind, self.scores.scale, "scores of columns"),
            NoiseRecord(self.bend.kind, self.bend.scale, "step lengths"),
        )

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent."""
        check_count(rows)


@MECHANISMS.register("thresholding")
@dataclass(frozen=True, slots=True)
class HardThresholding:
    """A few gradient steps; after each the largest coefficients are kept, with noise.

    Every step chooses ``size`` columns by Gumbel noise on |Hθⱼ − gⱼ|, measures privately
    how steep the loss can be on those columns, and moves them by 1/H of the noisy gradient.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, ridge, size, steps, budget.
    Sensitivity  slope·bound for every coordinate of a gradient.
    Proof        docs/proofs/sparse-selection.md
    """

    size: int = 10
    steps: int = 3
    column_bound: float = 1.0

    name: ClassVar[str] = "thresholding"
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH_LOSS, BOUNDED_SLOPE, SMOOTH_PENALTY, FREE)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "hard-thresholding",)

    def __post_init__(self) -> None:
        check_whole("size", self.size, "It is how many columns to select.")
        check_whole("steps", self.steps)
        _ = self.row_bounds

    @property
    def row_bounds(self) -> RowBounds:
        """How entries are bounded, and the height of the constant column beside them."""
        entries = entry_bounds(self.column_bound, self.size, scaled=False)
        return RowBounds(entries, self.column_bound / 2)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> StepCalibration:
        """Choose the noises from public facts alone."""
        check_needs(type(self).__name__, self.needs, objective)
        check_size(self.size, objective)
        choices = self.size * self.steps * copies
        whole = best_budget_kind(budget, choices)
        main = whole.share((1 - SCALE_SHARE) / 2)
        parts = (main, main, whole.share(SCALE_SHARE))
        few = objective.restricted_to(self.size)
        noise = sum_noise(main, neighbours.shifts * few.lipschitz, self.steps * copies)
        width = score_width(objective.slope_bound * objective.entry_bound, neighbours)
        fixed = objective
        if objective.l2 is None:
            fixed = objective.with_l2(noise.expected_norm(self.size) / few.typical_norm)
        return StepCalibration(
            self,
            fixed,
            budget,
            neighbours,
            PAGE + "hard-thresholding",
            noise,
            None,
            0.0,
            tuple(event_of(part) for part in parts),
            copies,
            scores=Gumbel(score_scale(main, choices, width)),
            bend=sum_noise(parts[2], BEND_REACH, self.steps * copies),
            steps=self.steps,
            size=self.size,
        )

    def release(
        self, calibration: StepCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Step for every task and release the results together."""
        objective, values, supports = calibration.objective, [], []
        for rows in checked_copies(tasks, calibration.copies):
            value, support = self._descend(calibration, rows, entropy)
            values.append(value)
            supports.append(support)
        release = make_release(calibration, values, entropy, "gradients")
        return replace(
            release, support=tuple(map(tuple, supports)), row_bounds=bounds_of(objective)
        )

    def _descend(
        self, calibration: StepCalibration, rows: Rows, entropy: Entropy
    ) -> tuple[Array, list[int]]:
        objective = calibration.objective
        few = objective.restricted_to(self.size)
        unit = curvature_bound(objective.loss, objective.public) * few.row_norm**2
        theta, columns = np.zeros(objective.dimension), objective.columns
        support: list[int] = []
        steep = 0.0
        for _ in range(calibration.steps):
            wanted = steep * theta - _gradient(objective, rows, theta)
            ranks = np.abs(wanted[:columns])
            chosen = select_largest(ranks, self.size, calibration.scores, entropy)
            support = chosen.tolist()
            kept = [*support, *range(columns, objective.dimension)]
            noisy = bend(few, rows.columns(support)) + calibration.bend.draw(1, entropy)[0]
            before, steep = steep, unit * max(noisy, 1.0) + (objective.l2 or 0.0)
            noise = calibration.noise.draw(len(kept), entropy)
            step = wanted[kept] + (steep - before) * theta[kept] + noise
            theta = np.zeros(objective.dimension)
            theta[kept] = step / steep
        return theta, support


def _gradient(objective: Objective, rows: Rows, theta: Array) -> Array:
    def part(block: Block) -> tuple[Any, ...]:
        return (
            block.weighted_sum(objective.loss.slope(block.margin(theta), block.target)),
        )

    return np.asarray(rows.sum(part)[0] + (objective.l2 or 0.0) * theta)


def bend(objective: Objective, rows: Rows) -> float:
    """Return the largest eigenvalue of Σxxᵀ over the longest squared row."""

    def part(block: Block) -> tuple[Any, ...]:
        return (block.gram(np.ones(len(block.target)), double=True),)

    top = np.linalg.eigvalsh(rows.sum(part)[0])[-1]
    return float(top) / objective.row_norm**2
