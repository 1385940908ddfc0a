"""rls-out: output perturbation with parameters that look at no data (Wu et al. 2016)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide._types import Array
from confide.accounting import PureEvent
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import Calibration, checked_copies, make_release
from confide.mechanisms.needs import EXACT_PROX, SMOOTH_LOSS, Need, check_needs
from confide.mechanisms.published.rls_setting import (
    Constants,
    check_pure,
    check_setting,
    in_a_ball,
)
from confide.mechanisms.release import Release
from confide.mechanisms.statistics.sums import BOUNDED_TARGET, NO_PENALTY
from confide.noise import Entropy, SphericalLaplace
from confide.objectives import Objective, is_squared
from confide.privacy import Budget, Neighbours, Status
from confide.solvers import minimise


@dataclass(frozen=True, slots=True)
class RlsOut:
    """Minimise in a ball of radius R with a ridge of √(d/(nε)), and add noise.

    Guarantee    pure; add-remove or replace-one. None with ``oracle``.
    Public       loss, bounds, number of rows, radius, penalty, budget, tolerance.
    Private      rows and targets.
    Sensitivity  tight: 2L/Λ, L the longest gradient in the ball (half under add-remove);
                 published: 4(ρ + R)/(λn), which is (12R + 8)/(λn) for squares in the unit
                 ball; both plus 2·tolerance.
    Proof        docs/proofs/output-perturbation.md

    ``rows`` is declared and only sets the ridge: a wrong number costs accuracy, not
    privacy. ``penalty`` is λ, by default the one that looks at no data. Published
    constants release the noised point as it is; tight ones bring it back into the ball.
    ``oracle`` owns up to parameters that were chosen by looking at the data: such a
    release has no guarantee and is there for comparison.
    """

    rows: int
    radius: float = 1.0
    penalty: float | None = None
    constants: Constants = "tight"
    oracle: bool = False
    tolerance: float = 1e-9

    name: ClassVar[str] = "rls-out"
    needs: ClassVar[tuple[Need, ...]] = (
        SMOOTH_LOSS,
        EXACT_PROX,
        BOUNDED_TARGET,
        NO_PENALTY,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    theorems: ClassVar[tuple[str, ...]] = (
        "output-perturbation.md#output-pure",
        "output-perturbation.md#output-rls",
    )

    def __post_init__(self) -> None:
        check_setting(self.rows, self.radius, self.penalty)
        if self.constants not in ("tight", "published"):
            raise InvalidParameter("constants", "'tight' or 'published'", self.constants)

    def sensitivity(self, fixed: Objective, neighbours: Neighbours) -> float:
        """Return how far the minimiser in the ball can move between neighbours."""
        slack = 2 * self._tolerance(fixed)
        exact = neighbours.shifts * fixed.lipschitz / fixed.strong_convexity
        if self.constants == "tight":
            return exact + slack
        doubled = 2 if is_squared(fixed.loss) else 1
        steep, ridge = doubled * fixed.lipschitz, doubled * fixed.strong_convexity
        return neighbours.shifts * 2 * (steep + self.radius) / ridge + slack

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
        epsilon = float(check_pure(budget).epsilon) / copies
        fixed = in_a_ball(objective, self.rows, self.radius, self.penalty, epsilon)
        if fixed.strong_convexity <= 0:
            raise InvalidParameter("l2", "greater than 0", objective.l2)
        return Calibration(
            fixed,
            budget,
            neighbours,
            "output-perturbation.md#output-rls",
            SphericalLaplace(self.sensitivity(fixed, neighbours) / epsilon),
            None,
            self._tolerance(fixed),
            (PureEvent(check_pure(budget).epsilon),),
            copies,
            Status.REFUTED if self.oracle else Status.PROVED,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Solve every task, add noise to each and release the results together."""
        paid = checked_copies(tasks, calibration.copies)
        values = [self._one(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "coefficients")

    def _one(self, calibration: Calibration, rows: Rows, entropy: Entropy) -> Array:
        objective = calibration.objective
        origin = np.zeros(objective.dimension)
        exact = minimise(objective, rows, origin, calibration.tolerance).theta
        noised = exact + calibration.noise.draw(objective.dimension, entropy)
        if self.constants == "published" or objective.constraint is None:
            return noised
        return objective.constraint.project(noised)

    def _tolerance(self, objective: Objective) -> float:
        return self.tolerance * max(1.0, 1 / objective.strong_convexity)
