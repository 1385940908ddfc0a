"""Choices by noisy scores and by exponential weights, decided without rounding.

docs/proofs/exact-noise.md#comparison and #weights.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import count as levels

import numpy as np

from confide._types import AnyArray, Array
from confide.noise import fixed_point
from confide.noise.entropy import Entropy
from confide.noise.real_vector import Interval, RealVector
from confide.noise.staircase import Real

NOT_FINITE = "a random choice needs finite scores: this is a defect of confide"
HUGE = 2.0**1000
LOG2_OF_E = 1.4426950408889634
ROOM = 2.0**-40
LARGEST_TOTAL = 61


def largest(scores: Array, count: int, noise: RealVector) -> AnyArray:
    """Return the places, in rising order, of the largest sums of score and noise."""
    if not np.isfinite(scores).all():
        raise FloatingPointError(NOT_FINITE)
    if count >= len(scores):
        return np.arange(len(scores))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = scores + noise.values
        radii = noise.radii + np.abs(sums) * 2.0**-52
        low, high = sums - radii, sums + radii
    if np.abs(sums).max() > HUGE:
        low, high = np.full(len(sums), -np.inf), np.full(len(sums), np.inf)
    # The count-th largest of the lower ends, and the next of the upper ends.
    lower = np.partition(low, len(low) - count)[len(low) - count]
    upper = np.partition(high, len(high) - count - 1)[len(high) - count - 1]
    sure = low > upper
    undecided = np.flatnonzero((high >= lower) & ~sure).tolist()
    wanted = count - int(sure.sum())
    chosen = (
        undecided if len(undecided) == wanted else _refine(scores, wanted, noise, undecided)
    )
    return np.sort(np.concatenate([np.flatnonzero(sure), chosen]).astype(np.intp))


def _refine(scores: Array, wanted: int, noise: RealVector, places: list[int]) -> list[int]:
    """Return the places of the largest sums among those that doubles leave open."""
    for level in levels():
        sums = {i: _sum_at(scores, noise, i, level) for i in places}
        chosen = sorted(places, key=lambda i: -sums[i][0])[:wanted]
        if _apart(sums, chosen):
            return chosen
    raise AssertionError


def _sum_at(scores: Array, noise: RealVector, index: int, level: int) -> Interval:
    score = Fraction(float(scores[index]))
    low, high = noise.enclose(index, level)
    return score + low, score + high


def _apart(sums: Mapping[int, Interval], chosen: list[int]) -> bool:
    """Whether all chosen intervals lie above all others."""
    inside = set(chosen)
    others = [high for i, (_, high) in sums.items() if i not in inside]
    return min(sums[i][0] for i in chosen) > max(others)


def exponential_coin(
    exponent: Fraction, entropy: Entropy, ceiling: Fraction = Fraction(1)
) -> bool:
    """Toss a coin that shows heads with chance exp(−exponent)/ceiling, at most 1."""
    coin = Real(0, 1, 0)
    while True:
        coin.reveal(entropy)
        bits = coin.shift + 64
        scaled = math.floor(-exponent * (1 << bits))
        low, _ = fixed_point.exp(scaled, bits)
        _, high = fixed_point.exp(scaled + 1, bits)
        if (coin.low + 1) * ceiling * (1 << (bits - coin.shift)) <= low:
            return True
        if coin.low * ceiling * (1 << (bits - coin.shift)) >= high:
            return False


def choose(powers: Array, entropy: Entropy) -> int:
    """Return a place with a chance in proportion to exp(power); −∞ is never chosen.

    A place is proposed by powers of two above the weights, and kept with the chance that
    makes up for the difference.
    """
    top = float(powers.max())
    if not math.isfinite(top):
        raise FloatingPointError(NOT_FINITE)
    size = LARGEST_TOTAL - len(powers).bit_length()
    with np.errstate(over="ignore"):
        ceilings = _weights_above(powers - top, size)
    ceilings[powers == -np.inf] = 0
    total = np.cumsum(ceilings)
    while True:
        drawn = entropy.below(int(total[-1]), 1)[0]
        place = int(np.searchsorted(total, drawn, side="right"))
        exponent = Fraction(top) - Fraction(float(powers[place]))
        if exponential_coin(exponent, entropy, Fraction(int(ceilings[place]), 1 << size)):
            return place


def choose_signed(powers: Array, entropy: Entropy) -> tuple[int, float]:
    """Return a place and a sign with a chance in proportion to exp(sign·power)."""
    sizes = np.abs(powers)
    while True:
        place = choose(sizes, entropy)
        sign = float(entropy.signs(1)[0])
        gap = sizes[place] - sign * powers[place]
        if gap == 0 or exponential_coin(2 * Fraction(float(sizes[place])), entropy):
            return place, sign


def _weights_above(gaps: Array, size: int) -> AnyArray:
    """Return powers of two above 2^size·e^gap, at most twice as large or 1, gaps <= 0."""
    powers = gaps * LOG2_OF_E
    powers += size + ROOM
    np.ceil(powers, out=powers)
    np.maximum(powers, 0, out=powers)
    return np.left_shift(np.int64(1), powers.astype(np.int64))
