"""Coverage of intervals for coefficients, by table.

python -m bench.plain_coverage --runs 300   # into docs/accuracy/plain-coverage.json
python -m bench.plain_coverage --page       # docs/coverage.md from that file

Samples are drawn from a population (`bench/plain_tables.py`) and fitted with intervals and
default settings. The intervals should contain the coefficients of the same model, with the
same privately estimated ranges, fitted to the whole population. This fit has no ridge for
plain intervals, and a proportional ridge for penalised ones.
"""

import argparse
import json
import math
import warnings
from concurrent.futures import ProcessPoolExecutor

from bench.child import ROOT, data_folder
from bench.machine import describe
from bench.plain_tables import SAMPLED, population
from bench.table import prose, table

RESULTS = ROOT / "docs" / "accuracy" / "plain-coverage.json"
PAGE = ROOT / "docs" / "coverage.md"
SEED = 19_000
RARE = 0.1
"""Smallest share of runs with an identified coefficient for which it has a coverage."""
CLEAR = 6.0
"""Coefficients with a larger absolute z value without privacy should be starred."""
ESTIMATORS = {
    "classes": "LogisticRegression",
    "number": "LinearRegression",
    "count": "PoissonRegression",
}
TABLES = ("Adult", "Bank", "ACS", "California", "warfarin", "randhie")
SIMULATIONS = tuple(name for name in SAMPLED if "%" in name)
RIDGES = (100.0, 400.0, 1000.0, 3000.0)


def cases():
    """Return all cases: table, budget, neighbours, ridge, coefficients of the intervals."""
    found = []
    for name in TABLES[:3]:
        found += [(name, f"({e}, 1e-6)", "add-remove", None, "plain") for e in ("1", "0.3")]
        found += [(name, "(1, 1e-6)", "replace-one", None, "plain")]
        found += [(name, "pure 1", "add-remove", None, "plain")]
        found += [(name, "zCDP 0.125", "add-remove", None, "plain")]
        found += [(name, "(1, 1e-6)", "add-remove", None, "penalised")]
    found += [(name, "(1, 1e-6)", "add-remove", None, "plain") for name in TABLES[3:]]
    found += [(name, "(1, 1e-6)", "add-remove", None, "plain") for name in SIMULATIONS]
    found += [(n, "(2, 1e-6)", "add-remove", None, "plain") for n in SIMULATIONS[-2:]]
    found += [(n, "(0.3, 1e-6)", "add-remove", None, "plain") for n in SIMULATIONS[-2:]]
    for ridge in RIDGES:
        for of in ("plain", "penalised"):
            found += [("Adult", "(1, 1e-6)", "add-remove", ridge, of)]
    return found


def is_main(case):
    """Return whether a case gets all runs; the other cases get a third of them."""
    _, budget, neighbours, ridge, of = case
    usual = budget in {"(1, 1e-6)", "(0.3, 1e-6)"} and neighbours == "add-remove"
    return usual and ridge is None and of == "plain"


def budget_of(name):
    from confide import Approx, Pure, Zcdp

    if name.startswith("pure"):
        return Pure(name.split()[1])
    if name.startswith("zCDP"):
        return Zcdp(name.split()[1])
    return Approx(*name.strip("()").split(", "))


