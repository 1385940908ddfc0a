"""Private estimation of the ranges of columns, once for all later fits."""

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
from confide.errors import Described, InvalidData, InvalidParameter
from confide.estimators._model_file import kept_text
from confide.estimators._prepare import dataset_name
from confide.estimators._readings import CountCells, count_in_parts, parted_table
from confide.estimators._spec import LedgerSetting, NeighbourSetting
from confide.estimators._summary import hidden_ranges, show_end
from confide.ledger import Ledger
from confide.mechanisms.ranges.mechanism import Ranges, buy, range_noise
from confide.mechanisms.ranges.read_range import RangeQuery
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
"""Name of the format in which a ledger records estimated ranges."""
THEOREM = "private-ranges.md#counts-exact"
WHOLE = Fraction(1)
"""Share of the budget that is spent on ranges if they are estimated without a fit."""
FOR_INTERVALS, FOR_PREDICTIONS = "plain intervals", "predictions"


@dataclass(frozen=True, slots=True)
class BoughtRanges:
    """Privately estimated ranges with their guarantee, and a schema for later fits.

    Parameters
    ----------
    schema : Schema
        The schema with the estimated ranges and a record of their privacy cost.
    release : RangeRelease
        The ranges, and the columns whose values are hidden by the noise.
    guarantee : Guarantee
        Privacy guarantee of the ranges.
    events : tuple of Event
        Accounting events that represent the privacy cost of the ranges.

    See Also
    --------
    buy_ranges : Estimates the ranges.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from confide import Number, Pure, Schema, Target, buy_ranges
    >>> table = pd.DataFrame({"dose": np.linspace(2, 8, 5000), "cured": [0, 1] * 2500})
    >>> schema = Schema([Number("dose", 0, 1000)], Target("cured", labels=(0, 1)))
    >>> found = buy_ranges(table, schema, Pure(1), random_state=0)
    >>> [name for name, lower, upper in found.lines], found.caution
    (['dose'], '')

    The range of one column was estimated, and no column is hidden by the noise.
    """

    schema: Schema
    release: RangeRelease
    guarantee: Guarantee
    events: tuple[Event, ...]

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """Name, lower end and upper end of every estimated range, as text."""
        ends = self.schema.bought[-1].facts
        return [(name, show_end(low), show_end(high)) for name, (low, high) in ends.items()]

    @property
    def caution(self) -> str:
        """Warning about columns whose values the noise hides; empty if there are none."""
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
    """Estimate a range privately for every numeric column, and for a numeric target.

    Columns that the schema marks ``range="public"`` keep their limits. The budget is spent
    only once: later fits with the returned schema use the ranges at no further cost, and
    the guarantees of these fits mention the budget spent on the ranges. The guarantee of
    the ranges is PROVED (docs/proofs/private-ranges.md).

    Parameters
    ----------
    table : table, path or Dask collection
        Private rows, as in a fit.
    schema : Schema
        Public description of the table. Limits in it may be far too wide, or absent.
    budget : Pure, Approx or Zcdp
        Privacy budget of the ranges. A larger budget gives narrower ranges.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation of the guarantee; by default "add-remove".
    tail : float, optional
        Share of values that may lie below a range, and the same share above it. A larger
        share gives narrower ranges, to which more values are clamped. By default 0.01, or
        0.05 for columns if ``intervals`` is True.
    intervals : bool, default=False
        Whether the ranges are for fits with intervals, which use narrower ranges.
    ledger : Ledger, str or Path, optional
        Ledger to charge; the charge is recorded under the name of the schema.
    random_state : int or generator, optional
        A seed makes the ranges repeatable and NOT private.

    Returns
    -------
    BoughtRanges
        The schema with the ranges, and their guarantee.

    Raises
    ------
    InvalidParameter
        The schema has no column whose range may be estimated.
    BudgetExceeded
        The budget left in the ledger is too small. Nothing was spent.

    Examples
    --------
    Doses lie between 2 and 8, but only a limit of 1000 is public:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from confide import Number, Pure, Schema, Target, buy_ranges
    >>> table = pd.DataFrame({"dose": np.linspace(2, 8, 5000), "cured": [0, 1] * 2500})
    >>> schema = Schema([Number("dose", 0, 1000)], Target("cured", labels=(0, 1)))
    >>> found = buy_ranges(table, schema, Pure(1), random_state=0)
    >>> found.lines
    [('dose', '2', '8')]

    Fits with ``found.schema`` scale doses by this range instead of the wide limits.
    """
    price = check_budget(budget)
    relation = Neighbours.of(Neighbours.ADD_REMOVE if neighbours is None else neighbours)
    queries = queries_of(schema, tail, intervals=intervals)
    if not queries:
        raise InvalidParameter(
            "schema",
            "one with a column whose range may be estimated privately",
            Described(
                "one without: it has no numbers, or their ranges are public or already "
                "estimated"
            ),
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
        str(price) if entropy.secret else f"{price} (NOT PRIVATE: a seed was used)",
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
    """Return the SHA-256 of estimated ranges, in hexadecimal."""
    ends = {name: list(pair) for name, pair in sorted(release.ranges.items())}
    return hashlib.sha256(json.dumps(ends).encode("ascii")).hexdigest()


def refuse_many(rows: int) -> None:
    """Raise an error if a table has more rows than the theorem covers."""
    if rows > MAX_ROWS:
        raise InvalidData(
            f"ranges can be estimated for at most {MAX_ROWS:,} rows, because larger "
            "counts are not exact. Use only part of the rows. Nothing was spent."
        )


def queries_of(
    schema: Schema, tail: float | None, *, intervals: bool = False
) -> tuple[RangeQuery, ...]:
    """Return queries for all ranges in a schema that may be estimated."""
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
    """Return the histograms of the columns, and the number of rows of the table."""
    table = parted_table(X, None)
    if table is not None:
        return count_in_parts(table, cells, beside=False)
    whole = read_table(X, cells.schema)
    return list(cells(cells.schema.kept(whole), None)), len(whole)
