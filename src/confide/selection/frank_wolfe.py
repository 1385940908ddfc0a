"""Frank–Wolfe on the l1 ball: every step chooses a corner by the exponential mechanism."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.accounting import event_of
from confide.data.matrix.sums import MOST_ADDED, Partial, pairwise_sum
from confide.data.rows.block import Block
from confide.data.rows.in_memory import InMemoryRows, Rows
from confide.errors import InvalidParameter, MissingPublicBound, PrivacyLeak
from confide.mechanisms import MECHANISMS, Calibration, Need, Release, RowBounds
from confide.mechanisms.base import check_length, check_whole, checked_copies, make_release
from confide.mechanisms.needs import SMOOTH_LOSS, SMOOTH_PENALTY, check_needs
from confide.noise import Entropy, Gumbel, SignedWeights
from confide.objectives import L1Ball, Objective, PublicBounds
from confide.privacy import Budget, Neighbours
from confide.selection.base import PAGE, bounds_of, entry_bounds
from confide.selection.choice_cost import best_budget_kind, score_scale
from confide.selection.screening import score_width


@dataclass(frozen=True, slots=True, repr=False)
class ColumnIndexedRows:
    """Sparse rows indexed by row and by column, without the constant column."""

    by_row: Any
    by_column: Any
    lengths: AnyArray
    target: Array

    @classmethod
    def of(cls, rows: InMemoryRows) -> "ColumnIndexedRows":
        """Index sparse rows by row and by column, with entries in double precision."""
        features, target = rows.plain()
        by_row = sparse.csr_array(features, dtype=np.float64)
        exact = target.astype(np.float64, copy=False)
        return cls(by_row, by_row.tocsc(), np.diff(by_row.indptr), exact)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.target)

    def column(self, place: int) -> tuple[AnyArray, Array]:
        """Return the indices and values of the entries of a column that are not 0."""
        first, last = self.by_column.indptr[place : place + 2]
        return self.by_column.indices[first:last], self.by_column.data[first:last]

    def entries_of(self, rows: AnyArray | slice) -> int:
        """Return the number of stored entries in some rows."""
        return int(self.lengths[rows].sum())

    def weighted_sum(self, weights: Array) -> Array:
        """Return Σ wᵢxᵢ over all rows.

        Long sums are added in blocks, and the block sums pairwise.
        """
        if self.count <= MOST_IN_LINE:
            return np.asarray(self.by_column.T @ weights)
        starts = range(0, max(1, self.count), MOST_ADDED)
        return np.asarray(pairwise_sum(self._part(low, weights) for low in starts)[0])

    def _part(self, low: int, weights: Array) -> Partial:
        matrix, high = self.by_row, min(low + MOST_ADDED, self.count)
        first, last = matrix.indptr[low], matrix.indptr[high]
        parts = (
            matrix.data[first:last],
            matrix.indices[first:last],
            matrix.indptr[low : high + 1] - first,
        )
        some = sparse.csr_array(parts, shape=(high - low, matrix.shape[1]))
        return (some.T @ weights[low:high],)

    def pull_some(self, rows: AnyArray, weights: Array) -> tuple[AnyArray, Array]:
        """Return the columns and values of all terms of Σ wᵢxᵢ over some rows."""
        starts = self.by_row.indptr[rows]
        counts = self.lengths[rows]
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(starts - before, counts)
        terms = self.by_row.data[places] * np.repeat(weights, counts)
        return self.by_row.indices[places], terms

    def __reduce__(self) -> tuple[Any, ...]:
        raise PrivacyLeak("private rows cannot be copied or stored")

    def __repr__(self) -> str:
        return "<private rows>"


STALE = 0.85
"""All slopes are recomputed after the coefficients have shrunk by this factor."""

DENSE_COLUMN_SHARE = 10
"""The gradient is recomputed if the changed rows contain over 1/10 of all entries."""

MOST_IN_LINE = 2**21
"""Largest number of rows that are added sequentially. The rounding error is then at most
that of the longest pairwise sum."""
MOST_CORRECTED = 2**19
"""Number of updated slopes after which the gradient is recomputed."""


class Path(Protocol):
    """Protocol for updates of a gradient when one coefficient changes per step.

    ``pulls`` is the gradient Σ aᵢxᵢ over all rows, where aᵢ is the slope of the loss of row
    i. The entry for the constant column is last.
    """

    pulls: Array

    def move(self, place: int, gain: float, keep: float) -> AnyArray | None:
        """Multiply coefficients by ``keep``, then add ``gain`` to one of them.

        Return the indices at which ``pulls`` changed, or None if all entries may have
        changed.
        """
        ...


class DensePath:
    """Gradient that is recomputed from all rows at every step.

    The linear predictors of rows in memory are updated, and those of other rows are
    recomputed. The linear predictor of a row never depends on other rows.
    """

    def __init__(self, objective: Objective, rows: Rows) -> None:
        self._objective, self._rows = objective, rows
        self._theta = np.zeros(objective.dimension)
        self._margins: Array | None = None
        if isinstance(rows, InMemoryRows):
            self._margins = np.zeros(rows.count)
        self.pulls = self._summed()

    def move(self, place: int, gain: float, keep: float) -> None:
        """Multiply coefficients by ``keep``, then add ``gain`` to one of them."""
        self._theta *= keep
        self._theta[place] += gain
        if self._margins is not None:
            self._margins *= keep
            self._margins += gain * self._column(place)
        self.pulls = self._summed()

    def _column(self, place: int) -> Array | float:
        if place == self._objective.columns:
            return self._rows.height
        alone = self._rows.columns([place])
        assert isinstance(alone, InMemoryRows)  # noqa: S101
        return alone.toarray()[:, 0]

    def _summed(self) -> Array:
        loss, theta, kept = self._objective.loss, self._theta, self._margins

        def part(block: Block) -> tuple[Any, ...]:
            if kept is None:
                margin = block.margin(theta, row_independent=True)
            else:
                margin = kept[block.start : block.start + len(block.target)]
            return (block.weighted_sum(loss.slope(margin, block.target)),)

        return np.asarray(self._rows.sum(part)[0])


class SparsePath:
    """Gradient for sparse rows, updated only from rows that contain the changed column.

    Linear predictors are stored as an array times a common factor, so scaling all
    coefficients takes constant time. Whether the slope of a record is updated depends only
    on the changes of coefficients and on the entries of this record. The density of columns
    affects how a sum is computed, but never its summands. Changes since the last complete
    sum are accumulated separately, to reduce rounding errors.
    """

    def __init__(self, objective: Objective, rows: InMemoryRows) -> None:
        self._loss, self._height = objective.loss, rows.height
        self._columns = objective.columns
        self._rows = ColumnIndexedRows.of(rows)
        self._margins = np.zeros(self._rows.count)
        self._scale = self._fresh = 1.0
        self._many = self._rows.entries_of(slice(None)) // DENSE_COLUMN_SHARE
        self._refresh()

    def move(self, place: int, gain: float, keep: float) -> AnyArray | None:
        """Multiply coefficients by ``keep``, then add ``gain`` to one of them."""
        self._scale *= keep
        if self._scale <= 0:
            self._margins[:] = 0.0
            self._scale = 1.0
            self._fresh = np.inf
        if place == self._columns:
            self._margins += gain / self._scale * self._height
            self._refresh()
            return None
        rows, values = self._rows.column(place)
        self._margins[rows] += gain / self._scale * values
        if self._scale < STALE * self._fresh:
            self._refresh()
            return None
        slopes = self._loss.slope(
            self._scale * self._margins[rows], self._rows.target[rows]
        )
        change = slopes - self._slopes[rows]
        self._slopes[rows] = slopes
        self._added += len(rows)
        most = min(self._rows.count, MOST_CORRECTED)
        if self._added > most or self._rows.entries_of(rows) > self._many:
            self._sum_up()
            return None
        columns, terms = self._rows.pull_some(rows, change)
        np.add.at(self._changes, columns, terms)
        if self._height:
            self._changes[-1] += self._height * change.sum()
            columns = np.append(columns, self._columns)
        self.pulls[columns] = self._summed[columns] + self._changes[columns]
        return columns

    def _refresh(self) -> None:
        """Recompute the slopes of all records.

        The steps at which this happens depend only on the sequence of coefficients.
        """
        self._slopes = self._loss.slope(self._scale * self._margins, self._rows.target)
        self._fresh = self._scale
        self._sum_up()

    def _sum_up(self) -> None:
        """Recompute the gradient from the current slopes."""
        pulls = self._rows.weighted_sum(self._slopes)
        if self._height:
            pulls = np.append(pulls, self._height * self._slopes.sum())
        self.pulls, self._added = pulls, 0
        self._summed, self._changes = pulls.copy(), np.zeros(len(pulls))


def _bounded_in_a_ball(objective: Objective) -> bool:
    try:
        return corner_slope(objective, 1.0) < math.inf
    except MissingPublicBound:
        return False


BOUNDED_IN_BALL = Need(
    "a loss whose slope is bounded for coefficients in the l1 ball",
    _bounded_in_a_ball,
    "declare the missing public bound (target_bound) or clip the slope (slope_bound)",
)


@dataclass(frozen=True, slots=True)
class CornerCalibration(Calibration):
    """Calibration of the noisy choices of corners, and the number of steps."""

    steps: int = field(kw_only=True)

    def check_rows(self, rows: Rows) -> None:
        """Raise if the table has an unsuitable shape, before any budget is spent."""
        check_length(rows)


@MECHANISMS.register("frank-wolfe")
@dataclass(frozen=True, slots=True)
class FrankWolfe:
    """Move towards corners of the ball ‖θ‖₁ <= radius that are chosen privately.

    Every step chooses a corner at random, with higher probabilities for corners in
    directions of steeper descent. The coefficients are a weighted average of the chosen
    corners with fixed weights, so at most ``steps`` coefficients are not 0. With sparse
    rows, the running time of a step depends only on the chosen column.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, ridge, radius, steps, budget.
    Sensitivity  radius·slope·bound for the score of a corner.
    Proof        docs/proofs/sparse-selection.md

    Parameters
    ----------
    radius : float, default=10.0
        Bound on the sum of the absolute coefficients.
    steps : int, default=40
        Number of steps.
    column_bound : float, default=1.0
        Public bound on the absolute value of every entry; larger entries are clipped.

    Raises
    ------
    InvalidParameter
        A setting is not positive.

    Examples
    --------
    >>> from confide import LogisticRegression, Pure
    >>> from confide.selection import FrankWolfe
    >>> model = LogisticRegression(Pure(1), mechanism=FrankWolfe(radius=5, steps=20))
    >>> model.mechanism.steps
    20
    """

    radius: float = 10.0
    steps: int = 40
    column_bound: float = 1.0

    name: ClassVar[str] = "frank-wolfe"
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH_LOSS, SMOOTH_PENALTY, BOUNDED_IN_BALL)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "frank-wolfe-exact",)

    def __post_init__(self) -> None:
        check_whole("steps", self.steps)
        if not 0 < self.radius < math.inf:
            raise InvalidParameter("radius", "positive and finite", self.radius)
        _ = self.row_bounds

    @property
    def row_bounds(self) -> RowBounds:
        """Bounds on the entries, and the value of the constant column."""
        entries = entry_bounds(self.column_bound, 1, scaled=False)
        return RowBounds(entries, self.column_bound)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> CornerCalibration:
        """Choose the noise from public information only."""
        check_needs(type(self).__name__, self.needs, objective)
        choices = self.steps * copies
        whole = best_budget_kind(budget, choices)
        slope = corner_slope(objective, self.radius)
        width = score_width(self.radius * slope * corner_entry(objective), neighbours)
        return CornerCalibration(
            self,
            replace(objective, l2=objective.l2 or 0.0, constraint=L1Ball(self.radius)),
            budget,
            neighbours,
            PAGE + "frank-wolfe-exact",
            Gumbel(score_scale(whole, choices, width)),
            None,
            0.0,
            (event_of(whole),),
            copies,
            steps=self.steps,
        )

    def release(
        self, calibration: CornerCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Run all steps for every objective, and release the results together.

        Parameters
        ----------
        calibration : CornerCalibration
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
        objective = calibration.objective
        paid = checked_copies(tasks, calibration.copies)
        values = [self._walk(calibration, rows, entropy) for rows in paid]
        supports = tuple(
            tuple(np.flatnonzero(v[: objective.columns]).tolist()) for v in values
        )
        release = make_release(calibration, values, entropy, "scores of corners")
        return replace(release, support=supports, row_bounds=bounds_of(objective))

    def _walk(self, calibration: CornerCalibration, rows: Rows, entropy: Entropy) -> Array:
        objective = calibration.objective
        path: Path
        if isinstance(rows, InMemoryRows) and _is_sparse(rows):
            path = SparsePath(objective, rows)
        else:
            path = DensePath(objective, rows)
        ridge, theta = objective.l2 or 0.0, np.zeros(objective.dimension)
        rate = -self.radius / calibration.noise.scale
        corners = SignedWeights(rate * path.pulls)
        for step in range(calibration.steps):
            place, sign = corners.draw(entropy)
            share = 2 / (step + 2)
            gain = sign * share * self.radius
            theta *= 1 - share
            theta[place] += gain
            changed = path.move(place, gain, 1 - share)
            if ridge:
                corners = SignedWeights(rate * (path.pulls + ridge * theta))
            elif changed is None:
                corners = SignedWeights(rate * path.pulls)
            elif len(changed):
                corners.update(changed, rate * path.pulls[changed])
        return theta


def _is_sparse(rows: Rows) -> bool:
    """Return whether rows are in memory and sparse."""
    return isinstance(rows, InMemoryRows) and rows.features.is_sparse


def corner_entry(objective: Objective) -> float:
    """Return a bound on the absolute values in a row, including the constant column."""
    return max(objective.entry_bound, objective.height)


def corner_slope(objective: Objective, radius: float) -> float:
    """Return the largest slope of the loss for ‖θ‖₁ <= radius, by |⟨x,θ⟩| <= ‖x‖∞·‖θ‖₁."""
    public = PublicBounds(corner_entry(objective), radius, objective.target_bound)
    return objective.loss.slope_bound(public)
