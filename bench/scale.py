"""Tables larger than memory, and clusters: sweeps, time, memory, and loss of a worker."""

import os
import shutil
import signal
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

from bench.child import call
from bench.memory import highest_resident
from bench.section import Section
from bench.table import prose, table, verdict

COLUMNS, GROUP = 20, 2**18
SIZES = (1_000_000, 10_000_000, 50_000_000)
BYTES_PER_ROW = 100
MOST_READS, MOST_SWEEPS, MOST_BYTES = 1.5, 8, 1.5e9
STEADY = 1.15
ON_WORKERS, MOST_ON_WORKERS = 10_000_000, 1.3
MOST_AFTER_DEATH = 2.0


def stream(rows):
    """Fit from a Parquet file, alternating with reads of the same file by pyarrow.

    The first fit is a warm-up. The peak memory is that of the first fit, because pyarrow
    uses more memory for reading.
    """
    path = _written(rows)
    if path is None:
        return {"skipped": "the free disk space is less than twice the size of the table"}
    _fit(path)
    peak, reads, fits = highest_resident(), [], []
    for _ in range(3):
        reads += [_read(path) for _ in range(3)]
        fits.append(_fit(path)[:2])
    sweeps, seconds = sorted(fits, key=lambda fit: fit[1])[1]
    return {
        "reads": sorted(reads),
        "fits": sorted(seconds for _, seconds in fits),
        "whole": _read_whole(path) if rows < SIZES[-1] else None,
        "sweeps": sweeps,
        "seconds": seconds,
        "peak": peak,
        "bytes": path.stat().st_size,
    }


def on_workers(rows):
    """Fit with two threads and on two workers alternately, from files and from arrays."""
    from confide.parallel.dask_cluster import connected

    path, found = _written(rows), {}
    if path is None:
        return {"skipped": "the free disk space is less than twice the size of the table"}
    with connected(workers=2) as client:
        found["files"] = [(_fit(path)[1], _fit(path, client)[1]) for _ in range(3)]
        here, there = _arrays(path), _persisted(client, path)
        found["arrays"] = [(_timed_fit(*here), _timed_fit(*there)) for _ in range(3)]
        found["network"] = _network(there)
    return found


def after_death(rows):
    """Fit on three workers, then again while one of them is killed during the fit."""
    import numpy as np

    from confide.parallel.dask_cluster import connected

    path, found = _written(rows), []
    if path is None:
        return {"skipped": "the free disk space is less than twice the size of the table"}
    for _ in range(3):
        with connected(workers=3) as client:
            _, calm, first = _fit(path, client)
            killed = threading.Event()
            _, shaken, second = _fit(path, client, partial(_kill_one, client, killed))
        assert killed.is_set()
        found.append((calm, shaken, bool(np.array_equal(first, second))))
    return {"runs": found}


def _kill_one(client, killed, sweep):
    if sweep.over and sweep.number == 3 and not killed.is_set():
        killed.set()
        process = next(iter(client.run(os.getpid).values()))
        os.kill(process, signal.SIGKILL)


def _network(there):
    """Return the bytes on the loopback device during a fit, and the number of sweeps."""
    from confide.data.partitioned.progress import watching

    sweeps = []
    before = _traffic()
    with watching(lambda sweep: sweeps.append(sweep.number)):
        _timed_fit(*there)
    return {"bytes": _traffic() - before, "sweeps": max(sweeps)}


