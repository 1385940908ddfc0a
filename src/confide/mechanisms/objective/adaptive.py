"""Adaptive objective perturbation: a first private fit sets the weights of a second.

Both fits use the same rows and share one budget. Noise, ridges and privacy events are fixed
before the first fit, from public information alone (docs/proofs/adaptive-objective.md).
"""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from confide._types import Array
from confide.accounting import (
    as_pure,
    gaussian_part,
)
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter, NoiseChanged
from confide.mechanisms.base import MECHANISMS, Calibration, checked_copies, make_release
from confide.mechanisms.gradient.calibration import pair_distance
from confide.mechanisms.needs import (
    CASE_WEIGHTS,
    OFFSETS,
    SEVERAL_SCORES,
    Need,
    check_needs,
)
from confide.mechanisms.objective.ball import has_ball_bound
from confide.mechanisms.objective.minimiser import perturbed_minimiser
from confide.mechanisms.objective.perturbation import ObjectivePerturbation
from confide.mechanisms.objective.two_looks import TwoFitSpec, split_budget
from confide.mechanisms.release import NoiseRecord, Release
from confide.noise import Entropy, Noise
from confide.objectives import L1, ElasticNet, Objective, Ridge, has_exact_prox
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    gaussian_epsilon,
)
from confide.privacy.budgets import exact

FIRST_FIT = " of the first fit"


