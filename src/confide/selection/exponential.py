"""The exponential mechanism over all sets of a given number of columns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.optimize import minimize

from confide._types import Array
from confide.accounting import event_of
from confide.data.matrix.sums import FEW_ADDED, MAX_ROWS, Partial, pairwise_sum
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows
from confide.errors import Described, InvalidParameter
from confide.mechanisms.base import check_length, check_whole
from confide.mechanisms.needs import SMOOTH_LOSS, Need, check_needs
from confide.noise import Entropy, Gumbel
from confide.objectives import Objective, PublicBounds, curvature_bound
from confide.privacy import Budget, Neighbours
from confide.selection.base import PAGE, SELECTORS, SelectorCalibration, target_size
from confide.selection.choice_cost import (
    OUTWARD,
    best_budget_kind,
    check_size,
    score_scale,
)

Oracle: TypeAlias = Callable[[Array], tuple[float, Array]]
"""Function that returns the value and the gradient of a convex function."""


def loss_range(objective: Objective, margin: float) -> float:
    """Return a bound on the range of φ(η, y) over |η| <= ``margin``, for every target y.

    The loss φ is convex in η, so its largest value is at an end of the interval. Some
    losses define the targets at which their range is largest. For other losses, the bound
    follows from the bound on their slope.
    """
    loss = objective.loss
    bound = objective.target_bound or 1.0
    targets = loss.extreme_targets(bound)
    if targets is None:
        public = PublicBounds(1.0, margin, objective.target_bound)
        return 2 * margin * loss.slope_bound(public)
    flat = np.clip(loss.inverse_slope(np.zeros(2), targets), -margin, margin)
    ends = [loss.value(np.full(2, end), targets) for end in (-margin, margin)]
    inside = np.where(np.isfinite(flat), flat, 0.0)
    lowest = np.minimum.reduce([*ends, loss.value(inside, targets)])
    return float((np.maximum.reduce(ends) - lowest).max())


def loss_peak(objective: Objective, margin: float) -> float:
    """Return a bound on |φ(η, y)| over |η| <= ``margin``, for every target y."""
    bound = objective.target_bound or 1.0
    middle = np.array([-bound, bound])
    if objective.loss.targets == "counts":
        middle = np.array([0.0, bound])
    centre = float(np.abs(objective.loss.value(np.zeros(2), middle)).max())
    public = PublicBounds(1.0, margin, objective.target_bound)
    return centre + margin * objective.loss.slope_bound(public)


@dataclass(frozen=True, slots=True)
class BoxScores:
    """Scores of sets of columns: the minimum of Σφ over coefficients in [−radius, radius].

    A computed score exceeds the minimum by at most ``gap``. This is ensured by a linear
    lower bound on the objective, or else by the convergence theorem for accelerated
    gradient steps.
    """

    objective: Objective
    radius: float
    gap: float

    def of_all(self, rows: Rows, size: int) -> tuple[list[tuple[int, ...]], Array]:
        """Return all sets of ``size`` columns, with their scores."""
        supports = list(combinations(range(self.objective.columns), size))
        oracle = self._quadratic(rows) if self.objective.loss.quadratic else None
        scores = [self._score(rows, support, oracle) for support in supports]
        return supports, np.array(scores)

    def _score(
        self,
        rows: Rows,
        support: Sequence[int],
        quadratic: tuple[Array, Array, float] | None,
    ) -> float:
        places = [*support, *([self.objective.columns] if rows.height else [])]
        if quadratic is None:
            return self._least(
                self._of_rows(rows.columns(support)), len(places), rows.count
            )
        gram, pull, constant = quadratic
        square, linear = gram[np.ix_(places, places)], pull[places]

        def oracle(theta: Array) -> tuple[float, Array]:
            product = square @ theta
            return float(theta @ (product / 2 - linear)) + constant, product - linear

        return self._least(oracle, len(places), rows.count)

    def _quadratic(self, rows: Rows) -> tuple[Array, Array, float]:
        """Return Σxxᵀ, Σyx and ½Σy² for all columns, in one pass over the rows."""

        def piece(block: Block) -> tuple[Any, ...]:
            ones = np.ones(len(block.target))
            half = float(block.target @ block.target) / 2
            return block.gram(ones, double=True), block.weighted_sum(block.target), half

        gram, pull, constant = rows.sum(_by_pieces(piece))
        return gram, pull, constant

    def _of_rows(self, rows: Rows) -> Oracle:
        loss = self.objective.loss

        def oracle(theta: Array) -> tuple[float, Array]:
            def piece(block: Block) -> tuple[Any, ...]:
                margin = block.margin(theta)
                slope = loss.slope(margin, block.target)
                value = float(loss.value(margin, block.target).sum())
                return value, block.weighted_sum(slope)

            value, gradient = rows.sum(_by_pieces(piece))
            return value, gradient

        return oracle

    def _least(self, oracle: Oracle, size: int, count: int) -> float:
        box = [(-self.radius, self.radius)] * size
        options = {"gtol": 0.0, "ftol": 1e-12, "maxiter": 200}
        start = np.zeros(size)
        found = minimize(
            oracle, start, jac=True, method="L-BFGS-B", bounds=box, options=options
        )
        inside = np.clip(found.x, -self.radius, self.radius)
        value, gradient = oracle(inside)
        if self._bound(inside, gradient) <= self.gap:
            return value
        return self._accelerated(oracle, size, count)

    def _bound(self, theta: Array, gradient: Array) -> float:
        """Bound f(θ) − min f over the box by the maximum of ⟨∇f(θ), θ − u⟩ over u."""
        return float(gradient @ theta + self.radius * np.abs(gradient).sum())

    def _accelerated(self, oracle: Oracle, size: int, count: int) -> float:
        """Return the minimum to within the gap, by accelerated gradient steps.

        After k steps, the excess is at most 2·L·‖θ*‖²/(k + 1)². All gradients are evaluated
        in the box, where L bounds the curvature. The rounding error of a step is added to
        the next step.
        """
        curvature = count * self._curvature(size)
        reach = size * self.radius**2
        steps = math.ceil(math.sqrt(2 * curvature * reach / self.gap))
        theta = carry = ahead = np.zeros(size)
        value, _ = oracle(theta)
        for k in range(steps):
            share = 2 / (k + 2)
            between = theta + share * (ahead - theta)
            _, gradient = oracle(np.clip(between, -self.radius, self.radius))
            moved = ahead - gradient / (share * curvature)
            ahead = np.clip(moved, -self.radius, self.radius)
            step = share * (ahead - theta) + carry
            before, theta = theta, theta + step
            carry = step - (theta - before)
            inside = np.clip(theta, -self.radius, self.radius)
            value, gradient = oracle(inside)
            if self._bound(inside, gradient) <= self.gap:
                break
        return value

    def _curvature(self, size: int) -> float:
        """Return a bound on the curvature of one record's loss for ``size`` columns."""
        few = self.objective.restricted_to(size - bool(self.objective.height))
        return few.with_ball(self.radius * math.sqrt(size)).smoothness


