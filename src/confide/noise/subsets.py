"""Random coins, permutations, groups and subsets with exact probabilities.

See docs/proofs/exact-noise.md#coins. Iterators over subsets never end, and each subset
is valid only until the next one is drawn.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import count as levels

import numpy as np

from confide._types import AnyArray
from confide.errors import InvalidParameter
from confide.noise import fixed_point
from confide.noise.entropy import Entropy
from confide.noise.real_vector import Draws
from confide.noise.staircase import EXPONENTIAL, WORD

DRAWN_AT_ONCE = 2**14
MOST_AT_ONCE = 64
LARGEST_MEAN = 2**62


def coins(rate: Fraction | float, count: int, entropy: Entropy) -> AnyArray:
    """Toss coins that show heads with a probability of exactly ``rate``, from 0 to 1.

    The bits of a uniform number are compared with those of the rate.
    """
    chance = Fraction(rate)
    if not 0 <= chance <= 1:
        raise InvalidParameter("rate", "from 0 to 1", rate)
    if chance == 1:
        return np.ones(count, dtype=bool)
    digits, rest = divmod(chance.numerator << WORD, chance.denominator)
    words = entropy.words(count)
    heads = words < np.uint64(digits)
    for index in np.flatnonzero(words == np.uint64(digits)).tolist():
        heads[index] = coins(Fraction(rest, chance.denominator), 1, entropy)[0]
    return heads


def shuffle(count: int, entropy: Entropy) -> AnyArray:
    """Return the integers 0, …, count − 1 in random order, with all orders equally likely.

    The integers are sorted by random words. If two words are equal, all are drawn again.

    Parameters
    ----------
    count : int
        The number of integers.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    array
        A permutation.

    Examples
    --------
    The result is a permutation, so sorting it restores the original order:

    >>> from confide.noise import Entropy, shuffle
    >>> sorted(shuffle(5, Entropy.system()).tolist())
    [0, 1, 2, 3, 4]
    """
    while True:
        words = entropy.words(count)
        order = np.argsort(words, kind="stable")
        in_order = words[order]
        if (in_order[1:] != in_order[:-1]).all():
            return order


def assign_groups(count: int, groups: int, entropy: Entropy) -> AnyArray:
    """Assign each item to a group, independently and with equal probabilities.

    Parameters
    ----------
    count : int
        The number of items.
    groups : int
        The number of groups.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    array
        A group from 0 to ``groups`` − 1 for each item.

    Examples
    --------
    >>> from confide.noise import Entropy, assign_groups
    >>> found = assign_groups(1000, 4, Entropy.seeded(0))
    >>> len(found), sorted(set(found.tolist()))
    (1000, [0, 1, 2, 3])
    """
    return entropy.below(groups, count)


def fixed_size_subsets(count: int, size: int, entropy: Entropy) -> Iterator[AnyArray]:
    """Yield independent subsets of ``size`` indices out of ``count``, all equally likely.

    Indices are drawn with replacement until enough distinct ones are found; by symmetry,
    all subsets are equally likely. If a subset has more than half of the indices, those
    outside it are drawn instead.

    Parameters
    ----------
    count : int
        The number of indices.
    size : int
        The number of indices in each subset.
    entropy : Entropy
        The source of randomness.

    Yields
    ------
    array
        The indices of a subset; valid until the next one is drawn.

    Examples
    --------
    >>> from confide.noise import Entropy, fixed_size_subsets
    >>> subsets = fixed_size_subsets(100, 10, Entropy.system())
    >>> len(set(next(subsets).tolist()))
    10
    """
    few = min(size, count - size)
    pool = _pool(count, few, entropy)
    last = np.empty(count, dtype=np.int64)
    turn = np.arange(few)
    everything = np.arange(count)
    while True:
        chosen = next(pool)
        while True:
            # Among equal indices, the last one written is kept.
            last[chosen] = turn[: len(chosen)]
            chosen = chosen[last[chosen] == turn[: len(chosen)]]
            if len(chosen) == few:
                break
            more = entropy.below(count, few - len(chosen))
            chosen = np.concatenate([chosen, more])
        yield chosen if few == size else np.delete(everything, chosen)


def _pool(count: int, size: int, entropy: Entropy) -> Iterator[AnyArray]:
    """Yield arrays of ``size`` indices drawn with replacement."""
    at_once = max(1, DRAWN_AT_ONCE // max(1, size))
    while True:
        yield from entropy.below(count, at_once * size).reshape(at_once, size)


def poisson_subsets(count: int, rate: Fraction, entropy: Entropy) -> Iterator[AnyArray]:
    """Yield independent subsets that contain each index with probability ``rate``.

    For each subset, one coin is tossed per index. The tosses for many subsets form one long
    sequence, in which the gaps between heads have a geometric distribution.

    Parameters
    ----------
    count : int
        The number of indices.
    rate : Fraction
        The exact probability that a subset contains an index, above 0 and below 1.
    entropy : Entropy
        The source of randomness.

    Yields
    ------
    array
        The indices of a subset; valid until the next one is drawn.

    Raises
    ------
    InvalidParameter
        If the rate is not between 0 and 1.

    Examples
    --------
    The size of a subset is random; here it is 20 on average.

    >>> from fractions import Fraction
    >>> from confide.noise import Entropy, poisson_subsets
    >>> subsets = poisson_subsets(1000, Fraction(1, 50), Entropy.seeded(0))
    >>> sizes = [len(next(subsets)) for _ in range(200)]
    >>> 19 < sum(sizes) / 200 < 21
    True
    """
    if not 0 < rate < 1:
        raise InvalidParameter("rate", "between 0 and 1", rate)
    turns = max(1, min(MOST_AT_ONCE, int(DRAWN_AT_ONCE / (1 + float(rate) * count))))
    whole = turns * count
    usual = float(rate) * whole
    guess = math.ceil(usual + 6 * math.sqrt(usual) + 16)
    while True:
        line = np.empty(0, dtype=np.int64)
        end = -1
        while end < whole:
            heads = geometric(rate, guess, whole, entropy) + 1
            line = np.concatenate([line, end + np.cumsum(heads)])
            end = int(line[-1])
        edges = np.searchsorted(line, np.arange(turns + 1) * count)
        for turn in range(turns):
            yield line[edges[turn] : edges[turn + 1]] - turn * count


def geometric(rate: Fraction, count: int, most: int, entropy: Entropy) -> AnyArray:
    """Draw numbers of tails before the first head, each capped at ``most``.

    The number of tails is the integer part of E/λ, with E exponential and
    λ = −log(1 − rate).
    """
    draws = Draws.of(EXPONENTIAL, count, entropy)
    low, high = _inverse_rate(rate, 0)
    middle = float(min((low + high) / 2, Fraction(LARGEST_MEAN)))
    sizes = draws.values * middle
    radii = (sizes + middle) * 2.0 ** (2 - draws.bits)
    floors = np.floor(sizes)
    certain = (sizes - radii >= floors) & (sizes + radii < floors + 1)
    certain |= sizes - radii >= most
    found = np.minimum(floors, most).astype(np.int64)
    for index in np.flatnonzero(~certain).tolist():
        found[index] = _geometric(draws, index, rate, most)
    return found


def _geometric(draws: Draws, index: int, rate: Fraction, most: int) -> int:
    for level in levels():
        number, inverse = draws.enclose(index, level), _inverse_rate(rate, level)
        low, high = (
            min(most, math.floor(a * b)) for a, b in zip(number, inverse, strict=True)
        )
        if low == high:
            return low
    raise AssertionError


@cache
def _inverse_rate(rate: Fraction, level: int) -> tuple[Fraction, Fraction]:
    """Return bounds on −1/log(1 − rate)."""
    size = rate.denominator.bit_length()
    bits = 2 * size + 128 * (level + 1)
    low, high = fixed_point.log(1 - rate, bits)
    return Fraction(1 << bits, -low), Fraction(1 << bits, -high)
