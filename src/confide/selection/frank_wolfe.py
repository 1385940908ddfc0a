"""Frank–Wolfe on the l1 ball: every step chooses a corner by the exponential mechanism."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.accounting import event_of
from confide.data import EntryBounds
from confide.data.rows.in_memory import InMemoryRows, Rows
from confide.errors import InvalidParameter, MissingPublicBound
from confide.mechanisms import MECHANISMS, Calibration, Need, Release
from confide.mechanisms.base import check_whole, checked_copies, make_release
from confide.mechanisms.needs import NO_KINK, SMOOTH_LOSS, check_needs
from confide.noise import Entropy, Gumbel, choose
from confide.objectives import L1Ball, Objective, PublicBounds
from confide.privacy import Budget, Neighbours
from confide.selection.base import PAGE
from confide.selection.choice_cost import best_budget_kind, check_rounding, score_scale
from confide.selection.coordinate_path import Path, PlainPath, TouchedPath
from confide.selection.row_bounds import entry_bounds, extras
from confide.selection.screening import score_width

NO_ODDS = 300.0
"""Against a corner of e^600 times its weight the opposite one is never drawn."""

ROUGHER = 1e-3
"""Pulls of sparse rows are added to again and again: rounding is paid for in advance."""


def _bounded_in_a_ball(objective: Objective) -> bool:
    try:
        return corner_slope(objective, 1.0) < math.inf
    except MissingPublicBound:
        return False


BOUNDED_IN_BALL = Need(
    "a loss whose slope is bounded where the coefficients are",
    _bounded_in_a_ball,
    "declare the missing public bound (target_bound) or clip the slope (slope_bound)",
)


@dataclass(frozen=True, slots=True)
class CornerCalibration(Calibration):
    """The noise of every choice of a corner, and how many there are."""

    steps: int = field(kw_only=True)

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent."""
        touched = _is_touched(rows)
        check_rounding(rows, 2 * rows.count if touched else rows.terms, ROUGHER)


@MECHANISMS.register("frank-wolfe")
@dataclass(frozen=True, slots=True)
class FrankWolfe:
    """Steps towards corners of ‖θ‖₁ <= radius, each chosen by its noisy gradient.

    The coefficients are a fixed average of the chosen corners, so at most ``steps`` of
    them are not 0. On sparse rows a step costs what the chosen column touches.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, ridge, radius, steps, budget.
    Sensitivity  radius·slope·bound for the score of a corner.
    Proof        docs/proofs/sparse-selection.md
    """

    radius: float = 10.0
    steps: int = 40
    column_bound: float = 1.0

    name: ClassVar[str] = "frank-wolfe"
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH_LOSS, NO_KINK, BOUNDED_IN_BALL)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "frank-wolfe",)

    def __post_init__(self) -> None:
        check_whole("steps", self.steps)
        if not 0 < self.radius < math.inf:
            raise InvalidParameter("radius", "positive and finite", self.radius)
        _ = self.entries

    @property
    def entries(self) -> EntryBounds:
        """How rows are bounded."""
        return entry_bounds(self.column_bound, 1, scaled=False)

    @property
    def intercept_height(self) -> float:
        """The constant column is as high as any other can be."""
        return self.column_bound

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> CornerCalibration:
        """Choose the noise from public facts alone."""
        check_needs(type(self).__name__, self.needs, objective)
        choices = self.steps * copies
        whole = best_budget_kind(budget, choices)
        slope = corner_slope(objective, self.radius)
        width = score_width(self.radius * slope * corner_entry(objective), neighbours)
        return CornerCalibration(
            replace(objective, l2=objective.l2 or 0.0, constraint=L1Ball(self.radius)),
            budget,
            neighbours,
            PAGE + "frank-wolfe",
            Gumbel(score_scale(whole, choices, width, ROUGHER)),
            None,
            0.0,
            (event_of(whole),),
            copies,
            steps=self.steps,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Walk for every task and release the results together."""
        assert isinstance(calibration, CornerCalibration)  # noqa: S101
        objective = calibration.objective
        paid = checked_copies(tasks, calibration.copies)
        values = [self._walk(calibration, rows, entropy) for rows in paid]
        supports = [np.flatnonzero(v[: objective.columns]).tolist() for v in values]
        release = make_release(calibration, values, entropy, "scores of corners")
        return replace(release, extras=extras(objective, supports))

    def _walk(self, calibration: CornerCalibration, rows: Rows, entropy: Entropy) -> Array:
        objective = calibration.objective
        path: Path
        if isinstance(rows, InMemoryRows) and _is_touched(rows):
            path = TouchedPath(objective, rows)
        else:
            path = PlainPath(objective, rows)
        ridge, theta = objective.l2 or 0.0, np.zeros(objective.dimension)
        corners = Corners(self.radius / calibration.noise.scale, path.pulls)
        for step in range(calibration.steps):
            place, sign = corners.choose(entropy)
            share = 2 / (step + 2)
            gain = sign * share * self.radius
            theta *= 1 - share
            theta[place] += gain
            changed = path.move(place, gain, 1 - share)
            if ridge:
                corners.update(path.pulls + ridge * theta, None)
            else:
                corners.update(path.pulls, changed)
        return theta


def _is_touched(rows: Rows) -> bool:
    """Whether only what a step touches is brought up to date."""
    return isinstance(rows, InMemoryRows) and sparse.issparse(rows.features)


class Corners:
    """Logarithms of exp(−rate·gⱼ) + exp(rate·gⱼ), both corners ±eⱼ, for every coordinate.

    They are kept up where gradients change. Only `choose` takes exponentials, and then over
    the largest of the moment.
    """

    def __init__(self, rate: float, gradient: Array) -> None:
        self._rate = rate
        self.update(gradient, None)

    def update(self, gradient: Array, changed: AnyArray | None) -> None:
        """Take over a gradient that differs from the last one at some places, or all."""
        self._gradient = gradient
        if changed is None:
            self.powers = self._powers_of(gradient)
        else:
            self.powers[changed] = self._powers_of(gradient[changed])

    def _powers_of(self, gradient: Array) -> Array:
        size = self._rate * np.abs(gradient)
        return np.asarray(size + np.log(1 + np.exp(-2 * np.minimum(size, NO_ODDS))))

    def choose(self, entropy: Entropy) -> tuple[int, float]:
        """Return a coordinate and a sign, with chances in proportion to the weights."""
        place = choose(self.powers, entropy)
        power = self._rate * self._gradient[place]
        chance = 1 / (1 + math.exp(min(2 * power, 2 * NO_ODDS)))
        return place, 1.0 if entropy.uniform(1)[0] < chance else -1.0


def corner_entry(objective: Objective) -> float:
    """Return the largest entry of a row, the constant column included."""
    return max(objective.entry_bound, objective.height)


def corner_slope(objective: Objective, radius: float) -> float:
    """Return the largest slope where ‖θ‖₁ is within the radius: |⟨x,θ⟩| <= ‖x‖∞·‖θ‖₁."""
    public = PublicBounds(corner_entry(objective), radius, objective.target_bound)
    return objective.loss.slope_bound(public)
