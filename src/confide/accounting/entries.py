"""The lines of a ledger: how they are written, chained by digests, read and checked."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from confide.accounting.events import Event
from confide.accounting.store import Row, Run
from confide.accounting.tally import (
    Amount,
    amount_text,
    events_text,
    read_amount,
    read_budget,
    read_events,
)
from confide.errors import TamperedLedger
from confide.privacy import Budget, Status

EntryKind: TypeAlias = Literal["limit", "charge", "release"]

BEGINNING = "0" * 64
"""The digest before the first entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the book.

    ``spent`` is the running total after a charge; ``charge`` is the number of the charge
    that a release belongs to; ``digest`` covers this entry and all before it.
    """

    number: int
    kind: EntryKind
    dataset: str
    at: str
    who: str
    what: str = ""
    status: Status | None = None
    private: bool | None = None
    budget: Budget | None = None
    events: tuple[Event, ...] = ()
    counted: Amount | None = None
    spent: Amount | None = None
    charge: int | None = None
    release_hash: str | None = None
    digest: str = ""


def standing(run: Run, dataset: str) -> tuple[Budget | None, Amount | None]:
    """Return the limit in force and the running total, by two look-ups in the index."""
    limit = run(
        "SELECT number, budget FROM confide_entries WHERE dataset = ? AND kind = 'limit' "
        "ORDER BY number DESC LIMIT 1",
        (dataset,),
    )
    spent = run(
        "SELECT number, spent FROM confide_entries WHERE dataset = ? AND kind = 'charge' "
        "ORDER BY number DESC LIMIT 1",
        (dataset,),
    )
    return (
        _readable(read_budget, *limit[0]) if limit else None,
        _readable(read_amount, *spent[0]) if spent else None,
    )


def known_datasets(run: Run) -> tuple[str, ...]:
    """Return the names of all datasets, sorted."""
    rows = run("SELECT DISTINCT dataset FROM confide_entries", ())
    return tuple(sorted(str(row[0]) for row in rows))


def head(run: Run) -> tuple[int, str]:
    """Return number and digest of the last entry."""
    rows = run(
        "SELECT number, digest FROM confide_entries ORDER BY number DESC LIMIT 1", ()
    )
    return (rows[0][0], rows[0][1]) if rows else (0, BEGINNING)


def all_rows(run: Run) -> list[Row]:
    """Return every row in the order of their numbers, fields as in `Entry`."""
    return run(
        "SELECT number, kind, dataset, at, who, what, status, private, budget, events, "
        "counted, spent, charge, release_hash, digest FROM confide_entries ORDER BY number",
        (),
    )


def append(run: Run, entry: Entry) -> int:
    """Write an entry behind the last one and return its number."""
    last, previous = head(run)
    row = (
        last + 1,
        entry.kind,
        entry.dataset,
        entry.at,
        entry.who,
        entry.what,
        None if entry.status is None else entry.status.value,
        None if entry.private is None else int(entry.private),
        None if entry.budget is None else amount_text(Amount.of(entry.budget)),
        events_text(entry.events) if entry.kind == "charge" else None,
        None if entry.counted is None else amount_text(entry.counted),
        None if entry.spent is None else amount_text(entry.spent),
        entry.charge,
        entry.release_hash,
    )
    run(
        "INSERT INTO confide_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, _digest(previous, row)),
    )
    return last + 1


def _digest(previous: str, row: Row) -> str:
    """Return the SHA-256 of the digest before and the row as canonical JSON."""
    try:
        text = json.dumps(row, separators=(",", ":"))
    except TypeError:
        text = ""  # bytes where text was written: no digest fits
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def read_entry(row: Row) -> Entry:
    """Return the entry that a row holds."""
    return _readable(_parsed, row[0], row)


def _parsed(row: Row) -> Entry:
    number, kind, dataset, at, who, what, status, private, *rest, digest = row
    budget, events, counted, spent, charge, release_hash = rest
    if not all(isinstance(text, str) for text in (kind, dataset, at, who, what, digest)):
        raise TypeError("a text is none")
    if kind not in get_args(EntryKind):
        raise ValueError(kind)
    return Entry(
        number,
        kind,
        dataset,
        at,
        who,
        what,
        status=None if status is None else Status(status),
        private=None if private is None else bool(private),
        budget=None if budget is None else read_budget(budget),
        events=() if events is None else read_events(events),
        counted=None if counted is None else read_amount(counted),
        spent=None if spent is None else read_amount(spent),
        charge=charge,
        release_hash=release_hash,
        digest=digest,
    )


_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def _readable(read: Any, number: Any, value: Any) -> Any:
    """Read a stored value; what cannot be read was not written by a ledger."""
    try:
        return read(value)
    except _UNREADABLE as error:
        raise TamperedLedger(
            f"entry {number} cannot be read: somebody changed this ledger. Go back to a "
            "copy that you trust, and add what was spent since."
        ) from error


class Audit:
    """Reads a book from its beginning and stops at the first entry that does not fit."""

    def __init__(self) -> None:
        self.number, self.digest = 0, BEGINNING
        self.limits: dict[str, Budget] = {}
        self.spent: dict[str, Amount] = {}
        self.unreleased: dict[int, str] = {}

    def take(self, row: Row) -> None:
        """Check the next row of the book."""
        self.number += 1
        if row[0] != self.number:
            raise self._wrong("is missing")
        if row[-1] != _digest(self.digest, row[:-1]):
            raise self._wrong("was changed")
        entry, self.digest = read_entry(row), row[-1]
        match entry.kind:
            case "limit":
                self._take_limit(entry)
            case "charge":
                self._take_charge(entry)
            case "release":
                if self.unreleased.pop(entry.charge or 0, None) != entry.dataset:
                    raise self._wrong("is a release without its charge")

    def _take_limit(self, entry: Entry) -> None:
        spent = self.spent.get(entry.dataset)
        if entry.budget is None:
            raise self._wrong("sets no limit")
        if spent is not None and not spent.within(Amount.of(entry.budget)):
            raise self._wrong("sets a limit below what was spent")
        self.limits[entry.dataset] = entry.budget

    def _take_charge(self, entry: Entry) -> None:
        limit = self.limits.get(entry.dataset)
        if limit is None or entry.counted is None:
            raise self._wrong("is a charge without a limit")
        before = self.spent.get(entry.dataset, Amount.nothing(type(limit)))
        total = before + entry.counted
        if entry.spent != total:
            raise self._wrong("has a wrong running total")
        if not total.within(Amount.of(limit)):
            raise self._wrong("goes over the limit")
        self.spent[entry.dataset] = total
        self.unreleased[entry.number] = entry.dataset

    def _wrong(self, what: str) -> TamperedLedger:
        return TamperedLedger(
            f"entry {self.number} {what}: somebody changed this ledger. Go back to a copy "
            "that you trust, and add what was spent since."
        )
