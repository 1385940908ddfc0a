"""Regularised least squares of Wu et al. (2016): output and objective perturbation."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from confide._types import Array
from confide.accounting import PureEvent
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import Calibration, checked_copies, make_release, publish
from confide.mechanisms.needs import EXACT_PROX, SMOOTH_LOSS, Need, check_needs
from confide.mechanisms.objective.minimiser import perturbed_minimiser, solver_noise_for
from confide.mechanisms.release import Release
from confide.mechanisms.statistics.sums import BOUNDED_TARGET, NO_PENALTY
from confide.noise import Entropy, SphericalLaplace
from confide.objectives import L2Ball, Objective, Squared, is_squared
from confide.privacy import Budget, Neighbours, Pure, Status, round_down, round_up
from confide.solvers import minimise

Constants = Literal["tight", "published"]


def check_setting(rows: int, radius: float, penalty: float | None) -> None:
    """Reject an invalid number of rows, radius or penalty."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InvalidParameter(
            "rows", "the public number of rows", rows, "Pass rows=3000, for example."
        )
    if not 0 < radius < math.inf:
        raise InvalidParameter("radius", "positive", radius)
    if penalty is not None and not 0 < penalty < math.inf:
        raise InvalidParameter("penalty", "positive", penalty)


def check_pure(budget: Budget) -> Pure:
    """Reject all budgets except pure epsilon, the only kind that the paper covers."""
    if isinstance(budget, Pure):
        return budget
    raise InvalidParameter(
        "budget", "Pure", budget, "For other budgets use mechanism='output' or 'objective'."
    )


def data_independent_penalty(dimension: int, rows: int, epsilon: float) -> float:
    """Return the ridge per row λ = √(d/(nε)), which does not depend on the data."""
    return math.sqrt(dimension / (rows * epsilon))


def in_a_ball(
    objective: Objective, rows: int, radius: float, penalty: float | None, epsilon: float
) -> Objective:
    """Return the problem of the paper: unclipped loss, a ball, and ridge nλ.

    With the squared loss the ridge is nλ/2, because the paper does not halve the squares.
    """
    squares = is_squared(objective.loss)
    ridge = objective.l2
    if ridge is None:
        chosen = penalty
        if chosen is None:
            chosen = data_independent_penalty(objective.dimension, rows, epsilon)
        ridge = rows * chosen / (2 if squares else 1)
    loss = Squared() if squares else objective.loss
    return replace(objective, loss=loss, constraint=L2Ball(radius), l2=ridge)


PRECISION_SHARE = Fraction(1, 100)


