"""One budget for a selection and the fit that follows it, fixed before either."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from confide._types import Array
from confide.accounting import ORDERS, ApproxEvent, Event, approx_delta, sharp_renyi
from confide.errors import InvalidParameter
from confide.mechanisms import Calibration, Mechanism, ObjectivePerturbation
from confide.mechanisms.objective.calibration import (
    gaussian_bounds,
    replace_one_bound,
    smallest_scale,
)
from confide.mechanisms.objective.perturbation import solver_noise_for
from confide.noise import Gaussian
from confide.objectives import Objective
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    approx_to_zcdp,
    gaussian_mu,
    round_down,
)
from confide.selection.base import Selector, SelectorCalibration

SOME_ORDERS = ORDERS[150:450:3]
"""Every order gives a valid delta; between these the best one hardly changes."""


@lru_cache(maxsize=256)
def fit_beside_selection(
    mechanism: ObjectivePerturbation,
    objective: Objective,
    budget: Approx,
    neighbours: Neighbours,
    *,
    copies: int,
    share: Fraction,
) -> tuple[Zcdp, Calibration, tuple[Event, ...]]:
    """Return what the selection may spend, the fit beside it, and what both are together.

    The selection gets ``share`` of the zCDP budget that would imply the whole. The ridge is
    that of a fit on its own whose squared shift is the rest.
    """
    precise = mechanism.precision_share
    main = budget.share(1 - precise)
    epsilon, delta = round_down(main.epsilon), round_down(main.delta)
    selection = approx_to_zcdp(main.epsilon, main.delta).share(share)
    left = Approx(repr(float(main.epsilon) * math.sqrt(1 - share)), main.delta)
    alone = mechanism.calibrate(objective, left, neighbours, copies=copies)
    mu = gaussian_mu(main.epsilon, main.delta) / math.sqrt(copies)

    def cost(sigma: float) -> float:
        curve = copies * divergences(alone.objective, sigma, neighbours)
        whole = curve + float(selection.rho) * SOME_ORDERS
        return approx_delta(SOME_ORDERS, whole, epsilon)

    try:
        sigma = smallest_scale(cost, delta, neighbours.shifts * objective.lipschitz / mu)
    except OverflowError:
        raise InvalidParameter("l2", "larger for this budget", objective.l2) from None
    solver_noise, event = solver_noise_for(budget.share(precise), alone.tolerance, copies)
    fit = replace(alone, noise=Gaussian(sigma), solver_noise=solver_noise, budget=budget)
    return selection, fit, (ApproxEvent(main.epsilon, main.delta), event)


def divergences(objective: Objective, sigma: float, neighbours: Neighbours) -> Array:
    """Bound the Renyi divergences of a perturbed objective's minimiser at `SOME_ORDERS`."""
    if neighbours is Neighbours.REPLACE_ONE:
        return replace_one_bound(objective, sigma).renyi(SOME_ORDERS)
    present, absent = gaussian_bounds(objective, sigma)
    there = sharp_renyi(present, absent, SOME_ORDERS)
    return np.maximum(there, sharp_renyi(absent, present, SOME_ORDERS))


Divided: TypeAlias = tuple[SelectorCalibration, Calibration, tuple[Event, ...]]
"""Both stages, calibrated, and what happens to the data in them together."""


@dataclass(frozen=True, slots=True)
class Stages:
    """What is to be calibrated, whatever it may spend."""

    selector: Selector
    mechanism: Mechanism
    objective: Objective
    neighbours: Neighbours
    copies: int

    @property
    def few(self) -> Objective:
        """The objective of any ``size`` columns."""
        return self.objective.restricted_to(self.selector.size)

    def first(self, budget: Budget) -> SelectorCalibration:
        """Calibrate the selection."""
        return self.selector.calibrate(
            self.objective, budget, self.neighbours, copies=self.copies
        )

    def cut(self, some: Budget, rest: Budget) -> Divided:
        """Calibrate both stages, each with a budget of its own."""
        first = self.first(some)
        fit = self.mechanism.calibrate(self.few, rest, self.neighbours, copies=self.copies)
        return first, fit, (*fit.events, *first.events)


def split_budget(stages: Stages, budget: Budget, share: Fraction) -> Divided:
    """Calibrate both stages so that together they cost the budget.

    Pure and zCDP budgets are cut. For (epsilon, delta) Renyi divergences of both stages are
    added up where that is possible. Elsewhere the zCDP budget is cut, or the selection
    spends no delta: whichever needs less noise. Public facts alone decide.
    """
    if not isinstance(budget, Approx):
        return stages.cut(budget.share(share), budget.share(1 - share))
    joint = approx_to_zcdp(budget.epsilon, budget.delta)
    plain = Pure(budget.epsilon * share)
    rest = Approx(budget.epsilon * (1 - share), budget.delta)
    mechanism, found = stages.mechanism, list[Divided]()
    refusal: InvalidParameter | None = None
    if isinstance(mechanism, ObjectivePerturbation) and mechanism.analysis == "coupled":
        try:
            return _together(stages, mechanism, budget, share)
        except InvalidParameter as error:
            refusal = error
    for parts in ((plain, rest), (joint.share(share), joint.share(1 - share))):
        try:
            found.append(stages.cut(*parts))
        except InvalidParameter as error:
            refusal = refusal or error
    if refusal is not None and not found:
        raise refusal
    return min(found, key=_effort)


def _together(
    stages: Stages, mechanism: ObjectivePerturbation, budget: Approx, share: Fraction
) -> Divided:
    selection, fit, events = fit_beside_selection(
        mechanism,
        stages.few,
        budget,
        stages.neighbours,
        copies=stages.copies,
        share=share,
    )
    return stages.first(selection), fit, events


def _effort(divided: Divided) -> float:
    """Return how much noise there is in both stages, as a sum of logarithms."""
    first, fit, _ = divided
    length = fit.noise.expected_norm(fit.objective.dimension)
    ridge = fit.objective.strong_convexity * fit.objective.typical_norm
    return math.log(first.noise.scale) + math.log(length + ridge)
