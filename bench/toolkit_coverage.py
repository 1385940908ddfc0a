"""Coverage of all intervals, and size of all tests at 5 %, of the inference functions.

python -m bench.toolkit_coverage --parts DIR  # into docs/accuracy/toolkit-coverage.json
python -m bench.toolkit_coverage --page       # the table of docs/inference.md

Runs are divided into parts of 60. Finished parts are stored in DIR and are not repeated.

Samples are drawn with replacement from a population and fitted at (1, 1e-6) with intervals
and default settings. Every result is compared with that of the same model, with the same
privately estimated ranges, fitted to the whole population without a ridge. The tested null
hypotheses are true: coefficients equal those of the population.
"""

import argparse
import json
import math
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from bench.child import ROOT, data_folder
from bench.machine import describe
from bench.plain_coverage import SAMPLED_ROWS, Truth
from bench.table import table

RESULTS = ROOT / "docs" / "accuracy" / "toolkit-coverage.json"
PAGE = ROOT / "docs" / "inference.md"
MARKS = ("<!-- measured -->", "<!-- end -->")
SEED = 21_000
ROWS = 20_000
POPULATION = 400_000
REGIONS = ("north", "south", "east", "west")
SHARES = (0.5, 0.3, 0.15, 0.05)
EFFECTS = {"north": 0.0, "south": 0.4, "east": -0.3, "west": 0.2}
RUNS, PARTS = 60, 5
RARE = 0.1
"""Smallest share of runs with an identified line for which the line is counted."""


def populations():
    """Return functions that make the estimator, schema and rows of each population."""
    makers = {"Adult": _adult, "Adult, rare levels": _rare_levels}
    makers |= {kind: (lambda k=kind: _simulated(k)) for kind in SIMULATIONS}
    return makers


def _adult():
    """Return Adult with the columns of docs/coverage.md and a category of three levels."""
    from dataclasses import replace as changed

    import pandas as pd

    from bench.plain_tables import population
    from confide import Category, data

    schema, _ = population("Adult")
    frame = pd.concat([data.load("adult", "train"), data.load("adult", "test")])
    married = ["Married-civ-spouse", "Married-AF-spouse"]
    frame["married"] = frame["marital-status"].isin(married)
    frame["work"] = frame["workclass"].map(WORK)
    work = Category("work", tuple(dict.fromkeys(WORK.values())), reference="private")
    columns = (*schema.columns, work)
    names = [*(column.name for column in columns), "income"]
    rows = frame[names].dropna().reset_index(drop=True)
    return "LogisticRegression", changed(schema, columns=columns), rows


WORK = {
    "Private": "private",
    "Self-emp-not-inc": "self-employed",
    "Self-emp-inc": "self-employed",
    "Federal-gov": "government",
    "Local-gov": "government",
    "State-gov": "government",
}


def _rare_levels():
    """Return Adult with categories that have levels in fewer than 1 % of the rows."""
    import pandas as pd

    from confide import Category, Number, Schema, Target, data

    frame = pd.concat([data.load("adult", "train"), data.load("adult", "test")])
    levels = {name: tuple(sorted(frame[name].dropna().unique())) for name in FACTORS}
    columns = (
        Number("age", 0, 120, unit="year"),
        Number("education-num", 1, 16),
        Number("hours-per-week", 0, 168),
        Category("sex", levels["sex"], reference="Female", missing="refuse"),
        Category("race", levels["race"], reference="White", missing="refuse"),
        Category("relationship", levels["relationship"], reference="Husband"),
    )
    schema = Schema(columns, Target("income", labels=("<=50K", ">50K")), "adult")
    names = [*(column.name for column in columns), "income"]
    return "LogisticRegression", schema, frame[names].dropna().reset_index(drop=True)


FACTORS = ("sex", "race", "relationship")
SIMULATIONS = {
    "logistic": "LogisticRegression",
    "linear": "LinearRegression",
    "Poisson": "PoissonRegression",
}


def _simulated(kind):
    import numpy as np
    import pandas as pd

    from confide import Category, Number, Schema, Target
    from confide.noise import generator

    rng = generator(SEED)
    age = rng.normal(50, 12, POPULATION)
    income = rng.gamma(4, 10, POPULATION)
    region = rng.choice(REGIONS, POPULATION, p=SHARES)
    smoker = rng.uniform(size=POPULATION) < 0.25
    eta = 0.02 * (age - 50) - 0.01 * (income - 40) + 0.3 * smoker
    eta = eta + np.array([EFFECTS[one] for one in region])
    frame = pd.DataFrame({"age": age, "income": income, "region": region, "smoker": smoker})
    if kind == "logistic":
        positive = rng.uniform(size=POPULATION) < 1 / (1 + np.exp(0.7 - eta))
        frame["y"] = np.where(positive, "yes", "no")
        target = Target("y", labels=("no", "yes"))
    elif kind == "linear":
        frame["y"] = 20 + 5 * eta + rng.normal(size=POPULATION) * 4
        target = Target("y", lower=0, upper=50)
    else:
        frame["y"] = np.minimum(rng.poisson(np.exp(0.5 + eta)), 20)
        target = Target("y", lower=0, upper=20)
    from confide import Boolean

    columns = (
        Number("age", 0, 120, unit="year"),
        Number("income", 0, 1000),
        Category("region", REGIONS, missing="refuse", reference="north"),
        Boolean("smoker"),
    )
    return SIMULATIONS[kind], Schema(columns, target, "simulated"), frame