@dataclass(frozen=True, slots=True)
class RlsObjective:
    """Objective perturbation in a ball, after Algorithm 3 of Wu et al. (2016).

    The algorithm is corrected: the noise depends on ε′ and on the slope of the squared loss
    in the ball, and the increase of the ridge remains in the objective.
    `ObjectivePerturbation` needs less noise for the same guarantee. This class is for
    comparison with the paper.

    Guarantee    pure; add-remove or replace-one.
    Public       loss, bounds, number of rows, radius, penalty, budget, tolerance.
    Private      rows and targets.
    Noise        spherical Laplace of rate ε′/(2L), or ε′/L under add-remove, with
                 ε′ = ε − 2·log(1 + β/Λ). If ε′ is not positive, the ridge Λ is raised to
                 β/(e^{ε/4} − 1), so that ε′ = ε/2. L bounds the norm of the gradient of one
                 record, and β its curvature.
    Proof        docs/proofs/objective-perturbation.md (objective-separate, which needs the
                 logarithm in ε′ only once), docs/proofs/finite-precision.md

    Parameters
    ----------
    rows : int
        Public number of rows, which determines the ridge.
    radius : float, default=1.0
        Radius of the ball.
    penalty : float, optional
        Ridge per row λ. By default √(d/(nε)) for d coefficients and n rows. It is halved
        for the squared loss, because the paper does not halve the squares.
    tolerance : float, default=1e-9
        Largest permitted distance of the solver's result from the exact minimiser. It is
        divided by the ridge if the ridge is below 1.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms.published import RlsObjective
    >>> RlsObjective(rows=3000).radius
    1.0
    """

    rows: int
    radius: float = 1.0
    penalty: float | None = None
    tolerance: float = 1e-9

    name: ClassVar[str] = "rls-objective"
    needs: ClassVar[tuple[Need, ...]] = (
        SMOOTH_LOSS,
        EXACT_PROX,
        BOUNDED_TARGET,
        NO_PENALTY,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    theorems: ClassVar[tuple[str, ...]] = (
        "objective-perturbation.md#objective-separate-exact",
        "finite-precision.md#finite-precision",
    )

    def __post_init__(self) -> None:
        check_setting(self.rows, self.radius, self.penalty)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> Calibration:
        """Choose noise and ridge from public information alone.

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
        Calibration
            Noise and guarantee of the release.
        """
        check_needs(type(self).__name__, self.needs, objective)
        main = check_pure(budget).share(1 - PRECISION_SHARE)
        epsilon = float(main.epsilon) / copies
        fixed = in_a_ball(objective, self.rows, self.radius, self.penalty, epsilon)
        ridge = fixed.strong_convexity
        left = _left(epsilon, fixed) if ridge > 0 else 0.0
        if left <= 0:
            fixed = fixed.with_l2(fixed.smoothness / math.expm1(epsilon / 4))
            left = _left(epsilon, fixed)
        rate = left / (neighbours.shifts * fixed.lipschitz)
        tolerance = self.tolerance * max(1.0, 1 / fixed.strong_convexity)
        solver_noise, event = solver_noise_for(
            budget.share(PRECISION_SHARE), tolerance, copies
        )
        return Calibration(
            self,
            fixed,
            budget,
            neighbours,
            "objective-perturbation.md#objective-separate-exact",
            SphericalLaplace(round_up(1 / rate)),
            solver_noise,
            tolerance,
            (PureEvent(main.epsilon), event),
            copies,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Fit every objective with its own noise, and release the results together.

        Parameters
        ----------
        calibration : Calibration
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
        paid = checked_copies(tasks, calibration.copies)
        values = [perturbed_minimiser(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "linear term")


def _left(epsilon: float, fixed: Objective) -> float:
    """Return the part of epsilon left for the noise after the log-determinant term."""
    spent = 2 * math.log1p(fixed.smoothness / fixed.strong_convexity)
    return round_down(epsilon) - round_up(spent)


@dataclass(frozen=True, slots=True)
class RlsOut:
    """Output perturbation in a ball, with a ridge of √(d/(nε)) for each of the n rows.

    Guarantee    pure; add-remove or replace-one. No guarantee with ``oracle``.
    Public       loss, bounds, number of rows, radius, penalty, budget, tolerance.
    Private      rows and targets.
    Sensitivity  tight: 2L/Λ, where L bounds the norm of the gradient of one record in the
                 ball; published: 4(ρ + R)/(λn), where ρ is the Lipschitz constant in the
                 paper. For the squared loss with row norms and targets of at most 1, this
                 is (12R + 8)/(λn). Under add-remove both sensitivities are halved.
                 2·tolerance is added to both.
    Proof        docs/proofs/output-perturbation.md

    Parameters
    ----------
    rows : int
        Public number of rows n. This number only determines the ridge: a wrong number costs
        accuracy, not privacy.
    radius : float, default=1.0
        Radius R of the ball.
    penalty : float, optional
        Ridge per row λ. By default √(d/(nε)) with the number d of coefficients. This
        default does not depend on the data. The ridge is halved for the squared loss,
        because the paper does not halve the squares.
    constants : {"tight", "published"}, default="tight"
        Choice of the sensitivity. With "published" the noisy minimiser is released
        unchanged; with "tight" it is projected onto the ball.
    oracle : bool, default=False
        Declare that settings were tuned on the private data. Such a release has no
        guarantee and is for comparison only.
    tolerance : float, default=1e-9
        Largest permitted distance of the solver's result from the exact minimiser. It is
        divided by the ridge if the ridge is below 1.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms.published import RlsOut
    >>> RlsOut(rows=3000).constants
    'tight'
    """

    rows: int
    radius: float = 1.0
    penalty: float | None = None
    constants: Constants = "tight"
    oracle: bool = False
    tolerance: float = 1e-9

    name: ClassVar[str] = "rls-out"
    needs: ClassVar[tuple[Need, ...]] = (
        SMOOTH_LOSS,
        EXACT_PROX,
        BOUNDED_TARGET,
        NO_PENALTY,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    theorems: ClassVar[tuple[str, ...]] = (
        "output-perturbation.md#output-pure-exact",
        "output-perturbation.md#output-rls-exact",
    )

    def __post_init__(self) -> None:
        check_setting(self.rows, self.radius, self.penalty)
        if self.constants not in ("tight", "published"):
            raise InvalidParameter("constants", "'tight' or 'published'", self.constants)

    def sensitivity(self, fixed: Objective, neighbours: Neighbours) -> float:
        """Return the sensitivity of the minimiser in the ball.

        Parameters
        ----------
        fixed : Objective
            Objective with its ridge.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.

        Returns
        -------
        float
            Largest distance between minimisers of neighbouring tables, plus twice the
            solver's tolerance.
        """
        slack = 2 * self._tolerance(fixed)
        exact = neighbours.shifts * fixed.lipschitz / fixed.strong_convexity
        if self.constants == "tight":
            return exact + slack
        doubled = 2 if is_squared(fixed.loss) else 1
        steep, ridge = doubled * fixed.lipschitz, doubled * fixed.strong_convexity
        return neighbours.shifts * 2 * (steep + self.radius) / ridge + slack

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> Calibration:
        """Choose noise and ridge from public information alone.

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
        Calibration
            Noise and guarantee of the release.
        """
        check_needs(type(self).__name__, self.needs, objective)
        epsilon = float(check_pure(budget).epsilon) / copies
        fixed = in_a_ball(objective, self.rows, self.radius, self.penalty, epsilon)
        if fixed.strong_convexity <= 0:
            raise InvalidParameter("l2", "greater than 0", objective.l2)
        return Calibration(
            self,
            fixed,
            budget,
            neighbours,
            "output-perturbation.md#output-rls-exact",
            SphericalLaplace(round_up(self.sensitivity(fixed, neighbours) / epsilon)),
            None,
            self._tolerance(fixed),
            (PureEvent(check_pure(budget).epsilon),),
            copies,
            Status.REFUTED if self.oracle else Status.PROVED,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Fit every objective, add noise to each result, and release them together.

        Parameters
        ----------
        calibration : Calibration
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
        paid = checked_copies(tasks, calibration.copies)
        values = [self._one(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "coefficients")

    def _one(self, calibration: Calibration, rows: Rows, entropy: Entropy) -> Array:
        objective = calibration.objective
        origin = np.zeros(objective.dimension)
        exact = minimise(objective, rows, origin, calibration.tolerance).theta
        noised = publish(exact, calibration.noise, entropy)
        if self.constants == "published" or objective.constraint is None:
            return noised
        return objective.constraint.project(noised)

    def _tolerance(self, objective: Objective) -> float:
        return self.tolerance * max(1.0, 1 / objective.strong_convexity)
