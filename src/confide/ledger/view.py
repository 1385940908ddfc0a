"""Read access to a ledger: accounts, entries, releases and verification."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.errors import (
    InvalidParameter,
    TamperedLedger,
)
from confide.ledger.accounts import Account
from confide.ledger.address import normalise_location
from confide.ledger.amounts import Amount
from confide.ledger.balance import (
    Entry,
    all_rows,
    balance_of,
    head,
    known_datasets,
    numbered_entry,
    read_entry,
)
from confide.ledger.chain import ChainVerifier, anchor_text, check_anchor, read_anchor
from confide.ledger.contents import (
    kept_charges,
    kept_content,
    release_entry,
)
from confide.ledger.requests import (
    checked_name,
    no_limit,
)
from confide.ledger.storage import store_at


@dataclass(frozen=True, slots=True)
class LedgerView:
    """Read-only access to the ledger at an address."""

    place: str

    def close(self) -> None:
        """Close this process's connection; a later use of the handle opens a new one."""
        store_at(self.place).disconnect()

    def content(self, charge: int) -> str:
        """Return the stored content of the release of a charge.

        Parameters
        ----------
        charge : int
            The number of the charge.

        Returns
        -------
        str
            The content, such as the text of a model file.
        """
        with store_at(self.place).reading() as run:
            return kept_content(run, _number(charge))

    def kept(self) -> tuple[int, ...]:
        """Return the numbers of the charges for which the ledger stores a release.

        Returns
        -------
        tuple of int
            The numbers, in increasing order.
        """
        with store_at(self.place).reading() as run:
            return kept_charges(run)

    def entry(self, number: int) -> Entry:
        """Return one entry.

        Parameters
        ----------
        number : int
            The number of the entry.

        Returns
        -------
        Entry
            The entry.
        """
        with store_at(self.place).reading() as run:
            return numbered_entry(run, _number(number))

    def release(self, charge: int) -> Entry:
        """Return the entry that records the release of a charge.

        Parameters
        ----------
        charge : int
            The number of the charge.

        Returns
        -------
        Entry
            The entry.
        """
        with store_at(self.place).reading() as run:
            return release_entry(run, _number(charge))

    def account(self, dataset: str) -> Account:
        """Return the limit of a dataset, the amount spent, and the remainder.

        Parameters
        ----------
        dataset : str
            The dataset's name; it must have a limit.

        Returns
        -------
        Account
            The state of the budget of the dataset.

        Raises
        ------
        InvalidParameter
            If the dataset has no limit.
        """
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
        """Return the names of all datasets.

        Returns
        -------
        tuple of str
            The names, sorted.
        """
        with store_at(self.place).reading() as run:
            return known_datasets(run)

    def entries(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """Return the entries of one dataset or of all.

        Parameters
        ----------
        dataset : str or None, default None
            The dataset's name; None for all.

        Returns
        -------
        tuple of Entry
            The entries, oldest first.
        """
        with store_at(self.place).reading() as run:
            rows = all_rows(run)
        found = (read_entry(row) for row in rows)
        return tuple(e for e in found if dataset is None or e.dataset == dataset)

    def digest(self) -> str:
        """Return the digest of the last entry, which covers all entries.

        If this digest is written down elsewhere, even the loss of the last entries can be
        detected later, because the digest must still be among those of `entries`.

        Returns
        -------
        str
            A SHA-256 in hexadecimal.
        """
        with store_at(self.place).reading() as run:
            return head(run)[1]

    def anchor(self) -> str:
        """Return the number and digest of the last entry, to be written down elsewhere.

        `since` checks later whether the ledger still contains the same entries.

        Returns
        -------
        str
            The anchor.
        """
        with store_at(self.place).reading() as run:
            return anchor_text(*head(run))

    def since(self, anchor: str) -> tuple[Entry, ...]:
        """Verify the whole ledger, and return the entries after that of an anchor.

        Parameters
        ----------
        anchor : str
            An earlier result of `anchor`.

        Returns
        -------
        tuple of Entry
            The later entries, oldest first.

        Raises
        ------
        TamperedLedger
            If the ledger no longer contains the entries that the anchor covers. It is then
            another ledger, or was restored from an older copy that lacks later charges.
        """
        number, digest = read_anchor(anchor)
        self.verify()
        with store_at(self.place).reading() as run:
            entries = [read_entry(row) for row in all_rows(run)]
        check_anchor(number, digest, entries)
        return tuple(entries[number:])

    def backup(self, path: str | Path) -> str:
        """Write a complete copy of a ledger that is stored in a file.

        Unlike the file alone, the copy includes entries that are still in SQLite's
        write-ahead log. Never charge a copy: the ledger would have no record of the charge.

        Parameters
        ----------
        path : str or Path
            The file to write.

        Returns
        -------
        str
            The anchor of the copy.
        """
        store_at(self.place).copy_to(Path(path))
        twin = LedgerView(normalise_location(path))
        twin.verify()
        anchor = twin.anchor()
        twin.close()
        return anchor

    def verify(self) -> int:
        """Verify the ledger by recomputing every digest and running total.

        This cannot detect that the last entries were removed, or that the whole ledger was
        rewritten. To detect such changes, write down `digest` from time to time.

        Returns
        -------
        int
            The number of entries.

        Raises
        ------
        TamperedLedger
            At the first entry that is inconsistent with the entries before it.
        """
        audit = ChainVerifier()
        with store_at(self.place).reading() as run:
            rows = all_rows(run)
            for row in rows:
                audit.take(row)
            for name, found in audit.standings.items():
                if balance_of(run, name) != found:
                    raise TamperedLedger(f"the index of {name!r} omits entries.")
        return len(rows)


def _number(charge: Any) -> int:
    if isinstance(charge, bool) or not isinstance(charge, int) or not 0 < charge < 2**31:
        raise InvalidParameter("charge", "the number of a charge", charge)
    return charge
