"""Fit of hundreds of millions of rows that a program generates again in every sweep."""

import time
from functools import partial

from bench.child import call
from bench.memory import highest_resident
from bench.section import Section
from bench.table import prose, table, verdict

ROWS, COLUMNS = 300_000_000, 10
PART_ROWS, BATCH_ROWS = 1_000_000, 2**16
MOST_SWEEPS, MOST_BYTES = 6, 1.5e9


def visits(part, rows):
    """Yield the Arrow batches of one part, with the same rows in every call."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(part)
    slopes = np.linspace(-1, 1, COLUMNS, dtype=np.float32)
    names = [*(f"x{j}" for j in range(COLUMNS)), "y"]
    for start in range(0, rows, BATCH_ROWS):
        count = min(BATCH_ROWS, rows - start)
        columns = rng.random((COLUMNS, count), dtype=np.float32)
        chance = 1 / (1 + np.exp(-2 * (slopes @ columns)))
        labels = (rng.random(count, dtype=np.float32) < chance).astype(np.int8)
        arrays = [pa.array(column) for column in (*columns, labels)]
        yield pa.record_batch(arrays, names)


def fit(rows):
    """Fit with default settings; return sweeps, time, peak memory and status."""
    from confide import Approx, LogisticRegression, Number, Schema, Target
    from confide.data import BatchSource, watching

    parts = tuple(
        partial(visits, start, min(PART_ROWS, rows - start))
        for start in range(0, rows, PART_ROWS)
    )
    names = (*(f"x{j}" for j in range(COLUMNS)), "y")
    schema = Schema(
        tuple(Number(f"x{j}", lower=0, upper=1) for j in range(COLUMNS)),
        Target("y", labels=(0, 1)),
        name="generated",
    )
    sweeps = {}
    start = time.perf_counter()
    with watching(lambda sweep: sweeps.update({sweep.number: sweep.seconds})):
        model = LogisticRegression(Approx(1, 1e-6), schema=schema)
        model.fit(BatchSource(names, parts, rows=rows))
    return {
        "sweeps": sweeps,
        "seconds": time.perf_counter() - start,
        "peak": highest_resident(),
        "status": str(model.release_.guarantee.status),
    }


def jobs(quick):
    rows = ROWS // 100 if quick else ROWS
    return {f"{rows:,}": lambda: call("bench.generated:fit", rows=rows)}


TEXT = """
    A logistic regression with default settings under (1, 1e-6) is fitted to rows with ten
    columns, which a program generates and passes to `BatchSource`. Most of the time is
    spent on generating the rows.
"""


def page(results):
    rows = []
    for name, found in results.items():
        sweeps, gigabytes = len(found["sweeps"]), found["peak"] / 1e9
        times = (f"{found['seconds']:.0f} s", found["status"])
        rows.append((name, "sweeps", sweeps, *times, verdict(sweeps, MOST_SWEEPS)))
        fits = verdict(found["peak"], MOST_BYTES)
        rows.append((name, "peak memory", f"{gigabytes:.2f} GB", *times, fits))
    head = ["rows", "what", "measured", "whole fit", "status", "result"]
    return f"{prose(TEXT)}\n\n{table(head, rows)}"


SECTION = Section("generated", "Rows that are generated", jobs, page)
