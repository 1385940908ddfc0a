"""A plan column by column, in the units of a schema.

Columns are taken to be unrelated, numbers to spread evenly over their declared range, and
the levels of a category to be equally frequent. Every column explains an equal part of
what all explain together: that makes its typical effect.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from scipy.special import ndtri

from confide.data import INTERCEPT_HEIGHT, Column, Schema
from confide.errors import InvalidParameter, UnmetNeeds
from confide.planning.plan import MOST_ROWS, Plan
from confide.privacy import Approx, Budget, Pure, Zcdp

MOSTLY_NOISE = 0.8
"""From this ratio of error to effect on, a model says more about its noise."""
USEFUL_RATIO = 0.5
"""The ratio at which the advice aims."""
LARGEST_EPSILON = 1000.0


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """What to expect of one column: its typical effect, the error, an interval's width.

    A released interval is wider than ``wide`` in one of four fits.

    All per unit of the column and in units of the target (for classifiers: of log-odds).
    """

    column: str
    per: str
    typical: float
    error: float
    width: float
    wide: float = math.nan

    @property
    def ratio(self) -> float:
        """The error as a multiple of the typical effect."""
        return self.error / self.typical


def plan_columns(plan: Plan, schema: Schema) -> tuple[ColumnPlan, ...]:
    """Return what a plan for a schema means for each of its columns."""
    starts = np.cumsum([0, *(len(column.features) for column in schema.columns)])
    weights = [float(schema.weights[start]) for start in starts[:-1]]
    share = plan.typical_coefficient / math.sqrt(len(schema.columns))
    columns = [
        _column(plan, column, weight, share)
        for column, weight in zip(schema.columns, weights, strict=True)
    ]
    if plan.intervals is None:
        return tuple(columns)
    widths = _released_widths(plan, schema)
    return tuple(
        replace(column, width=width, wide=wide)
        for column, (width, wide) in zip(columns, widths, strict=True)
    )


def _released_widths(plan: Plan, schema: Schema) -> list[tuple[float, float]]:
    """Return how wide the interval of every column will be, as a rule and at times."""
    means, spreads = zip(*(column.moments() for column in schema.columns), strict=True)
    mean = np.append(schema.weights * np.concatenate(means), INTERCEPT_HEIGHT)
    second = np.outer(mean, mean)
    covariance = schema.weights[:, None] * block_diag(*spreads) * schema.weights
    second[:-1, :-1] += covariance
    lines = schema.display_map()
    factors = np.full(len(mean), plan.target_unit)
    factors[-1] *= INTERCEPT_HEIGHT
    unidentified = schema.unidentified_directions(INTERCEPT_HEIGHT)
    median, wide = plan.released_widths(second, lines.matrix * factors, unidentified)
    places = {name: k for k, name in enumerate(lines.names)}
    found = []
    for column in schema.columns:
        own = [places[name] for name in column.features]
        both = (math.sqrt(float(np.mean(w[own] ** 2))) for w in (median, wide))
        found.append((next(both), next(both)))
    return found


def noise_ratio(columns: tuple[ColumnPlan, ...]) -> float:
    """Return how far errors stray the prediction, as a multiple of what it explains."""
    return math.sqrt(float(np.mean([column.ratio**2 for column in columns])))


def rows_to_be_useful(
    rows: int, schema: Schema, replan: Callable[[int], Plan]
) -> int | None:
    """Return about how many more rows bring the error to half of a typical effect."""

    def ratio(count: float) -> float:
        return noise_ratio(plan_columns(replan(round(count)), schema))

    found = _first(ratio, float(rows), MOST_ROWS / 1e3)
    return None if found is None else round(float(f"{found:.2g}"))


def budget_to_be_useful(
    budget: Budget, schema: Schema, replan: Callable[[Budget], Plan]
) -> Budget | None:
    """Return about which larger budget does so on the planned rows; None if none does."""

    def grown(epsilon: float) -> Budget:
        short = f"{epsilon:.2g}"
        match budget:
            case Approx():
                return Approx(short, budget.delta)
            case Zcdp():
                return Zcdp(short)
            case _:
                return Pure(short)

    def ratio(epsilon: float) -> float:
        try:
            return noise_ratio(plan_columns(replan(grown(epsilon)), schema))
        except (InvalidParameter, UnmetNeeds):
            return math.inf

    start = float(budget.rho if isinstance(budget, Zcdp) else budget.epsilon)
    found = _first(ratio, start, LARGEST_EPSILON)
    return None if found is None else grown(found)


def _first(ratio: Callable[[float], float], low: float, most: float) -> float | None:
    """Return about the smallest size at which the ratio is useful."""
    high = low
    while ratio(high) > USEFUL_RATIO:
        low, high = high, 2 * high
        if high > most:
            return None
    while high / low > 1.05:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if ratio(middle) <= USEFUL_RATIO else (middle, high)
    return high


def _column(plan: Plan, column: Column, weight: float, share: float) -> ColumnPlan:
    """Scale one coefficient of the design matrix to the unit of its column."""
    spread, contrast = column.spread()
    stiff = plan.rows * plan.curvature * (weight * spread) ** 2 + plan.ridge
    on_term, on_coefficients = plan.noise_variances
    pulled = on_term + plan.rows * plan.scatter * (weight * spread) ** 2
    variance = contrast * (pulled / stiff**2 + on_coefficients)
    factor = weight * float(column.units()[0][0])
    deviation = plan.class_share * plan.target_unit * math.sqrt(variance) * factor
    typical = share / (weight * spread * math.sqrt(len(column.features))) * factor
    lost = typical * plan.ridge / stiff
    width = 2 * float(ndtri((1 + plan.level) / 2)) * deviation
    error = math.hypot(deviation, lost)
    return ColumnPlan(column.name, column.per, typical, error, width)