def _by_pieces(piece: Callable[[Block], Partial]) -> Callable[[Block], Partial]:
    """Return a function that sums ``piece`` over small groups of rows in a block."""
    return lambda block: pairwise_sum(map(piece, block.pieces(FEW_ADDED)))


GAP = 1e-3
"""Largest excess of a score over the minimum, as a fraction of the range of one loss."""


@SELECTORS.register("exponential")
@dataclass(frozen=True, slots=True)
class ExponentialSelector:
    """Select a set of columns with a probability proportional to exp(−epsilon·score/width).

    The score of a set is the smallest sum of losses with coefficients in the box [−radius,
    radius]. The width bounds how differently one record can change two scores. Under
    add-remove it is the range of one record's loss in the box, because adding a record
    increases all scores. Under replace-one it is twice this range. All sets of columns are
    evaluated.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, size, radius, budget.
    Proof        docs/proofs/sparse-selection.md

    Parameters
    ----------
    size : int, default=2
        Number of columns to select.
    radius : float, default=1.0
        Half the width of the box of coefficients.
    most : int, default=20000
        Largest allowed number of candidate sets.

    Raises
    ------
    InvalidParameter
        A setting is not positive.

    Examples
    --------
    >>> from confide.selection import ExponentialSelector, SelectThenFit
    >>> SelectThenFit(ExponentialSelector(size=3)).selector.size
    3
    """

    size: int = 2
    radius: float = 1.0
    most: int = 20_000

    name: ClassVar[str] = "exponential"
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH_LOSS,)
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "exponential-supports-exact",
        PAGE + "bounded-range",
    )

    def __post_init__(self) -> None:
        check_whole("size", self.size, "It is the number of columns to select.")
        check_whole("most", self.most)
        if not 0 < self.radius < math.inf:
            raise InvalidParameter("radius", "positive and finite", self.radius)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> SelectorCalibration:
        """Choose the noise from public information only."""
        check_needs(type(self).__name__, self.needs, objective)
        check_size(self.size, objective)
        target_size(objective)
        supports = math.comb(objective.columns, self.size)
        if supports > self.most:
            raise InvalidParameter(
                "size",
                f"small enough that there are at most {self.most} sets of columns",
                Described(f"{self.size} of {objective.columns} columns: {supports} sets"),
                f"Raise the parameter 'most' (now {self.most}), or use ScreeningSelector "
                "or SampleAggregateSelector.",
            )
        whole = best_budget_kind(budget, copies)
        width = support_width(objective, self.size, self.radius, neighbours)
        return SelectorCalibration(
            objective,
            budget,
            neighbours,
            PAGE + "exponential-supports-exact",
            Gumbel(score_scale(whole, copies, width, OUTWARD)),
            (event_of(whole),),
            copies,
        )

    def check_rows(self, calibration: SelectorCalibration, rows: Rows) -> None:
        """Raise if the table has an unsuitable shape, before any budget is spent."""
        check_length(rows)

    def select(
        self, calibration: SelectorCalibration, rows: Rows, entropy: Entropy
    ) -> Sequence[int]:
        """Select ``size`` columns privately, in increasing order."""
        objective = calibration.objective
        gap = GAP * loss_range(objective, _margin(objective, self.size, self.radius))
        scores = BoxScores(objective, self.radius, gap)
        supports, losses = scores.of_all(rows, self.size)
        return supports[int(calibration.noise.largest(-losses, 1, entropy)[0])]