def _traffic():
    """Return the bytes received by the loopback device so far, including headers."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


def _schema():
    from confide import Number, Schema, Target

    columns = tuple(Number(f"x{j}", -4, 4) for j in range(COLUMNS))
    return Schema(columns, Target("y", labels=(0, 1)), name="large")


def _fit(path, client=None, more=None):
    """Return the seconds of every sweep and of the whole fit, and the coefficients."""
    from confide import Approx, LogisticRegression
    from confide.data.partitioned.progress import watching
    from confide.data.tables.files import open_table

    sweeps = {}

    def watch(sweep):
        if sweep.over:
            sweeps[sweep.number] = sweep.seconds
        if more is not None:
            more(sweep)

    model = LogisticRegression(Approx(1, 1e-6), schema=_schema(), random_state=0)
    start = time.perf_counter()
    with watching(watch):
        model.fit(open_table(path, cluster=client))
    return list(sweeps.values()), time.perf_counter() - start, model.release_.value


def _read(path):
    """Return the seconds in which pyarrow reads the whole file, batch by batch."""
    from pyarrow import dataset

    start = time.perf_counter()
    for _ in dataset.dataset(path).to_batches():
        pass
    return time.perf_counter() - start


def _read_whole(path):
    from pyarrow import parquet

    parquet.read_table(path)
    start = time.perf_counter()
    parquet.read_table(path)
    return time.perf_counter() - start


def _arrays(path):
    import numpy as np
    from pyarrow import parquet

    held = parquet.read_table(path)
    features = np.empty((held.num_rows, COLUMNS), np.float32)
    for j in range(COLUMNS):
        features[:, j] = held.column(j).to_numpy()
    return features, held.column("y").to_numpy().astype(np.int64)


def _persisted(client, path):
    """Return the same rows as Dask arrays in the memory of two workers."""
    import dask.dataframe as dd

    frame = client.persist(dd.read_parquet(path, split_row_groups=True))
    features = frame[[f"x{j}" for j in range(COLUMNS)]].to_dask_array()
    target = frame["y"].astype("int64").to_dask_array()
    return client.persist([features, target])


def _timed_fit(features, target):
    from confide import Approx, LogisticRegression

    budget = Approx(1, 1e-6)
    model = LogisticRegression(budget, row_norm=5.0, classes=[0, 1], random_state=0)
    start = time.perf_counter()
    model.fit(features, target)
    return time.perf_counter() - start


def _written(rows):
    """Return a Parquet file of random numbers and labels, written if it does not exist."""
    folder = Path(tempfile.gettempdir()) / "confide-bench"
    folder.mkdir(exist_ok=True)
    path = folder / f"{rows}.parquet"
    if path.exists():
        return path
    if shutil.disk_usage(folder).free < 2 * BYTES_PER_ROW * rows:
        return None
    return _write(path, rows)


def _write(path, rows):
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    generator = np.random.default_rng(0)
    slopes = 0.5 * generator.standard_normal(COLUMNS)
    fields = [(f"x{j}", pa.float32()) for j in range(COLUMNS)]
    schema = pa.schema([*fields, ("y", pa.int8())])
    unfinished = path.with_suffix(".part")
    with parquet.ParquetWriter(unfinished, schema) as writer:
        for low in range(0, rows, GROUP):
            count = min(GROUP, rows - low)
            numbers = generator.standard_normal((COLUMNS, count), dtype=np.float32)
            chance = 1 / (1 + np.exp(-slopes @ numbers))
            labels = (generator.random(count) < chance).astype(np.int8)
            writer.write_table(pa.table([*numbers, labels], schema=schema))
    return unfinished.rename(path)


def jobs(quick):
    sizes = SIZES[:2] if quick else SIZES
    few = ON_WORKERS // 10 if quick else ON_WORKERS
    found = {
        f"{rows:,} rows": lambda rows=rows: call("bench.scale:stream", rows=rows)
        for rows in sizes
    }
    found["workers"] = lambda: call("bench.scale:on_workers", threads=2, rows=few)
    found["death"] = lambda: call("bench.scale:after_death", threads=2, rows=few)
    return found


STREAM_TEXT = f"""
    `LogisticRegression(Approx(1, 1e-6), schema=...)` is fitted to a Parquet file of
    {COLUMNS} single-precision columns and a label, with {GROUP:,} rows per row group. The
    file is read again in every sweep (pass over all rows). One read is
    `pyarrow.dataset.dataset(path).to_batches()` from beginning to end, without keeping the
    rows. Reads alternate with fits in the same process. The figures are medians of nine
    reads and three fits, after one fit as a warm-up. The first sweep checks that every row
    can be read and takes a sample. Another sweep also computes the curvature. *Peak* is the
    peak memory of the process after its first fit.
