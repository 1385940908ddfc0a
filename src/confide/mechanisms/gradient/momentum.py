"""Gradient descent with momentum and noisy gradients of all rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from confide.data.rows.in_memory import Rows
from confide.mechanisms.base import MECHANISMS, checked_copies, make_release
from confide.mechanisms.gradient.calibration import (
    GradientCalibration,
    GradientSettings,
    calibrate_gradients,
    check_gradient_settings,
)
from confide.mechanisms.gradient.iterations import (
    Pace,
    ProximalDescent,
    check_averaged,
    least_scale,
    longest_step,
)
from confide.mechanisms.gradient.noisy_gradient import noisy_gradient
from confide.mechanisms.gradient.ssadmm import PAGE, SUM
from confide.mechanisms.needs import EXACT_PROX, SEVERAL_RESPONSES, Need, check_needs
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours


@MECHANISMS.register("momentum")
@dataclass(frozen=True, slots=True)
class MomentumDescent:
    """Proximal gradient descent with momentum and noisy gradients of all rows.

    Guarantee    (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove the number of rows.
    Noise        Gaussian on the sum of clipped gradients in every step; under add-remove
                 also on the number of rows, for ``count_share`` of the budget.
    Proof        docs/proofs/gradient-mechanisms.md

    The sum of all step sizes is derived from the noise (docs/gradients.md). Step size and
    momentum are derived from this sum and the number of rows.

    Parameters
    ----------
    steps : int, default=200
        Number of steps, which share the budget. More steps cost time, not privacy, and aim
        at the same sum of step sizes.
    clip : float, optional
        Public bound on the norm of every record's gradient. Larger gradients are scaled
        down to this norm. A smaller bound means less noise and more bias. By default the
        bound that follows from the loss and the bounds on the data.
    averaged : float, default=0.5
        Share of the iterates, counted from the end, whose mean is released. With 0, the
        last iterate alone is released.
    ridge : float, optional
        Ridge used if ``l2="auto"``. By default 0.1/τ, where τ is the sum of step sizes
        that is derived from the noise (docs/gradients.md). Stopping after this total
        already acts like a ridge of 1/τ.
    count_share : Fraction, default=1/50
        Under add-remove, the share of the budget that is spent on a noisy count of the
        rows. It is a share of μ², where μ is the parameter of Gaussian DP.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms import MomentumDescent
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Approx, Neighbours
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> budget, relation = Approx(1, 1e-6), Neighbours.REPLACE_ONE
    >>> few, many = (
    ...     MomentumDescent(steps).calibrate(objective, budget, relation)
    ...     for steps in (100, 400)
    ... )
    >>> round(many.noise.scale / few.noise.scale)
    2

    Four times as many steps, with twice the noise, cost the same budget.
    """

    steps: int = 200
    clip: float | None = None
    averaged: float = 0.5
    ridge: float | None = None
    count_share: Fraction = Fraction(1, 50)

    name: ClassVar[str] = "momentum"
    needs: ClassVar[tuple[Need, ...]] = (EXACT_PROX, SEVERAL_RESPONSES)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "noisy-gradient-exact",)

    def __post_init__(self) -> None:
        check_gradient_settings(self)
        check_averaged(self.averaged)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> GradientCalibration:
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
        GradientCalibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        check_needs(type(self).__name__, self.needs, objective)
        settings = GradientSettings.of(self, PAGE + "noisy-gradient-exact")
        found = calibrate_gradients(settings, objective, budget, neighbours, copies)
        longest_step(objective)  # raises now if a public bound is missing
        return found

    def release(
        self, calibration: GradientCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Run the iteration with noisy gradients once for every objective.

        Parameters
        ----------
        calibration : GradientCalibration
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
        objective, scale, values = calibration.objective, 0.0, []
        for rows in checked_copies(tasks, calibration.copies):
            least = least_scale(objective, longest_step(objective))
            scale = scale or calibration.scale(rows, entropy, least)
            pace = Pace.of(calibration, scale)
            descent = ProximalDescent(objective, self.averaged, pace.momentum)
            gradient = noisy_gradient(calibration, rows, entropy)
            sizes = (pace.size,) * calibration.steps
            values.append(descent.run(gradient, sizes, scale))
        return make_release(calibration, values, entropy, SUM)
