"""Joint calibration of two fits to the same rows under one budget."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from confide.accounting import (
    ORDERS,
    ApproxEvent,
    Event,
    approx_delta,
    sum_delta,
)
from confide.errors import InvalidParameter
from confide.mechanisms.base import Calibration
from confide.mechanisms.objective.calibration import (
    gaussian_bounds,
    replace_one_bound,
    smallest_scale,
)
from confide.mechanisms.objective.minimiser import solver_noise_for
from confide.mechanisms.objective.perturbation import ObjectivePerturbation
from confide.noise import Gaussian
from confide.objectives import Objective
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    approx_to_zcdp,
    gaussian_mu,
    round_down,
)


@dataclass(frozen=True, slots=True)
class TwoFits:
    """Calibrations of two fits to the same rows, with the privacy events of both together.

    ``alone`` is the budget of the second fit by itself, or None if only the joint cost of
    both fits is known.
    """

    first: Calibration
    second: Calibration
    events: tuple[Event, ...]
    alone: Budget | None


@dataclass(frozen=True, slots=True)
class TwoFitSpec:
    """Two fits to the same rows, to be calibrated for one or more budgets."""

    look: ObjectivePerturbation
    rough: Objective
    final: Objective
    neighbours: Neighbours
    copies: int

    def first(self, budget: Budget) -> Calibration:
        """Calibrate the first fit."""
        return self._one(self.rough, budget)

    def second(self, budget: Budget) -> Calibration:
        """Calibrate the second fit."""
        return self._one(self.final, budget)

    def _one(self, objective: Objective, budget: Budget) -> Calibration:
        return self.look.calibrate(objective, budget, self.neighbours, copies=self.copies)


@lru_cache(maxsize=256)
def split_budget(task: TwoFitSpec, budget: Budget, share: Fraction) -> TwoFits:
    """Calibrate both fits for one joint budget.

    Pure and zCDP budgets are divided. For (epsilon, delta) there are three methods: divide
    epsilon and delta, divide a zCDP budget that implies them, or bound the joint privacy
    loss of both fits. The method with the least noise and ridge in the second fit is used.
    """
    if not isinstance(budget, Approx):
        return _cut(task, budget, share)
    ways: tuple[Callable[[], TwoFits], ...] = (
        lambda: _cut(task, budget, share),
        lambda: _cut(task, approx_to_zcdp(budget.epsilon, budget.delta), share),
        lambda: _together(task, budget, share),
    )
    found: list[tuple[TwoFits, list[warnings.WarningMessage]]] = []
    refusal: InvalidParameter | None = None
    for way in ways:
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found.append((way(), said))
        except InvalidParameter as error:
            refusal = refusal or error
    if refusal is not None and not found:
        raise refusal
    best, said = min(found, key=lambda pair: _effort(task, pair[0].second))
    for one in said:
        warnings.warn(one.message, stacklevel=2)
    return best


def _effort(task: TwoFitSpec, second: Calibration) -> float:
    """Return the combined effect of noise and ridge on the gradient of the second fit.

    This is E‖b‖ + Λ·‖θ‖ with a guess at ‖θ‖.
    """
    noise = second.noise.expected_norm(task.final.dimension)
    ridge = second.objective.strong_convexity
    return noise + ridge * (task.look.coef_norm_guess or task.final.typical_norm)


def _cut(task: TwoFitSpec, budget: Budget, share: Fraction) -> TwoFits:
    rest = budget.share(1 - share)
    first, second = task.first(budget.share(share)), task.second(rest)
    return TwoFits(first, second, (*first.events, *second.events), rest)


def _together(task: TwoFitSpec, budget: Approx, share: Fraction) -> TwoFits:
    """Calibrate Gaussian noise for both fits by a bound on the sum of their privacy losses.

    ``share`` is a share of μ², where μ is the parameter of Gaussian DP that the budget
    allows. The ridges are those for a divided budget. Both noise scales start at what the
    gradients alone require, and are increased by a common factor until the joint delta is
    within the budget.
    """
    look = task.look.with_noise("gaussian")
    cut = _cut(replace(task, look=look), budget, share)
    precise = task.look.precision_share
    main = budget.share(1 - precise)
    epsilon, delta = round_down(main.epsilon), round_down(main.delta)
    whole = gaussian_mu(main.epsilon, main.delta) / math.sqrt(task.copies)
    scales = [
        task.neighbours.shifts * task.final.lipschitz / (whole * math.sqrt(float(part)))
        for part in (share, 1 - share)
    ]
    objectives = (cut.first.objective, cut.second.objective)

    def cost(factor: float) -> float:
        laid = [factor * scale for scale in scales]
        return _sum_cost(task, objectives, laid, epsilon)

    try:
        factor = smallest_scale(cost, delta, 1.0)
    except OverflowError:
        hint = "Leave it at 'auto', or try a larger value."
        raise InvalidParameter(
            "l2", "larger for this budget", task.final.l2, hint
        ) from None
    looks: list[Calibration] = []
    events: list[Event] = [ApproxEvent(main.epsilon, main.delta)]
    for one, scale, part in zip(
        (cut.first, cut.second), scales, (share, 1 - share), strict=True
    ):
        solver_noise, event = solver_noise_for(
            budget.share(precise).share(part), one.tolerance, task.copies
        )
        looks.append(
            replace(one, noise=Gaussian(factor * scale), solver_noise=solver_noise)
        )
        events.append(event)
    return TwoFits(looks[0], looks[1], tuple(events), None)


def _sum_cost(
    task: TwoFitSpec,
    objectives: tuple[Objective, Objective],
    scales: list[float],
    epsilon: float,
) -> float:
    """Return the joint delta at epsilon of both fits, for all objectives together."""
    pairs = list(zip(objectives, scales, strict=True))
    if task.neighbours is Neighbours.ADD_REMOVE:
        present = [gaussian_bounds(one, scale)[0] for one, scale in pairs]
        return sum_delta(present, task.copies, epsilon)
    curves = [replace_one_bound(one, scale).renyi(ORDERS) for one, scale in pairs]
    return approx_delta(ORDERS, task.copies * np.sum(curves, axis=0), epsilon)
