"""Releases: coefficients, guarantee, noise, and the distribution of errors."""

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
    """Public description of a noise that was added.

    Parameters
    ----------
    kind : str
        Distribution, for example "gaussian".
    scale : float
        Its scale: standard deviation, or 1/rate.
    added_to : str
        What it was added to.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LinearRegression, Pure
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1).fit(X, X[:, 0])
    >>> [(noise.kind, noise.added_to) for noise in model.release_.noise]
    [('spherical-laplace', 'linear term'), ('spherical-laplace', 'coefficients')]

    The first noise protects; the second, tiny one covers the tolerance of the solver.
    """

    kind: str
    scale: float
    added_to: str


KEEPS_STATUS = ("linear term", "linear term of every x-step", "scores of corners")
"""What the first noise of a part is added to, if the part is PROVED."""


def lowered(guarantee: Guarantee, noise: Sequence[NoiseRecord]) -> Guarantee:
    """Return a stored guarantee with its present status, if its theorem combines parts.

    Only the noise shows which parts these were; in doubt the status is lower.
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
        """Variances with probabilities, such that noise is a mixture of normals."""
        noise: RoundNoise = NOISES.find(self.kind)(1.0)
        return noise.variance_mixture(self.dimension)

    @property
    def is_normal(self) -> bool:
        """Whether the whole error is normal."""
        return len(self.mixture[0]) == 1

    def mapped(self, matrix: Array) -> "Uncertainty":
        """Return the distribution of ``matrix`` times the coefficients."""
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
    the variance that the model supposes. Both are None in earlier files, and ``dispersion``
    where records have weights of their own.
    """

    shift: Array
    error: Uncertainty
    weak: Array
    absent: Array
    pull: float
    alone: Array | None = None
    dispersion: float | None = None

    def identified(self, directions: Array) -> AnyArray:
        """Return for every row of ``directions`` whether its linear function is known."""
        whole = np.sum(directions**2, axis=1)
        lean = np.sum((directions @ self.weak) ** 2, axis=1)
        known = (lean <= LARGEST_LEAN * whole) & ~self.leans_on_absent(directions)
        return np.asarray(known & (self.pull <= LARGEST_PULL))

    def leans_on_absent(self, directions: Array) -> AnyArray:
        """Return which ``directions`` concern rows that no table has."""
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
        """Distribution of ``matrix`` times the coefficients, with rows of equal length."""
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
    """What intervals are computed from: the distributions of the errors, and a level.

    Parameters
    ----------
    level : float
        Confidence level of the summary.
    variant : str
        How intervals are made: "tight", "model-based" or "published".
    samples : int
        Number of draws of the published variant.
    split : tuple of Fraction
        Shares of the budget for coefficients, curvature and scatter.
    on_boundary : bool
        Whether coefficients have reached their bound: intervals do not hold there.
    laws : tuple of Uncertainty
        Distribution of the error of every copy's penalised coefficients.
    of : {"plain", "penalised"}, default="penalised"
        Coefficients that intervals are for.
    plain : tuple of PlainLaw, default=()
        Laws of the plain coefficients, where they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import Approx, LinearRegression
    >>> X = np.linspace(-1, 1, 5000)[:, None]
    >>> model = LinearRegression(
    ...     Approx(1, 1e-6), row_norm=1, target_bound=1, intervals=0.5, random_state=0
    ... ).fit(X, X[:, 0])
    >>> kept = model.release_.intervals
    >>> kept.level, str(kept.split[0]), kept.of
    (0.95, '1/2', 'plain')

    Half of the budget went to coefficients, the rest to what their intervals need.
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
        """Return intervals of penalised coefficients as offsets from the estimates.

        Parameters
        ----------
        copy : int
            Which copy.
        directions : ndarray
            A line of weights for every linear function of the coefficients.

        Returns
        -------
        below : ndarray
            Lower ends, minus the estimates.
        above : ndarray
            Upper ends, minus the estimates.
        sampling : ndarray
            Half the lengths that sampling alone would give.
        """
        law = self.laws[copy]
        sampling = law.sampling_half_lengths(directions, self.level)
        if self.variant == "published" and not law.is_normal:
            low, high = sampled_offsets(law, directions, self.level, self.samples)
            return low, high, sampling
        half = law.half_lengths(directions, self.level)
        return -half, half, sampling


@dataclass(frozen=True, slots=True)
class RowBounds:
    """Bounds on the entries of rows, and the height of the constant column.

    Parameters
    ----------
    entries : EntryBounds
        Largest entry, and further bounds.
    height : float
        Height of the constant column, 0 without one.

    Examples
    --------
    >>> from confide.selection import ScreeningSelector, SelectThenFit
    >>> bounds = SelectThenFit(ScreeningSelector(2), column_bound=1.5).row_bounds
    >>> bounds.entries.most
    1.5

    Entries beyond 1.5 are clipped before columns are selected.
    """

    entries: EntryBounds
    height: float


@dataclass(frozen=True, slots=True)
class RangeRelease:
    """Privately estimated ranges, by the names of their columns.

    Parameters
    ----------
    ranges : mapping of str to (float, float)
        Lower and upper end, in the model's own terms.
    share : Fraction
        Share of the budget that they cost.
    noise : NoiseRecord
        Noise on the counts.
    hidden : tuple of str, default=()
        Columns whose values noise hides. They keep their declared limits, or a guess where
        there are none.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from confide import Number, Pure, Schema, Target, buy_ranges
    >>> table = pd.DataFrame({"dose": np.linspace(2, 8, 5000), "cured": [0, 1] * 2500})
    >>> schema = Schema([Number("dose", 0, 1000)], Target("cured", labels=(0, 1)))
    >>> release = buy_ranges(table, schema, Pure(1), random_state=0).release
    >>> release.ranges, release.hidden
    ({'dose': (2.0, 8.0)}, ())

    The range of doses was found, and noise hid no column.
    """

    ranges: Mapping[str, tuple[float, float]]
    share: Fraction
    noise: NoiseRecord
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """Private coefficients with everything a reader needs to trust and use them.

    A release holds no data, and nothing about how the solver found its value.

    Parameters
    ----------
    value : ndarray
        Coefficients in the scaled units of the objective, intercept last; a line for every
        class or target where there are several.
    guarantee : Guarantee
        What the release guarantees, and by which theorem.
    noise : tuple of NoiseRecord
        Noises that were added.
    l2 : float
        Ridge of the objective.
    events : tuple of Event
        What the release cost, for a ledger.
    support : tuple of tuple of int, optional
        Selected columns of every copy.
    row_bounds : RowBounds, optional
        Bounds on entries of rows.
    intervals : IntervalRelease, optional
        Laws of the errors of the coefficients.
    weights : tuple of tuple of float, optional
        Weights of an adaptive penalty.
    retrieved : float or tuple of float, optional
        Share of the budget that was not needed.
    ridges : tuple of float, optional
        Ridges that were chosen privately.
    record_norm : float, optional
        Length up to which rows count fully; longer ones count less.
    ranges : RangeRelease, optional
        Ranges that were estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LinearRegression, Pure
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1).fit(X, X[:, 0])
    >>> release = model.release_
    >>> release.value.shape, release.noise[0].kind, str(release.guarantee.budget)
    ((2,), 'spherical-laplace', 'ε = 1')

    Slope and intercept were released with this noise for ε = 1.
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
        """Scale of the first noise: 1/rate, or standard deviation."""
        return self.noise[0].scale

    def per_person(self, budget: Budget, rows_per_person: int) -> "Release":
        """Restate a release, made with the budget of one row, for a person with several.

        Parameters
        ----------
        budget : Pure, Approx or Zcdp
            Budget of the person, see `confide.privacy.row_budget`.
        rows_per_person : int
            Largest number of rows that one person has.

        Returns
        -------
        Release
            The same value, with guarantee and events of a group of rows.
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
