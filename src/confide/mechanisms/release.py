"""Releases: coefficients, guarantee, noise, and the distribution of their errors."""

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
"""Seed for draws after the release, which are post-processing and need not be secret."""


@dataclass(frozen=True, slots=True)
class NoiseRecord:
    """Public description of one noise distribution in a release.

    Parameters
    ----------
    kind : str
        Distribution, for example "gaussian".
    scale : float
        Scale of the distribution: standard deviation, or 1/rate.
    added_to : str
        Quantity to which the noise was added.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LinearRegression, Pure
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1).fit(X, X[:, 0])
    >>> [(noise.kind, noise.added_to) for noise in model.release_.noise]
    [('spherical-laplace', 'linear term'), ('spherical-laplace', 'coefficients')]

    The first noise protects the rows. The second is tiny and covers the tolerance of the
    solver.
    """

    kind: str
    scale: float
    added_to: str


KEEPS_STATUS = (
    *("linear term", "the linear term in every step of ADMM", "scores of corners"),
    "linear term of every x-step",  # in files of earlier versions
)
"""Values of ``added_to`` in the first noise record that imply that all parts of a release
are PROVED."""


def lowered(guarantee: Guarantee, noise: Sequence[NoiseRecord]) -> Guarantee:
    """Lower the status of a stored guarantee if its parts may no longer be PROVED.

    This applies to theorems that combine the guarantees of several parts. Which parts were
    combined can only be inferred from the noise records. In doubt the status is lowered to
    CLAIMED.
    """
    kept = bool(noise) and noise[0].added_to in KEEPS_STATUS
    if guarantee.theorem in COMPOSED and not kept:
        return guarantee.claimed(UNKNOWN_PARTS)
    return guarantee


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Distribution of the error of θ̃: normal sampling error plus the privacy noise.

    The sampling variance of a linear function ⟨ℓ, θ̃⟩ is ℓᵀ·sampling·ℓ, or 0 if noise has
    made this estimate negative. The error of ⟨ℓ, θ̃⟩ from the privacy noise is
    √(ℓᵀ·privacy·ℓ) times a standard normal variable, or times one coordinate of spherical
    Laplace noise in ``dimension`` dimensions.
    """

    sampling: Array
    privacy: Array
    kind: str
    dimension: int

    @property
    def mixture(self) -> tuple[Array, Array]:
        """The noise as a scale mixture of normals: variances and their probabilities."""
        noise: RoundNoise = NOISES.find(self.kind)(1.0)
        return noise.variance_mixture(self.dimension)

    @property
    def is_normal(self) -> bool:
        """Whether the total error is normally distributed."""
        return len(self.mixture[0]) == 1

    def mapped(self, matrix: Array) -> "Uncertainty":
        """Return the distribution of ``matrix`` times the coefficients."""
        return replace(
            self,
            sampling=matrix @ self.sampling @ matrix.T,
            privacy=matrix @ self.privacy @ matrix.T,
        )

    def half_lengths(self, directions: Array, level: float) -> Array:
        """Return the half-width of the interval for every row of ``directions``."""
        sampling, privacy = self.variances(directions)
        if self.is_normal:
            return float(ndtri((1 + level) / 2)) * np.sqrt(sampling + privacy)
        return _mixture_quantile(sampling, privacy, self, level)

    def sampling_half_lengths(self, directions: Array, level: float) -> Array:
        """Return the half-widths that sampling error alone would give."""
        return float(ndtri((1 + level) / 2)) * np.sqrt(self.variances(directions)[0])

    def variances(self, directions: Array) -> tuple[Array, Array]:
        """Return sampling variance and squared noise scale for each of ``directions``."""
        sampling = np.einsum("ij,jk,ik->i", directions, self.sampling, directions)
        privacy = np.einsum("ij,jk,ik->i", directions, self.privacy, directions)
        return np.maximum(sampling, 0.0), privacy


LARGEST_LEAN = 0.06
"""Largest share of the squared norm of a linear function that may lie in weak directions.
Beyond this, the function is not identified."""
LARGEST_PULL = 0.25
"""Largest effect of the ridge that can be corrected, as a root mean square over margins."""


@dataclass(frozen=True, slots=True)
class PlainLaw:
    """Estimate of the plain coefficients (without a penalty) and its error distribution.

    The estimate is θ̃ + ``shift``, and ``error`` is the distribution of its error. Linear
    functions are not identified along the columns of ``weak``, where noise hides the
    curvature, and along those of ``absent``, which are orthogonal to every row. ``pull`` is
    the root mean square effect of the penalty on margins, weighted by curvature. ``alone``
    is the covariance from sampling alone, computed from a smoothed scatter. ``dispersion``
    is the mean squared residual in units of the variance that the model assumes. The last
    two are None in older files, and ``dispersion`` is also None if there are case weights.
    """

    shift: Array
    error: Uncertainty
    weak: Array
    absent: Array
    pull: float
    alone: Array | None = None
    dispersion: float | None = None

    def identified(self, directions: Array) -> AnyArray:
        """Return whether each row of ``directions`` is an identified linear function."""
        whole = np.sum(directions**2, axis=1)
        lean = np.sum((directions @ self.weak) ** 2, axis=1)
        known = (lean <= LARGEST_LEAN * whole) & ~self.leans_on_absent(directions)
        return np.asarray(known & (self.pull <= LARGEST_PULL))

    def leans_on_absent(self, directions: Array) -> AnyArray:
        """Return whether each row of ``directions`` overlaps with ``absent`` directions.

        No table contains information about such a linear function, because all possible
        rows are orthogonal to the absent directions.
        """
        beyond = np.sum((directions @ self.absent) ** 2, axis=1)
        return np.asarray(beyond > 1e-9 * np.sum(directions**2, axis=1))

    def half_lengths(self, directions: Array, level: float) -> Array:
        """Return the half-width of the interval for every row of ``directions``.

        The curvature was computed at the penalised coefficients. To allow for this, the
        half-width is increased by pull/2 times the shift of the linear function.
        """
        allowance = self.pull / 2 * np.abs(directions @ self.shift)
        return self.error.half_lengths(directions, level) + allowance

    def sampling_half_lengths(self, directions: Array, level: float) -> Array:
        """Return the half-widths that sampling error alone would give."""
        if self.alone is None:
            return self.error.sampling_half_lengths(directions, level)
        square = np.einsum("ij,jk,ik->i", directions, self.alone, directions)
        return float(ndtri((1 + level) / 2)) * np.sqrt(np.maximum(square, 0.0))

    def mapped(self, matrix: Array) -> "PlainLaw":
        """Return the distribution for ``matrix`` times the coefficients.

        The rows of ``matrix`` should have equal norms.
        """
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
    """Error distributions and settings from which intervals are computed.

    Parameters
    ----------
    level : float
        Confidence level used in the summary.
    variant : str
        Method of the intervals: "tight", "model-based" or "published".
    samples : int
        Number of simulated errors in the published variant.
    split : tuple of Fraction
        Shares of the budget for coefficients, curvature and scatter.
    on_boundary : bool
        Whether the coefficients have reached the bound on their norm. If so,
        intervals are not valid.
    laws : tuple of Uncertainty
        Error distribution of the penalised coefficients of every objective.
    of : {"plain", "penalised"}, default="penalised"
        Estimand of the intervals: coefficients without or with the penalty.
    plain : tuple of PlainLaw, default=()
        Error distribution of the plain coefficients of every objective, if available.

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

    Half of the budget was spent on the coefficients, the rest on the curvature and
    scatter that the intervals need.
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
            Index of the objective.
        directions : ndarray
            Linear functions of the coefficients, one row of weights per function.

        Returns
        -------
        below : ndarray
            Lower ends, minus the estimates.
        above : ndarray
            Upper ends, minus the estimates.
        sampling : ndarray
            Half-widths that sampling error alone would give.
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
    """Bounds on the entries of rows, and the value of the constant column.

    Parameters
    ----------
    entries : EntryBounds
        Bound on every entry, and further bounds for several entries together.
    height : float
        Value of the constant column, 0 without one.

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
        Lower and upper ends, by column, on the scale of the model's columns.
    share : Fraction
        Share of the budget spent on the ranges.
    noise : NoiseRecord
        Noise on the counts.
    hidden : tuple of str, default=()
        Columns whose range could not be estimated because of the noise. They keep their
        declared limits, or a guess if none are declared.

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

    The range of doses was found, and no column was hidden by the noise.
    """

    ranges: Mapping[str, tuple[float, float]]
    share: Fraction
    noise: NoiseRecord
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """Differentially private coefficients with guarantee, noise and privacy cost.

    Parameters
    ----------
    value : ndarray
        Coefficients in the scaled units of the objective, intercept last. With several
        classes or targets there is one row for each.
    guarantee : Guarantee
        Privacy guarantee, with its theorem.
    noise : tuple of NoiseRecord
        Noise distributions that were used.
    l2 : float
        Ridge of the objective.
    events : tuple of Event
        Privacy events of the release, as recorded in a ledger.
    support : tuple of tuple of int, optional
        Selected columns, one tuple per objective.
    row_bounds : RowBounds, optional
        Bounds on entries of rows.
    intervals : IntervalRelease, optional
        Error distributions of the coefficients, from which intervals are computed.
    weights : tuple of tuple of float, optional
        Weights of an adaptive penalty.
    retrieved : float or tuple of float, optional
        For adaptive penalties, the share of the log-determinant term's budget that the
        noise could use instead. For NAPP, the retrieved epsilon of every
        objective.
    ridges : tuple of float, optional
        Ridges that were chosen privately.
    record_norm : float, optional
        Norm at which a row has weight 1, if rows are weighted. Rows with a larger norm have
        a smaller weight.
    ranges : RangeRelease, optional
        Privately estimated ranges of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LinearRegression, Pure
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1).fit(X, X[:, 0])
    >>> release = model.release_
    >>> release.value.shape, release.noise[0].kind, str(release.guarantee.budget)
    ((2,), 'spherical-laplace', 'ε = 1')

    The slope and the intercept were released with spherical Laplace noise for ε = 1.
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
        """Scale of the main noise: standard deviation, or 1/rate."""
        return self.noise[0].scale

    def per_person(self, budget: Budget, rows_per_person: int) -> "Release":
        """Restate the guarantee for persons who have several rows each.

        The release must have been made with the per-row share of the budget.

        Parameters
        ----------
        budget : Pure, Approx or Zcdp
            Budget per person; see `confide.privacy.row_budget`.
        rows_per_person : int
            Largest number of rows of one person.

        Returns
        -------
        Release
            The same coefficients, with the guarantee and the privacy events restated for a
            group of rows.
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
    """Solve P(|√sampling·Z + √privacy·T| <= q) = level for q.

    Z is standard normal, and T is one coordinate of the noise, which is normal given its
    variance. Chebyshev's inequality gives the initial upper bound of the bisection.
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
    """Return lower and upper quantiles of simulated errors, per row of ``directions``."""
    normal, noise = _draws(samples, law.dimension, law.kind)
    errors = directions @ _root(law.sampling) @ normal.T
    errors += directions @ _root(law.privacy) @ noise.T
    low = math.floor((1 - level) / 2 * (samples - 1))
    high = samples - 1 - low
    errors.partition((low, high), axis=1)
    return errors[:, low], errors[:, high]


@lru_cache(maxsize=4)
def _draws(samples: int, size: int, kind: str) -> tuple[Array, Array]:
    """Draw standard normal vectors, and vectors of the privacy noise at scale 1."""
    entropy = Entropy.seeded(POSTPROCESSING_SEED)
    normal = entropy.normal(samples * size).reshape(samples, size)
    noise: RoundNoise = NOISES[kind](1.0)
    return normal, noise.draw_many(samples, size, entropy)


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
