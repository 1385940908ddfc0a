"""What leaves: coefficients, their guarantee, the noise, and the law of their errors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from confide._types import AnyArray, Array
from confide.accounting import Event, group_events
from confide.data.rows.entry_bounds import EntryBounds
from confide.noise import NOISES, Entropy, RoundNoise
from confide.privacy import COMPOSED, Budget, Guarantee
from confide.privacy.guarantee import UNKNOWN_PARTS

POSTPROCESSING_SEED = 20180601
"""Draws after the release reveal nothing about the data and need not be secret."""


@dataclass(frozen=True, slots=True)
class NoiseRecord:
    """Which noise was added to what: kind and scale are public."""

    kind: str
    scale: float
    added_to: str


KEEPS_STATUS = ("linear term", "linear term of every x-step", "scores of corners")
"""What the first noise of a part is added to, if the part is PROVED."""


def lowered(guarantee: Guarantee, noise: Sequence[NoiseRecord]) -> Guarantee:
    """Return what a stored guarantee is worth today, where its theorem puts parts together.

    Which parts they were only the noise tells; in doubt it is less.
    """
    kept = bool(noise) and noise[0].added_to in KEEPS_STATUS
    if guarantee.theorem in COMPOSED and not kept:
        return guarantee.claimed(UNKNOWN_PARTS)
    return guarantee


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The error of θ̃: a normal part from sampling and a part from the mechanism's noise.

    A linear function ⟨ℓ, θ̃⟩ has sampling variance ℓᵀ·sampling·ℓ, counted as 0 where
    noise made it negative. Its privacy part is √(ℓᵀ·privacy·ℓ) times a normal variable, or
    times a coordinate of spherical Laplace noise in ``dimension`` dimensions.
    """

    sampling: Array
    privacy: Array
    kind: str
    dimension: int

    @property
    def mixture(self) -> tuple[Array, Array]:
        """The variances, and their chances, given which a coordinate of noise is normal."""
        noise: RoundNoise = NOISES.find(self.kind)(1.0)
        return noise.variance_mixture(self.dimension)

    @property
    def is_normal(self) -> bool:
        """Whether the whole error is normal."""
        return len(self.mixture[0]) == 1

    def mapped(self, matrix: Array) -> "Uncertainty":
        """Return the law of ``matrix`` times the coefficients."""
        return replace(
            self,
            sampling=matrix @ self.sampling @ matrix.T,
            privacy=matrix @ self.privacy @ matrix.T,
        )

    def half_lengths(self, directions: Array, level: float) -> Array:
        """Return half the length of the interval for every row of ``directions``."""
        sampling, privacy = self.variances(directions)
        if self.is_normal:
            return float(ndtri((1 + level) / 2)) * np.sqrt(sampling + privacy)
        return _mixture_quantile(sampling, privacy, self, level)

    def sampling_half_lengths(self, directions: Array, level: float) -> Array:
        """Return what half the length would be without the mechanism's noise."""
        return float(ndtri((1 + level) / 2)) * np.sqrt(self.variances(directions)[0])

    def variances(self, directions: Array) -> tuple[Array, Array]:
        """Return the squared scales of both parts for every row of ``directions``."""
        sampling = np.einsum("ij,jk,ik->i", directions, self.sampling, directions)
        privacy = np.einsum("ij,jk,ik->i", directions, self.privacy, directions)
        return np.maximum(sampling, 0.0), privacy


LARGEST_LEAN = 0.06
"""Which part of a squared direction may lie where the curvature is not known."""
LARGEST_PULL = 0.25
"""How far, as a root mean square of margins, the ridge may have pulled to be undone."""


