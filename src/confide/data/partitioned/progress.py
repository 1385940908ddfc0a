"""Progress of repeated passes over a table, for the data holder only.

The number of passes depends on private data. Progress is displayed during a fit, but not
stored.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Pass:
    """Progress of the current pass over a table: rows read, expected total, and time.

    Parameters
    ----------
    number : int
        Number of the pass, starting from 1.
    rows : int
        Number of rows read so far.
    expected : int or None
        Number of rows in a whole pass, if known.
    seconds : float
        Time since the beginning of the pass.
    over : bool, default=False
        Whether the pass is finished.

    Examples
    --------
    >>> from confide.data import Pass
    >>> sweep = Pass(number=2, rows=500, expected=1000, seconds=0.1)
    >>> f"sweep {sweep.number}: {sweep.rows} of {sweep.expected} rows"
    'sweep 2: 500 of 1000 rows'
    """

    number: int
    rows: int
    expected: int | None
    seconds: float
    over: bool = False


Watch: TypeAlias = Callable[[Pass], None]


@dataclass(slots=True)
class _Watched:
    watch: Watch
    sweeps: int = 0


_watched: ContextVar[_Watched | None] = ContextVar("watched", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Report progress during passes over tables that are not in memory.

    Use this context manager in a ``with`` statement around a fit. The number of passes
    depends on private data, so the progress must be shown to the data holder only.

    Parameters
    ----------
    watch : callable
        Function that is called with a `Pass` from time to time.

    Yields
    ------
    None
        No value.

    Examples
    --------
    >>> from confide.data import watching
    >>> seen = []
    >>> with watching(seen.append):
    ...     pass  # a fit on files
    >>> seen
    []
    """
    token = _watched.set(_Watched(watch))
    try:
        yield
    finally:
        _watched.reset(token)


@dataclass(slots=True)
class PassCounter:
    """Thread-safe counter of the rows in one pass over a table."""

    expected: int | None
    _watched: _Watched | None = None
    _rows: int = 0
    _started: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def start(cls, expected: int | None) -> "PassCounter":
        """Begin a pass."""
        watched = _watched.get()
        if watched is not None:
            watched.sweeps += 1
        meter = cls(expected, watched)
        meter._tell(over=False)
        return meter

    def add(self, rows: int) -> None:
        """Add rows to the count."""
        with self._lock:
            self._rows += rows
        self._tell(over=False)

    def stop(self) -> None:
        """End the pass."""
        self._tell(over=True)

    def _tell(self, *, over: bool) -> None:
        found = self._watched
        if found is not None:
            spent = time.monotonic() - self._started
            found.watch(Pass(found.sweeps, self._rows, self.expected, spent, over))
