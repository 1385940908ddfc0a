"""Run several studies in turn, and commit the results of each when it is finished."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from confide.parallel.dask_cluster import Client
from confide.studies.engine.cells import cell_tasks
from confide.studies.engine.committed import BOOK, commit, committed_seconds, finished_cells
from confide.studies.engine.outcome import Progress, Reproduction, Watch
from confide.studies.engine.runner import FOLDER, job_count, reproduce
from confide.studies.engine.study import Study


@dataclass(frozen=True, slots=True)
class StudyEstimate:
    """The expected cost of a study: grid cells to be computed, and processor time.

    Parameters
    ----------
    study : Study
        The study.
    cells : int
        Number of cells of its grid (combinations of parameter values), except those shared
        with an earlier study in the list.
    open_cells : int
        Number of these cells that are still to be computed.
    seconds : float or None
        Expected processor time of the open cells, according to the committed results. A
        cell without a committed result is assumed to take the mean time of those with one.
        None if there are open cells but no committed results.

    Examples
    --------
    >>> from confide import studies
    >>> study = studies.STUDIES["ci-table3"]
    >>> studies.StudyEstimate(study, cells=8, open_cells=2, seconds=60.0).open_cells
    2
    """

    study: Study
    cells: int
    open_cells: int
    seconds: float | None


def estimates(
    studies: Sequence[Study], *, folder: Path = FOLDER, book: Path = BOOK
) -> list[StudyEstimate]:
    """Estimate the cost of each study, counting shared cells for the first study only.

    Parameters
    ----------
    studies : sequence of Study
        The studies.
    folder : Path, optional
        Folder with the results of finished cells.
    book : Path, optional
        Folder with the committed results.

    Returns
    -------
    list of StudyEstimate
        Number of cells and processor time of each study.

    Examples
    --------
    >>> from confide.studies import STUDIES, estimates
    >>> found = estimates([STUDIES["ci-table3"]])  # doctest: +SKIP
    >>> found[0].study.name  # doctest: +SKIP
    'ci-table3'
    """
    seen: set[int] = set()
    found = []
    for study in studies:
        known, done = committed_seconds(study, book), finished_cells(study, folder)
        tasks = [one for one in cell_tasks(study, quick=False) if one.seed not in seen]
        seen |= {task.seed for task in tasks}
        left = [task.key for task in tasks if task.seed not in done]
        found.append(StudyEstimate(study, len(tasks), len(left), _total(left, known)))
    return found


def _total(keys: Sequence[str], known: Mapping[str, float]) -> float | None:
    if not known:
        return None if keys else 0.0
    mean = sum(known.values()) / len(known)
    return sum(known.get(key, mean) for key in keys)


def reproduce_book(
    studies: Sequence[Study],
    *,
    jobs: int | None = None,
    cluster: Client | None = None,
    folder: Path = FOLDER,
    book: Path = BOOK,
    progress: Watch | None = None,
) -> Iterator[tuple[Reproduction, tuple[Path, ...]]]:
    """Run studies in turn, commit the results of each, and yield them.

    Parameters
    ----------
    studies : sequence of Study
        The studies.
    jobs : int, optional
        Number of processes; by default one per CPU.
    cluster : distributed.Client, optional
        Client of a Dask cluster to use instead of local processes.
    folder : Path, optional
        Folder for the results of finished cells.
    book : Path, optional
        Folder with the committed results.
    progress : callable, optional
        Called with a `Progress` whenever a cell of a grid starts or ends.

    Yields
    ------
    tuple of Reproduction and tuple of Path
        Result of a study, and the files that were written to ``book``.

    Examples
    --------
    >>> from confide.studies import STUDIES, reproduce_book
    >>> for done, files in reproduce_book([STUDIES["ci-table3"]]):  # doctest: +SKIP
    ...     print(done.study.name, len(files))
    """
    plans = estimates(studies, folder=folder, book=book)
    total = sum(plan.cells for plan in plans)
    before, count = 0, job_count(jobs)
    for number, plan in enumerate(plans):
        later = [one.seconds for one in plans[number + 1 :]]
        known = None if None in later else sum(filter(None, later)) / count
        watch = _whole(plan, before, total, known, progress)
        result = reproduce(
            plan.study,
            jobs=jobs,
            cluster=cluster,
            folder=folder,
            seconds=committed_seconds(plan.study, book),
            progress=watch,
        )
        yield result, commit(plan.study, folder, book)
        before += plan.cells


def _whole(
    plan: StudyEstimate,
    before: int,
    total: int,
    later: float | None,
    watch: Watch | None,
) -> Watch | None:
    """Return a progress callback for one study that reports progress over all studies."""
    if watch is None:
        return None

    def tell(progress: Progress) -> None:
        shared = progress.total - plan.cells
        left = progress.left
        whole = None if left is None or later is None else left + later
        done = before + max(0, progress.done - shared)
        running = tuple(f"{plan.study.name} {words}" for words in progress.running)
        watch(replace(progress, done=done, total=total, left=whole, running=running))

    return tell
