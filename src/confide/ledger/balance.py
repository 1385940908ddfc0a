"""Entries of a ledger, balances of its datasets, and checks of digests."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, get_args

from confide.accounting.events import Event
from confide.errors import InvalidParameter, TamperedLedger
from confide.ledger.amounts import (
    Amount,
    amount_text,
    cost,
    events_text,
    read_amount,
    read_budget,
    read_events,
)
from confide.ledger.storage import Row, Run
from confide.privacy import Budget, Neighbours, Status

EntryKind: TypeAlias = Literal["limit", "charge", "release"]

BEGINNING = "0" * 64
"""The digest that precedes the first entry."""
FORMAT_1 = (
    *("number", "kind", "dataset", "at", "who", "what", "status", "private", "budget"),
    *("events", "counted", "spent", "charge", "release_hash"),
)
"""Columns in the digest of entries with neither neighbour relations nor a content hash."""
FORMAT_2 = (*FORMAT_1, "neighbours", "earlier")
"""Columns in the digest of other entries without a content hash."""
COLUMNS = (*FORMAT_2, "content_hash", "digest")
"""All columns, in the order of the fields of `Entry`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a ledger.

    Parameters
    ----------
    number : int
        The number of the entry, counted from 1.
    kind : {'limit', 'charge', 'release'}
        The action that the entry records.
    dataset : str
        The name of the dataset.
    at : str
        Date and time of the entry in UTC, in ISO format.
    who : str
        The user who made the entry.
    what : str, default ''
        The purpose of a charge.
    status : Status or None, default None
        How well the guarantee of a charge is established.
    private : bool or None, default None
        False for a charge whose noise was seeded.
    budget : Pure, Approx, Zcdp or None, default None
        The limit, or the budget of a charge.
    events : tuple of Event, default ()
        For a charge: the accounting events of the release.
    counted : Amount or None, default None
        The cost of a charge against the limit.
    spent : Amount or None, default None
        The running total after a charge, or after a limit for which the costs of earlier
        charges were computed again.
    charge : int or None, default None
        The number of the charge that a release belongs to.
    release_hash : str or None, default None
        The SHA-256 of a release.
    neighbours : Neighbours or None, default None
        For a charge: the neighbour relation under which its guarantee was proved, or None
        if it is not recorded. For a limit: the relation under which charges are counted, or
        None if the first charge determines it.
    earlier : Neighbours or None, default None
        For a limit: the relation to assume for earlier charges that did not record theirs.
    content_hash : str or None, default None
        The SHA-256 of the content of a release, if the content was passed to the ledger.
    digest : str, default ''
        The SHA-256 over this entry and all entries before it.

    Examples
    --------
    Every action adds an entry:

    >>> import tempfile
    >>> from confide import Ledger, Pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/budget.db")
    ...     ledger.set_limit("visits", Pure(1), who="head of unit")
    ...     receipt = ledger.charge("visits", Pure(0.5), who="analyst", what="first fit")
    ...     entries = ledger.entries("visits")
    ...     ledger.close()
    >>> [(entry.number, entry.kind, entry.who) for entry in entries]
    [(1, 'limit', 'head of unit'), (2, 'charge', 'analyst')]
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
    content_hash: str | None = None
    digest: str = ""


def known_datasets(run: Run) -> tuple[str, ...]:
    """Return the names of all datasets, sorted."""
    rows = run("SELECT DISTINCT dataset FROM confide_entries", ())
    return tuple(sorted(str(row[0]) for row in rows))


def head(run: Run) -> tuple[int, str]:
    """Return the number and the digest of the last entry."""
    rows = run(
        "SELECT number, digest FROM confide_entries ORDER BY number DESC LIMIT 1", ()
    )
    return (rows[0][0], rows[0][1]) if rows else (0, BEGINNING)


def all_rows(run: Run) -> list[Row]:
    """Return the database rows of all entries, sorted by number."""
    return run(f"SELECT {', '.join(COLUMNS)} FROM confide_entries ORDER BY number", ())  # noqa: S608 - no value in it


def rows_of(run: Run, dataset: str) -> list[Row]:
    """Return the database rows of the entries of one dataset, sorted by number."""
    listed = ", ".join(COLUMNS)
    return run(
        f"SELECT {listed} FROM confide_entries WHERE dataset = ? ORDER BY number",  # noqa: S608 - the value is bound
        (dataset,),
    )


