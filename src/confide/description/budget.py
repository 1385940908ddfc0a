"""How the budget of a description is divided, and into how many bins: public rules.

Every table has the same weight, and a query for a range half of it: there are two such
queries for every range. One noise is added to all counts, with twice the scale for queries
for ranges; both are accounted for together: docs/proofs/description.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from confide.accounting import Event, GaussianEvent, PureEvent
from confide.mechanisms.base import gaussian_shift_of
from confide.mechanisms.ranges.mechanism import LOOKS, ROWS_IF_UNKNOWN
from confide.mechanisms.ranges.read_range import CountNoise
from confide.noise import Gaussian, Laplace
from confide.privacy import Budget, Neighbours, Pure, round_up

RANGE_WEIGHT = Fraction(1, 2)
"""What a look for a range weighs beside a table; a power of two keeps scales exact."""
FEWEST_BINS, MOST_BINS = 8, 200
PAIR_BINS = 6
"""Approximate number of bins of a number in a cross-tabulation."""


@dataclass(frozen=True, slots=True)
class CountPrice:
    """The noise on counts of tables and of looks for ranges, and what both cost."""

    tables: CountNoise
    ranges: CountNoise
    event: Event
    pure: bool


def price_of(
    budget: Budget, tables: int, ranges: int, neighbours: Neighbours
) -> CountPrice:
    """Return the noises on tables and on queries for ranges that spend a budget.

    In every table and every look a record moves one count under add-remove neighbours, two
    under replace-one.
    """
    looks, power = LOOKS * ranges, 1 if isinstance(budget, Pure) else 2
    weight = neighbours.shifts * (tables + looks * float(RANGE_WEIGHT**power))
    longer = float(1 / RANGE_WEIGHT)
    if isinstance(budget, Pure):
        scale = round_up(weight / budget.epsilon)
        noises = Laplace(scale), Laplace(longer * scale)
        return CountPrice(*noises, PureEvent(budget.epsilon), pure=True)
    mu = gaussian_shift_of(budget)
    scale = round_up(math.sqrt(weight) / mu)
    return CountPrice(
        Gaussian(scale), Gaussian(longer * scale), GaussianEvent(mu), pure=False
    )


def range_share(tables: int, ranges: int, budget: Budget) -> Fraction:
    """Return the part of a budget that goes to ranges."""
    part = LOOKS * ranges * RANGE_WEIGHT ** (1 if isinstance(budget, Pure) else 2)
    return part / (tables + part)


def bin_count(noise: CountNoise, rows: int | None) -> int:
    """Return the number of bins of a histogram, from the public number of rows if known.

    Noise in the middle of a histogram of B bins adds up to √B/2 of that on a count, and a
    bin holds 1/B of the rows: together they are least at this B.
    """
    about = ROWS_IF_UNKNOWN[type(noise)] if rows is None else rows
    best = (2 * about / noise.deviation(1)) ** (2 / 3)
    return int(min(max(best, FEWEST_BINS), MOST_BINS))