class Truth:
    """Coefficients of the whole population, for the model and the ranges of a fit."""

    def __init__(self, name, ridge, frame=None):
        self.frame = population(name)[1] if frame is None else frame
        self.ridge = ridge
        self.known = {}

    def of(self, model):
        """Return coefficients, their sampling deviations times √rows, and their names."""
        import numpy as np

        coefficients, spread = self.solved(model)
        display = model._display()  # noqa: SLF001
        shown = display.show(coefficients)
        root = np.asarray(display.matrix) @ spread
        return shown, np.sqrt(np.sum(root**2, axis=1)), display.names

    def coefficients(self, model):
        """Return the coefficients of the population, as scaled in the objective."""
        return self.solved(model)[0]

    def solved(self, model):
        """Return coefficients and a root of their covariance for the ranges of a model."""
        bought = model.release_.ranges
        key = None if bought is None else tuple(sorted(bought.ranges.items()))
        if key not in self.known:
            coefficients, spread = self._solve(model, self.frame)
            self.known[key] = coefficients, spread * math.sqrt(len(self.frame))
        return self.known[key]

    def _solve(self, model, frame):
        import numpy as np

        from confide.estimators._prepare import coded_rows
        from confide.estimators._readings import reading_of

        spec = model._spec()  # noqa: SLF001
        if model.release_.ranges is not None:
            spec = spec.with_ranges(model.release_.ranges.ranges)
        reading = reading_of(spec, frame, None, None)
        (rows,) = coded_rows(reading.enclose(spec.bounding), reading.task.codings)
        loss = spec.objective(reading.task, reading.width).loss
        ridge = self.ridge * len(frame) / SAMPLED_ROWS[id(self.frame)]

        def value(theta):
            def part(block):
                margin = block.margin(theta)
                return np.atleast_1d(block.weigh(loss.value(margin, block.target)).sum())

            return float(rows.sum(part)[0]) + ridge / 2 * float(theta @ theta)

        def derivatives(theta):
            def part(block):
                margin = block.margin(theta)
                slope = loss.slope(margin, block.target)
                bend = loss.curvature_from_slope(slope, margin, block.target)
                slope, bend = block.weigh(slope), block.weigh(bend)
                return block.weighted_sum(slope), block.gram(bend), block.gram(slope**2)

            return rows.sum(part)

        theta = np.array(model.release_.value, dtype=float).ravel()
        for _ in range(200):
            gradient, curvature, scatter = derivatives(theta)
            whole = curvature + (ridge + 1e-3) * np.eye(len(theta))
            step = np.linalg.solve(whole, gradient + ridge * theta)
            here, length = value(theta), 1.0
            while value(theta - length * step) > here * (1 + 1e-12) and length > 1e-4:
                length /= 2
            theta = theta - length * step
            if np.abs(step).max() < 1e-7:
                break
        inverse = np.linalg.pinv(curvature + ridge * np.eye(len(theta)), rcond=1e-9)
        values, vectors = np.linalg.eigh(scatter)
        return theta, inverse @ (vectors * np.sqrt(np.maximum(values, 0)))


SAMPLED_ROWS = {}
"""Number of rows of a sample, by the id of the frame of its population."""


def measure(case, runs):
    """Return the coverage and the other figures of one case over its runs."""
    import numpy as np

    import confide
    from confide.noise import generator

    warnings.simplefilter("ignore")
    name, budget, neighbours, ridge, of = case
    schema, frame = population(name)
    rows = SAMPLED[name].rows
    SAMPLED_ROWS[id(frame)] = rows
    estimator = getattr(confide, ESTIMATORS[SAMPLED[name].task])
    settings = {"schema": schema, "neighbours": neighbours}
    settings["intervals"] = confide.Intervals(of=of)
    if ridge is not None:
        settings["l2"] = ridge
    rng = generator(SEED)
    truths = None
    lines = []
    for _ in range(runs):
        sample = frame.iloc[rng.integers(len(frame), size=rows)].reset_index(drop=True)
        model = estimator(
            budget_of(budget), **settings, random_state=int(rng.integers(2**31))
        ).fit(sample)
        if truths is None:
            truths = Truth(name, model.release_.l2 if of == "penalised" else 0.0)
        truth, deviation, shown = truths.of(model)
        z = truth / deviation * math.sqrt(rows)
        half = 1.96 * deviation / math.sqrt(rows)
        found = model.intervals_.rows
        held = [shown.index(row.name) for row in found]
        truth, z, half = truth[held], z[held], half[held]
        lines.append(
            [
                [
                    row.identified,
                    row.identified and row.lower <= t <= row.upper,
                    row.reliable,
                    row.reliable and (row.estimate > 0) != (t > 0),
                    abs(score) > CLEAR,
                    (row.upper - row.lower) / 2 if row.identified else math.nan,
                    plain,
                    row.estimate,
                    t,
                ]
                for row, t, score, plain in zip(found, truth, z, half, strict=True)
            ]
        )
    names = [row.name for row in found]
    seen = np.array(lines, dtype=float)
    real = [k for k, one in enumerate(names) if "missing or undeclared" not in one]
    return summarise([names[k] for k in real], seen[:, real], case, runs)