def append(run: Run, entry: Entry) -> tuple[int, str]:
    """Append an entry to the ledger and return its number and its digest."""
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
        entry.content_hash,
    )
    digest = digest_of(previous, row)
    insert(run, (*row, digest))
    return last + 1, digest


def insert(run: Run, row: Row) -> None:
    """Insert a database row with the values of all `COLUMNS`."""
    marks = ", ".join("?" * len(COLUMNS))
    run(f"INSERT INTO confide_entries ({', '.join(COLUMNS)}) VALUES ({marks})", row)  # noqa: S608 - values are bound


def digest_of(previous: str, row: Row) -> str:
    """Return the SHA-256 of the previous digest and a database row as canonical JSON.

    ``row`` has all columns except the digest. Empty content hashes and neighbour relations
    are left out, so the digests of ledgers in formats 1 and 2 remain valid.
    """
    if row[len(FORMAT_2) :] == (None,):
        row = row[: len(FORMAT_2)]
    if row[len(FORMAT_1) :] == (None, None):
        row = row[: len(FORMAT_1)]
    try:
        text = json.dumps(row, separators=(",", ":"))
    except TypeError:
        text = ""  # the row holds bytes in place of text: no digest will match
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def read_entry(row: Row) -> Entry:
    """Return the entry stored in a database row."""
    return readable(_parsed, row[0], row)


def _parsed(row: Row) -> Entry:
    number, kind, dataset, at, who, what, status, private, *rest, digest = row
    budget, events, counted, spent, charge, release_hash, neighbours, earlier, body = rest
    if not all(isinstance(text, str) for text in (kind, dataset, at, who, what, digest)):
        raise TypeError("a text field is missing")
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
        content_hash=body,
        digest=digest,
    )


def read_relation(text: Any) -> Neighbours | None:
    """Parse a neighbour relation; None stays None."""
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
    """Parse a stored value; raise `TamperedLedger` if it cannot be parsed."""
    try:
        return read(value)
    except _UNREADABLE as error:
        raise TamperedLedger(
            f"entry {number} cannot be read: somebody changed this ledger. Restore a copy "
            "that you trust, and record in it what was spent since."
        ) from error


MOST_LISTED = 10
READ_TOGETHER = 1000
FIRST, LATEST = "ORDER BY number ASC", "ORDER BY number DESC"


@dataclass(frozen=True, slots=True)
class Balance:
    """The limit in force and the running total, both under one neighbour relation.

    ``neighbours`` is the relation of the limit or, if the limit has none, that of the first
    charge. It is None if there is no charge yet, or if the first charge does not record its
    relation. ``spent`` is None before the first charge.
    """

    limit: Budget | None = None
    neighbours: Neighbours | None = None
    spent: Amount | None = None

    @property
    def undecided(self) -> bool:
        """Whether the first charge has yet to determine the neighbour relation."""
        return self.neighbours is None and self.spent is None

    def relation_after(self, proved_for: Neighbours | None) -> Neighbours | None:
        """Return the neighbour relation of the running total after a charge is added."""
        return proved_for if self.undecided else self.neighbours

    def accepts(self, proved_for: Neighbours | None) -> bool:
        """Return whether a charge has a guarantee under the relation of the running total.

        A charge that records its relation cannot be added to charges that do not record
        theirs.
        """
        relation = self.relation_after(proved_for)
        return relation is proved_for or relation is Neighbours.REPLACE_ONE


def balance_of(run: Run, dataset: str) -> Balance:
    """Return the balance of a dataset, with few look-ups in the database index.

    The running total is in the latest charge, or in a later limit for which the costs of
    charges were computed again. To detect edited entries, three sets of digests are
    checked: those of all entries that are read, of all entries after the one with the
    running total, and of all limits of any dataset after the limit in force. No entry after
    the running total may be missing, because it may have been a charge on this dataset.
    """
    limit = _one(run, dataset, "limit", LATEST)
    if limit is None:
        return Balance()
    charge = _one(run, dataset, "charge", LATEST)
    anew = _one(run, dataset, "limit", f"AND spent IS NOT NULL {LATEST}")
    relation = limit.neighbours
    if relation is None and charge is not None:
        first = _one(run, dataset, "charge", FIRST)
        relation = None if first is None else first.neighbours
    totals = [found for found in (charge, anew) if found is not None]
    latest = max(totals, key=lambda entry: entry.number, default=None)
    check_none_removed(run, (latest or limit).number)
    _check_later_entries(run, latest or limit)
    _check_later_limits(run, limit.number)
    return Balance(limit.budget, relation, None if latest is None else latest.spent)


