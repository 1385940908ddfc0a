"""Errors, tests and simultaneous intervals of linear functions of coefficients.

All results are post-processing of a release: they spend no budget and read no rows.
docs/inference.md states what is exact and what is asymptotic.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtrc, ndtr

from confide._types import AnyArray, Array
from confide.errors import InvalidParameter
from confide.mechanisms.release import (
    LARGEST_LEAN,
    POSTPROCESSING_SEED,
    IntervalRelease,
    PlainLaw,
    Uncertainty,
)
from confide.noise import NOISES, Entropy, RoundNoise

DRAWS = 20_000
"""Number of simulated errors for simultaneous intervals, which limits the accuracy of the
level to 0.2 percentage points."""
INDEPENDENT = 1e-9
"""Singular values below this share of the largest indicate linear dependence."""


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """Wald statistic with its degrees of freedom and p value.

    Parameters
    ----------
    statistic : float or None
        The statistic; None if no direction is identified.
    degrees : int
        Degrees of freedom: the number of identified directions.
    p_value : float or None
        Probability of a statistic at least this large if all effects are 0.
    rank : int
        Number of linearly independent directions in the hypothesis.

    Examples
    --------
    >>> from confide.inference import ChiSquare
    >>> found = ChiSquare(statistic=9.2, degrees=2, p_value=0.01, rank=3)
    >>> found.rank - found.degrees
    1

    One of three directions is not identified, and is left out of the test.
    """

    statistic: float | None
    degrees: int
    p_value: float | None
    rank: int


@dataclass(frozen=True)
class CoefficientLaw:
    """Distribution of the errors of released coefficients, on the scale of the objective.

    Parameters
    ----------
    estimate : ndarray
        Estimates of the plain (unpenalised) coefficients or, if ``plain`` is None, of the
        penalised coefficients.
    error : Uncertainty
        Distribution of the errors of the estimates, from sampling and privacy noise.
    plain : PlainLaw or None
        Distribution of the plain coefficients; None if penalised ones are estimated.
    held : bool
        Whether the coefficients have reached the bound on their norm. If so, no function
        of the plain coefficients is identified.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.inference import CoefficientLaw
    >>> from confide.mechanisms.release import Uncertainty
    >>> error = Uncertainty(np.diag([0.04, 0.25]), np.zeros((2, 2)), "gaussian", 2)
    >>> law = CoefficientLaw(np.array([1.0, 0.5]), error, None, held=False)
    >>> law.standard_errors(np.array([[1.0, 0.0], [1.0, 1.0]])).round(2)
    array([0.2 , 0.54])

    The sum of two coefficients with independent errors has a larger error than either.
    """

    estimate: Array
    error: Uncertainty
    plain: PlainLaw | None
    held: bool

    @classmethod
    def of(cls, release: IntervalRelease, value: Array, copy: int) -> "CoefficientLaw":
        """Create the distribution for one set of released coefficients.

        Parameters
        ----------
        release : IntervalRelease
            Distributions from which intervals are computed.
        value : ndarray
            Released coefficients.
        copy : int
            Index of the set of coefficients.

        Returns
        -------
        CoefficientLaw
            The distribution of plain or of penalised coefficients.
        """
        if release.of == "penalised":
            return cls(value, release.laws[copy], None, release.on_boundary)
        law = release.plain[copy]
        return cls(value + law.shift, law.error, law, release.on_boundary)

    @cached_property
    def _positive(self) -> Array:
        """Sampling covariance; negative eigenvalues, due to noise, are replaced by 0."""
        values, vectors = np.linalg.eigh(self.error.sampling)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def sampling(self, directions: Array) -> Array:
        """Return the sampling covariance of linear functions.

        Correlations are computed after negative eigenvalues are replaced by 0. Variances
        are the same as in intervals.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.

        Returns
        -------
        ndarray
            Covariance matrix.
        """
        found = directions @ self._positive @ directions.T
        own, whole = self.error.variances(directions)[0], np.diag(found)
        factor = np.sqrt(np.divide(own, whole, out=np.zeros_like(own), where=whole > 0))
        return np.asarray(found * np.outer(factor, factor))

    def covariance(self, directions: Array) -> Array:
        """Return the covariance of the errors from sampling and privacy noise together.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.

        Returns
        -------
        ndarray
            Covariance matrix.
        """
        spread, chance = self.error.mixture
        noise = directions @ self.error.privacy @ directions.T
        return np.asarray(self.sampling(directions) + float(spread @ chance) * noise)

    def values(self, directions: Array) -> Array:
        """Return the estimates of linear functions.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.

        Returns
        -------
        ndarray
            One estimate per linear function.
        """
        return np.asarray(directions @ self.estimate)

    def standard_errors(self, directions: Array) -> Array:
        """Return the standard errors of linear functions.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.

        Returns
        -------
        ndarray
            One standard error per linear function.
        """
        sampling, privacy = self.error.variances(directions)
        spread, chance = self.error.mixture
        return np.sqrt(np.maximum(sampling + float(spread @ chance) * privacy, 0.0))

    def identified(self, directions: Array) -> AnyArray:
        """Return whether the release identifies each linear function.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.

        Returns
        -------
        ndarray of bool
            Whether each linear function is identified.
        """
        known = np.ones(len(directions), dtype=bool)
        if self.plain is not None:
            known = self.plain.identified(directions) & (not self.held)
        return np.asarray(known & (np.abs(directions).max(axis=1, initial=0.0) > 0))

    def is_absent(self, directions: Array) -> AnyArray:
        """Return, for each linear function, whether no possible table determines it.

        This is so if the weights have a component orthogonal to all possible rows.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.

        Returns
        -------
        ndarray of bool
            True for linear functions with such a component.
        """
        if self.plain is None:
            return np.zeros(len(directions), dtype=bool)
        return self.plain.leans_on_absent(directions)

    def half_lengths(self, directions: Array, level: float) -> Array:
        """Return the half-lengths of confidence intervals.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.
        level : float
            Confidence level.

        Returns
        -------
        ndarray
            One half-length per linear function.
        """
        law = self.error if self.plain is None else self.plain
        return law.half_lengths(directions, level)

    def sampling_half_lengths(self, directions: Array, level: float) -> Array:
        """Return the half-lengths that intervals would have without privacy noise.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.
        level : float
            Confidence level.

        Returns
        -------
        ndarray
            One half-length per linear function.
        """
        law = self.error if self.plain is None else self.plain
        return np.minimum(
            law.sampling_half_lengths(directions, level),
            self.half_lengths(directions, level),
        )

    def allowance(self, directions: Array) -> Array:
        """Return a bound on the bias from evaluating curvature at penalised coefficients.

        The bias may have either sign. Intervals are lengthened by the bound on both sides.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.

        Returns
        -------
        ndarray
            One bound per linear function; only its absolute value matters.
        """
        if self.plain is None:
            return np.zeros(len(directions))
        return np.asarray(self.plain.pull / 2 * (directions @ self.plain.shift))

    def p_values(self, directions: Array, offsets: Array) -> Array:
        """Return p values for testing each linear function separately against 0.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.
        offsets : ndarray
            Estimates of the linear functions, including constants.

        Returns
        -------
        ndarray
            One p value per linear function.
        """
        sampling, privacy = self.error.variances(directions)
        spread, chance = self.error.mixture
        deviation = np.sqrt(sampling[:, None] + privacy[:, None] * spread)
        size = np.abs(offsets) - np.abs(self.allowance(directions))
        with np.errstate(divide="ignore", invalid="ignore"):
            tails = 2 * ndtr(-np.maximum(size, 0.0)[:, None] / deviation)
        return np.asarray(np.minimum(tails @ chance, 1.0))

    def wald(self, directions: Array, offsets: Array) -> ChiSquare:
        """Test the hypothesis that several linear functions are all 0.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.
        offsets : ndarray
            Estimates of the linear functions, including constants.

        Returns
        -------
        ChiSquare
            The test, restricted to directions that are identified.
        """
        basis, values = _independent(directions, offsets)
        rank = len(basis)
        basis, values = self._known(basis, values)
        if not len(basis):
            return ChiSquare(None, 0, None, rank)
        spread, chance = self.error.mixture
        sampling = self._cautious_sampling(basis)
        privacy = basis @ self.error.privacy @ basis.T
        whole = sampling + float(spread @ chance) * privacy
        inverse = np.asarray(np.linalg.inv(whole), dtype=np.float64)
        values = values - self._least_bias(basis, values, inverse)
        statistic = float(values @ inverse @ values)
        tails = [
            _quadratic_tail(inverse @ (sampling + one * privacy), statistic)
            for one in spread
        ]
        p_value = min(1.0, float(np.array(tails) @ chance))
        return ChiSquare(statistic, len(basis), p_value, rank)

    def _cautious_sampling(self, directions: Array) -> Array:
        """Return a conservative sampling covariance for a joint test of several directions.

        Noise on the scatter matrix spreads its eigenvalues, and a joint test divides by the
        small ones. Therefore the smoothed scatter matrix is used. It is scaled up where
        variances would otherwise be smaller than those in intervals.
        """
        own = self.sampling(directions)
        if self.plain is None or self.plain.alone is None or len(directions) == 1:
            return own
        smooth = directions @ self.plain.alone @ directions.T
        ratio = np.divide(
            np.diag(own), np.diag(smooth), out=np.ones(len(own)), where=np.diag(smooth) > 0
        )
        factor = np.sqrt(np.maximum(ratio, 1.0))
        return np.asarray(smooth * np.outer(factor, factor))

    def _known(self, basis: Array, values: Array) -> tuple[Array, Array]:
        """Return a basis of the identified subspace, and the estimates along it."""
        law = self.plain
        if law is None:
            return basis, values
        if self.held or not self.identified(basis[:1]).size:
            return basis[:0], values[:0]
        hidden = np.hstack([law.weak, law.absent])
        if hidden.shape[1]:
            left, lean, _ = np.linalg.svd(basis @ hidden)
            lean = np.append(lean, np.zeros(len(basis)))[: len(basis)]
            kept = left.T[lean**2 <= LARGEST_LEAN]
            basis, values = kept @ basis, kept @ values
        known = self.identified(basis)
        return basis[known], values[known]

    def _least_bias(self, basis: Array, values: Array, inverse: Array) -> Array:
        """Return the bias, up to ± the allowance, that minimises the Wald statistic."""
        towards = self.allowance(basis)
        square = float(towards @ inverse @ towards)
        if square <= 0:
            return np.zeros(len(values))
        part = float(towards @ inverse @ values) / square
        return np.asarray(min(1.0, max(-1.0, part)) * towards)

    def joint_quantile(self, directions: Array, level: float) -> float:
        """Return the half-length of simultaneous intervals, in standard errors.

        Parameters
        ----------
        directions : ndarray
            Weights, one row per linear function of the coefficients.
        level : float
            Confidence level.

        Returns
        -------
        float
            Number of standard errors on either side of the estimate.
        """
        if not 0 < level < 1:
            raise InvalidParameter("level", "between 0 and 1", level)
        entropy = Entropy.seeded(POSTPROCESSING_SEED)
        noise: RoundNoise = NOISES.find(self.error.kind)(1.0)
        size = self.error.dimension
        drawn = noise.draw_many(DRAWS, size, entropy)[:, : len(self.estimate)]
        normal = entropy.normal(DRAWS * len(directions)).reshape(DRAWS, len(directions))
        errors = normal @ _root(self.sampling(directions))
        errors += drawn @ _root(self.error.privacy) @ directions.T
        scores = np.abs(errors) / self.standard_errors(directions)
        return float(np.quantile(scores.max(axis=1), level))


def _independent(directions: Array, offsets: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis of the row space, and the estimates along its vectors."""
    left, sizes, right = np.linalg.svd(directions, full_matrices=False)
    kept = sizes > INDEPENDENT * max(float(sizes.max(initial=0.0)), 1e-300)
    along = (left[:, kept].T @ offsets) / sizes[kept]
    return right[kept], np.asarray(along)


def _quadratic_tail(weights: Array, statistic: float) -> float:
    """Approximate P(Σ wᵢZᵢ² > statistic), where wᵢ are the eigenvalues of ``weights``.

    The Zᵢ are independent standard normal variables. The sum is replaced by a multiple of
    a chi-square variable with the same mean and variance, which is exact if all wᵢ are
    equal.
    """
    first, second = float(np.trace(weights)), float(np.trace(weights @ weights))
    return float(chdtrc(first**2 / second, statistic * first / second))


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def rounded_level(level: float | None, usual: float) -> float:
    """Check and return the requested confidence level, by default that of the fit."""
    if level is None:
        return usual
    if not isinstance(level, float) or not 0.5 <= level < 1 or math.isnan(level):
        raise InvalidParameter("level", "at least 0.5 and below 1, such as 0.95", level)
    return level
