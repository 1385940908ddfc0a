"""The cells of a study's grid, with the keys that identify them and their seeds."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidParameter
from confide.studies.engine.study import Cell, Row, Scalar, Study

SEED_BYTES = 8


@dataclass(frozen=True, slots=True)
class CellTask:
    """A cell of a study's grid, that is, one combination of parameter values.

    Parameters
    ----------
    cell
        The parameter values by name, in the order in which the study declares them.
    key
        The parameters as JSON, sorted by name, so the key does not depend on their order.
    seed
        Hash of the name of the grid, the version of the study and the key. The seed does
        not depend on other cells, the order of computation or the number of processes.
    """

    cell: Cell
    key: str
    seed: int


def cell_tasks(study: Study, quick: bool) -> tuple[CellTask, ...]:
    """Return the cells of a study's grid, or only those of a quick run.

    Raise an error if a cell of the quick run does not belong to the whole grid.
    """
    tasks = _tasks(study, study.cells(quick))
    if quick:
        whole = {task.key for task in _tasks(study, study.cells(False))}
        for task in tasks:
            if task.key not in whole:
                raise InvalidParameter(
                    "cells", "a subset of all cells in a quick run", dict(task.cell)
                )
    return tasks


def _tasks(study: Study, cells: Sequence[Cell]) -> tuple[CellTask, ...]:
    tasks = tuple(_task(study, cell) for cell in cells)
    if not tasks:
        raise InvalidParameter("cells", "at least one cell", 0)
    seen: set[str] = set()
    for task in tasks:
        if task.key in seen:
            raise InvalidParameter("cells", "different from each other", dict(task.cell))
        seen.add(task.key)
    return tasks


def in_words(cell: Cell) -> str:
    """Format the parameters of a grid cell in one line."""
    return ", ".join(f"{name}={value}" for name, value in cell.items()) or "the only cell"


def rows_as_text(cell: Cell, rows: Sequence[Row]) -> str:
    """Serialise the result rows of a cell as JSON, from which they are restored exactly."""
    plain = [_plain(row, "a result") for row in rows]
    for row in plain:
        twice = sorted(set(row) & set(cell))
        if twice:
            raise InvalidParameter(
                "a result", "named differently from every parameter", twice
            )
    return json.dumps(plain)


def rows_from_text(cell: Cell, text: str) -> list[dict[str, Scalar | None]]:
    """Restore result rows from JSON, each preceded by the parameters of the cell."""
    return [{**cell, **row} for row in json.loads(text)]


def _task(study: Study, given: Cell) -> CellTask:
    cell = _plain(given, "a parameter of a cell")
    for name, value in cell.items():
        if value is None or (isinstance(value, float) and not np.isfinite(value)):
            raise InvalidParameter(f"{name} of a cell", "a finite number or string", value)
    key = json.dumps(cell, sort_keys=True)
    named = json.dumps([study.grid_name, study.version, key]).encode()
    digest = hashlib.sha256(named).digest()[:SEED_BYTES]
    return CellTask(cell, key, int.from_bytes(digest) >> 1)


def _plain(given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Convert NumPy scalars to Python values; reject unsuitable names and values."""
    plain = {}
    for name, value in given.items():
        bare = value.item() if isinstance(value, np.generic) else value
        fits = bare is None or isinstance(bare, str | int | float)
        if not (fits and isinstance(name, str)):
            raise InvalidParameter(
                what,
                "a string, number, bool or None, and its name a string",
                {name: value},
            )
        plain[name] = bare
    return plain
