"""The progress of a study on standard error: a bar, or lines where there is no terminal."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

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
