"""Real tables, each with its bundled schema and one fixed division into two parts."""

from dataclasses import dataclass, replace
from functools import cache

DIVISION_SEED = 12345
"""Seed of the permutation that divides a table, the same for all figures."""


@dataclass(frozen=True)
class RealTable:
    """Schema, task, loader and division of a real table.

    ``train`` and ``test`` are shares or numbers of its rows. ``task`` is "classes",
    "number" or "count". If ``train`` is None, the table is published in two parts.
    """

    schema: str
    task: str
    loader: str = ""
    train: float | None = 0.7
    test: float = 0.3


TABLES = {
    "Adult": RealTable("adult", "classes", train=None),
    "Bank": RealTable("bank", "classes"),
    "ACS": RealTable("acs_over_50000", "classes", "load_acs"),
    "KDD": RealTable("kddcup99", "classes", "load_kddcup99", 100_000, 100_000),
    "KDD groups": RealTable(
        "kddcup99_groups", "classes", "load_kddcup99", 100_000, 100_000
    ),
    "California": RealTable("california_housing", "number"),
    "warfarin": RealTable("warfarin", "number", "load_warfarin"),
    "randhie": RealTable("randhie", "count"),
}
TWO_CLASSES = ("Adult", "Bank", "ACS", "KDD")


@cache
def parts(name):
    """Return the schema, the training rows and the test rows.

    Fits of counts are evaluated on their training rows.
    """
    from confide import Schema, data
    from confide.noise import generator

    table = TABLES[name]
    schema = Schema.bundled(table.schema)
    if table.train is None:
        return schema, data.load(table.schema, "train"), data.load(table.schema, "test")
    frame = getattr(data, table.loader)() if table.loader else data.load(table.schema)
    if table.task == "count":
        return schema, frame, frame
    order = generator(DIVISION_SEED).permutation(len(frame))
    first, last = (
        int(size if size > 1 else size * len(frame)) for size in (table.train, table.test)
    )
    return schema, *(
        frame.iloc[order[rows]].reset_index(drop=True)
        for rows in (slice(None, first), slice(len(frame) - last, None))
    )


def widened(schema, factor):
    """Return a schema in which the ranges of numbers and of the target are too wide."""
    if factor == 1:
        return schema
    columns = [
        _wider(column, factor) if column.kind == "number" else column
        for column in schema.columns
    ]
    target = schema.target
    if target.bound is not None:
        target = replace(target, bound=target.bound * factor)
    elif target.labels is None:
        target = _wider(target, factor)
    return replace(schema, columns=tuple(columns), target=target)


def _wider(part, factor):
    """Widen a range around its middle, but not below 0 if it has no negative values."""
    low, high = part.ends
    middle, half = (low + high) / 2, factor * (high - low) / 2
    lower = max(0.0, middle - half) if low >= 0 else middle - half
    return replace(part, lower=lower, upper=middle + half)


def unit_rows(schema, frame):
    """Return numbers in [−1, 1] and indicators, with longer rows rescaled to norm 1."""
    import numpy as np

    X = schema.encode(frame)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
