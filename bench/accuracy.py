"""Accuracy on all real tables, with schemas, with arrays, and with too wide ranges.

python -m bench --only accuracy            # twenty seeds, into docs/benchmarks.md
python -m bench.accuracy --runs 5 --save before    # into docs/accuracy/before.json
python -m bench.accuracy --save after --tables Bank     # repeat one table, keep others
"""

import argparse
import json
import math
from statistics import mean, stdev

from bench.child import ROOT, call, data_folder
from bench.machine import describe
from bench.real_tables import TABLES, parts, unit_rows, widened
from bench.section import Section

FOLDER = ROOT / "docs" / "accuracy"
DELTA = 1e-6
EPSILONS = (0.1, 0.3, 0.5, 1.0)
WIDE_EPSILONS = (0.1, 0.3, 1.0)
WIDTHS = (10, 100)
RHO = 0.125
SLOPE_BOUND = 10.0
REFUSED = "refused"


def budgets():
    """Return the budgets by name, each with its neighbour relation (None for default)."""
    from confide import Approx, Pure, Zcdp

    found = {f"({e:g}, 1e-6)": (Approx(e, DELTA), None) for e in EPSILONS}
    found |= {f"pure {e:g}": (Pure(e), None) for e in EPSILONS}
    return found | {f"zCDP {RHO:g}, replace-one": (Zcdp(RHO), "replace-one")}


def measure(table, runs):
    """Return the results for a table: cells with path, width, budget and figures."""
    import confide

    judge = {"classes": _classes, "number": _numbers, "count": _counts}[TABLES[table].task]
    cells, open_figures = judge(table, runs)
    rows = len(parts(table)[1])
    return {
        "version": confide.__version__,
        "runs": runs,
        "rows": rows,
        "open": open_figures,
        "cells": [
            {"path": path, "width": width, "budget": budget, "figures": figures}
            for (path, width, budget), figures in cells.items()
        ],
    }


def _settings(table, paths):
    """Yield the combinations to measure; wide ranges are measured with fewer budgets."""
    every = budgets()
    if table == "KDD groups":
        paths, every = (
            ("schema",),
            {name: every[name] for name in ("(0.3, 1e-6)", "(1, 1e-6)")},
        )
        yield from (("schema", 1, name, *budget) for name, budget in every.items())
        return
    for path in paths:
        yield from ((path, 1, name, *budget) for name, budget in every.items())
    for width in WIDTHS:
        for epsilon in WIDE_EPSILONS:
            name = f"({epsilon:g}, 1e-6)"
            yield ("schema", width, name, *every[name])


# --------------------------------------------------------------------- two or more classes


def _classes(table, runs):
    from sklearn.linear_model import LogisticRegression as Open

    from confide import LogisticRegression

    schema, train, test = parts(table)
    labels, column = list(schema.target.labels), schema.target.column
    y, z = (part[column].astype(str).to_numpy() for part in (train, test))
    X, Z = unit_rows(schema, train), unit_rows(schema, test)
    cells = {}
    for path, width, name, budget, neighbours in _settings(table, ("schema", "arrays")):
        wide = widened(schema, width)
        found = []
        for run in range(runs):
            shared = {"neighbours": neighbours, "random_state": run}
            if path == "schema":
                model = LogisticRegression(budget, schema=wide, **shared).fit(train)
                chances = model.predict_proba(test)
            else:
                model = LogisticRegression(
                    budget, classes=labels, row_norm=1.0, **shared
                ).fit(X, y)
                chances = model.predict_proba(Z)
            found.append(class_figures(chances, z, labels))
        cells[path, width, name] = summed_up(found)
    model = Open(C=100.0, solver="newton-cholesky").fit(X, y)
    order = [list(model.classes_).index(label) for label in labels]
    return cells, class_figures(model.predict_proba(Z)[:, order], z, labels)


