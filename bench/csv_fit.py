"""Time from a CSV file to a private model, as a multiple of reading it with pandas."""

import tempfile
import time
from pathlib import Path

from bench.child import call
from bench.clock import in_passes
from bench.section import Section
from bench.table import prose, table, verdict

ROWS, NUMBERS, LEVELS = 1_000_000, 12, (2, 3, 3, 3, 4, 4, 4, 5)
TARGET = 2.5
OURS = "confide"


def from_file(repeats):
    """Time reading and fitting together, alternating with `pandas.read_csv`."""
    import pandas as pd

    from confide import Approx, LogisticRegression

    schema = _schema()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        _table().to_csv(path, index=False)
        fit = lambda: LogisticRegression(Approx(1, 1e-6), schema=schema).fit(path)  # noqa: E731
        read = lambda: pd.read_csv(path)  # noqa: E731
        return in_passes({OURS: fit}, read, repeats, time.perf_counter)


def _schema():
    from confide import Category, Number, Schema, Target

    columns = [Number(f"n{j}", 0, 100) for j in range(NUMBERS)]
    for j, count in enumerate(LEVELS):
        levels = tuple(f"level{k}" for k in range(count))
        columns.append(Category(f"c{j}", levels, other=True))
    return Schema(tuple(columns), Target("y", labels=("no", "yes")))


def _table():
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    made = {}
    for j in range(NUMBERS):
        values = rng.normal(50, 20, ROWS)
        made[f"n{j}"] = values.round(2) if j % 2 else values.astype(np.int64)
    margin = (made["n0"] - 50) / 40
    for j, count in enumerate(LEVELS):
        codes = rng.integers(0, count + 1, ROWS)
        made[f"c{j}"] = np.array([f"level{k}" for k in range(count + 1)])[codes]
        margin = margin + 0.3 * (codes == 0)
    chance = 1 / (1 + np.exp(-margin))
    made["y"] = np.where(rng.random(ROWS) < chance, "yes", "no")
    return pd.DataFrame(made)


def jobs(quick):
    name = f"{ROWS:,} x {NUMBERS + len(LEVELS)}"
    return {name: lambda: call("bench.csv_fit:from_file", repeats=3 if quick else 9)}


TEXT = """
    The table shows the wall-clock time, on all threads, of
    `LogisticRegression(Approx(1, 1e-6), schema=schema).fit(path)` for a CSV file with 12
    numeric and 8 categorical columns, divided by the time of `pandas.read_csv` for the same
    file. Medians and minima are over the rounds.
"""


def page(results):
    rows = []
    for name, found in results.items():
        took = found["jobs"][OURS]
        rows.append(
            (
                name,
                f"{1e3 * found['pass_s']:.0f}",
                f"{1e3 * took['seconds']:.0f}",
                f"{took['median']:.2f}",
                f"{took['least']:.2f}",
                f"≤ {TARGET}",
                verdict(took["median"], TARGET),
            )
        )
    head = [
        "rows x columns",
        "pandas ms",
        "fit ms",
        "ratio",
        "minimum",
        "target",
        "result",
    ]
    return f"{prose(TEXT)}\n\n{table(head, rows)}"


SECTION = Section("csv", "From a file to a model", jobs, page)
