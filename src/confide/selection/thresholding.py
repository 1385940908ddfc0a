"""Iterative hard thresholding: noisy gradient steps with a few columns at a time."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from confide._types import Array
from confide.accounting import event_of
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows
from confide.mechanisms import (
    MECHANISMS,
    Calibration,
    Need,
    NoiseRecord,
    Release,
    RowBounds,
)
from confide.mechanisms.base import (
    check_length,
    check_whole,
    checked_copies,
    make_release,
    publish,
)
from confide.mechanisms.needs import BOUNDED_SLOPE, SMOOTH_LOSS, SMOOTH_PENALTY, check_needs
from confide.mechanisms.rounding import SLACK, is_long, trusted_radius
from confide.noise import Entropy, Gumbel, Noise
from confide.objectives import Objective, curvature_bound
from confide.privacy import Budget, Neighbours
from confide.selection.base import PAGE, bounds_of, entry_bounds
from confide.selection.choice_cost import (
    best_budget_kind,
    check_size,
    score_scale,
    sum_noise,
)
from confide.selection.screening import score_width

FREE = Need(
    "unconstrained coefficients",
    lambda objective: objective.constraint is None,
    "leave out coef_norm and set slope_bound instead",
)
SCALE_SHARE = Fraction(1, 20)
"""Share of the budget that is spent on private step lengths."""
EIGENVALUE_REACH = 1.0
"""Sensitivity of the largest eigenvalue of Σxxᵀ, in units of the squared row norm bound."""


@dataclass(frozen=True, slots=True)
class StepCalibration(Calibration):
    """Calibration of the noise on gradients, on scores of columns and on step lengths."""

    scores: Gumbel = field(kw_only=True)
    eigenvalue_noise: Noise = field(kw_only=True)
    steps: int = field(kw_only=True)
    size: int = field(kw_only=True)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Return records of the noise on gradients, scores and step lengths."""
        return (
            NoiseRecord(self.noise.kind, self.noise.scale, added_to),
            NoiseRecord(self.scores.kind, self.scores.scale, "scores of columns"),
            NoiseRecord(
                self.eigenvalue_noise.kind, self.eigenvalue_noise.scale, "step lengths"
            ),
        )

    def check_rows(self, rows: Rows) -> None:
        """Raise if there are too many rows, before any budget is spent."""
        check_length(rows)

    def reach(self, entry: float) -> float:
        """Return a bound on the gradient for a column with entries up to ``entry``."""
        return MAX_ROWS * self.objective.slope_bound * entry