@dataclass(frozen=True, slots=True)
class PlainLaw:
    """What a release says about the coefficients that the model has without a penalty.

    θ̃ + ``shift`` estimates them, with the ``error`` of that estimate. Nothing is known
    along the columns of ``weak``, nor along those of ``absent``, which no row has.
    ``pull`` is how far the penalty moved margins: the root of their weighted mean square.
    ``alone`` is the covariance that sampling alone would give, with the noise of the
    scatter smoothed away, and ``dispersion`` the mean square of a residual, in units of
    the variance that the model supposes; both are None in earlier files.
    """

    shift: Array
    error: Uncertainty
    weak: Array
    absent: Array
    pull: float
    alone: Array | None = None
    dispersion: float | None = None

    def identified(self, directions: Array) -> AnyArray:
        """Say of every row of ``directions`` whether its linear function is known."""
        whole = np.sum(directions**2, axis=1)
        lean = np.sum((directions @ self.weak) ** 2, axis=1)
        known = (lean <= LARGEST_LEAN * whole) & ~self.leans_on_absent(directions)
        return np.asarray(known & (self.pull <= LARGEST_PULL))

    def leans_on_absent(self, directions: Array) -> AnyArray:
        """Say of every row of ``directions`` whether it is about rows that no table has."""
        beyond = np.sum((directions @ self.absent) ** 2, axis=1)
        return np.asarray(beyond > 1e-9 * np.sum(directions**2, axis=1))

    def half_lengths(self, directions: Array, level: float) -> Array:
        """Return half the length of the interval for every row of ``directions``.

        The curvature was taken at penalised coefficients: half of what the shift moves
        margins, as a share of the shift itself, allows for that.
        """
        allowance = self.pull / 2 * np.abs(directions @ self.shift)
        return self.error.half_lengths(directions, level) + allowance

    def sampling_half_lengths(self, directions: Array, level: float) -> Array:
        """Return what half the length would be without the mechanism's noise."""
        if self.alone is None:
            return self.error.sampling_half_lengths(directions, level)
        square = np.einsum("ij,jk,ik->i", directions, self.alone, directions)
        return float(ndtri((1 + level) / 2)) * np.sqrt(np.maximum(square, 0.0))

    def mapped(self, matrix: Array) -> "PlainLaw":
        """Return the law of ``matrix`` times the coefficients; its rows are alike long."""
        scale = math.sqrt(float(np.mean(np.sum(matrix**2, axis=1))))
        return replace(
            self,
            shift=matrix @ self.shift,
            error=self.error.mapped(matrix),
            weak=matrix @ self.weak / scale,
            absent=matrix @ self.absent / scale,
            alone=None if self.alone is None else matrix @ self.alone @ matrix.T,
        )


@dataclass(frozen=True, slots=True)
class IntervalRelease:
    """What intervals are made of: the law of the errors of every copy, and a level.

    ``split`` has the parts of the budget for coefficients, curvature and scatter.
    ``on_boundary`` says that coefficients lie on the boundary of their ball. ``of`` says
    what intervals are about: "plain" or "penalised" coefficients. ``laws`` are those of
    the penalised ones, ``plain`` of the others, where that is known.
    """

    level: float
    variant: str
    samples: int
    split: tuple[Fraction, ...]
    on_boundary: bool
    laws: tuple[Uncertainty, ...]
    of: str = "penalised"
    plain: tuple[PlainLaw, ...] = ()

    def offsets(self, copy: int, directions: Array) -> tuple[Array, Array, Array]:
        """Return intervals of penalised coefficients as offsets: below, above, sampling."""
        law = self.laws[copy]
        sampling = law.sampling_half_lengths(directions, self.level)
        if self.variant == "published" and not law.is_normal:
            low, high = sampled_offsets(law, directions, self.level, self.samples)
            return low, high, sampling
        half = law.half_lengths(directions, self.level)
        return -half, half, sampling


@dataclass(frozen=True, slots=True)
class RowBounds:
    """How rows were bounded entry by entry, beside a constant column of some height."""

    entries: EntryBounds
    height: float


