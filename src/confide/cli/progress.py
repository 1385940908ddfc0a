"""Progress of studies and of passes over a table: a bar, or lines without a terminal.

How many sweeps a fit takes depends on the data. It is for the eyes of whoever holds them:
it goes to no model file and to no JSON.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from confide.data.partitioned.progress import Pass, watching
from confide.studies import Progress

BETWEEN_LINES = 10.0
"""Seconds between two lines where there is no terminal."""


def live_display(console: Console, picture: Callable[[], Table]) -> Live:
    """Keep a picture on the terminal, drawn anew all the time; it leaves no trace."""
    return Live(
        console=console,
        get_renderable=picture,
        refresh_per_second=4,
        transient=True,
        redirect_stdout=False,
    )


@dataclass(slots=True)
class Bar:
    """Shows the latest progress; between two of them the clock goes on."""

    console: Console
    latest: Progress = field(default_factory=lambda: Progress(0, 0))
    born: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    printed: float = -BETWEEN_LINES

    def shown(self) -> AbstractContextManager[Any]:
        """Keep the bar on the terminal for a while; it leaves no trace."""
        if not self.console.is_terminal:
            return nullcontext()
        return live_display(self.console, self.picture)

    def watch(self, progress: Progress) -> None:
        """Take note of progress."""
        now = time.monotonic()
        self.latest, self.heard = progress, now
        if progress.note:
            self.console.print(Text(progress.note, style="yellow"))
        due = now >= self.printed + BETWEEN_LINES
        if due and not self.console.is_terminal and progress.running:
            self.printed = now
            self.console.print(Text(f"{self.words()}: {self.cells()}"), soft_wrap=True)

    def picture(self) -> Table:
        """Return the bar as it is now."""
        line = Table.grid(padding=(0, 2, 0, 0))
        bar = ProgressBar(total=max(1, self.latest.total), completed=self.latest.done)
        bar.width = 30
        line.add_row(bar, Text(self.words(), no_wrap=True))
        whole = Table.grid()
        whole.add_row(line)
        whole.add_row(Text(self.cells(), style="dim", overflow="ellipsis", no_wrap=True))
        return whole

    def words(self) -> str:
        """Return how far it is, since when, and how long it may take."""
        now = time.monotonic()
        parts = [
            f"{self.latest.done}/{self.latest.total} cells",
            format_duration(now - self.born),
        ]
        if self.latest.left is not None:
            left = max(0.0, self.latest.left - (now - self.heard))
            parts.append(f"about {format_duration(left)} left")
        return ", ".join(parts)

    def cells(self) -> str:
        """Return the cells at work."""
        return "; ".join(self.latest.running) or "starting workers"


def format_duration(seconds: float) -> str:
    """Return a time in two units at most."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


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
