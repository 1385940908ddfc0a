"""ADMM whose every x-step is objective perturbation, solved to a certificate."""

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
    BOUNDED_SLOPE,
    EXACT_PROX,
    MECHANISMS,
    ONE_RESPONSE,
    SMOOTH_LOSS,
    WEIGHTED_RECORDS,
    Calibration,
    Need,
    check_needs,
    check_whole,
    checked_copies,
    make_release,
)
from confide.mechanisms.gradient.iterations import least_scale
from confide.mechanisms.objective.perturbation import (
    ObjectivePerturbation,
    perturbed_minimiser,
)
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective, Ridge, prox
from confide.privacy import Budget, Neighbours

PAGE = "gradient-mechanisms.md#"


@dataclass(frozen=True, slots=True)
class AdmmObjectiveCalibration(Calibration):
    """The x-step as objective perturbation of its own: ``inner``, for all turns jointly."""

    inner: Calibration = field(kw_only=True)
    rho: float = field(kw_only=True)

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent, what no solver could certify."""
        self.inner.check_rows(rows)

    def split(self, x: Array, u: Array) -> tuple[Array, Array]:
        """Return z and the scaled dual u that follow a private x."""
        nonsmooth, constraint = self.objective.nonsmooth_part, self.objective.constraint
        z = prox(nonsmooth, constraint, x + u, 1 / self.rho)
        return z, x + u - z


@MECHANISMS.register("admm-objective")
@dataclass(frozen=True, slots=True)
class AdmmObjectivePerturbation:
    """ADMM for Σφ(x) + r(z), x = z, with objective perturbation in every x-step.

    An x-step minimises Σφ + ⟨b + y − ρz, x⟩ + ½(Λ+ρ)‖x‖² with a fresh random b.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, ridge, budget, and every setting below.
    Private      rows and targets, and under add-remove their number.
    Noise        that of `ObjectivePerturbation`, for ``turns`` of them on the same rows.
    Proof        docs/proofs/gradient-mechanisms.md

    ``rho`` weighs the augmented term of the sum; None takes the ridge that
    `ObjectivePerturbation` would choose. ``ridge`` is what l2="auto" stands for. The rest
    is as there.
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
        """What every x-step is made by."""
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
        """Choose the noise of every turn from public facts alone."""
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
        """Iterate every task under its own noise and release the results together."""
        paid = checked_copies(tasks, calibration.copies)
        values = [self._one(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "linear term of every x-step")

    def _one(
        self, calibration: AdmmObjectiveCalibration, rows: Rows, entropy: Entropy
    ) -> Array:
        z, u = np.zeros((2, calibration.objective.dimension))
        for _ in range(self.turns):
            tilt = calibration.rho * (u - z)
            x = perturbed_minimiser(calibration.inner, rows, entropy, tilt)
            z, u = calibration.split(x, u)
        return np.array(z)
