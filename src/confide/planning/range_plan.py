"""How well a purchase of ranges will find them, before anything is bought."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.errors import InvalidParameter
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
"""A range is found if it is at most twice as long as it must be, and cuts off little."""


@dataclass(frozen=True, slots=True)
class RangeLine:
    """What to expect of the range of one column.

    ``found`` is on which share of supposed tables the range is found: at most twice as
    long as from the lower to the upper tail, and with at most 5 % of the values beyond
    it. ``length`` is how many times as long it likely is, ``declared`` what the limits
    are; ``cut`` is the share of values beyond, more than the tails.
    """

    name: str
    found: float
    length: float
    declared: float
    cut: float


@dataclass(frozen=True, slots=True)
class RangePlan:
    """What a purchase of ranges promises, how noisy its counts are, and what it finds."""

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
    """Plan `buy_ranges`; nothing is read and nothing is spent."""
    price, library = check_budget(budget), shapes or real_shapes()
    relation = Neighbours.of(Neighbours.ADD_REMOVE if neighbours is None else neighbours)
    queries = queries_of(schema, tail, intervals=intervals)
    if not queries:
        must = "with a number column whose range may be bought"
        raise InvalidParameter("schema", must, "none such")
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
    """Return the lengths of the range and of the limits, by what is needed, and the cut."""
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
