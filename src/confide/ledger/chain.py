"""The hash chain: verification of a ledger from its beginning, or against an anchor.

An anchor is the number and the digest of an entry. The digest covers all entries up to that
entry. So an anchor that is stored elsewhere reveals whether a ledger was truncated,
restored from an older copy or rewritten.
"""

import re
from collections.abc import Sequence
from fractions import Fraction

from confide.errors import InvalidParameter, TamperedLedger
from confide.ledger.amounts import Amount
from confide.ledger.balance import (
    BEGINNING,
    Balance,
    Entry,
    digest_of,
    read_entry,
    recompute_total,
)
from confide.ledger.storage import Row

_ANCHOR = re.compile(r"([0-9]{1,9}):([0-9a-f]{16,64})")


def anchor_text(number: int, digest: str) -> str:
    """Return an anchor as text, as in 12:3f5a...

    The text contains half of the digest, which suffices to prevent forgery.
    """
    return f"{number}:{digest[:32]}"


def read_anchor(text: str) -> tuple[int, str]:
    """Parse an anchor, which must have at least the first 16 characters of a digest."""
    found = _ANCHOR.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        must = "copied from the output of a charge: a number, a colon and a digest"
        raise InvalidParameter("anchor", must, text)
    return int(found[1]), found[2]


def check_anchor(number: int, digest: str, entries: Sequence[Entry]) -> None:
    """Raise if a ledger does not contain the entry of an anchor."""
    if number == 0 and BEGINNING.startswith(digest):
        return
    if number > len(entries):
        raise TamperedLedger(
            f"this ledger ends at entry {len(entries)} but once had entry {number}: it "
            "was restored from an older copy, or its last entries were removed. What "
            "was spent in between still counts: add it before anything else is charged."
        )
    if number < 1 or not entries[number - 1].digest.startswith(digest):
        raise TamperedLedger(
            f"entry {number} of this ledger differs from the anchor: this is another "
            "ledger, or it was restored from an older copy and then continued, or "
            "somebody rewrote it."
        )


RELATIVE_TOLERANCE = Fraction(1, 10**6)
"""Relative tolerance for recomputed costs, as rounding may differ between machines."""


class ChainVerifier:
    """Entry-by-entry verification of a ledger, up to the first inconsistent entry."""

    def __init__(self) -> None:
        self.number, self.digest = 0, BEGINNING
        self.standings: dict[str, Balance] = {}
        self.unreleased: dict[int, str] = {}
        self._history: dict[str, list[Entry]] = {}

    def take(self, row: Row) -> None:
        """Check the next entry, given as a database row; raise if it is inconsistent."""
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
            raise self._wrong(
                "does not recount earlier charges under its neighbour relation"
            )
        if entry.spent is not None:
            history = self._history[entry.dataset]
            least = recompute_total(history, limit, entry.neighbours, entry.earlier)
            if entry.neighbours is None or least is None:
                raise self._wrong(
                    "has a neighbour relation under which earlier charges have no guarantee"
                )
            if not least.scaled(1 - RELATIVE_TOLERANCE).within(entry.spent):
                raise self._wrong("records less spending than the earlier charges cost")
            spent = entry.spent
        if spent is not None and not spent.within(Amount.of(limit)):
            raise self._wrong("sets a limit below what was spent")
        return Balance(limit, entry.neighbours, spent)

    def _after_charge(self, entry: Entry, before: Balance) -> Balance:
        if before.limit is None or entry.counted is None:
            raise self._wrong("is a charge without a limit")
        if not before.accepts(entry.neighbours):
            raise self._wrong("has a neighbour relation that the limit does not accept")
        total = (before.spent or Amount.nothing(type(before.limit))) + entry.counted
        if entry.spent != total:
            raise self._wrong("has a wrong running total")
        if not total.within(Amount.of(before.limit)):
            raise self._wrong("exceeds the limit")
        self.unreleased[entry.number] = entry.dataset
        return Balance(before.limit, before.relation_after(entry.neighbours), total)

    def _wrong(self, what: str) -> TamperedLedger:
        return TamperedLedger(
            f"entry {self.number} {what}: somebody changed this ledger. Restore a copy "
            "that you trust, and record in it what was spent since."
        )
