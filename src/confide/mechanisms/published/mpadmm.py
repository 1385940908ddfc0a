"""mpADMM with noise on x, z and y, as published: for comparison."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter, Unproved
from confide.mechanisms.base import MECHANISMS, checked_copies, make_release
from confide.mechanisms.gradient.calibration import (
    GradientCalibration,
    GradientSettings,
    calibrate_gradients,
    check_gradient_settings,
)
from confide.mechanisms.gradient.clipped_gradient import Gradient, clipped_gradient
from confide.mechanisms.gradient.iterations import (
    Admm,
    StepRule,
    Steps,
    check_averaged,
    first_of_tail,
    least_scale,
)
from confide.mechanisms.gradient.ssadmm import PAGE, SUM, check_rho
from confide.mechanisms.needs import (
    CONVEX_PENALTY,
    EXACT_PROX,
    SEVERAL_RESPONSES,
    Need,
    check_needs,
)
from confide.mechanisms.release import Release
from confide.noise import Entropy, Noise
from confide.objectives import Objective, prox
from confide.privacy import Budget, Neighbours, Status, effective_status

Sensitivity = Literal["corrected", "published"]
PUBLISHED_RHO = 0.5


def published_verdict(step: float) -> Status:
    """Return the status of the guarantee with the published sensitivity.

    The published sensitivity is 1/step times the true one.
    """
    return Status.REFUTED if step > 1 else Status.PROVED


def refusal(step: float) -> str:
    """Return the message of the error that rejects the published sensitivity."""
    return (
        f"mpADMM with the published sensitivity and step = {step:g} is REFUTED. The "
        "update of x divides by rho + 1/step, which is (1 + step·rho)/step. The published "
        f"bound omits the factor step, so the noise is {step:g} times too small. A pair of "
        "tables attains the true sensitivity (docs/proofs/gradient-mechanisms.md). Use "
        "sensitivity='corrected'; pass accept_unproved=True only for comparison."
    )


@MECHANISMS.register("mpadmm-published")
@dataclass(frozen=True, slots=True)
class PublishedMpAdmm:
    """Published mpADMM, with noise on x, z and y after every step.

    Guarantee    (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove the number of rows.
    Noise        Gaussian on the coefficients x and on the other variables of ADMM, z and y.
    Sensitivity  clip/(N/step + N·rho + l2) for x, where N is the number of rows; twice that
                 under replace-one.
    Proof        docs/proofs/gradient-mechanisms.md

    Parameters
    ----------
    steps : int, default=300
        Number of steps, which share the budget.
    rho : float, default=0.02
        Weight of the augmented term in ADMM. The paper uses `PUBLISHED_RHO`.
    step : float, optional
        First step size of the ``rule``. By default the inverse of the largest curvature of
        the loss of any one record.
    rule : {"total", "epoch", "sqrt", "constant"}, optional
        How step sizes decrease. The paper uses "constant".
    sensitivity : {"corrected", "published"}, default="corrected"
        "published" omits the factor ``step``. If the step exceeds 1, the noise is then too
        small. Such a setting is REFUTED and rejected without ``accept_unproved``.
    clip : float, optional
        Public bound on the norm of every record's gradient. Larger gradients are scaled
        down to this norm. A smaller bound means less noise and more bias. By default the
        bound that follows from the loss and the bounds on the data.
    averaged : float, default=0
        Share of the iterates, counted from the end, whose mean is released. With 0, the
        last iterate alone is released.
    return_z : bool, optional
        Whether to release z, the output of the proximal map, instead of x. Only z has exact
        zeros. By default z is released if there is a penalty or a constraint.
    ridge : float, optional
        Ridge used if ``l2="auto"``. By default 0.1/τ, where τ is the sum of step sizes
        that is derived from the noise (docs/gradients.md). Stopping after this total
        already acts like a ridge of 1/τ.
    count_share : float, str or Fraction, default=1/50
        Under add-remove, the share of the budget that is spent on a noisy count of the
        rows. It is a share of μ², where μ is the parameter of Gaussian DP.
    accept_unproved : bool, default=False
        Allow a mechanism whose guarantee has been refuted.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.
    Unproved
        The published sensitivity is too small, and ``accept_unproved`` is not set.

    Examples
    --------
    >>> from confide.mechanisms.published import PublishedMpAdmm
    >>> PublishedMpAdmm(steps=100).sensitivity
    'corrected'
    """

    steps: int = 300
    rho: float = 0.02
    step: float | None = None
    rule: StepRule | None = None
    sensitivity: Sensitivity = "corrected"
    clip: float | None = None
    averaged: float = 0.0
    return_z: bool | None = None
    ridge: float | None = None
    count_share: Fraction = Fraction(1, 50)
    accept_unproved: bool = False

    name: ClassVar[str] = "mpadmm-published"
    needs: ClassVar[tuple[Need, ...]] = (EXACT_PROX, CONVEX_PENALTY, SEVERAL_RESPONSES)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "mpadmm-sensitivity",)

    def __post_init__(self) -> None:
        check_gradient_settings(self)
        check_rho(self.rho)
        Steps(self.rule, self.step)
        check_averaged(self.averaged)
        if self.sensitivity not in ("corrected", "published"):
            must = "'corrected' or 'published'"
            raise InvalidParameter("sensitivity", must, self.sensitivity)
        if self.sensitivity == "published" and self.step is None:
            must = "'corrected' unless step is given"
            raise InvalidParameter("sensitivity", must, "published")
        if self.status is Status.REFUTED and not self.accept_unproved:
            raise Unproved(refusal(self.step or 0.0))

    @property
    def status(self) -> Status:
        """Status of the theorem, or REFUTED if the published sensitivity is too small."""
        found = Status.PROVED
        if self.sensitivity == "published":
            found = published_verdict(self.step or 0.0)
        return effective_status(self.theorems[0], found)[0]

    @property
    def growth(self) -> float:
        """Squared sensitivity of x, z and y together, divided by that of x alone."""
        return 1 + max(1.0, self.rho**2)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> GradientCalibration:
        """Choose the noise of every step from public information alone.

        Parameters
        ----------
        objective : Objective
            Loss, penalty and public bounds.
        budget : Pure, Approx or Zcdp
            Privacy budget, shared by all objectives.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.
        copies : int, default=1
            Number of objectives, fitted to the same rows, that share the budget.

        Returns
        -------
        GradientCalibration
            Noise and guarantee of the release.
        """
        check_needs(type(self).__name__, self.needs, objective)
        Steps(self.rule, self.step).longest(objective)
        settings = GradientSettings.of(self, self.theorems[0], self.growth)
        found = calibrate_gradients(settings, objective, budget, neighbours, copies)
        if self.status is not Status.REFUTED:
            return found
        return replace(found, status=self.status, events=())

    def release(
        self, calibration: GradientCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Run the iteration once for every objective, each time with new noise.

        Parameters
        ----------
        calibration : GradientCalibration
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
        objective, scale, values = calibration.objective, 0.0, []
        admm = Admm(objective, self.rho, self.averaged, self.return_z)
        rule, published = Steps(self.rule, self.step), self.sensitivity == "published"
        for rows in checked_copies(tasks, calibration.copies):
            least = least_scale(objective, 1 / self.rho)
            scale = scale or calibration.scale(rows, entropy, least)
            radius = calibration.trusted_radius
            exact = clipped_gradient(objective.loss, rows, calibration.clip, radius)
            noises = ThreeNoises(admm, calibration.noise, published=published)
            values.append(noises.run(exact, rule.of(calibration, scale), scale, entropy))
        return make_release(
            calibration, values, entropy, SUM + ", carried over to x, z and y"
        )


@dataclass(frozen=True, slots=True)
class ThreeNoises:
    """Variant of `Admm` with exact gradients, and noise on x, z and y after every step.

    ``noise`` is calibrated for the sum of gradients. In every step it is rescaled to the
    sensitivity of x, and added to x, z and y with this scale.
    """

    admm: Admm
    noise: Noise
    published: bool = False

    def run(
        self, gradient: Gradient, sizes: Iterable[float], scale: float, entropy: Entropy
    ) -> Array:
        """Run one iteration per step size, and return the coefficients."""
        admm, objective = self.admm, self.admm.objective
        rho, dimension = admm.rho, objective.dimension
        nonsmooth, constraint = objective.nonsmooth_part, objective.constraint
        ridge = objective.ridge / scale + rho
        x, z, y, total = np.zeros((4, dimension))
        lengths = tuple(sizes)
        first = first_of_tail(len(lengths), admm.averaged)
        for turn, size in enumerate(lengths):
            pull = x / size + rho * z - y - gradient(x) / scale
            x = pull / (ridge + 1 / size)
            before = y / rho
            z = prox(nonsmooth, constraint, x + before, 1 / (rho * scale))
            y = y + rho * (x - z)
            reach = self.reach(size, scale)
            x, z, y = np.stack([x, z, y]) + reach * self.noise.draw(
                3 * dimension, entropy
            ).reshape(3, dimension)
            if turn >= first:
                total += x + before if admm.wants_z else x
        total /= len(lengths) - first
        if not admm.wants_z:
            return total
        return prox(nonsmooth, constraint, total, 1 / (rho * scale))

    def reach(self, size: float, scale: float) -> float:
        """Return the sensitivity of x to a change of 1 in the sum of gradients."""
        weights = self.admm.objective.strong_convexity + scale * (self.admm.rho + 1 / size)
        return 1 / (weights * size) if self.published else 1 / weights
