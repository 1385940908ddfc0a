"""Import time of an estimator of confide, relative to one of scikit-learn."""

from statistics import median

from bench.child import call
from bench.section import Section
from bench.table import table, verdict

TARGET = 1.3
OURS, BASE = "confide", "sklearn.linear_model"
NAME = "LogisticRegression"


def cpu_seconds(module):
    """Import an estimator from a module, and return the processor time.

    Getting the attribute is part of the measurement, because modules may import lazily.
    """
    import importlib
    import time

    start = time.process_time()
    getattr(importlib.import_module(module), NAME)
    return time.process_time() - start


def alternate(repeats):
    """Import both alternately in fresh processes, and return median times.

    The first round is not counted.
    """
    taken = {OURS: [], BASE: []}
    for _ in range(repeats + 1):
        for module, times in taken.items():
            times.append(call("bench.imports:cpu_seconds", module=module))
    return {module: median(times[1:]) for module, times in taken.items()}


def jobs(quick):
    return {"import": lambda: alternate(3 if quick else 7)}


TEXT = (
    f"The processor time to import `{NAME}` from each package is the median over new "
    "processes, which alternate between the packages."
)


def page(results):
    taken = results["import"]
    ratio = taken[OURS] / taken[BASE]
    row = (f"{taken[OURS]:.2f}", f"{taken[BASE]:.2f}", f"{ratio:.2f}")
    head = ["`confide` s", "`sklearn.linear_model` s", "ratio", "target", "result"]
    return f"{TEXT}\n\n{table(head, [(*row, f'≤ {TARGET}', verdict(ratio, TARGET))])}"


SECTION = Section("import", "Import", jobs, page)
