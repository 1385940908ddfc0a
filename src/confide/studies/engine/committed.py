"""Committed results: one CSV file per parameter grid, kept in the source tree."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from confide._version import __version__
from confide.errors import DataNotFound
from confide.studies.engine.cells import CellTask, cell_tasks, rows_from_text
from confide.studies.engine.publish import draw_svg, write_file
from confide.studies.engine.results_store import Edition, Stored, opened
from confide.studies.engine.study import STUDIES, Study

BOOK: Final = Path("docs/reproduction")
"""Folder of committed results and figures in the source tree."""
FACTS: Final = ("confide", "version", "seed", "seconds")
"""First columns of a results file: version of confide and of the study, seed, seconds."""


def results_file(study: Study, book: Path = BOOK) -> Path:
    """Return the path of the CSV file with the committed results of a study's grid."""
    return book / "results" / f"{study.grid_name}.csv"


def committed_cells(study: Study, book: Path = BOOK) -> dict[int, pd.DataFrame]:
    """Return the committed results of a study's grid: one data frame per cell, by seed."""
    frame = committed_frame(study, book)
    return {int(str(seed)): rows for seed, rows in frame.groupby("seed", sort=False)}


def committed_frame(study: Study, book: Path = BOOK) -> pd.DataFrame:
    """Return the committed results of a study's grid as a data frame, perhaps empty."""
    path = results_file(study, book)
    if not path.exists():
        return pd.DataFrame(columns=list(FACTS))
    return pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)


def committed_rows(study: Study, book: Path = BOOK) -> pd.DataFrame:
    """Return the committed results of a study, as input for its ``table`` and ``figure``.

    Parameters
    ----------
    study : Study
        The study.
    book : Path, optional
        Folder with the committed results.

    Returns
    -------
    DataFrame
        All result rows, each with the parameters of its grid cell.

    Raises
    ------
    DataNotFound
        The committed results lack some cells of the current version of the study.

    Examples
    --------
    >>> from confide.studies import STUDIES, committed_rows
    >>> rows = committed_rows(STUDIES["ci-table3"])  # doctest: +SKIP
    """
    tasks, frame = cell_tasks(study, quick=False), committed_frame(study, book)
    missing = len({task.seed for task in tasks}.difference(frame["seed"]))
    if missing:
        raise DataNotFound(
            f"{results_file(study, book)} must hold the {len(tasks)} cells of "
            f"{study.name}, version {study.version}; {missing} are missing. Run: "
            f"confide reproduce {study.name} --book {book}"
        )
    return rows_of_cells(tasks, frame).drop(columns=list(FACTS))


def rows_of_cells(tasks: Sequence[CellTask], frame: pd.DataFrame) -> pd.DataFrame:
    """Select the result rows of some cells, and restore their parameters from the study.

    Parameters read from a CSV file may have lost their types.
    """
    place = frame["seed"].map({task.seed: number for number, task in enumerate(tasks)})
    order = place.dropna().astype(int).sort_values(kind="stable")
    parameters = pd.DataFrame([dict(task.cell) for task in tasks])
    rows = frame.loc[order.index].drop(columns=list(parameters), errors="ignore")
    return parameters.iloc[order].reset_index(drop=True).join(rows.reset_index(drop=True))


def committed_seconds(study: Study, book: Path = BOOK) -> dict[str, float]:
    """Return the processor time of each cell of a study with a committed result.

    Parameters
    ----------
    study : Study
        The study.
    book : Path, optional
        Folder with the committed results.

    Returns
    -------
    dict of str to float
        Processor time in seconds, by the parameters of the cell as JSON.

    Examples
    --------
    >>> from pathlib import Path
    >>> from confide.studies import STUDIES, committed_seconds
    >>> committed_seconds(STUDIES["ci-table3"], book=Path("an-empty-folder"))
    {}
    """
    cells = committed_cells(study, book)
    return {
        task.key: float(cells[task.seed]["seconds"].iloc[0])
        for task in cell_tasks(study, quick=False)
        if task.seed in cells
    }


def finished_cells(study: Study, folder: Path) -> dict[int, pd.DataFrame]:
    """Read the results of finished cells from a folder: a data frame per cell, by seed."""
    with opened(folder, Edition(study.grid_name, study.version, __version__)) as results:
        stored = results.all()
    return {
        task.seed: _frame(study, task, stored[task.key])
        for task in _tasks_of_grid(study)
        if task.key in stored
    }


def commit(study: Study, folder: Path, book: Path = BOOK) -> tuple[Path, ...]:
    """Write the finished results of a study's grid to the folder of committed results.

    The study's figure is written, too, if none of its cells is missing. Results that were
    committed before are kept unless no study has their cells any more.

    Parameters
    ----------
    study : Study
        The study.
    folder : Path
        Folder with the results of finished cells.
    book : Path, optional
        Folder with the committed results.

    Returns
    -------
    tuple of Path
        Files that were written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from confide.studies import STUDIES, commit
    >>> files = commit(STUDIES["ci-table3"], Path("confide-studies"))  # doctest: +SKIP
    """
    tasks = _tasks_of_grid(study)
    frames = committed_cells(study, book) | finished_cells(study, folder)
    present = [frames[task.seed] for task in tasks if task.seed in frames]
    if not present:
        return ()
    whole = pd.concat(present, ignore_index=True).dropna(axis="columns", how="all")
    path = results_file(study, book)
    text = whole.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    files = [write_file(path, text.encode())]
    if study.figure is not None:
        own = cell_tasks(study, quick=False)
        if all(task.seed in frames for task in own):
            drawing = draw_svg(study, committed_rows(study, book))
            files.append(write_file(book / "figures" / f"{study.name}.svg", drawing))
    return tuple(files)


def _tasks_of_grid(study: Study) -> tuple[CellTask, ...]:
    """Return the cells of all studies that share this study's grid, without duplicates."""
    others = [one for one in STUDIES.values() if one.grid_name == study.grid_name]
    found: dict[str, CellTask] = {}
    for one in (*others, study):
        found |= {task.key: task for task in cell_tasks(one, quick=False)}
    return tuple(found.values())


def _frame(study: Study, task: CellTask, stored: Stored) -> pd.DataFrame:
    facts = {
        "confide": __version__,
        "version": study.version,
        "seed": task.seed,
        "seconds": round(stored.seconds, 1),
    }
    rows = rows_from_text(task.cell, stored.rows)
    return pd.DataFrame([{**facts, **row} for row in rows])
