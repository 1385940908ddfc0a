"""Finished cells in a SQLite file; each is on disk before the next is begun."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confide.errors import ConfideError

FILE_NAME: Final = "results.db"
LOCK_TIMEOUT_S: Final = 60.0
"""Seconds to wait for another runner that is writing to the same file."""

_TABLE: Final = """CREATE TABLE IF NOT EXISTS confide_grids (
    grid TEXT NOT NULL, version INTEGER NOT NULL, library TEXT NOT NULL,
    cell TEXT NOT NULL, rows TEXT NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (grid, version, library, cell))"""
_EDITION: Final = "grid = ? AND version = ? AND library = ?"


@dataclass(frozen=True, slots=True)
class Edition:
    """What results must have in common to stand in one table."""

    grid: str
    version: int
    library: str

    def values(self) -> tuple[str, int, str]:
        """Return what the database is asked for."""
        return self.grid, self.version, self.library


@dataclass(frozen=True, slots=True)
class Stored:
    """The rows of a finished cell, as text, and the processor time they took."""

    rows: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Results:
    """The finished cells of one edition. Several runners may share a file."""

    connection: sqlite3.Connection
    edition: Edition

    def add(self, key: str, stored: Stored) -> None:
        """Keep a cell; where another runner was first, its result stays."""
        self.connection.execute(
            "INSERT OR IGNORE INTO confide_grids VALUES (?, ?, ?, ?, ?, ?)",
            (*self.edition.values(), key, stored.rows, stored.seconds),
        )

    def all(self) -> dict[str, Stored]:
        """Return every finished cell by its key."""
        found = self.connection.execute(
            f"SELECT cell, rows, seconds FROM confide_grids WHERE {_EDITION}",  # noqa: S608
            self.edition.values(),
        )
        return {key: Stored(rows, seconds) for key, rows, seconds in found}


@contextmanager
def opened(folder: Path, edition: Edition) -> Iterator[Results]:
    """Open the results in a folder, making both where they are not there yet."""
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
            f"{place} must hold results of studies, in a folder that can be written to, on "
            f"a disk with room left; SQLite says: {error}. Choose another folder, or move "
            "the file away."
        ) from error
