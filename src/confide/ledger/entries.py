"""The lines of a ledger: how they are written, chained by digests, and read."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from confide.accounting.events import Event
from confide.errors import TamperedLedger
from confide.ledger.amounts import (
    Amount,
    amount_text,
    events_text,
    read_amount,
    read_budget,
    read_events,
)
from confide.ledger.storage.base import Row, Run
from confide.privacy import Budget, Neighbours, Status

EntryKind: TypeAlias = Literal["limit", "charge", "release"]

BEGINNING = "0" * 64
"""The digest before the first entry."""
FORMAT_1 = (
    *("number", "kind", "dataset", "at", "who", "what", "status", "private", "budget"),
    *("events", "counted", "spent", "charge", "release_hash"),
)
"""What the digest of an entry covers that names no relation, as of format 1."""
COLUMNS = (*FORMAT_1, "neighbours", "earlier", "digest")
"""A row, in the order of `Entry`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the book.

    ``spent`` is the running total after a charge, and after a limit that counts earlier
    charges anew; ``charge`` is the number of the charge that a release belongs to;
    ``neighbours`` is the relation that a charge was proved for, None if nobody recorded
    it, or the one that a limit is for, None if the first charge decides; ``earlier`` is
    what a limit says of the charges before it that record none; ``digest`` covers this
    entry and all before it.
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
    neighbours: Neighbours | None = None
    earlier: Neighbours | None = None
    digest: str = ""


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
    return run(f"SELECT {', '.join(COLUMNS)} FROM confide_entries ORDER BY number", ())  # noqa: S608 - no value in it


def rows_of(run: Run, dataset: str) -> list[Row]:
    """Return the rows of one dataset in the order of their numbers."""
    listed = ", ".join(COLUMNS)
    return run(
        f"SELECT {listed} FROM confide_entries WHERE dataset = ? ORDER BY number",  # noqa: S608 - the value is bound
        (dataset,),
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
        None if entry.neighbours is None else entry.neighbours.value,
        None if entry.earlier is None else entry.earlier.value,
    )
    insert(run, (*row, digest_of(previous, row)))
    return last + 1


def insert(run: Run, row: Row) -> None:
    """Write a row, fields as in `Entry`."""
    marks = ", ".join("?" * len(COLUMNS))
    run(f"INSERT INTO confide_entries ({', '.join(COLUMNS)}) VALUES ({marks})", row)  # noqa: S608 - values are bound


def digest_of(previous: str, row: Row) -> str:
    """Return the SHA-256 of the digest before and the row as canonical JSON.

    The row has all fields but the digest. Where it names no relation, those are left
    out: books of format 1 keep their digests.
    """
    if row[len(FORMAT_1) :] == (None, None):
        row = row[: len(FORMAT_1)]
    try:
        text = json.dumps(row, separators=(",", ":"))
    except TypeError:
        text = ""  # bytes where text was written: no digest fits
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def read_entry(row: Row) -> Entry:
    """Return the entry that a row holds."""
    return readable(_parsed, row[0], row)


def _parsed(row: Row) -> Entry:
    number, kind, dataset, at, who, what, status, private, *rest, digest = row
    budget, events, counted, spent, charge, release_hash, neighbours, earlier = rest
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
        neighbours=read_relation(neighbours),
        earlier=read_relation(earlier),
        digest=digest,
    )


def read_relation(text: Any) -> Neighbours | None:
    """Read the name of a relation; none is none."""
    return None if text is None else Neighbours(text)


_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def readable(read: Any, number: Any, value: Any) -> Any:
    """Read a stored value; what cannot be read was not written by a ledger."""
    try:
        return read(value)
    except _UNREADABLE as error:
        raise TamperedLedger(
            f"entry {number} cannot be read: somebody changed this ledger. Go back to a "
            "copy that you trust, and add what was spent since."
        ) from error
