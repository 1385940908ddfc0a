"""Expected accuracy of privately estimated ranges, before any budget is spent."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.errors import Described, InvalidParameter
from confide.estimators.ranges import THEOREM, queries_of
from confide.mechanisms.ranges.mechanism import range_noise
from confide.mechanisms.ranges.read_range import RangeQuery
from confide.noise import Entropy, generator
from confide.planning.shapes import Shapes, real_shapes
from confide.planning.supposition import SupposedColumn, reach_of, supposed_range
from confide.privacy import Budget, Guarantee, Neighbours, Status, check_budget, row_budget

DRAWS = 50
GOOD_LENGTH = 2.0
MOST_CUT = 0.05
"""Largest acceptable share of values that a range cuts off in addition to the tails."""


@dataclass(frozen=True, slots=True)
class RangeLine:
    """Expected accuracy of the privately estimated range of one column.

    Parameters
    ----------
    name : str
        Name of the column.
    found : float
        Share of the simulated tables for which an acceptable range is found. Such a range
        is at most twice as long as the distance between the two tail quantiles, and in
        addition to the tails it cuts off at most 5 % of the values.
    length : float
        Median length of the estimated range, as a multiple of the distance between the two
        tail quantiles.
    declared : float
        Length of the declared range, as a multiple of the same distance.
    cut : float
        Mean share of values that the range cuts off in addition to the tails.

    Examples
    --------
    >>> from confide import Number, Pure, Schema, Target
    >>> from confide.planning import plan_ranges
    >>> schema = Schema((Number("income"),), Target("ill", labels=("no", "yes")))
    >>> plan_ranges(schema, rows=20_000, budget=Pure(1)).lines[0].name
    'income'
    """

    name: str
    found: float
    length: float
    declared: float
    cut: float


@dataclass(frozen=True, slots=True)
class RangePlan:
    """Guarantee, noise and expected accuracy of privately estimated ranges.

    Use `plan_ranges` to create a plan.

    Parameters
    ----------
    guarantee : Guarantee
        Guarantee of the estimated ranges.
    rows : int
        Planned number of rows.
    noise_kind : str
        Name of the noise distribution of the counts.
    noise : float
        Standard deviation of the noise on each count of rows.
    lines : tuple of RangeLine
        Expected accuracy of each range.

    Examples
    --------
    >>> from confide import Number, Pure, Schema, Target
    >>> from confide.planning import plan_ranges
    >>> schema = Schema((Number("income"),), Target("ill", labels=("no", "yes")))
    >>> print(plan_ranges(schema, rows=20_000, budget=Pure(1)).guarantee.budget)
    ε = 1
    """

    guarantee: Guarantee
    rows: int
    noise_kind: str
    noise: float
    lines: tuple[RangeLine, ...]


def plan_ranges(
    schema: Schema,
    rows: int,
    budget: Budget,
    *,
    neighbours: Neighbours | str | None = None,
    tail: float | None = None,
    intervals: bool = False,
    draws: int = DRAWS,
    shapes: Shapes | None = None,
) -> RangePlan:
    """Predict the accuracy of `buy_ranges` without reading data or spending budget.

    Parameters
    ----------
    schema : Schema
        Public description of the table.
    rows : int
        Planned number of rows.
    budget : Pure, Approx or Zcdp
        Budget for the ranges.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation to protect; by default "add-remove".
    tail : float, optional
        Largest share of values beyond each end of a range, as in `buy_ranges`.
    intervals : bool, default=False
        Whether the ranges will be used for fits with intervals.
    draws : int, default=50
        Number of simulated tables.
    shapes : Shapes, optional
        Distributions used to simulate columns; by default those of real public tables.

    Returns
    -------
    RangePlan
        The plan, with the expected accuracy of each range.

    Raises
    ------
    InvalidParameter
        The schema has no column whose range can be estimated.

    Examples
    --------
    With 20,000 rows the range of an income is likely to be found:

    >>> from confide import Number, Pure, Schema, Target
    >>> from confide.planning import plan_ranges
    >>> schema = Schema((Number("income"),), Target("ill", labels=("no", "yes")))
    >>> plan_ranges(schema, rows=20_000, budget=Pure(1)).lines[0].found > 0.5
    True
    """
    price, library = check_budget(budget), shapes or real_shapes()
    relation = Neighbours.of(Neighbours.ADD_REMOVE if neighbours is None else neighbours)
    queries = queries_of(schema, tail, intervals=intervals)
    if not queries:
        must = "a schema with a numeric column whose range can be estimated"
        raise InvalidParameter("schema", must, Described("a schema without one"))
    each = row_budget(price, schema.rows_per_person)
    noise, _ = range_noise(each, len(queries), relation)
    parts: Any = schema.parts
    lines = []
    for place, query in enumerate(queries):
        part = parts[query.name]
        found = []
        for k in range(draws):
            draw, entropy = generator(1000 * place + k), Entropy.seeded(1000 * place + k)
            values = _values(part, library, draw)
            ends = supposed_range(query, values, rows, noise, entropy)
            found.append(_judge(query, values, ends, reach_of(part)))
        lines.append(_line(query.name, np.array(found)))
    guarantee = Guarantee(price, relation, Status.PROVED, THEOREM)
    guarantee = guarantee.of_persons(schema.rows_per_person)
    deviation = noise.deviation(1)
    return RangePlan(guarantee, rows, noise.kind, deviation, tuple(lines))


def _values(part: Any, shapes: Shapes, draw: Any) -> Array:
    if hasattr(part, "features"):
        return SupposedColumn.of(part, shapes, draw).values
    return shapes.number(reach_of(part), part.typical, draw)


def _judge(
    query: RangeQuery, values: Array, ends: tuple[float, float], reach: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the lengths of the estimated and declared ranges, and the share cut off.

    Lengths are relative to the distance between the tail quantiles. The share counts
    only the values that are cut off in addition to the tails.
    """
    tails = [query.lower_tail, 1 - query.upper_tail]
    low, high = np.quantile(values, tails)
    needed = max(high - low, 1e-300)
    beyond = np.mean((values < ends[0]) | (values > ends[1]))
    cut = max(0.0, float(beyond) - query.lower_tail - query.upper_tail)
    return (ends[1] - ends[0]) / needed, (reach[1] - reach[0]) / needed, cut


def _line(name: str, found: Array) -> RangeLine:
    lengths, declared, cut = found.T
    good = (lengths <= GOOD_LENGTH) & (cut <= MOST_CUT)
    return RangeLine(
        name,
        float(np.mean(good)),
        float(np.median(lengths)),
        float(np.median(declared)),
        float(np.mean(cut)),
    )
