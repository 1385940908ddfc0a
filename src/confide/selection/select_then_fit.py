"""Private selection of columns, followed by a fit to these columns with any mechanism.

One budget is divided between the selection and the fit before either begins.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np

from confide._types import Array
from confide.accounting import ORDERS, ApproxEvent, Event, approx_delta, sharp_renyi
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms import (
    MECHANISMS,
    Calibration,
    Mechanism,
    Need,
    ObjectivePerturbation,
    Release,
    RowBounds,
)
from confide.mechanisms.base import checked_copies
from confide.mechanisms.needs import check_needs
from confide.mechanisms.objective.calibration import (
    gaussian_bounds,
    replace_one_bound,
    smallest_scale,
)
from confide.mechanisms.objective.minimiser import solver_noise_for
from confide.noise import Entropy, Gaussian
from confide.objectives import Objective, is_uniform
from confide.privacy import (
    Approx,
    Budget,
    Guarantee,
    Neighbours,
    Pure,
    Status,
    Zcdp,
    approx_to_zcdp,
    assumptions_of,
    gaussian_mu,
    round_down,
    weakest,
)
from confide.privacy.budgets import exact
from confide.selection.base import (
    PAGE,
    Selector,
    SelectorCalibration,
    bounds_of,
    entry_bounds,
    height_beside,
)
from confide.selection.choice_cost import check_size
from confide.selection.screening import ScreeningSelector

SOME_ORDERS = ORDERS[150:450:3]
"""Renyi orders at which delta is computed.

Every order gives a valid delta, and more orders hardly improve the smallest delta.
"""


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
    """Return the budget of the selection, the calibrated fit, and the events of both.

    The selection receives ``share`` of a zCDP budget that implies ``budget``. The ridge is
    that of a separate fit with the budget (epsilon·√(1 − share), delta).
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
        hint = "Leave it at 'auto', or try a larger value."
        raise InvalidParameter("l2", "larger for this budget", objective.l2, hint) from None
    solver_noise, event = solver_noise_for(budget.share(precise), alone.tolerance, copies)
    fit = replace(alone, noise=Gaussian(sigma), solver_noise=solver_noise, budget=budget)
    return selection, fit, (ApproxEvent(main.epsilon, main.delta), event)


def divergences(objective: Objective, sigma: float, neighbours: Neighbours) -> Array:
    """Return bounds on the Renyi divergences of the noisy minimiser at `SOME_ORDERS`."""
    if neighbours is Neighbours.REPLACE_ONE:
        return replace_one_bound(objective, sigma).renyi(SOME_ORDERS)
    present, absent = gaussian_bounds(objective, sigma)
    there = sharp_renyi(present, absent, SOME_ORDERS)
    return np.maximum(there, sharp_renyi(absent, present, SOME_ORDERS))


Divided: TypeAlias = tuple[SelectorCalibration, Calibration, tuple[Event, ...]]
"""The two calibrated stages, and the privacy events of both together."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Settings of the selection and the fit, to be calibrated for given budgets."""

    selector: Selector
    mechanism: Mechanism
    objective: Objective
    neighbours: Neighbours
    copies: int

    @property
    def few(self) -> Objective:
        """The objective restricted to any ``size`` columns."""
        return self.objective.restricted_to(self.selector.size)

    def first(self, budget: Budget) -> SelectorCalibration:
        """Calibrate the selection."""
        return self.selector.calibrate(
            self.objective, budget, self.neighbours, copies=self.copies
        )

    def cut(self, some: Budget, rest: Budget) -> Divided:
        """Calibrate the selection and the fit with separate budgets."""
        first = self.first(some)
        fit = self.mechanism.calibrate(self.few, rest, self.neighbours, copies=self.copies)
        return first, fit, (*fit.events, *first.events)


