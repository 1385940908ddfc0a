"""Sweeps over a table on standard error: a bar, or lines where there is no terminal.

How many sweeps a fit takes depends on the data. It is for the eyes of whoever holds them:
it goes to no model file and to no JSON.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from confide.cli.study_progress import BETWEEN_LINES, format_duration, live_display
from confide.data.partitioned.progress import Pass, watching

SMOOTHING_WEIGHT = 0.5
"""Seconds after which the speed of a sweep is taken from itself, not from the last one."""
MILLION = 10**6


@dataclass(slots=True)
class SweepBar:
    """Shows the sweep at work; ``at_first`` is said before the first one begins.

    ``once`` names what is done to a table that is walked one time only.
    """

    console: Console
    at_first: str
    once: str = ""
    latest: Pass | None = None
    whole: int | None = None
    pace: float | None = None
    born: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    printed: float = field(default_factory=time.monotonic)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Watch sweeps for a while; a bar on a terminal leaves no trace."""
        with watching(self.watch):
            if not self.console.is_terminal:
                yield
                return
            with live_display(self.console, self.picture):
                yield

    def watch(self, sweep: Pass) -> None:
        """Take note of how far a sweep is."""
        now = time.monotonic()
        self.latest, self.heard = sweep, now
        if sweep.over and sweep.rows:
            self.whole, self.pace = sweep.rows, sweep.rows / max(sweep.seconds, 1e-9)
        if not self.console.is_terminal and now >= self.printed + BETWEEN_LINES:
            self.printed = now
            parts = ", ".join(filter(None, (self.rows(), self.speed(), self.left())))
            self.console.print(Text(f"{self.name()}: {parts}"), soft_wrap=True)

    def picture(self) -> Table:
        """Return the bar as it is now."""
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_row(
            Text(self.name(), no_wrap=True), self.bar(), Text(self.speed(), no_wrap=True)
        )
        past = f"{format_duration(time.monotonic() - self.born)} since the start"
        parts = ", ".join(filter(None, (self.rows(), self.left())))
        below = "; ".join(filter(None, (parts, past)))
        whole = Table.grid()
        whole.add_row(line)
        whole.add_row(Text(below, style="dim", overflow="ellipsis", no_wrap=True))
        return whole

    def name(self) -> str:
        """Return what goes on."""
        if self.latest is None:
            return self.at_first
        return self.once or f"sweep {self.latest.number}"

    def bar(self) -> ProgressBar:
        """Return how far this sweep is; where nobody can know, something that moves."""
        sweep, total = self.latest, self.total()
        if sweep is None or total is None or not sweep.rows:
            return ProgressBar(total=1, pulse=True, width=30)
        return ProgressBar(total=total, completed=sweep.rows, width=30)

    def total(self) -> int | None:
        """Return about how many rows a sweep has: as many as the last one had."""
        if self.latest is None:
            return None
        found = self.whole or self.latest.expected
        return None if found is None else max(found, self.latest.rows)

    def rows(self) -> str:
        """Return how many rows were read, of how many."""
        sweep, total = self.latest, self.total()
        if sweep is None or not (sweep.rows or total):
            return ""
        if sweep.over or total is None:
            return f"{sweep.rows:,} rows"
        if not sweep.rows:
            return f"{total:,} rows"
        about = "" if self.whole else "about "
        return f"{sweep.rows:,} of {about}{total:,} rows"

    def speed(self) -> str:
        """Return rows in a second: of this sweep, or of the last one at first."""
        pace = self._pace()
        return "" if pace is None else in_a_second(pace)

    def left(self) -> str:
        """Return how long this sweep may still take; else how long it takes already."""
        sweep, pace, total = self.latest, self._pace(), self.total()
        if sweep is None or sweep.over:
            return ""
        since = time.monotonic() - self.heard
        if pace is None or total is None or not sweep.rows:
            return f"{format_duration(sweep.seconds + since)} in this sweep"
        rest = (total - sweep.rows) / pace - since
        words = f"{format_duration(rest) if rest >= 1 else 'under 1 s'} left"
        return words if self.once else f"{words} in this sweep"

    def _pace(self) -> float | None:
        sweep, pace = self.latest, self.pace
        if sweep is None or sweep.over or not sweep.rows:
            return pace
        own = sweep.rows / max(sweep.seconds, 1e-9)
        return own if pace is None or sweep.seconds >= SMOOTHING_WEIGHT else pace


def in_a_second(rows: float) -> str:
    """Return a speed in two digits."""
    if rows >= MILLION:
        return f"{rows / MILLION:.1f} million rows/s"
    return f"{float(f'{rows:.2g}'):,.0f} rows/s"
