"""How a dataset stands: its limit, the relation that it is for, and what is spent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confide.ledger.amounts import Amount, read_amount, read_budget
from confide.ledger.entries import Entry, read_relation, readable
from confide.ledger.neighbour_cost import cost
from confide.ledger.storage.base import Run
from confide.privacy import Budget, Neighbours

FIRST, LATEST = "ORDER BY number ASC", "ORDER BY number DESC"


@dataclass(frozen=True, slots=True)
class Balance:
    """The limit in force and the running total, both for one relation.

    ``neighbours`` is the limit's relation or, where it names none, the first charge's. It
    is None before that charge, and where that charge does not record one. ``spent`` is
    None before the first charge.
    """

    limit: Budget | None = None
    neighbours: Neighbours | None = None
    spent: Amount | None = None

    @property
    def is_open(self) -> bool:
        """Whether the first charge is still to decide the relation."""
        return self.neighbours is None and self.spent is None

    def relation_with(self, proved_for: Neighbours | None) -> Neighbours | None:
        """Return the relation of the total once a charge is added."""
        return proved_for if self.is_open else self.neighbours

    def admits(self, proved_for: Neighbours | None) -> bool:
        """Say whether a charge can be added: what speaks of the relation of the total.

        Beside charges that record no relation, none that does has a place.
        """
        relation = self.relation_with(proved_for)
        return relation is proved_for or relation is Neighbours.REPLACE_ONE


def standing(run: Run, dataset: str) -> Balance:
    """Return how a dataset stands, by a few look-ups in the index.

    The total is the latest that was written, by a charge or by a limit that counted anew;
    limits that came after it and counted nothing leave it as it is.
    """
    limit = _one(run, dataset, "limit", "budget, neighbours", LATEST)
    if limit is None:
        return Balance()
    number, budget, relation = limit
    charge = _one(run, dataset, "charge", "spent", LATEST)
    anew = _one(run, dataset, "limit", "spent", f"AND spent IS NOT NULL {LATEST}")
    if relation is None and charge is not None:
        first = _one(run, dataset, "charge", "neighbours", FIRST)
        relation = None if first is None else first[1]
    totals = [found for found in (charge, anew) if found is not None]
    return Balance(
        readable(read_budget, number, budget),
        readable(read_relation, number, relation),
        readable(read_amount, *max(totals)) if totals else None,
    )


def _one(run: Run, dataset: str, kind: str, columns: str, which: str) -> Any:
    found = run(
        f"SELECT number, {columns} FROM confide_entries "  # noqa: S608 - values are bound
        f"WHERE dataset = ? AND kind = ? {which} LIMIT 1",
        (dataset, kind),
    )
    return found[0] if found else None


def recompute_total(
    history: Sequence[Entry],
    limit: Budget,
    neighbours: Neighbours | None,
    earlier: Neighbours | None,
) -> Amount | None:
    """Return what all charges of a dataset count under a relation; None if one has no say.

    ``earlier`` is the relation of the charges that record none, as far as it is known.
    """
    total = Amount.nothing(type(limit))
    for entry, proved_for in _charges(history, earlier):
        if entry.budget is None:
            return None
        counted = cost(entry.budget, entry.events, proved_for, limit, neighbours)
        if counted is None:
            return None
        total += counted
    return total


def _charges(
    history: Sequence[Entry], earlier: Neighbours | None
) -> Iterator[tuple[Entry, Neighbours | None]]:
    """Give the charges, newest first, each with its relation by the latest word on it."""
    newest_first: Iterable[Entry] = reversed(history)
    for entry in newest_first:
        if entry.kind == "limit" and earlier is None:
            earlier = entry.earlier
        if entry.kind == "charge":
            yield entry, entry.neighbours or earlier