@dataclass(frozen=True, slots=True)
class RangeRelease:
    """Ranges that were bought, by the names of their columns, in the model's own terms.

    ``share`` is the part of the budget that they cost, ``noise`` that on the counts. Of
    ``hidden`` columns no values stand out of the noise: they keep their declared limits,
    and have a guess where they have none.
    """

    ranges: Mapping[str, tuple[float, float]]
    share: Fraction
    noise: NoiseRecord
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """A private value with everything a reader needs to trust and use it.

    ``value`` holds the coefficients, intercept last, in the scaled units of the
    objective; one row per class for several classes. It holds no data and nothing about how
    the solver got there.

    What only some mechanisms release is None elsewhere: the ``support`` of every copy, the
    bounds on entries, intervals; ``weights`` of an adaptive penalty; the share of a budget
    that was ``retrieved``; ``ridges`` that were chosen privately; ``record_norm``, the
    length of a row whose record counts once, where longer ones count less; ``ranges`` of
    columns.
    """

    value: Array
    guarantee: Guarantee
    noise: tuple[NoiseRecord, ...]
    l2: float
    events: tuple[Event, ...]
    support: tuple[tuple[int, ...], ...] | None = None
    row_bounds: RowBounds | None = None
    intervals: IntervalRelease | None = None
    weights: tuple[tuple[float, ...], ...] | None = None
    retrieved: float | tuple[float, ...] | None = None
    ridges: tuple[float, ...] | None = None
    record_norm: float | None = None
    ranges: RangeRelease | None = None

    @property
    def noise_scale(self) -> float:
        """The scale of the first noise: 1/rate or standard deviation."""
        return self.noise[0].scale

    def per_person(self, budget: Budget, rows_per_person: int) -> "Release":
        """Restate a release, made with the budget of one row, for a person with several.

        ``budget`` is the person's; see `confide.privacy.row_budget`. The events, which an
        accountant composes, become those of a group as well.
        """
        k = rows_per_person
        if k == 1:
            return self
        guarantee = self.guarantee.of_persons(k)
        whole = None if guarantee.budget is None else budget
        stated = replace(guarantee, budget=whole)
        return replace(self, guarantee=stated, events=group_events(self.events, k))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in {"record_norm": None, "ranges": None, **state}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "guarantee", lowered(self.guarantee, self.noise))


def _mixture_quantile(
    sampling: Array, privacy: Array, law: Uncertainty, level: float
) -> Array:
    """Solve P(|√sampling·Z + √privacy·T| <= q) = level for a coordinate T of the noise.

    T is normal given its variance. Chebyshev's inequality says where the search may start.
    """
    spread, chance = law.mixture
    size = law.dimension
    deviation = np.sqrt(sampling[:, None] + privacy[:, None] * spread)
    low = np.zeros(len(sampling))
    high = np.sqrt((sampling + privacy * (size + 1)) / (1 - level))
    for _ in range(80):
        middle = (low + high) / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = (2 * ndtr(middle[:, None] / deviation) - 1) @ chance
        short = inside < level
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


def sampled_offsets(
    law: Uncertainty, directions: Array, level: float, samples: int
) -> tuple[Array, Array]:
    """Return the quantiles of drawn errors, below and above the estimate."""
    normal, noise = _draws(samples, law.dimension, law.kind)
    errors = directions @ _root(law.sampling) @ normal.T
    errors += directions @ _root(law.privacy) @ noise.T
    low = math.floor((1 - level) / 2 * (samples - 1))
    high = samples - 1 - low
    errors.partition((low, high), axis=1)
    return errors[:, low], errors[:, high]


@lru_cache(maxsize=4)
def _draws(samples: int, size: int, kind: str) -> tuple[Array, Array]:
    """Draw normal vectors, and vectors of the mechanism's noise at scale 1."""
    entropy = Entropy.seeded(POSTPROCESSING_SEED)
    normal = entropy.normal(samples * size).reshape(samples, size)
    noise: RoundNoise = NOISES[kind](1.0)
    return normal, noise.draw_many(samples, size, entropy)


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
