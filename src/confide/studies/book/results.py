"""The table of a study, made from its committed results."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from confide.studies.engine.cells import cell_tasks
from confide.studies.engine.committed import FACTS, committed_frame, rows_of_cells
from confide.studies.engine.publish import flattened
from confide.studies.engine.study import Study


@dataclass(frozen=True, slots=True)
class CommittedTable:
    """The table of a study, made from the results that are kept in the source tree.

    Parameters
    ----------
    study
        The study.
    table
        The table of the study; empty if neither a full nor a quick run is committed.
    cells, total
        Number of grid cells (combinations of parameter values) that the table covers, and
        number of cells of a full run.
    library
        The versions of confide that computed the cells.
    seconds
        The processor time of these cells.
    """

    study: Study
    table: pd.DataFrame
    cells: int
    total: int
    library: tuple[str, ...]
    seconds: float

    @property
    def whole(self) -> bool:
        """Whether the results of all cells of the grid are committed."""
        return 0 < self.cells == self.total

    def value(self, where: Mapping[str, Any], column: str) -> float | None:
        """Return a number from the row that matches ``where``; None if there is none."""
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
    """Return the table of a study from its committed full run or quick run.

    The table is empty if neither run is committed.
    """
    frame = committed_frame(study, book)
    known = set(frame["seed"])
    wholes = cell_tasks(study, quick=False)
    for tasks in (wholes, cell_tasks(study, quick=True)):
        if known.issuperset(task.seed for task in tasks):
            rows = rows_of_cells(tasks, frame)
            facts = rows[list(FACTS)].drop_duplicates("seed")
            return CommittedTable(
                study,
                flattened(study.table(rows.drop(columns=list(FACTS)))),
                len(tasks),
                len(wholes),
                tuple(sorted(map(str, facts["confide"].unique()))),
                float(facts["seconds"].sum()),
            )
    return CommittedTable(study, pd.DataFrame(), 0, len(wholes), (), 0.0)
