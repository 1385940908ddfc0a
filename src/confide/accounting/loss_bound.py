"""Bounds on privacy losses: convex, piecewise-linear functions of one normal variable.

Privacy profiles and moments follow from a bound in closed form. A `LossMixture` has one
such bound for every interval of a second random variable.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr

from confide._types import Array
from confide.privacy.rounding import (
    FUNCTION_ERROR,
    MARGIN,
    round_up,
)


@dataclass(frozen=True, slots=True)
class LossBound:
    r"""An upper bound M(z) on a privacy loss, piecewise linear in a standard normal z.

    M is constant left of the first knot, linear between knots, and has a given slope right
    of the last knot.

    Parameters
    ----------
    knots : array
        Values of z, in increasing order.
    values : array
        Values of M at the knots.
    slope : float
        The slope right of the last knot.
    folded : bool, default False
        Use \|z\| in place of z. The first knot is then 0, unless ``folds`` is given.
    folds : int, default 2
        If larger than 2 and ``folded``, z is conditioned on exceeding its (1 − 1/folds)
        quantile, which is the first knot. The maximum of ``folds`` standard normal
        variables, whatever their dependence, is stochastically no larger than this z. If 1
        and ``folded``, values of z below the first knot contribute nothing.

    Examples
    --------
    Noise with a standard deviation of two sensitivities has a loss of 0.5·z + 0.125:

    >>> from confide.accounting import gaussian_shift
    >>> from confide.privacy import gaussian_delta
    >>> loss = gaussian_shift(0.5)
    >>> abs(loss.delta(1.0) - gaussian_delta(1.0, 0.5)) < 1e-12
    True
    """

    knots: Array
    values: Array
    slope: float
    folded: bool = False
    folds: int = 2

    @property
    def _sides(self) -> int:
        """Factor by which folding multiplies tail probabilities of z; 1 without folding."""
        return self.folds if self.folded else 1

    def pieces(self) -> tuple[Array, Array, Array, Array]:
        """Return left ends, right ends, intercepts and slopes of the linear pieces.

        Returns
        -------
        tuple of four arrays
            Each array has one entry per piece.
        """
        lefts = np.concatenate([[-np.inf], self.knots])
        rights = np.concatenate([self.knots, [np.inf]])
        slopes = np.concatenate(
            [[0.0], np.diff(self.values) / np.diff(self.knots), [self.slope]]
        )
        anchors = np.concatenate([self.values[:1], self.values])
        places = np.concatenate([self.knots[:1], self.knots])
        pieces = lefts, rights, anchors - slopes * places, slopes
        if self.folded:
            return tuple(part[1:] for part in pieces)  # type: ignore[return-value]
        return pieces

    def delta(self, epsilon: float) -> float:
        """Return delta = E(1 − e^{ε−M})₊ at any real epsilon, rounded up.

        The result includes a bound on the rounding errors of differences of probabilities.

        Parameters
        ----------
        epsilon : float
            The epsilon at which delta is evaluated.

        Returns
        -------
        float
            Delta, at most 1.
        """
        total = piece_deltas(self.pieces(), epsilon, self.largest)
        return min(1.0, round_up(float(total.sum()) * self._sides))

    @property
    def largest(self) -> float:
        """Bound on the absolute values of intermediate results in evaluating a piece."""
        steepest = max(self.slope, 0.0)
        return float(np.max(np.abs(self.values)) + steepest * np.max(np.abs(self.knots)))

    def log_moments(self, powers: Array, error: float = FUNCTION_ERROR) -> Array:
        """Return log E e^{k·M} for every power k, rounded up.

        Parameters
        ----------
        powers : array
            The powers k, of any sign.
        error : float, default FUNCTION_ERROR
            Relative amount by which every term is raised to cover rounding errors. A
            negative amount gives lower bounds.

        Returns
        -------
        array
            One logarithm per power.
        """
        lefts, rights, offsets, slopes = self.pieces()
        shift = np.multiply.outer(powers, slopes)
        line = np.multiply.outer(powers, offsets)
        inside, top = _log_between(lefts - shift, rights - shift)
        size = 1 + np.abs(line) + np.abs(powers)[:, None] * self.largest + shift**2 - top
        with np.errstate(invalid="ignore"):
            lost = np.where(np.isfinite(inside), np.exp(top - inside), 0.0)
        parts = line + shift**2 / 2 + inside + error * size * (1 + lost)
        total = logsumexp(parts, axis=-1) + math.log(self._sides)
        return np.asarray(total)

    def renyi(self, orders: Array) -> Array:
        """Return upper bounds on the Rényi divergences of several orders.

        Parameters
        ----------
        orders : array
            Orders above 1.

        Returns
        -------
        array
            One bound per order.
        """
        return self.log_moments(orders - 1) / (orders - 1) * (1 + FUNCTION_ERROR)

    def chance_above(self, losses: Array) -> Array:
        """Return upper bounds on the probabilities P(M > loss).

        Losses are rounded too: the results bound P(M > loss + e), where e is at most the
        result of `loss_error`.

        Parameters
        ----------
        losses : array
            Losses in increasing order.

        Returns
        -------
        array
            One probability per loss.
        """
        reach = self.knots[-1] + (losses - self.values[-1]) / self.slope
        inside = losses <= self.values[-1]
        within = _last_place(self.knots, self.values, np.minimum(losses, self.values[-1]))
        reach = np.where(inside, within, reach)
        chance = ndtr(-reach) * self._sides
        chance = chance * (1 + FUNCTION_ERROR * (2 + 2 * reach**2))
        return np.where(losses < self.values[0], 1.0, np.minimum(chance, 1.0))

    def loss_error(self, most: float) -> float:
        """Return a bound on the rounding error e of the losses in `chance_above`.

        Parameters
        ----------
        most : float
            The largest loss considered.

        Returns
        -------
        float
            An upper bound on e.
        """
        return MARGIN * (most + self.largest)


def piece_deltas(
    pieces: tuple[Array, Array, Array, Array], epsilon: float, largest: Array | float
) -> Array:
    """Return the contribution of every linear piece to delta, rounded up.

    ``largest`` bounds the absolute values of intermediate results in evaluating a piece.
    """
    lefts, rights, offsets, slopes = pieces
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        starts = np.where(
            slopes > 0,
            np.maximum(lefts, (epsilon - offsets) / slopes),
            np.where(offsets > epsilon, lefts, rights),
        )
        starts = np.minimum(starts, rights)
        shift = epsilon - offsets + slopes**2 / 2
        near, near_top = _log_between(starts, rights)
        far, far_top = _log_between(starts + slopes, rights + slopes)
        total = np.exp(near) - np.exp(shift + far)
        size = 1 + abs(epsilon) + np.abs(offsets) + largest + slopes**2
        error = np.exp(near_top) * (size - near_top)
        error += np.exp(shift + far_top) * (size - far_top)
    total = np.maximum(total, 0.0) + FUNCTION_ERROR * error
    return np.where(starts < rights, total, 0.0)


def gaussian_shift(mu: float, *, offset: float = 0.0, folded: bool = False) -> LossBound:
    r"""Return the loss bound offset + (μz + μ²/2)₊ of a Gaussian shift.

    Parameters
    ----------
    mu : float
        The shift, in units of the standard deviation of the noise.
    offset : float, default 0.0
        A constant that is added to the loss.
    folded : bool, default False
        Use \|z\| in place of z.

    Returns
    -------
    LossBound
        The bound.

    Examples
    --------
    An offset of 0.5 moves the profile: delta at epsilon 1.5 is the same as at 1 without it.

    >>> from confide.accounting import gaussian_shift
    >>> plain, moved = gaussian_shift(0.5), gaussian_shift(0.5, offset=0.5)
    >>> abs(plain.delta(1.0) - moved.delta(1.5)) < 1e-12
    True
    """
    if folded:
        return LossBound(np.zeros(1), np.array([offset + mu**2 / 2]), mu, folded=True)
    return LossBound(np.array([-mu / 2]), np.array([offset]), mu)


def _last_place(knots: Array, values: Array, losses: Array) -> Array:
    """Return the largest z with M(z) <= loss between the first and the last knot."""
    right = np.searchsorted(values, losses, side="right")
    low = np.clip(right - 1, 0, len(knots) - 1)
    high = np.clip(right, 0, len(knots) - 1)
    rise = values[high] - values[low]
    part = np.divide(losses - values[low], rise, out=np.zeros_like(losses), where=rise > 0)
    return np.asarray(knots[low] + part * (knots[high] - knots[low]))


def _log_between(low: Array, high: Array) -> tuple[Array, Array]:
    """Return log(Φ(high) − Φ(low)) without cancellation in either tail.

    The second array holds the logarithms of the larger of the two tail probabilities that
    are subtracted.
    """
    flip = low > 0
    near = np.where(flip, -low, high)
    far = np.where(flip, -high, low)
    top, bottom = log_ndtr(near), log_ndtr(far)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = top + np.log1p(-np.exp(np.minimum(bottom - top, 0.0)))
    return np.where(high > low, inside, -np.inf), top


@dataclass(frozen=True, slots=True)
class LossMixture:
    """Weighted bounds on a loss, one for every interval of a second random variable.

    Delta is the weighted sum of the deltas of the bounds. The weights need not add up to 1.
    Use `of` to construct a mixture from bounds.

    Parameters
    ----------
    pieces : tuple of four arrays
        Left ends, right ends, intercepts and slopes of all linear pieces.
    weights : array
        The weight of each piece.
    largest : array
        Bound on the absolute values of intermediate results in evaluating each piece.

    Examples
    --------
    A small shift and a large one with equal weights give the mean of both deltas:

    >>> import numpy as np
    >>> from confide.accounting import LossMixture, gaussian_shift
    >>> bounds = [gaussian_shift(0.1), gaussian_shift(0.5)]
    >>> mixed = LossMixture.of(bounds, np.array([0.5, 0.5])).delta(0.5)
    >>> abs(mixed - sum(bound.delta(0.5) for bound in bounds) / 2) < 1e-12
    True
    """

    pieces: tuple[Array, Array, Array, Array]
    weights: Array
    largest: Array

    @classmethod
    def of(cls, bounds: Sequence[LossBound], weights: Array) -> "LossMixture":
        """Construct a mixture from bounds and their weights.

        Parameters
        ----------
        bounds : sequence of LossBound
            One bound per interval of the second variable.
        weights : array
            The weight of each bound.

        Returns
        -------
        LossMixture
            The mixture.
        """
        parts = [bound.pieces() for bound in bounds]
        counts = [len(part[0]) for part in parts]
        lefts, rights, offsets, slopes = (
            np.concatenate(one) for one in zip(*parts, strict=True)
        )
        sizes = np.array([bound.largest for bound in bounds])
        return cls(
            (lefts, rights, offsets, slopes),
            np.repeat(weights, counts),
            np.repeat(sizes, counts),
        )

    def delta(self, epsilon: float) -> float:
        """Return the weighted sum of E(1 − e^{ε−M})₊ over all bounds, rounded up.

        Parameters
        ----------
        epsilon : float
            The epsilon at which delta is evaluated.

        Returns
        -------
        float
            Delta, at most 1.
        """
        total = piece_deltas(self.pieces, epsilon, self.largest)
        return min(1.0, round_up(float(total @ self.weights)))
