"""Comparison of settings for estimated ranges, and of a few others, by fits of all tables.

    python -m bench.range_settings               # into docs/accuracy/settings.json

A setting consists of the defaults with some constants changed. All constants are public, so
every setting is as private as the defaults. Results are stored table by table and are not
computed again.
"""

import argparse
import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from statistics import mean, stdev

from bench.accuracy import DELTA, FOLDER, RHO, class_figures
from bench.child import call
from bench.machine import describe
from bench.real_tables import TABLES, parts, unit_rows, widened

PATH = FOLDER / "settings.json"
RANGES = "confide.mechanisms.ranges.read_range:"
USUAL = "defaults"
TWO_CLASSES = ("Adult", "Bank", "ACS", "KDD")
STUDIED = ("Adult", "Bank", "ACS", "California", "warfarin")
WIDTHS = (1, 10, 100)
APPROXIMATE = ("(0.1, 1e-6)", "(0.3, 1e-6)", "(1, 1e-6)")
FEWER = ("(0.1, 1e-6)", "(1, 1e-6)")
PURE = ("pure 0.1", "pure 1")
FEW_ROWS = {"warfarin": ("(1, 1e-6)", "pure 1")}
"""Budgets for tables with few rows, whose ranges cannot be estimated with smaller ones."""


@dataclass(frozen=True)
class SettingList:
    """Settings to compare, with the tables, budgets, widths and number of seeds."""

    tables: tuple[str, ...]
    budgets: tuple[str, ...]
    widths: tuple[int, ...]
    runs: int
    settings: dict[str, dict]


def _one(name, *values):
    """Return one setting for each value of a constant."""
    return {f"{name} = {value}": {RANGES + name: value} for value in values}


LISTS = {
    "ridge under zCDP": SettingList(
        TWO_CLASSES,
        (f"zCDP {RHO:g}, replace-one",),
        (1,),
        20,
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
    "ranges": SettingList(
        STUDIED,
        APPROXIMATE,
        WIDTHS,
        20,
        {
            USUAL: {},
            "declared ranges": {"ranges": "public"},
            "tail = 0.005": {"tail": 0.005},
            "tail = 0.02": {"tail": 0.02},
            **_one("PIECE_DEVIATIONS", 3.5, 14),
        },
    ),
    "ranges, other constants": SettingList(
        STUDIED,
        FEWER,
        (1, 10),
        6,
        {
            USUAL: {},
            **_one("MOST_BEYOND", 0.1, 0.5),
            **_one("EXTENSION", 0.0, 0.8),
            **_one("FALSE_ALARMS", 0.1),
            **_one("CLOSER_ALARMS", 0.2),
            **_one("DOUBT", 0.3),
            "share = 1/5": {"share": "1/5"},
        },
    ),
    "whether to buy, Laplace noise": SettingList(
        STUDIED,
        PURE,
        (1, 10),
        6,
        {
            USUAL: {},
            "never": {"ranges": "public"},
            "always": {"ranges": "private"},
            "1.5 deviations": {"laplace": 1.5},
            "5 deviations": {"laplace": 5.0},
        },
    ),
    "whether to buy, normal noise": SettingList(
        STUDIED,
        FEWER,
        (1, 10),
        6,
        {
            USUAL: {},
            "never": {"ranges": "public"},
            "always": {"ranges": "private"},
            "2 deviations": {"gaussian": 2.0},
        },
    ),
}


def measure(table, title, names):
    """Return lost share, standard error and loss for every setting, width and budget."""
    listed, found = LISTS[title], {}
    allowed = FEW_ROWS.get(table, listed.budgets)
    for setting in names:
        with _changed(dict(listed.settings[setting])) as told:
            found[setting] = [
                [width, name, *_cell(table, told, width, name, listed.runs)]
                for width in listed.widths
                for name in listed.budgets
                if name in allowed
            ]
    return found


@contextmanager
def _changed(change):
    """Change constants temporarily, and yield the remaining arguments of estimators."""
    from confide.mechanisms import Ranges
    from confide.mechanisms.ranges import mechanism
    from confide.noise import Gaussian, Laplace

    usual = {
        key: getattr(import_module(key.split(":")[0]), key.split(":")[1])
        for key in change
        if ":" in key
    }
    needed = mechanism.NEEDED_DEVIATIONS
    for kind, noise in (("gaussian", Gaussian), ("laplace", Laplace)):
        if kind in change:
            mechanism.NEEDED_DEVIATIONS = {**needed, noise: change.pop(kind)}
    _set({key: change.pop(key) for key in usual})
    kept = {key: change.pop(key) for key in ("share", "tail") if key in change}
    yield {"ranges": Ranges(**kept)} if kept else change
    _set(usual)
    mechanism.NEEDED_DEVIATIONS = needed


def _set(constants):
    for place, value in constants.items():
        module, name = place.split(":")
        setattr(import_module(module), name, value)


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
    """Return the loss without any column, and that without privacy (declared ranges)."""
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
    parser.add_argument("--lists", default=";".join(LISTS), help="lists to run")
    parser.add_argument("--tables", default="", help="tables to use")
    given = parser.parse_args()
    wanted = given.tables.split(",") if given.tables else list(TABLES)
    for title in given.lists.split(";"):
        listed = LISTS[title]
        for table in (one for one in listed.tables if one in wanted):
            kept = json.loads(PATH.read_text("utf-8")) if PATH.exists() else {}
            known = kept.setdefault("lists", {}).setdefault(title, {})
            names = [name for name in listed.settings if table not in known.get(name, {})]
            if not names:
                continue
            print(title, table, flush=True)
            found = call(
                "bench.range_settings:measure",
                threads=1,
                table=table,
                title=title,
                names=names,
            )
            for name, cells in found.items():
                known.setdefault(name, {})[table] = cells
            PATH.write_text(json.dumps(kept | {"machine": describe()}) + "\n", "utf-8")


if __name__ == "__main__":
    main()
