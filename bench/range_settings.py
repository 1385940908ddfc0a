"""Settings of bought ranges and a few others, tried on every table by fits.

    python -m bench.range_settings --runs 20     # into docs/accuracy/settings.json

A setting is the defaults with some constants changed. All of them are public, so every
setting is as private as the defaults are.
"""

import argparse
import json
from functools import cache
from importlib import import_module
from statistics import mean, stdev

from bench.accuracy import DELTA, FOLDER, RHO, class_figures
from bench.child import call
from bench.machine import describe
from bench.real_tables import TABLES, parts, unit_rows, widened

PATH = FOLDER / "settings.json"
RANGES = "confide.mechanisms.ranges.mechanism:"
USUAL = "defaults"
TWO_CLASSES = ("Adult", "Bank", "ACS", "KDD")
STUDIED = ("Adult", "Bank", "ACS", "California", "warfarin")
WIDTHS = (1, 10, 100)
APPROXIMATE = ("(0.1, 1e-6)", "(0.3, 1e-6)", "(1, 1e-6)")
PURE = ("pure 0.1", "pure 0.3", "pure 1")
FEW_ROWS = {"warfarin": ("(1, 1e-6)", "pure 1")}
"""Tables of few rows cannot buy ranges at small budgets; they are not asked to."""


def _one(name, *values):
    """Return a setting for every value of a constant."""
    return {f"{name} = {value}": {RANGES + name: value} for value in values}


LISTS = {
    "ridge under zCDP": (
        TWO_CLASSES,
        (f"zCDP {RHO:g}, replace-one",),
        (1,),
        {
            USUAL: {},
            **{
                f"ZCDP_RIDGE = {value}": {
                    "confide.mechanisms.objective.perturbation:ZCDP_RIDGE": value
                }
                for value in (0.25, 1.0)
            },
        },
    ),
    "ranges": (
        STUDIED,
        APPROXIMATE,
        WIDTHS,
        {
            USUAL: {},
            "declared ranges": {"ranges": "public"},
            "tail = 0.005": {"tail": 0.005},
            "tail = 0.02": {"tail": 0.02},
            **_one("PIECE_DEVIATIONS", 3.5, 14),
            **_one("MOST_BEYOND", 0.1, 0.5),
            **_one("EXTENSION", 0.0, 0.8),
            **_one("FALSE_ALARMS", 0.1),
            **_one("CLOSER_ALARMS", 0.2),
            **_one("DOUBT", 0.3),
            "share = 1/5": {"share": "1/5"},
        },
    ),
    "whether to buy, Laplace noise": (
        STUDIED,
        PURE,
        (1, 10),
        {
            USUAL: {},
            "never": {"ranges": "public"},
            "always": {"ranges": "private"},
            "1.5 deviations": {"laplace": 1.5},
            "5 deviations": {"laplace": 5.0},
        },
    ),
    "whether to buy, normal noise": (
        STUDIED,
        APPROXIMATE,
        (1, 10),
        {
            USUAL: {},
            "never": {"ranges": "public"},
            "always": {"ranges": "private"},
            "2 deviations": {"gaussian": 2.0},
        },
    ),
}


def measure(table, change, runs, budgets, widths):
    """Return for every width and budget the share that is lost, its error, the loss."""
    settings = _apply(dict(change))
    allowed = FEW_ROWS.get(table, budgets)
    return [
        [width, name, *_cell(table, settings, width, name, runs)]
        for width in widths
        for name in budgets
        if name in allowed
    ]


def _apply(change):
    """Change constants, and return what estimators are told."""
    from confide.mechanisms import Ranges
    from confide.mechanisms.ranges import mechanism
    from confide.noise import Gaussian, Laplace

    for place in [key for key in change if ":" in key]:
        module, name = place.split(":")
        found = import_module(module)
        if not hasattr(found, name):
            raise AttributeError(place)
        setattr(found, name, change.pop(place))
    for kind, noise in (("gaussian", Gaussian), ("laplace", Laplace)):
        if kind in change:
            known = mechanism.NEEDED_DEVIATIONS
            mechanism.NEEDED_DEVIATIONS = {**known, noise: change.pop(kind)}
    kept = {key: change.pop(key) for key in ("share", "tail") if key in change}
    return {"ranges": Ranges(**kept)} if kept else change


