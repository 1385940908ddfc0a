"""Progress of repeated sweeps over a table, visible to the data holder only.

How many sweeps a fit takes depends on the rows: it is shown to the holder while they wait
and kept nowhere.
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
    """Progress of the current sweep: rows read, expected total, and time.

    Parameters
    ----------
    number : int
        Number of the sweep.
    rows : int
        Rows read so far.
    expected : int or None
        Rows that a whole sweep reads, if known.
    seconds : float
        Time since the beginning of the sweep.
    over : bool, default=False
        Whether the sweep is finished.

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
    """Call a function during sweeps over tables that are not in memory.

    The number of sweeps depends on the data: what the function shows is for the data holder
    only.

    Parameters
    ----------
    watch : callable
        Receives a `Pass` from time to time.

    Yields
    ------
    None
        Nothing; use it in a ``with`` statement around the fit.

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
    """Counts the rows of one sweep; threads may add to it."""

    expected: int | None
    _watched: _Watched | None = None
    _rows: int = 0
    _started: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def start(cls, expected: int | None) -> "PassCounter":
        """Begin a sweep."""
        watched = _watched.get()
        if watched is not None:
            watched.sweeps += 1
        meter = cls(expected, watched)
        meter._tell(over=False)
        return meter

    def add(self, rows: int) -> None:
        """Count rows."""
        with self._lock:
            self._rows += rows
        self._tell(over=False)

    def stop(self) -> None:
        """End the sweep."""
        self._tell(over=True)

    def _tell(self, *, over: bool) -> None:
        found = self._watched
        if found is not None:
            spent = time.monotonic() - self._started
            found.watch(Pass(found.sweeps, self._rows, self.expected, spent, over))
