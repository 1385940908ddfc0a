"""A store of rows: it begins, commits and takes back, and knows nothing of budgets.

Every commit is on disk before it returns. One connection serves one place in one process;
its threads take turns, which writers have to do anyway.
"""

import logging
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeAlias

from confide.errors import ConfideError, InvalidParameter, TamperedLedger

Row: TypeAlias = tuple[Any, ...]
Run: TypeAlias = Callable[[str, Sequence[Any]], list[Row]]
"""Runs one statement, with ``?`` for its values, and returns the rows."""

VERSION = 2
LOCK_TIMEOUT_S = 30.0
"""Seconds to wait for another process that is writing."""
FIRST_WORD, NEXT_WORD = 2.0, 5.0
"""Seconds of waiting before it is mentioned, and between mentions."""

_log = logging.getLogger("confide.ledger")

TABLES = (
    "CREATE TABLE confide_meta (version INTEGER PRIMARY KEY, applied TEXT NOT NULL)",
    """CREATE TABLE confide_entries (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('limit', 'charge', 'release')),
        dataset TEXT NOT NULL, at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,
        status TEXT, private INTEGER, budget TEXT, events TEXT, counted TEXT, spent TEXT,
        charge INTEGER REFERENCES confide_entries (number),
        release_hash TEXT, digest TEXT NOT NULL)""",
    "CREATE INDEX confide_latest ON confide_entries (dataset, kind, number)",
    "CREATE UNIQUE INDEX confide_one_release ON confide_entries (charge)",
)
RELATIONS = (
    "ALTER TABLE confide_entries ADD COLUMN neighbours TEXT",
    "ALTER TABLE confide_entries ADD COLUMN earlier TEXT",
)
"""From format 1 to 2: entries say for which neighbours they are."""


class Store(ABC):
    """Transactions on one place; subclasses know one database each."""

    migrations: ClassVar[tuple[tuple[str, ...], ...]]
    """``migrations[v]`` leads from format v to v + 1; format 0 is an empty place."""
    meta_exists: ClassVar[str]

    def __init__(self, place: str) -> None:
        self.place = place
        self.lock = threading.RLock()
        self._connection: Any = None

    def create(self) -> None:
        """Make the place a ledger of the present format, unless it is one already."""
        with self.lock, self._plain_errors():
            self.disconnect()
            self._connect(new=True)

    @contextmanager
    def writing(self) -> Iterator[Run]:
        """Give a transaction that nobody else writes beside, from its first read on."""
        with self._transaction(self._begin_writing) as run:
            yield run

    @contextmanager
    def reading(self) -> Iterator[Run]:
        """Give a transaction that sees one moment and changes nothing."""
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
        """Begin; where an old connection has died meanwhile, once more on a new one."""
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
        """Check the format and bring an older one up to date, all at once or not at all."""
        version = self._version()
        if version == VERSION:
            return
        if version == 0 and not new:
            raise InvalidParameter(
                "place", "a ledger", redacted(self.place), "Make one with Ledger.open."
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
                f"{redacted(self.place)} does not say which format it has: somebody "
                "changed it. Go back to a copy that you trust."
            )
        if version > VERSION:
            raise InvalidParameter(
                "place",
                f"a ledger of format {VERSION} or older",
                f"{redacted(self.place)} of format {version}",
                "A newer confide wrote it: upgrade confide.",
            )
        return version

    def _patiently(self, attempt: Callable[[], Any]) -> Any:
        """Try until it works or `LOCK_TIMEOUT_S` is over, and say so while waiting."""
        start, word = time.monotonic(), FIRST_WORD
        while True:
            try:
                return attempt()
            except self._driver_errors() as error:
                waited = time.monotonic() - start
                if not self._is_busy(error) or waited >= LOCK_TIMEOUT_S:
                    raise
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
                    f"{redacted(self.place)} was held by another process for more than "
                    f"{LOCK_TIMEOUT_S:.0f} s. Nothing was spent. Try again when it is done."
                ) from error
            self.disconnect()
            raise self._explained(error) from error

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


def redacted(place: str) -> str:
    """Return the place without the password it may hold."""
    hidden = re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", place)
    return re.sub(r"([?&]password=)[^&]*", r"\1***", hidden)
