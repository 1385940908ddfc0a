"""Computation of grid cells in single-threaded processes that exit with their parent.

Workers are spawned, not forked, and are connected to their parent by a pipe. When the pipe
closes, because the run is over or the parent was killed, every worker exits at once, even
while it computes a cell.
"""

import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, connection, get_context
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeAlias

from confide.parallel.workers import cannot_start, single_threaded
from confide.studies.engine.cells import CellTask, rows_as_text
from confide.studies.engine.study import Cell, Row

START: Final = "spawn"

Run: TypeAlias = Callable[[Cell, int], Any]
Submit: TypeAlias = Callable[..., "Future[Any]"]


@dataclass(frozen=True, slots=True)
class Started:
    """Event: a worker has started to compute a cell of the grid."""

    task: CellTask


@dataclass(frozen=True, slots=True)
class Finished:
    """Event: a cell has been computed; its result rows as JSON, and its processor time."""

    task: CellTask
    rows: str
    seconds: float


@dataclass(frozen=True, slots=True)
class FailedCell:
    """Event: computing a cell raised an error, or its worker died twice."""

    task: CellTask
    error: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """Event: a worker died; the cells being computed at the time are tried again."""

    tasks: tuple[CellTask, ...]


Event: TypeAlias = Started | Finished | FailedCell | Lost


def run_all(run: Run, tasks: Iterable[CellTask], jobs: int) -> Generator[Event, None, None]:
    """Compute cells in the given order, and yield an event when one starts or ends.

    Closing the generator stops the workers at once.
    """
    waiting = deque(tasks)
    while waiting:
        lost = yield from _drain(run, waiting, min(jobs, len(waiting)))
        if lost:
            yield Lost(lost)
        for task in lost:
            if (yield from _drain(run, deque([task]), 1, check=True)):
                yield FailedCell(
                    task,
                    "the process that computed this cell died twice: killed from "
                    "outside, crashed, or out of memory",
                )


def _drain(
    run: Run, waiting: deque[CellTask], jobs: int, *, check: bool = False
) -> Generator[Event, None, tuple[CellTask, ...]]:
    """Compute the waiting cells, and yield events until all are done or a worker dies.

    Return the cells that were being computed when a worker died. If ``check`` is true, test
    first whether a worker can be started.
    """
    running: dict[Future[Finished | FailedCell], CellTask] = {}
    with _workers(jobs) as submit:
        if check:
            _check_that_workers_start(submit)
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    future = submit(compute, run, waiting[0])
                    running[future] = waiting.popleft()
                    yield Started(running[future])
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield future.result()
                    del running[future]
        except BrokenProcessPool:
            done = [future for future in running if future.exception() is None]
            for future in done:
                yield future.result()
                del running[future]
    return tuple(running.values())


def _check_that_workers_start(submit: Submit) -> None:
    try:
        submit(os.getpid).result()
    except BrokenProcessPool as broken:
        raise cannot_start("call reproduce") from broken


@contextmanager
def _workers(jobs: int) -> Iterator[Submit]:
    context = get_context(START)
    far_end, parent_end = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, context, _follow_parent, (far_end,))
    workers: set[BaseProcess] = set()

    def submit(function: Callable[..., Any], *values: Any) -> "Future[Any]":
        before = set(active_children())
        with single_threaded():
            future = pool.submit(function, *values)
        workers.update(set(active_children()) - before)
        return future

    try:
        yield submit
    finally:
        parent_end.close()
        for process in workers:  # some may still be importing, without the pipe
            process.terminate()
        pool.shutdown(cancel_futures=True)
        far_end.close()


# ------------------------------------------------------------------ in the workers


def _follow_parent(parent_end: "connection.Connection[Any, Any]") -> None:
    """Make a worker exit with its parent, ignore Ctrl-C, and print to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    threading.Thread(target=_exit_with, args=(parent_end,), daemon=True).start()


def _exit_with(parent_end: "connection.Connection[Any, Any]") -> None:
    connection.wait([parent_end])
    os._exit(1)


def compute(run: Callable[[Cell, int], list[Row]], task: CellTask) -> Finished | FailedCell:
    """Compute a cell; return an error as a `FailedCell` instead of raising it."""
    start = time.process_time()
    try:
        rows = rows_as_text(task.cell, run(task.cell, task.seed))
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return FailedCell(task, f"{type(error).__name__}: {error}", traceback.format_exc())
    return Finished(task, rows, time.process_time() - start)