class Tally:
    """Counts for every line of every quantity: runs, identified runs, correct runs."""

    def __init__(self):
        self.seen = defaultdict(lambda: [0, 0, 0])

    def add(self, quantity, line, identified, held):
        counts = self.seen[quantity, str(line)]
        counts[0] += 1
        counts[1] += bool(identified)
        counts[2] += bool(identified and held)

    def records(self):
        return [[*key, *counts] for key, counts in self.seen.items()]

    def join(self, records):
        for quantity, line, *counts in records:
            kept = self.seen[quantity, line]
            kept[:] = [a + b for a, b in zip(kept, counts, strict=True)]

    def figures(self):
        """Return the share of correct results of every quantity, over identified lines."""
        found = {}
        for quantity in dict.fromkeys(quantity for quantity, _ in self.seen):
            lines = [c for (q, _), c in self.seen.items() if q == quantity]
            often = [c for c in lines if c[1] >= RARE * c[0]]
            total = sum(c[1] for c in often)
            if not total:
                continue
            shares = [c[2] / c[1] for c in often]
            found[quantity] = {
                "held": round(sum(c[2] for c in often) / total, 4),
                "least": round(min(shares), 3),
                "most": round(max(shares), 3),
                "lines": len(often),
                "identified": round(total / sum(c[0] for c in lines), 3),
            }
        return found


def inside(row, truth):
    return row.identified and row.lower <= truth <= row.upper


class Run:
    """One fit, and the coefficients ``theta`` of the population."""

    def __init__(self, model, theta, tally):
        self.model, self.theta, self.tally = model, theta, tally
        self.asked = model.inference()
        law = replace(self.asked.law, estimate=theta)
        self.known = replace(self.asked, law=law, released=theta)

    def count(self, rows, fresh, errors):
        """Count the results for every quantity."""
        self.lines(errors)
        self.tests()
        self.tables()
        self.rows(rows)
        if self.asked.scale.link != "logit":
            self.predictions(fresh)

    def lines(self, errors):
        import numpy as np

        asked, theta = self.asked, self.theta
        shown = asked.matrix @ theta + asked.constant
        truth = dict(zip(asked.lines, shown, strict=True))
        for row in asked.coefficients().rows:
            right = truth[row.name]
            self.tally.add("coefficients", row.name, row.identified, inside(row, right))
            if row.identified:
                errors[row.name].append((row.estimate - right) / row.std_error)
                line = asked.matrix[[asked.lines.index(row.name)]]
                size = asked.law.p_values(line, np.array([row.estimate - right]))
                self.tally.add("z and p values", row.name, True, size[0] >= 0.05)
        together = asked.coefficients(simultaneous=True).rows
        held = [inside(row, truth[row.name]) for row in together if row.identified]
        self.tally.add("simultaneous intervals", "all", bool(held), all(held))

    def tests(self):
        asked, law = self.asked, self.asked.law
        names = [term.name for term in asked.terms.terms]
        for group in (*([name] for name in names), names[:2], names[-2:], names):
            places = [p for name in group for p in asked.terms.tested(name)]
            directions = asked.matrix[places]
            found = law.wald(directions, directions @ (law.estimate - self.theta))
            what = "Wald tests of a column" if len(group) == 1 else "comparison of models"
            known = found.p_value is not None
            held = known and found.p_value >= 0.05
            self.tally.add(what, ", ".join(group), known, held)

    def tables(self):
        first, second = (term.name for term in self.asked.terms.terms[:2])
        factor = next(t for t in self.asked.terms.terms if t.coded and t.levels > 2)
        levels = [self.asked.lines[place] for place in factor.lines]
        sums = [f"10*{first} - {second}", f"{levels[0]} - {levels[1]}", levels[-1]]
        self.pairs("contrasts", lambda one: one.contrast(sums))
        if self.asked.scale.ratio:
            self.pairs("ratios, per range", lambda one: one.ratios("range"))
        self.pairs("effects, per deviation", lambda one: one.effects("deviation"))

    def pairs(self, what, table_of):
        """Compare a table line by line with the table for the population."""
        both = (table_of(one).rows for one in (self.asked, self.known))
        for place, (row, right) in enumerate(zip(*both, strict=True)):
            self.tally.add(what, place, row.identified, inside(row, right.estimate))

    def rows(self, rows):
        from confide import inference

        model = self.model
        steps, origin = model._steps(self.asked), model._origin()  # noqa: SLF001
        directions, middle = model._design(rows), model._middle_row()  # noqa: SLF001
        for what, where in (("in the middle", middle), ("over rows", directions)):
            self.pairs(
                f"marginal effects, {what}",
                lambda one, at=where: inference.marginal_effects(one, steps, at, origin),
            )
        found, right = (
            inference.mean_intervals(one, directions, origin)
            for one in (self.asked, self.known)
        )
        held = (found.lower <= right.estimate) & (right.estimate <= found.upper)
        for place, one in enumerate(held):
            known = not math.isnan(found.lower[place])
            self.tally.add("means of rows", place, known, one)

    def predictions(self, fresh):
        found = self.model.prediction_intervals(fresh)
        target = fresh[self.model.schema.target.column].to_numpy()
        held = (found.lower <= target) & (target <= found.upper)
        for place, one in enumerate(held):
            known = not math.isnan(found.lower[place])
            self.tally.add("predictions", place % 5, known, one)


