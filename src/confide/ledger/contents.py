"""Content of releases, stored so that lost files can be restored.

A release is public, so the ledger reveals no more than the file. The content is compressed
and stored in a separate table. The entry of the release holds the SHA-256 of the content.
"""

import base64
import binascii
import hashlib
import zlib

from confide._files import MOST_UNPACKED, size_limit
from confide.errors import InvalidParameter, TamperedLedger
from confide.ledger.balance import COLUMNS, Entry, checked_entry
from confide.ledger.storage import Run

MOST_PACKED = 2**26
"""Largest compressed length of content to store; above it only the hash is recorded."""


def content_hash(content: str) -> str:
    """Return the SHA-256 of the content of a release, encoded in UTF-8."""
    return hashlib.sha256(content.encode()).hexdigest()


def keep_content(run: Run, charge: int, content: str) -> None:
    """Store the content of the release of a charge, unless it is too long."""
    packed = base64.b64encode(zlib.compress(content.encode(), 6)).decode("ascii")
    if len(packed) <= MOST_PACKED:
        run("INSERT INTO confide_releases VALUES (?, ?)", (charge, packed))


def release_entry(run: Run, charge: int) -> Entry:
    """Return the entry that records the release of a charge."""
    columns = ", ".join(COLUMNS)
    rows = run(f"SELECT {columns} FROM confide_entries WHERE charge = ?", (charge,))  # noqa: S608 - the value is bound
    if not rows:
        raise InvalidParameter(
            "charge",
            "one whose release is recorded",
            charge,
            "To list the numbers of all charges, run: confide budget LEDGER --entries",
        )
    return checked_entry(run, rows[0])


def kept_content(run: Run, charge: int) -> str:
    """Return the content of the release of a charge, checked against the recorded hash."""
    entry = release_entry(run, charge)
    found = run("SELECT content FROM confide_releases WHERE charge = ?", (charge,))
    if not found:
        raise InvalidParameter(
            "charge",
            "one whose release is stored in this ledger",
            charge,
            "It was recorded by an earlier version or by hand, or is too large to store.",
        )
    try:
        content = _unpacked(found[0][0])
    except (binascii.Error, zlib.error, ValueError, TypeError):
        content = ""
    if content_hash(content) != entry.content_hash:
        raise TamperedLedger(
            f"the release stored for charge {charge} differs from what was recorded: "
            "somebody changed this ledger. Restore a copy that you trust."
        )
    return content


def kept_charges(run: Run) -> tuple[int, ...]:
    """Return the numbers of the charges whose releases are stored."""
    rows = run("SELECT charge FROM confide_releases ORDER BY charge", ())
    if not all(isinstance(row[0], int) for row in rows):
        raise TamperedLedger(
            "this ledger contains a release without the charge that paid for it: the file "
            "is damaged, or somebody changed it. Restore a copy that you trust."
        )
    return tuple(row[0] for row in rows)


def _unpacked(text: str) -> str:
    most = size_limit(MOST_UNPACKED)
    unpack = zlib.decompressobj()
    content = unpack.decompress(base64.b64decode(text, validate=True), most)
    if not unpack.eof:
        raise ValueError("longer than allowed")
    return content.decode()
