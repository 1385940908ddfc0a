"""Comparison of a model file with the ledger that records it."""

import hashlib
from pathlib import Path
from typing import Any

from confide.errors import ConfideError, InvalidParameter
from confide.estimators._load import read_record
from confide.estimators._model_file import canonical, kept_text
from confide.ledger import Entry, Ledger
from confide.ledger.chain import read_anchor


def check_booked(path: str | Path, ledger: Ledger) -> Entry:
    """Check a model file against the ledger to which its fit was charged.

    A file that was changed after its fit, for example in its budget or its units, does not
    have the recorded hash.

    Parameters
    ----------
    path : str or Path
        Model file.
    ledger : Ledger
        Ledger to which the fit was charged.

    Returns
    -------
    Entry
        Entry of the release in the ledger.

    Raises
    ------
    InvalidParameter
        The ledger has no such release, or the file was changed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from confide import Boolean, Ledger, LogisticRegression, Pure, Schema, Target
    >>> from confide.estimators import check_booked
    >>> table = pd.DataFrame({"smoker": [True, False] * 50, "ill": [1, 0] * 50})
    >>> schema = Schema([Boolean("smoker")], Target("ill", labels=(0, 1)), name="clinic")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     book, path = Ledger.open(f"{folder}/book.db"), Path(folder, "model.json")
    ...     book.set_limit("clinic", Pure(3))
    ...     LogisticRegression(Pure(1), schema=schema, ledger=book).fit(table).save(path)
    ...     entry = check_booked(path, book)
    >>> entry.kind
    'release'

    The file is exactly the release that the ledger recorded.
    """
    record = read_record(Path(path))
    entry = _entry(record, ledger)
    if entry is None:
        raise InvalidParameter(
            "model file",
            "recorded in this ledger",
            str(path),
            "It was fitted without this ledger, or changed afterwards, so its guarantee "
            "cannot be confirmed.",
        )
    if entry.content_hash is not None and entry.content_hash != _kept_hash(record):
        raise InvalidParameter(
            "model file",
            f"as recorded in entry {entry.number} of this ledger",
            str(path),
            "It was changed after the fit. Restore the recorded model with: confide "
            f"recover LEDGER --charge {entry.charge} --out FILE",
        )
    return entry


def _entry(record: dict[str, Any], ledger: Ledger) -> Entry | None:
    """Return the ledger entry of the release in a file, or of an equal release."""
    if record.get("anchor") is not None:
        try:
            number, digest = read_anchor(record["anchor"])
            found = ledger.release(number)
        except ConfideError:
            return None
        return found if ledger.entry(number).digest.startswith(digest) else None
    try:
        own = _sha256(canonical(record["release"]))
    except (KeyError, ValueError, RecursionError):
        return None
    same = (entry for entry in ledger.entries() if entry.release_hash == own)
    return next(same, None)


def _kept_hash(record: dict[str, Any]) -> str:
    """Return the hash of a file, or "" if JSON cannot represent its numbers."""
    try:
        return _sha256(kept_text(record))
    except (ValueError, RecursionError):
        return ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()
