"""Storage of ledgers in SQLite or PostgreSQL.

This module handles transactions and rows, and does not depend on budgets. Every commit is
on disk before it returns. A process has one connection per ledger, which its threads use in
turn, because writers would have to take turns in any case. Connections are closed before a
fork. Otherwise a child process would inherit an open SQLite file and rely on locks that
only the parent holds.
"""

import atexit
import importlib
import logging
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from confide._files import check_regular, file_mode
from confide._interrupts import stop_if_interrupted
from confide.errors import ConfideError, Described, InvalidParameter, TamperedLedger
from confide.ledger.address import redacted, without_secrets
from confide.ledger.formats import POSTGRES, SQLITE, VERSION

Row: TypeAlias = tuple[Any, ...]
Run: TypeAlias = Callable[[str, Sequence[Any]], list[Row]]
"""Function that runs an SQL statement with placeholders ``?`` and returns the rows."""

LOCK_TIMEOUT_S = 30.0
"""Seconds to wait for another process that is writing."""
FIRST_WORD, NEXT_WORD = 2.0, 5.0
"""Seconds of waiting before the first log message, and between later messages."""

_log = logging.getLogger("confide.ledger")


class Store(ABC):
    """Base class for the storage of one ledger, with one subclass per database system."""

    migrations: ClassVar[tuple[tuple[str, ...], ...]]
    """``migrations[v]`` converts format v to v + 1; format 0 is an empty database."""
    meta_exists: ClassVar[str]

    def __init__(self, place: str) -> None:
        self.place = place
        self.lock = threading.RLock()
        self._connection: Any = None

    def create(self) -> None:
        """Create the ledger in the current format, or migrate one of an older format."""
        with self.lock, self._plain_errors():
            self.disconnect()
            self._connect(new=True)

    @contextmanager
    def writing(self) -> Iterator[Run]:
        """Open a transaction that locks out other writers before its first read."""
        with self._transaction(self._begin_writing) as run:
            yield run

    @contextmanager
    def reading(self) -> Iterator[Run]:
        """Open a read-only transaction on a consistent snapshot."""
        with self._transaction(self._begin_reading) as run:
            yield run

    def disconnect(self) -> None:
        """Close the connection; the next transaction opens a new one."""
        with self.lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(*self._driver_errors()):
                    connection.close()

    @contextmanager
    def _transaction(self, begin: Callable[[], None]) -> Iterator[Run]:
        with self.lock, self._plain_errors():
            self._start(begin)
            try:
                yield self._run
                self._run("COMMIT")
            except BaseException:
                self._take_back()
                raise

    def _start(self, begin: Callable[[], None]) -> None:
        """Begin a transaction, with a new connection if the old one is no longer usable."""
        if self._connection is not None and self._is_stale():
            self.disconnect()
        if self._connection is not None:
            try:
                self._patiently(begin)
            except self._driver_errors() as error:
                if self._is_busy(error):
                    raise
                self.disconnect()
            else:
                return
        self._connect(new=False)
        self._patiently(begin)

    def _take_back(self) -> None:
        try:
            if self._in_transaction():
                self._run("ROLLBACK")
        except self._driver_errors():
            self.disconnect()

    def _connect(self, *, new: bool) -> None:
        try:
            self._connection = self._patiently(lambda: self._opened(new=new))
            self._patiently(lambda: self._prepare(new=new))
        except BaseException:
            self.disconnect()
            raise

    def _prepare(self, *, new: bool) -> None:
        """Check the format, and migrate from an older format in a single transaction."""
        version = self._version()
        if version == VERSION:
            return
        if version == 0 and not new:
            raise InvalidParameter(
                "place", "a ledger", redacted(self.place), "Create one with Ledger.open."
            )
        self._begin_writing()
        try:
            for step in range(self._version(), VERSION):
                for statement in self.migrations[step]:
                    self._run(statement)
                now = datetime.now(UTC).isoformat()
                self._run("INSERT INTO confide_meta VALUES (?, ?)", (step + 1, now))
            self._run("COMMIT")
        except BaseException:
            self._take_back()
            raise

    def _version(self) -> int:
        if not self._run(self.meta_exists):
            return 0
        version = self._run("SELECT max(version) FROM confide_meta")[0][0]
        if not isinstance(version, int) or version < 1:
            raise TamperedLedger(
                f"{redacted(self.place)} does not record its format: somebody changed "
                "this ledger. Restore a copy that you trust."
            )
        if version > VERSION:
            raise InvalidParameter(
                "place",
                f"a ledger of format {VERSION} or older",
                Described(f"{redacted(self.place)}, which has format {version}"),
                "It was written by a newer version of confide: upgrade confide.",
            )
        return version

    def _patiently(self, attempt: Callable[[], Any]) -> Any:
        """Retry a call while the ledger is locked; raise after `LOCK_TIMEOUT_S`."""
        start, word = time.monotonic(), FIRST_WORD
        while True:
            try:
                return attempt()
            except self._driver_errors() as error:
                waited = time.monotonic() - start
                if not self._is_busy(error) or waited >= LOCK_TIMEOUT_S:
                    raise
                stop_if_interrupted()
                if waited >= word:
                    word = waited + NEXT_WORD
                    _log.warning(
                        "waiting for %s: another process is writing (%.0f s of %.0f s)",
                        redacted(self.place),
                        waited,
                        LOCK_TIMEOUT_S,
                    )
                time.sleep(0.005)

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except self._driver_errors() as error:
            if self._is_busy(error):
                raise ConfideError(
                    f"{redacted(self.place)} was locked by another process for more than "
                    f"{LOCK_TIMEOUT_S:.0f} s. Nothing was spent. Try again later."
                ) from error
            self.disconnect()
            raise self._explained(error) from error

    @abstractmethod
    def copy_to(self, path: Path) -> None:
        """Write a copy of the current state of the ledger to a new file."""

    @abstractmethod
    def _opened(self, *, new: bool) -> Any: ...
    @abstractmethod
    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[Row]: ...
    @abstractmethod
    def _begin_writing(self) -> None: ...
    @abstractmethod
    def _begin_reading(self) -> None: ...
    @abstractmethod
    def _in_transaction(self) -> bool: ...
    @abstractmethod
    def _is_stale(self) -> bool: ...
    @abstractmethod
    def _is_busy(self, error: Exception) -> bool: ...
    @abstractmethod
    def _explained(self, error: Exception) -> ConfideError: ...
    @abstractmethod
    def _driver_errors(self) -> tuple[type[Exception], ...]: ...


