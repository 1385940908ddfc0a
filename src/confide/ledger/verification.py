"""Whether a book fits together, from its first entry to its last."""

from fractions import Fraction

from confide.errors import TamperedLedger
from confide.ledger.amounts import Amount
from confide.ledger.balance import Balance, recompute_total
from confide.ledger.entries import BEGINNING, Entry, digest_of, read_entry
from confide.ledger.storage.base import Row

ROUNDING = Fraction(1, 10**6)
"""How far another machine's doubles may lead when charges are counted anew."""


class ChainVerifier:
    """Reads a book from its beginning and stops at the first entry that does not fit."""

    def __init__(self) -> None:
        self.number, self.digest = 0, BEGINNING
        self.standings: dict[str, Balance] = {}
        self.unreleased: dict[int, str] = {}
        self._history: dict[str, list[Entry]] = {}

    def take(self, row: Row) -> None:
        """Check the next row of the book."""
        self.number += 1
        if row[0] != self.number:
            raise self._wrong("is missing")
        if row[-1] != digest_of(self.digest, row[:-1]):
            raise self._wrong("was changed")
        entry, self.digest = read_entry(row), row[-1]
        before = self.standings.get(entry.dataset, Balance())
        match entry.kind:
            case "limit":
                self.standings[entry.dataset] = self._after_limit(entry, before)
            case "charge":
                self.standings[entry.dataset] = self._after_charge(entry, before)
            case "release":
                if self.unreleased.pop(entry.charge or 0, None) != entry.dataset:
                    raise self._wrong("is a release without its charge")
        self._history.setdefault(entry.dataset, []).append(entry)

    def _after_limit(self, entry: Entry, before: Balance) -> Balance:
        limit, spent = entry.budget, before.spent
        if limit is None:
            raise self._wrong("sets no limit")
        moved = entry.neighbours is not before.neighbours or entry.earlier is not None
        if (spent is not None and moved) != (entry.spent is not None):
            raise self._wrong("does not count earlier charges as its neighbours ask")
        if entry.spent is not None:
            history = self._history[entry.dataset]
            least = recompute_total(history, limit, entry.neighbours, entry.earlier)
            if entry.neighbours is None or least is None:
                raise self._wrong("is for neighbours of which earlier charges do not speak")
            if not least.scaled(1 - ROUNDING).within(entry.spent):
                raise self._wrong("counts earlier charges for less than they cost")
            spent = entry.spent
        if spent is not None and not spent.within(Amount.of(limit)):
            raise self._wrong("sets a limit below what was spent")
        return Balance(limit, entry.neighbours, spent)

    def _after_charge(self, entry: Entry, before: Balance) -> Balance:
        if before.limit is None or entry.counted is None:
            raise self._wrong("is a charge without a limit")
        if not before.admits(entry.neighbours):
            raise self._wrong("is for neighbours of which the limit does not speak")
        total = (before.spent or Amount.nothing(type(before.limit))) + entry.counted
        if entry.spent != total:
            raise self._wrong("has a wrong running total")
        if not total.within(Amount.of(before.limit)):
            raise self._wrong("goes over the limit")
        self.unreleased[entry.number] = entry.dataset
        return Balance(before.limit, before.relation_with(entry.neighbours), total)

    def _wrong(self, what: str) -> TamperedLedger:
        return TamperedLedger(
            f"entry {self.number} {what}: somebody changed this ledger. Go back to a copy "
            "that you trust, and add what was spent since."
        )
