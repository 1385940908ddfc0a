"""SQLite file with the results of finished cells, each written to disk immediately."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confide.errors import ConfideError

FILE_NAME: Final = "results.db"
LOCK_TIMEOUT_S: Final = 60.0
"""Maximum wait for another process that is writing to the same file, in seconds."""

_TABLE: Final = """CREATE TABLE IF NOT EXISTS confide_grids (
    grid TEXT NOT NULL, version INTEGER NOT NULL, library TEXT NOT NULL,
    cell TEXT NOT NULL, rows TEXT NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (grid, version, library, cell))"""
_EDITION: Final = "grid = ? AND version = ? AND library = ?"


@dataclass(frozen=True, slots=True)
class Edition:
    """Name of a grid, version of its study, and version of confide.

    Results are reused only if all three agree.
    """

    grid: str
    version: int
    library: str

    def values(self) -> tuple[str, int, str]:
        """Return the three values in the order of the parameters in SQL queries."""
        return self.grid, self.version, self.library


@dataclass(frozen=True, slots=True)
class Stored:
    """The result rows of a finished cell as JSON, and its processor time in seconds."""

    rows: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Results:
    """Results of the finished cells of one grid, study version and version of confide.

    Several processes may use the same file.
    """

    connection: sqlite3.Connection
    edition: Edition

    def add(self, key: str, stored: Stored) -> None:
        """Store the result of a cell, unless another process has already stored one."""
        self.connection.execute(
            "INSERT OR IGNORE INTO confide_grids VALUES (?, ?, ?, ?, ?, ?)",
            (*self.edition.values(), key, stored.rows, stored.seconds),
        )

    def all(self) -> dict[str, Stored]:
        """Return the results of all finished cells, by the key of the cell."""
        found = self.connection.execute(
            f"SELECT cell, rows, seconds FROM confide_grids WHERE {_EDITION}",  # noqa: S608
            self.edition.values(),
        )
        return {key: Stored(rows, seconds) for key, rows, seconds in found}


@contextmanager
def opened(folder: Path, edition: Edition) -> Iterator[Results]:
    """Open the results file in a folder; create the folder and the file if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / FILE_NAME
    try:
        connection = sqlite3.connect(place, timeout=LOCK_TIMEOUT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(_TABLE)
            yield Results(connection, edition)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ConfideError(
            f"{place} must hold results of studies, in a writable folder on a disk with "
            f"free space; SQLite reports: {error}. Choose another folder, or move the file "
            "away."
        ) from error