@dataclass(frozen=True, slots=True)
class AdaptiveCalibration(Calibration):
    """Calibration of the second fit, with the ``first`` fit and the joint cost of both.

    ``alone`` is the budget of the second fit by itself, or None if only the joint cost of
    both fits is known. ``precise`` is the share of every budget that is spent on the noise
    covering the tolerance of the solver.
    """

    mechanism: "AdaptiveObjectivePerturbation"
    first: Calibration = field(kw_only=True)
    alone: Budget | None = field(kw_only=True)
    precise: Fraction = field(kw_only=True)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Return descriptions of the noise in both fits, the second fit first."""
        before = [
            NoiseRecord(one.kind, one.scale, one.added_to + FIRST_FIT)
            for one in self.first.records(added_to)
        ]
        return (*Calibration.records(self, added_to), *before)

    @property
    def largest_ridge(self) -> float:
        """Largest ridge weight that any coefficient can have in the second fit."""
        most = 2 * self.mechanism.cap * float(_asked(self.objective).max())
        return max(float(self.objective.ridge.max()), most)

    def check_rows(self, rows: Rows) -> None:
        """Reject tables whose shape would prevent a fit from being certified."""
        self.first.check_rows(rows)
        Calibration.check_rows(self, rows)

    def retrieved(self, noise: Noise) -> float:
        """Return the share of the log-determinant's budget that the noise could use.

        In a fixed allocation, half of the budget of the second fit is reserved for the
        log-determinant term of the privacy loss (half of the joint budget if only that is
        known). The cost of the noise alone is compared with the other half. The result is 1
        if the log-determinant term costs nothing, and 0 if it costs half of the budget or
        more. The cost of the noise is computed for two opposite gradients. If it exceeds
        the budget, the noise was calibrated for coefficients in a ball, where the gradients
        of two records are closer, and the cost is then computed for two such gradients.
        """
        pairs: list[tuple[Objective, Noise]] = [(self.objective, noise)]
        if self.alone is None:
            pairs.append((self.first.objective, self.first.noise))
        whole = self.budget if self.alone is None else self.alone
        main = whole.share(1 - self.precise)
        reach = [self.neighbours.shifts * one.lipschitz / n.scale for one, n in pairs]
        shift = math.sqrt(self.copies) * math.hypot(*reach)
        match main:
            case Pure(epsilon=epsilon):
                used = self.copies * reach[0] / float(epsilon)
            case Zcdp(rho=rho):
                used = shift**2 / (2 * float(rho))
            case Approx(epsilon=epsilon) if as_pure(self.events[-2:]) is not None:
                used = self.copies * reach[0] / float(epsilon)
            case Approx(epsilon=epsilon, delta=delta):
                used = gaussian_epsilon(shift, float(delta)) / float(epsilon)
                if used > 1 and has_ball_bound(self.objective):
                    shift *= pair_distance(self.objective.public.margin_bound) / 2
                    used = gaussian_epsilon(shift, float(delta)) / float(epsilon)
        return min(1.0, max(0.0, 2 * used - 1))


Style = Literal["lasso", "bridge"]
PAGE = "adaptive-objective.md#"
ADAPTIVE_PENALTY = Need(
    "an l1 or elastic-net penalty, or none",
    lambda objective: (
        objective.penalty is None or isinstance(objective.penalty, L1 | ElasticNet)
    ),
    "use l1 or elastic net, or mechanism='objective'",
)
L1_PROX = Need(
    "a constraint that has an exact joint proximal map with l1",
    lambda objective: has_exact_prox(L1(1.0), objective.constraint),
    "use a ball, a box or nonnegative coefficients",
)


@MECHANISMS.register("adaptive")
@dataclass(frozen=True, slots=True)
class AdaptiveObjectivePerturbation:
    """Adaptive penalties: a private ridge fit sets the weights of an ℓ1 penalty.

    The first fit is `ObjectivePerturbation` with a ridge. Its private coefficients are θ¹.
    With style "lasso", the second fit minimises Σφ + ⟨b,θ⟩ + Σvⱼ|θⱼ| + ½Λ‖θ − θ¹‖², where b
    is random. If ``centred`` is false, the ridge term is ½Λ‖θ‖² instead. Only the ℓ1 part
    of an elastic net is weighted. With style "bridge", the second fit minimises
    Σφ + ⟨b,θ⟩ + ½ΣΛⱼθⱼ² with Λⱼ = 2·max(vⱼ, Λ/2), which gives no exact zeros. The weights
    are

        vⱼ = λⱼ · min(cap, (typical / |θ¹ⱼ|)^power),

    with λⱼ from the objective's penalty, so that an average coefficient has weight λⱼ. A
    good λⱼ is about the standard deviation of the noise in the second fit. Without a
    penalty all weights are 0, and the budget of the first fit is wasted.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, ridge, budget, share, tolerance.
    Private      rows and targets, and under add-remove the number of rows.
    Noise        as in `ObjectivePerturbation` for both fits, fixed before the first.
    Proof        docs/proofs/adaptive-objective.md

    Parameters
    ----------
    style : {"lasso", "bridge"}, default="lasso"
        Weighted ℓ1 penalty, or a weighted ridge.
    share : Fraction, default=1/4
        Share of the budget for the first fit.
    power : float, default=1.0
        Exponent of the weights. A larger exponent increases the contrast between the
        weights of small and large coefficients.
    cap : float, default=100.0
        Largest permitted ratio of a weight to the weight of an average coefficient.
    typical : float, optional
        Absolute value of an average coefficient; by default the mean of |θ¹ⱼ|.
    centred : bool, default=True
        Whether the ridge of the second fit shrinks towards the first fit instead of 0.
    tolerance : float, optional
        Largest permitted distance of the solver's result from the exact minimiser. It is
        divided by the ridge if the ridge is below 1. By default so small that the noise
        covering it is below a tenth of the effect of the main noise, if that can be
        certified.
    precision_share : Fraction, default=1/100
        Share of the budget for the noise that covers the solver's tolerance.
    coef_norm_guess : float, optional
        Public guess at ‖θ‖, used to choose an automatic ridge. The guess affects accuracy,
        never privacy. By default the typical norm that the objective assumes.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms import AdaptiveObjectivePerturbation
    >>> from confide.objectives import L1, Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0, penalty=L1(5.0))
    >>> mechanism = AdaptiveObjectivePerturbation()
    >>> found = mechanism.calibrate(objective, Pure(1), Neighbours.ADD_REMOVE)
    >>> round(found.first.noise.scale / found.noise.scale, 1)
    3.0

    With a quarter of the budget, the first fit has three times the noise of the second.
    """

    style: Style = "lasso"
    share: Fraction = Fraction(1, 4)
    power: float = 1.0
    cap: float = 100.0
    typical: float | None = None
    centred: bool = True
    tolerance: float | None = None
    precision_share: Fraction = Fraction(1, 100)
    coef_norm_guess: float | None = None

    name: ClassVar[str] = "adaptive"
    needs: ClassVar[tuple[Need, ...]] = (
        *(
            need
            for need in ObjectivePerturbation.needs
            if need not in (SEVERAL_SCORES, CASE_WEIGHTS, OFFSETS)
        ),
        ADAPTIVE_PENALTY,
        L1_PROX,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "adaptive-looks-exact",
        PAGE + "adaptive-sum-exact",
        *ObjectivePerturbation.theorems,
    )

    def __post_init__(self) -> None:
        if self.style not in ("lasso", "bridge"):
            raise InvalidParameter("style", "'lasso' or 'bridge'", self.style)
        share = exact(self.share, "share")
        object.__setattr__(self, "share", share)
        if not 0 < share < 1:
            raise InvalidParameter("share", "between 0 and 1", self.share)
        for name in ("power", "typical"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InvalidParameter(name, "positive and finite", value)
        if not 1 <= self.cap <= MAX_RELATIVE_WEIGHT:
            raise InvalidParameter(
                "cap", f"between 1 and {MAX_RELATIVE_WEIGHT:g}", self.cap
            )
        object.__setattr__(self, "precision_share", self.look.precision_share)

    @property
    def look(self) -> ObjectivePerturbation:
        """Objective perturbation with the settings of both fits."""
        return ObjectivePerturbation(
            tolerance=self.tolerance,
            precision_share=self.precision_share,
            coef_norm_guess=self.coef_norm_guess,
            noise="composable",
        )

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> AdaptiveCalibration:
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
        AdaptiveCalibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        check_needs(type(self).__name__, self.needs, objective)
        rough = replace(objective, penalty=None, l2=None)
        task = TwoFitSpec(self.look, rough, objective, neighbours, copies)
        looks = split_budget(task, budget, self.share)
        second = looks.second
        return AdaptiveCalibration(
            self,
            second.objective,
            budget,
            neighbours,
            PAGE + ("adaptive-looks-exact" if looks.alone else "adaptive-sum-exact"),
            second.noise,
            second.solver_noise,
            second.tolerance,
            looks.events,
            copies,
            first=looks.first,
            alone=looks.alone,
            precise=self.look.precision_share,
        )

    def release(
        self, calibration: AdaptiveCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Fit every objective twice, and release the results of the second fits.

        Parameters
        ----------
        calibration : AdaptiveCalibration
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
        values, weights, shares = [], [], []
        for rows in checked_copies(tasks, calibration.copies):
            rough = perturbed_minimiser(calibration.first, rows, entropy)
            found = self.weights(calibration, rough)
            second = self._second(calibration, found)
            tilt = self.tilt(calibration, rough)
            values.append(perturbed_minimiser(second, rows, entropy, tilt))
            weights.append(tuple(found.tolist()))
            shares.append(calibration.retrieved(second.noise))
        release = make_release(calibration, values, entropy, "linear term")
        return replace(release, retrieved=min(shares), weights=tuple(weights))

    def weights(self, calibration: Calibration, rough: Array) -> Array:
        """Return the weights vⱼ of the second fit.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.
        rough : ndarray
            Differentially private coefficients of the first fit.

        Returns
        -------
        ndarray
            Weight of every coefficient, which is post-processing of the first fit.
        """
        asked = _asked(calibration.objective)
        size = np.abs(rough)
        usual = self.typical
        if usual is None:
            usual = float(size[asked > 0].mean()) if (asked > 0).any() else 0.0
        least = usual * self.cap ** (-1 / self.power)
        if not least > 0:
            return asked
        return np.asarray(asked * (usual / np.maximum(size, least)) ** self.power)

    def tilt(self, calibration: Calibration, rough: Array) -> Array:
        """Return the linear term that centres the second ridge at the first fit.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.
        rough : ndarray
            Differentially private coefficients of the first fit.

        Returns
        -------
        ndarray
            Coefficients of the linear term, which are 0 if the ridge is not centred.
        """
        if self.style == "bridge" or not self.centred:
            return np.zeros(len(rough))
        return -(calibration.objective.l2 or 0.0) * rough

    def _second(
        self, calibration: AdaptiveCalibration, weights: Array
    ) -> AdaptiveCalibration:
        """Return the calibration of the second fit with the given weights.

        The noise is the one fixed before the first fit, or a smaller one if a larger ridge
        allows it.
        """
        objective = calibration.objective
        own = objective.penalty.ridge(1)[0] if objective.penalty is not None else 0.0
        floor = (objective.l2 or 0.0) + float(own)
        if self.style == "lasso":
            penalty = L1(tuple(weights.tolist()))
            final = replace(objective, l2=floor, penalty=penalty)
            return replace(calibration, objective=final)
        extra = np.maximum(2 * weights - floor, 0.0)
        final = replace(objective, l2=floor, penalty=Ridge(tuple(extra.tolist())))
        fixed = replace(calibration, objective=final)
        if calibration.alone is None or calibration.copies > 1 or not extra.min() > 0:
            return fixed
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoiseChanged)
                look, relation = self.look, calibration.neighbours
                again = look.calibrate(final, calibration.alone, relation)
        except InvalidParameter:
            return fixed
        lengths = [one.noise.expected_norm(final.dimension) for one in (again, fixed)]
        # Gaussian DP composes better than (epsilon, delta) of the same budget.
        covered = again.events == fixed.events[-2:] or gaussian_part(again.events[:1])[1]
        kept = covered and again.noise.kind == fixed.noise.kind
        shorter = kept and lengths[0] < lengths[1]
        return replace(fixed, noise=again.noise) if shorter else fixed


def _asked(objective: Objective) -> Array:
    """Return λⱼ, the requested weights of the ℓ1 part of the penalty."""
    nonsmooth = objective.nonsmooth_part
    weight = nonsmooth.weight if isinstance(nonsmooth, L1) else 0.0
    return np.array(np.broadcast_to(np.asarray(weight), objective.dimension), dtype=float)


MAX_RELATIVE_WEIGHT = 1e6
"""Largest permitted ``cap``."""