def class_figures(chances, truth, labels):
    """Return the error in percent, the log loss and, for two classes, the ROC area."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    own = np.array([labels.index(label) for label in truth])
    chances = np.clip(chances, 1e-15, 1.0)
    found = {
        "error": 100 * float((chances.argmax(axis=1) != own).mean()),
        "log loss": -float(np.log(chances[np.arange(len(own)), own]).mean()),
    }
    if len(labels) == 2:
        found["AUC"] = float(roc_auc_score(own, chances[:, 1]))
    return found


# ------------------------------------------------------------------------------- numbers


def _numbers(table, runs):
    from sklearn.linear_model import LinearRegression as Open

    from confide import LinearRegression

    schema, train, test = parts(table)
    column, (low, high) = schema.target.column, schema.target.ends
    y, z = (part[column].to_numpy(float) for part in (train, test))
    X, Z = schema.encode(train), schema.encode(test)
    open_model = Open().fit(X, y)
    plain = float(((open_model.predict(Z).clip(low, high) - z) ** 2).mean())
    X, Z = unit_rows(schema, train), unit_rows(schema, test)
    middle, half = (low + high) / 2, (high - low) / 2
    cells = {}

    def figures(predicted):
        square = float(((predicted - z) ** 2).mean())
        return {"excess": square - plain, "R2": 1 - square / float(z.var())}

    for path, width, name, budget, neighbours in _settings(table, ("schema", "arrays")):
        wide = widened(schema, width)
        found = []
        for run in range(runs):
            shared = {"neighbours": neighbours, "random_state": run}
            if path == "schema":
                model = LinearRegression(budget, schema=wide, **shared).fit(train)
                found.append(figures(model.predict(test)))
            else:
                model = LinearRegression(budget, target_bound=half, row_norm=1.0, **shared)
                near = y.clip(low, high) - middle
                found.append(figures(model.fit(X, near).predict(Z) + middle))
        cells[path, width, name] = summed_up(found)
    return cells, {"squared error": plain, "R2": 1 - plain / float(z.var())}


# -------------------------------------------------------------------------------- counts


def _counts(table, runs):
    import numpy as np
    from sklearn.linear_model import PoissonRegressor
    from sklearn.metrics import mean_poisson_deviance

    from confide import PoissonRegression
    from confide.errors import MissingPublicBound

    schema, train, _ = parts(table)
    y = train[schema.target.column].to_numpy(float)
    X = schema.encode(train)
    null = mean_poisson_deviance(y, np.full_like(y, y.mean()))
    public = PoissonRegressor(alpha=0, tol=1e-8, max_iter=1000).fit(X, y)
    whole = null - mean_poisson_deviance(y, public.predict(X))
    cells = {}
    bounds = {"schema": None, f"slope_bound={SLOPE_BOUND:g}": SLOPE_BOUND}
    for path, bound in bounds.items():
        for _, width, name, budget, neighbours in _settings(table, ("schema",)):
            wide = widened(schema, width)
            found = []
            try:
                for run in range(runs):
                    model = PoissonRegression(
                        budget,
                        schema=wide,
                        slope_bound=bound,
                        neighbours=neighbours,
                        random_state=run,
                    ).fit(train)
                    left = mean_poisson_deviance(y, model.predict(train))
                    found.append({"share": float((null - left) / whole)})
            except MissingPublicBound:
                cells[path, width, name] = REFUSED
                continue
            cells[path, width, name] = summed_up(found)
    return cells, {"deviance reduction": float(whole / null)}


# ----------------------------------------------------------------------------- bookkeeping


def summed_up(found):
    """Return the mean of every figure over the runs, with its standard error."""
    return {
        name: [_short(mean(values)), _short(_error(values))]
        for name in found[0]
        for values in [[one[name] for one in found]]
    }


def _error(values):
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _short(value):
    return float(f"{value:.5g}")


def jobs(quick):
    return _jobs(3 if quick else 20)


def _jobs(runs):
    if data_folder() is None:
        return {}
    return {
        table: lambda table=table: call(
            "bench.accuracy:measure", threads=1, table=table, runs=runs
        )
        for table in TABLES
    }


def saved():
    """Return the stored measurements in docs/accuracy, by file name."""
    return {
        path.stem: json.loads(path.read_text("utf-8"))["tables"]
        for path in sorted(FOLDER.glob("*.json"))
        if "tables" in json.loads(path.read_text("utf-8"))
    }


def page(results):
    from bench.accuracy_page import page as write

    return write(results, saved())


SECTION = Section("accuracy", "Accuracy on every table", jobs, page)


def main():
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="number of seeds, from 0")
    parser.add_argument("--save", required=True, help="name of the file in docs/accuracy")
    parser.add_argument("--tables", default=",".join(TABLES), help="tables to measure")
    given = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{given.save}.json"
    for table, job in _jobs(given.runs).items():
        if table not in given.tables.split(","):
            continue
        print(table, flush=True)
        found = {table: job()}
        if path.exists():
            found = json.loads(path.read_text("utf-8"))["tables"] | found
        content = {"machine": describe(), "tables": found}
        path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
