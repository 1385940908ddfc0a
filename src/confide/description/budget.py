"""Public rules for dividing the budget of a description, and for the number of bins.

All counts of tables receive noise of the same scale. Each range that is estimated requires
two queries, whose counts receive noise of twice this scale. A range query therefore costs
half as much epsilon as a table under pure DP, and a quarter of its μ² under Gaussian DP.
Tables and range queries are accounted for together (docs/proofs/description.md).
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
"""Noise scale of tables relative to range queries; a power of two keeps scales exact."""
FEWEST_BINS, MOST_BINS = 8, 200
PAIR_BINS = 6
"""Approximate number of bins of a numeric column in a cross-tabulation."""


@dataclass(frozen=True, slots=True)
class CountPrice:
    """Noise on the counts of tables and range queries, and their joint accounting event."""

    tables: CountNoise
    ranges: CountNoise
    event: Event
    pure: bool


def price_of(
    budget: Budget, tables: int, ranges: int, neighbours: Neighbours
) -> CountPrice:
    """Choose noise for tables and range queries so that their total cost is the budget.

    In every table and every range query, one record affects one count under add-remove
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
    """Return the share of the budget that is spent on estimating ranges."""
    part = LOOKS * ranges * RANGE_WEIGHT ** (1 if isinstance(budget, Pure) else 2)
    return part / (tables + part)


def bin_count(noise: CountNoise, rows: int | None) -> int:
    """Return the number of bins of a histogram, from the number of rows if it is known.

    If a histogram has B bins, the noise of a cumulative count in the middle is √B/2 times
    the noise of one count, and each bin contains 1/B of the rows on average. The result
    balances these two errors.
    """
    about = ROWS_IF_UNKNOWN[type(noise)] if rows is None else rows
    best = (2 * about / noise.deviation(1)) ** (2 / 3)
    return int(min(max(best, FEWEST_BINS), MOST_BINS))
