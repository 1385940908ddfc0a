"""Sensitivity of the counts and sums for a score, their noise, and its privacy cost.

See docs/proofs/evaluation.md#tables-exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from confide._types import Array
from confide.accounting import Event, GaussianEvent, PureEvent
from confide.data.matrix.sums import MAX_ROWS
from confide.evaluation.estimates import quantile
from confide.mechanisms.base import gaussian_shift_of, publish
from confide.noise import Entropy, Gaussian, Laplace
from confide.privacy import Budget, Neighbours, Pure, Zcdp, round_down, round_up

THEOREM = "evaluation.md#tables-exact"
LookNoise: TypeAlias = Gaussian | Laplace
UNIT = 2.0**-20
"""Summands are rounded to multiples of this number, so that their sums are exact."""
ROUNDING = 2.0**-17
"""Bound on the rounding errors of a sum in two neighbouring tables of up to 10⁹ rows."""


@dataclass(frozen=True, slots=True)
class Look:
    """Sensitivity of a vector of counts or sums, and its share of the budget.

    ``most`` is the sensitivity in the ℓ1 norm, and ``length`` in the Euclidean norm.
    """

    most: float
    length: float
    share: Fraction


def table_look(neighbours: Neighbours, share: Fraction) -> Look:
    """Return the sensitivity of a table of counts, with each record in at most one cell."""
    return Look(float(neighbours.shifts), math.sqrt(neighbours.shifts), share)


def sums_look(sums: "BoundedSums", neighbours: Neighbours, share: Fraction) -> Look:
    """Return the sensitivity of weighted sums whose summands have public bounds."""
    lower, upper = sums.ends
    span = np.maximum(np.abs(lower), np.abs(upper))
    if neighbours is Neighbours.REPLACE_ONE:
        # A record with a missing target adds 0, so the bounds must include 0.
        span = np.maximum(upper, 0.0) - np.minimum(lower, 0.0)
    moved = (span + ROUNDING) * np.array(sums.weights)
    return Look(
        round_up(Fraction(math.fsum(moved))),
        round_up(math.sqrt(math.fsum(moved**2)) * (1 + 2.0**-50)),
        share,
    )


@dataclass(frozen=True, slots=True)
class BoundedSums:
    """Names and weights of sums over the rows, and public bounds on their summands.

    The first sum is the number of rows. Before noise is added, every sum is multiplied by
    its weight, which is a power of two. Sums with a larger weight have less noise.
    """

    names: tuple[str, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def ends(self) -> tuple[Array, Array]:
        """Smallest and largest number that a record can add to each sum."""
        return np.array(self.lowest), np.array(self.highest)

    def add(self, columns: Sequence[Array]) -> Array:
        """Return the number of rows, and the sums of the columns.

        Numbers are clipped to their bounds and rounded to multiples of ``UNIT``. If there
        are fewer columns than sums, the remaining sums are 0. Sums of up to 10⁹ such
        numbers are exact in double precision, whatever the order of summation.
        """
        found = np.zeros(len(self.names))
        found[0] = len(columns[0])
        for place, values in enumerate(columns, start=1):
            kept = np.clip(values, self.lowest[place], self.highest[place])
            kept *= 1 / UNIT
            found[place] = np.rint(kept, out=kept).sum() * UNIT
        return found

    def publish(self, totals: Array, noise: LookNoise, entropy: Entropy) -> "NoisySums":
        """Release the sums with noise."""
        weights = np.array(self.weights)
        drawn = publish(totals * weights, noise, entropy, MAX_ROWS) / weights
        return NoisySums(self.names, drawn, (noise.deviation(1) / weights) ** 2, noise)


@dataclass(frozen=True, slots=True)
class NoisySums:
    """Released sums, and the variances of the noise on them."""

    names: tuple[str, ...]
    values: Array
    variances: Array
    noise: LookNoise

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.names.index(name)])

    def variance(self, name: str) -> float:
        """Return the variance of the noise on a sum."""
        return float(self.variances[self.names.index(name)])

    def half_length(self, level: float, sampling: float, noise: float) -> float:
        """Return the half-width of an interval, from the variances of sampling and noise.

        Laplace noise has heavier tails than a normal variable. If there is no sampling
        error, the quantile of the noise is used. Otherwise, the difference between this
        quantile and the normal quantile is multiplied by the square of the noise's share of
        the variance, because the excess kurtosis of the total error is proportional to this
        square.
        """
        usual = quantile(level)
        own = self.noise.exceeded((1 - level) / 2) / self.noise.deviation(1)
        whole = sampling + noise
        return (usual + (own - usual) * (noise / whole) ** 2) * math.sqrt(whole)


@dataclass(frozen=True, slots=True)
class Noises:
    """Noise for every vector of counts or sums, and the privacy events of the score."""

    each: tuple[LookNoise, ...]
    events: tuple[Event, ...]


def noises_for(budget: Budget, looks: Sequence[Look]) -> Noises:
    """Divide a budget among the counts and sums for a score, and choose their noise.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        Budget of the score.
    looks : sequence of Look
        Sensitivity of every vector of counts or sums, and its share of the budget.

    Returns
    -------
    Noises
        Noise for every vector of counts or sums, and the privacy events of the score.

    Examples
    --------
    >>> from confide.evaluation import TwoClasses, noises_for
    >>> from confide.privacy import Neighbours, Pure
    >>> looks = TwoClasses((0.0,), "yes", chances=True).looks(Neighbours.ADD_REMOVE)
    >>> [noise.kind for noise in noises_for(Pure(1), looks).each]
    ['laplace', 'laplace']

    Two tables of counts share ε = 1. The first is used to choose the cells of the second.
    """
    if isinstance(budget, Pure):
        return _laplace(budget.epsilon, looks)
    shift = gaussian_shift_of(budget)
    normal = Noises(
        tuple(
            Gaussian(round_up(look.length / round_down(shift * math.sqrt(look.share))))
            for look in looks
        ),
        (GaussianEvent(shift),),
    )
    if isinstance(budget, Zcdp):
        return normal
    pure = _laplace(budget.epsilon, looks)
    return min(pure, normal, key=_size)


def _laplace(epsilon: Fraction, looks: Sequence[Look]) -> Noises:
    parts = [look.share * epsilon for look in looks]
    scales = (
        round_up(Fraction(look.most) / part)
        for look, part in zip(looks, parts, strict=True)
    )
    return Noises(tuple(map(Laplace, scales)), (PureEvent(epsilon),))


def _size(noises: Noises) -> float:
    return sum(math.log(noise.deviation(1)) for noise in noises.each)
