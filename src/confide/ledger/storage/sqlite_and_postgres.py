"""The two databases that can hold a ledger, and this process's connections to them.

Connections are closed before a fork, so that no child inherits a half-open SQLite file:
its copy of SQLite would believe in locks that only the parent holds.
"""

import atexit
import importlib
import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confide.errors import ConfideError, InvalidParameter, TamperedLedger
from confide.ledger.storage.base import (
    FIRST_WORD,
    LOCK_TIMEOUT_S,
    RELATIONS,
    TABLES,
    Row,
    Store,
    redacted,
)

_SQLITE_TRIGGERS = (
    """CREATE TRIGGER confide_no_update BEFORE UPDATE ON confide_entries BEGIN
        SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER confide_no_delete BEFORE DELETE ON confide_entries BEGIN
        SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER confide_no_replace BEFORE INSERT ON confide_entries
        WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM confide_entries) BEGIN
        SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
)
_POSTGRES_TRIGGERS = (
    """CREATE FUNCTION confide_append_only() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$""",
    """CREATE TRIGGER confide_no_change BEFORE UPDATE OR DELETE OR TRUNCATE
        ON confide_entries FOR EACH STATEMENT EXECUTE FUNCTION confide_append_only()""",
)


SQLITE_TIMEOUT_S = 0.02
"""Seconds that SQLite itself waits: it would sleep ever longer while others overtake."""


class SqliteStore(Store):
    """A SQLite file with a write-ahead log that is flushed at every commit.

    The file must lie on a local disk: SQLite's locks are not reliable over a network.
    """

    migrations = ((*TABLES, *_SQLITE_TRIGGERS), RELATIONS)
    meta_exists = "SELECT 1 FROM sqlite_master WHERE name = 'confide_meta'"

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self._identity: tuple[int, int] | None = None

    def _opened(self, *, new: bool) -> Any:
        if not new and not Path(self.place).exists():
            raise ConfideError(
                f"the ledger {self.place} is gone. Put it back, or start a new one with "
                "Ledger.open if nothing was ever released from its datasets."
            )
        connection = sqlite3.connect(
            f"{Path(self.place).as_uri()}?mode={'rwc' if new else 'rw'}",
            uri=True,
            timeout=SQLITE_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._refuse_other_content(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        self._identity = self._file_identity()
        return connection

    def _refuse_other_content(self, connection: sqlite3.Connection) -> None:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        if names and "confide_meta" not in names:
            raise InvalidParameter(
                "place", "a ledger or a new file", self.place, "It is another database."
            )

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            found = Path(self.place).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _is_stale(self) -> bool:
        """Say whether another file, or none, lies where the open one lay."""
        return self._identity != self._file_identity()

    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        return list(self._connection.execute(statement, values))

    def _begin_writing(self) -> None:
        self._run("BEGIN IMMEDIATE")

    def _begin_reading(self) -> None:
        self._run("BEGIN")
        try:
            self._version()  # the first look decides which moment is seen
        except BaseException:
            self._take_back()
            raise

    def _in_transaction(self) -> bool:
        return self._connection is not None and bool(self._connection.in_transaction)

    def _is_busy(self, error: Exception) -> bool:
        return _sqlite_code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}

    def _explained(self, error: Exception) -> ConfideError:
        code, where = _sqlite_code(error), self.place
        if code == sqlite3.SQLITE_NOTADB:
            return InvalidParameter(
                "place", "a ledger or a new file", where, "Its content is something else."
            )
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, 0}:
            return TamperedLedger(
                f"{where} is damaged ({error}). Go back to a copy that you trust, and add "
                "what was spent since."
            )
        return ConfideError(
            f"{where} cannot be used ({error}). Nothing was spent. It must lie in a folder "
            "that exists and that you may write to, on a disk with room left."
        )

    def _driver_errors(self) -> tuple[type[Exception], ...]:
        # Python cannot decode what SQLite says about some damaged files.
        return (sqlite3.Error, UnicodeDecodeError)


class PostgresStore(Store):
    """A PostgreSQL database, through psycopg 3."""

    migrations = ((*TABLES, *_POSTGRES_TRIGGERS), RELATIONS)
    meta_exists = """SELECT 1 FROM pg_catalog.pg_class
        WHERE relname = 'confide_meta' AND pg_catalog.pg_table_is_visible(oid)"""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        try:
            self._driver: Any = importlib.import_module("psycopg")
        except ImportError as error:
            raise ConfideError(
                "a ledger on PostgreSQL needs psycopg 3, which is not installed. "
                "Install it with: pip install 'confide[postgres]'"
            ) from error

    def _opened(self, *, new: bool) -> Any:
        connection = self._driver.connect(
            self.place, autocommit=True, connect_timeout=int(LOCK_TIMEOUT_S)
        )
        connection.execute(f"SET lock_timeout TO '{FIRST_WORD:.0f}s'")
        connection.execute("SET synchronous_commit TO on")
        return connection

    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(statement.replace("?", "%s"), values)
        return list(cursor.fetchall()) if cursor.description else []

    def _begin_writing(self) -> None:
        self._run("BEGIN ISOLATION LEVEL READ COMMITTED")
        try:
            self._run("SELECT pg_advisory_xact_lock(hashtext('confide ledger'))")
        except BaseException:
            self._take_back()
            raise

    def _begin_reading(self) -> None:
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _in_transaction(self) -> bool:
        idle = self._driver.pq.TransactionStatus.IDLE
        return (
            self._connection is not None
            and self._connection.info.transaction_status != idle
        )

    def _is_stale(self) -> bool:
        return bool(self._connection.closed)

    def _is_busy(self, error: Exception) -> bool:
        return isinstance(error, self._driver.errors.LockNotAvailable)

    def _explained(self, error: Exception) -> ConfideError:
        reason, where = str(error).strip(), redacted(self.place)
        if getattr(error, "sqlstate", None) in {"42P01", "42703"}:
            return TamperedLedger(
                f"{where} is damaged ({reason}). Go back to a copy that you trust, and add "
                "what was spent since."
            )
        return ConfideError(
            f"{where} cannot be used ({reason}). If the connection broke while a charge "
            "was being written, look at ledger.entries(): it may count."
        )

    def _driver_errors(self) -> tuple[type[Exception], ...]:
        return (self._driver.Error,)


_stores: dict[str, Store] = {}
_stores_lock = threading.RLock()


def store_at(place: str) -> Store:
    """Return this process's store for a place."""
    with _stores_lock:
        if place not in _stores:
            remote = place.startswith("postgresql://")
            _stores[place] = PostgresStore(place) if remote else SqliteStore(place)
        return _stores[place]


def _sqlite_code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _before_fork() -> None:
    _stores_lock.acquire()
    for store in _stores.values():
        store.lock.acquire()
        store.disconnect()


def _after_fork() -> None:
    for store in _stores.values():
        store.lock.release()
    _stores_lock.release()


def _close_all() -> None:
    for store in list(_stores.values()):
        store.disconnect()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
atexit.register(_close_all)
