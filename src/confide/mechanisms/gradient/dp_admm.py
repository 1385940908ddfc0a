"""DP-ADMM: consensus ADMM of several parties with noisy gradients."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from confide._types import AnyArray, Array
from confide.data.rows.in_memory import Rows
from confide.mechanisms.base import MECHANISMS, check_whole, checked_copies, make_release
from confide.mechanisms.gradient.calibration import (
    GradientCalibration,
    GradientSettings,
    calibrate_gradients,
    check_gradient_settings,
)
from confide.mechanisms.gradient.clipped_gradient import Gradient
from confide.mechanisms.gradient.iterations import (
    StepRule,
    Steps,
    check_averaged,
    first_of_tail,
    least_scale,
)
from confide.mechanisms.gradient.noisy_gradient import party_gradients
from confide.mechanisms.gradient.ssadmm import PAGE, check_rho
from confide.mechanisms.needs import EXACT_PROX, SEVERAL_RESPONSES, Need, check_needs
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective, prox
from confide.privacy import Budget, Neighbours


@MECHANISMS.register("dp-admm")
@dataclass(frozen=True, slots=True)
class DpAdmm:
    """Consensus ADMM of several parties, each of which adds noise to its messages.

    Guarantee    (epsilon, delta) or zCDP; add-remove or replace-one; also against anyone
                 who sees all messages of the parties.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove the number of rows.
    Noise        Gaussian on every party's sum of gradients in every step. Each sum needs as
                 much noise as a sum over all rows would, because a record belongs to only
                 one party.
    Proof        docs/proofs/gradient-mechanisms.md

    Under replace-one row i belongs to party i modulo ``parties``. Under add-remove row
    indices are not public, and each row is assigned to a random party.

    Parameters
    ----------
    parties : int, default=2
        Number of parties. With more parties, the total noise is larger.
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
    >>> from confide.mechanisms import DpAdmm
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Approx, Neighbours
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> budget, relation = Approx(1, 1e-6), Neighbours.REPLACE_ONE
    >>> few, many = (
    ...     DpAdmm(steps=steps).calibrate(objective, budget, relation)
    ...     for steps in (100, 400)
    ... )
    >>> round(many.noise.scale / few.noise.scale)
    2

    Four times as many steps, with twice the noise, cost the same budget.
    """

    parties: int = 2
    steps: int = 300
    rho: float = 0.02
    step: float | None = None
    rule: StepRule | None = None
    clip: float | None = None
    averaged: float = 0.0
    ridge: float | None = None
    count_share: Fraction = Fraction(1, 50)

    name: ClassVar[str] = "dp-admm"
    needs: ClassVar[tuple[Need, ...]] = (EXACT_PROX, SEVERAL_RESPONSES)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "dp-admm-exact",)

    def __post_init__(self) -> None:
        check_gradient_settings(self)
        check_rho(self.rho)
        Steps(self.rule, self.step)
        check_averaged(self.averaged)
        check_whole("parties", self.parties)

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
        settings = GradientSettings.of(self, PAGE + "dp-admm-exact")
        found = calibrate_gradients(settings, objective, budget, neighbours, copies)
        return replace(found, dealt=True)

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
        values: list[Array] = []
        scale, owner = 0.0, np.empty(0, dtype=np.int64)
        for rows in checked_copies(tasks, calibration.copies):
            if not values:
                least = least_scale(calibration.objective, 1 / self.rho)
                scale = calibration.scale(rows, entropy, least)
                owner = self._owners(rows.count, calibration.neighbours, entropy)
            parts = [rows.take(np.flatnonzero(owner == i)) for i in range(self.parties)]
            gradients = party_gradients(calibration, parts, entropy)
            values.append(self._consensus(calibration, gradients, scale))
        where = "sum of clipped gradients of every party"
        return make_release(calibration, values, entropy, where)

    def _owners(self, count: int, neighbours: Neighbours, entropy: Entropy) -> AnyArray:
        if neighbours is Neighbours.REPLACE_ONE:
            return np.arange(count) % self.parties
        return entropy.below(self.parties, count)

    def _consensus(
        self, calibration: GradientCalibration, gradients: Gradient, scale: float
    ) -> Array:
        """Run consensus ADMM.

        All parties are treated as if they had the same number of rows.
        """
        objective, rho = calibration.objective, self.rho
        own = scale / self.parties
        ridge = objective.ridge / scale + rho
        x, u = np.zeros((2, self.parties, objective.dimension))
        z, total = np.zeros((2, objective.dimension))
        louder = math.sqrt(self.parties)
        sizes = Steps(self.rule, self.step).of(calibration, scale, 1 / louder)
        first = first_of_tail(calibration.steps, self.averaged)
        for turn, size in enumerate(sizes):
            x = (x / size + rho * (z - u) - gradients(x) / own) / (ridge + 1 / size)
            ahead = x + u
            centre = ahead.mean(axis=0)
            z = prox(
                objective.nonsmooth_part, objective.constraint, centre, 1 / (rho * scale)
            )
            u = ahead - z
            if turn >= first:
                total += centre
        total /= calibration.steps - first
        return prox(
            objective.nonsmooth_part, objective.constraint, total, 1 / (rho * scale)
        )
