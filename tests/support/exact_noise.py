"""Scripted randomness, laws to fifty digits and chi-square tests for exact noise."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
from scipy import stats

from confide.noise import Entropy
from confide.noise.staircase import (
    EXPONENTIAL,
    GUMBEL,
    LAPLACE,
    NORMAL,
    PLACE_BITS,
    UNIT_BITS,
    staircase,
)

FALSE_ALARM = 1e-6
DIGITS = 50
FEW, MANY = 500, 10_000
LAWS = {"normal": NORMAL, "laplace": LAPLACE, "exponential": EXPONENTIAL, "gumbel": GUMBEL}


class Script:
    """Words written down beforehand, then words from a seed; all are kept in ``log``."""

    def __init__(self, words, seed=0):
        self.rest = Entropy.seeded(seed)
        self.written = iter(words)
        self.log = []

    def words(self, count):
        found = list(itertools.islice(self.written, count))
        found += self.rest.words(count - len(found)).tolist()
        self.log += found
        return np.array(found, dtype=np.uint64)

    @property
    def entropy(self):
        return Entropy(self.words, secret=False)


def random_words(count, seed):
    return [int(word) for word in Entropy.seeded(seed).words(count)]


def box_word(law, word):
    """Return a word that falls into a box, whatever its first bits were."""
    stairs = staircase(law)
    box = (word >> PLACE_BITS) % stairs.boxes
    return (box << PLACE_BITS) | (word & ((1 << PLACE_BITS) - 1))


def number_of(law, words):
    """Return the number that a box and the words after it stand for, as a fraction."""
    stairs = staircase(law)
    first, *others = words
    piece = stairs.pieces[first >> PLACE_BITS]
    place = Fraction(first & ((1 << PLACE_BITS) - 1), 1 << PLACE_BITS)
    for k, word in enumerate(others, start=1):
        place += Fraction(word, 1 << (PLACE_BITS + 64 * k))
    return (piece.start + piece.width * place) / (1 << UNIT_BITS)


def word_of(law, first, number):
    """Return the second word that brings the number of a first one near another."""
    stairs = staircase(law)
    piece = stairs.pieces[first >> PLACE_BITS]
    place = (number * (1 << UNIT_BITS) - piece.start) / piece.width
    within = place * (1 << PLACE_BITS) - (first & ((1 << PLACE_BITS) - 1))
    return min(max(int(within * (1 << 64)), 0), 2**64 - 1)


def density(law, x):
    if law is NORMAL:
        return mpmath.npdf(x)
    if law is LAPLACE:
        return mpmath.exp(-abs(x)) / 2
    if law is EXPONENTIAL:
        return mpmath.exp(-x) if x >= 0 else mpmath.mpf(0)
    return mpmath.exp(-x - mpmath.exp(-x))


def below(law, x):
    """Return the distribution function."""
    x = mpmath.mpf(x)
    if law is NORMAL:
        return mpmath.ncdf(x)
    if law is LAPLACE:
        return mpmath.exp(x) / 2 if x < 0 else 1 - mpmath.exp(-x) / 2
    if law is EXPONENTIAL:
        return -mpmath.expm1(-x) if x > 0 else mpmath.mpf(0)
    return mpmath.exp(-mpmath.exp(-x))


def cell_chances(law, scale, centre, grid, cells):
    """Return the chances of the lattice points in ``cells``, and of all others together."""
    with mpmath.workdps(DIGITS):
        edges = [
            below(law, ((mpmath.mpf(k) - 0.5) * grid - centre) / scale)
            for k in range(cells[0], cells[-1] + 2)
        ]
        chances = [float(b - a) for a, b in itertools.pairwise(edges)]
        return np.array([*chances, float(1 - edges[-1] + edges[0])])


def counts_of(points, grid, cells):
    """Return how often each lattice point of ``cells`` was seen, and any other."""
    steps = np.rint(points / grid).astype(int)
    first, last = cells[0], cells[-1]
    inside = (steps >= first) & (steps <= last)
    counts = np.bincount(steps[inside] - first, minlength=len(cells))
    return np.array([*counts, (~inside).sum()])


def p_value(counts, chances):
    """Return the p-value of Pearson's test; cells with few expected counts are joined."""
    expected = np.sum(counts) * np.asarray(chances)
    rare = expected < 10
    seen = np.array([*np.asarray(counts)[~rare], np.asarray(counts)[rare].sum()])
    due = np.array([*expected[~rare], expected[rare].sum()])
    kept = due > 0
    assert not seen[~kept].any()
    statistic = ((seen - due)[kept] ** 2 / due[kept]).sum()
    return float(stats.chi2(kept.sum() - 1).sf(statistic))
