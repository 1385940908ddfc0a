"""Sums of products: all that linear regression asks of the rows.

    gram  G = Σ xxᵀ        moment  m = Σ yx

docs/proofs/sufficient-statistics.md proves what is used here.
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
    """A calibration of released sums: no solver, so no tolerance.

    ``others`` describes noises beside the first.
    """

    others: tuple[NoiseRecord, ...] = field(default=(), kw_only=True)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the noises for the release."""
        return (*Calibration.records(self, added_to), *self.others)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the release assumes in addition to its theorem."""
        return (ROW_LIMIT,)

    def check_rows(self, rows: Rows) -> None:
        """Reject more rows than the slack covers; any table of fewer is accepted."""
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
    "an objective without a penalty of its own",
    lambda objective: objective.penalty is None,
    "set l1 to 0, or use mechanism='objective'",
)


def sufficient_statistics(rows: Rows) -> tuple[Array, Array]:
    """Return G and m, which are private.

    A weighed record counts as one whose row and target are shortened alike, to the length
    of a typical row.
    """
    assert not rows.responses, "noise is drawn for one target"  # noqa: S101

    def part(block: Block) -> Partial:
        target = np.asarray(block.target, dtype=np.float64)
        times = np.ones(len(target))
        if block.weight is not None:
            times = np.minimum(block.weight, 1.0) ** 2
        return block.gram(times, double=True), block.weighted_sum(times * target)

    gram, moment = sum_in_pieces(rows, part)
    return gram, moment


def pair_sensitivity(objective: Objective, weight: float, neighbours: Neighbours) -> float:
    """Bound how far one record moves (G, w·m), in the Frobenius norm.

    Under replace-one both cannot move furthest at once: the Gram matrix moves most for
    rows at right angles, the moment for opposite ones.
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
    """Return the w at which noise on G, times a typical θ, matches that on m."""
    ratio = objective.row_norm / (objective.target_bound or 1.0)
    return math.sqrt(math.sqrt(2) * ratio / objective.typical_norm)


def pair_dimension(size: int) -> int:
    """Return the dimension of the space of pairs."""
    return degrees_of_freedom(size) + size


@dataclass(frozen=True, slots=True)
class SumReach:
    """Public bounds on the entries of G and m, for as many rows as there may be."""

    gram: float
    moment: float

    @classmethod
    def of(cls, objective: Objective) -> "SumReach":
        """Bound the sums of rows and targets within their bounds."""
        longest, bound = objective.row_norm, objective.target_bound or 1.0
        return cls(MAX_ROWS * longest**2, MAX_ROWS * longest * bound)


def publish_pair(
    statistics: tuple[Array, Array],
    noise: Noise,
    stretch: tuple[float | Array, float],
    reach: SumReach,
    entropy: Entropy,
) -> tuple[Array, Array]:
    """Return G and m with one noise vector, stretched for each, on public lattices."""
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
    """Add one noise vector to (G, w·m), and return G and m on public lattices."""
    stretch = (symmetric_stretch(len(statistics[1])), ABOVE / weight)
    return publish_pair(statistics, noise, stretch, reach, entropy)


def check_scales(objective: Objective, noise: Noise, stretch: float) -> None:
    """Refuse, before anything is spent, bounds and noise that doubles could not hold."""
    longest, bound = objective.row_norm, objective.target_bound or 1.0
    for scale in (longest**2, longest * bound, noise.scale * stretch):
        check_scale(scale)
    check_scale(noise.scale * HALF_ROOT)


def ridge_solution(gram: Array, moment: Array, l2: float, least: float = 0.0) -> Array:
    """Solve (G + Λ)θ = m with eigenvalues of G raised to 0 and of the sum to ``least``."""
    values, vectors = np.linalg.eigh(gram)
    strength = np.maximum(np.maximum(values, 0.0) + l2, least)
    return np.asarray(vectors @ ((vectors.T @ moment) / strength))


def within(objective: Objective, theta: Array) -> Array:
    """Project onto the constraint, if there is one."""
    if objective.constraint is None:
        return theta
    return np.asarray(objective.constraint.project(theta))
