"""Figure 6 of the NAPP paper: misclassified people of the Adult data.

Complete records alone, 30,162 to learn from and 15,060 to test, coded by the packaged
schema: every row has length at most 1, beside a constant 0.3 for the intercept. The paper
names neither its columns nor its δ, which is 1e-6 here. Λ₀ = 1/ε and T = 80 are its own.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data import INTERCEPT_HEIGHT, Schema, enclose, load
from confide.mechanisms.napp_path import settled
from confide.noise import Entropy
from confide.objectives import Logistic, Objective
from confide.privacy import Approx
from confide.studies.napp_batch import Fits, Table, together
from confide.studies.napp_panels import SOURCE, STYLES, legend
from confide.studies.napp_rivals import lasso
from confide.studies.napp_trial import (
    LASSO,
    VARIANTS,
    ZERO_BELOW,
    calibrated,
    draw_above,
    private,
)
from confide.studies.study import Cell, Row, Study, register

STRENGTHS = np.array([0.1, 0.4, 1.0])
EPSILONS = tuple(round(0.1 * k, 1) for k in range(1, 11))
DELTA = 1e-6
PRIVATE = [name for name in STYLES if name != LASSO]


def _cells(quick: bool) -> list[Cell]:
    epsilons, parts, repeats = ((0.1, 1.0), 1, 1) if quick else (EPSILONS, 4, 5)
    return [
        {"epsilon": epsilon, "part": part, "repeats": repeats}
        for epsilon in epsilons
        for part in range(parts)
    ]


@lru_cache(maxsize=2)
def _people(split: str) -> tuple[Array, Array]:
    """Return complete records, the column of the intercept last, and incomes as ±1."""
    frame = load("adult", split).dropna()
    schema = Schema.bundled("adult")
    design = np.asarray(schema.design(frame), dtype=np.float64)
    ones = np.full((len(frame), 1), INTERCEPT_HEIGHT)
    rich = (schema.target_column(frame) == ">50K").to_numpy()
    return np.hstack([design, ones]), np.where(rich, 1.0, -1.0)


def trial(cell: Cell, seed: int) -> list[Row]:
    """Measure every method at one ε, on the same people with new noise every time."""
    x, y = _people("train")
    epsilon = Fraction(repr(cell["epsilon"]))
    budget = Approx(epsilon, Fraction(repr(DELTA)))
    objective = Objective(Logistic(), x.shape[1], float(np.hypot(1, INTERCEPT_HEIGHT)))
    plan = calibrated(objective.with_l2(2 / float(epsilon)), budget)
    floor = plan.objective.strong_convexity / 2
    entropy, table = Entropy.seeded(seed), Table(objective.loss, x, y)
    rows = enclose(x, y, objective.row_norm, 0.0)
    draws = []
    for _ in range(int(cell["repeats"])):
        draws.append(plan.noise.draw(objective.dimension, entropy))
        draws.append(draw_above(plan.noise, objective.dimension, entropy))
    found: list[Row] = []
    for repeat in range(int(cell["repeats"])):
        whole, above = draws[2 * repeat : 2 * repeat + 2]
        fits = together(
            [
                Fits.of(
                    STRENGTHS,
                    floor,
                    above if one.truncated else whole,
                    moor=one.moor,
                    folded=one.selection,
                )
                for one in VARIANTS.values()
            ]
        )
        ends = np.split(settled(table.follow(fits), ZERO_BELOW), len(VARIANTS))
        for name, thetas in zip(VARIANTS, ends, strict=True):
            found += _rows(name, thetas)
        sound_ones = private(objective, budget, rows, STRENGTHS, (seed, repeat))
        for name, (thetas, _) in sound_ones.items():
            found += _rows(name, thetas)
    if not cell["part"]:
        plain = [lasso(objective, rows, strength) for strength in STRENGTHS]
        found += _rows(LASSO, np.stack(plain))
    return found


def _rows(name: str, thetas: Array) -> list[Row]:
    x, y = _people("test")
    wrong = ((thetas @ x.T >= 0) != (y > 0)).mean(axis=1)
    chosen = (thetas != 0).mean(axis=1)
    return [
        {"method": name, "strength": s, "wrong": w, "selected": c}
        for s, w, c in zip(STRENGTHS, wrong, chosen, strict=True)
    ]


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """Share misclassified, in percent."""
    rows = rows.assign(percent=100 * rows["wrong"]).rename(columns={"strength": "Λ"})
    keys = ["Λ", "epsilon"]
    wide = rows.pivot_table(index=keys, columns="method", values="percent")
    wide[LASSO] = wide[LASSO].groupby("Λ").transform("mean")
    return (
        wide[[name for name in STYLES if name in wide]].rename_axis(columns=None).round(2)
    )


def _figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    grid = figure.subplots(1, len(STRENGTHS), sharey=True)
    for axes, strength in zip(grid, STRENGTHS, strict=True):
        here = rows[rows["strength"] == strength]
        for name in PRIVATE:
            line = here[here["method"] == name].groupby("epsilon")["wrong"].mean()
            axes.plot(line.index, 100 * line, **{"lw": 1.2, **STYLES[name]})
        plain = here[here["method"] == LASSO]["wrong"].mean()
        axes.axhline(100 * plain, **{"lw": 1.2, **STYLES[LASSO]})
        axes.set_title(f"Λ = {strength:g}", fontsize=10)
        axes.set_xlabel("ε")
        axes.grid(visible=True, alpha=0.3)
    grid[0].set_ylabel("misclassified, in percent")
    legend(figure, grid[0], 5)
    figure.suptitle("Adult: income above 50,000 dollars, on 15,060 people not learnt from")
    return figure


register(
    Study(
        name="napp-figure6",
        title="Misclassified people of the Adult data, by ε and Λ",
        source=f"{SOURCE}, figure 6",
        cells=_cells,
        run=trial,
        table=_table,
        figure=_figure,
        datasets=("adult",),
    )
)
