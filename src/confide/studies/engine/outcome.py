"""Progress and result of a run."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from confide.studies.engine.study import Study


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run.

    Parameters
    ----------
    done : int
        Number of finished cells, including those that failed.
    total : int
        Number of cells.
    running : tuple of str, default=()
        Descriptions of the cells that are being computed.
    left : float, optional
        Estimated number of seconds left; None before the first cell is finished.
    note : str, default=""
        Message about an event, such as the loss of a worker.

    Examples
    --------
    >>> from confide.studies import Progress
    >>> progress = Progress(done=3, total=4)
    >>> progress.total - progress.done
    1
    """

    done: int
    total: int
    running: tuple[str, ...] = ()
    left: float | None = None
    note: str = ""


Watch: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell, table or figure that could not be computed because of an error.

    Parameters
    ----------
    where : str
        The parameters of the cell as text, or the name of the table or figure.
    error : str
        Type and message of the error.
    trace : str, default=""
        Traceback, for the author of the study.

    Examples
    --------
    >>> from confide.studies import Failure
    >>> Failure("rows 1000", "not enough memory").error
    'not enough memory'
    """

    where: str
    error: str
    trace: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.error}"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Result of a run.

    Parameters
    ----------
    study : Study
        The study.
    quick : bool
        Whether only some cells were run.
    rows : DataFrame
        All rows, with the parameters of their cells, in the order of the grid.
    table : DataFrame
        The table of the study.
    files : tuple of Path
        Files that were written.
    failures : tuple of Failure
        Missing cells, table or figure, with the errors.
    notes : tuple of str
        Messages for the user, such as lost workers.
    computed : int
        Number of cells that this run computed.
    stored : int
        Number of cells that were finished before.

    Examples
    --------
    >>> from confide.studies import STUDIES, reproduce
    >>> found = reproduce(STUDIES["ci-table3"], quick=True)  # doctest: +SKIP
    >>> found.failures  # doctest: +SKIP
    ()
    """

    study: Study
    quick: bool
    rows: pd.DataFrame
    table: pd.DataFrame
    files: tuple[Path, ...]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    computed: int
    stored: int
