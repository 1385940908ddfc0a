"""ADMM in which every x-step is objective perturbation with a certified solution."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter, NoiseChanged
from confide.mechanisms.base import (
    MECHANISMS,
    Calibration,
    check_whole,
    checked_copies,
    make_release,
)
from confide.mechanisms.gradient.iterations import least_scale
from confide.mechanisms.needs import (
    BOUNDED_SLOPE,
    EXACT_PROX,
    ONE_RESPONSE,
    SMOOTH_LOSS,
    WEIGHTED_RECORDS,
    Need,
    check_needs,
)
from confide.mechanisms.objective.minimiser import perturbed_minimiser
from confide.mechanisms.objective.perturbation import ObjectivePerturbation
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective, Ridge, prox
from confide.privacy import Budget, Neighbours

PAGE = "gradient-mechanisms.md#"


@dataclass(frozen=True, slots=True)
class AdmmObjectiveCalibration(Calibration):
    """Calibration of ADMM; ``inner`` is the objective perturbation of all x-steps."""

    inner: Calibration = field(kw_only=True)
    rho: float = field(kw_only=True)

    def check_rows(self, rows: Rows) -> None:
        """Reject tables whose shape would prevent an x-step from being certified."""
        self.inner.check_rows(rows)

    def split(self, x: Array, u: Array) -> tuple[Array, Array]:
        """Return the updated z and scaled dual variable u after a private x-step."""
        nonsmooth, constraint = self.objective.nonsmooth_part, self.objective.constraint
        z = prox(nonsmooth, constraint, x + u, 1 / self.rho)
        return z, x + u - z


@MECHANISMS.register("admm-objective")
@dataclass(frozen=True, slots=True)
class AdmmObjectivePerturbation:
    """ADMM with objective perturbation in every step, for Σφ(x) + r(z) with x = z.

    An x-step minimises Σφ + ⟨b + y − ρz, x⟩ + ½(Λ+ρ)‖x‖² with a new random b, where y is
    the dual variable.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, ridge, budget, and every setting below.
    Private      rows and targets, and under add-remove the number of rows.
    Noise        as in `ObjectivePerturbation`, for ``turns`` fits to the same rows.
    Proof        docs/proofs/gradient-mechanisms.md

    Parameters
    ----------
    turns : int, default=10
        Number of steps, which share the budget. More steps mean more noise in each.
    rho : float, optional
        Weight of the augmented term, for an objective that is a sum over records. By
        default the ridge that `ObjectivePerturbation` would choose.
    tolerance : float, optional
        Largest permitted distance of the solver's result from the exact minimiser. It is
        divided by the ridge if the ridge is below 1. By default so small that the noise
        covering it is below a tenth of the effect of the main noise, if that can be
        certified.
    precision_share : Fraction, default=1/100
        Share of the budget for the noise that covers the solver's tolerance.
    coef_norm_guess : float, default=20.0
        Public guess at ‖θ‖, which affects accuracy, never privacy.
    ridge : float, default=1.0
        Ridge used if ``l2="auto"``.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms import AdmmObjectivePerturbation
    >>> from confide.objectives import L1, Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0, penalty=L1(5.0))
    >>> relation = Neighbours.ADD_REMOVE
    >>> few, many = (
    ...     AdmmObjectivePerturbation(turns).calibrate(objective, Pure(1), relation)
    ...     for turns in (5, 10)
    ... )
    >>> round(many.noise.scale / few.noise.scale)
    2

    Twice as many steps double the noise in each step, because all share the budget.
    """

    turns: int = 10
    rho: float | None = None
    tolerance: float | None = None
    precision_share: Fraction = Fraction(1, 100)
    coef_norm_guess: float = 20.0
    ridge: float = 1.0

    name: ClassVar[str] = "admm-objective"
    needs: ClassVar[tuple[Need, ...]] = (
        SMOOTH_LOSS,
        BOUNDED_SLOPE,
        EXACT_PROX,
        ONE_RESPONSE,
        WEIGHTED_RECORDS,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "admm-objective-exact",
        *ObjectivePerturbation.theorems,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision_share", self.look.precision_share)
        check_whole("turns", self.turns)
        for name in ("rho", "ridge"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InvalidParameter(name, "positive and finite", value)

    @property
    def look(self) -> ObjectivePerturbation:
        """Objective perturbation with the settings of one x-step."""
        return ObjectivePerturbation(
            tolerance=self.tolerance,
            precision_share=self.precision_share,
            coef_norm_guess=self.coef_norm_guess,
        )

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> AdmmObjectiveCalibration:
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
        AdmmObjectiveCalibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        check_needs(type(self).__name__, self.needs, objective)
        fixed = objective.with_l2(self.ridge if objective.l2 is None else objective.l2)
        own = fixed.l2 or 0.0
        uneven = fixed.ridge - own
        penalty = Ridge(tuple(uneven.tolist())) if uneven.any() else None
        smooth = replace(fixed, penalty=penalty, l2=None)
        looks = self.turns * copies
        rho = self.rho
        if rho is None:
            chosen = self.look.calibrate(smooth, budget, neighbours, copies=looks)
            rho = chosen.objective.l2 or 0.0
        rho = max(rho, least_scale(fixed, 1.0))
        with warnings.catch_warnings():
            if self.rho is None:
                warnings.simplefilter("ignore", NoiseChanged)
            inner = self.look.calibrate(
                smooth.with_l2(own + rho), budget, neighbours, copies=looks
            )
        return AdmmObjectiveCalibration(
            self,
            fixed,
            budget,
            neighbours,
            PAGE + "admm-objective-exact",
            inner.noise,
            inner.solver_noise,
            inner.tolerance,
            inner.events,
            copies,
            inner=inner,
            rho=rho,
        )

    def release(
        self, calibration: AdmmObjectiveCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Alternate private x-steps and exact z-steps for every objective.

        Parameters
        ----------
        calibration : AdmmObjectiveCalibration
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
        values = [self._one(calibration, rows, entropy) for rows in paid]
        return make_release(
            calibration, values, entropy, "the linear term in every step of ADMM"
        )

    def _one(
        self, calibration: AdmmObjectiveCalibration, rows: Rows, entropy: Entropy
    ) -> Array:
        z, u = np.zeros((2, calibration.objective.dimension))
        for _ in range(self.turns):
            tilt = calibration.rho * (u - z)
            x = perturbed_minimiser(calibration.inner, rows, entropy, tilt)
            z, u = calibration.split(x, u)
        return np.array(z)
