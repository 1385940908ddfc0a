"""What a run says while it goes on, and what came out."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from confide.studies.engine.study import Study


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Parameters
    ----------
    done, total
        Numbers of cells; one that failed is done too.
    running
        The cells at work, in words.
    left
        Seconds to go, judged by the cells measured so far; None before the first.
    note
        Something that has just happened and should be said; empty as a rule.
    """

    done: int
    total: int
    running: tuple[str, ...] = ()
    left: float | None = None
    note: str = ""


Watch: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell, or the table or the figure, that ended in an error.

    Parameters
    ----------
    where
        The parameters of the cell, in words.
    error
        What is wrong, in a line.
    trace
        Where it went wrong, for whoever wrote the study; may be empty.
    """

    where: str
    error: str
    trace: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.error}"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What came out of a run.

    Parameters
    ----------
    study, quick
        What was run.
    rows
        Every row with the parameters of its cell, in the order of the grid.
    table
        What the study makes of them.
    files
        What was written.
    failures
        What is missing, and why.
    notes
        What else there is to say.
    computed, stored
        Numbers of cells: computed by this run, and found finished.
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
