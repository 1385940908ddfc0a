"""Computation of grid cells on a Dask cluster, with the same events as local processes.

If a worker dies, Dask itself moves its cells to another worker, and this module only
reports the loss. Dask gives up on a cell after several workers, four by default, have died
while computing it.
"""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import CancelledError
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from threadpoolctl import threadpool_limits

from confide.errors import ConfideError
from confide.parallel.dask_cluster import Client
from confide.studies.engine.cells import CellTask
from confide.studies.engine.process_pool import (
    Event,
    FailedCell,
    Finished,
    Lost,
    Run,
    Started,
    compute,
)

Future: TypeAlias = Any
"""A `distributed.Future`."""

NEWS: Final = "all"
"""The topic of Dask's events under which a scheduler reports the loss of a worker."""

REJECTED: Final = (
    "the worker that computed this cell died, and so did those that tried it again: killed "
    "from outside, crashed, or out of memory"
)


def threads_of(client: Client) -> int:
    """Return the number of cells that a cluster computes at once, one per thread."""
    return max(1, sum(client.nthreads().values()))


def run_on(
    client: Client, run: Run, tasks: Iterable[CellTask]
) -> Generator[Event, None, None]:
    """Compute cells in the given order, and yield an event when one starts or ends.

    Closing the generator cancels the cells that are not finished.
    """
    waiting = deque(tasks)
    running: dict[str, tuple[Future, CellTask]] = {}
    news: SimpleQueue[Future | tuple[str, ...]] = SimpleQueue()
    client.subscribe_topic(NEWS, lambda event: _hear(event, news))
    try:
        while waiting or running:
            free = threads_of(client) - len(running)
            for task in [waiting.popleft() for _ in range(min(free, len(waiting)))]:
                future = client.submit(compute_alone, run, task, pure=False)
                running[future.key] = future, task
                future.add_done_callback(news.put)
                yield Started(task)
            heard = news.get()
            if isinstance(heard, tuple):
                lost = tuple(running[key][1] for key in heard if key in running)
                yield from _tried_again(lost)
            else:
                outcome = _outcome(heard, running.pop(heard.key)[1])
                heard.release()
                yield outcome
    finally:
        client.unsubscribe_topic(NEWS)
        client.cancel([future for future, _ in running.values()], force=True)


def _hear(event: tuple[float, Any], news: "SimpleQueue[Any]") -> None:
    """Queue the keys of the cells that a lost worker was computing.

    This callback runs in a thread of the Dask client.
    """
    message = event[1] if isinstance(event[1], dict) else {}
    if message.get("action") == "remove-worker" and not message.get("expected"):
        news.put(tuple(message.get("processing-tasks", ())))


def _tried_again(lost: tuple[CellTask, ...]) -> Generator[Event, None, None]:
    if lost:
        yield Lost(lost)
    for task in lost:
        yield Started(task)


def _outcome(future: Future, task: CellTask) -> Event:
    try:
        outcome: Finished | FailedCell = future.result()
    except CancelledError:
        raise ConfideError(
            "the Dask cluster must run until the study is finished; it has stopped, or has "
            "dropped a cell. Finished cells are stored: run the study again."
        ) from None
    except Exception as error:  # noqa: BLE001
        name = type(error).__name__
        return FailedCell(task, REJECTED if name == "KilledWorker" else f"{name}: {error}")
    return outcome


def compute_alone(run: Run, task: CellTask) -> Finished | FailedCell:
    """Compute a cell on one thread, regardless of the thread settings of the worker."""
    threadpool_limits(1)
    return compute(run, task)
