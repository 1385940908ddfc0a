"""Progress of studies and of sweeps over a table: a bar, or lines if there is no terminal.

A sweep is one pass over the table. The number of sweeps of a fit depends on the data, so
the number is shown to the data holder only, and never written to a model file or to JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

import confide

SECONDS_BETWEEN_LINES = 10.0
"""Seconds between two lines of output if there is no terminal."""
MILLION = 10**6


Say: TypeAlias = Callable[[Task], str]


class Words(ProgressColumn):
    """Progress column whose text is computed by a function."""

    def __init__(self, say: Say) -> None:
        super().__init__(Column(no_wrap=True))
        self.say = say

    def render(self, task: Task) -> Text:
        """Return the text for a task."""
        return Text(self.say(task))


class Bar(Progress):
    """Progress bar for one task, with text next to and below it; erased at the end.

    Without a terminal, lines of text are printed instead: the first after ``wait`` seconds,
    the others at least ``SECONDS_BETWEEN_LINES`` apart.
    """

    def __init__(
        self,
        console: Console,
        name: str,
        beside: Sequence[Say],
        below: Sequence[Say],
        wait: float = 0.0,
    ) -> None:
        self._beside, self._below = beside, below
        self._due = console.get_time() + wait
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(30),
            *map(Words, beside),
            console=console,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            disable=not console.is_interactive,
        )
        self.add_task(name, total=None)

    @property
    def task(self) -> Task:
        """The task, with its progress and speed."""
        return self.tasks[0]

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the bar and the line below it."""
        yield from super().get_renderables()
        if self.tasks:
            below = self._said(self._below)
            yield Text(below, style="dim", overflow="ellipsis", no_wrap=True)

    def print_line(self) -> None:
        """Print a line if no bar is drawn and no line was printed recently."""
        now = self.get_time()
        if self.disable and now >= self._due:
            self._due = now + SECONDS_BETWEEN_LINES
            words = self._said((*self._beside, *self._below))
            name = self.task.description
            line = f"{name}: {words}" if name else words
            self.console.print(Text(line), soft_wrap=True)

    def _said(self, words: Iterable[Say]) -> str:
        return ", ".join(filter(None, (say(self.task) for say in words)))


class StudyBar:
    """Progress bar of a study, with the names of the settings that are being computed."""

    def __init__(self, console: Console) -> None:
        self.bar = Bar(console, "", (_cells, _elapsed, _estimate), (_at_work,))

    def watch(self, progress: confide.studies.Progress) -> None:
        """Show the latest progress of the study."""
        self.bar.update(
            self.bar.task.id,
            completed=progress.done,
            total=progress.total,
            left=progress.left,
            running=progress.running,
        )
        if progress.note:
            self.bar.console.print(Text(progress.note, style="yellow"))
        if progress.running:
            self.bar.print_line()


def _cells(task: Task) -> str:
    return "" if task.total is None else f"{task.completed:.0f}/{task.total:.0f} cells"


def _elapsed(task: Task) -> str:
    return format_duration(task.elapsed or 0.0)


def _estimate(task: Task) -> str:
    left = task.fields.get("left")
    return "" if left is None else f"about {format_duration(left)} left"


def _at_work(task: Task) -> str:
    running = task.fields.get("running")
    return f"running: {'; '.join(running)}" if running else "starting workers"


class SweepBar:
    """Progress bar of sweeps, which are passes over a table.

    ``at_first`` is shown before the first sweep begins. If the table is read only once,
    ``once`` describes the work and is shown instead of the number of the sweep.
    """

    def __init__(self, console: Console, at_first: str, once: str = "") -> None:
        words = (self._rows, self._left, self._since)
        self.bar = Bar(console, at_first, (row_speed,), words, SECONDS_BETWEEN_LINES)
        self._start = self.bar.get_time()
        self._once = once
        self._latest: confide.data.Pass | None = None
        self._whole: int | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Context manager that shows the progress of sweeps while its body runs."""
        with confide.data.watching(self.watch), self.bar:
            yield

    def watch(self, sweep: confide.data.Pass) -> None:
        """Show the latest progress of a sweep."""
        task = self.bar.task.id
        if self._latest is None or sweep.number != self._latest.number:
            name = self._once or f"sweep {sweep.number}"
            total = self._whole or sweep.expected
            self.bar.reset(task, description=name, total=total)
        self._latest = sweep
        if sweep.over and sweep.rows:
            self._whole = sweep.rows
        self.bar.update(task, completed=sweep.rows)
        self.bar.print_line()

    def _rows(self, task: Task) -> str:
        """Return the number of rows read so far, and the total if it is known."""
        sweep = self._latest
        if sweep is None or not (task.completed or task.total):
            return ""
        if sweep.over or task.total is None:
            return f"{task.completed:,.0f} rows"
        about = "" if self._whole else "about "
        total = max(task.total, task.completed)
        return f"{task.completed:,.0f} of {about}{total:,.0f} rows"

    def _left(self, task: Task) -> str:
        """Return the time left in this sweep; if it is unknown, the time spent on it."""
        if self._latest is None or self._latest.over:
            return ""
        rest = task.time_remaining
        if rest is None:
            return f"{_elapsed(task)} in this sweep"
        words = f"{format_duration(rest) if rest >= 1 else 'under 1 s'} left"
        return words if self._once else f"{words} in this sweep"

    def _since(self, task: Task) -> str:
        return f"{format_duration(task.get_time() - self._start)} since the start"


def row_speed(task: Task) -> str:
    """Return the speed in rows per second, to two digits; empty while it is unknown."""
    if task.speed is None:
        return ""
    if task.speed >= MILLION:
        return f"{task.speed / MILLION:.1f} million rows/s"
    return f"{float(f'{task.speed:.2g}'):,.0f} rows/s"


def format_duration(seconds: float) -> str:
    """Return a duration in words, with at most two units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
