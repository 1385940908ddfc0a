"""mpADMM: linearised ADMM with noise on the coefficients after every pass over the rows."""

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
    """Linearised ADMM over all rows, with noise on the coefficients after every step.

    Guarantee    (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove the number of rows.
    Noise        Gaussian on the coefficients x. This is equivalent to noise on the sum of
                 gradients, because x is a public affine function of that sum. The other
                 variables of ADMM, z and y, are computed from the noisy x.
    Sensitivity  clip/(N/step + N·rho + l2) for x, where N is the number of rows; twice that
                 under replace-one.
    Proof        docs/proofs/gradient-mechanisms.md

    `confide.mechanisms.published.PublishedMpAdmm` adds noise to x, z and y, as the paper
    does.

    Parameters
    ----------
    steps : int, default=300
        Number of steps, which share the budget. More steps cost time, not privacy.
    rho : float, default=0.02
        Weight of the augmented term in ADMM. A larger weight means shorter steps.
    step : float, optional
        First step size of the ``rule``. By default the inverse of the largest curvature of
        the loss of any one record.
    rule : {"epoch", "sqrt", "constant"}, optional
        How step sizes decrease: as 1/epoch, as 1/√k in step k, or not at all. By default,
        all steps have the same size: ``step`` if it is given, and otherwise a size derived
        from the noise (docs/gradients.md).
    clip : float, optional
        Public bound on the norm of every record's gradient. Larger gradients are scaled
        down to this norm. A smaller bound means less noise and more bias. By default the
        bound that follows from the loss and the bounds on the data.
    averaged : float, default=0.0
        Share of the iterates, counted from the end, whose mean is released. With 0, the
        last iterate alone is released.
    return_z : bool, optional
        Whether to release z, the output of the proximal map, instead of x. Only z has exact
        zeros. By default z is released if there is a penalty or a constraint.
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

    Four times as many steps, with twice the noise, cost the same budget.
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
        Steps(self.rule, self.step).longest(objective)
        settings = GradientSettings.of(self, PAGE + "noisy-gradient-exact")
        return calibrate_gradients(settings, objective, budget, neighbours, copies)

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
        admm = Admm(objective, self.rho, self.averaged, self.return_z)
        rule = Steps(self.rule, self.step)
        for rows in checked_copies(tasks, calibration.copies):
            least = least_scale(objective, 1 / self.rho)
            scale = scale or calibration.scale(rows, entropy, least)
            gradient = noisy_gradient(calibration, rows, entropy)
            values.append(admm.run(gradient, rule.of(calibration, scale), scale))
        return make_release(calibration, values, entropy, SUM)
