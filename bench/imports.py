"""What `import confide` costs next to scikit-learn, which it stands on."""

from statistics import median

from bench.child import call
from bench.section import Section
from bench.table import table, verdict

TARGET = 1.3
OURS, BASE = "confide", "sklearn.linear_model"


def cpu_seconds(module):
    """Import a module and return the processor time that took."""
    import importlib
    import time

    start = time.process_time()
    importlib.import_module(module)
    return time.process_time() - start


def alternate(repeats):
    """Import both in turns, each time in a fresh process, after one unmeasured round."""
    taken = {OURS: [], BASE: []}
    for _ in range(repeats + 1):
        for module, times in taken.items():
            times.append(call("bench.imports:cpu_seconds", module=module))
    return {module: median(times[1:]) for module, times in taken.items()}


def jobs(quick):
    return {"import": lambda: alternate(3 if quick else 7)}


TEXT = "Processor time of the import alone, median of fresh processes that take turns."


def page(results):
    taken = results["import"]
    ratio = taken[OURS] / taken[BASE]
    row = (f"{taken[OURS]:.2f}", f"{taken[BASE]:.2f}", f"{ratio:.2f}")
    head = ["`confide` s", "`sklearn.linear_model` s", "ratio", "target", "result"]
    return f"{TEXT}\n\n{table(head, [(*row, f'≤ {TARGET}', verdict(ratio, TARGET))])}"


SECTION = Section("import", "Import", jobs, page)
