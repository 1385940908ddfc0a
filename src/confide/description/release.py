"""Private description of a table: checks, calibration, counting, charging and release."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import numpy as np

from confide._types import Array
from confide.accounting import Event, group_events
from confide.data import Schema
from confide.data.matrix.sums import MAX_ROWS
from confide.data.schema.sections import NOT_BOOKED, Purchase
from confide.description.budget import (
    PAIR_BINS,
    CountPrice,
    bin_count,
    price_of,
    range_share,
)
from confide.description.cells import (
    NumberCells,
    Table,
    chosen_pairs,
    is_number,
    level_cells,
    number_cells,
)
from confide.description.counts import Counted, TableRows
from confide.description.estimates import (
    Basis,
    LevelFigures,
    NumberFigures,
    level_figures,
    number_figures,
    pair_figures,
    row_count,
)
from confide.description.facts import with_typical_facts
from confide.description.intervals import IntervalEstimate, Spread
from confide.description.value import Description
from confide.errors import InvalidParameter
from confide.estimators._model_file import kept_text
from confide.estimators._prepare import dataset_name
from confide.estimators._spec import LedgerSetting, NeighbourSetting
from confide.estimators._validate import refuse_empty
from confide.estimators.ranges import queries_of
from confide.ledger import Ledger
from confide.mechanisms.base import publish
from confide.mechanisms.ranges.mechanism import buy
from confide.mechanisms.ranges.read_range import USUAL_TAIL, RangeQuery
from confide.mechanisms.release import NoiseRecord
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

FORMAT = "confide-description"
THEOREM = "description.md#description-exact"
MOST_CELLS = 100_000
RangeUse = Literal["private", "public"]


@dataclass(frozen=True, slots=True)
class DescriptionPlan:
    """Plan of a description from public information: the counts to release and their cost.

    ``schema`` is the declared schema, ``pairs`` are the pairs of columns to cross-tabulate,
    and ``queries`` are the queries for ranges.
    """

    schema: Schema
    pairs: tuple[Any, ...]
    queries: tuple[RangeQuery, ...]
    neighbours: Neighbours
    price: CountPrice
    guarantee: Guarantee
    events: tuple[Event, ...]
    share: Any

    @property
    def parts(self) -> tuple[Any, ...]:
        """All columns, and the target."""
        return (*self.schema.columns, self.schema.target)

    def tables(self, schema: Schema, rows: int | None) -> tuple[Table, ...]:
        """Return the layouts of the tables, with bins that cover the ranges in a schema."""
        about = self.schema.rows if rows is None else rows
        bins = bin_count(self.price.tables, about)
        singles = (self._cells(schema, part, bins) for part in self.parts)
        pairs = (
            Table(tuple(self._cells(schema, part, PAIR_BINS).parts[0] for part in pair))
            for pair in self.pairs
        )
        return (*singles, *pairs)

    def count(self, rows: TableRows) -> Counted:
        """Count the rows in one pass, and reject tables of unsuitable size.

        If the number of rows is public, an empty table is rejected.
        """
        known = rows.known if self.count_is_public else None
        found = rows.count(self.queries, self.tables(self.schema, known))
        if self.count_is_public:
            refuse_empty(found.rows)
        return found

    @property
    def count_is_public(self) -> bool:
        """Whether the number of rows is public under the neighbour relation."""
        return self.neighbours is Neighbours.REPLACE_ONE

    def release(
        self, rows: TableRows, counted: Counted, entropy: Entropy, level: float
    ) -> Description:
        """Estimate ranges, count again with bins inside them, and release all counts."""
        public = counted.rows if self.count_is_public else None
        schema, bought, tables = self.schema, None, counted.cells
        if self.queries:
            noise = self.price.ranges
            bought = buy(self.queries, counted.grids, noise, entropy, self.share)
            schema = schema.with_ranges(bought.ranges)
            tables = self.tables(schema, public)
        private = _counts_of(rows, counted, tables)
        noisy = _published(private, self.price, entropy)
        found = _figures(self, tables, noisy, level, public)
        return replace(
            found,
            schema=schema,
            guarantee=self.guarantee if entropy.secret else self.guarantee.seeded(),
            ranges=() if bought is None else tuple(bought.ranges),
            hidden=() if bought is None else bought.hidden,
        )

    def _cells(self, schema: Schema, part: Any, bins: int) -> Table:
        if not is_number(part):
            return Table((level_cells(part),))
        return Table((number_cells(schema.parts[part.name], part, bins),))


def describe(
    table: Any,
    schema: Schema,
    budget: Budget | None,
    *,
    pairs: Sequence[Sequence[str]] = (),
    ranges: RangeUse = "private",
    neighbours: NeighbourSetting = None,
    level: float = 0.95,
    ledger: LedgerSetting = None,
    random_state: RandomState = None,
) -> Description:
    """Release descriptive statistics of every column under differential privacy.

    Parameters
    ----------
    table : table, path or Dask collection
        Private rows, as for a fit. All rows are described, including those without a
        target.
    schema : Schema
        The columns to describe, and the target.
    budget : Pure, Approx or Zcdp
        Budget of the whole description.
    pairs : list of pairs of names, optional
        Pairs of columns to cross-tabulate, such as [("age", "region")].
    ranges : {"private", "public"}, default="private"
        "private" first estimates the ranges of numeric columns, except for ranges that the
        schema declares to be public. "public" uses the limits of the schema unchanged.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation to protect; by default "add-remove".
    level : float, default=0.95
        Confidence level of each interval.
    ledger : Ledger, str or Path, optional
        Ledger to charge, with the name of the schema as the dataset.
    random_state : int or generator, optional
        A seed makes the release repeatable and NOT private.

    Returns
    -------
    Description
        Estimates with intervals, and a schema with ranges that later fits can use at no
        further cost.

    Raises
    ------
    InvalidParameter
        A setting is not valid, or ``ranges`` is "public" and a column has no limits.

    Examples
    --------
    One in five of 4,000 people smokes. The private estimate is close to this share:

    >>> import numpy as np, pandas as pd
    >>> from confide import Boolean, Pure, Schema, Target, describe
    >>> table = pd.DataFrame({"smoker": np.arange(4000) % 5 == 0, "ill": "no"})
    >>> schema = Schema((Boolean("smoker"),), Target("ill", labels=("no", "yes")))
    >>> found = describe(table, schema, Pure(1), random_state=0).to_frame()
    >>> shares = found[(found["column"] == "smoker") & (found["statistic"] == "share")]
    >>> shares["estimate"].round(1).tolist()[:2]
    [0.8, 0.2]
    """
    if not isinstance(level, float) or not 0.5 <= level < 1:
        raise InvalidParameter("level", "at least 0.5 and below 1, such as 0.95", level)
    plan = plan_description(schema, budget, pairs, ranges, neighbours)
    name = schema.name if ledger is None else dataset_name(schema, ledger)
    rows = TableRows.of(table, schema)
    counted = plan.count(rows)
    rows_known = counted.rows if plan.count_is_public else schema.rows
    warn_of_budget(check_budget(budget), rows_known, callers=2)
    entropy = Entropy.of(random_state)
    entry, charge = NOT_BOOKED, None
    if ledger is not None:
        book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        charge = book.charge(
            name,
            plan.guarantee.budget,  # type: ignore[arg-type]
            plan.events,
            neighbours=plan.neighbours,
            what="description",
            private=entropy.secret,
        )
        entry = str(charge.number)
    found = plan.release(rows, counted, entropy, level)
    found = replace(found, schema=_with_purchases(found, name, entry))
    if charge is not None:
        record = {"format": FORMAT, **found.record(), "schema": found.schema.to_toml()}
        book.enter(charge, description_hash(found), kept_text(record))
    return found


def plan_description(
    schema: Schema,
    budget: Budget | None,
    pairs: Sequence[Sequence[str]] = (),
    ranges: RangeUse = "private",
    neighbours: NeighbourSetting = None,
) -> DescriptionPlan:
    """Check the settings and calibrate the noise, without reading data."""
    price = check_budget(budget)
    if not isinstance(schema, Schema):
        raise InvalidParameter("schema", "a Schema", type(schema).__name__)
    if ranges not in get_args(RangeUse):
        raise InvalidParameter("ranges", "'private' or 'public'", ranges)
    relation = Neighbours.of(Neighbours.ADD_REMOVE if neighbours is None else neighbours)
    together = chosen_pairs(schema, pairs)
    queries = queries_of(schema, USUAL_TAIL) if ranges == "private" else ()
    sought = {query.name for query in queries}
    parts: list[Any] = [*schema.columns, schema.target]
    endless = [
        part.name
        for part in parts
        if is_number(part)
        and part.name not in sought
        and not getattr(part, "has_limits", True)
    ]
    if endless:
        raise InvalidParameter(
            "ranges", f"'private' for columns without limits: {endless}", ranges
        )
    tables = len(parts) + len(together)
    each = row_budget(price, schema.rows_per_person)
    calibrated = price_of(each, tables, len(queries), relation)
    guarantee = Guarantee(price, relation, Status.PROVED, THEOREM)
    plan = DescriptionPlan(
        schema,
        together,
        queries,
        relation,
        calibrated,
        guarantee.of_persons(schema.rows_per_person),
        group_events((calibrated.event,), schema.rows_per_person),
        range_share(tables, len(queries), price),
    )
    for line in schema.assumptions:
        plan = replace(plan, guarantee=plan.guarantee.assuming(line))
    large = [table for table in plan.tables(schema, MAX_ROWS) if table.size > MOST_CELLS]
    if large:
        must = f"pairs of columns whose cross-tabulation has at most {MOST_CELLS:,} cells"
        raise InvalidParameter("pairs", must, list(large[0].names))
    return plan


def _counts_of(rows: TableRows, counted: Counted, tables: tuple[Table, ...]) -> list[Array]:
    """Return the counts of all tables, counting again for tables with new bins."""
    moved = [
        place
        for place, (before, after) in enumerate(zip(counted.cells, tables, strict=True))
        if any(isinstance(cells, NumberCells) for cells in after.parts)
        and not _same_bins(before, after)
    ]
    found = list(counted.tables)
    if moved:
        again = rows.count((), tuple(tables[place] for place in moved))
        for place, counts in zip(moved, again.tables, strict=True):
            found[place] = counts
    return found


def _same_bins(before: Table, after: Table) -> bool:
    return all(
        not isinstance(one, NumberCells)
        or (isinstance(other, NumberCells) and np.array_equal(one.edges, other.edges))
        for one, other in zip(before.parts, after.parts, strict=True)
    )


def _published(counts: list[Array], price: CountPrice, entropy: Entropy) -> list[Array]:
    """Add noise to all counts as one vector, and round the results exactly."""
    ends = np.cumsum([len(one) for one in counts])
    noisy = publish(np.concatenate(counts), price.tables, entropy, MAX_ROWS)
    return np.split(noisy, ends[:-1])


def _figures(
    plan: DescriptionPlan,
    tables: tuple[Table, ...],
    noisy: list[Array],
    level: float,
    public: int | None,
) -> Description:
    """Compute the estimates from the noisy counts, as post-processing."""
    spread = Spread(plan.price.tables, level, plan.price.pure)
    rows = row_count(tables, noisy, spread, public)
    figures: list[LevelFigures | NumberFigures] = []
    pairs = []
    for table, counts, part in zip(tables, noisy, rows.part, strict=True):
        first, basis = table.parts[0], Basis(rows, part, spread)
        if len(table.parts) == 2:
            pairs.append(pair_figures(table, counts, basis))
        elif isinstance(first, NumberCells):
            figures.append(number_figures(first, counts, basis))
        else:
            figures.append(level_figures(first, counts, basis))
    noise = plan.price.tables
    return Description(
        plan.schema,
        plan.guarantee,
        plan.events,
        NoiseRecord(noise.kind, noise.scale, "counts"),
        level,
        IntervalEstimate.around(rows.value, spread.reach(rows.variance), 0.0),
        tuple(figures),
        tuple(pairs),
    )


def _with_purchases(found: Description, name: str, entry: str) -> Schema:
    """Return the schema with the estimated facts and a record of their privacy cost."""
    narrow, promise = found.schema, found.guarantee
    price = str(promise.budget)
    price = price if promise.private else f"{price} (NOT PRIVATE: a seed was used)"
    terms = (price, str(promise.neighbours), datetime.now(UTC).date().isoformat(), entry)
    purchases, parts = list(narrow.bought), dict[str, Any](narrow.parts)
    if found.ranges:
        ends = {one: (parts[one].lower, parts[one].upper) for one in found.ranges}
        purchases.append(Purchase("ranges", name, ends, *terms))
    known, facts = with_typical_facts(narrow, found)
    purchases.append(Purchase("description", name, facts, *terms))
    return replace(known, bought=tuple(purchases))


def description_hash(found: Description) -> str:
    """Return the SHA-256 hash of the estimates of a description, in hexadecimal."""
    lines = [
        (line.column, line.statistic, line.of, repr(line.estimate.value))
        for line in found.lines()
    ]
    return hashlib.sha256(json.dumps(lines).encode("ascii")).hexdigest()
