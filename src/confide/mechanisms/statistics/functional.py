"""The functional mechanism: noise on the coefficients of the objective itself."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.optimize import minimize_scalar

from confide._types import Array
from confide.accounting import PureEvent
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import MECHANISMS, Calibration, checked_copies, make_release
from confide.mechanisms.intervals.moments import ROUNDING_SLACK
from confide.mechanisms.needs import WEIGHTED_RECORDS, Need, check_needs
from confide.mechanisms.release import Release
from confide.mechanisms.statistics.sums import (
    BOUNDED_TARGET,
    NO_PENALTY,
    PAGE,
    SumReach,
    SumsCalibration,
    check_scales,
    pair_sensitivity,
    publish_pair,
    sufficient_statistics,
    within,
)
from confide.noise import Entropy, Laplace
from confide.objectives import Objective, is_squared
from confide.privacy import Budget, Neighbours, Pure, round_up

Constants = Literal["tight", "published"]
RIDGE = 4.0
"""Automatic ridge on the diagonal, in standard deviations of the noise."""
DROPPED_BELOW = 1e-8
POLYNOMIAL = Need(
    "the squared or the logistic loss, for which a quadratic polynomial is available",
    lambda objective: objective.loss.polynomial is not None,
    "use mechanism='objective'",
)


@dataclass(frozen=True, slots=True)
class Polynomial:
    """Quadratic loss ½κ⟨x,θ⟩² − qy⟨x,θ⟩ of a record.

    It is the squared loss, or the Taylor polynomial of the logistic loss.
    """

    curvature: float
    slope: float

    @classmethod
    def of(cls, objective: Objective) -> "Polynomial":
        """Return the constants κ and q for the loss of an objective."""
        return cls(*(objective.loss.polynomial or (0.0, 0.0)))


@MECHANISMS.register("functional")
@dataclass(frozen=True, slots=True)
class FunctionalMechanism:
    """Functional mechanism: minimise a polynomial whose coefficients have Laplace noise.

    The mechanism follows Zhang et al. (2012).

    Guarantee    pure; add-remove or replace-one.
    Public       bounds, ridge, budget.
    Private      rows and targets, and under add-remove the number of rows.
    Sensitivity  ℓ1 distance between the polynomials' coefficients for neighbouring tables:
                 ½κdX² + q√d·XB under add-remove for rows of norm X; at most twice that
                 under replace-one.
    Noise        Laplace on every coefficient; then a ridge of 4 standard deviations is
                 added, and directions without positive curvature are dropped.
    Proof        docs/proofs/sufficient-statistics.md

    Parameters
    ----------
    constants : {"tight", "published"}, default="tight"
        "tight" uses the sensitivity for rows of bounded norm. "published" uses that of the
        paper for rows whose entries may all be as large as X: under add-remove (dX + B)²/2
        for the squared loss, d²X²/8 + 3dX/2 for the logistic loss.

    Raises
    ------
    InvalidParameter
        ``constants`` has another value.

    Examples
    --------
    >>> from confide.mechanisms import FunctionalMechanism
    >>> from confide.objectives import Objective, Squared
    >>> from confide.privacy import Neighbours
    >>> objective = Objective(Squared(), dimension=3, row_norm=1.0, target_bound=1.0)
    >>> tight, published = (
    ...     FunctionalMechanism(one).sensitivity(objective, Neighbours.ADD_REMOVE)
    ...     for one in ("tight", "published")
    ... )
    >>> round(tight, 1), round(published, 1)
    (3.2, 8.0)

    Because the norm of rows is at most 1, less than half of the published noise is enough.
    """

    constants: Constants = "tight"

    name: ClassVar[str] = "functional"
    needs: ClassVar[tuple[Need, ...]] = (
        POLYNOMIAL,
        BOUNDED_TARGET,
        NO_PENALTY,
        WEIGHTED_RECORDS,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "sums-sensitivity",
        PAGE + "functional-sensitivity",
        PAGE + "functional-exact",
    )

    def __post_init__(self) -> None:
        if self.constants not in ("tight", "published"):
            raise InvalidParameter("constants", "'tight' or 'published'", self.constants)

    def sensitivity(self, objective: Objective, neighbours: Neighbours) -> float:
        """Return the ℓ1 sensitivity of the coefficients of the polynomial.

        Parameters
        ----------
        objective : Objective
            Loss and public bounds.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.

        Returns
        -------
        float
            Largest ℓ1 distance between the coefficients for neighbouring tables.
        """
        rule = _published if self.constants == "published" else _tight
        return rule(objective, neighbours) * (1 + ROUNDING_SLACK)

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
        Calibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        check_needs(type(self).__name__, self.needs, objective)
        if not isinstance(budget, Pure):
            raise InvalidParameter(
                "budget",
                "Pure for the functional mechanism",
                budget,
                "Use a Pure budget, or mechanism='ssp'.",
            )
        reach = copies * self.sensitivity(objective, neighbours)
        scale = round_up(reach / float(budget.epsilon))
        noise = Laplace(scale)
        check_scales(objective, noise, DIAGONAL)
        fixed = objective
        if objective.l2 is None:
            fixed = objective.with_l2(RIDGE * DIAGONAL * math.sqrt(2) * scale)
        return SumsCalibration(
            self,
            fixed,
            budget,
            neighbours,
            PAGE + "functional-exact",
            noise,
            None,
            math.inf,
            (PureEvent(budget.epsilon),),
            copies,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Add noise to the polynomial of every objective, and minimise it.

        Parameters
        ----------
        calibration : Calibration
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
        paid = checked_copies(tasks, calibration.copies)
        values = [_one(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "coefficients of the objective")


DIAGONAL = 2.0
"""Factor for the noise on the diagonal of M, because Mⱼⱼ is twice the coefficient of
θⱼ²."""


def _tight(objective: Objective, neighbours: Neighbours) -> float:
    """Return the sensitivity for rows of norm at most X."""
    shape, size = Polynomial.of(objective), objective.dimension
    longest, bound = objective.row_norm, objective.target_bound or 1.0
    one = shape.curvature / 2 * size * longest**2
    one += shape.slope * math.sqrt(size) * longest * bound
    if neighbours is Neighbours.ADD_REMOVE:
        return one

    def reach(log_weight: float) -> float:
        weight = math.exp(log_weight)
        both = math.hypot(
            shape.curvature / 2 * size, shape.slope * math.sqrt(size) / weight
        )
        return pair_sensitivity(objective, weight, neighbours) * both

    best = minimize_scalar(reach, bounds=(-8.0, 8.0), method="bounded")
    return min(2 * one, reach(float(best.x)))


def _published(objective: Objective, neighbours: Neighbours) -> float:
    """Return the sensitivity of the paper, for rows with entries of at most X."""
    size, longest = objective.dimension, objective.row_norm
    if is_squared(objective.loss):
        one = (size * longest + (objective.target_bound or 1.0)) ** 2 / 2
    else:
        one = (size * longest) ** 2 / 8 + 1.5 * size * longest
    return neighbours.shifts * one


def noised_polynomial(
    calibration: Calibration, rows: Rows, entropy: Entropy
) -> tuple[Array, Array]:
    """Return M and c of ½θᵀMθ − cᵀθ, with independent noise on every coefficient."""
    objective = calibration.objective
    shape, reach = Polynomial.of(objective), SumReach.of(objective)
    gram, moment = sufficient_statistics(rows)
    row, column = np.triu_indices(objective.dimension)
    stretch = (np.where(row == column, DIAGONAL, 1.0), 1.0)
    sums = (shape.curvature * gram, shape.slope * moment)
    return publish_pair(sums, calibration.noise, stretch, reach, entropy)


def _one(calibration: Calibration, rows: Rows, entropy: Entropy) -> Array:
    objective = calibration.objective
    matrix, linear = noised_polynomial(calibration, rows, entropy)
    ridge = (objective.l2 or 0.0) * np.eye(len(linear))
    return within(objective, trimmed_minimum(matrix + ridge, linear))


def trimmed_minimum(matrix: Array, linear: Array) -> Array:
    """Minimise ½θᵀMθ − cᵀθ over the eigenvectors of M with positive eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > DROPPED_BELOW
    along = vectors[:, kept]
    return np.asarray(along @ ((along.T @ linear) / values[kept]))
