"""How rows are bounded for a fit on few of their columns, and what a release says of it."""

import math
from typing import Any

from confide.data import INTERCEPT_HEIGHT, EntryBounds
from confide.objectives import Objective


def entry_bounds(column_bound: float, size: int, *, scaled: bool) -> EntryBounds:
    """Return what every entry is clipped to, or what rows are scaled to."""
    if scaled:
        return EntryBounds.scaled(size, column_bound)
    return EntryBounds(column_bound)


def height_beside(column_bound: float, size: int) -> float:
    """Return the height of the constant column beside so many others."""
    return INTERCEPT_HEIGHT * column_bound * math.sqrt(size)


def extras(objective: Objective, supports: list[list[int]]) -> dict[str, Any]:
    """Return what a release keeps: the private supports, and how rows were bounded."""
    kept: dict[str, Any] = {"support": supports}
    if objective.entries is not None:
        entries = objective.entries
        kept["bounds"] = {
            "most": entries.most,
            "few": entries.few,
            "length": entries.length,
            "height": objective.height,
        }
    return kept
