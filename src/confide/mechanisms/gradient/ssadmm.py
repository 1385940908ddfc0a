"""ssADMM: linearised ADMM driven by noisy gradients of random batches."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from confide.accounting import Method
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
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
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours

PAGE = "gradient-mechanisms.md#"
SUM = "sum of clipped gradients"
PUBLISHED_RHO = 0.25


@MECHANISMS.register("ssadmm")
@dataclass(frozen=True, slots=True)
class SsAdmm:
    """Linearised ADMM: noisy gradients of random batches, exact steps for the penalty.

    Guarantee    (epsilon, delta), or zCDP at rate 1; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove their number.
    Noise        Gaussian on the sum of a batch's gradients in every step, each of length
                 ``clip`` at most, or as the loss implies; under add-remove also on the
                 number of rows, from ``count_share`` of the squared shift.
    Proof        docs/proofs/gradient-mechanisms.md

    A batch holds the share ``rate`` of the rows: so many without replacement under
    replace-one, each by chance under add-remove; rate 1 is no sampling. There are
    ``epochs``/rate steps. By default they divide a total step that follows from the noise
    (docs/gradients.md). The published ``rule`` divides ``step`` (1/β if absent, the inverse
    of a record's largest curvature) by the "epoch"; "sqrt" divides it by √k, "constant" by
    nothing. ``rho`` weighs the augmented term; the default is the published value.
    ``return_z`` returns the copy of the coefficients that the penalty made, with exact
    zeros; by default where there is a penalty.
    ``averaged`` is the share of the last steps whose mean is released. ``ridge`` is what
    l2="auto" stands for; None takes a tenth of what the limited path does by itself.
    ``accounting`` chooses the noise for random batches: a method of `epsilon_for`.
    """

    epochs: float = 20.0
    rate: Fraction = Fraction(1, 200)
    rho: float = PUBLISHED_RHO
    step: float | None = None
    rule: StepRule | None = None
    clip: float | None = None
    averaged: float = 0.5
    return_z: bool | None = None
    ridge: float | None = None
    count_share: Fraction = Fraction(1, 50)
    accounting: Method = "best"

    name: ClassVar[str] = "ssadmm"
    needs: ClassVar[tuple[Need, ...]] = (EXACT_PROX, SEVERAL_RESPONSES)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "noisy-gradient-exact",
        PAGE + "sampled-gradient-exact",
    )

    def __post_init__(self) -> None:
        check_gradient_settings(self)
        check_rho(self.rho)
        Steps(self.rule, self.step)
        check_averaged(self.averaged)

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return math.ceil(self.epochs / self.rate)

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
        kind = "noisy" if self.rate == 1 else "sampled"
        Steps(self.rule, self.step).longest(objective)
        settings = GradientSettings.of(self, f"{PAGE}{kind}-gradient-exact")
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
            sizes = rule.of(calibration, scale)
            values.append(admm.run(gradient, sizes, scale))
        return make_release(calibration, values, entropy, SUM)


def check_rho(rho: float) -> None:
    """Refuse a weight of the augmented term that is none."""
    if not 0 < rho < math.inf:
        raise InvalidParameter("rho", "positive and finite", rho)
