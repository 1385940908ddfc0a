"""Adaptive objective perturbation: a rough private look sets the weights of a second.

One budget pays for both looks at the same rows. Everything is fixed before the first:
noises, ridges and events come from public facts alone (docs/proofs/adaptive-objective.md).
"""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from confide._types import Array
from confide.accounting import (
    ORDERS,
    ApproxEvent,
    Event,
    approx_delta,
    as_pure,
    gaussian_part,
    sum_delta,
)
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter, NoiseChanged
from confide.mechanisms.base import (
    CASE_WEIGHTS,
    MECHANISMS,
    OFFSETS,
    SEVERAL_SCORES,
    Calibration,
    Need,
    check_needs,
    checked_copies,
    make_release,
)
from confide.mechanisms.gradient.calibration import pair_distance
from confide.mechanisms.objective.ball import has_ball_bound
from confide.mechanisms.objective.calibration import (
    gaussian_bounds,
    replace_one_bound,
    smallest_scale,
)
from confide.mechanisms.objective.perturbation import (
    ObjectivePerturbation,
    perturbed_minimiser,
    solver_noise_for,
)
from confide.mechanisms.release import NoiseRecord, Release
from confide.noise import Entropy, Gaussian, Noise
from confide.objectives import L1, ElasticNet, Objective, Ridge, has_exact_prox
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    approx_to_zcdp,
    gaussian_epsilon,
    gaussian_mu,
    round_down,
)
from confide.privacy.budgets import exact


@dataclass(frozen=True, slots=True)
class TwoFits:
    """Both looks, calibrated, and what happens to the data in them together.

    ``alone`` is what the second look may spend on its own; None where only the sum of
    both is known.
    """

    first: Calibration
    second: Calibration
    events: tuple[Event, ...]
    alone: Budget | None


@dataclass(frozen=True, slots=True)
class TwoFitSpec:
    """What is to be calibrated, whatever it may spend."""

    look: ObjectivePerturbation
    rough: Objective
    final: Objective
    neighbours: Neighbours
    copies: int

    def first(self, budget: Budget) -> Calibration:
        """Calibrate the first look."""
        return self._one(self.rough, budget)

    def second(self, budget: Budget) -> Calibration:
        """Calibrate the second look."""
        return self._one(self.final, budget)

    def _one(self, objective: Objective, budget: Budget) -> Calibration:
        return self.look.calibrate(objective, budget, self.neighbours, copies=self.copies)


@lru_cache(maxsize=256)
def split_budget(task: TwoFitSpec, budget: Budget, share: Fraction) -> TwoFits:
    """Calibrate both looks so that together they cost the budget.

    Pure and zCDP budgets are cut. For (epsilon, delta) there are three ways, and the one
    whose second look needs the least noise is taken: cut epsilon and delta, cut the zCDP
    budget that implies them, or bound the privacy loss of both looks together.
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
    """Return what noise and ridge of the second look pull at the coefficients."""
    noise = second.noise.expected_norm(task.final.dimension)
    ridge = second.objective.strong_convexity
    return noise + ridge * (task.look.coef_norm_guess or task.final.typical_norm)


def _cut(task: TwoFitSpec, budget: Budget, share: Fraction) -> TwoFits:
    rest = budget.share(1 - share)
    first, second = task.first(budget.share(share)), task.second(rest)
    return TwoFits(first, second, (*first.events, *second.events), rest)


def _together(task: TwoFitSpec, budget: Approx, share: Fraction) -> TwoFits:
    """Gaussian noise for both looks, from a bound on the sum of their losses.

    The shares are of a squared shift. Ridges are those of a cut budget; both noises start
    at what shifts alone would need and grow by one factor until the sum is within delta.
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
        raise InvalidParameter("l2", "larger for this budget", task.final.l2) from None
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
    """Return delta at epsilon for both looks and all copies together."""
    pairs = list(zip(objectives, scales, strict=True))
    if task.neighbours is Neighbours.ADD_REMOVE:
        present = [gaussian_bounds(one, scale)[0] for one, scale in pairs]
        return sum_delta(present, task.copies, epsilon)
    curves = [replace_one_bound(one, scale).renyi(ORDERS) for one, scale in pairs]
    return approx_delta(ORDERS, task.copies * np.sum(curves, axis=0), epsilon)


