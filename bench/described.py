"""Errors and coverage of a private description of Adult.

CONFIDE_DATA=... python -m bench.described    # into docs/accuracy/described.json
python -m bench.described --page              # the tables of docs/description.md

The table has twenty columns: the fourteen features and the income of Adult, as declared by
the bundled schema, and five functions of these. Errors are differences between the
description of the 32,561 rows of adult.data and the exact figures of these rows. For
coverage, samples of the same size are drawn with replacement from all 48,842 rows, and
intervals should contain the figures of all rows. Ranges are estimated privately within the
declared limits.
"""

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from bench.child import ROOT
from bench.machine import describe as machine
from bench.table import table

FILE = ROOT / "docs" / "accuracy" / "described.json"
RUNS, SAMPLES = 20, 200
RELATIONS = ("add-remove", "replace-one")
WANTED = {
    "share of a level": 0.01,
    "mean, of the range": 0.02,
    "quartile, of the rank": 0.03,
}
QUARTILES = (0.25, 0.5, 0.75)


def budgets():
    from confide import Approx, Pure, Zcdp

    return {"pure": Pure(1), "(1, 1e-6)": Approx(1, "1e-6"), "zCDP 0.05": Zcdp("0.05")}


def derived(frame):
    """Add five columns, each a function of the row alone."""
    married = frame["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    bands = pd.cut(
        frame["age"], [0, 29, 44, 59, 200], labels=["-29", "30-44", "45-59", "60+"]
    )
    return frame.assign(
        married=np.where(married, "yes", "no"),
        fulltime=np.where(frame["hours-per-week"] >= 35, "yes", "no"),
        investor=np.where(
            (frame["capital-gain"] > 0) | (frame["capital-loss"] > 0), "yes", "no"
        ),
        **{
            "native-born": np.where(
                frame["native-country"] == "United-States", "yes", "no"
            ),
            "age-band": bands.astype(str),
        },
    )


def twenty_columns():
    """Return the schema, the table, and the rows of both parts of Adult."""
    from confide import Boolean, Category, Schema
    from confide.data import load

    schema = Schema.bundled("adult")
    truths = ("married", "fulltime", "investor", "native-born")
    bands = Category("age-band", ("-29", "30-44", "45-59", "60+"))
    columns = (*schema.columns, *map(Boolean, truths), bands)
    train, test = derived(load("adult", "train")), derived(load("adult", "test"))
    return replace(schema, columns=columns), train, pd.concat([train, test])


def rank_error(values, found, share):
    """Return the error in rank of an estimated quantile, as a share of the values."""
    below, upto = float((values < found).mean()), float((values <= found).mean())
    return max(below - share, share - upto, 0.0)


def level_share(values, level):
    if level in ("missing", "undeclared"):
        return float(values.isna().mean()) if level == "missing" else 0.0
    return float((values.astype(str) == level).mean())


def errors(found, frame, schema):
    """Return the errors of one description, by type of figure."""
    from confide.description.estimates import LevelFigures

    made = defaultdict(list)
    parts = schema.parts
    for one in found.figures:
        values = frame[one.name]
        if isinstance(one, LevelFigures):
            for line in one.lines:
                exact = level_share(values, line.label)
                made["share of a level"].append(abs(line.share.value - exact))
            continue
        lower, upper = parts[one.name].ends
        made["mean, of the range"].append(
            abs(one.mean.value - values.mean()) / (upper - lower)
        )
        for share, estimate in one.quantiles:
            if share in QUARTILES:
                error = rank_error(values, estimate.value, share)
                made["quartile, of the rank"].append(error)
    made["rows, of the rows"].append(abs(found.rows.value - len(frame)) / len(frame))
    return made


def measured_errors(budget, relation, runs=RUNS):
    from confide import describe

    schema, frame, _ = twenty_columns()
    every = defaultdict(list)
    for seed in range(runs):
        found = describe(frame, schema, budget, neighbours=relation, random_state=seed)
        for what, sizes in errors(found, frame, schema).items():
            every[what].append(sizes)
    return {
        what: {
            "figures": len(runs_of[0]),
            "mean": float(np.mean(runs_of)),
            "largest of a description, mean": float(np.max(runs_of, axis=1).mean()),
            "largest": float(np.max(runs_of)),
            "wanted": WANTED.get(what),
        }
        for what, runs_of in every.items()
    }


