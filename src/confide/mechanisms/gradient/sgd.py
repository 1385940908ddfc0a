"""Proximal gradient descent with noisy gradients of random batches."""

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
    ProximalDescent,
    StepRule,
    Steps,
    check_averaged,
    least_scale,
)
from confide.mechanisms.gradient.noisy_gradient import noisy_gradient
from confide.mechanisms.gradient.ssadmm import PAGE, SUM
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours


@MECHANISMS.register("sgd")
@dataclass(frozen=True, slots=True)
class ProximalSgd:
    """Proximal gradient descent with noisy gradients of random batches.

    Guarantee    (epsilon, delta), or zCDP at rate 1; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove their number.
    Noise        as in `SsAdmm`.
    Proof        docs/proofs/gradient-mechanisms.md

    ``momentum`` keeps that share of the last movement; the other settings are those of
    `SsAdmm`.
    """

    epochs: float = 20.0
    rate: Fraction = Fraction(1, 200)
    step: float | None = None
    rule: StepRule | None = None
    momentum: float = 0.0
    clip: float | None = None
    averaged: float = 0.5
    ridge: float | None = None
    count_share: Fraction = Fraction(1, 50)
    accounting: Method = "best"

    name: ClassVar[str] = "sgd"
    needs: ClassVar[tuple[Need, ...]] = (EXACT_PROX, SEVERAL_RESPONSES)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "noisy-gradient-exact",
        PAGE + "sampled-gradient-exact",
    )

    def __post_init__(self) -> None:
        check_gradient_settings(self)
        Steps(self.rule, self.step)
        check_averaged(self.averaged)
        if not 0 <= self.momentum < 1:
            raise InvalidParameter("momentum", "at least 0 and below 1", self.momentum)

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
        """Descend for every task under its own noise and release the results together."""
        objective, scale, values = calibration.objective, 0.0, []
        descent = ProximalDescent(objective, self.averaged, self.momentum)
        rule = Steps(self.rule, self.step)
        for rows in checked_copies(tasks, calibration.copies):
            least = least_scale(objective, rule.longest(objective))
            scale = scale or calibration.scale(rows, entropy, least)
            gradient = noisy_gradient(calibration, rows, entropy)
            sizes = rule.of(calibration, scale, 1 - self.momentum)
            values.append(descent.run(gradient, sizes, scale))
        return make_release(calibration, values, entropy, SUM)
