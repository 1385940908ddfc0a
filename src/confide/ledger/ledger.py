"""The ledger, which records the privacy budget spent on each dataset and enforces limits.

Entries are only ever appended. A charge is on disk before `Ledger.charge` returns, so no
release can exist without its charge. A crash cannot undo a charge.
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
    Described,
    InvalidParameter,
    MixedBudgets,
    MixedNeighbours,
    UnrecordedRelease,
)
from confide.ledger.accounts import Charge
from confide.ledger.address import normalise_location, redacted
from confide.ledger.amounts import Amount, amount_text, cost
from confide.ledger.balance import (
    Balance,
    Entry,
    append,
    balance_of,
    known_datasets,
    read_entry,
    recompute_total,
    rows_of,
)
from confide.ledger.chain import anchor_text
from confide.ledger.contents import (
    content_hash,
    keep_content,
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
from confide.ledger.view import LedgerView
from confide.privacy import Budget, Neighbours, Status, check_budget


@dataclass(frozen=True, slots=True)
class Ledger(LedgerView):
    """Handle on a ledger of privacy budgets in a SQLite file or a PostgreSQL database.

    Use `Ledger.open` to create a handle. Copying, cloning or pickling it never copies the
    ledger: all copies spend from the same limits. A fit is charged to the dataset named
    in its schema, or to the ``dataset`` of the handle if there is no schema.

    Parameters
    ----------
    place : str
        The absolute path or the URL of the ledger.
    dataset : str, default ''
        The dataset to which fits without a schema are charged.
    note : str, default ''
        A note on the purpose of charges, such as the file to which a model will be written.
    receipts : list of Charge or None, default None
        A list to which the receipt of every charge through this handle is appended.

    Examples
    --------
    A charge that would exceed the limit is refused, and nothing is spent:

    >>> import tempfile
    >>> from confide import ConfideError, Ledger, Pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/budget.db")
    ...     ledger.set_limit("visits", Pure(1))
    ...     first = ledger.charge("visits", Pure(0.8))
    ...     try:
    ...         ledger.charge("visits", Pure(0.3))
    ...     except ConfideError:
    ...         print(ledger.account("visits").left)
    ...     ledger.close()
    ε = 0.2
    """

    dataset: str = ""
    note: str = ""
    receipts: list[Charge] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def open(cls, place: str | Path) -> "Ledger":
        """Open the ledger at an address, or create it if it does not exist.

        Parameters
        ----------
        place : str or Path
            A path, or a ``postgresql://`` URL.

        Returns
        -------
        Ledger
            A handle on the ledger.
        """
        ledger = cls(normalise_location(place))
        store_at(ledger.place).create()
        return ledger

    def for_dataset(self, name: str) -> "Ledger":
        """Return a handle that charges fits without a schema to a dataset.

        Parameters
        ----------
        name : str
            The name of the dataset.

        Returns
        -------
        Ledger
            A handle on the same ledger.
        """
        return replace(self, dataset=checked_name(name))

    def with_note(self, note: str) -> "Ledger":
        """Return a handle that adds a note to the recorded purpose of its charges.

        Parameters
        ----------
        note : str
            One line, such as the file to which a model will be written.

        Returns
        -------
        Ledger
            A handle on the same ledger.
        """
        return replace(self, note=one_line(note, "note"))

    def with_receipts(self, receipts: list[Charge]) -> "Ledger":
        """Return a handle that appends the receipt of every charge to a list.

        Interrupts are delayed until the receipt is listed, so the list is always complete.

        Parameters
        ----------
        receipts : list of Charge
            The list, which is changed in place.

        Returns
        -------
        Ledger
            A handle on the same ledger.
        """
        return replace(self, receipts=receipts)

    def noting(self, note: str) -> "Ledger":
        """Return the result of `with_note`; this old name has been deprecated since 0.2.

        Parameters
        ----------
        note : str
            One line of text.

        Returns
        -------
        Ledger
            A handle on the same ledger.
        """
        message = "Ledger.noting has been renamed Ledger.with_note."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.with_note(note)

    def set_limit(
        self,
        dataset: str,
        limit: Budget,
        *,
        neighbours: Neighbours | str | None = None,
        earlier: Neighbours | str | None = None,
        who: str | None = None,
    ) -> None:
        """Set the spending limit of a dataset; a later limit replaces an earlier one.

        The guarantee for the dataset is its limit, so change the limit only for reasons
        that do not depend on the releases. The kind of budget of the limit cannot change
        once something has been charged.

        Parameters
        ----------
        dataset : str
            The dataset's name.
        limit : Pure, Approx or Zcdp
            The largest total cost of all releases.
        neighbours : {'add-remove', 'replace-one'} or None, default None
            The neighbour relation of the limit. None keeps the relation in force. If there
            is none, the first charge determines it. If the relation changes, the costs of
            earlier charges are computed again. Under replace-one, where the number of rows
            is public, a charge proved under add-remove counts as a removal and an addition.
            Under add-remove, all earlier charges must have been proved under add-remove.
        earlier : {'add-remove', 'replace-one'} or None, default None
            The relation to assume for earlier charges that did not record theirs. By
            default, such charges cost as much under replace-one as charges proved under
            add-remove, and have no guarantee under add-remove.
        who : str or None, default None
            The user to record; by default the login name.

        Raises
        ------
        InvalidParameter
            If more than the new limit has already been spent.
        MixedBudgets
            If earlier charges were counted in another kind of budget.
        """
        name, limit = checked_name(dataset), check_budget(limit)
        wanted, known = relation(neighbours), relation(earlier)
        entry = Entry(
            0, "limit", name, _now(), current_user(who), budget=limit, earlier=known
        )
        with store_at(self.place).writing() as run:
            before = balance_of(run, name)
            spent, kept = before.spent, before.neighbours if wanted is None else wanted
            if spent is not None and spent.kind is not type(limit):
                raise MixedBudgets(
                    f"the limit of {name!r} must remain of type {spent.kind.__name__}, "
                    f"because {spent} is already spent; got {limit!r}."
                )
            moved = kept is not before.neighbours or known is not None
            fresh = _recounted(run, entry, kept) if spent and moved else None
            spent = fresh or spent
            if spent is not None and not spent.within(Amount.of(limit)):
                under = f", for {kept}" if fresh else ""
                raise InvalidParameter(
                    "limit", f"at least what is already spent ({spent}{under})", str(limit)
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
        """Charge a dataset, or raise without spending anything.

        The charge is on disk before this method returns.

        Parameters
        ----------
        dataset : str
            The dataset's name; it must have a limit.
        budget : Pure, Approx or Zcdp
            The cost of the release. If its kind differs from that of the limit, it is
            converted where a theorem allows this, if necessary with the help of ``events``.
        events : sequence of Event, default ()
            The accounting events of the release.
        neighbours : {'add-remove', 'replace-one'} or None, default None
            The neighbour relation under which the guarantee was proved. None is recorded as
            unknown; under a replace-one limit, the charge then costs as much as one that
            was proved under add-remove.
        who : str or None, default None
            The user to record; by default the login name.
        what : str, default ''
            The purpose of the charge.
        status : Status, default Status.PROVED
            How well the guarantee is established. REFUTED is always rejected.
        private : bool, default True
            False if the noise is seeded. The charge counts in either case.

        Returns
        -------
        Charge
            The receipt.

        Raises
        ------
        BudgetExceeded
            If the charge would exceed the limit, or the dataset has no limit.
        MixedBudgets
            If the budget cannot be converted to the kind of the limit.
        MixedNeighbours
            If the neighbour relation of the charge does not imply that of the limit.
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
        """Return the cost of a charge, the new running total, and the rest of the limit."""
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
        """Return the rest of the limit after a possible charge, or raise as `charge` would.

        Nothing is spent or written. The actual charge may cost less if it is made with
        events that are not given here.

        Parameters
        ----------
        dataset : str
            The dataset's name; it must have a limit.
        budget : Pure, Approx or Zcdp
            The cost of the release.
        events : sequence of Event, default ()
            The accounting events of the release.
        neighbours : {'add-remove', 'replace-one'} or None, default None
            The neighbour relation under which the guarantee was proved.

        Returns
        -------
        Amount
            The rest of the limit after the charge.
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
        """Record the release that belongs to a charge, once per charge.

        Parameters
        ----------
        charge : Charge
            The result of `charge`.
        release_hash : str
            The SHA-256 of the release.
        content : str, default ''
            The content of the release, such as the text of a model file. The ledger stores
            this text, so `content` can return it if the file is lost.

        Raises
        ------
        InvalidParameter
            If the charge is not in this ledger, or its release is already recorded.
        """
        if not isinstance(charge, Charge):
            raise InvalidParameter("charge", "a result of ledger.charge", charge)
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
                    "charge",
                    "a charge of this ledger",
                    Described(f"charge {charge.number}"),
                )
            if run("SELECT 1 FROM confide_entries WHERE charge = ?", (charge.number,)):
                raise InvalidParameter(
                    "charge",
                    "one whose release is not yet recorded",
                    Described(f"charge {charge.number}"),
                    "Every release needs its own charge.",
                )
            append(run, entry)
            if content:
                keep_content(run, charge.number, content)

    def enter(self, charge: Charge, release_hash: str, content: str) -> None:
        """Record a release with its content; if that fails, warn with `UnrecordedRelease`.

        A failure raises no exception, because the charge remains and an exception would
        lose the release.

        Parameters
        ----------
        charge : Charge
            The result of `charge`.
        release_hash : str
            The SHA-256 of the release.
        content : str
            The content of the release.
        """
        try:
            self.record(charge, release_hash, content)
        except (ConfideError, MemoryError, OSError) as error:
            message = (
                f"charge {charge.number} is recorded, but the ledger could not record its "
                f"release: {error} Save the release: it cannot be recovered from the "
                "ledger."
            )
            warnings.warn(UnrecordedRelease(message), stacklevel=3)

    def __copy__(self) -> "Ledger":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Ledger":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Ledger, (self.place, self.dataset, self.note)

    def __repr__(self) -> str:
        named = f", {self.dataset!r}" if self.dataset else ""
        return f"Ledger({redacted(self.place)!r}{named})"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _recounted(run: Run, limit: Entry, neighbours: Neighbours | None) -> Amount:
    """Return the total cost of a dataset's charges under the relation of a new limit."""
    if limit.budget is None or neighbours is None:
        raise InvalidParameter(
            "neighbours",
            "given together with 'earlier': neighbours is the relation of the new limit",
            None,
        )
    history = [read_entry(row) for row in rows_of(run, limit.dataset)]
    total = recompute_total(history, limit.budget, neighbours, limit.earlier)
    if total is None:
        raise MixedNeighbours(relation_unavailable(limit.dataset, neighbours))
    return total
