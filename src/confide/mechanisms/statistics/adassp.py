"""AdaSSP: noisy sums and a ridge chosen by a private eigenvalue (Wang 2018)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from confide._types import Array
from confide.accounting import GaussianEvent
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import (
    MECHANISMS,
    Calibration,
    checked_copies,
    gaussian_shift_of,
    make_release,
    publish,
)
from confide.mechanisms.intervals.moments import ROUNDING_SLACK
from confide.mechanisms.needs import WEIGHTED_RECORDS, Need, check_needs
from confide.mechanisms.release import NoiseRecord, Release
from confide.mechanisms.statistics.sums import (
    BOUNDED_TARGET,
    NO_PENALTY,
    PAGE,
    SQUARED_LOSS,
    SumReach,
    SumsCalibration,
    add_pair_noise,
    balanced_weight,
    check_scales,
    pair_sensitivity,
    publish_pair,
    ridge_solution,
    sufficient_statistics,
    within,
)
from confide.noise import Entropy, Gaussian
from confide.noise.symmetric import ABOVE
from confide.objectives import Objective
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    gaussian_delta,
    round_down,
    round_up,
)
from confide.privacy.budgets import exact

EIGENVALUE = "smallest eigenvalue"
MOMENT = "moment"


@MECHANISMS.register("adassp")
@dataclass(frozen=True, slots=True)
class AdaSsp:
    """Sufficient statistics with an adaptive ridge.

    Sums are released as in `SufficientStatistics`. The ridge is chosen from a private
    estimate of the smallest eigenvalue of the Gram matrix.

    Guarantee    (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       bounds, budget, shares, the largest ridge.
    Private      rows and targets, and under add-remove the number of rows.
    Sensitivity  X² for the eigenvalue; for the sums as in `SufficientStatistics`.
    Proof        docs/proofs/sufficient-statistics.md

    The ridge ``l2`` of the objective is an upper bound on the chosen ridge.

    Parameters
    ----------
    constants : {"tight", "published"}, default="tight"
        "tight" calibrates the noise by exact accounting. "published" uses the noise of the
        paper: three equal shares of the budget, independent entries on and above the
        diagonal, and the classical rule for Gaussian noise. If exact accounting shows that
        this noise exceeds the budget, "published" is rejected.
    share : Fraction, default=1/10
        Share of the budget for the eigenvalue. It is a share of μ², where μ is the
        parameter of Gaussian DP.
    failure : float, default=0.05
        Permitted probability that the ridge is too small. A smaller value means a larger
        ridge.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms import AdaSsp
    >>> from confide.objectives import Objective, Squared
    >>> from confide.privacy import Approx, Neighbours
    >>> objective = Objective(Squared(), dimension=3, row_norm=1.0, target_bound=1.0)
    >>> found = AdaSsp().calibrate(objective, Approx(1, 1e-6), Neighbours.ADD_REMOVE)
    >>> round(found.objective.l2)
    31

    This is the largest ridge. The chosen ridge is smaller if the data vary enough in every
    direction.
    """

    constants: Literal["tight", "published"] = "tight"
    share: Fraction = Fraction(1, 10)
    failure: float = 0.05

    name: ClassVar[str] = "adassp"
    needs: ClassVar[tuple[Need, ...]] = (
        SQUARED_LOSS,
        BOUNDED_TARGET,
        NO_PENALTY,
        WEIGHTED_RECORDS,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "sums-sensitivity",
        PAGE + "eigenvalue-sensitivity",
        PAGE + "eigenvalue-certificate",
        PAGE + "adassp-exact",
    )

    def __post_init__(self) -> None:
        if self.constants not in ("tight", "published"):
            raise InvalidParameter("constants", "'tight' or 'published'", self.constants)
        object.__setattr__(self, "share", exact(self.share, "share"))
        if not 0 < self.share < 1:
            raise InvalidParameter("share", "between 0 and 1", self.share)
        if not 0 < self.failure < 1:
            raise InvalidParameter("failure", "between 0 and 1", self.failure)

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
        SumsCalibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        check_needs(type(self).__name__, self.needs, objective)
        if isinstance(budget, Pure):
            raise InvalidParameter(
                "budget",
                "Approx or Zcdp for AdaSSP",
                budget,
                "Use Approx(epsilon, delta), or mechanism='ssp'.",
            )
        if self.constants == "published":
            found = _published(objective, budget, neighbours, copies)
        else:
            found = self._tight(objective, gaussian_shift_of(budget), neighbours, copies)
        fixed = objective
        if objective.l2 is None:
            fixed = objective.with_l2(self._most(found.sums, objective.dimension))
        stretch = ABOVE * found.moment.scale / found.sums.scale
        check_scales(objective, found.sums, stretch)
        return SumsCalibration(
            self,
            fixed,
            budget,
            neighbours,
            PAGE + "adassp-exact",
            found.sums,
            None,
            math.inf,
            (GaussianEvent(found.shift),),
            copies,
            others=(
                NoiseRecord(Gaussian.kind, found.moment.scale, MOMENT),
                NoiseRecord(Gaussian.kind, found.eigenvalue.scale, EIGENVALUE),
            ),
        )

    def release(
        self, calibration: SumsCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Add noise to the sums of every objective, and solve for the coefficients.

        Parameters
        ----------
        calibration : SumsCalibration
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
        pairs = [self._one(calibration, rows, entropy) for rows in paid]
        values = [value for value, _ in pairs]
        found = make_release(calibration, values, entropy, "gram")
        return replace(found, ridges=tuple(ridge for _, ridge in pairs))

    def _tight(
        self, objective: Objective, shift: float, neighbours: Neighbours, copies: int
    ) -> "_Noises":
        weight = balanced_weight(objective)
        root = math.sqrt(copies)
        rest = shift * math.sqrt(1 - self.share)
        sums = round_up(root * pair_sensitivity(objective, weight, neighbours) / rest)
        alone = root * eigenvalue_sensitivity(objective)
        alone = round_up(alone / (shift * math.sqrt(self.share)))
        moment = Gaussian(round_up(sums / weight))
        return _Noises(Gaussian(sums), moment, Gaussian(alone), shift)

    def _most(self, sums: Gaussian, size: int) -> float:
        """Return a value that the largest eigenvalue of the noise matrix rarely exceeds."""
        if self.constants == "published":
            return sums.scale * math.sqrt(size * math.log(2 * size**2 / self.failure))
        tail = math.sqrt(2 * math.log(1 / self.failure))
        return sums.scale * (math.sqrt(2 * size) + tail)

    def _one(
        self, calibration: SumsCalibration, rows: Rows, entropy: Entropy
    ) -> tuple[Array, float]:
        objective = calibration.objective
        moment, eigenvalue = (Gaussian(record.scale) for record in calibration.others)
        statistics, reach = sufficient_statistics(rows), SumReach.of(objective)
        centre = np.array([smallest_eigenvalue(statistics[0])])
        (smallest,) = publish(centre, eigenvalue, entropy, reach.gram).tolist()
        smallest -= self._margin(calibration.budget, eigenvalue.scale)
        ridge = max(0.0, (objective.l2 or 0.0) - max(0.0, smallest))
        weight = calibration.noise.scale / moment.scale
        if self.constants == "published":
            sums = publish_pair(
                statistics, calibration.noise, (1.0, ABOVE / weight), reach, entropy
            )
        else:
            sums = add_pair_noise(statistics, calibration.noise, weight, reach, entropy)
        value = ridge_solution(*sums, ridge, least=calibration.noise.scale)
        return within(objective, value), ridge

    def _margin(self, budget: Budget, scale: float) -> float:
        """Return the safety margin that is subtracted from the released eigenvalue."""
        if self.constants == "published" and isinstance(budget, Approx):
            return scale * math.sqrt(math.log(6 / float(budget.delta)))
        return scale * math.sqrt(2 * math.log(1 / self.failure))


@dataclass(frozen=True, slots=True)
class _Noises:
    sums: Gaussian
    moment: Gaussian
    eigenvalue: Gaussian
    shift: float


def _published(
    objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
) -> _Noises:
    """Return the noise of the paper if exact accounting confirms the budget."""
    if not isinstance(budget, Approx) or neighbours is not Neighbours.ADD_REMOVE:
        raise InvalidParameter(
            "constants",
            "'tight' unless the budget is Approx and neighbours are add-remove",
            "published",
        )
    each = float(budget.epsilon) / 3
    unit = round_up(copies * math.sqrt(math.log(6 / float(budget.delta))) / each)
    shift = round_up(math.sqrt(3 * copies) / unit)
    if gaussian_delta(round_down(budget.epsilon), shift) > budget.delta:
        raise InvalidParameter(
            "constants",
            "'tight' for a budget this large, where the published rule fails",
            "published",
        )
    longest, bound = objective.row_norm, objective.target_bound or 1.0
    alone = unit * eigenvalue_sensitivity(objective)
    unit *= 1 + ROUNDING_SLACK
    gram = Gaussian(unit * longest**2)
    return _Noises(gram, Gaussian(unit * longest * bound), Gaussian(alone), shift)


ROUNDING = float(np.finfo(np.float64).eps) / 2
CERTIFIED = 8
"""Distance on both sides at which the computed eigenvalue is verified, in units of
(d+8)·2⁻⁵³ times the trace."""
TWICE_CERTIFIED = 32
"""Bound on the sum of the errors of the eigenvalues of two tables, in the same unit. It
includes the rounding errors of the verification."""


def eigenvalue_sensitivity(objective: Objective) -> float:
    """Bound the effect of one record on the computed smallest eigenvalue of G."""
    lost = TWICE_CERTIFIED * (objective.dimension + 8) * ROUNDING * MAX_ROWS
    return objective.row_norm**2 * (1 + ROUNDING_SLACK + lost)


def smallest_eigenvalue(gram: Array) -> float:
    """Return the smallest eigenvalue of a Gram matrix, to a proved precision.

    The eigenvalue computed by NumPy is verified by two Cholesky factorisations. If this
    fails, it is found by bisection: sufficient-statistics.md#eigenvalue-certificate.
    """
    size, trace = len(gram), float(np.trace(gram))
    step = CERTIFIED * (size + 8) * ROUNDING * trace
    low, high = -(2.0**-30) * trace, trace / size + step
    found = min(max(_guess(gram), low), high)
    if _is_definite(gram, found - step) and not _is_definite(gram, found + step):
        return found
    while high - low > 2 * step and low < (found := (low + high) / 2) < high:
        low, high = (found, high) if _is_definite(gram, found) else (low, found)
    return (low + high) / 2


def _guess(gram: Array) -> float:
    try:
        return float(np.linalg.eigvalsh(gram)[0])
    except np.linalg.LinAlgError:
        return 0.0


def _is_definite(gram: Array, shift: float) -> bool:
    """Whether gram − shift·I has a Cholesky factorisation in doubles."""
    lowered = gram.copy()
    np.fill_diagonal(lowered, gram.diagonal() - shift)
    try:
        np.linalg.cholesky(lowered)
    except np.linalg.LinAlgError:
        return False
    return True
