"""Buy the ranges of a table's columns once, for all later fits."""

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from confide._types import Array
from confide.accounting import Event, group_events
from confide.data import Schema, read_table
from confide.data.matrix.sums import MAX_ROWS
from confide.data.schema.sections import NOT_BOOKED, Purchase
from confide.errors import InvalidData, InvalidParameter
from confide.estimators._model_file import kept_text
from confide.estimators._prepare import dataset_name
from confide.estimators._readings import CountCells, count_in_parts, parted_table
from confide.estimators._spec import LedgerSetting, NeighbourSetting
from confide.estimators._summary import hidden_ranges, show_end
from confide.ledger import Ledger
from confide.mechanisms.ranges.mechanism import (
    RangeQuery,
    Ranges,
    buy,
    range_noise,
)
from confide.mechanisms.release import RangeRelease
from confide.noise import Entropy, RandomState
from confide.privacy import (
    Budget,
    Guarantee,
    Neighbours,
    Status,
    check_budget,
    row_budget,
    warn_of_budget,
)

RANGES_FORMAT = "confide-ranges"
"""What a ledger keeps of a purchase of ranges."""
THEOREM = "private-ranges.md#counts-exact"
WHOLE = Fraction(1)
"""The share of the budget that ranges have where they are bought by themselves."""
FOR_INTERVALS, FOR_PREDICTIONS = "plain intervals", "predictions"


@dataclass(frozen=True, slots=True)
class BoughtRanges:
    """Ranges with their guarantee, and a schema that later fits use for free."""

    schema: Schema
    release: RangeRelease
    guarantee: Guarantee
    events: tuple[Event, ...]

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """Every column whose range was bought, with both ends for readers."""
        ends = self.schema.bought[-1].facts
        return [(name, show_end(low), show_end(high)) for name, (low, high) in ends.items()]

    @property
    def caution(self) -> str:
        """Which columns noise hides; empty where it hides none."""
        return hidden_ranges(self.release.hidden)


def buy_ranges(
    table: Any,
    schema: Schema,
    budget: Budget | None,
    *,
    neighbours: NeighbourSetting = None,
    tail: float | None = None,
    intervals: bool = False,
    ledger: LedgerSetting = None,
    random_state: RandomState = None,
) -> BoughtRanges:
    """Release a range for every number column, and for a target that is a number.

    Columns whose schema says ``range = "public"`` keep their limits. A later fit with the
    schema that comes back takes its ranges as they are, and its guarantee says where they
    come from.

    Parameters
    ----------
    table : table, path or Dask collection
        What a fit takes.
    budget : Pure, Approx or Zcdp
        What the ranges may cost.
    neighbours : "add-remove", "replace-one" or None
        The relation to protect; None is add-remove.
    tail : float or None
        The share of values that may lie below a range, and above it; None is what fits
        take: a hundredth, and with ``intervals`` a twentieth for columns.
    intervals : bool
        Whether the ranges are for fits with plain intervals. Such fits buy narrower ranges
        for themselves, and none that hold little but one value.
    ledger : Ledger, path or None
        The book to charge, under the name of the schema.
    """
    price = check_budget(budget)
    relation = Neighbours.of(Neighbours.ADD_REMOVE if neighbours is None else neighbours)
    queries = queries_of(schema, tail, intervals=intervals)
    if not queries:
        raise InvalidParameter(
            "schema",
            "with a column whose range may be bought",
            "one without: there are no numbers, or their ranges are public or bought",
        )
    name = schema.name if ledger is None else dataset_name(schema, ledger)
    each = row_budget(price, schema.rows_per_person)
    noise, event = range_noise(each, len(queries), relation)
    events = group_events((event,), schema.rows_per_person)
    guarantee = Guarantee(price, relation, Status.PROVED, THEOREM)
    guarantee = guarantee.of_persons(schema.rows_per_person)
    counts, rows = _count(table, CountCells(schema, queries))
    refuse_many(rows)
    warn_of_budget(price, schema.rows, callers=2)
    entropy = Entropy.of(random_state)
    entry = NOT_BOOKED
    if ledger is not None:
        book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        charge = book.charge(
            name,
            price,
            events,
            neighbours=relation,
            what="ranges",
            private=entropy.secret,
        )
        entry = str(charge.number)
    release = buy(queries, counts, noise, entropy, WHOLE)
    narrowed = schema.with_ranges(release.ranges)
    parts: dict[str, Any] = dict(narrowed.parts)
    bought = Purchase(
        "ranges",
        name,
        {
            query.name: (parts[query.name].lower, parts[query.name].upper)
            for query in queries
        },
        str(price) if entropy.secret else f"{price}, NOT PRIVATE, a seed was used",
        str(relation),
        datetime.now(UTC).date().isoformat(),
        entry,
        FOR_INTERVALS if intervals else FOR_PREDICTIONS,
    )
    found = replace(narrowed, bought=(*schema.bought, bought))
    stated = guarantee if entropy.secret else guarantee.seeded()
    if ledger is not None:
        content = kept_text({"format": RANGES_FORMAT, "schema": found.to_toml()})
        book.enter(charge, ranges_hash(release), content)
    return BoughtRanges(found, release, stated, events)


def ranges_hash(release: RangeRelease) -> str:
    """Return the SHA-256 of bought ranges, in hexadecimal."""
    ends = {name: list(pair) for name, pair in sorted(release.ranges.items())}
    return hashlib.sha256(json.dumps(ends).encode("ascii")).hexdigest()


def refuse_many(rows: int) -> None:
    """Refuse tables of more rows than the theorem is about, as fits do, before paying."""
    if rows > MAX_ROWS:
        raise InvalidData(
            f"ranges are bought for tables of at most {MAX_ROWS:,} rows: larger counts are "
            "not exact. Buy them from a part of the rows. Nothing was spent."
        )


def queries_of(
    schema: Schema, tail: float | None, *, intervals: bool = False
) -> tuple[RangeQuery, ...]:
    """Return what may be bought of the columns and the target of a schema."""
    settings = Ranges(WHOLE, tail)
    own, other = (settings.tail_for(inference=which) for which in (intervals, False))
    parts: list[tuple[Any, float, bool]] = [
        *((column, own, not intervals) for column in schema.predictors),
        (schema.target, other, True),
    ]
    return tuple(
        RangeQuery(part.name, part.grid, share, share, part.has_limits, allows_step)
        for part, share, allows_step in parts
        if part.grid is not None and part.range != "public"
    )


def _count(X: Any, cells: CountCells) -> tuple[list[Array], int]:
    """Return the counts of values, and how many rows the table has."""
    table = parted_table(X, None)
    if table is not None:
        return count_in_parts(table, cells, beside=False)
    whole = read_table(X, cells.schema)
    return list(cells(cells.schema.kept(whole), None)), len(whole)
