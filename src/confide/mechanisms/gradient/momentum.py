"""Gradient descent with momentum over all rows: few steps go far."""

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
    Pace,
    ProximalDescent,
    check_averaged,
    least_scale,
    longest_step,
)
from confide.mechanisms.gradient.noisy_gradient import noisy_gradient
from confide.mechanisms.gradient.ssadmm import PAGE, SUM
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
    Private      rows and targets, and under add-remove their number.
    Noise        Gaussian on the sum of gradients in every step, each of length ``clip`` at
                 most, or as the loss implies; under add-remove also on the number of rows,
                 from ``count_share`` of the squared shift.
    Proof        docs/proofs/gradient-mechanisms.md

    How far to go follows from the noise (docs/gradients.md), step length and momentum from
    that and from the number of rows. ``steps`` cost time, not privacy: more of them go the
    same way in smaller pieces. ``averaged`` is the share of the last steps whose mean is
    released. ``ridge`` is what l2="auto" stands for; None takes a tenth of what the
    limited path does by itself.
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
        """Choose the noise of every step from public facts alone."""
        check_needs(type(self).__name__, self.needs, objective)
        settings = GradientSettings.of(self, PAGE + "noisy-gradient-exact")
        found = calibrate_gradients(settings, objective, budget, neighbours, copies)
        longest_step(objective)  # What is not declared is asked for now, not later.
        return found

    def release(
        self, calibration: GradientCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Descend for every task under its own noise and release the results together."""
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