def split_budget(stages: Stages, budget: Budget, share: Fraction) -> Divided:
    """Calibrate the selection and the fit so that their total cost is the budget.

    Pure and zCDP budgets are divided. For an (epsilon, delta) budget, the Renyi divergences
    of both stages are added if the analysis of the mechanism permits. Otherwise, either a
    corresponding zCDP budget is divided, or the selection satisfies pure DP and spends no
    delta, whichever needs less noise. The decision depends on public information only.
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
    """Return the sum over both stages of the logarithm of the noise, for comparison."""
    first, fit, _ = divided
    length = fit.noise.expected_norm(fit.objective.dimension)
    ridge = fit.objective.strong_convexity * fit.objective.typical_norm
    return math.log(first.noise.scale) + math.log(length + ridge)


ALIKE = Need(
    "a separable penalty with equal weights for all columns",
    lambda objective: is_uniform(objective.penalty, objective.columns),
    "use one weight for all columns",
)


@dataclass(frozen=True, slots=True)
class TwoStages(Calibration):
    """Calibration of the selection and of the fit to the selected columns.

    ``objective`` is for all columns. ``fit`` is calibrated for any ``size`` columns.
    """

    selector: Selector = field(kw_only=True)
    first: SelectorCalibration = field(kw_only=True)
    fit: Calibration = field(kw_only=True)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release, with the assumptions of both stages."""
        return Guarantee(
            None if self.status is Status.REFUTED else self.budget,
            self.neighbours,
            self.status,
            self.theorem,
            assumptions_of((self.first.guarantee, self.fit.guarantee)),
            reason=self.reason,
        )

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the fit assumes that the number of rows is public."""
        return self.fit.takes_count_as_public

    def check_rows(self, rows: Rows) -> None:
        """Raise if the table has an unsuitable shape, before any budget is spent."""
        self.selector.check_rows(self.first, rows)
        self.fit.check_rows(rows.columns(range(self.selector.size)))


@MECHANISMS.register("select")
@dataclass(frozen=True, slots=True)
class SelectThenFit:
    """Select a few columns and fit a model to them; all other coefficients are 0.

    The noise and the ridge of the fit depend on ``selector.size``, not on the number of
    columns in the table.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, ridge, budget, and ``share``.
    Private      rows and targets; the selected columns are part of the private release.
    Proof        docs/proofs/sparse-selection.md

    Parameters
    ----------
    selector : Selector, optional
        Selector of the columns; by default `ScreeningSelector`.
    mechanism : Mechanism, optional
        Mechanism of the fit to the selected columns; by default objective perturbation.
    share : float, str or Fraction, default=2/5
        Share of the budget that is spent on the selection.
    column_bound : float, default=1.0
        Public bound on the absolute value of every entry; larger entries are clipped.
    scaled : bool, default=False
        If true, entries are not clipped. Instead, a row is scaled down if the norm of its
        ``size`` largest entries exceeds column_bound·√size.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    Of 20 columns that lie between −1 and 1, the first determines the label:

    >>> import numpy as np
    >>> from confide import LogisticRegression, Pure
    >>> from confide.selection import ScreeningSelector, SelectThenFit
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(5000, 20))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(
    ...     Pure(1),
    ...     mechanism=SelectThenFit(ScreeningSelector(size=1)),
    ...     classes=[0, 1],
    ...     random_state=0,
    ... )
    >>> model.fit(X, y).support_.tolist()
    [0]
    """

    selector: Selector = field(default_factory=ScreeningSelector)
    mechanism: Mechanism = field(default_factory=ObjectivePerturbation)
    share: Fraction = Fraction(2, 5)
    column_bound: float = 1.0
    scaled: bool = False

    name: ClassVar[str] = "select"
    needs: ClassVar[tuple[Need, ...]] = (ALIKE,)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "select-then-fit-exact",)

    def __post_init__(self) -> None:
        share = exact(self.share, "share")
        object.__setattr__(self, "share", share)
        if not 0 < share < 1:
            raise InvalidParameter("share", "between 0 and 1", self.share)
        if not hasattr(self.selector, "select"):
            example = "Try ScreeningSelector(10)."
            raise InvalidParameter("selector", "a selector", self.selector, example)
        if not hasattr(self.mechanism, "calibrate"):
            example = "Try ObjectivePerturbation()."
            raise InvalidParameter("mechanism", "a mechanism", self.mechanism, example)
        _ = self.row_bounds

    @property
    def row_bounds(self) -> RowBounds:
        """Bounds on the entries, and the value of the constant column."""
        entries = entry_bounds(self.column_bound, self.selector.size, scaled=self.scaled)
        return RowBounds(entries, height_beside(self.column_bound, self.selector.size))

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> TwoStages:
        """Choose the noise of both stages and the ridge from public information only."""
        check_needs(type(self).__name__, self.needs, objective)
        check_size(self.selector.size, objective)
        task = Stages(self.selector, self.mechanism, objective, neighbours, copies)
        first, fit, events = split_budget(task, budget, self.share)
        least = weakest(first.guarantee, fit.guarantee)
        return TwoStages(
            self,
            objective.with_l2(fit.objective.l2 or 0.0),
            budget,
            neighbours,
            PAGE + "select-then-fit-exact",
            fit.noise,
            fit.solver_noise,
            fit.tolerance,
            events,
            copies,
            least.status,
            least.reason,
            selector=self.selector,
            first=first,
            fit=fit,
        )

    def release(
        self, calibration: TwoStages, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Select and fit for every objective, and release the results together.

        Parameters
        ----------
        calibration : TwoStages
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
        supports: list[list[int]] = []

        def restricted() -> Iterator[Rows]:
            for rows in checked_copies(tasks, calibration.copies):
                support = self.selector.select(calibration.first, rows, entropy)
                supports.append([int(j) for j in support])
                yield rows.columns(supports[-1])

        fitted = calibration.fit.release(restricted(), entropy)
        objective = calibration.objective
        values = np.zeros((calibration.copies, objective.dimension))
        few = np.atleast_2d(fitted.value)
        for line, part, support in zip(values, few, supports, strict=True):
            line[support] = part[: len(support)]
            line[objective.columns :] = part[len(support) :]
        guarantee = calibration.guarantee
        return replace(
            fitted,
            value=values[0] if calibration.copies == 1 else values,
            guarantee=guarantee if entropy.secret else guarantee.seeded(),
            noise=(*fitted.noise, *calibration.first.records()),
            events=calibration.events,
            support=tuple(map(tuple, supports)),
            row_bounds=bounds_of(objective),
        )
