"""Proximal gradient descent with noisy gradients of random batches."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from confide.accounting import Method
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import MECHANISMS, checked_copies, make_release
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
from confide.mechanisms.needs import EXACT_PROX, SEVERAL_RESPONSES, Need, check_needs
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
    Private      rows and targets, and under add-remove the number of rows.
    Noise        Gaussian, as in `SsAdmm`.
    Proof        docs/proofs/gradient-mechanisms.md

    Parameters
    ----------
    epochs : float, default=20.0
        Number of passes over the rows. There are epochs/rate steps.
    rate : Fraction, default=1/200
        Share of the rows in a batch. Under replace-one, batches have a fixed size and are
        drawn without replacement. Under add-remove, each row is included in a batch with
        this probability. With a rate of 1, every batch consists of all rows.
    step : float, optional
        First step size of the ``rule``. By default the inverse of the largest curvature of
        the loss of any one record.
    rule : {"epoch", "sqrt", "constant"}, optional
        How step sizes decrease: as 1/epoch, as 1/√k in step k, or not at all. By default,
        all steps have the same size: ``step`` if it is given, and otherwise a size derived
        from the noise (docs/gradients.md).
    momentum : float, default=0.0
        Share of every movement that is added to the next one.
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
    accounting : str, default="best"
        Accounting method for random batches, as in `confide.accounting.epsilon_for`.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms import ProximalSgd
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Approx, Neighbours
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> mechanism = ProximalSgd(rate=1)
    >>> found = mechanism.calibrate(objective, Approx(1, 1e-6), Neighbours.REPLACE_ONE)
    >>> mechanism.steps, found.noise.kind
    (20, 'gaussian')

    Twenty epochs with all rows in every batch are twenty steps.
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
        """Number of steps."""
        return math.ceil(self.epochs / self.rate)

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
        kind = "noisy" if self.rate == 1 else "sampled"
        Steps(self.rule, self.step).longest(objective)
        settings = GradientSettings.of(self, f"{PAGE}{kind}-gradient-exact")
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
        descent = ProximalDescent(objective, self.averaged, self.momentum)
        rule = Steps(self.rule, self.step)
        for rows in checked_copies(tasks, calibration.copies):
            least = least_scale(objective, rule.longest(objective))
            scale = scale or calibration.scale(rows, entropy, least)
            gradient = noisy_gradient(calibration, rows, entropy)
            sizes = rule.of(calibration, scale, 1 - self.momentum)
            values.append(descent.run(gradient, sizes, scale))
        return make_release(calibration, values, entropy, SUM)
