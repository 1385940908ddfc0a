"""Figure 6 of the NAPP paper: misclassification in the Adult data.

Only complete records are used, 30,162 for training and 15,060 for testing. They are coded
by the packaged schema. Every row has norm at most 1, not counting the constant 0.3 for the
intercept. The paper names neither its columns nor its δ, which is 1e-6 here. Λ₀ = 1/ε and
the number of iterations, T = 80, are from the paper.

NAPP-VS and VS+ set to 0 those coefficients whose signs still alternate at the end. With an
indicator column for every level, this affects most of the coefficients, and changes them by
large amounts, so results are also shown for the last iterate.
"""

from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data import INTERCEPT_HEIGHT, Schema, bound_rows, load
from confide.mechanisms import Calibration
from confide.mechanisms.published.napp.iterations import settled
from confide.noise import Entropy
from confide.objectives import Logistic, Objective, guess_coef_norm_of_columns
from confide.privacy import Approx
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.napp.baselines import lasso
from confide.studies.napp.batch import BatchTable, Fits, together
from confide.studies.napp.panels import SOURCE, STYLES, legend
from confide.studies.napp.trial import (
    LASSO,
    VARIANTS,
    ZERO_BELOW,
    calibrated,
    draw_above,
    private,
)

STRENGTHS = (0.1, 0.4, 1.0)
EPSILONS = tuple(round(0.1 * k, 1) for k in range(1, 11))
PARTS = 5
DELTA = 1e-6
PRIVATE = [name for name in STYLES if name != LASSO]
READINGS = {
    "wrong": "coefficients with alternating signs set to 0",
    "wrong_last": "the last iterate",
}


def _cells(quick: bool) -> list[Cell]:
    return [
        {"epsilon": epsilon, "strength": strength, "part": part, "repeats": 1}
        for epsilon in (EPSILONS[::9] if quick else EPSILONS)
        for strength in (STRENGTHS[1:2] if quick else STRENGTHS)
        for part in range(1 if quick else PARTS)
    ]


@lru_cache(maxsize=2)
def _people(split: str) -> tuple[Array, Array]:
    """Return complete records with a final intercept column, and incomes as ±1."""
    frame = load("adult", split).dropna()
    schema = Schema.bundled("adult")
    design = np.asarray(schema.design(frame), dtype=np.float64)
    ones = np.full((len(frame), 1), INTERCEPT_HEIGHT)
    rich = (schema.target_column(frame) == ">50K").to_numpy()
    return np.hstack([design, ones]), np.where(rich, 1.0, -1.0)


def _objective() -> Objective:
    schema = Schema.bundled("adult")
    guess = guess_coef_norm_of_columns(
        Logistic(), schema.weights, len(schema.columns), None
    )
    norm = float(np.hypot(1, INTERCEPT_HEIGHT))
    size = len(schema.features) + 1
    return Objective(Logistic(), size, norm, coef_norm_guess=guess)


def trial(cell: Cell, seed: int) -> list[Row]:
    """Evaluate every method at one ε and Λ, with new noise in each repeat."""
    x, y = _people("train")
    epsilon = Fraction(repr(cell["epsilon"]))
    budget = Approx(epsilon, Fraction(repr(DELTA)))
    objective = _objective()
    plan = calibrated(objective.with_l2(2 / float(epsilon)), budget)
    entropy, table = Entropy.seeded(seed), BatchTable(objective.loss, x, y)
    rows = bound_rows(x, y, objective.row_norm, 0.0)
    strength = np.array([float(cell["strength"])])
    row = partial(tested, _people("test"))
    found = [row(LASSO, *2 * [lasso(objective, rows, strength[0])])]
    for repeat in range(int(cell["repeats"])):
        path = table.follow(variant_fits(plan, strength, entropy))
        ends = zip(VARIANTS, settled(path, ZERO_BELOW), path.theta, strict=True)
        found += [row(*end) for end in ends]
        sound_ones = private(objective, budget, rows, strength, (seed, repeat))
        found += [row(name, *2 * [fit[0]]) for name, (fit, _) in sound_ones.items()]
    return found


def variant_fits(plan: Calibration, strength: Array, entropy: Entropy) -> Fits:
    """Draw noise and return a batch with one fit per published variant."""
    size = plan.objective.dimension
    whole = plan.noise.draw(size, entropy)
    above = draw_above(plan.noise, size, entropy)
    floor = plan.objective.strong_convexity / 2
    return together(
        [
            Fits.of(
                strength,
                floor,
                above if one.truncated else whole,
                moor=one.moor,
                folded=one.selection,
            )
            for one in VARIANTS.values()
        ]
    )


def tested(people: tuple[Array, Array], name: str, theta: Array, last: Array) -> Row:
    """Return the test errors of the final coefficients and of the last iterate.

    ``theta`` holds the final coefficients, set to 0 if their signs still alternate.
    ``last`` is the last iterate before that step.
    """
    x, y = people
    wrong, wrong_last = (float(((x @ one > 0) != (y > 0)).mean()) for one in (theta, last))
    return {
        "method": name,
        "wrong": wrong,
        "wrong_last": wrong_last,
        "selected": int(np.count_nonzero(theta)),
    }


def readings_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the percentage misclassified by final coefficients and by last iterates."""
    parts = []
    for value, reading in READINGS.items():
        here = rows.assign(percent=100 * rows[value]).rename(columns={"strength": "Λ"})
        wide = here.pivot_table(
            index=["Λ", "epsilon"], columns="method", values="percent"
        ).reset_index()
        parts.append(wide.assign(estimate=reading))
    table = pd.concat(parts)
    names = [name for name in STYLES if name in table]
    return table[["estimate", "Λ", "epsilon", *names]].reset_index(drop=True).round(2)


def readings_figure(rows: pd.DataFrame) -> Any:
    """Draw percentages misclassified against ε, in one panel per estimate and Λ."""
    from matplotlib.figure import Figure

    strengths = sorted(rows["strength"].unique())
    figure = Figure(figsize=(3.4 * len(strengths) + 1.5, 7.4), layout="constrained")
    grid = figure.subplots(len(READINGS), len(strengths), squeeze=False)
    for line, (value, reading) in zip(grid, READINGS.items(), strict=True):
        for axes, strength in zip(line, strengths, strict=True):
            here = rows[rows["strength"] == strength]
            for name in PRIVATE:
                means = here[here["method"] == name].groupby("epsilon")[value].mean()
                axes.plot(means.index, 100 * means, **{"lw": 1.2, **STYLES[name]})
            plain = here[here["method"] == LASSO][value].mean()
            axes.axhline(100 * plain, **{"lw": 1.2, **STYLES[LASSO]})
            axes.set_title(f"{reading}, Λ = {strength:g}", fontsize=9)
            axes.set_xlabel("ε")
            axes.grid(visible=True, alpha=0.3)
        line[0].set_ylabel("misclassified, in percent")
    legend(figure, 3 if len(strengths) > 1 else 2)
    figure.suptitle("Adult: misclassified people in the test data", fontsize=11)
    return figure


register(
    Study(
        name="napp-figure6",
        title="Misclassification in the Adult data, by ε and Λ",
        source=f"{SOURCE}, figure 6",
        cells=_cells,
        run=trial,
        table=readings_table,
        figure=readings_figure,
        datasets=("adult",),
        repetition=("part",),
    )
)
