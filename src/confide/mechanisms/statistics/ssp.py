"""Sufficient-statistics perturbation: release the sums, then solve."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import (
    MECHANISMS,
    WEIGHTED_RECORDS,
    Calibration,
    Need,
    UnitNoise,
    check_needs,
    checked_copies,
    make_release,
    scaled,
    unit_noise,
)
from confide.mechanisms.release import Release
from confide.mechanisms.statistics.sums import (
    BOUNDED_TARGET,
    NO_PENALTY,
    PAGE,
    SQUARED_LOSS,
    SumReach,
    SumsCalibration,
    add_pair_noise,
    balanced_weight,
    check_scales,
    pair_dimension,
    pair_sensitivity,
    ridge_solution,
    sufficient_statistics,
    within,
)
from confide.noise import Entropy
from confide.noise.symmetric import ABOVE
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours, Pure


@MECHANISMS.register("ssp")
@dataclass(frozen=True, slots=True)
class SufficientStatistics:
    """Release Gram matrix and moment with one noise vector, and solve with a ridge.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       bounds, ridge, budget.
    Private      rows and targets, and under add-remove their number.
    Sensitivity  of (G, w·m): X·√(X² + w²B²) under add-remove; under replace-one
                 (2X² + w²B²)/√2, or 2wXB where wB > √2·X.
    Proof        docs/proofs/sufficient-statistics.md

    Squared loss only; a clip of its slope plays no part. An automatic ridge is
    ``ridge_factor`` times the length of the noise in the normal equations, over a typical
    length of the coefficients. Both w and the ridge affect accuracy, never privacy.
    """

    ridge_factor: float = 1.0

    name: ClassVar[str] = "ssp"
    needs: ClassVar[tuple[Need, ...]] = (
        SQUARED_LOSS,
        BOUNDED_TARGET,
        NO_PENALTY,
        WEIGHTED_RECORDS,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "sums-sensitivity",
        PAGE + "sums-pure-exact",
        PAGE + "sums-gaussian-exact",
    )

    def __post_init__(self) -> None:
        if not 0 < self.ridge_factor < math.inf:
            raise InvalidParameter("ridge_factor", "positive", self.ridge_factor)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> Calibration:
        """Choose noise and ridge from public facts alone."""
        check_needs(type(self).__name__, self.needs, objective)
        unit, event = unit_noise(budget, copies)
        weight = balanced_weight(objective)
        noise = scaled(unit, pair_sensitivity(objective, weight, neighbours))
        check_scales(objective, noise, ABOVE / weight)
        fixed = objective
        if objective.l2 is None:
            fixed = objective.with_l2(self._ridge(objective, noise, weight))
        kind = "pure" if isinstance(budget, Pure) else "gaussian"
        return SumsCalibration(
            self,
            fixed,
            budget,
            neighbours,
            f"{PAGE}sums-{kind}-exact",
            noise,
            None,
            math.inf,
            (event,),
            copies,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Add noise to the sums of every task and solve each."""
        paid = checked_copies(tasks, calibration.copies)
        values = [_one(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "gram and moment")

    def _ridge(self, objective: Objective, noise: UnitNoise, weight: float) -> float:
        size, length = objective.dimension, objective.typical_norm
        spread = noise.deviation(pair_dimension(size))
        pull = spread * math.sqrt(size * (1 / weight**2 + length**2 / 2))
        return self.ridge_factor * pull / length


def _one(calibration: Calibration, rows: Rows, entropy: Entropy) -> Array:
    objective, noise = calibration.objective, calibration.noise
    weight, reach = balanced_weight(objective), SumReach.of(objective)
    sums = add_pair_noise(sufficient_statistics(rows), noise, weight, reach, entropy)
    least = LEAST_STRENGTH * noise.scale
    return within(objective, ridge_solution(*sums, objective.l2 or 0.0, least))


LEAST_STRENGTH = 1e-3
"""Of the noise: no direction is solved with less strength, even without a ridge."""
