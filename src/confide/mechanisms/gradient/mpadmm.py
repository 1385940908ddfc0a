"""mpADMM: linearised ADMM with noise on the model after every pass over the rows."""

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
    Admm,
    StepRule,
    Steps,
    check_averaged,
    least_scale,
)
from confide.mechanisms.gradient.noisy_gradient import noisy_gradient
from confide.mechanisms.gradient.ssadmm import PAGE, SUM, check_rho
from confide.mechanisms.needs import EXACT_PROX, SEVERAL_RESPONSES, Need, check_needs
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours


@MECHANISMS.register("mpadmm")
@dataclass(frozen=True, slots=True)
class MpAdmm:
    """Linearised ADMM over all rows, with noise on the model after every step.

    Guarantee    (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove the number of rows.
    Noise        Gaussian on x. This is equivalent to noise on the sum of gradients, because
                 x is a public affine map of that sum. z and y are computed from noisy x.
    Sensitivity  of x, with N rows: clip/(N/step + N·rho + l2), twice that under
                 replace-one.
    Proof        docs/proofs/gradient-mechanisms.md

    `confide.mechanisms.published.PublishedMpAdmm` adds noise to x, z and y, as the paper
    does.

    Parameters
    ----------
    steps : int, default=300
        Number of steps. More steps cost time, not privacy.
    rho : float, default=0.02
        Weight of the augmented term. A larger weight means shorter steps.
    step : float, optional
        First step size of the ``rule``. By default the inverse of the largest curvature of
        a record.
    rule : {"epoch", "sqrt", "constant"}, optional
        How step sizes decrease: as 1/epoch, as 1/√k, or not at all. By default a total
        step size derived from the noise is divided evenly (docs/gradients.md).
    clip : float, optional
        Public bound on the length of every record's gradient. Longer gradients are
        shortened. A smaller bound means less noise and more bias. By default the bound that
        the loss implies.
    averaged : float, default=0.0
        Share of the iterates, counted from the last, whose mean is released.
    return_z : bool, optional
        Whether to release z instead of x. z is the output of the proximal map and has exact
        zeros. By default z is released if there is a penalty or a constraint.
    ridge : float, optional
        Ridge for ``l2="auto"``. By default 0.1/τ, where τ is the total step size. Stopping
        after τ already acts like a ridge of 1/τ.
    count_share : Fraction, default=1/50
        Share of the squared Gaussian shift that is spent on a noisy number of rows, under
        add-remove.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms import MpAdmm
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Approx, Neighbours
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> budget, relation = Approx(1, 1e-6), Neighbours.REPLACE_ONE
    >>> few, many = (
    ...     MpAdmm(steps).calibrate(objective, budget, relation)
    ...     for steps in (100, 400)
    ... )
    >>> round(many.noise.scale / few.noise.scale)
    2

    Four times the steps with twice the noise cost the same budget.
    """

    steps: int = 300
    rho: float = 0.02
    step: float | None = None
    rule: StepRule | None = None
    clip: float | None = None
    averaged: float = 0.0
    return_z: bool | None = None
    ridge: float | None = None
    count_share: Fraction = Fraction(1, 50)

    name: ClassVar[str] = "mpadmm"
    needs: ClassVar[tuple[Need, ...]] = (EXACT_PROX, SEVERAL_RESPONSES)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "noisy-gradient-exact",)

    def __post_init__(self) -> None:
        check_gradient_settings(self)
        check_rho(self.rho)
        Steps(self.rule, self.step)
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
            Neighbour relation to protect.
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
            There is no noise for this budget, neighbour relation or ridge.
        """
        check_needs(type(self).__name__, self.needs, objective)
        Steps(self.rule, self.step).longest(objective)
        settings = GradientSettings.of(self, PAGE + "noisy-gradient-exact")
        return calibrate_gradients(settings, objective, budget, neighbours, copies)

    def release(
        self, calibration: GradientCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Run the iteration with noisy gradients for every copy.

        Parameters
        ----------
        calibration : GradientCalibration
            Result of `calibrate`.
        tasks : iterable of Rows
            Private rows of every copy, with the target of that copy.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Private coefficients with their guarantee.
        """
        objective, scale, values = calibration.objective, 0.0, []
        admm = Admm(objective, self.rho, self.averaged, self.return_z)
        rule = Steps(self.rule, self.step)
        for rows in checked_copies(tasks, calibration.copies):
            least = least_scale(objective, 1 / self.rho)
            scale = scale or calibration.scale(rows, entropy, least)
            gradient = noisy_gradient(calibration, rows, entropy)
            values.append(admm.run(gradient, rule.of(calibration, scale), scale))
        return make_release(calibration, values, entropy, SUM)
