"""Private release of curvature and scatter at coefficients that are already public.

The curvature is the Hessian of the total loss. The scatter is the sum of the outer products
of the gradients of all records.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from confide._types import Array
from confide.accounting import Event
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows, sum_in_pieces
from confide.mechanisms.base import (
    Summand,
    UnitNoise,
    check_length,
    checked_copies,
    publish,
    publish_together,
    scaled,
    unit_noise,
)
from confide.mechanisms.needs import (
    CASE_WEIGHTS,
    CURVED_LOSS,
    OFFSETS,
    SEVERAL_SCORES,
    SMOOTH_PENALTY,
    WEIGHTED_RECORDS,
    Need,
    check_needs,
)
from confide.mechanisms.release import NoiseRecord
from confide.noise import Entropy, Gaussian, SphericalLaplace
from confide.noise.real_vector import check_scale
from confide.noise.symmetric import (
    ABOVE,
    HALF_ROOT,
    as_symmetric,
    symmetric_stretch,
    upper_entries,
)
from confide.objectives import (
    Multinomial,
    Objective,
    PublicBounds,
    curvature_bound,
    is_multinomial,
    sum_zero_basis,
)
from confide.objectives.multinomial import class_pairs, over_pairs
from confide.privacy import Budget, Neighbours, Pure

PAGE = "private-intervals.md#"
SLOPE_CELLS = 1024
ROUNDING_SLACK = 1e-3
"""Relative increase of sensitivities that covers rounding errors of sums over the largest
permitted number of rows."""

SCORES_SLACK = 4e-3
"""Value of `ROUNDING_SLACK` for the multinomial loss, whose sums are assembled from pairs
of classes."""

INTERVAL_NEEDS: tuple[Need, ...] = (
    CURVED_LOSS,
    SMOOTH_PENALTY,
    CASE_WEIGHTS,
    OFFSETS,
    WEIGHTED_RECORDS,
    SEVERAL_SCORES,
)
MOMENT_SPLIT = (Fraction(16, 25), Fraction(9, 25))
"""Shares of curvature and scatter in their joint budget, found by experiment."""
Recipe: TypeAlias = Literal["joint", "curvature", "published"]


@dataclass(frozen=True, slots=True)
class Moments:
    """Noisy curvature and scatter as released, not necessarily positive semidefinite.

    Parameters
    ----------
    curvature : ndarray
        Noisy Hessian of the total loss.
    scatter : ndarray
        Noisy sum of the outer products of gradients. If only the curvature was released,
        this is a copy of the curvature.
    curvature_deviation : float
        Standard deviation of the noise on a diagonal entry of the curvature.
    scatter_deviation : float
        The same for the scatter.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.mechanisms import Moments
    >>> found = Moments(np.diag([50.0, -2.0]), np.eye(2), 4.0, 4.0)
    >>> found.curvature.diagonal() > 3 * found.curvature_deviation
    array([ True, False])

    Noise hides the curvature in the second direction: its coefficient is not identified.
    """

    curvature: Array
    scatter: Array
    curvature_deviation: float
    scatter_deviation: float


@dataclass(frozen=True, slots=True)
class MomentCalibration:
    """Noise for the curvature and the scatter, chosen before the coefficients are known.

    It is noise for sensitivity 1, to be scaled when the coefficients are known. ``parts``
    contains one noise distribution for both matrices together, or one for each. ``ratio``
    is the weight of the scatter relative to the curvature, or 0 if the scatter is not
    released. If given, ``heights`` bounds the absolute values of the entries of every
    column except the constant one.
    """

    objective: Objective
    neighbours: Neighbours
    recipe: Recipe
    ratio: float
    parts: tuple[SphericalLaplace | Gaussian, ...]
    events: tuple[Event, ...]
    theorem: str
    copies: int = 1
    heights: Array | None = field(default=None, compare=False)

    def release(
        self, coefficients: Sequence[Array], tasks: Iterable[Rows], entropy: Entropy
    ) -> tuple[Moments, ...]:
        """Compute both matrices for every objective at its coefficients, and add noise."""
        found = []
        paid = checked_copies(tasks, self.copies)
        for theta, rows in zip(coefficients, paid, strict=True):
            curvature, scatter = sums(self.objective, rows, theta)
            found.append(add_noise(self, theta, curvature, scatter, entropy))
        return tuple(found)

    def weight(self, length: float) -> float:
        """Return the weight w of the scatter S in the pair (C, w·S).

        ``length`` is the norm of the coefficients.
        """
        slope = self.objective.loss.slope_bound(bounds_at(self.objective, length))
        return self.ratio * largest_curvature(self.objective, length) / slope**2

    def check_rows(self, rows: Rows) -> None:
        """Reject tables with more rows than `ROUNDING_SLACK` covers."""
        check_length(rows)


@dataclass(frozen=True, slots=True)
class MomentRelease:
    """Release of the curvature C and the scatter S at coefficients that are public.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, bounds, the coefficients, budget.
    Private      rows and targets, and under add-remove the number of rows.
    Sensitivity  m·X² (add-remove) or √2·m·X² (replace-one) for the pair (C, w·S), where
                 m² = max κ(a)²(X̄/X)² + w²a⁴ over the slopes a that are possible at these
                 coefficients, and κ(a) is the largest curvature at slope a. X̄ bounds the
                 norm of a row, and X bounds this norm times the weight of the record.
    Noise        one vector in the space of pairs of symmetric matrices.
    Proof        docs/proofs/private-intervals.md

    Parameters
    ----------
    recipe : {"joint", "curvature", "published"}, default="joint"
        "joint" adds one noise vector to both matrices. "curvature" releases only C.
        "published" releases both matrices separately as in Wang, Kifer and Lee (2018). Its
        sensitivity is twice the largest contribution of a record, and noise is added to
        all entries.
    split : tuple of Fraction
        Relative shares of curvature and scatter in the budget.
    heights : ndarray, optional
        Bounds on the absolute values in every column except the constant one.

    Examples
    --------
    >>> from confide.mechanisms import MomentRelease
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> found = MomentRelease().calibrate(objective, Pure(1), Neighbours.ADD_REMOVE)
    >>> [noise.kind for noise in found.parts]
    ['spherical-laplace']

    One noise vector covers both matrices.
    """

    recipe: Recipe = "joint"
    split: tuple[Fraction, Fraction] = MOMENT_SPLIT
    heights: Array | None = field(default=None, compare=False)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> MomentCalibration:
        """Choose noise from public information alone.

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
        MomentCalibration
            Noise for unit sensitivity, and its cost.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        check_needs("Intervals", INTERVAL_NEEDS, objective)
        ratio = 1.0
        if self.recipe == "published":
            first = self.split[0] / sum(self.split)
            found = [unit_noise(budget, copies, part) for part in (first, 1 - first)]
        else:
            ratio = math.sqrt(float(self.split[1] / self.split[0]))
            found = [unit_noise(budget, copies, Fraction(1))]
        kind = "pure" if isinstance(budget, Pure) else "gaussian"
        calibration = MomentCalibration(
            objective,
            neighbours,
            self.recipe,
            0.0 if self.recipe == "curvature" else ratio,
            tuple(noise for noise, _ in found),
            tuple(event for _, event in found),
            f"{PAGE}moments-{kind}-exact",
            copies,
            self.heights,
        )
        _check_scales(calibration)
        return calibration


