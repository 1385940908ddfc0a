"""The ledger: a book of privacy spent per dataset, which refuses what goes over a limit.

Entries are only ever appended. A charge is on disk before `Ledger.charge` returns, so a
release can exist only if its charge does, and a crash after the charge stays charged.
"""

import getpass
import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from confide.accounting.databases import store_at
from confide.accounting.entries import (
    Audit,
    Entry,
    all_rows,
    append,
    head,
    known_datasets,
    read_entry,
    standing,
)
from confide.accounting.events import SAMPLINGS, Event
from confide.accounting.store import shown
from confide.accounting.tally import Amount, amount_text, count
from confide.errors import (
    BudgetExceeded,
    InvalidParameter,
    MixedBudgets,
    PrivacyLeak,
    TamperedLedger,
    did_you_mean,
)
from confide.privacy import Budget, Status, check_budget


@dataclass(frozen=True, slots=True)
class Charge:
    """A receipt: what was asked, what it counts in the limit's kind, what is left."""

    number: int
    dataset: str
    budget: Budget
    counted: Amount
    left: Amount


@dataclass(frozen=True, slots=True)
class Account:
    """How a dataset stands."""

    dataset: str
    limit: Budget
    spent: Amount
    left: Amount
    charges: int


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

    @classmethod
    def open(cls, place: str | Path) -> "Ledger":
        """Open the book at a path or a ``postgresql://`` URL; make it if there is none."""
        ledger = cls(_resolved(place))
        store_at(ledger.place).create()
        return ledger

    def for_dataset(self, name: str) -> "Ledger":
        """Return a handle on the same book under whose name a fit without schema pays."""
        return replace(self, dataset=_name(name))

    def noting(self, note: str) -> "Ledger":
        """Return a handle on the same book whose charges say what they are for.

        Such as the file that a model is going to be written to.
        """
        return replace(self, note=_text(note, "note"))

    def close(self) -> None:
        """Close this process's connection; the handle opens a new one when used again."""
        store_at(self.place).disconnect()

    def set_limit(self, dataset: str, limit: Budget, *, who: str | None = None) -> None:
        """Fix what may be spent on a dataset; a later limit replaces an earlier one.

        The limit is what is guaranteed: change it only for reasons that do not come from
        the releases. Its kind stays once something was charged.
        """
        name, limit = _name(dataset), check_budget(limit)
        entry = Entry(0, "limit", name, _now(), _person(who), budget=limit)
        with store_at(self.place).writing() as run:
            _, spent = standing(run, name)
            if spent is not None and spent.kind is not type(limit):
                raise MixedBudgets(
                    f"the limit of {name!r} must stay of kind {spent.kind.__name__}, "
                    f"because {spent} is already spent; got {limit!r}."
                )
            if spent is not None and not spent.within(Amount.of(limit)):
                raise InvalidParameter(
                    "limit", f"at least what is spent already ({spent})", str(limit)
                )
            append(run, entry)

    def charge(
        self,
        dataset: str,
        budget: Budget,
        events: Sequence[Event] = (),
        *,
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
        PrivacyLeak
            If the status is REFUTED.
        """
        name, budget = _name(dataset), check_budget(budget)
        entry = Entry(
            number=0,
            kind="charge",
            dataset=name,
            at=_now(),
            who=_person(who),
            what=_text(" for ".join(filter(None, (what, self.note))), "what"),
            status=_checked_status(status),
            private=bool(private),
            budget=budget,
            events=_checked_events(events),
        )
        with store_at(self.place).writing() as run:
            limit, spent = standing(run, name)
            if limit is None:
                raise BudgetExceeded(_no_limit(self.place, name, known_datasets(run)))
            cap, spent = Amount.of(limit), spent or Amount.nothing(type(limit))
            counted = count(budget, entry.events, limit)
            total = spent + counted
            if not total.within(cap):
                raise BudgetExceeded(_refusal(name, counted, spent, cap))
            number = append(run, replace(entry, counted=counted, spent=total))
        return Charge(number, name, budget, counted, cap - total)

    def record(self, charge: Charge, release_hash: str) -> None:
        """Append that the release paid for by a charge was made; once per charge."""
        if not isinstance(charge, Charge):
            raise InvalidParameter("charge", "what ledger.charge returned", charge)
        digest = _text(release_hash, "release_hash")
        if not digest:
            raise InvalidParameter("release_hash", "the hash of a release", release_hash)
        entry = Entry(0, "release", charge.dataset, _now(), _person(None))
        with store_at(self.place).writing() as run:
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
            append(run, replace(entry, charge=charge.number, release_hash=digest))

    def account(self, dataset: str) -> Account:
        """Return limit, spent and left of a dataset."""
        name = _name(dataset)
        with store_at(self.place).reading() as run:
            limit, spent = standing(run, name)
            known = known_datasets(run)
            charges = run(
                "SELECT count(*) FROM confide_entries "
                "WHERE dataset = ? AND kind = 'charge'",
                (name,),
            )[0][0]
        if limit is None:
            raise InvalidParameter(
                "dataset", "one with a limit", name, _no_limit(self.place, name, known)
            )
        spent = spent or Amount.nothing(type(limit))
        return Account(name, limit, spent, Amount.of(limit) - spent, charges)

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

    def verify(self) -> int:
        """Recompute every digest and running total; return the number of entries.

        Raises `TamperedLedger` naming the first entry that does not fit. A chain alone
        cannot show that its last entries were cut off, nor that somebody rewrote all of
        it: for that, write down `digest` from time to time.
        """
        audit = Audit()
        with store_at(self.place).reading() as run:
            rows = all_rows(run)
            for row in rows:
                audit.take(row)
            for name, limit in audit.limits.items():
                if standing(run, name) != (limit, audit.spent.get(name)):
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
        return f"Ledger({shown(self.place)!r}{named})"


def _resolved(place: Any) -> str:
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return "postgresql://" + place.partition("://")[2]
    wrong = not isinstance(place, str | Path) or not str(place).isprintable()
    if wrong or not str(place) or "://" in str(place):
        raise InvalidParameter(
            "place", "a path or a URL like postgresql://host/database", place
        )
    path = Path(place).resolve()
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidParameter("place", "a file in a folder that exists", str(place))
    return str(path)


def _name(dataset: Any) -> str:
    name = _text(dataset, "dataset")
    if not name or name != name.strip():
        raise InvalidParameter("dataset", "a name without spaces around it", dataset)
    return name


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
        raise InvalidParameter(name, "one line of text", value)
    return value


def _person(who: Any) -> str:
    if who is not None:
        return _text(who, "who")
    try:
        login = getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"
    return login if login.isprintable() else "unknown"


def _checked_events(events: Any) -> tuple[Event, ...]:
    if not isinstance(events, Sequence):
        raise InvalidParameter("events", "a sequence of events", events)
    for event in events:
        if not isinstance(event, Event) or not all(map(_is_size, astuple(event))):
            raise InvalidParameter("events", "events of confide.accounting", event)
    return tuple(events)


def _is_size(value: Any) -> bool:
    if isinstance(value, str):
        return value in SAMPLINGS
    return isinstance(value, Fraction | int | float) and 0 <= value < math.inf


def _checked_status(status: Any) -> Status:
    if not isinstance(status, Status):
        raise InvalidParameter("status", "a Status such as Status.PROVED", status)
    if status is Status.REFUTED:
        raise PrivacyLeak(
            "a ledger pays only for guarantees that hold; this mechanism's was REFUTED, so "
            "no budget covers its release. Use a PROVED mechanism."
        )
    return status


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _no_limit(place: str, dataset: str, known: tuple[str, ...]) -> str:
    listed = f" It has limits for {', '.join(map(repr, known[:12]))}." if known else ""
    hint = did_you_mean(dataset, known)
    return (
        f"{dataset!r} has no limit in this ledger, so nothing may be spent on it."
        f"{listed}{' ' + hint if hint else ''} Set one: confide budget "
        f"{shlex.quote(shown(place))} --dataset {shlex.quote(dataset)} --epsilon 3 "
        f"--delta 1e-5, or in Python ledger.set_limit({json.dumps(dataset)}, "
        "Approx(3, 1e-5)). Nothing was spent."
    )


def _refusal(dataset: str, counted: Amount, spent: Amount, cap: Amount) -> str:
    """Name the parts of the limit that do not suffice, and those only."""
    left = cap - spent
    over = [name for name in cap.kind.fields if left.part(name) < counted.part(name)]
    excess, asked, rest, whole = (
        amount.text(over) for amount in (counted.excess(left), counted, left, cap)
    )
    gone = all(left.part(name) == 0 for name in over)
    return (
        f"the limit of {dataset!r} would be exceeded by {excess}: asked {asked}, left "
        f"{rest}, of a limit of {whole}. Nothing was spent. "
        + ("It is used up." if gone else "Ask for at most what is left.")
    )
