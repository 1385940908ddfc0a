"""Public rules for dividing the budget of a description and for the number of bins.

Every table has the same weight, and a query for a range has half of it. There are two such
queries for every range. The same noise is added to all counts, with twice the scale for
range queries. Tables and range queries are accounted for together
(docs/proofs/description.md).
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
"""Weight of a range query relative to a table; a power of two keeps scales exact."""
FEWEST_BINS, MOST_BINS = 8, 200
PAIR_BINS = 6
"""Approximate number of bins of a numeric column in a cross-tabulation."""


@dataclass(frozen=True, slots=True)
class CountPrice:
    """Noise on the counts of tables and of range queries, and their privacy event."""

    tables: CountNoise
    ranges: CountNoise
    event: Event
    pure: bool


def price_of(
    budget: Budget, tables: int, ranges: int, neighbours: Neighbours
) -> CountPrice:
    """Return the noise on tables and range queries for which their cost is the budget.

    In every table and every range query, a record changes one count under add-remove
    neighbours, and two counts under replace-one neighbours.
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
    """Return the share of a budget that is spent on ranges."""
    part = LOOKS * ranges * RANGE_WEIGHT ** (1 if isinstance(budget, Pure) else 2)
    return part / (tables + part)


def bin_count(noise: CountNoise, rows: int | None) -> int:
    """Return the number of bins of a histogram, from the public number of rows if known.

    In a histogram with B bins, the noise of a cumulative count in the middle is √B/2 times
    that of a count, and a bin has 1/B of the rows. The result balances these two errors.
    """
    about = ROWS_IF_UNKNOWN[type(noise)] if rows is None else rows
    best = (2 * about / noise.deviation(1)) ** (2 / 3)
    return int(min(max(best, FEWEST_BINS), MOST_BINS))
