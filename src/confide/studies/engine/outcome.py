"""Progress, failures and result of running a study."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from confide.studies.engine.study import Study


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run through the cells of a study's grid.

    Parameters
    ----------
    done : int
        Number of finished cells, including those that failed.
    total : int
        Number of cells of the run.
    running : tuple of str, default=()
        Descriptions of the cells that are being computed.
    left : float, optional
        Estimated number of seconds left; None if it cannot be estimated yet.
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
        The parameters of the grid cell as text, or a description of the table or figure.
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
    """Result of running a study: its table, the files written, and any failures.

    Parameters
    ----------
    study : Study
        The study.
    quick : bool
        Whether it was a quick run, which computes only some cells of the grid.
    rows : DataFrame
        All result rows, each with the parameters of its cell, in the order of the grid.
    table : DataFrame
        The table of the study.
    files : tuple of Path
        Files that were written.
    failures : tuple of Failure
        The cells, table or figure that are missing because of errors.
    notes : tuple of str
        Messages for the user, such as lost workers.
    computed : int
        Number of cells that this run computed.
    stored : int
        Number of cells whose results had been stored by earlier runs.

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