@MECHANISMS.register("thresholding")
@dataclass(frozen=True, slots=True)
class HardThresholding:
    """Take a few noisy gradient steps, with a private selection of columns in every step.

    Every step selects the ``size`` columns with the largest |Hθⱼ − gⱼ| after adding Gumbel
    noise, where g is the gradient and H the curvature from the previous step. The step then
    privately estimates a bound H on the curvature in these columns, moves their
    coefficients by −1/H times the noisy gradient, and sets the coefficients of all other
    columns to 0.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, ridge, size, steps, budget.
    Sensitivity  slope·bound for every coordinate of a gradient.
    Proof        docs/proofs/sparse-selection.md

    Parameters
    ----------
    size : int, default=10
        Number of columns to keep.
    steps : int, default=3
        Number of steps.
    column_bound : float, default=1.0
        Public bound on the absolute value of every entry; larger entries are clipped.

    Examples
    --------
    >>> from confide import Pure, SparseLinearRegression
    >>> from confide.selection import HardThresholding
    >>> model = SparseLinearRegression(Pure(1), mechanism=HardThresholding(size=5))
    >>> model.mechanism.size
    5
    """

    size: int = 10
    steps: int = 3
    column_bound: float = 1.0

    name: ClassVar[str] = "thresholding"
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH_LOSS, BOUNDED_SLOPE, SMOOTH_PENALTY, FREE)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "hard-thresholding-exact",)

    def __post_init__(self) -> None:
        check_whole("size", self.size, "It is the number of columns to select.")
        check_whole("steps", self.steps)
        _ = self.row_bounds

    @property
    def row_bounds(self) -> RowBounds:
        """Bounds on the entries, and the value of the constant column."""
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
        """Choose the noise from public information only."""
        check_needs(type(self).__name__, self.needs, objective)
        check_size(self.size, objective)
        choices = self.size * self.steps * copies
        whole = best_budget_kind(budget, choices)
        main = whole.share((1 - SCALE_SHARE) / 2)
        parts = (main, main, whole.share(SCALE_SHARE))
        few = objective.restricted_to(self.size)
        reach = (neighbours.shifts + SLACK) * few.lipschitz
        noise = sum_noise(main, reach, self.steps * copies)
        width = score_width(objective.slope_bound * objective.entry_bound, neighbours)
        fixed = objective
        if objective.l2 is None:
            fixed = objective.with_l2(noise.expected_norm(self.size) / few.typical_norm)
        return StepCalibration(
            self,
            fixed,
            budget,
            neighbours,
            PAGE + "hard-thresholding-exact",
            noise,
            None,
            0.0,
            tuple(event_of(part) for part in parts),
            copies,
            scores=Gumbel(score_scale(main, choices, (1 + SLACK) * width)),
            eigenvalue_noise=sum_noise(
                parts[2], EIGENVALUE_REACH + SLACK, self.steps * copies
            ),
            steps=self.steps,
            size=self.size,
        )

    def release(
        self, calibration: StepCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Run all steps for every objective, and release the results together.

        Parameters
        ----------
        calibration : StepCalibration
            Result of `calibrate`.
        tasks : iterable of Rows
            Private rows with the targets of each objective, one item per objective.
        entropy : Entropy
            Source of randomness.

        Returns
        -------
        Release
            Coefficients with their guarantee.
        """
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
        objective, ridge = calibration.objective, calibration.objective.l2 or 0.0
        few = objective.restricted_to(self.size)
        trusted = trusted_radius(few, objective.slope_bound)
        unit = curvature_bound(objective.loss, objective.public) * few.row_norm**2
        theta, columns = np.zeros(objective.dimension), objective.columns
        support: list[int] = []
        steep, farthest = 0.0, calibration.reach(objective.entry_bound)
        longest = calibration.reach(max(objective.entry_bound, objective.height))
        for _ in range(calibration.steps):
            slopes = _gradient(objective, rows, theta, trusted)
            pull = np.clip((steep - ridge) * theta, -farthest, farthest)
            ranks = np.abs(pull - slopes)[:columns]
            support = calibration.scores.largest(ranks, self.size, entropy).tolist()
            kept = [*support, *range(columns, objective.dimension)]
            steepest = np.array([largest_eigenvalue(few, rows.columns(support))])
            noisy = publish(steepest, calibration.eigenvalue_noise, entropy, MAX_ROWS)[0]
            before, steep = theta[kept], unit * max(float(noisy), 1.0) + ridge
            noisy = publish(slopes[kept], calibration.noise, entropy, longest)
            theta = np.zeros(objective.dimension)
            theta[kept] = ((steep - ridge) * before - noisy) / steep
        return theta, support


def _gradient(objective: Objective, rows: Rows, theta: Array, trusted: float) -> Array:
    """Return Σ∇φ, with margins computed row by row if ‖θ‖ exceeds ``trusted``."""
    by_row, most = is_long(theta, trusted), objective.slope_bound

    def part(block: Block) -> tuple[Any, ...]:
        margin = block.margin(theta, row_independent=by_row)
        slopes = np.clip(objective.loss.slope(margin, block.target), -most, most)
        return (block.weighted_sum(slopes),)

    return np.asarray(rows.sum(part)[0])


def largest_eigenvalue(objective: Objective, rows: Rows) -> float:
    """Return the largest eigenvalue of Σxxᵀ, divided by the squared bound on row norms."""

    def part(block: Block) -> tuple[Any, ...]:
        return (block.gram(np.ones(len(block.target)), double=True),)

    top = np.linalg.eigvalsh(rows.sum(part)[0])[-1]
    return float(top) / objective.row_norm**2