def summarise(names, seen, case, runs):
    """Return the figures of a case, and of its coefficients that are often identified."""
    import numpy as np

    identified, covered, starred, wrong, clear, half, plain, *_ = np.moveaxis(seen, 2, 0)
    often = identified.mean(axis=0) >= RARE
    own = np.where(
        often, covered.sum(axis=0) / np.maximum(identified.sum(axis=0), 1), np.nan
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ratio = np.nanmedian(np.where(identified == 1, half / plain, np.nan))
        widths = np.nanmedian(np.where(identified == 1, half, np.nan), axis=0)
        least = float(np.nanmin(own)) if often.any() else None
    total = identified.sum()
    return {
        "table": case[0],
        "budget": case[1],
        "neighbours": case[2],
        "ridge": case[3],
        "of": case[4],
        "runs": runs,
        "rows": SAMPLED[case[0]].rows,
        "coverage": _share(covered.sum(), total),
        "least": least,
        "identified": float(identified.mean()),
        "stars": int(starred.sum()),
        "wrong_signs": _share(wrong.sum(), starred.sum()),
        "clear_starred": _share(starred[clear == 1].sum(), (clear == 1).sum()),
        "width_over_plain": None if math.isnan(ratio) else float(ratio),
        "coefficients": {
            name: {
                "coverage": None if math.isnan(own[k]) else round(float(own[k]), 3),
                "identified": round(float(identified[:, k].mean()), 3),
                "half_width": None if math.isnan(widths[k]) else float(f"{widths[k]:.4g}"),
            }
            for k, name in enumerate(names)
        },
    }


def _share(part, whole):
    return None if not whole else round(float(part / whole), 4)


def _one(arguments):
    return measure(*arguments)


def write_page():
    """Write docs/coverage.md from the stored results."""
    stored = json.loads(RESULTS.read_text("utf-8"))
    head = [
        *("population", "budget", "neighbours", "ridge", "intervals of", "coverage"),
        *("minimum", "identified", "wrong signs", "starred if large", "width", "samples"),
    ]
    lines = [
        [
            f"{one['table']}, {one['rows']:,} rows"
            if "%" not in one["table"]
            else one["table"],
            one["budget"],
            one["neighbours"],
            "auto" if one["ridge"] is None else f"{one['ridge']:g}",
            one["of"],
            _figure(one["coverage"], 3),
            _figure(one["least"], 2),
            _figure(one["identified"], 2),
            _figure(one["wrong_signs"], 3),
            _figure(one["clear_starred"], 2),
            _figure(one["width_over_plain"], 2),
            one["runs"],
        ]
        for one in stored["cases"]
    ]
    intro = prose(
        "This page is written by `python -m bench.plain_coverage --page` from "
        "`docs/accuracy/plain-coverage.json`; do not edit it. From each population, "
        "samples are drawn with replacement, and a model is fitted to each sample with "
        "intervals and default settings. The intervals should contain the coefficients of "
        "the same model, fitted to the whole population (without a ridge for plain "
        "intervals, with a proportional ridge for penalised ones). `bench/plain_tables.py` "
        "lists the populations, columns and ranges, which were fixed before anything was "
        'measured. Populations such as "17 % of 5,000" are simulated: about 17 % of their '
        "rows are positive, and each sample has 5,000 rows. "
        "*Coverage* is the share of 95 % intervals that contain the true value, "
        "among identified coefficients. *Minimum* is the lowest coverage of a single "
        "coefficient, among those identified in at least a tenth of the runs. An estimate "
        "is starred if its interval excludes 0. *Wrong signs* is the share of starred "
        "estimates with the wrong sign. *Starred if large* is the share of starred "
        "estimates among the estimates of coefficients whose |z| without privacy is above "
        "6. "
        "*Width* is the median ratio of the width of an interval to that of the same "
        "interval without privacy."
    )
    text = f"# Coverage of intervals\n\n{intro}\n\n{table(head, lines)}\n"
    PAGE.write_text(text, "utf-8")


def _figure(value, digits):
    return "–" if value is None else f"{value:.{digits}f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        write_page()
        return
    if data_folder() is None:
        raise SystemExit("the data sets were not found: set CONFIDE_DATA to their folder")
    chosen = [case for case in cases() if given.only in " ".join(map(str, case))]
    runs = [given.runs if is_main(case) else given.runs // 3 for case in chosen]
    found = []
    with ProcessPoolExecutor(given.jobs) as pool:
        for result in pool.map(_one, zip(chosen, runs, strict=True)):
            print({k: v for k, v in result.items() if k != "coefficients"}, flush=True)
            found.append(result)
    if not given.only:
        stored = {"machine": describe(), "cases": found}
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
