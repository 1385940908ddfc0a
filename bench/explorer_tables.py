"""Plans on a grid of public facts, for the explorer page of the website.

python -m bench.explorer_tables --processes 2    # half an hour: docs/explorer/tables.js

No data are read. Every cell is a result of `confide.planning.plan_fit` for a logistic
regression with intervals. All columns are standard normal numbers, with declared limits of
-3 and 3.
"""

import argparse
import itertools
import json
import math
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from bench.child import ROOT
from confide import Approx, LogisticRegression, Number, Schema, Target
from confide.planning import plan_fit

FILE = ROOT / "docs" / "explorer" / "tables.js"
PREFIX = "window.explorerTables = "
ROWS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
COLUMNS = (2, 5, 10, 20, 40)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTAS = (1e-5, 1e-6, 1e-8)
BALANCES = (0.5, 0.2, 0.05, 0.01)
AXES = {
    "columns": COLUMNS,
    "balance": BALANCES,
    "delta": DELTAS,
    "epsilon": EPSILONS,
    "rows": ROWS,
}
"""Axes of the grid; fields list the cells in this order, with rows varying fastest."""
FIELDS = ("narrow", "width", "wide", "error", "area")
NO_NOISE = 1000.0
"""Epsilon so large that privacy noise is negligible."""
SPREAD = 2.0
"""Standard deviation of the log-odds, for the area under the ROC curve."""
LEAST_STRAY = 0.02
TAIL = 1.2816
"""The 90 % quantile of the standard normal distribution."""


def model_of(columns, balance, epsilon, delta):
    """Return the logistic regression that is planned in a cell."""
    numbers = tuple(
        Number(f"x{place}", lower=-3, upper=3, typical=(-TAIL, TAIL))
        for place in range(columns)
    )
    target = Target("y", labels=("no", "yes"), share={"yes": balance})
    return LogisticRegression(
        Approx(epsilon, delta),
        schema=Schema(numbers, target),
        intervals=True,
        ranges="public",
    )


def cell(place):
    """Return the figures of one cell of the grid; None for widths without an interval."""
    columns, balance, delta, epsilon, rows = place
    plan = plan_fit(model_of(columns, balance, epsilon, delta), rows)
    widths = [[one.narrow, one.width, one.wide] for one in plan.columns]
    known = float(np.mean(np.isfinite(widths))) >= 0.5
    narrow, width, wide = np.nanmedian(widths, axis=0) if known else [math.nan] * 3
    return {
        "narrow": short(narrow),
        "width": short(width),
        "wide": short(wide),
        "error": short(np.median([one.error for one in plan.columns])),
        "area": round(area(balance, plan.noise_ratio), 3),
        "noise": short(plan.main.noise.deviation(plan.main.objective.dimension)),
    }


def short(value):
    """Return a number rounded to three digits, or None if it is not finite."""
    return float(f"{value:.3g}") if math.isfinite(value) else None


@cache
def log_odds(balance):
    """Return standardised log-odds, their weights, and the probabilities of a positive."""
    nodes = np.linspace(-4, 4, 161)
    share = np.exp(-(nodes**2) / 2)
    share /= share.sum()
    middle = brentq(lambda b: float(share @ expit(b + SPREAD * nodes)) - balance, -30, 30)
    return nodes, share, expit(middle + SPREAD * nodes)


def area(balance, stray):
    """Return the ROC area of a predictor: the log-odds plus normal noise."""
    nodes, share, chance = log_odds(balance)
    stray = max(stray, LEAST_STRAY)
    reach = 4 * math.hypot(1, stray)
    seen = np.linspace(-reach, reach, 801)
    kernel = np.exp(-(((seen[:, None] - nodes) / stray) ** 2) / 2)
    kernel /= np.maximum(kernel.sum(axis=0), 1e-300)
    yes, no = kernel @ (share * chance), kernel @ (share * (1 - chance))
    yes, no = yes / yes.sum(), no / no.sum()
    below = np.cumsum(no) - no / 2
    return float(yes @ below)


def tables(processes):
    """Return the axes and all fields of the grid."""
    alone = itertools.product(COLUMNS, BALANCES, (1e-6,), (NO_NOISE,), ROWS)
    with ProcessPoolExecutor(processes) as pool:
        found = list(pool.map(cell, itertools.product(*AXES.values()), chunksize=10))
        sampling = [one["width"] for one in pool.map(cell, alone, chunksize=10)]
    return {
        "axes": AXES,
        "spread": SPREAD,
        **{name: [one[name] for one in found] for name in FIELDS},
        "noise": [one["noise"] for one in found[:: len(ROWS)]],
        "sampling": sampling,
        "ceiling": [round(area(balance, 0.0), 3) for balance in BALANCES],
    }


def read():
    """Return the committed tables."""
    return json.loads(FILE.read_text("utf-8").removeprefix(PREFIX).rstrip().rstrip(";"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=1)
    content = json.dumps(tables(parser.parse_args().processes), separators=(",", ":"))
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(f"{PREFIX}{content};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
