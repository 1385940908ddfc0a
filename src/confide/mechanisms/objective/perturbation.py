"""Objective perturbation: minimise the objective plus a random linear term."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, assert_never

from scipy.optimize import minimize_scalar

from confide.accounting import (
    as_pure,
    event_of,
)
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter, NoiseChanged
from confide.mechanisms.base import (
    MECHANISMS,
    Calibration,
    NoiseChoice,
    check_noise_choice,
    checked_copies,
    make_release,
)
from confide.mechanisms.needs import (
    BOUNDED_SLOPE,
    CASE_WEIGHTS,
    CONVEX_PENALTY,
    EXACT_PROX,
    OFFSETS,
    ONE_RESPONSE,
    SEVERAL_SCORES,
    SMOOTH_LOSS,
    WEIGHTED_RECORDS,
    Need,
    check_needs,
)
from confide.mechanisms.objective import calibration as calibration_rules
from confide.mechanisms.objective import multinomial
from confide.mechanisms.objective.calibration import Perturbation
from confide.mechanisms.objective.minimiser import (
    check_linear_length,
    perturbed_minimiser,
    solver_noise_for,
    unseen_tolerance,
)
from confide.mechanisms.objective.published_noise import published_noise
from confide.mechanisms.release import Release
from confide.mechanisms.tolerance import solver_tolerance
from confide.noise import Entropy, SphericalLaplace
from confide.objectives import Objective, check_guess, is_logistic, is_multinomial
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
)
from confide.privacy.budgets import exact

Analysis = Literal["coupled", "separate", "kst"]


@MECHANISMS.register("objective")
@dataclass(frozen=True, slots=True)
class ObjectivePerturbation:
    """Objective perturbation: minimise the objective plus a random linear term.

    The release is the minimiser of Σφ + ⟨b,θ⟩ + r(θ) + ½ΣΛⱼθⱼ² with b random.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, ridge, budget, tolerance.
    Private      rows and targets, and under add-remove the number of rows.
    Noise        spherical Laplace (for pure budgets, or if it is smaller) or Gaussian on
                 the linear term; then Gaussian or spherical Laplace on the coefficients,
                 for a sensitivity of 2·tolerance and with ``precision_share`` of the
                 budget, because solvers are not exact.
    Proof        docs/proofs/objective-perturbation.md, docs/proofs/finite-precision.md

    Parameters
    ----------
    analysis : {"coupled", "separate", "kst"}, default="coupled"
        Derivation of the noise. "coupled" bounds the log-determinant and noise terms of the
        privacy loss jointly, "separate" bounds each by its own maximum, and "kst" uses the
        constants of Kifer, Smith and Thakurta (2012).
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
    noise : {"shorter", "composable", "gaussian"}, default="shorter"
        Noise for (epsilon, delta) with the coupled analysis. "shorter" is the smaller of
        spherical Laplace and Gaussian noise. "composable" is the smallest noise that
        composes well with other releases. "gaussian" is Gaussian noise.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms import ObjectivePerturbation
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> mechanism, relation = ObjectivePerturbation(), Neighbours.ADD_REMOVE
    >>> for epsilon in (1, 2):
    ...     found = mechanism.calibrate(objective, Pure(epsilon), relation)
    ...     print(round(found.noise.scale, 1))
    1.0
    0.5

    Twice the budget halves the noise. The noise is known before any row is read.
    """

    analysis: Analysis = "coupled"
    tolerance: float | None = None
    precision_share: Fraction = Fraction(1, 100)
    coef_norm_guess: float | None = None
    noise: NoiseChoice = "shorter"

    name: ClassVar[str] = "objective"
    needs: ClassVar[tuple[Need, ...]] = (
        SMOOTH_LOSS,
        BOUNDED_SLOPE,
        CONVEX_PENALTY,
        EXACT_PROX,
        ONE_RESPONSE,
        CASE_WEIGHTS,
        OFFSETS,
        WEIGHTED_RECORDS,
        SEVERAL_SCORES,
    )
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        "objective-perturbation.md#objective-pure-exact",
        "objective-perturbation.md#objective-logistic-exact",
        "objective-perturbation.md#objective-gaussian-add-remove-exact",
        "objective-perturbation.md#objective-gaussian-replace-one-exact",
        "objective-perturbation.md#objective-ball-exact",
        "objective-perturbation.md#objective-spherical-exact",
        "objective-perturbation.md#objective-joint-exact",
        "objective-perturbation.md#objective-separate-exact",
        "objective-perturbation.md#objective-nonsmooth",
        *multinomial.THEOREMS,
        "finite-precision.md#finite-precision",
        "finite-precision.md#publication",
    )

    def __post_init__(self) -> None:
        if self.analysis not in ("coupled", "separate", "kst"):
            raise InvalidParameter(
                "analysis", "'coupled', 'separate' or 'kst'", self.analysis
            )
        if self.tolerance is not None and not 0 < self.tolerance < math.inf:
            raise InvalidParameter("tolerance", "positive", self.tolerance)
        share = exact(self.precision_share, "precision_share")
        object.__setattr__(self, "precision_share", share)
        if not 0 < share < 1:
            raise InvalidParameter(
                "precision_share", "between 0 and 1", self.precision_share
            )
        check_guess(self.coef_norm_guess)
        check_noise_choice(self.noise)

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
        main = budget.share(1 - self.precision_share)
        fixed = objective
        if objective.l2 is None:
            fixed = self._with_automatic_ridge(objective, main, neighbours, copies)
        if fixed.strong_convexity <= 0:
            raise InvalidParameter(
                "l2", "greater than 0", objective.l2, "Leave it at 'auto', or try 1."
            )
        found = self._perturbation(fixed, main, neighbours, copies)
        if objective.l2 is not None:
            self._warn_of_another_noise(fixed, main, neighbours, copies)
        check_linear_length(fixed, found.noise)
        share = budget.share(self.precision_share)
        if isinstance(share, Approx) and found.pure:
            share = Pure(share.epsilon)
        tolerance = solver_tolerance(fixed, self.tolerance)
        if self.tolerance is None:
            unit, _ = solver_noise_for(share, 1.0, copies)
            tolerance = unseen_tolerance(fixed, found.noise, unit, tolerance)
        solver_noise, event = solver_noise_for(share, tolerance, copies)
        return Calibration(
            self,
            fixed,
            budget,
            neighbours,
            found.theorem,
            found.noise,
            solver_noise,
            tolerance,
            (found.event, event),
            copies,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Minimise every objective with its own random linear term.

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
        values = [perturbed_minimiser(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "linear term")

    def as_published(self) -> "ObjectivePerturbation":
        """Return the mechanism with separate bounds for noise and log-determinant.

        Returns
        -------
        ObjectivePerturbation
            The same settings with ``analysis="separate"``.
        """
        return replace(self, analysis="separate")

    def with_noise(self, noise: NoiseChoice) -> "ObjectivePerturbation":
        """Return the mechanism with another choice of noise for (epsilon, delta).

        Parameters
        ----------
        noise : {"shorter", "composable", "gaussian"}
            Choice of noise.

        Returns
        -------
        ObjectivePerturbation
            The same settings with this noise.
        """
        return replace(self, noise=noise)

    def profile(self, calibration: Calibration) -> Callable[[float], float] | None:
        """Return a function from epsilon to an upper bound on delta, if there is one.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.

        Returns
        -------
        callable or None
            The function for one objective, or None if the release is pure or the budget is
            not (epsilon, delta).
        """
        if not isinstance(calibration.budget, Approx) or as_pure(calibration.events):
            return None
        objective, scale = calibration.objective, calibration.noise.scale
        if calibration.noise.kind == SphericalLaplace.kind:
            rule = calibration_rules.spherical_profile
            return rule(objective, calibration.neighbours, scale)
        rules = multinomial if is_multinomial(objective.loss) else calibration_rules
        return rules.profile(objective, calibration.neighbours, scale)

    def _perturbation(
        self, objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> Perturbation:
        if is_multinomial(objective.loss):
            self._check_multinomial()
            return multinomial.perturbation(
                objective, budget, neighbours, copies, self.noise
            )
        if self.analysis == "kst":
            return self._kst(objective, budget, neighbours, copies)
        coupled = self.analysis == "coupled"
        match budget:
            case Pure():
                rule = calibration_rules.pure
                return rule(objective, budget, neighbours, copies, coupled=coupled)
            case Approx():
                return calibration_rules.approx(
                    objective,
                    budget,
                    neighbours,
                    copies,
                    coupled=coupled,
                    choice=self.noise if coupled else "gaussian",
                )
            case Zcdp():
                return calibration_rules.zcdp(
                    objective, budget, neighbours, copies, coupled=coupled
                )
            case _:
                assert_never(budget)

    def _warn_of_another_noise(
        self, objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> None:
        """Warn if a small ridge changes the noise distribution and increases the noise."""
        if self.analysis != "coupled":
            return
        found, ample = (
            self._perturbation(one, budget, neighbours, copies).noise
            for one in (objective, objective.with_l2(AMPLE_RIDGE * objective.smoothness))
        )
        size = objective.dimension
        longer = found.deviation(size) / ample.deviation(size)
        if found.kind == ample.kind or longer < NOTABLE:
            return
        warnings.warn(
            f"l2 = {objective.l2:.3g} is so small that {found.kind} noise replaces "
            f"{ample.kind} noise, and is {longer:.2g} times as large as with a large l2. "
            "Leave l2 at 'auto', or raise it.",
            NoiseChanged,
            stacklevel=3,
        )

    def _check_multinomial(self) -> None:
        if self.analysis != "coupled":
            raise InvalidParameter(
                "analysis", "'coupled' for the multinomial loss", self.analysis
            )

    def _kst(
        self, objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> Perturbation:
        if isinstance(budget, Zcdp) or neighbours is not Neighbours.ADD_REMOVE:
            raise InvalidParameter(
                "analysis",
                "'coupled' for zCDP budgets and for replace-one neighbours",
                self.analysis,
            )
        each = budget.share(Fraction(1, copies))
        found = published_noise(objective, each)
        return Perturbation(found.noise, found.theorem, event_of(budget))

    def _with_automatic_ridge(
        self, objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> Objective:
        """Return the objective with an automatic ridge.

        The ridge is the larger of `_comfortable_ridge` and the expected norm of the noise
        divided by a guess at ‖θ‖. For multinomial models, this quotient is multiplied by a
        constant.
        """
        if self.coef_norm_guess is not None:
            objective = replace(objective, coef_norm_guess=self.coef_norm_guess)
        start = objective.with_l2(
            self._comfortable_ridge(objective, budget, neighbours, copies)
        )
        start, found = self._first_that_holds(start, budget, neighbours, copies)
        if isinstance(budget, Approx) and found.pure:
            alone = Pure(budget.epsilon)
            return self._with_automatic_ridge(objective, alone, neighbours, copies)
        balanced = found.noise.expected_norm(objective.dimension) / objective.typical_norm
        if is_multinomial(objective.loss):
            balanced *= multinomial.NOISE_SHARE[type(budget)]
        return start.with_l2(max(start.l2 or 0.0, balanced))

    def _first_that_holds(
        self, start: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> tuple[Objective, Perturbation]:
        """Double the ridge until calibration succeeds.

        This can be necessary if delta is close to epsilon.
        """
        for _ in range(MOST_DOUBLINGS):
            try:
                return start, self._perturbation(start, budget, neighbours, copies)
            except InvalidParameter:
                start = start.with_l2(2 * (start.l2 or 0.0))
        return start, self._perturbation(start, budget, neighbours, copies)

    def _comfortable_ridge(
        self, objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> float:
        """Return a ridge with which the log-determinant term costs little or nothing."""
        if is_multinomial(objective.loss):
            return multinomial.comfortable_ridge(objective, budget, neighbours)
        if self.analysis == "coupled" and is_logistic(objective.loss):
            return _free_logistic_ridge(objective, budget, neighbours, copies)
        if self.analysis == "kst" and not isinstance(budget, Zcdp):
            return 2 * objective.smoothness / float(budget.epsilon) * copies * (1 + 1e-12)
        each = budget.share(Fraction(1, copies))
        return self._least_effort_ridge(objective, each, neighbours)

    def _least_effort_ridge(
        self, objective: Objective, budget: Budget, neighbours: Neighbours
    ) -> float:
        """Return the ridge Λ that minimises Λ·‖θ‖ + E‖b‖, the effects of ridge and noise.

        With a larger ridge the log-determinant term uses less of the budget, so the noise
        is smaller. The search uses add-remove, whose calibration is fast. Replace-one needs
        about twice the noise. Under zCDP it also needs a larger ridge and is used directly.
        """
        relation, times = Neighbours.ADD_REMOVE, neighbours.shifts
        if isinstance(budget, Zcdp):
            relation, times = neighbours, 1
        whole = math.sqrt(2 * budget.rho) if isinstance(budget, Zcdp) else budget.epsilon
        unit = objective.smoothness / math.expm1(min(float(whole), 700.0))

        def effort(log_factor: float) -> float:
            ridge = unit * math.exp(log_factor)
            found = self._perturbation(objective.with_l2(ridge), budget, relation, 1)
            pull = found.noise.expected_norm(objective.dimension)
            return ridge * objective.typical_norm + times * pull

        best = minimize_scalar(
            effort, bounds=(0.02, 8.0), method="bounded", options={"xatol": 0.05}
        )
        return unit * math.exp(float(best.x))


MOST_DOUBLINGS = 12
AMPLE_RIDGE = 1e6
"""A ridge, in units of the largest curvature of the loss of one record, with which the
log-determinant term is negligible."""
NOTABLE = 1.05
"""Least increase of the noise at which a change of its distribution causes a warning."""


ZCDP_RIDGE = 0.5
"""Ridge under zCDP, relative to the ridge with which the log-determinant term costs nothing
for pure noise with epsilon = √(2ρ). The noise is then within 11 % of what the gradients
alone require. A further reduction would not be worth the larger ridge."""


def _free_logistic_ridge(
    objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
) -> float:
    """Return a ridge with which the logistic log-determinant term costs almost nothing.

    For pure budgets, and for (epsilon, delta) under add-remove, a theorem shows that it
    costs nothing. In other cases the factor was found by experiment. The noise is then
    within 1 % of what the gradients alone require, and the ridge is much smaller than in
    the theorem.
    """
    shifts, slack = neighbours.shifts, 1 + 1e-12
    unit = copies * objective.row_square
    match budget:
        case Pure(epsilon=epsilon):
            return shifts * unit / float(epsilon) * slack
        case Approx(epsilon=epsilon):
            factor = 1.0 if neighbours is Neighbours.ADD_REMOVE else 3.0
            return factor * unit / float(epsilon) * slack
        case Zcdp(rho=rho):
            each = math.sqrt(2 * float(rho) / copies)
            return ZCDP_RIDGE * shifts * objective.row_square / each * slack
        case _:
            assert_never(budget)
