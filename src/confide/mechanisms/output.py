"""Output perturbation: minimise, then add noise to the minimiser."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from confide._types import Array
from confide.accounting import Event, as_pure
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import (
    MECHANISMS,
    Calibration,
    NoiseChoice,
    UnitNoise,
    check_noise_choice,
    checked_copies,
    make_release,
    publish,
    scaled,
    shorter_unit_noise,
    unit_noise,
)
from confide.mechanisms.needs import (
    BOUNDED_SLOPE,
    CASE_WEIGHTS,
    CONVEX_PENALTY,
    EXACT_PROX,
    OFFSETS,
    ONE_RESPONSE,
    PLAIN_HINGE,
    SEVERAL_SCORES,
    WEIGHTED_RECORDS,
    Need,
    check_needs,
)
from confide.mechanisms.release import Release
from confide.mechanisms.tolerance import certain_tolerance, solver_tolerance
from confide.noise import Entropy, Gaussian
from confide.objectives import HuberizedHinge, Objective, is_hinge
from confide.privacy import Budget, Neighbours, round_up
from confide.solvers import minimise


@MECHANISMS.register("output")
@dataclass(frozen=True, slots=True)
class OutputPerturbation:
    """Output perturbation: minimise, then add noise to the minimiser.

    The noise is scaled to the largest effect of one record on the minimiser.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, ridge, budget, tolerance.
    Private      rows and targets, and under add-remove the number of rows.
    Sensitivity  L/Λ under add-remove, 2L/Λ under replace-one, plus 2·tolerance, where L
                 bounds the norm of the gradient of one record and Λ is the ridge.
    Proof        docs/proofs/output-perturbation.md

    The hinge loss is smoothed within 0.001 of its kink. This does not increase the
    sensitivity, and the minimiser can then be certified for every table.

    Parameters
    ----------
    tolerance : float, optional
        Largest permitted distance of the solver's result from the exact minimiser. It is
        divided by the ridge if the ridge is below 1. By default 1e-9, or the smallest
        distance that can be certified if that is larger.
    noise_length : float, optional
        Expected norm of the noise that an automatic ridge should achieve. A smaller value
        means a larger ridge. By default a quarter of the typical norm of the coefficients,
        at most 5.
    noise : {"shorter", "composable", "gaussian"}, default="shorter"
        Choice of noise under (epsilon, delta), as for `ObjectivePerturbation`.

    Examples
    --------
    >>> from confide.mechanisms import OutputPerturbation
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0, l2=10.0)
    >>> round(OutputPerturbation().sensitivity(objective, Neighbours.ADD_REMOVE), 3)
    0.1

    One record of norm 1 moves the minimiser by at most a tenth, its norm divided by the
    ridge.
    """

    tolerance: float | None = None
    noise_length: float | None = None
    noise: NoiseChoice = "shorter"

    name: ClassVar[str] = "output"
    needs: ClassVar[tuple[Need, ...]] = (
        BOUNDED_SLOPE,
        CONVEX_PENALTY,
        EXACT_PROX,
        PLAIN_HINGE,
        ONE_RESPONSE,
        CASE_WEIGHTS,
        OFFSETS,
        WEIGHTED_RECORDS,
        SEVERAL_SCORES,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        "output-perturbation.md#output-sensitivity",
        "output-perturbation.md#output-pure-exact",
        "output-perturbation.md#output-gaussian-exact",
        "output-perturbation.md#output-spherical-exact",
    )

    def __post_init__(self) -> None:
        check_noise_choice(self.noise)

    def sensitivity(self, objective: Objective, neighbours: Neighbours) -> float:
        """Return the largest distance between computed minimisers of neighbouring tables.

        Parameters
        ----------
        objective : Objective
            Objective with a ridge.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.

        Returns
        -------
        float
            Largest distance between the exact minimisers, plus twice the solver's
            tolerance.
        """
        smooth = _rounded_off(objective)
        exact = neighbours.shifts * smooth.lipschitz / smooth.strong_convexity
        return round_up(exact + 2 * self._tolerance(smooth))

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
        objective = _rounded_off(objective)
        unit, event = self._unit_noise(objective, budget, copies)
        kind = _theorem(unit, event)
        fixed = objective
        if objective.l2 is None:
            longest = unit.expected_norm(objective.dimension) * objective.lipschitz
            aim = self.noise_length or min(5.0, objective.typical_norm / 4)
            fixed = objective.with_l2(neighbours.shifts * longest / aim)
        if fixed.strong_convexity <= 0:
            raise InvalidParameter(
                "l2", "greater than 0", objective.l2, "Leave it at 'auto', or try 1."
            )
        noise = scaled(unit, self.sensitivity(fixed, neighbours))
        return Calibration(
            self,
            fixed,
            budget,
            neighbours,
            f"output-perturbation.md#output-{kind}-exact",
            noise,
            None,
            self._tolerance(fixed),
            (event,),
            copies,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Minimise every objective, and add noise to the minimisers.

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
        return make_release(calibration, values, entropy, "coefficients")

    def as_published(self) -> "OutputPerturbation":
        """Return the mechanism as Wang, Kifer and Lee (2018) analyse it.

        Returns
        -------
        OutputPerturbation
            This mechanism, unchanged.
        """
        return self

    def with_noise(self, noise: NoiseChoice) -> "OutputPerturbation":
        """Return the mechanism with another choice of noise for (epsilon, delta).

        Parameters
        ----------
        noise : {"shorter", "composable", "gaussian"}
            Choice of noise.

        Returns
        -------
        OutputPerturbation
            The same settings with this noise.
        """
        return replace(self, noise=noise)

    def profile(self, calibration: Calibration) -> Callable[[float], float] | None:
        """Return None, because this mechanism provides no function that bounds delta.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.

        Returns
        -------
        callable or None
            Always None.
        """
        return None

    def _unit_noise(
        self, objective: Objective, budget: Budget, copies: int
    ) -> tuple[UnitNoise, Event]:
        if self.noise == "gaussian":
            return unit_noise(budget, copies)
        composable = self.noise == "composable"
        return shorter_unit_noise(
            budget, copies, objective.dimension, composable=composable
        )

    def _tolerance(self, objective: Objective) -> float:
        if self.tolerance is not None:
            return solver_tolerance(objective, self.tolerance)
        usual = solver_tolerance(objective, USUAL_TOLERANCE)
        return max(usual, certain_tolerance(objective))


def _theorem(noise: UnitNoise, event: Event) -> str:
    if noise.kind == Gaussian.kind:
        return "gaussian"
    return "spherical" if as_pure((event,)) is None else "pure"


USUAL_TOLERANCE = 1e-9
HINGE_WIDTH = 0.001


def _rounded_off(objective: Objective) -> Objective:
    """Replace the hinge loss by a smooth version with a narrow parabola at the kink."""
    if not is_hinge(objective.loss):
        return objective
    return replace(objective, loss=HuberizedHinge(HINGE_WIDTH))


def _one(calibration: Calibration, rows: Rows, entropy: Entropy) -> Array:
    objective = calibration.objective
    origin = np.zeros(objective.dimension)
    exact = minimise(objective, rows, origin, calibration.tolerance).theta
    noised = publish(exact, calibration.noise, entropy)
    if objective.constraint is None:
        return noised
    return objective.constraint.project(noised)