def sums(objective: Objective, rows: Rows, theta: Array) -> tuple[Array, Array]:
    """Return the curvature C and the scatter S without noise; both are private."""
    loss = objective.loss
    if isinstance(loss, Multinomial):
        return _sums_of_scores(loss, rows, theta)

    def part(block: Block) -> tuple[Any, ...]:
        margin = block.margin(theta, row_independent=True)
        slope = loss.slope(margin, block.target)
        curvature = block.weigh(loss.curvature_from_slope(slope, margin, block.target))
        slope = block.weigh(slope)
        return block.gram(curvature, double=True), block.gram(slope * slope, double=True)

    curvature, scatter = sum_in_pieces(rows, part)
    return curvature, scatter


def _sums_of_scores(loss: Multinomial, rows: Rows, theta: Array) -> tuple[Array, Array]:
    """Return C and S for the multinomial loss, from weighted Gram matrices."""
    point, pairs = theta.reshape(-1, loss.coordinates), class_pairs(loss.classes)

    def part(block: Block) -> tuple[Any, ...]:
        margin = block.margin(point, row_independent=True)
        slope, chances = loss.slope_and_chances(margin, block.target)
        own = block.weigh(slope @ sum_zero_basis(loss.classes).T)
        counted = block.weigh(chances)
        curvatures = [counted[:, j] * chances[:, k] for j, k in pairs]
        apart = [-own[:, j] * own[:, k] for j, k in pairs]
        weights = (
            *curvatures,
            *(np.maximum(one, 0.0) for one in apart),
            *(np.maximum(-one, 0.0) for one in apart),
        )
        return tuple(block.gram(one, double=True) for one in weights)

    grams = sum_in_pieces(rows, part)
    count = len(pairs)
    above, below = grams[count : 2 * count], grams[2 * count :]
    scatter = [one - other for one, other in zip(above, below, strict=True)]
    return over_pairs(loss.classes, grams[:count]), over_pairs(loss.classes, scatter)


