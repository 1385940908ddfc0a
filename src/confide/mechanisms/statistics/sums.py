"""Sums of products, the sufficient statistics of linear regression.

    gram  G = Σ xxᵀ        moment  m = Σ yx

The proofs are in docs/proofs/sufficient-statistics.md.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from confide._types import Array
from confide.data.matrix.sums import MAX_ROWS, Partial
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows, sum_in_pieces
from confide.mechanisms.base import (
    Calibration,
    Summand,
    check_length,
    check_weights,
    publish_together,
)
from confide.mechanisms.intervals.moments import ROUNDING_SLACK
from confide.mechanisms.needs import Need
from confide.mechanisms.release import NoiseRecord
from confide.noise import Entropy, Noise
from confide.noise.real_vector import check_scale
from confide.noise.symmetric import (
    ABOVE,
    HALF_ROOT,
    as_symmetric,
    degrees_of_freedom,
    symmetric_stretch,
    upper_entries,
)
from confide.objectives import Objective, is_squared
from confide.privacy import Neighbours
from confide.privacy.guarantee import ROW_LIMIT

PAGE = "sufficient-statistics.md#"


@dataclass(frozen=True, slots=True)
class SumsCalibration(Calibration):
    """Calibration of a release of sums, which needs no solver and no tolerance.

    ``others`` describes all noise distributions except the first.
    """

    others: tuple[NoiseRecord, ...] = field(default=(), kw_only=True)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Return descriptions of all noise distributions."""
        return (*Calibration.records(self, added_to), *self.others)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the release in addition to those of its theorem."""
        return (ROW_LIMIT,)

    def check_rows(self, rows: Rows) -> None:
        """Reject tables with too many rows, or with unexpected weights."""
        check_length(rows)
        check_weights(self.objective, rows)


SQUARED_LOSS = Need(
    "the squared loss",
    lambda objective: is_squared(objective.loss),
    "use LinearRegression, or mechanism='objective'",
)
BOUNDED_TARGET = Need(
    "a public bound on the target",
    lambda objective: (
        objective.target_bound is not None or objective.loss.targets == "signs"
    ),
    "set target_bound",
)
NO_PENALTY = Need(
    "an objective without a separate penalty",
    lambda objective: objective.penalty is None,
    "set l1 to 0, or use mechanism='objective'",
)


def sufficient_statistics(rows: Rows) -> tuple[Array, Array]:
    """Return the exact G and m, which are private.

    If rows are weighted, both the row and the target of a record are multiplied by its
    weight, but at most by 1. Rows of large norm are thus reduced to a typical norm.
    """
    assert not rows.responses, "the sums support only one target"  # noqa: S101

    def part(block: Block) -> Partial:
        target = np.asarray(block.target, dtype=np.float64)
        times = np.ones(len(target))
        if block.weight is not None:
            times = np.minimum(block.weight, 1.0) ** 2
        return block.gram(times, double=True), block.weighted_sum(times * target)

    gram, moment = sum_in_pieces(rows, part)
    return gram, moment


def pair_sensitivity(objective: Objective, weight: float, neighbours: Neighbours) -> float:
    """Return the sensitivity of (G, w·m) in the Frobenius norm.

    Under replace-one, G and m cannot both change by the largest amount: G changes most if
    the two rows are orthogonal, and m if they are opposite.
    """
    longest, bound = objective.row_norm, weight * (objective.target_bound or 1.0)
    if neighbours is Neighbours.ADD_REMOVE:
        reach = longest * math.hypot(longest, bound)
    elif bound**2 <= 2 * longest**2:
        reach = (2 * longest**2 + bound**2) / math.sqrt(2)
    else:
        reach = 2 * longest * bound
    return reach * (1 + ROUNDING_SLACK)


def balanced_weight(objective: Objective) -> float:
    """Return the weight w at which noise in Gθ, for a typical θ, is as large as in m."""
    ratio = objective.row_norm / (objective.target_bound or 1.0)
    return math.sqrt(math.sqrt(2) * ratio / objective.typical_norm)


def pair_dimension(size: int) -> int:
    """Return the dimension of the space of pairs (G, m)."""
    return degrees_of_freedom(size) + size


@dataclass(frozen=True, slots=True)
class SumReach:
    """Public bounds on the entries of G and m, for the largest permitted number of rows."""

    gram: float
    moment: float

    @classmethod
    def of(cls, objective: Objective) -> "SumReach":
        """Return the bounds that follow from the bounds on row norms and targets."""
        longest, bound = objective.row_norm, objective.target_bound or 1.0
        return cls(MAX_ROWS * longest**2, MAX_ROWS * longest * bound)


def publish_pair(
    statistics: tuple[Array, Array],
    noise: Noise,
    stretch: tuple[float | Array, float],
    reach: SumReach,
    entropy: Entropy,
) -> tuple[Array, Array]:
    """Add one noise vector to G and m, and round both to public lattices.

    ``stretch`` contains the factors by which the noise is multiplied for G and for m.
    """
    gram, moment = statistics
    upper, noised = publish_together(
        [
            Summand(upper_entries(gram), reach.gram, stretch[0]),
            Summand(moment, reach.moment, stretch[1]),
        ],
        noise,
        entropy,
    )
    return as_symmetric(upper, len(moment)), noised


def add_pair_noise(
    statistics: tuple[Array, Array],
    noise: Noise,
    weight: float,
    reach: SumReach,
    entropy: Entropy,
) -> tuple[Array, Array]:
    """Add one noise vector to (G, w·m); return noisy G and m on public lattices."""
    stretch = (symmetric_stretch(len(statistics[1])), ABOVE / weight)
    return publish_pair(statistics, noise, stretch, reach, entropy)


def check_scales(objective: Objective, noise: Noise, stretch: float) -> None:
    """Reject bounds and noise scales outside the range of doubles."""
    longest, bound = objective.row_norm, objective.target_bound or 1.0
    for scale in (longest**2, longest * bound, noise.scale * stretch):
        check_scale(scale)
    check_scale(noise.scale * HALF_ROOT)


def ridge_solution(gram: Array, moment: Array, l2: float, least: float = 0.0) -> Array:
    """Solve (G + ΛI)θ = m for θ.

    Negative eigenvalues of G are first replaced by 0, and those of G + ΛI are then raised
    to at least ``least``.
    """
    values, vectors = np.linalg.eigh(gram)
    strength = np.maximum(np.maximum(values, 0.0) + l2, least)
    return np.asarray(vectors @ ((vectors.T @ moment) / strength))


def within(objective: Objective, theta: Array) -> Array:
    """Project the coefficients onto the constraint, if there is one."""
    if objective.constraint is None:
        return theta
    return np.asarray(objective.constraint.project(theta))
