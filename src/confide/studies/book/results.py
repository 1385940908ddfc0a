"""What is committed of a study: its whole table, that of a quick look, or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from confide.studies.engine.cells import cell_tasks
from confide.studies.engine.committed import FACTS, committed_cells
from confide.studies.engine.publish import flattened
from confide.studies.engine.study import Study


@dataclass(frozen=True, slots=True)
class CommittedTable:
    """The table of a study from committed cells.

    Parameters
    ----------
    study
        The study.
    table
        Its table; empty where nothing is committed.
    cells, total
        How many cells it is made of, and how many a whole run has.
    library
        The versions of confide by which they were computed.
    seconds
        The processor time that they took.
    """

    study: Study
    table: pd.DataFrame
    cells: int
    total: int
    library: tuple[str, ...]
    seconds: float

    @property
    def whole(self) -> bool:
        """Whether no cell is missing."""
        return 0 < self.cells == self.total

    def value(self, where: Mapping[str, Any], column: str) -> float | None:
        """Return a number of the table; None where there is no such line or column."""
        if self.table.empty or column not in self.table:
            return None
        here = pd.Series(data=True, index=self.table.index)
        for name, wanted in where.items():
            if name not in self.table:
                return None
            here &= self.table[name].eq(wanted)
        found = self.table.loc[here, column]
        if len(found) != 1 or pd.isna(found.iloc[0]):
            return None
        return float(found.iloc[0])


def committed_table(study: Study, book: Path) -> CommittedTable:
    """Return the whole table where all cells are committed, else that of a quick look."""
    cells = committed_cells(study, book)
    wholes = cell_tasks(study, quick=False)
    for tasks in (wholes, cell_tasks(study, quick=True)):
        if all(task.seed in cells for task in tasks):
            parts = [(task.cell, cells[task.seed]) for task in tasks]
            rows = pd.concat([_rows(*part) for part in parts], ignore_index=True)
            facts = pd.concat([frame[list(FACTS)].iloc[:1] for _, frame in parts])
            return CommittedTable(
                study,
                flattened(study.table(rows)),
                len(tasks),
                len(wholes),
                tuple(sorted(map(str, facts["confide"].unique()))),
                float(facts["seconds"].sum()),
            )
    return CommittedTable(study, pd.DataFrame(), 0, len(wholes), (), 0.0)


def _rows(cell: Mapping[str, Any], rows: pd.DataFrame) -> pd.DataFrame:
    """Return results with the parameters exactly as they were declared."""
    results = rows.drop(columns=[*FACTS, *(name for name in cell if name in rows)])
    return results.reset_index(drop=True).assign(**dict(cell))[[*cell, *results.columns]]