def add_noise(
    calibration: MomentCalibration,
    theta: Array,
    curvature: Array,
    scatter: Array,
    entropy: Entropy,
) -> Moments:
    """Add noise to C and S, and round both to public lattices."""
    if calibration.recipe == "published":
        return _published(calibration, theta, curvature, scatter, entropy)
    size = len(theta)
    length = effective_length(calibration.objective, theta, calibration.heights)
    (noise,) = noises(calibration, length)
    stretch, weight = symmetric_stretch(size), calibration.weight(length)
    most = largest_sums(calibration.objective, length)
    pieces = [Summand(upper_entries(curvature), most[0], stretch)]
    if weight:
        wider = stretch * (ABOVE / weight)
        pieces.append(Summand(upper_entries(scatter), most[1], wider))
    noisy = [as_symmetric(u, size) for u in publish_together(pieces, noise, entropy)]
    spread = noise.deviation(len(pieces) * len(stretch))
    if not weight:
        return Moments(noisy[0], noisy[0], spread, spread)
    return Moments(noisy[0], noisy[1], spread, spread / weight)


def noises(calibration: MomentCalibration, length: float) -> list[UnitNoise]:
    """Return the noise distributions, one for C and S together or one for each.

    ``length`` is the norm of the coefficients.
    """
    objective = calibration.objective
    if calibration.recipe == "published":
        contributions = (
            largest_curvature(objective, length),
            steepest_slope(objective, length) ** 2,
        )
        twice = 2 * objective.row_norm**2 * (1 + ROUNDING_SLACK)
        reaches = [twice * one for one in contributions]
    else:
        reaches = [sensitivity(calibration, length)]
    return [scaled(*pair) for pair in zip(calibration.parts, reaches, strict=True)]


def _check_scales(calibration: MomentCalibration) -> None:
    """Reject noise scales outside the range of doubles, before any budget is spent.

    Scales increase with the norm of the coefficients, so it is enough to check norms 0 and
    ∞.
    """
    for length in (0.0, math.inf):
        weight = calibration.weight(length)
        for noise in noises(calibration, length):
            check_scale(noise.scale * HALF_ROOT)
            if weight:
                check_scale(noise.scale * (ABOVE / weight))
                check_scale(noise.scale * (HALF_ROOT / weight))


def sensitivity(calibration: MomentCalibration, length: float) -> float:
    """Return the sensitivity of (C, w·S) at coefficients of norm ``length``."""
    objective = calibration.objective
    pairs = math.sqrt(2) if calibration.neighbours is Neighbours.REPLACE_ONE else 1.0
    longest = largest_contribution(objective, calibration.weight(length), length)
    slack = SCORES_SLACK if is_multinomial(objective.loss) else ROUNDING_SLACK
    return pairs * longest * objective.row_norm**2 * (1 + slack)