FIRST_FIT = " of the first look"


@dataclass(frozen=True, slots=True)
class AdaptiveCalibration(Calibration):
    """The second look, with the first, and with what both cost together.

    ``alone`` is what the second look may spend on its own, ``precise`` the share of every
    budget that pays for solvers; ``alone`` is None where only the sum of both looks is
    known.
    """

    mechanism: "AdaptiveObjectivePerturbation"
    first: Calibration = field(kw_only=True)
    alone: Budget | None = field(kw_only=True)
    precise: Fraction = field(kw_only=True)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the noises of both looks, the second first."""
        before = [
            NoiseRecord(one.kind, one.scale, one.added_to + FIRST_FIT)
            for one in self.first.records(added_to)
        ]
        return (*Calibration.records(self, added_to), *before)

    @property
    def largest_ridge(self) -> float:
        """The largest weight that the first look can give a coefficient's ridge."""
        most = 2 * self.mechanism.cap * float(_asked(self.objective).max())
        return max(float(self.objective.ridge.max()), most)

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent, what no solver could certify."""
        self.first.check_rows(rows)
        Calibration.check_rows(self, rows)

    def retrieved(self, noise: Noise) -> float:
        """Return how much of a half set aside for the log-determinant noise got back.

        Half of what the second look may spend (both looks, where only their sum is known)
        is what a split in advance sets aside; the cost of the noise alone is compared with
        the other half. It is 1 if the log-determinant costs nothing, 0 if it costs a half.
        Noise too short for two opposite gradients is that of a ball, in which none are.
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
    """Look twice: a ridge fit sets weights for l1, which zero what looked small.

    The first look is `ObjectivePerturbation` with a ridge; its coefficients θ¹ are
    private. The second minimises Σφ + ⟨b,θ⟩ + Σvⱼ|θⱼ| + ½Λ‖θ − θ¹‖² ("lasso"; with the l1
    part of an elastic net the same; around 0 if it is not ``centred``), or the sum
    Σφ + ⟨b,θ⟩ + ½ΣΛⱼθⱼ² with Λⱼ = 2·max(vⱼ, Λ/2) ("bridge": no zeros, and no ridge
    besides). The weights are

        vⱼ = λⱼ · min(cap, (typical / |θ¹ⱼ|)^power),

    λⱼ being those of the objective's penalty and ``typical`` the mean of |θ¹| if it is not
    set: a coefficient that looked average gets the weight that was asked for. A good λⱼ is
    about the deviation of the second look's noise; without a penalty there is nothing to
    weigh, and the first look is for nothing.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, ridge, budget, share, tolerance.
    Private      rows and targets, and under add-remove their number.
    Noise        that of `ObjectivePerturbation` in both looks, fixed before the first.
    Proof        docs/proofs/adaptive-objective.md

    ``share`` is what the first look gets of the budget; the last three settings are those
    of `ObjectivePerturbation`, for both looks.
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
        """What both looks are made by."""
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
        """Choose both noises and ridges from public facts alone."""
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
        """Look twice at every task and release the second results together."""
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
        """Return vⱼ; of the data they know the private coefficients of the first look."""
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
        """Return the linear term that centres the second ridge at the first look."""
        if self.style == "bridge" or not self.centred:
            return np.zeros(len(rough))
        return -(calibration.objective.l2 or 0.0) * rough

    def _second(
        self, calibration: AdaptiveCalibration, weights: Array
    ) -> AdaptiveCalibration:
        """Return the second look under these weights, with no more noise than fixed."""
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
        # (epsilon, delta) alone composes worse than a Gaussian shift of the same budget.
        covered = again.events == fixed.events[-2:] or gaussian_part(again.events[:1])[1]
        kept = covered and again.noise.kind == fixed.noise.kind
        shorter = kept and lengths[0] < lengths[1]
        return replace(fixed, noise=again.noise) if shorter else fixed


def _asked(objective: Objective) -> Array:
    """Return λⱼ: the weights of the l1 part of the penalty."""
    nonsmooth = objective.nonsmooth_part
    weight = nonsmooth.weight if isinstance(nonsmooth, L1) else 0.0
    return np.array(np.broadcast_to(np.asarray(weight), objective.dimension), dtype=float)


MAX_RELATIVE_WEIGHT = 1e6
"""Weights beyond this many times the average zero nothing more."""
