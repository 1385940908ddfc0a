"""Sensitivity of the counts of a score, the noise that hides a record, and its cost.

docs/proofs/evaluation.md#tables-exact.
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
"""Numbers of a record are rounded to multiples of this, so that their sums are exact."""
ROUNDING = 2.0**-17
"""More than what rounding does to sums over 10⁹ rows of two tables: evaluation.md."""


@dataclass(frozen=True, slots=True)
class Look:
    """A vector of sums over the rows that is released with one noise.

    ``most`` bounds how far one record can move it in the ℓ1 norm, ``length`` in the
    Euclidean norm. ``share`` is its part of the budget.
    """

    most: float
    length: float
    share: Fraction


def table_look(neighbours: Neighbours, share: Fraction) -> Look:
    """Return a table of counts in which a record is in one cell, or in none."""
    return Look(float(neighbours.shifts), math.sqrt(neighbours.shifts), share)


def sums_look(sums: "BoundedSums", neighbours: Neighbours, share: Fraction) -> Look:
    """Return weighted sums of numbers within public ends."""
    lower, upper = sums.ends
    span = np.maximum(np.abs(lower), np.abs(upper))
    if neighbours is Neighbours.REPLACE_ONE:
        # A record whose target is missing counts for nothing: 0 is an end as well.
        span = np.maximum(upper, 0.0) - np.minimum(lower, 0.0)
    moved = (span + ROUNDING) * np.array(sums.weights)
    return Look(
        round_up(Fraction(math.fsum(moved))),
        round_up(math.sqrt(math.fsum(moved**2)) * (1 + 2.0**-50)),
        share,
    )


@dataclass(frozen=True, slots=True)
class BoundedSums:
    """Sums over the rows, by name: between which ends a number lies, and its weight.

    The first counts the rows. Weights are powers of two: the heavier a sum, the less noise
    it has.
    """

    names: tuple[str, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def ends(self) -> tuple[Array, Array]:
        """The least and the largest that a record can add to every sum."""
        return np.array(self.lowest), np.array(self.highest)

    def add(self, columns: Sequence[Array]) -> Array:
        """Return the number of rows, and sums of numbers.

        These are cut off at the ends and rounded to units; columns that are not given are
        0. Sums of up to 10⁹ such numbers are exact in doubles, in any order.
        """
        found = np.zeros(len(self.names))
        found[0] = len(columns[0])
        for place, values in enumerate(columns, start=1):
            kept = np.clip(values, self.lowest[place], self.highest[place])
            kept *= 1 / UNIT
            found[place] = np.rint(kept, out=kept).sum() * UNIT
        return found

    def publish(self, totals: Array, noise: LookNoise, entropy: Entropy) -> "NoisySums":
        """Release the sums."""
        weights = np.array(self.weights)
        drawn = publish(totals * weights, noise, entropy, MAX_ROWS) / weights
        return NoisySums(self.names, drawn, (noise.deviation(1) / weights) ** 2, noise)


@dataclass(frozen=True, slots=True)
class NoisySums:
    """Released sums, and the variances of their noises."""

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
        """Return half the length of an interval, from the variances of both errors.

        Laplace noise has longer tails than a normal variable: where the error is noise
        alone its own quantile counts, and else a part of the difference that falls as the
        excess kurtosis of the sum does.
        """
        usual = quantile(level)
        own = self.noise.exceeded((1 - level) / 2) / self.noise.deviation(1)
        whole = sampling + noise
        return (usual + (own - usual) * (noise / whole) ** 2) * math.sqrt(whole)


@dataclass(frozen=True, slots=True)
class Noises:
    """A noise for every look, and what all looks together cost."""

    each: tuple[LookNoise, ...]
    events: tuple[Event, ...]


def noises_for(budget: Budget, looks: Sequence[Look]) -> Noises:
    """Divide a budget among the looks of a score, and choose their noises.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        What the score may cost.
    looks : sequence of Look
        Sensitivity of every noisy count, and its share of the budget.

    Returns
    -------
    Noises
        A noise for every look, and the events that they cost.

    Examples
    --------
    >>> from confide.evaluation import TwoClasses, noises_for
    >>> from confide.privacy import Neighbours, Pure
    >>> looks = TwoClasses((0.0,), "yes", chances=True).looks(Neighbours.ADD_REMOVE)
    >>> [noise.kind for noise in noises_for(Pure(1), looks).each]
    ['laplace', 'laplace']

    Two counts share ε = 1: one chooses cells, the other fills them.
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