def largest_contribution(objective: Objective, weight: float, length: float) -> float:
    """Bound the Frobenius norm of the contribution of one record to (C, w·S).

    In units of X², the bound is the maximum of √((κ(a)·X̄/X)² + w²a⁴) over the slopes a that
    are possible at coefficients of norm ``length``. On every cell of a grid of slopes, κ(a)
    and a are replaced by their largest values.
    """
    loss, public = objective.loss, bounds_at(objective, length)
    steepest = steepest_slope(objective, length)
    peak = loss.slope_of_peak_curvature
    if not (loss.monotone and math.isfinite(peak)):
        return math.hypot(largest_curvature(objective, length), weight * steepest**2)
    grid = np.linspace(0.0, steepest, SLOPE_CELLS + 1)
    if peak < steepest:
        grid = np.sort(np.append(grid, peak))
    curvature = loss.max_curvature(grid, public) * _stretch(objective)
    most = np.maximum(curvature[:-1], curvature[1:])
    return float(np.sqrt(np.max(most**2 + (weight * grid[1:] ** 2) ** 2)))


def largest_sums(objective: Objective, length: float) -> tuple[float, float]:
    """Return bounds on the entries of C and S at coefficients of norm ``length``."""
    most = MAX_ROWS * objective.row_norm**2
    return most * largest_curvature(objective, length), most * steepest_slope(
        objective, length
    ) ** 2


def steepest_slope(objective: Objective, length: float) -> float:
    """Return the largest slope of the loss at any coefficients of norm ``length``."""
    margin = objective.margin_size(length)
    return objective.loss.steepest_slope(bounds_at(objective, length), margin)


def effective_length(
    objective: Objective, theta: Array, heights: Array | None = None
) -> float:
    """Return an effective norm of the coefficients, which bounds slopes and curvatures.

    It is the largest margin that matters for these bounds, divided by the largest row norm,
    and is at most ‖θ‖. It may depend on the coefficients because they are public. The
    constant entry, which is the same in all rows, limits the norm of the other entries of a
    row. ``heights`` bounds these entries individually.
    """
    whole = float(np.linalg.norm(theta))
    if is_multinomial(objective.loss):
        return whole
    slopes, level = theta, 0.0
    rest = objective.reach
    if objective.height:
        slopes, level = theta[:-1], objective.height * float(theta[-1])
        rest = objective.row_norm_of(objective.columns)
    swing = rest * float(np.linalg.norm(slopes))
    if heights is not None:
        swing = min(swing, float(heights @ np.abs(slopes)))
    most = objective.offset_bound
    lowest, highest = level - swing - most, level + swing + most
    margin = max(0.0, objective.loss.margin_reach(lowest, highest) - most)
    return min(whole, margin / objective.reach * (1 + 1e-12))


def bounds_at(objective: Objective, length: float) -> PublicBounds:
    """Return the public bounds on every record at coefficients of norm ``length``."""
    public = objective.public
    return replace(public, coef_norm=min(public.coef_norm, length))


def largest_curvature(objective: Objective, length: float) -> float:
    """Return the largest eigenvalue of the Hessian of one record, in units of X².

    ``length`` is the norm of the coefficients.
    """
    bound = curvature_bound(objective.loss, bounds_at(objective, length))
    return bound * _stretch(objective)


def _stretch(objective: Objective) -> float:
    """Return X̄/X, because w‖x‖ ≤ X gives w‖x‖² ≤ X·X̄ = X²·(X̄/X)."""
    return objective.reach / objective.row_norm


def noise_records(
    calibration: MomentCalibration, moments: Sequence[Moments]
) -> tuple[NoiseRecord, ...]:
    """Return descriptions of the noise, with its scale for the first objective."""
    kind = calibration.parts[0].kind
    entries = [NoiseRecord(kind, moments[0].curvature_deviation, "curvature")]
    if calibration.ratio:
        entries.append(NoiseRecord(kind, moments[0].scatter_deviation, "scatter"))
    return tuple(entries)


def _published(
    calibration: MomentCalibration,
    theta: Array,
    curvature: Array,
    scatter: Array,
    entropy: Entropy,
) -> Moments:
    """Add noise as in the paper: doubled sensitivities, separate noise on every entry."""
    length = float(np.linalg.norm(theta))
    most = largest_sums(calibration.objective, length)
    noisy, spreads = [], []
    for matrix, reach, noise in zip(
        (curvature, scatter), most, noises(calibration, length), strict=True
    ):
        drawn = publish(matrix, noise, entropy, reach)
        noisy.append((drawn + drawn.T) / 2)
        spreads.append(noise.deviation(matrix.size))
    return Moments(noisy[0], noisy[1], spreads[0], spreads[1])
