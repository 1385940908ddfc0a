"""Objective perturbation: minimise the objective plus a random linear term."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, assert_never

import numpy as np
from scipy.optimize import minimize_scalar

from confide._types import Array
from confide.accounting import (
    Event,
    GaussianEvent,
    PureEvent,
    ZcdpEvent,
    as_pure,
    event_of,
)
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter, NoiseChanged
from confide.mechanisms.base import (
    BOUNDED_SLOPE,
    CASE_WEIGHTS,
    CONVEX_PENALTY,
    EXACT_PROX,
    MECHANISMS,
    OFFSETS,
    ONE_RESPONSE,
    SEVERAL_SCORES,
    SMOOTH_LOSS,
    WEIGHTED_RECORDS,
    Calibration,
    Need,
    NoiseChoice,
    check_needs,
    check_noise_choice,
    checked_copies,
    gaussian_shift_of,
    make_release,
    publish,
)
from confide.mechanisms.objective import calibration as calibration_rules
from confide.mechanisms.objective import multinomial
from confide.mechanisms.objective.calibration import Perturbation
from confide.mechanisms.objective.published_noise import published_noise
from confide.mechanisms.release import Release
from confide.mechanisms.tolerance import certain_tolerance, solver_tolerance
from confide.noise import Entropy, Gaussian, Noise, SphericalLaplace
from confide.noise.lattice import FARTHEST, approximate
from confide.objectives import Objective, check_guess, is_logistic, is_multinomial
from confide.objectives.twofold import Twofold
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    round_up,
)
from confide.privacy.budgets import exact
from confide.solvers import LONGEST_LINEAR, minimise

Analysis = Literal["coupled", "separate", "kst"]


@MECHANISMS.register("objective")
@dataclass(frozen=True, slots=True)
class ObjectivePerturbation:
    """Release the minimiser of Σφ + ⟨b,θ⟩ + r(θ) + ½ΣΛⱼθⱼ² with b random.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, ridge, budget, tolerance.
    Private      rows and targets, and under add-remove their number.
    Noise        spherical Laplace (pure; elsewhere where it is shorter) or Gaussian on the
                 linear term; then Gaussian or spherical Laplace of sensitivity
                 2·tolerance on the coefficients,
                 from ``precision_share`` of the budget, because a solver is not exact.
    Proof        docs/proofs/objective-perturbation.md, docs/proofs/finite-precision.md

    ``analysis`` is "coupled" (log-determinant and noise bounded together), "separate"
    (each by its own maximum) or "kst" (the constants of Kifer, Smith and Thakurta).
    ``tolerance`` is how close to the exact minimiser the solver must come, divided by a
    ridge below 1; None takes a distance that no noise shows (`solver_tolerance`).
    ``coef_norm_guess`` is a public guess of ‖θ‖ from which an automatic ridge is chosen,
    None that of the objective: it affects accuracy, never privacy. ``noise`` says what
    (epsilon, delta) buys by the coupled analysis: the "shorter" of spherical Laplace and
    Gaussian noise, the shorter that is "composable" (an epsilon alone, or Gaussian; it
    composes with other releases better than one epsilon and delta), or "gaussian" noise.
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
        """Choose noise and ridge from public facts alone."""
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
        _check_length(fixed, found.noise)
        share = budget.share(self.precision_share)
        if isinstance(share, Approx) and found.pure:
            share = Pure(share.epsilon)
        tolerance = solver_tolerance(fixed, self.tolerance)
        if self.tolerance is None:
            unit, _ = solver_noise_for(share, 1.0, copies)
            tolerance = _unseen_tolerance(fixed, found.noise, unit, tolerance)
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
        """Solve every task under its own noise and release the results together."""
        paid = checked_copies(tasks, calibration.copies)
        values = [perturbed_minimiser(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "linear term")

    def as_published(self) -> "ObjectivePerturbation":
        """Return the mechanism with noise and determinant paid for separately."""
        return replace(self, analysis="separate")

    def with_noise(self, noise: NoiseChoice) -> "ObjectivePerturbation":
        """Return the mechanism with this choice of noise under (epsilon, delta)."""
        return replace(self, noise=noise)

    def profile(self, calibration: Calibration) -> Callable[[float], float] | None:
        """Return a bound on delta at any epsilon under (epsilon, delta)."""
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
        """Say that this ridge is too small for the noise that a larger one would have."""
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
            f"l2 = {objective.l2:.3g} is so small that {found.kind} noise takes the place "
            f"of {ample.kind} noise: {longer:.2g} times what a large l2 would need. Leave "
            "l2 at 'auto', or raise it.",
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
        """Take the theorem's comfortable ridge, or the noise over a guess of ‖θ‖."""
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
        """Double a ridge until there is a noise for it: where delta is near to epsilon."""
        for _ in range(MOST_DOUBLINGS):
            try:
                return start, self._perturbation(start, budget, neighbours, copies)
            except InvalidParameter:
                start = start.with_l2(2 * (start.l2 or 0.0))
        return start, self._perturbation(start, budget, neighbours, copies)

    def _comfortable_ridge(
        self, objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> float:
        """Return the ridge at which the log-determinant part costs little or nothing."""
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
        """Minimise what ridge and noise pull at θ together: Λ·‖θ‖ + E‖b‖.

        A larger ridge leaves more of the budget to the noise, so the noise shrinks. The
        search runs under add-remove, whose calibration is quick; replace-one needs about
        twice the noise. Not so under zCDP, where it also needs a larger ridge.
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
"""A ridge of so many curvatures of a record costs no noise."""
NOTABLE = 1.05
"""Noise that is not longer by as much changes its kind without a warning."""
MEAN_LENGTHS = 1e4
"""How many times as long as usual a linear term may be under a constraint."""


def _check_length(objective: Objective, noise: Noise) -> None:
    """Refuse budgets whose linear terms may outgrow what is certified in a constraint.

    docs/proofs/finite-precision.md#publication.
    """
    usual = noise.expected_norm(objective.dimension)
    if objective.constraint is None or (
        MEAN_LENGTHS * usual <= LONGEST_LINEAR * objective.lipschitz
    ):
        return
    raise InvalidParameter(
        "budget",
        "large enough for a linear term that is at most 100,000 times as long as the "
        "gradient of one record",
        f"one that makes it {usual / objective.lipschitz:.2g} times as long",
        "Raise the budget, or leave out the constraint (coef_norm).",
    )


LEAST_NOISE = 2.0**14 / FARTHEST
"""A second noise is never smaller: its lattice would end before coefficients do."""
UNSEEN = 0.09
"""The second noise over the first, where arithmetic certifies as much."""
LINEAR_SHARE = 0.125
"""What the linear term may be off, as a share of the solver's own tolerance."""
ZERO_BELOW = 10.0
ZCDP_RIDGE = 0.5
"""The ridge under zCDP, over that at which pure noise of epsilon = √(2ρ) is free: noise
is within 11 % of what a shift alone needs, and less of it would not be worth its ridge."""


def _unseen_tolerance(
    objective: Objective, noise: Noise, unit: Noise, usual: float
) -> float:
    """Return a tolerance whose noise is below a tenth of the first noise, in any table.

    The linear term moves coefficients least where the most rows that there may be curve as
    much as they can, alike in all directions. ``unit`` is the second noise for a tolerance
    of 1. It is never more than the usual tolerance, nor less than what is certified.
    """
    size = objective.dimension
    most = MAX_ROWS * objective.smoothness / size + objective.strong_convexity
    wanted = UNSEEN * noise.deviation(size) / (most * unit.deviation(size))
    return min(usual, max(wanted, certain_tolerance(objective)))


def perturbed_minimiser(
    calibration: Calibration, rows: Rows, entropy: Entropy, tilt: Array | float = 0.0
) -> Array:
    """Draw both noises, solve in between, and return the private coefficients.

    ``tilt`` is a public linear term beside the random one.
    """
    objective, solver_noise = calibration.objective, calibration.solver_noise
    assert solver_noise is not None  # noqa: S101
    linear = linear_term(calibration, entropy) + tilt
    solved = minimise(objective, rows, linear, calibration.tolerance).theta
    noised = publish(solved, solver_noise, entropy)
    return _restore_zeros(objective, noised, solver_noise)


def linear_term(calibration: Calibration, entropy: Entropy) -> Twofold:
    """Return numbers near to a real-valued linear term: the second noise hides how far.

    A minimiser moves by 1/Λ of what the linear term does, so the distance allowed here is Λ
    times the allowance of `solver_noise_for`: docs/proofs/finite-precision.md.
    """
    objective = calibration.objective
    allowed = LINEAR_SHARE * calibration.tolerance * objective.strong_convexity
    noise = calibration.noise.sample(objective.dimension, entropy)
    found = approximate(noise, allowed)
    return Twofold.sum_of(found.value, found.rest)


def solver_noise_for(budget: Budget, tolerance: float, copies: int) -> tuple[Noise, Event]:
    """Noise that hides where a solver stops within the tolerance, from the small share.

    The sensitivity per copy is 2·tolerance, and as much again times `LINEAR_SHARE` for the
    distance of the linear term from a real-valued one.
    """
    reach = 2 * tolerance * (1 + LINEAR_SHARE)
    match budget:
        case Pure(epsilon=epsilon):
            scale = max(round_up(reach * copies / float(epsilon)), LEAST_NOISE)
            return SphericalLaplace(scale), PureEvent(epsilon)
        case Approx():
            event: Event = GaussianEvent(gaussian_shift_of(budget))
        case Zcdp(rho=rho):
            event = ZcdpEvent(rho)
        case _:
            assert_never(budget)
    scale = round_up(reach * math.sqrt(copies) / gaussian_shift_of(budget))
    return Gaussian(max(scale, LEAST_NOISE)), event


def _free_logistic_ridge(
    objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
) -> float:
    """Return a ridge at which the logistic log-determinant part costs next to nothing.

    For pure budgets and (epsilon, delta) under add-remove it costs nothing from there on
    by theorem. Elsewhere the factor was found by trying: noise is within 1 % of what a
    shift alone would need, with a small part of the ridge that a theorem asks for.
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


def _restore_zeros(objective: Objective, noised: Array, solver_noise: Noise) -> Array:
    """Restore what the small noise blurred, by looking at the noised vector alone."""
    value = noised
    if objective.nonsmooth_part is not None:
        reach = solver_noise.expected_norm(objective.dimension)
        reach = ZERO_BELOW * max(solver_noise.scale, reach / math.sqrt(objective.dimension))
        value = np.where(np.abs(value) <= reach, 0.0, value)
    if objective.constraint is not None:
        value = objective.constraint.project(value)
    return value