def held(found, sample, population):
    """Yield the type of each interval, and whether it contains the exact figure."""
    from confide.description.estimates import LevelFigures

    def holds(estimate, exact):
        slack = 1e-9 * max(abs(exact), 1.0)
        return estimate.lower - slack <= exact <= estimate.upper + slack

    yield "rows", holds(found.rows, len(sample))
    for one in found.figures:
        here, there = sample[one.name], population[one.name]
        if isinstance(one, LevelFigures):
            for line in one.lines:
                count = level_share(here, line.label) * len(here)
                yield "count of a level", holds(line.count, count)
                yield "share of a level", holds(line.share, level_share(there, line.label))
            continue
        edges = one.cells.shown_edges
        clamped = there.clip(edges[0], edges[-1])
        yield "missing", holds(one.missing, float(there.isna().mean()))
        yield "mean", holds(one.mean, float(clamped.mean()))
        yield "deviation", holds(one.deviation, float(clamped.std()))
        for share, estimate in one.quantiles:
            exact = float(np.quantile(clamped, share, method="inverted_cdf"))
            yield "quantile", holds(estimate, exact)
        for line, (low, high) in zip(one.histogram, bins(one), strict=True):
            inside = ((there >= low) & (there < high)).mean()
            yield "share of a bin", holds(line.share, float(inside))


def bins(one):
    """Return the lower and upper ends of the bins of a histogram, in order."""
    edges, count = one.cells.shown_edges, len(one.histogram)
    step = -(-one.cells.bins // count)
    step = next(k for k in (1, 2, 4, 5, 10, 20) if k >= step)
    cuts = [*edges[:-1:step], np.nextafter(edges[-1], np.inf)]
    return list(pairwise(cuts))


def measured_coverage(budget, relation, samples=SAMPLES):
    from confide import describe
    from confide.noise import generator

    schema, frame, everyone = twenty_columns()
    draw, told = generator(0), defaultdict(list)
    for seed in range(samples):
        rows = draw.integers(0, len(everyone), len(frame))
        sample = everyone.iloc[rows]
        found = describe(sample, schema, budget, neighbours=relation, random_state=seed)
        for what, holds in held(found, sample, everyone):
            told[what].append(holds)
    return {what: float(np.mean(flags)) for what, flags in told.items()}


def measure(runs, samples):
    made = {
        "machine": machine(),
        "runs": runs,
        "samples": samples,
        "errors": {},
        "held": {},
    }
    for name, budget in budgets().items():
        for relation in RELATIONS:
            key = f"{name}, {relation}"
            made["errors"][key] = measured_errors(budget, relation, runs)
            made["held"][key] = measured_coverage(budget, relation, samples)
            print(key, made["errors"][key], made["held"][key], flush=True)
    FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def page(made):
    """Return the tables of docs/description.md."""
    sizes = []
    for key, found in made["errors"].items():
        for what, one in found.items():
            measured = (f"{100 * one[of]:.2f} %" for of in COLUMNS)
            wanted = "" if one["wanted"] is None else f"{100 * one['wanted']:g} %"
            sizes.append([key, what, str(one["figures"]), *measured, wanted])
    kinds = list(next(iter(made["held"].values())))
    rates = [
        [key, *(f"{found[kind]:.3f}" for kind in kinds)]
        for key, found in made["held"].items()
    ]
    heads = [
        "budget, neighbours",
        "error of",
        "figures",
        "mean",
        "largest of a description",
    ]
    first = table([*heads, f"largest of {made['runs']}", "limit"], sizes)
    return first + "\n\n" + table(["budget, neighbours", *kinds], rates)


COLUMNS = ("mean", "largest of a description, mean", "largest")


def main():
    parser = argparse.ArgumentParser(prog="python -m bench.described", description=__doc__)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    given = parser.parse_args()
    if given.page:
        print(page(json.loads(FILE.read_text("utf-8"))))
    else:
        measure(given.runs, given.samples)


if __name__ == "__main__":
    main()
