"""Widths of intervals in fits of real tables, relative to the planned widths.

CONFIDE_DATA=... python -m bench.planned_widths    # into docs/accuracy/planned_widths.json
python -m bench.planned_widths --page              # the tables of docs/planning.md

A plan uses the schema and the number of rows, never the table. There are four plans for
each fit: with and without the typical values and shares that the bundled schemas declare,
and with the shapes of all real tables or of all other real tables.
"""

import argparse
import json
import math
import warnings
from dataclasses import replace

from bench.child import ROOT
from bench.machine import describe
from bench.real_tables import TABLES, parts

FILE = ROOT / "docs" / "accuracy" / "planned_widths.json"
EPSILONS = ("1", "0.3")
DELTA = "1e-6"
SEEDS = 3
FEW_COLUMNS = 8
WITHIN = (0.5, 2.0)
LARGE = 1000
COLLAPSED = 1e-6
"""Estimated ranges narrower than this occur if nearly all values are equal."""
WAYS = {
    "nothing declared": (False, False),
    "nothing declared, own table left out": (False, True),
    "typical and share": (True, False),
    "typical and share, own table left out": (True, True),
}


def few_columns(schema):
    """Return a schema with the first eight columns that are numbers or have two levels."""
    kept = [one for one in schema.columns if len(one.features) <= 2][:FEW_COLUMNS]
    return replace(schema, columns=tuple(kept))


def without_facts(schema):
    """Return a schema without typical values and shares."""

    def bare(part):
        own = {"typical", "share"} & {*part.__dataclass_fields__}
        return replace(part, **dict.fromkeys(own))

    columns = tuple(bare(column) for column in schema.columns)
    return replace(schema, columns=columns, target=bare(schema.target))


def model_of(table, schema, epsilon, **settings):
    import confide

    kinds = {
        "classes": confide.LogisticRegression,
        "number": confide.LinearRegression,
        "count": confide.PoissonRegression,
    }
    budget = confide.Approx(epsilon, DELTA)
    return kinds[TABLES[table].task](budget, schema=schema, **settings)


def fitted_lines(table, schema, epsilon, seed, intervals):
    """Return the interval widths of a fit by line, and the number of rows.

    The width is None for lines without an interval. The flag next to it marks lines of
    columns whose estimated range collapsed.
    """
    _, train, _ = parts(table)
    settings = {"intervals": intervals, "random_state": seed}
    model = model_of(table, schema, epsilon, **settings).fit(train)
    bought = model.release_.ranges
    ranges = {} if bought is None else bought.ranges
    narrow = {name for name, (low, high) in ranges.items() if high - low < COLLAPSED}
    lost = [f for c in schema.columns if c.name in narrow for f in c.features]
    found = {}
    for line in model.intervals_.rows:
        width = math.nan if line.upper is None else line.upper - line.lower
        found[line.name] = (width if math.isfinite(width) else None, line.name in lost)
    return found, len(train)


def planned_lines(table, schema, epsilon, rows, intervals, *, left_out):
    from confide.planning import plan_fit, real_shapes

    shapes = real_shapes().without(table) if left_out else real_shapes()
    model = model_of(table, schema, epsilon, intervals=intervals)
    plan = plan_fit(model, rows, shapes=shapes)
    return {line.name: line for line in plan.lines}


def measure(table, epsilon, *, few, intervals):
    """Return the ratios of fitted to planned widths for the four types of plan."""
    schema = parts(table)[0]
    schema = few_columns(schema) if few else schema
    fits = [fitted_lines(table, schema, epsilon, s, intervals) for s in range(SEEDS)]
    rows = fits[0][1]
    found = {"rows": rows, "lines": len(fits[0][0]), "plans": {}}
    known = [width is not None for fit, _ in fits for width, _ in fit.values()]
    found["identified"] = sum(known) / len(known)
    for way, (facts, left_out) in WAYS.items():
        own = schema if facts else without_facts(schema)
        plan = planned_lines(table, own, epsilon, rows, intervals, left_out=left_out)
        found["plans"][way] = compared([fit for fit, _ in fits], plan)
    return found