SQLITE_TIMEOUT_S = 0.02
"""SQLite's own timeout in seconds, short because its waits grow with every attempt."""


class SqliteStore(Store):
    """Storage in a SQLite file with a write-ahead log that is flushed at every commit.

    The file must be on a local disk: SQLite's locks are not reliable over a network.
    """

    migrations = SQLITE
    meta_exists = "SELECT 1 FROM sqlite_master WHERE name = 'confide_meta'"

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self._identity: tuple[int, int] | None = None

    def _opened(self, *, new: bool) -> Any:
        path = Path(self.place)
        if path.exists():
            check_regular(path, "place")
            self._refuse_second_name()
        elif not new:
            raise ConfideError(
                f"the ledger {self.place} no longer exists. Restore it, or create a new "
                "one with Ledger.open if nothing was ever released from its datasets."
            )
        else:
            with suppress(OSError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, file_mode()))
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
            # Then a copy of the file is complete, except while another process writes.
            connection.execute("PRAGMA wal_autocheckpoint = 1")
        except BaseException:
            connection.close()
            raise
        self._identity = self._file_identity()
        return connection

    def copy_to(self, path: Path) -> None:
        """Copy the ledger by SQLite's backup API, including the write-ahead log."""
        if path.exists() or not path.parent.is_dir():
            raise InvalidParameter("backup", "a new file in an existing folder", str(path))
        with self.reading(), suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, file_mode()))
            with closing(sqlite3.connect(path)) as copy:
                self._connection.backup(copy)

    def _refuse_other_content(self, connection: sqlite3.Connection) -> None:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        if names and "confide_meta" not in names:
            raise InvalidParameter(
                "place",
                "a ledger or a new file",
                self.place,
                "It is a database, but not a ledger.",
            )

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            found = Path(self.place).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _is_stale(self) -> bool:
        """Return whether the file was removed or replaced since it was opened."""
        return self._identity != self._file_identity()

    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        return list(self._connection.execute(statement, values))

    def _refuse_second_name(self) -> None:
        """Raise if the file has a second name (hard link), to rule out double spending."""
        try:
            names = Path(self.place).stat().st_nlink
        except OSError:
            return  # The next read reports that the file is missing.
        if names > 1:
            raise InvalidParameter(
                "place",
                "a file with one name",
                self.place,
                "It has a second name (a hard link), under which the same budget could be "
                "spent again. Remove one of the two. Nothing was spent.",
            )

    def _begin_writing(self) -> None:
        self._refuse_second_name()
        self._run("BEGIN IMMEDIATE")

    def _begin_reading(self) -> None:
        self._run("BEGIN")
        try:
            self._version()  # The snapshot is taken at the first read.
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
                "place", "a ledger or a new file", where, "It is not a database."
            )
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, 0}:
            return TamperedLedger(
                f"{where} is damaged ({error}). Restore a copy that you trust, and record "
                "in it what was spent since."
            )
        return ConfideError(
            f"{where} cannot be used ({error}). Nothing was spent. The ledger must "
            "be in an existing folder with write permission, on a disk with free space."
        )

    def _driver_errors(self) -> tuple[type[Exception], ...]:
        # Python cannot decode SQLite's messages about some damaged files.
        return (sqlite3.Error, UnicodeDecodeError)


class PostgresStore(Store):
    """Storage in a PostgreSQL database, through psycopg 3."""

    migrations = POSTGRES
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
            self.place,
            autocommit=True,
            connect_timeout=int(LOCK_TIMEOUT_S),
            client_encoding="utf8",
        )
        connection.execute(f"SET lock_timeout TO '{FIRST_WORD:.0f}s'")
        connection.execute("SET synchronous_commit TO on")
        return connection

    def copy_to(self, path: Path) -> None:
        """Raise an error, because databases are copied with the tools of the server."""
        raise InvalidParameter(
            "backup",
            "of a ledger that is stored in a file",
            redacted(self.place),
            "Use pg_dump to copy a database.",
        )

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
        reason, where = (
            without_secrets(str(error).strip(), self.place),
            redacted(self.place),
        )
        if getattr(error, "sqlstate", None) in {"42P01", "42703"}:
            return TamperedLedger(
                f"{where} is damaged ({reason}). Restore a copy that you trust, and record "
                "in it what was spent since."
            )
        return ConfideError(
            f"{where} cannot be used ({reason}). If the connection broke while a charge "
            "was being written, check ledger.entries(): the charge may have been recorded."
        )

    def _driver_errors(self) -> tuple[type[Exception], ...]:
        return (self._driver.Error,)


_stores: dict[str, Store] = {}
_stores_lock = threading.RLock()


def store_at(place: str) -> Store:
    """Return the `Store` for an address; a process has only one per address."""
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
