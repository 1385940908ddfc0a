"""mpADMM: linearised ADMM whose model is perturbed after every sweep over the rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from confide.data.rows.in_memory import Rows
from confide.mechanisms.base import (
    EXACT_PROX,
    MECHANISMS,
    SEVERAL_RESPONSES,
    Need,
    check_needs,
    checked_copies,
    make_release,
)
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
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours


@MECHANISMS.register("mpadmm")
@dataclass(frozen=True, slots=True)
class MpAdmm:
    """Linearised ADMM over all rows; after every step the model gets noise.

    Guarantee    (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove their number.
    Noise        Gaussian on x, which is noise on the sum of gradients, for the step to x is
                 a public affine map of that sum; z and y are computed from the noisy x.
    Sensitivity  of x, with N rows: clip/(N/step + N·rho + l2), twice that under
                 replace-one.
    Proof        docs/proofs/gradient-mechanisms.md

    The settings are those of `SsAdmm`. `confide.mechanisms.published.PublishedMpAdmm` has
    noise on x, z and y, as the paper does.
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
        """Choose the noise of every step from public facts alone."""
        check_needs(type(self).__name__, self.needs, objective)
        Steps(self.rule, self.step).longest(objective)
        settings = GradientSettings.of(self, PAGE + "noisy-gradient-exact")
        return calibrate_gradients(settings, objective, budget, neighbours, copies)

    def release(
        self, calibration: GradientCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Iterate every task under its own noise and release the results together."""
        objective, scale, values = calibration.objective, 0.0, []
        admm = Admm(objective, self.rho, self.averaged, self.return_z)
        rule = Steps(self.rule, self.step)
        for rows in checked_copies(tasks, calibration.copies):
            least = least_scale(objective, 1 / self.rho)
            scale = scale or calibration.scale(rows, entropy, least)
            gradient = noisy_gradient(calibration, rows, entropy)
            values.append(admm.run(gradient, rule.of(calibration, scale), scale))
        return make_release(calibration, values, entropy, SUM)