def _cell(table, settings, width, name, runs):
    schema, _, _ = parts(table)
    wide = widened(schema, width)
    losses = [_loss(table, wide, settings, name, seed) for seed in range(runs)]
    null, plain = _references(table)
    error = stdev(losses) / runs**0.5 if runs > 1 else 0.0
    scaled = ((mean(losses) - plain) / (null - plain), error / (null - plain))
    return *(float(f"{one:.4g}") for one in scaled), float(f"{mean(losses):.5g}")


def _budget(name):
    from confide import Approx, Pure, Zcdp

    if name.startswith("pure"):
        return Pure(name.split()[1]), None
    if name.startswith("zCDP"):
        return Zcdp(RHO), "replace-one"
    return Approx(name[1:].split(",")[0], DELTA), None


def _loss(table, schema, settings, name, seed):
    from confide import LinearRegression, LogisticRegression

    _, train, test = parts(table)
    budget, neighbours = _budget(name)
    numeric = TABLES[table].task == "number"
    made = LinearRegression if numeric else LogisticRegression
    shared = {"neighbours": neighbours, "random_state": seed}
    model = made(budget, schema=schema, **shared, **settings).fit(train)
    column = schema.target.column
    if numeric:
        return float(((model.predict(test) - test[column]) ** 2).mean())
    truth = test[column].astype(str).to_numpy()
    labels = list(schema.target.labels)
    return class_figures(model.predict_proba(test), truth, labels)["log loss"]


@cache
def _references(table):
    """Return the loss without any column, and without privacy on the declared ranges."""
    import numpy as np
    from sklearn.linear_model import LinearRegression, LogisticRegression

    schema, train, test = parts(table)
    column = schema.target.column
    X, Z = (unit_rows(schema, part) for part in (train, test))
    if TABLES[table].task == "number":
        truth = test[column].to_numpy(float)
        X, Z = schema.encode(train), schema.encode(test)
        predicted = LinearRegression().fit(X, train[column]).predict(Z)
        return float(truth.var()), float(((predicted - truth) ** 2).mean())
    labels = list(schema.target.labels)
    y, z = (part[column].astype(str).to_numpy() for part in (train, test))
    share = (y == labels[1]).mean()
    flat = np.tile([1 - share, share], (len(z), 1))
    model = LogisticRegression(C=100.0, solver="newton-cholesky").fit(X, y == labels[1])
    losses = (class_figures(c, z, labels) for c in (flat, model.predict_proba(Z)))
    null, plain = (one["log loss"] for one in losses)
    return null, plain


def main():
    parser = argparse.ArgumentParser(prog="python -m bench.range_settings")
    parser.add_argument("--runs", type=int, default=20, help="seeds 0, 1, …")
    parser.add_argument("--lists", default=";".join(LISTS), help="some of them")
    parser.add_argument("--only", default="", help="only settings with such a name")
    given = parser.parse_args()
    kept = json.loads(PATH.read_text("utf-8")) if PATH.exists() else {}
    found = kept.get("lists", {})
    for title in given.lists.split(";"):
        tables, budgets, widths, settings = LISTS[title]
        for name, change in settings.items():
            if given.only not in name:
                continue
            for table in tables:
                print(title, name, table, flush=True)
                found.setdefault(title, {}).setdefault(name, {})[table] = call(
                    "bench.range_settings:measure",
                    threads=1,
                    table=table,
                    change=change,
                    runs=given.runs,
                    budgets=budgets,
                    widths=widths,
                )
            content = {"machine": describe(), "runs": given.runs, "lists": found}
            PATH.parent.mkdir(exist_ok=True)
            PATH.write_text(json.dumps(content) + "\n", "utf-8")


if __name__ == "__main__":
    main()