def _one(run: Run, dataset: str, kind: str, which: str) -> Entry | None:
    found = run(
        f"SELECT {', '.join(COLUMNS)} FROM confide_entries "  # noqa: S608 - values are bound
        f"WHERE dataset = ? AND kind = ? {which} LIMIT 1",
        (dataset, kind),
    )
    return checked_entry(run, found[0]) if found else None


def _check_later_entries(run: Run, entry: Entry) -> None:
    """Check the digest of every entry after one whose digest is already verified."""
    columns, number, digest = ", ".join(COLUMNS), entry.number, entry.digest
    after = f"SELECT {columns} FROM confide_entries WHERE number > ? "  # noqa: S608 - the value is bound
    while rows := run(f"{after}ORDER BY number LIMIT {READ_TOGETHER}", (number,)):
        for row in rows:
            if digest_of(digest, row[:-1]) != row[-1]:
                raise _changed(row[0])
            number, digest = row[0], row[-1]


def _check_later_limits(run: Run, number: int) -> None:
    """Check the digest of every limit, of any dataset, after a given entry number."""
    found = run(
        f"SELECT {', '.join(COLUMNS)} FROM confide_entries "  # noqa: S608 - the value is bound
        "WHERE number IN "
        # The plus sign makes SQLite use only the index.
        "(SELECT number FROM confide_entries WHERE kind = 'limit' AND +number > ?)",
        (number,),
    )
    for row in found:
        checked_entry(run, row)


def check_none_removed(run: Run, first: int) -> None:
    """Raise if there are gaps in the numbers of entries from ``first`` on."""
    span = "SELECT count(*), max(number) FROM confide_entries WHERE number >= ?"
    ((count, highest),) = run(span, (first,))
    last = highest if isinstance(highest, int) else first
    if count == last - first + 1:
        return
    rows = run("SELECT number FROM confide_entries WHERE number >= ?", (first,))
    held = {row[0] for row in rows}
    absent = (number for number in range(first, last + 1) if number not in held)
    gone = list(islice(absent, MOST_LISTED + 1))
    listed = ", ".join(map(str, gone[:MOST_LISTED])) + ", …" * (len(gone) > MOST_LISTED)
    raise TamperedLedger(
        f"of this ledger's {last} entries, these are missing: {listed}. Somebody removed "
        "them. Nothing was spent. Restore a copy that you trust, and record in it what was "
        "spent since."
    )


def numbered_entry(run: Run, number: int) -> Entry:
    """Return the entry with a given number."""
    columns = ", ".join(COLUMNS)
    rows = run(f"SELECT {columns} FROM confide_entries WHERE number = ?", (number,))  # noqa: S608 - the value is bound
    if not rows:
        raise InvalidParameter("entry", "the number of an entry of this ledger", number)
    return checked_entry(run, rows[0])


def checked_entry(run: Run, row: Row) -> Entry:
    """Return the entry in a database row after checking the digest."""
    number: int = row[0]
    before: str | None = BEGINNING
    if number != 1:
        found = run("SELECT digest FROM confide_entries WHERE number = ?", (number - 1,))
        before = found[0][0] if found else None
    if before is None or digest_of(before, row[:-1]) != row[-1]:
        raise _changed(number)
    return read_entry(row)


def _changed(number: int) -> TamperedLedger:
    return TamperedLedger(
        f"entry {number} or the one before it was changed: somebody changed this "
        "ledger. Nothing was spent. Restore a copy that you trust, and record in it what "
        "was spent since."
    )


def recompute_total(
    history: Sequence[Entry],
    limit: Budget,
    neighbours: Neighbours | None,
    earlier: Neighbours | None,
) -> Amount | None:
    """Return the total cost of all charges under a neighbour relation.

    The result is None if a charge has no guarantee under the relation. ``earlier`` is the
    relation to assume for charges that did not record theirs, or None if it is unknown.
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
    """Yield every charge with its neighbour relation, newest first.

    A charge that did not record its relation is yielded with ``earlier``. If ``earlier`` is
    None, limits after the charge are searched for the relation that they assume for earlier
    charges, and the newest such assumption is used.
    """
    newest_first: Iterable[Entry] = reversed(history)
    for entry in newest_first:
        if entry.kind == "limit" and earlier is None:
            earlier = entry.earlier
        if entry.kind == "charge":
            yield entry, entry.neighbours or earlier
