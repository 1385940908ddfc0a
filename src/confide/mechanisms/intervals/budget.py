"""Division of a budget between coefficients and the moments for their intervals.

The moments are the curvature (the Hessian of the loss) and the scatter (the sum of the
outer products of gradients). Their share is fixed before the data are read. A smaller share
makes the coefficients more precise and the estimate of their errors less precise.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from confide._types import Array
from confide.accounting import (
    ApproxEvent,
    Event,
    gaussian_left,
    gaussian_part,
    pure_left,
)
from confide.errors import Described, InvalidParameter
from confide.mechanisms.base import Calibration, IntervalMechanism, Mechanism
from confide.mechanisms.intervals.moments import (
    INTERVAL_NEEDS,
    MOMENT_SPLIT,
    MomentCalibration,
    MomentRelease,
    Recipe,
    largest_contribution,
)
from confide.mechanisms.needs import check_needs
from confide.noise import Gaussian, SphericalLaplace
from confide.noise.symmetric import degrees_of_freedom
from confide.objectives import Objective, curvature_bound, is_multinomial
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    gaussian_epsilon,
    gaussian_mu,
    round_down,
    round_up,
)

Variant: TypeAlias = Literal["tight", "model-based", "published"]
IntervalTarget: TypeAlias = Literal["plain", "penalised"]
RECIPES: dict[Variant, Recipe] = {
    "tight": "joint",
    "model-based": "curvature",
    "published": "published",
}
PUBLISHED_SPLIT = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
UNKNOWN_ROWS_SHARES = {Pure: Fraction(7, 20), Approx: Fraction(1, 5), Zcdp: Fraction(1, 5)}
"""Share of the budget for the moments, by type of budget, if the number of rows is
private."""
PLAIN_SHARE = Fraction(2, 5)
"""Share of the budget for the moments if intervals are for the plain coefficients. These
intervals require the curvature in all directions."""
PLAIN_MOMENT_SPLIT = (Fraction(9, 10), Fraction(1, 10))
"""Division of `PLAIN_SHARE` between curvature and scatter. Noise on the scatter matters
little compared with noise on the coefficients."""
LEAST_EPSILON = 1e-9
USUAL_PART, LEAST_FACTOR, SEARCH_STEPS = 0.85, 0.75, 7
"""Settings of the search for the scale of spherical Laplace noise: share of epsilon that
sets the initial scale, smallest factor by which that scale is multiplied, and number of
steps."""
NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class SplitBudget:
    """Calibrations of coefficients and moments for one joint budget.

    ``split`` contains the shares of coefficients, curvature and scatter. ``joint`` contains
    a single privacy event for all releases, or is empty if each release has its own events.
    ``rest`` is the part of the budget reserved for another release, if any.
    """

    main: Calibration
    moments: MomentCalibration
    split: tuple[Fraction, Fraction, Fraction]
    joint: tuple[Event, ...]
    rest: Budget | None

    @property
    def events(self) -> tuple[Event, ...]:
        """Privacy events of the coefficients and the moments."""
        return self.joint or (*self.main.events, *self.moments.events)


@dataclass(frozen=True, slots=True)
class _Task:
    """Mechanism and objective, to be calibrated for one or more budgets."""

    mechanism: Mechanism
    objective: Objective
    neighbours: Neighbours
    copies: int

    @property
    def normal(self) -> "_Task":
        """The same task with Gaussian noise if the mechanism offers a choice of noise."""
        if not isinstance(self.mechanism, IntervalMechanism):
            return self
        return replace(self, mechanism=self.mechanism.with_noise("gaussian"))

    def spending(self, budget: Budget) -> Calibration:
        return self.mechanism.calibrate(
            self.objective, budget, self.neighbours, copies=self.copies
        )


MOST_COEFFICIENTS = 4096
"""Largest number of coefficients with intervals. More could exhaust the memory, because
matrices with a row and a column per coefficient are needed."""


def check_intervals(mechanism: Mechanism, objective: Objective) -> IntervalMechanism:
    """Return the mechanism, or raise an error if intervals are not supported."""
    if not isinstance(mechanism, IntervalMechanism):
        raise InvalidParameter(
            "mechanism", "'objective' or 'output' for intervals", mechanism.name
        )
    check_needs("Intervals", INTERVAL_NEEDS, objective)
    if objective.dimension > MOST_COEFFICIENTS:
        raise InvalidParameter(
            "intervals",
            f"requested for at most {MOST_COEFFICIENTS:,} coefficients, because they "
            "need a covariance matrix of this dimension",
            Described(f"{objective.dimension:,} coefficients"),
            "Fit without intervals, or with fewer columns and levels.",
        )
    return mechanism


def split_between(
    mechanism: Mechanism,
    objective: Objective,
    budget: Budget,
    neighbours: Neighbours,
    *,
    variant: Variant,
    of: IntervalTarget,
    split: tuple[Fraction, Fraction, Fraction] | None,
    share: Fraction | None,
    rows: int | None,
    copies: int,
    reserve: Fraction = NOTHING,
    heights: Array | None = None,
) -> SplitBudget:
    """Divide a budget between coefficients and moments, and calibrate both.

    ``of`` is the estimand of the intervals. ``split`` contains the shares of coefficients,
    curvature and scatter. ``share`` is the share of curvature and scatter together. If
    neither is given, the share is chosen automatically. ``rows`` is the number of rows if
    it is public. ``heights`` bounds the absolute values in every column. ``reserve`` is a
    share of the budget that is kept for another release.
    """
    able = check_intervals(mechanism, objective)
    if variant == "model-based" and not objective.loss.canonical:
        raise InvalidParameter(
            "variant",
            "'tight' for this model: 'model-based' needs the logistic or the Poisson loss "
            "without clipping, because for other losses the curvature does not determine "
            "the covariance of the gradients",
            variant,
        )
    if variant == "model-based" and objective.weighted:
        raise InvalidParameter(
            "variant",
            "'tight' when records are weighted, because the curvature then does not "
            "determine the covariance of the gradients",
            variant,
        )
    if variant == "published" and is_multinomial(objective.loss):
        raise InvalidParameter(
            "variant",
            "'tight' or 'model-based' for the multinomial loss",
            variant,
            "The published algorithms have one linear predictor per record: use "
            "multi_class='one-vs-rest'.",
        )
    chosen: IntervalMechanism = able
    whole = budget
    if variant == "published":
        chosen, whole = _as_published(able, budget, neighbours)
    task = _Task(chosen, objective, neighbours, copies)
    if split is None:
        if share is None and of == "plain":
            share = PLAIN_SHARE
        elif share is None and variant != "published":
            share = _choose_share(task, whole, rows)
        split = _three_ways(share, variant, of)
    main, second, joint = _divide(task, whole, split[0] * (1 - reserve))
    rest = None
    if reserve:
        part = reserve / (1 - split[0] * (1 - reserve))
        second, rest = second.share(1 - part), second.share(part)
    release = MomentRelease(RECIPES[variant], split[1:], heights)
    moments = release.calibrate(main.objective, second, neighbours, copies=copies)
    return SplitBudget(main, moments, split, joint, rest)


def divide_budget(
    mechanism: Mechanism,
    objective: Objective,
    budget: Budget,
    neighbours: Neighbours,
    *,
    copies: int,
    reserve: Fraction,
) -> tuple[Calibration, Budget, tuple[Event, ...]]:
    """Calibrate a mechanism with the part of a budget that is not reserved.

    Return the calibration, the reserved budget, and a tuple with the joint privacy event.
    The tuple is empty if the two costs are recorded separately.
    """
    task = _Task(mechanism, objective, neighbours, copies)
    return _divide(task, budget, 1 - reserve)


def _choose_share(task: _Task, budget: Budget, rows: int | None) -> Fraction:
    """Choose, without data, the share of the moments expected to give the best intervals.

    The criterion considers directions with curvatures between a typical value and a
    hundredth of it. In each direction, noise on the curvature lengthens the interval, and
    the relative error of the curvature reduces the coverage.
    """
    if rows is None or task.neighbours is not Neighbours.REPLACE_ONE:
        return UNKNOWN_ROWS_SHARES[type(budget)]
    main = task.normal.spending(budget)
    if isinstance(budget, Approx):
        mu = gaussian_mu(budget.epsilon, budget.delta)
        budget = Zcdp(repr(mu**2 / 2))
    percents = range(10, 36)
    costs = [_cost(main, Fraction(one, 100), budget, rows) for one in percents]
    return Fraction(percents[int(np.argmin(costs))], 100)


def _cost(main: Calibration, share: Fraction, budget: Budget, rows: int) -> float:
    objective, size = main.objective, main.objective.dimension
    curvature = curvature_bound(objective.loss, objective.public) / 2
    slope = objective.slope_bound**2 / 4
    typical = rows * curvature * objective.row_norm**2 / size
    data = typical * np.geomspace(0.01, 1.0, 9)
    strength = data + objective.strong_convexity
    sampling = data * slope / curvature
    power = 1 if isinstance(budget, Pure) else 0.5
    noise = (main.noise.deviation(size) / (1 - float(share)) ** power) ** 2
    on_term = main.solver_noise is not None
    privacy = noise if on_term else noise * strength**2
    curvature_deviation, scatter_deviation = _moment_deviations(main, share, budget)
    whole = sampling + privacy
    through = 1.0 if on_term else sampling / whole
    inflation = 3 * (curvature_deviation**2 * size / 2) / strength**2 * through
    doubt = (2 * curvature_deviation / strength) ** 2 * through + (
        scatter_deviation / whole
    ) ** 2
    length = np.sqrt(whole) / strength
    return float(np.sum(length * (1 + (inflation + doubt) / 10)))


def _moment_deviations(
    main: Calibration, share: Fraction, budget: Budget
) -> tuple[float, float]:
    """Return the standard deviations of the noise on curvature and scatter.

    ``share`` is the share of the budget for both together.
    """
    release, part = MomentRelease(), budget.share(share)
    fixed = release.calibrate(main.objective, part, main.neighbours, copies=main.copies)
    weight = fixed.weight(math.inf)
    longest = largest_contribution(main.objective, weight, math.inf)
    pairs = math.sqrt(main.neighbours.shifts)
    unit = fixed.parts[0]
    free = 2 * degrees_of_freedom(main.objective.dimension)
    deviation = unit.deviation(free) * pairs * longest * main.objective.row_norm**2
    return deviation, deviation / weight


def _three_ways(
    share: Fraction | None, variant: Variant, of: IntervalTarget
) -> tuple[Fraction, Fraction, Fraction]:
    if share is None:
        return PUBLISHED_SPLIT
    ratio = PLAIN_MOMENT_SPLIT if of == "plain" else MOMENT_SPLIT
    if variant == "published":
        ratio = (Fraction(1, 2), Fraction(1, 2))
    return (1 - share, share * ratio[0], share * ratio[1])


def _as_published(
    mechanism: IntervalMechanism, budget: Budget, neighbours: Neighbours
) -> tuple[IntervalMechanism, Budget]:
    """Return the mechanism and the budget as Wang, Kifer and Lee (2018) use them."""
    if neighbours is not Neighbours.REPLACE_ONE:
        raise InvalidParameter(
            "neighbours", "'replace-one' for variant='published'", str(neighbours)
        )
    mechanism = mechanism.as_published()
    if isinstance(budget, Approx):
        log = math.log(1 / float(budget.delta))
        epsilon = float(budget.epsilon)
        root = epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))
        return mechanism, Zcdp(repr(round_down(root**2)))
    return mechanism, budget


def _divide(
    task: _Task, budget: Budget, part: Fraction
) -> tuple[Calibration, Budget, tuple[Event, ...]]:
    """Calibrate coefficients with a share of a budget, and return the rest for the moments.

    Shares of (epsilon, delta) are shares of μ², where μ is the parameter of Gaussian DP
    that the budget allows. If both releases satisfy Gaussian DP, their μ² add up. If the
    privacy profile of the coefficients (delta as a function of epsilon) is known, it is
    composed with the Gaussian DP of the moments, and the third value returned is the joint
    event. Otherwise, or if delta alone would cover the share of the coefficients, epsilon
    and delta are divided proportionally. Finally, spherical Laplace noise is used for the
    coefficients if it is smaller and leaves the same μ to the moments.
    """
    if isinstance(budget, Approx):
        delta = float(budget.delta)
        whole = gaussian_mu(budget.epsilon, budget.delta)
        first = gaussian_epsilon(whole * math.sqrt(float(part)), delta)
        normal = task.normal
        found = _by_shift(normal, budget, part, first) if first > LEAST_EPSILON else None
        if found is not None:
            if normal == task:
                return found
            return _or_spherical(task, budget, _or_pure(task, budget, found))
    return task.spending(budget.share(part)), budget.share(1 - part), ()


def _by_shift(
    task: _Task, budget: Approx, part: Fraction, first: float
) -> tuple[Calibration, Budget, tuple[Event, ...]] | None:
    """Calibrate coefficients with epsilon ``first`` and the whole delta.

    Return None if no budget then remains for the moments.
    """
    whole = gaussian_mu(budget.epsilon, budget.delta)
    main = task.spending(Approx(repr(first), budget.delta))
    spent, alone = gaussian_part(main.events)
    spent = round_up(spent)
    if alone and round_down(whole**2) > spent:
        return main, _as_zcdp(round_down(whole**2) - spent), ()
    left = _beside(task, main, budget, whole * math.sqrt(float(1 - part)))
    if round_down(left**2) > spent:
        joint = (ApproxEvent(budget.epsilon, budget.delta),)
        return main, _as_zcdp(round_down(left**2) - spent), joint
    return None


def _or_pure(
    task: _Task, budget: Approx, found: tuple[Calibration, Budget, tuple[Event, ...]]
) -> tuple[Calibration, Budget, tuple[Event, ...]]:
    """Return a pure-epsilon calibration if it needs less noise than ``found``, else that.

    The budget of the moments is unchanged, and the coefficients get the remaining epsilon.
    """
    main, second, _ = found
    assert isinstance(second, Zcdp)  # noqa: S101
    try:
        if _pull(task.spending(Pure(budget.epsilon))) >= _pull(main):
            return found  # a smaller epsilon means even more noise
        shift = round_up(math.sqrt(2 * second.rho))
        rest = pure_left(round_down(budget.epsilon), round_down(budget.delta), shift)
        if rest <= LEAST_EPSILON:
            return found
        other = task.spending(Pure(repr(rest)))
    except InvalidParameter:
        return found
    if _pull(other) >= _pull(main):
        return found
    return other, second, (ApproxEvent(budget.epsilon, budget.delta),)


@lru_cache(maxsize=256)
def _or_spherical(
    task: _Task, budget: Approx, found: tuple[Calibration, Budget, tuple[Event, ...]]
) -> tuple[Calibration, Budget, tuple[Event, ...]]:
    """Return ``found``, or a calibration with smaller spherical Laplace noise.

    This noise satisfies (epsilon, delta), not epsilon alone. The share `USUAL_PART` of
    epsilon determines the ridge and an initial noise scale. The initial scale is then
    multiplied by the smallest factor found, between 3/4 and 4/3, that leaves the budget of
    the moments unchanged.
    """
    main, second, _ = found
    mechanism = task.mechanism
    assert isinstance(second, Zcdp)  # noqa: S101
    assert isinstance(mechanism, IntervalMechanism)  # noqa: S101
    epsilon, delta = round_down(budget.epsilon), round_down(budget.delta)
    try:
        other = task.spending(Approx(repr(USUAL_PART * epsilon), budget.delta))
    except InvalidParameter:
        return found
    if mechanism.profile(other) is None or other.noise.kind == Gaussian.kind:
        return found
    spent = round_up(gaussian_part(other.events)[0])
    shift = round_up(math.sqrt(round_up(2 * float(second.rho) + spent)))

    def scaled(factor: float) -> Calibration:
        noise = SphericalLaplace(factor * other.noise.scale)
        return replace(other, noise=noise)

    low, high, best = LEAST_FACTOR, 1 / LEAST_FACTOR, None
    for _ in range(SEARCH_STEPS):
        middle = math.sqrt(low * high)
        profile = mechanism.profile(scaled(middle))
        assert profile is not None  # noqa: S101
        if gaussian_left(profile, epsilon, delta, shift) >= shift:
            high, best = middle, scaled(middle)
        else:
            low = middle
    if best is None or _pull(best) >= _pull(main):
        return found
    # The calibration of the coefficients states the joint budget and cost of both.
    joint = (ApproxEvent(budget.epsilon, budget.delta),)
    return replace(best, budget=budget, events=joint), second, joint


def _pull(main: Calibration) -> float:
    """Return the root mean square of the noise, converted to noise on the linear term."""
    found = main.noise.deviation(main.objective.dimension)
    return found if main.solver_noise else found * main.objective.strong_convexity


@lru_cache(maxsize=256)
def _beside(task: _Task, main: Calibration, budget: Approx, most: float) -> float:
    """Return the Gaussian-DP parameter μ that remains for releases after the coefficients.

    It is computed from the privacy profile of the coefficients, is at most 1.5·``most``,
    and is 0 if this profile is unknown.
    """
    profile = None
    if task.copies == 1 and isinstance(task.mechanism, IntervalMechanism):
        profile = task.mechanism.profile(main)
    if profile is None:
        return 0.0
    epsilon, delta = round_down(budget.epsilon), round_down(budget.delta)
    return gaussian_left(profile, epsilon, delta, 1.5 * most)


def _as_zcdp(squared_shift: float) -> Zcdp:
    return Zcdp(repr(round_down(squared_shift / 2)))