def support_width(
    objective: Objective, size: int, radius: float, neighbours: Neighbours
) -> float:
    """Return a bound on how differently one record can change two scores.

    The bound includes the errors of the minimisation and of rounding.
    """
    margin = _margin(objective, size, radius)
    one = loss_range(objective, margin)
    return (neighbours.shifts + 2 * GAP) * one + 2 * score_error(objective, size, margin)


MOST_FOLLOWING = 1280
"""Longest chain of additions in a sum if rows are added in groups of `FEW_ADDED`."""


def score_error(objective: Objective, size: int, margin: float) -> float:
    """Return a bound on the rounding errors of a score and of its certified excess.

    The bound is for a table of `MAX_ROWS` rows (docs/proofs/sparse-selection.md,
    exponential-supports-exact).
    """
    public = PublicBounds(1.0, margin, objective.target_bound)
    pull = margin * objective.loss.slope_bound(public)
    product = margin**2 * curvature_bound(objective.loss, public)
    places = size + 1
    sums = (MOST_FOLLOWING + 4 * places) * (2 * loss_peak(objective, margin) + 3 * pull)
    return MAX_ROWS * 2.0**-53 * (sums + 3 * (places + 8) * (pull + product))


def _margin(objective: Objective, size: int, radius: float) -> float:
    """Return a bound on |⟨x, θ⟩| in the box, from the bounds on entries and norms."""
    by_entries = size * objective.entry_bound
    by_length = objective.row_norm_of(size) * math.sqrt(size)
    return radius * (min(by_entries, by_length) + objective.height)