def measure(name, part):
    """Return the counts and standardised errors of one part of the runs."""
    import confide
    from confide.noise import generator

    warnings.simplefilter("ignore")
    estimator, schema, frame = populations()[name]()
    SAMPLED_ROWS[id(frame)] = ROWS
    truths = Truth(name, 0.0, frame)
    places = generator(SEED).integers(len(frame), size=20)
    rows = frame.iloc[places].reset_index(drop=True)
    rng = generator(SEED + 1 + part)
    tally, errors = Tally(), defaultdict(list)
    for _ in range(RUNS):
        sample = frame.iloc[rng.integers(len(frame), size=ROWS)].reset_index(drop=True)
        model = getattr(confide, estimator)(
            confide.Approx(1, "1e-6"),
            schema=schema,
            intervals=True,
            random_state=int(rng.integers(2**31)),
        ).fit(sample)
        fresh = frame.iloc[rng.integers(len(frame), size=50)].reset_index(drop=True)
        Run(model, truths.coefficients(model), tally).count(rows, fresh, errors)
    return {"tally": tally.records(), "errors": errors}


def joined(name, parts):
    """Return the figures of one population, from all its parts."""
    import numpy as np

    tally, errors = Tally(), defaultdict(list)
    for part in parts:
        tally.join(part["tally"])
        for line, scores in part["errors"].items():
            errors[line] += scores
    runs = RUNS * len(parts)
    spreads = [np.std(one) for one in errors.values() if len(one) >= RARE * runs]
    return {
        "population": name,
        "runs": runs,
        "rows": ROWS,
        "quantities": tally.figures(),
        "error_over_standard_error": [
            round(float(one), 3) for one in (min(spreads), np.median(spreads), max(spreads))
        ],
    }


def write_page():
    """Write the table of docs/inference.md."""
    stored = json.loads(RESULTS.read_text("utf-8"))
    cases = stored["cases"]
    quantities = list(dict.fromkeys(q for case in cases for q in case["quantities"]))
    head = ["quantity", *(case["population"] for case in cases)]
    lines = [
        [quantity, *(_cell(case["quantities"].get(quantity)) for case in cases)]
        for quantity in quantities
    ]
    spread = ["error / standard error"]
    for case in cases:
        least, middle, most = case["error_over_standard_error"]
        spread.append(f"{middle:.2f} ({least:.2f}–{most:.2f})")
    lines.append(spread)
    text = PAGE.read_text("utf-8")
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    whole = f"{before}{MARKS[0]}\n\n{table(head, lines)}\n\n{MARKS[1]}{after}"
    PAGE.write_text(whole, "utf-8")


def _cell(found):
    if found is None:
        return "–"
    if found["lines"] == 1:
        return f"{found['held']:.3f}"
    return f"{found['held']:.3f} ({found['least']:.2f}–{found['most']:.2f})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", type=Path)
    parser.add_argument("--most", type=int, default=1000, help="most parts to compute now")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        write_page()
        return
    if data_folder() is None:
        raise SystemExit("the data sets were not found: set CONFIDE_DATA to their folder")
    given.parts.mkdir(exist_ok=True)
    cells = [(part, name) for part in range(PARTS) for name in populations()]
    files = {cell: given.parts / f"{cell[1]}-{cell[0]}.json" for cell in cells}
    for cell in [cell for cell in cells if not files[cell].exists()][: given.most]:
        found = json.dumps(measure(cell[1], cell[0]))
        files[cell].write_text(found, "utf-8")
    if not all(file.exists() for file in files.values()):
        return
    parts = {cell: json.loads(file.read_text("utf-8")) for cell, file in files.items()}
    cases = [
        joined(name, [parts[part, name] for part in range(PARTS)]) for name in populations()
    ]
    stored = {"machine": describe(), "cases": cases}
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
