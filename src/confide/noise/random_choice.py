"""Random choices by noisy scores and by exponential weights, without rounding.

See docs/proofs/exact-noise.md#comparison and #weights.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from itertools import count as levels

import numpy as np

from confide._types import AnyArray, Array
from confide.noise import fixed_point
from confide.noise.entropy import Entropy
from confide.noise.real_vector import Interval, RealVector
from confide.noise.staircase import WORD, Real

NOT_FINITE = "a random choice needs finite scores: this is a bug in confide"
HUGE = 2.0**1000
GUARD = 16
LOG2_OF_E = 1.4426950408889634 * (1 - 2.0**-49)
"""A lower bound on log₂ e; it ensures 2^−k >= e^−x for k = ⌊x·LOG2_OF_E⌋ and x >= 0."""
MOST_HALVINGS = 1000
NEVER = MOST_HALVINGS + 1
FEW_HALVINGS = 64


def largest(scores: Array, count: int, noise: RealVector) -> AnyArray:
    """Return the indices of the largest sums of score and noise, sorted by index.

    Sums are compared as real numbers: docs/proofs/exact-noise.md#comparison.

    Parameters
    ----------
    scores : array
        The scores, all finite.
    count : int
        The number of indices to return.
    noise : RealVector
        One noise value for each score.

    Returns
    -------
    array of int
        The indices.

    Raises
    ------
    FloatingPointError
        If a score is not finite, which is a bug in confide.

    Examples
    --------
    Noise that is small relative to the gaps between scores does not change their order:

    >>> import numpy as np
    >>> from confide.noise import Entropy, Laplace, largest
    >>> scores = np.array([10.0, 500.0, 900.0])
    >>> noise = Laplace(0.1).sample(3, Entropy.system())
    >>> largest(scores, 2, noise)
    array([1, 2])
    """
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
    # The count-th largest lower end, and the (count + 1)-th largest upper end.
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
    """Return the indices of the largest sums among those that doubles cannot separate."""
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
    """Return whether all chosen intervals lie above all others."""
    inside = set(chosen)
    others = [high for i, (_, high) in sums.items() if i not in inside]
    return min(sums[i][0] for i in chosen) > max(others)


def exponential_coin(exponent: Fraction, entropy: Entropy, halvings: int = 0) -> bool:
    """Return True with probability 2^halvings·exp(−exponent), which must be at most 1."""
    if exponent == halvings == 0:
        return True
    coin = Real(0, 1, 0)
    while True:
        coin.reveal(entropy)
        bits = coin.shift + halvings + GUARD
        scaled = (-exponent.numerator << bits) // exponent.denominator
        low, high = fixed_point.exp(scaled, bits)
        if (coin.low + 1) << GUARD <= low:
            return True
        if coin.low << GUARD >= high + 2:
            return False


class ExponentialWeights:
    """Weights of indices, each e^power, updated when powers change.

    An index with power −∞ has weight 0. Weights are relative to e^top, where top was the
    largest power at the last restart. Each weight has an upper bound 2^−k that, except for
    the smallest weights, is at most about twice the weight. An index is proposed with
    probability proportional to 2^−k, and accepted with probability weight/2^−k.
    """

    def __init__(self, powers: Array) -> None:
        self._powers = powers
        self._restart()

    def _restart(self) -> None:
        self._top = float(self._powers.max())
        if not math.isfinite(self._top):
            raise FloatingPointError(NOT_FINITE)
        self._halvings = self._halvings_of(self._powers)
        self._counts = np.bincount(self._halvings, minlength=NEVER + 1)

    def _halvings_of(self, powers: Array) -> AnyArray:
        """Return integers k with 2^−k >= e^(power − top)."""
        with np.errstate(over="ignore"):
            gaps = self._top - powers
            gaps *= LOG2_OF_E
        halvings = np.minimum(gaps, MOST_HALVINGS, out=gaps).astype(np.int16)
        halvings[powers == -np.inf] = NEVER
        return halvings

    def update(self, places: AnyArray, powers: Array) -> None:
        """Set new powers at one or more indices; an index may occur repeatedly."""
        self._powers[places] = powers
        if not powers.max() <= self._top:
            self._restart()
            return
        before, after = self._halvings[places], self._halvings_of(powers)
        others = np.flatnonzero(before != after)
        if len(others):
            self._halvings[places] = after
            others = others[np.unique(places[others], return_index=True)[1]]
            self._counts -= np.bincount(before[others], minlength=NEVER + 1)
            self._counts += np.bincount(after[others], minlength=NEVER + 1)

    def draw(self, entropy: Entropy) -> int:
        """Draw an index with probability proportional to its weight."""
        if not self._counts[:FEW_HALVINGS].any():
            self._restart()
        kinds = np.flatnonzero(self._counts[:NEVER]).tolist()
        edges = list(accumulate(int(self._counts[k]) << (kinds[-1] - k) for k in kinds))
        while True:
            drawn = _below(edges[-1], entropy)
            kind = bisect_right(edges, drawn)
            halvings = kinds[kind]
            alike = np.flatnonzero(self._halvings == halvings)
            place = int(alike[(edges[kind] - 1 - drawn) >> (kinds[-1] - halvings)])
            exponent = Fraction(self._top) - Fraction(float(self._powers[place]))
            if exponential_coin(exponent, entropy, halvings):
                return place


class SignedWeights:
    """Two weights per index, e^power and e^−power, updated when powers change.

    Parameters
    ----------
    powers : array
        One power for each index; `update` modifies the array in place.

    Examples
    --------
    With a power of −50, its index and the sign −1 are almost certainly chosen:

    >>> import numpy as np
    >>> from confide.noise import Entropy, SignedWeights
    >>> weights = SignedWeights(np.array([0.0, -50.0, 0.0]))
    >>> weights.draw(Entropy.system())
    (1, -1.0)
    """

    def __init__(self, powers: Array) -> None:
        self._powers = powers
        self._sizes = ExponentialWeights(np.abs(powers))

    def update(self, places: AnyArray, powers: Array) -> None:
        """Set new powers at some indices.

        Parameters
        ----------
        places : array of int
            One or more indices.
        powers : array
            The new powers at these indices.
        """
        self._powers[places] = powers
        self._sizes.update(places, np.abs(powers))

    def draw(self, entropy: Entropy) -> tuple[int, float]:
        """Draw an index and a sign with probability proportional to e^(sign·power).

        Parameters
        ----------
        entropy : Entropy
            The source of randomness.

        Returns
        -------
        tuple of int and float
            The index, and +1 or −1.
        """
        while True:
            place = self._sizes.draw(entropy)
            sign = float(entropy.signs(1)[0])
            power = Fraction(float(self._powers[place]))
            if sign * power >= 0 or exponential_coin(2 * abs(power), entropy):
                return place, sign


def _below(limit: int, entropy: Entropy) -> int:
    """Draw an integer from 0 to limit − 1, all with exactly equal probabilities."""
    bits = limit.bit_length()
    while True:
        words = entropy.words(-(-bits // WORD))
        drawn = int.from_bytes(words.tobytes(), "little") >> (-bits % WORD)
        if drawn < limit:
            return drawn


def choose(powers: Array, entropy: Entropy) -> int:
    """Choose an index with probability proportional to exp(power), without rounding.

    Parameters
    ----------
    powers : array
        One power for each index; an index with power −∞ is never chosen.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    int
        The index.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.noise import Entropy, choose
    >>> choose(np.array([-np.inf, 0.0, -np.inf]), Entropy.system())
    1
    """
    return ExponentialWeights(powers).draw(entropy)


def choose_several(powers: Array, count: int, entropy: Entropy) -> AnyArray:
    """Choose several distinct indices, one after another from those that remain.

    Parameters
    ----------
    powers : array
        One power for each index; probabilities are proportional to exp(power).
    count : int
        The number of indices to choose.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    array of int
        The indices, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.noise import Entropy, choose_several
    >>> choose_several(np.array([80.0, 0.0, 80.0]), 2, Entropy.system())
    array([0, 2])
    """
    weights = ExponentialWeights(powers.copy())
    chosen = []
    for _ in range(count):
        chosen.append(weights.draw(entropy))
        weights.update(np.array(chosen[-1:]), np.array([-np.inf]))
    return np.sort(chosen)
