"""Reproduction of a study: compute missing cells of its grid, then write table and figure.

Before anything is computed, checks ensure that the study's datasets are available and that
all workers have this version of confide.
"""

import os
import pickle
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

import pandas as pd

from confide._version import __version__
from confide.data import DATASETS
from confide.errors import ConfideError, DataNotFound, InvalidParameter
from confide.parallel.dask_cluster import Client
from confide.studies.engine.cells import CellTask, cell_tasks, in_words, rows_from_text
from confide.studies.engine.dask import run_on, threads_of
from confide.studies.engine.outcome import Failure, Progress, Reproduction, Watch
from confide.studies.engine.process_pool import (
    Event,
    FailedCell,
    Finished,
    Lost,
    Run,
    Started,
    run_all,
)
from confide.studies.engine.publish import publish
from confide.studies.engine.results_store import Edition, Results, Stored, opened
from confide.studies.engine.study import Study
from confide.studies.engine.time_left import TimeLeft


def check_datasets(study: Study) -> None:
    """Raise an error unless a study's datasets are on this machine or can be downloaded."""
    _check_names(study)
    missing = _missing(study.datasets)
    if missing:
        raise DataNotFound(f"the study {study.name} needs {missing}")


def check_workers(client: Client, study: Study) -> None:
    """Raise an error if a worker lacks this version of confide, the study or its data."""
    _check_names(study)
    found = client.run(_found_by, study.run, study.datasets, on_error="return")
    for worker, answer in found.items():
        if isinstance(answer, BaseException):
            raise InvalidParameter(
                "run",
                "a function that workers can import",
                study.run,
                f"The worker {worker} reports {type(answer).__name__}: {answer}.",
            )
        version, missing = answer
        if version != __version__:
            raise InvalidParameter(
                "cluster",
                f"one whose workers have confide {__version__}",
                version,
                f"Install confide {__version__} on the worker {worker}.",
            )
        if missing:
            raise DataNotFound(
                f"on the worker {worker}, the study {study.name} needs {missing}"
            )


def _check_names(study: Study) -> None:
    for name in study.datasets:
        if name not in DATASETS:
            raise InvalidParameter(
                f"the datasets of {study.name}", f"among {', '.join(DATASETS)}", name
            )


def _found_by(run: Run, datasets: Sequence[str]) -> tuple[str, str]:
    """Return this worker's version of confide, and its first missing dataset, if any.

    Sending ``run`` tests whether the worker can import the study.
    """
    del run
    return __version__, _missing(datasets)


def _missing(datasets: Sequence[str]) -> str:
    for name in datasets:
        try:
            DATASETS[name].fetch()
        except ConfideError as error:
            return f"the dataset {name}. {error}"
    return ""


FOLDER: Final = Path("confide-studies")
"""Default folder for results."""


def reproduce(
    study: Study,
    *,
    quick: bool = False,
    jobs: int | None = None,
    cluster: Client | None = None,
    folder: Path | str = FOLDER,
    seconds: Mapping[str, float] | None = None,
    progress: Watch | None = None,
) -> Reproduction:
    """Run a study; results already stored in the folder are not computed again.

    Parameters
    ----------
    study : Study
        The study.
    quick : bool, default=False
        Compute only some cells of the parameter grid; a later full run reuses the results.
    jobs : int, optional
        Number of processes, each with one thread; by default one per CPU. The results
        do not depend on it.
    cluster : distributed.Client, optional
        Client of a Dask cluster to use instead of local processes.
    folder : Path or str, optional
        Folder for results of finished cells, tables and figures.
    seconds : mapping, optional
        Expected processor time by key of the cell, to estimate the remaining time. See
        `committed_seconds`.
    progress : callable, optional
        Called with a `Progress` at the beginning and whenever a cell starts or ends.

    Returns
    -------
    Reproduction
        The table and the files of the study.

    Raises
    ------
    DataNotFound
        A dataset of the study is missing on this machine or a worker; nothing was computed.
    KeyboardInterrupt
        Ctrl-C was pressed; the results of finished cells are stored.

    Examples
    --------
    >>> from confide.studies import STUDIES, reproduce
    >>> found = reproduce(STUDIES["ci-table3"], quick=True)  # doctest: +SKIP
    """
    pool = _pool(jobs, cluster)
    _check_that_workers_find(study.run)
    tasks = cell_tasks(study, quick)
    place = Path(folder)
    watch = progress or _say_nothing
    with opened(place, Edition(study.grid_name, study.version, __version__)) as results:
        stored = results.all()
        todo = [task for task in tasks if task.key not in stored]
        watch(Progress(len(tasks) - len(todo), len(tasks)))
        if todo:
            pool.check(study)
        pace = TimeLeft(dict(seconds or {}), {task.key for task in todo}, pool.size)
        for task in tasks:
            if task.key in stored:
                pace.note(task.key, stored[task.key].seconds)
        failures, notes = _compute(
            study.run, todo, results, pool, watch=watch, total=len(tasks), pace=pace
        )
        stored = results.all()
    rows = _frame(tasks, stored)
    shown = publish(study, quick, rows, tuple(failures), place)
    return Reproduction(
        study=study,
        quick=quick,
        rows=rows,
        table=shown.table,
        files=shown.files,
        failures=shown.failures,
        notes=(*notes, *shown.notes),
        computed=len(todo) - len(failures),
        stored=len(tasks) - len(todo),
    )


