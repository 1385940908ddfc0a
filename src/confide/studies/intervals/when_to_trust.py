"""When to trust an interval: simulated coverage at default settings.

Coverage is computed for two targets: the population minimiser of the regularised objective,
for which the intervals are constructed, and the minimiser without the ridge, in which users
may be interested. Intervals miss the second target if the ridge shrinks a coefficient by
more than the length of its interval.
"""

from typing import Any

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data import INTERCEPT_HEIGHT
from confide.mechanisms import Intervals, ObjectivePerturbation, WithIntervals
from confide.noise import Entropy, Generator, generator
from confide.objectives import Logistic, Objective
from confide.privacy import Approx, Budget, Neighbours, Pure
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.intervals.population import Population, minimisers
from confide.studies.intervals.trial import Scheme, Trial, see

ROWS = (300, 1000, 3000, 10_000, 30_000, 100_000)
COLUMNS = (5, 20)
EPSILONS = (0.3, 1.0, 3.0)
DELTA = "1e-6"
BATCH = 20
PARTS, REPLICATES = 4, 100
"""Number of simulated populations per setting, and of replicates per population."""
SIGNAL = 1.0
"""Standard deviation of the log-odds over the rows."""
COLOURS = ("#b2182b", "#2166ac", "#1b7837")


def _cells(quick: bool) -> list[Cell]:
    rows = ROWS[1:4] if quick else ROWS
    return [
        {
            "rows": count,
            "columns": columns,
            "epsilon": epsilon,
            "kind": kind,
            "part": part,
            "replicates": REPLICATES,
        }
        for count in rows
        for columns in (COLUMNS[:1] if quick else COLUMNS)
        for epsilon in EPSILONS
        for kind in ("approx", "pure")
        for part in range(1 if quick else PARTS)
    ]


def _run(cell: Cell, seed: int) -> list[Row]:
    rng, entropy = generator(seed), Entropy.seeded(seed)
    rows, columns = int(cell["rows"]), int(cell["columns"])
    population = _simulated(rows, columns, rng)
    epsilon = repr(cell["epsilon"])
    budget: Budget = Pure(epsilon)
    if cell["kind"] == "approx":
        budget = Approx(epsilon, DELTA)
    mechanism = WithIntervals(ObjectivePerturbation(), Intervals(of="penalised"), rows)
    objective = Objective(Logistic(), columns + 1, 1.0)
    plan = mechanism.calibrate(objective, budget, Neighbours.REPLACE_ONE)
    one = Trial(Scheme(str(cell["kind"]), "obj", "LR", "chosen"), plan, rows, [], [], [])
    truth = _minimiser(plan.main.objective, population)
    free = _minimiser(plan.main.objective.with_l2(1e-3), population)
    for _ in range(int(cell["replicates"]) // BATCH):
        counts = population.resample(BATCH, rng)
        see([one], population, counts, truth, entropy=entropy, rng=rng, watched=True)
    estimates = np.hstack(one.estimates).T
    half = np.stack(one.lengths) / 2
    return [
        {
            "coverage": float(np.mean(one.covered)),
            "coverage_without_ridge": float(np.mean(np.abs(estimates - free) <= half)),
            "length": float(2 * half.mean()),
            "share": float(1 - plan.split[0]),
            "ridge": float(plan.main.objective.strong_convexity),
        }
    ]


def _simulated(rows: int, columns: int, rng: Generator) -> Population:
    """Simulate rows of norm 1, including a constant, and labels from a logistic model."""
    drawn = rng.normal(size=(rows, columns))
    drawn /= np.linalg.norm(drawn, axis=1)[:, None]
    features = np.column_stack([drawn, np.full(rows, INTERCEPT_HEIGHT)])
    features /= np.hypot(1.0, INTERCEPT_HEIGHT)
    odds = SIGNAL * drawn.sum(axis=1)
    target = np.where(odds + rng.logistic(size=rows) > 0, 1.0, -1.0)
    return Population.of(features, target)


def _minimiser(objective: Objective, population: Population) -> Array:
    nothing = np.zeros((population.size, 1))
    counts = population.counts[:, None]
    start = np.zeros(population.size)
    return minimisers(objective, population, counts, nothing, start)[:, 0]


def _joined(rows: pd.DataFrame) -> pd.DataFrame:
    """Average the results of each setting over its simulated populations."""
    keys = ["kind", "columns", "epsilon", "rows"]
    return rows.groupby(keys, sort=False).mean(numeric_only=True).reset_index()


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    order = ["kind", "columns", "epsilon", "rows"]
    rows = _joined(rows)
    shown = ["coverage", "coverage_without_ridge", "length", "share", "ridge"]
    return rows.sort_values(order, ignore_index=True)[[*order, *shown]].round(4)


def _figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    rows = _joined(rows)
    columns = sorted(rows["columns"].unique())
    figure = Figure(figsize=(10, 1 + 3.2 * len(columns)), layout="constrained")
    grid = figure.subplots(len(columns), 2, sharex=True, sharey=True, squeeze=False)
    for line, count in zip(grid, columns, strict=True):
        for axes, kind in zip(line, ("approx", "pure"), strict=True):
            _panel(axes, rows[(rows["columns"] == count) & (rows["kind"] == kind)])
            name = f"(ε, {DELTA})" if kind == "approx" else "pure ε"
            axes.set_title(f"{name}, {count} columns", fontsize="medium")
    for axes in grid[-1]:
        axes.set_xlabel("rows")
    for axes in grid[:, 0]:
        axes.set_ylabel("coverage")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("95 % intervals of logistic regression, all settings at their defaults")
    return figure


def _panel(axes: Any, rows: pd.DataFrame) -> None:
    axes.set_xscale("log")
    axes.axhspan(0.94, 0.97, color="0.9", zorder=0)
    for colour, epsilon in zip(COLOURS, EPSILONS, strict=True):
        part = rows[rows["epsilon"] == epsilon].sort_values("rows")
        name = f"ε = {epsilon:g}"
        kind = {"color": colour, "lw": 1.2, "ms": 4}
        shown = [("coverage", "-", "o", "regularised minimiser")]
        shown += [("coverage_without_ridge", ":", "x", "minimiser without the ridge")]
        for column, style, marker, words in shown:
            label = f"{name}, {words}"
            axes.plot(
                part["rows"], part[column], ls=style, marker=marker, label=label, **kind
            )
    lowest = float(rows[["coverage", "coverage_without_ridge"]].min().min())
    axes.set_ylim(min(0.85, lowest - 0.02), 1.005)
    axes.grid(visible=True, alpha=0.3)


register(
    Study(
        name="ci-trust",
        title="When to trust a private interval: coverage by rows, columns and budget",
        source="simulation, not in the paper: logistic model, rows of length 1",
        cells=_cells,
        run=_run,
        table=_table,
        figure=_figure,
        version=3,
        repetition=("part",),
    )
)
