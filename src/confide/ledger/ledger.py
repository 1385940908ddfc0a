"""The ledger: a book of privacy spent per dataset, which refuses what goes over a limit.

Entries are only ever appended. A charge is on disk before `Ledger.charge` returns, so a
release can exist only if its charge does, and a crash after the charge stays charged.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide._interrupts import uninterrupted
from confide.accounting.events import Event
from confide.errors import (
    BudgetExceeded,
    ConfideError,
    InvalidParameter,
    MixedBudgets,
    MixedNeighbours,
    TamperedLedger,
    UnrecordedRelease,
)
from confide.ledger.accounts import Account, Charge
from confide.ledger.address import normalise_location, redacted
from confide.ledger.amounts import Amount, amount_text, cost
from confide.ledger.balance import (
    Balance,
    Entry,
    all_rows,
    append,
    balance_of,
    head,
    known_datasets,
    numbered_entry,
    read_entry,
    recompute_total,
    rows_of,
)
from confide.ledger.chain import ChainVerifier, anchor_text, check_anchor, read_anchor
from confide.ledger.contents import (
    content_hash,
    keep_content,
    kept_charges,
    kept_content,
    release_entry,
)
from confide.ledger.requests import (
    checked_events,
    checked_name,
    checked_status,
    current_user,
    no_limit,
    one_line,
    over_limit,
    relation,
    relation_mismatch,
    relation_unavailable,
)
from confide.ledger.storage import Run, store_at
from confide.privacy import Budget, Neighbours, Status, check_budget


@dataclass(frozen=True, slots=True)
class Ledger:
    """A handle on a budget book at a place: a SQLite file or a PostgreSQL database.

    Copying, cloning or pickling the handle never copies the book: whoever holds one
    spends from the same limits. Make it with `Ledger.open`. A fit books under the name
    of its schema, or without a schema under the handle's ``dataset``.
    """

    place: str
    dataset: str = ""
    note: str = ""
    receipts: list[Charge] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def open(cls, place: str | Path) -> "Ledger":
        """Open the book at a path or a ``postgresql://`` URL; make it if there is none."""
        ledger = cls(normalise_location(place))
        store_at(ledger.place).create()
        return ledger

    def for_dataset(self, name: str) -> "Ledger":
        """Return a handle on the same book under whose name a fit without schema pays."""
        return replace(self, dataset=checked_name(name))

    def with_note(self, note: str) -> "Ledger":
        """Return a handle on the same book whose charges say what they are for.

        Such as the file that a model is going to be written to.
        """
        return replace(self, note=one_line(note, "note"))

    def with_receipts(self, receipts: list[Charge]) -> "Ledger":
        """Return a handle on the same book that adds every charge to a list.

        Whoever is interrupted can tell from it what was paid: a charge is on the list as
        soon as it is on disk.
        """
        return replace(self, receipts=receipts)

    def noting(self, note: str) -> "Ledger":
        """Return what `with_note` does, under its name until 0.2."""
        message = "Ledger.noting is called Ledger.with_note now."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.with_note(note)

    def close(self) -> None:
        """Close this process's connection; the handle opens a new one when used again."""
        store_at(self.place).disconnect()

    def set_limit(
        self,
        dataset: str,
        limit: Budget,
        *,
        neighbours: Neighbours | str | None = None,
        earlier: Neighbours | str | None = None,
        who: str | None = None,
    ) -> None:
        """Fix what may be spent on a dataset; a later limit replaces an earlier one.

        The limit is what is guaranteed: change it only for reasons that do not come from
        the releases. Its kind stays once something was charged.

        Parameters
        ----------
        dataset : str
            The dataset's name.
        limit : Pure, Approx or Zcdp
            What all releases together may cost.
        neighbours : "add-remove", "replace-one" or None
            The relation that the limit is for. None keeps the one in force; a new limit
            takes over that of the first charge. Charges are counted anew under another:
            for replace-one, which takes the number of rows as public, one for add-remove
            is a removal and an addition; for add-remove all charges must be for it.
        earlier : "add-remove", "replace-one" or None
            Your word on the charges so far that do not record their relation. Without it
            they count as the dearer of the two.
        who : str
            For the record: by default the user's login name.
        """
        name, limit = checked_name(dataset), check_budget(limit)
        wished, known = relation(neighbours), relation(earlier)
        entry = Entry(
            0, "limit", name, _now(), current_user(who), budget=limit, earlier=known
        )
        with store_at(self.place).writing() as run:
            before = balance_of(run, name)
            spent, kept = before.spent, before.neighbours if wished is None else wished
            if spent is not None and spent.kind is not type(limit):
                raise MixedBudgets(
                    f"the limit of {name!r} must stay of kind {spent.kind.__name__}, "
                    f"because {spent} is already spent; got {limit!r}."
                )
            moved = kept is not before.neighbours or known is not None
            fresh = _recounted(run, entry, kept) if spent and moved else None
            spent = fresh or spent
            if spent is not None and not spent.within(Amount.of(limit)):
                under = f", for {kept}" if fresh else ""
                raise InvalidParameter(
                    "limit", f"at least what is spent already ({spent}{under})", str(limit)
                )
            append(run, replace(entry, neighbours=kept, spent=fresh))

    def charge(
        self,
        dataset: str,
        budget: Budget,
        events: Sequence[Event] = (),
        *,
        neighbours: Neighbours | str | None = None,
        who: str | None = None,
        what: str = "",
        status: Status = Status.PROVED,
        private: bool = True,
    ) -> Charge:
        """Spend, or refuse and leave nothing; on disk before this returns.

        Parameters
        ----------
        dataset : str
            The dataset's name; it must have a limit.
        budget : Pure, Approx or Zcdp
            What the release will cost. In another kind than the limit it is converted
            where a theorem allows, with the help of ``events``.
        events : sequence of Event
            What the release will consist of.
        neighbours : "add-remove", "replace-one" or None
            The relation for which budget and events are proved. None is booked as not
            recorded, and counts like add-remove where the limit is for replace-one.
        who, what : str
            For the record: by default the user's login name, and nothing.
        status : Status
            How far the guarantee can be trusted. REFUTED is always refused.
        private : bool
            False when the noise is seeded. The charge counts all the same.

        Raises
        ------
        BudgetExceeded
            If the limit would be exceeded, by however little, or is not set.
        MixedBudgets
            If the budget cannot be converted to the limit's kind.
        MixedNeighbours
            If the charge says nothing under the limit's relation.
        PrivacyLeak
            If the status is REFUTED.
        """
        name, budget = checked_name(dataset), check_budget(budget)
        proved_for = relation(neighbours)
        entry = Entry(
            number=0,
            kind="charge",
            dataset=name,
            at=_now(),
            who=current_user(who),
            what=one_line(" for ".join(filter(None, (what, self.note))), "what"),
            status=checked_status(status),
            private=bool(private),
            budget=budget,
            events=checked_events(events, proved_for),
            neighbours=proved_for,
        )
        with uninterrupted():
            receipt = self._pay(entry)
            if self.receipts is not None:
                self.receipts.append(receipt)
        return receipt

    def _pay(self, entry: Entry) -> Charge:
        """Write a charge if the limit allows it."""
        name, proved_for, budget = entry.dataset, entry.neighbours, entry.budget
        assert budget is not None  # noqa: S101
        with store_at(self.place).writing() as run:
            before = balance_of(run, name)
            counted, total, left = self._price(run, before, entry)
            number, digest = append(run, replace(entry, counted=counted, spent=total))
        under, anchor = before.relation_after(proved_for), anchor_text(number, digest)
        return Charge(number, name, budget, counted, left, under, anchor)

    def _price(
        self, run: Run, before: Balance, entry: Entry
    ) -> tuple[Amount, Amount, Amount]:
        """Return what a charge counts, what is spent with it, and what it leaves."""
        name, proved_for, limit = entry.dataset, entry.neighbours, before.limit
        if limit is None:
            raise BudgetExceeded(no_limit(self.place, name, known_datasets(run)))
        assert entry.budget is not None, "a charge has a budget"  # noqa: S101
        under = before.relation_after(proved_for)
        counted = cost(entry.budget, entry.events, proved_for, limit, under)
        if counted is None or not before.accepts(proved_for):
            raise MixedNeighbours(relation_mismatch(self.place, name, before, proved_for))
        cap, spent = Amount.of(limit), before.spent or Amount.nothing(type(limit))
        total = spent + counted
        if not total.within(cap):
            raise BudgetExceeded(over_limit(name, counted, spent, cap))
        return counted, total, cap - total

    def forecast(
        self,
        dataset: str,
        budget: Budget,
        events: Sequence[Event] = (),
        *,
        neighbours: Neighbours | str | None = None,
    ) -> Amount:
        """Return what a charge would leave; it is refused here as it would be there.

        Nothing is spent or written. Events may make the charge itself cheaper.
        """
        proved_for = relation(neighbours)
        entry = Entry(
            number=0,
            kind="charge",
            dataset=checked_name(dataset),
            at="",
            who="",
            budget=check_budget(budget),
            events=checked_events(events, proved_for),
            neighbours=proved_for,
        )
        with store_at(self.place).reading() as run:
            return self._price(run, balance_of(run, entry.dataset), entry)[2]

    def record(self, charge: Charge, release_hash: str, content: str = "") -> None:
        """Append that the release paid for by a charge was made; once per charge.

        Parameters
        ----------
        charge : Charge
            What `charge` returned.
        release_hash : str
            The SHA-256 of the release.
        content : str
            What was released, such as the text of a model file. The book keeps it, and
            `content` returns it should the file be lost.
        """
        if not isinstance(charge, Charge):
            raise InvalidParameter("charge", "what ledger.charge returned", charge)
        digest = one_line(release_hash, "release_hash")
        if not digest:
            raise InvalidParameter("release_hash", "the hash of a release", release_hash)
        entry = Entry(
            *(0, "release", charge.dataset, _now(), current_user(None)),
            charge=charge.number,
            release_hash=digest,
            content_hash=content_hash(content) if content else None,
        )
        with uninterrupted(), store_at(self.place).writing() as run:
            found = run(
                "SELECT kind, dataset, counted FROM confide_entries WHERE number = ?",
                (charge.number,),
            )
            if found != [("charge", charge.dataset, amount_text(charge.counted))]:
                raise InvalidParameter(
                    "charge", "one that this ledger made", f"charge {charge.number}"
                )
            if run("SELECT 1 FROM confide_entries WHERE charge = ?", (charge.number,)):
                raise InvalidParameter(
                    "charge",
                    "one whose release is not on record yet",
                    f"charge {charge.number}",
                    "Every release needs a charge of its own.",
                )
            append(run, entry)
            if content:
                keep_content(run, charge.number, content)

    def enter(self, charge: Charge, release_hash: str, content: str) -> None:
        """Append that a release was made, with its content, or warn where that fails.

        The charge stands all the same, and whoever has the release is told: nothing that
        was paid for is lost by an exception.
        """
        try:
            self.record(charge, release_hash, content)
        except (ConfideError, MemoryError, OSError) as error:
            message = (
                f"charge {charge.number} stands and its release was made, but the ledger "
                f"could not enter it: {error} Save the release: it cannot be recovered "
                "from the ledger."
            )
            warnings.warn(UnrecordedRelease(message), stacklevel=3)

    def content(self, charge: int) -> str:
        """Return what was released for a charge, by its number, as it was booked."""
        with store_at(self.place).reading() as run:
            return kept_content(run, _number(charge))

    def kept(self) -> tuple[int, ...]:
        """Return the numbers of the charges whose releases `content` returns."""
        with store_at(self.place).reading() as run:
            return kept_charges(run)

    def entry(self, number: int) -> Entry:
        """Return one entry by its number."""
        with store_at(self.place).reading() as run:
            return numbered_entry(run, _number(number))

    def release(self, charge: int) -> Entry:
        """Return the entry of the release that a charge, by its number, paid for."""
        with store_at(self.place).reading() as run:
            return release_entry(run, _number(charge))

    def account(self, dataset: str) -> Account:
        """Return limit, spent and left of a dataset."""
        name = checked_name(dataset)
        with store_at(self.place).reading() as run:
            found = balance_of(run, name)
            known = known_datasets(run)
            charges = run(
                "SELECT count(*) FROM confide_entries "
                "WHERE dataset = ? AND kind = 'charge'",
                (name,),
            )[0][0]
        limit = found.limit
        if limit is None:
            raise InvalidParameter(
                "dataset", "one with a limit", name, no_limit(self.place, name, known)
            )
        spent = found.spent or Amount.nothing(type(limit))
        left = Amount.of(limit) - spent
        return Account(name, limit, spent, left, charges, found.neighbours)

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all datasets, sorted."""
        with store_at(self.place).reading() as run:
            return known_datasets(run)

    def entries(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """Return the entries, oldest first, of one dataset or of all."""
        with store_at(self.place).reading() as run:
            rows = all_rows(run)
        found = (read_entry(row) for row in rows)
        return tuple(e for e in found if dataset is None or e.dataset == dataset)

    def digest(self) -> str:
        """Return the digest of the last entry, which covers all entries.

        Written down elsewhere it makes even a lost tail visible: it must be found again
        among the digests of `entries`.
        """
        with store_at(self.place).reading() as run:
            return head(run)[1]

    def anchor(self) -> str:
        """Return number and digest of the last entry: write it down somewhere else.

        `since` tells later whether the book is still the one that it was then.
        """
        with store_at(self.place).reading() as run:
            return anchor_text(*head(run))

    def since(self, anchor: str) -> tuple[Entry, ...]:
        """Return the entries that came after an anchor, having verified all of the book.

        Raises `TamperedLedger` if the book does not hold what it held then: it is another
        one, or it was restored from an older copy, and what was spent since is missing.
        """
        number, digest = read_anchor(anchor)
        self.verify()
        with store_at(self.place).reading() as run:
            entries = [read_entry(row) for row in all_rows(run)]
        check_anchor(number, digest, entries)
        return tuple(entries[number:])

    def backup(self, path: str | Path) -> str:
        """Copy a book in a file as it is at this moment, and return the copy's anchor.

        The file alone may lack what is still in SQLite's log; this copy lacks nothing. A
        copy must never be charged: what is spent from it, the book does not know.
        """
        store_at(self.place).copy_to(Path(path))
        twin = Ledger(normalise_location(path))
        twin.verify()
        anchor = twin.anchor()
        twin.close()
        return anchor

    def verify(self) -> int:
        """Recompute every digest and running total; return the number of entries.

        Raises `TamperedLedger` naming the first entry that does not fit. A chain alone
        cannot show that its last entries were cut off, nor that somebody rewrote all of
        it: for that, write down `digest` from time to time.
        """
        audit = ChainVerifier()
        with store_at(self.place).reading() as run:
            rows = all_rows(run)
            for row in rows:
                audit.take(row)
            for name, found in audit.standings.items():
                if balance_of(run, name) != found:
                    raise TamperedLedger(f"the index of {name!r} hides entries.")
        return len(rows)

    def __copy__(self) -> "Ledger":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Ledger":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Ledger, (self.place, self.dataset, self.note)

    def __repr__(self) -> str:
        named = f", {self.dataset!r}" if self.dataset else ""
        return f"Ledger({redacted(self.place)!r}{named})"


def _number(charge: Any) -> int:
    if isinstance(charge, bool) or not isinstance(charge, int) or not 0 < charge < 2**31:
        raise InvalidParameter("charge", "the number of a charge", charge)
    return charge


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _recounted(run: Run, limit: Entry, neighbours: Neighbours | None) -> Amount:
    """Return what all charges of a dataset cost under the relation of a new limit."""
    if limit.budget is None or neighbours is None:
        raise InvalidParameter(
            "neighbours", "given with earlier: the relation that the limit is for", None
        )
    history = [read_entry(row) for row in rows_of(run, limit.dataset)]
    total = recompute_total(history, limit.budget, neighbours, limit.earlier)
    if total is None:
        raise MixedNeighbours(relation_unavailable(limit.dataset, neighbours))
    return total
