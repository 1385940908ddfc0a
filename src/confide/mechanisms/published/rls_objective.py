"""Objective perturbation with the constants of Chaudhuri et al., slips repaired."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from confide.accounting import PureEvent
from confide.data.rows.in_memory import Rows
from confide.mechanisms.base import Calibration, checked_copies, make_release
from confide.mechanisms.needs import EXACT_PROX, SMOOTH_LOSS, Need, check_needs
from confide.mechanisms.objective.perturbation import perturbed_minimiser, solver_noise_for
from confide.mechanisms.published.rls_setting import check_pure, check_setting, in_a_ball
from confide.mechanisms.release import Release
from confide.mechanisms.statistics.sums import BOUNDED_TARGET, NO_PENALTY
from confide.noise import Entropy, SphericalLaplace
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours

PRECISION_SHARE = Fraction(1, 100)


@dataclass(frozen=True, slots=True)
class RlsObjective:
    """Minimise in a ball with a random linear term, as Algorithm 3 of Wu et al. means to.

    Guarantee    pure; add-remove or replace-one.
    Public       loss, bounds, number of rows, radius, penalty, budget, tolerance.
    Private      rows and targets.
    Noise        spherical Laplace of rate ε′/(2L), ε′ = ε − 2·log(1 + β/Λ); where that is
                 not positive the ridge is raised to β/(e^{ε/4} − 1), so that ε′ = ε/2.
    Proof        docs/proofs/objective-perturbation.md (objective-separate, which needs the
                 logarithm once), docs/proofs/finite-precision.md

    Repaired: the noise goes by ε′ and by the slope of the squared loss in the ball, and
    what is added to the ridge stays in the objective. `ObjectivePerturbation` needs less
    noise for the same guarantee; this is for comparison with the paper.
    """

    rows: int
    radius: float = 1.0
    penalty: float | None = None
    tolerance: float = 1e-9

    name: ClassVar[str] = "rls-objective"
    needs: ClassVar[tuple[Need, ...]] = (
        SMOOTH_LOSS,
        EXACT_PROX,
        BOUNDED_TARGET,
        NO_PENALTY,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    theorems: ClassVar[tuple[str, ...]] = (
        "objective-perturbation.md#objective-separate",
        "finite-precision.md#finite-precision",
    )

    def __post_init__(self) -> None:
        check_setting(self.rows, self.radius, self.penalty)

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
        main = check_pure(budget).share(1 - PRECISION_SHARE)
        epsilon = float(main.epsilon) / copies
        fixed = in_a_ball(objective, self.rows, self.radius, self.penalty, epsilon)
        ridge = fixed.strong_convexity
        left = epsilon - 2 * math.log1p(fixed.smoothness / ridge) if ridge > 0 else 0.0
        if left <= 0:
            fixed = fixed.with_l2(fixed.smoothness / math.expm1(epsilon / 4))
            left = epsilon / 2
        rate = left / (neighbours.shifts * fixed.lipschitz)
        tolerance = self.tolerance * max(1.0, 1 / fixed.strong_convexity)
        finish, event = solver_noise_for(budget.share(PRECISION_SHARE), tolerance, copies)
        return Calibration(
            fixed,
            budget,
            neighbours,
            "objective-perturbation.md#objective-separate",
            SphericalLaplace(1 / rate),
            finish,
            tolerance,
            (PureEvent(main.epsilon), event),
            copies,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Solve every task under its own noise and release the results together."""
        paid = checked_copies(tasks, calibration.copies)
        values = [perturbed_minimiser(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "linear term")
