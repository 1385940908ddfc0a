"""How a contract suite complains."""

from typing import Any

import numpy as np


def expect(holds: Any, promise: str, *, at: Any = None) -> None:
    """Raise an AssertionError that quotes the broken promise, and where it broke."""
    if not np.all(holds):
        where = "" if at is None else f" (broken at {at!r})"
        raise AssertionError(promise + where)


def first_failure(holds: Any, **places: Any) -> dict[str, float] | None:
    """Return the coordinates of the first point where something does not hold."""
    failures = np.flatnonzero(~np.asarray(holds))
    if failures.size == 0:
        return None
    return {name: float(np.asarray(p)[failures[0]]) for name, p in places.items()}