"""
WORKERS_TEXT = """
    The same fit runs alternately with two threads and on a local Dask cluster of two
    workers. The time to start the cluster is not counted. Threads read the files in every
    sweep, while workers read them once and then hold the rows. Threads find the
    single-precision arrays in memory, and workers already hold them as a dask.array.
"""
DEATH_TEXT = """
    Three workers hold the rows of the file. In one of two fits, a worker is killed after
    the third sweep.
"""


def page(results):
    parts = [prose(STREAM_TEXT), _streams(results)]
    parts += [prose(WORKERS_TEXT), _workers(results["workers"])]
    parts += [prose(DEATH_TEXT), _deaths(results["death"])]
    return "\n\n".join(parts)


def _streams(results):
    found = {name: told for name, told in results.items() if name.endswith(" rows")}
    rows, costs = [], {}
    for name, told in found.items():
        if "skipped" in told:
            rows.append((name, told["skipped"], *["–"] * 7))
            continue
        count, sweeps = int(name.removesuffix(" rows").replace(",", "")), told["sweeps"]
        read = _middle(told["reads"])
        ratio = told["seconds"] / (len(sweeps) * read)
        plain = _middle(sweeps[1:-1])
        costs[name] = 1e9 * told["seconds"] / count / len(sweeps)
        rows.append(
            (
                name,
                f"{told['seconds']:.1f}",
                len(sweeps),
                verdict(len(sweeps), MOST_SWEEPS),
                f"{read:.2f}",
                f"{ratio:.2f}",
                verdict(ratio, MOST_READS),
                f"{1e9 * plain / count:.0f}",
                f"{costs[name]:.0f}",
                f"{told['peak'] / 1e9:.2f}",
                verdict(told["peak"], MOST_BYTES),
            )
        )
    head = ["table", "fit s", "sweeps", f"≤ {MOST_SWEEPS}", "read s"]
    head += ["fit / (sweeps x read)", f"≤ {MOST_READS}", "usual sweep, ns per row"]
    head += ["fit, ns per row and sweep", "peak GB", f"≤ {MOST_BYTES / 1e9}"]
    spread = max(costs.values()) / min(costs.values())
    steady = (
        "Between tables of different sizes, the cost per row and sweep varies by a factor "
        f"of {spread:.3f} (target: at most {STEADY}, {verdict(spread, STEADY)})."
    )
    return table(head, rows) + "\n\n" + prose(steady)


def _workers(told):
    if "skipped" in told:
        return prose(f"Skipped: {told['skipped']}.")
    rows = []
    for name in ("files", "arrays"):
        here, there = (_middle(side) for side in zip(*told[name], strict=True))
        ratio = there / here
        rows.append(
            (
                name,
                f"{here:.2f}",
                f"{there:.2f}",
                f"{ratio:.2f}",
                verdict(ratio, MOST_ON_WORKERS),
            )
        )
    head = ["from", "2 threads s", "2 workers s", "ratio", f"≤ {MOST_ON_WORKERS}"]
    sent = told["network"]
    kilobytes = sent["bytes"] / sent["sweeps"] / 1e3
    said = f"A fit on workers sends {kilobytes:.0f} kB per sweep in total."
    return table(head, rows) + "\n\n" + prose(said)


def _deaths(told):
    if "skipped" in told:
        return prose(f"Skipped: {told['skipped']}.")
    rows = []
    for calm, shaken, same in told["runs"]:
        met = verdict(shaken / calm, MOST_AFTER_DEATH)
        rows.append((f"{calm:.2f}", f"{shaken:.2f}", f"{shaken / calm:.2f}", met, same))
    head = ["undisturbed s", "one killed s", "ratio", f"≤ {MOST_AFTER_DEATH:g}"]
    return table([*head, "same release"], rows)


def _middle(values):
    from statistics import median

    return median(values)


SECTION = Section("scale", "Beyond memory and beyond one machine", jobs, page)