@dataclass(frozen=True, slots=True)
class _Pool:
    """Local processes or a Dask cluster, as used by a run.

    ``size`` is the number of cells that are computed at once, ``check`` runs before the
    first cell, and ``run_all`` computes the cells.
    """

    size: int
    check: Callable[[Study], None]
    run_all: Callable[[Run, Iterable[CellTask]], Generator[Event, None, None]]


def _pool(jobs: int | None, cluster: Client | None) -> _Pool:
    if cluster is None:
        size = job_count(jobs)
        return _Pool(size, check_datasets, lambda run, tasks: run_all(run, tasks, size))
    if jobs is not None:
        raise InvalidParameter(
            "jobs", "left out if a cluster is given", jobs, "Choose one of them."
        )
    return _Pool(
        threads_of(cluster),
        lambda study: check_workers(cluster, study),
        lambda run, tasks: run_on(cluster, run, tasks),
    )


def _compute(
    run: Run,
    todo: list[CellTask],
    results: Results,
    pool: _Pool,
    *,
    watch: Watch,
    total: int,
    pace: TimeLeft,
) -> tuple[list[Failure], list[str]]:
    """Compute cells and store each result immediately; return failures and notes."""
    failures: list[Failure] = []
    notes: list[str] = []
    running: dict[str, str] = {}
    done = total - len(todo)
    with closing(pool.run_all(run, todo)) as events:
        for event in events:
            note = ""
            match event:
                case Started(task):
                    running[task.key] = in_words(task.cell)
                case Finished(task, rows, duration):
                    results.add(task.key, Stored(rows, duration))
                    pace.note(task.key, duration)
                    del running[task.key]
                    done += 1
                case FailedCell(task, error, trace):
                    failures.append(Failure(in_words(task.cell), error, trace))
                    pace.open_keys.discard(task.key)
                    running.pop(task.key, None)
                    done += 1
                case Lost(tasks):
                    note = _lost(tasks)
                    notes.append(note)
                    for task in tasks:
                        running.pop(task.key, None)
                case _:
                    assert_never(event)
            watch(Progress(done, total, tuple(running.values()), pace.seconds(), note))
    return failures, notes


def _lost(tasks: Iterable[CellTask]) -> str:
    cells = "; ".join(in_words(task.cell) for task in tasks)
    return (
        "A worker process died: killed from outside, crashed, or out of memory. These "
        f"cells are tried again: {cells}."
    )


def _frame(tasks: Iterable[CellTask], stored: dict[str, Stored]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            row
            for task in tasks
            if task.key in stored
            for row in rows_from_text(task.cell, stored[task.key].rows)
        ]
    )


def job_count(jobs: int | None) -> int:
    """Return the number of processes: as requested, or one per CPU.

    Parameters
    ----------
    jobs : int or None
        Requested number; None for one per CPU.

    Returns
    -------
    int
        The number of processes.

    Raises
    ------
    InvalidParameter
        The number is not positive.

    Examples
    --------
    >>> from confide.studies import job_count
    >>> job_count(3)
    3
    """
    if jobs is None:
        bound = hasattr(os, "sched_getaffinity")
        return len(os.sched_getaffinity(0)) if bound else os.cpu_count() or 1
    if jobs < 1:
        raise InvalidParameter("jobs", "at least 1", jobs)
    return jobs


def _check_that_workers_find(run: Run) -> None:
    try:
        pickle.dumps(run)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidParameter(
            "run",
            "a function at the top level of a module",
            run,
            f"Workers import it by its name: {error}.",
        ) from None


def _say_nothing(progress: Progress) -> None:
    del progress