def compared(fits, plan):
    """Return quantiles of fitted / planned, and the share of ratios within bounds."""
    import numpy as np

    ratios, inside, kept = [], [], []
    both = {"agree": 0, "of": 0}
    for fit in fits:
        for name, (width, lost) in fit.items():
            line = plan[name]
            planned = not math.isnan(line.width)
            both["of"] += 1
            both["agree"] += planned == (width is not None)
            if width is None or not planned:
                continue
            ratios.append(width / line.width)
            inside.append(line.narrow <= width <= line.wide)
            kept.append(not lost)
    marks = {"planned identified": float(np.mean([p.identified for p in plan.values()]))}
    marks["marks agree"] = both["agree"] / both["of"]
    if not ratios:
        return {**marks, "count": 0}
    ratios, kept = np.array(ratios), np.array(kept)
    good = (ratios >= WITHIN[0]) & (ratios <= WITHIN[1])
    low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    return {
        **marks,
        "count": len(ratios),
        "10 %": _short(low),
        "median": _short(middle),
        "90 %": _short(high),
        "within": _short(good.mean()),
        "within, ranges found": _short(good[kept].mean()) if kept.any() else None,
        "inside quartiles": _short(np.mean(inside)),
    }


def _short(value):
    return float(f"{value:.3g}")


def targets():
    """Return the possible types of coefficients of intervals, with their settings."""
    from dataclasses import fields

    from confide.mechanisms import Intervals

    if "of" not in {field.name for field in fields(Intervals)}:
        return {"penalised": True}
    return {"plain": Intervals(), "penalised": Intervals(of="penalised")}


def main():
    parser = argparse.ArgumentParser(prog="python -m bench.planned_widths")
    parser.add_argument("--page", action="store_true", help="print the tables and stop")
    if parser.parse_args().page:
        print(page(json.loads(FILE.read_text("utf-8"))["cells"]))
        return
    warnings.simplefilter("ignore")
    cells = []
    for of, intervals in targets().items():
        for table in TABLES:
            if table == "KDD groups":
                continue
            for few in (False, True):
                for epsilon in EPSILONS:
                    found = measure(table, epsilon, few=few, intervals=intervals)
                    head = {"of": of, "table": table, "few": few, "epsilon": epsilon}
                    cells.append(head | found)
                    print(head, flush=True)
    content = {"machine": describe(), "seeds": SEEDS, "cells": cells}
    FILE.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def page(cells):
    """Return a Markdown table for each type of interval and each set of columns."""
    blocks = []
    for of in dict.fromkeys(cell["of"] for cell in cells):
        for few in (False, True):
            chosen = [cell for cell in cells if cell["of"] == of and cell["few"] is few]
            columns = "eight columns or fewer" if few else "all columns"
            blocks.append(f"*{of} coefficients, {columns}*\n\n{_table(chosen)}")
    return "\n\n".join(blocks)


def _table(cells):
    ways = (
        "nothing declared",
        "typical and share",
        "typical and share, own table left out",
    )
    heads = ["table", "ε", "coefficients", "with an interval", *ways]
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    for cell in cells:
        shown = [_cell(cell["plans"][way]) for way in ways]
        known = f"{cell['identified']:.2f}"
        entry = [cell["table"], cell["epsilon"], str(cell["lines"]), known, *shown]
        lines.append(" | ".join(entry))
    totals = ["all", "", "", "", *(_total(cells, way) for way in ways)]
    lines.append(" | ".join(totals))
    return "\n".join(f"| {line} |" for line in lines)


def _cell(plan):
    if not plan["count"]:
        return "–"
    found = plan["within, ranges found"]
    other = "" if found in (None, plan["within"]) else f" ({found:.2f})"
    middle = plan["median"]
    shown = f"{middle:.2f}" if middle < LARGE else "> 1000"
    return f"{shown}, {plan['within']:.2f}{other}"


def _total(cells, way):
    plans = [cell["plans"][way] for cell in cells if cell["plans"][way]["count"]]
    whole = sum(plan["count"] for plan in plans)
    if not whole:
        return "–"
    return f"{sum(plan['within'] * plan['count'] for plan in plans) / whole:.2f}"


if __name__ == "__main__":
    main()
