"""Random subsets of rows, drawn in time that grows with the subset and not the table.

Both are endless streams; what they yield is valid until the next one is asked for.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from confide._types import AnyArray
from confide.noise.entropy import Entropy

DRAWN_AT_ONCE = 2**14
MOST_AT_ONCE = 64
SMALLEST_RATE = 1e-300


def of_equal_size(count: int, size: int, entropy: Entropy) -> Iterator[AnyArray]:
    """Yield independent subsets of ``size`` places out of ``count``, all as likely.

    Places are drawn with replacement until so many different ones have come: by symmetry
    no set of them is likelier than another. Where more than half is wanted, the places
    that are left out are drawn instead.
    """
    few = min(size, count - size)
    pool = _pool(count, few, entropy)
    last = np.empty(count, dtype=np.int64)
    turn = np.arange(few)
    everything = np.arange(count)
    while True:
        chosen = next(pool)
        while True:
            # Of equal places the one that was written last stays.
            last[chosen] = turn[: len(chosen)]
            chosen = chosen[last[chosen] == turn[: len(chosen)]]
            if len(chosen) == few:
                break
            more = entropy.below(count, few - len(chosen))
            chosen = np.concatenate([chosen, more])
        yield chosen if few == size else np.delete(everything, chosen)


def _pool(count: int, size: int, entropy: Entropy) -> Iterator[AnyArray]:
    """Yield places with replacement, so many at a time."""
    at_once = max(1, DRAWN_AT_ONCE // max(1, size))
    while True:
        yield from entropy.below(count, at_once * size).reshape(at_once, size)


def each_by_chance(count: int, rate: Fraction, entropy: Entropy) -> Iterator[AnyArray]:
    """Yield independent subsets that hold every place with chance ``rate``, rate < 1.

    The places of many subsets form one long line of coins; from one head to the next it
    is a geometric number of steps.
    """
    turns = max(1, min(MOST_AT_ONCE, int(DRAWN_AT_ONCE / (1 + float(rate) * count))))
    whole = turns * count
    decay = _log_of_rest(rate)
    usual = float(rate) * whole
    guess = math.ceil(usual + 6 * math.sqrt(usual) + 16)
    while True:
        line = np.empty(0, dtype=np.int64)
        end = -1
        while end < whole:
            leaps = np.log(entropy.uniform(guess)) / decay
            heads = np.minimum(leaps, whole).astype(np.int64) + 1
            line = np.concatenate([line, end + np.cumsum(heads)])
            end = int(line[-1])
        edges = np.searchsorted(line, np.arange(turns + 1) * count)
        for turn in range(turns):
            yield line[edges[turn] : edges[turn + 1]] - turn * count


def _log_of_rest(rate: Fraction) -> float:
    """Return log(1 − rate), also where the rate itself rounds to 0 or to 1."""
    if 2 * rate < 1:
        return math.log1p(-max(float(rate), SMALLEST_RATE))
    return math.log(rate.denominator - rate.numerator) - math.log(rate.denominator)
