"""Real tables, each with its bundled schema and one fixed division into two parts."""

from dataclasses import dataclass, replace
from functools import cache

DIVISION_SEED = 12345
"""Of the permutation that divides a table: the same for every figure."""


@dataclass(frozen=True)
class RealTable:
    """How a table is read; ``train`` and ``test`` are shares or numbers of its rows.

    ``task`` is "classes", "number" or "count". Without ``train`` the table has a division
    of its own.
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
    """Return the schema, the rows to fit on and the rows to judge by.

    Counts are judged by the deviance of the rows that were fitted, as elsewhere.
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
    """Return a schema whose numbers, target included, are declared too generously."""
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
    """Widen about the middle; what cannot be negative stays so."""
    low, high = part.ends
    middle, half = (low + high) / 2, factor * (high - low) / 2
    lower = max(0.0, middle - half) if low >= 0 else middle - half
    return replace(part, lower=lower, upper=middle + half)


def unit_rows(schema, frame):
    """Return numbers in [−1, 1] and indicators, rows longer than 1 scaled to it."""
    import numpy as np

    X = schema.encode(frame)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
