"""Peak memory of a fit, in addition to its data."""

from pathlib import Path

from bench.child import call
from bench.section import Section
from bench.synthetic import RIDGE, SHAPES, logistic_data, shape_name
from bench.table import prose, table, verdict

TARGET = 0.3


def peak(rows, columns):
    """Return the peak above the data, in bytes, measured by the system and by tracemalloc.

    The system counts everything, including BLAS and threads, but not memory that was
    already free inside the process. tracemalloc counts all arrays, and nothing else.
    """
    import tracemalloc

    from confide import Approx, LogisticRegression

    X, y = logistic_data(rows, columns)
    warm = LogisticRegression(Approx(1, 1e-6), row_norm=1)
    warm.fit(X[:2000], y[:2000])
    model = LogisticRegression(Approx(1, 1e-6), l2=RIDGE * rows, row_norm=1)

    before = _resident()
    model.fit(X, y)
    resident = highest_resident() - before
    tracemalloc.start()
    model.fit(X, y)
    _, arrays = tracemalloc.get_traced_memory()
    return {"data": X.nbytes, "resident": resident, "arrays": arrays}


def _resident():
    """Reset the peak, and return the current memory of the process in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return highest_resident()


def highest_resident():
    """Return the peak memory of the process in bytes."""
    try:
        return _status("VmHWM")
    except OSError:
        import resource
        import sys

        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(field))
    return 1024 * int(line.split()[1])


def jobs(quick):  # noqa: ARG001
    return {
        shape_name(n, p): lambda n=n, p=p: call("bench.memory:peak", rows=n, columns=p)
        for n, p in SHAPES
    }


TEXT = """
    The fit of the section on speed runs on all threads in a new process. The figures are
    the peak memory used in addition to the data, as a share of the size of `X`. *Resident*
    is measured by the system for the whole process, and *arrays* is the memory that NumPy
    allocated.
"""


def page(results):
    rows = []
    for name, found in results.items():
        shares = [found[kind] / found["data"] for kind in ("resident", "arrays")]
        worst = max(shares)
        cells = (f"{share:.2f}" for share in (*shares, worst))
        mega = f"{found['data'] / 2**20:.0f}"
        rows.append((name, mega, *cells, f"≤ {TARGET}", verdict(worst, TARGET)))
    head = [
        "rows x columns",
        "X in MiB",
        "resident",
        "arrays",
        "larger",
        "target",
        "result",
    ]
    return f"{prose(TEXT)}\n\n{table(head, rows)}"


SECTION = Section("memory", "Peak memory", jobs, page)
