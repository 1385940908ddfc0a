"""Test error on Adult with default settings."""

import tempfile
from pathlib import Path

from bench.child import call, data_folder
from bench.peers_env import call_peer
from bench.section import Section
from bench.table import MISSING, SKIPPED, prose, table, verdict

EPSILONS = (0.1, 0.3, 0.5, 1.0)
TARGETS = {"(eps, 1e-6)": (17.6, 16.5, 16.1, 15.8), "pure": (20.5, 17.9, 17.0, 16.5)}
PEER, OPEN = "diffprivlib, default", "scikit-learn, not private"
DELTA = 1e-6


def budget_of(kind, epsilon):
    from confide import Approx, Pure

    return Pure(epsilon) if kind == "pure" else Approx(epsilon, DELTA)


def encoded():
    """Return the schema and the shipped split, as tables and as encoded arrays."""
    from confide import Schema
    from confide.data import load

    schema, train, test = (
        Schema.bundled("adult"),
        load("adult", "train"),
        load("adult", "test"),
    )
    column = schema.target.column
    X, y = schema.encode(train), train[column].to_numpy()
    Z, z = schema.encode(test), test[column].to_numpy()
    return schema, (train, test), (X, y, Z, z)


def private_errors(kind, epsilon, runs):
    """Return test errors in percent, for arrays with row_norm=1 and for the schema."""
    from confide import LogisticRegression

    schema, (train, test), (X, y, Z, z) = encoded()
    budget = budget_of(kind, epsilon)
    arrays, tables = [], []
    for run in range(runs):
        model = LogisticRegression(budget, row_norm=1.0, random_state=run).fit(X, y)
        arrays.append(100 * float((model.predict(Z) != z).mean()))
        model = LogisticRegression(budget, schema=schema, random_state=run).fit(train)
        tables.append(100 * float((model.predict(test) != z).mean()))
    return {"arrays": arrays, "schema": tables}


def open_error():
    """Return scikit-learn's test error in percent on the same rows, rescaled to norm 1."""
    from sklearn.linear_model import LogisticRegression

    _, _, (X, y, Z, z) = encoded()
    model = LogisticRegression(C=100.0, max_iter=5000).fit(_to_norm(X), y)
    return 100 * float((model.predict(_to_norm(Z)) != z).mean())


def export(path):
    """Write the arrays to a file, for an environment without confide."""
    import numpy as np

    _, _, (X, y, Z, z) = encoded()
    np.savez(path, X=_to_norm(X), y=y == y[0], Z=_to_norm(Z), z=z == y[0])


def peer_errors(path, runs):
    """Return diffprivlib's test errors in percent; call this in its own environment."""
    import numpy as np
    from diffprivlib.models import LogisticRegression

    with np.load(path) as data:
        X, y, Z, z = (data[name] for name in "XyZz")
    return {
        str(epsilon): [
            100
            * float(
                (_fitted(LogisticRegression, epsilon, run, X, y).predict(Z) != z).mean()
            )
            for run in range(runs)
        ]
        for epsilon in EPSILONS
    }


def _fitted(kind, epsilon, run, X, y):
    return kind(epsilon=epsilon, data_norm=1.0, random_state=run).fit(X, y)


def _to_norm(X):
    import numpy as np

    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)


def _through_a_file(runs):
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "adult.npz")
        call("bench.adult:export", path=path)
        return call_peer("bench.adult:peer_errors", path=path, runs=runs)


def jobs(quick):
    if data_folder() is None:
        return {}
    runs = 3 if quick else 20
    found = {OPEN: lambda: call("bench.adult:open_error")}
    for kind in TARGETS:
        for epsilon in EPSILONS:
            arguments = {"kind": kind, "epsilon": epsilon, "runs": runs}
            found[f"{kind} {epsilon}"] = lambda given=arguments: call(
                "bench.adult:private_errors", **given
            )
    found[PEER] = lambda: _through_a_file(runs)
    return found


TEXT = """
    All rows and 105 columns are used, with the published split into training and test rows.
    Fits use add-remove neighbours, `row_norm=1` and otherwise default settings. The figures
    are means of {runs} runs ± standard error, with seeds 0 to {last}. diffprivlib (pure)
    uses its default settings, on rows rescaled to norm 1. Without privacy, scikit-learn
    with C = 100 has an error of {error:.2f} % on these rows. For comparison, one column
    shows the error with the bundled schema, which scales columns instead of rows.
"""


def page(results):
    if not results:
        return SKIPPED
    rows = []
    for kind, targets in TARGETS.items():
        for epsilon, target in zip(EPSILONS, targets, strict=True):
            found = results[f"{kind} {epsilon}"]
            mean, error = _mean(found["arrays"])
            theirs = _peer_cell(results[PEER], epsilon) if kind == "pure" else "–"
            through_schema = "{:.2f} ± {:.2f}".format(*_mean(found["schema"]))
            cells = (f"{mean:.2f} ± {error:.2f}", f"≤ {target}", verdict(mean, target))
            rows.append((kind, epsilon, *cells, through_schema, theirs))
    runs = len(found["arrays"])
    head = ["budget", "eps", "error %", "target", "result", "with `schema=`", "diffprivlib"]
    text = prose(TEXT.format(runs=runs, last=runs - 1, error=results[OPEN]))
    return f"{text}\n\n{table(head, rows)}"


def _mean(values):
    """Return the mean of some values, with its standard error."""
    from statistics import mean, stdev

    return mean(values), stdev(values) / len(values) ** 0.5


def _peer_cell(found, epsilon):
    if found is None:
        return MISSING
    return "{:.2f} ± {:.2f}".format(*_mean(found[str(epsilon)]))


SECTION = Section("adult", "Adult: test error", jobs, page)
