"""Sufficient-statistics perturbation: release noisy sums, then solve."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import (
    MECHANISMS,
    Calibration,
    UnitNoise,
    checked_copies,
    make_release,
    scaled,
    unit_noise,
)
from confide.mechanisms.needs import WEIGHTED_RECORDS, Need, check_needs
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
    """Sufficient statistics: release the Gram matrix and the moment with one noise vector.

    The Gram matrix is G = Σxxᵀ, and the moment is m = Σyx. The coefficients solve the noisy
    normal equations, with a ridge.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       bounds, ridge, budget.
    Private      rows and targets, and under add-remove the number of rows.
    Sensitivity  of (G, w·m): X·√(X² + w²B²) under add-remove; under replace-one
                 (2X² + w²B²)/√2, or 2wXB if wB > √2·X.
    Proof        docs/proofs/sufficient-statistics.md

    The loss must be the squared loss. A clip on its slope has no effect. The weight w and
    the ridge affect accuracy, never privacy.

    Parameters
    ----------
    ridge_factor : float, default=1.0
        Automatic ridge, in units of the norm of the noise in the normal equations divided
        by a typical norm of the coefficients. A larger factor means more shrinkage.

    Raises
    ------
    InvalidParameter
        The factor is not positive and finite.

    Examples
    --------
    >>> from confide.mechanisms import SufficientStatistics
    >>> from confide.objectives import Objective, Squared
    >>> from confide.privacy import Approx, Pure, Neighbours
    >>> objective = Objective(Squared(), dimension=3, row_norm=1.0, target_bound=1.0)
    >>> mechanism, relation = SufficientStatistics(), Neighbours.ADD_REMOVE
    >>> mechanism.calibrate(objective, Pure(1), relation).noise.kind
    'spherical-laplace'
    >>> mechanism.calibrate(objective, Approx(1, 1e-6), relation).noise.kind
    'gaussian'

    The noise distribution depends on the type of budget.
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
        """Choose noise and ridge from public information alone.

        Parameters
        ----------
        objective : Objective
            Loss, ridge, penalty and public bounds.
        budget : Pure, Approx or Zcdp
            Privacy budget of the release. A larger one means less noise.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.
        copies : int, default=1
            Number of objectives, such as one per class, that share the rows and the
            budget.

        Returns
        -------
        Calibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
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
        """Add noise to the sums of every objective, and solve for the coefficients.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.
        tasks : iterable of Rows
            Private rows with the targets of each objective, one item per objective.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Differentially private coefficients with their guarantee.
        """
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
"""Lower bound on the eigenvalues of the noisy matrix after the ridge is added, in units of
the noise scale."""
