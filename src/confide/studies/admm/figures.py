"""Figures 1 to 4 of the Rényi ADMM paper: prediction and selection with an l1 penalty."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import pandas as pd

from confide.studies.admm.methods import COUNTS, STYLES, TRUTH, trial
from confide.studies.admm.population import FOLDS
from confide.studies.engine.study import Cell, Study, register
from confide.studies.napp.panels import legend

SOURCE: Final = "Rényi Differentially Private ADMM for Non-Smooth Regularized Optimization"
STAND_IN: Final = " (with data of the American Community Survey in place of IPUMS-BR)"
EPSILONS = (0.1, 0.2, 0.5, 1.0)
WEIGHTS = (1e-4, 1e-3)
REPEATS = 10
REAL = ("a9a", "acs")
DRAWN: Final = STYLES | {TRUTH: {"lw": 1.2, "color": "0.6", "ls": ":"}}
PREDICTION = ("accuracy", "objective")
SELECTION = tuple(f"xi{count}" for count in COUNTS)
NAMES = {
    "accuracy": "accuracy",
    "objective": "objective",
    **{f"xi{count}": f"ξ, k = {count}" for count in COUNTS},
}


def _cells(loss: str, datasets: Sequence[str], quick: bool) -> list[Cell]:
    return [
        {
            "loss": loss,
            "dataset": dataset,
            "weight": weight,
            "epsilon": epsilon,
            "fold": fold,
            "repeats": REPEATS,
        }
        for dataset in datasets
        for fold in range(1 if quick else FOLDS)
        for weight in WEIGHTS[:: 2 if quick and len(datasets) > 1 else 1]
        for epsilon in EPSILONS[:: 3 if quick else 1]
    ]


def _means(rows: pd.DataFrame, values: Sequence[str]) -> pd.DataFrame:
    keys = ["dataset", "weight", "epsilon", "method"]
    return rows.groupby(keys, sort=False)[list(values)].mean().reset_index()


def _table(values: Sequence[str], rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the mean of each measure by dataset, λ and ε, one column per method."""
    long = _means(rows, values).melt(["dataset", "weight", "epsilon", "method"])
    long["variable"] = long["variable"].map(NAMES)
    names = {"weight": "λ", "epsilon": "ε", "variable": "measure"}
    keys = ["dataset", "measure", "λ", "ε"]
    wide = (
        long.rename(columns=names)
        .pivot_table(index=keys, columns="method", values="value", sort=False)
        .reset_index()
        .rename_axis(columns=None)
    )
    shown = [name for name in DRAWN if name in wide]
    return wide[[*keys, *shown]].round(4)


def _figure(values: Sequence[str], title: str, rows: pd.DataFrame) -> Any:
    """Draw every measure against ε, in one panel per measure, dataset and λ."""
    from matplotlib.figure import Figure

    means = _means(rows, values)
    places = sorted(set(zip(means["dataset"], means["weight"], strict=True)))
    plan = [[(value, *place) for place in places] for value in values]
    if len(values) > len(places):
        plan = [[(value, *place) for value in values] for place in places]
    size = (3.0 * len(plan[0]) + 0.8, 2.5 * len(plan) + 1.6)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(plan), len(plan[0]), squeeze=False)
    for line, panels in zip(grid, plan, strict=True):
        for axes, (value, dataset, weight) in zip(line, panels, strict=True):
            here = means["dataset"].eq(dataset) & means["weight"].eq(weight)
            _panel(axes, means[here], value)
            axes.set_title(f"{dataset}, λ = {weight:g}", fontsize=9)
            axes.set_ylabel(NAMES[value], fontsize=9)
    legend(figure, 4)
    figure.suptitle(title, fontsize=11)
    return figure


def _panel(axes: Any, rows: pd.DataFrame, value: str) -> None:
    for name, style in DRAWN.items():
        line = rows[rows["method"] == name].sort_values("epsilon")
        if len(line):
            axes.plot(line["epsilon"], line[value], label=name, **style)
    low, high = _limits(rows, value)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    axes.set_xscale("log")
    ticks = sorted(rows["epsilon"].unique())
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("ε", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, alpha=0.3)


def _limits(rows: pd.DataFrame, value: str) -> tuple[float, float]:
    """Return the limits of the vertical axis of a panel.

    The worst method is ignored if it would more than double the range of the other methods.
    """
    ends = rows.groupby("method")[value].agg(["min", "max"])
    worst = ends["max"].idxmax() if value == "objective" else ends["min"].idxmin()
    rest = ends.drop(index=worst)
    low, high = float(ends["min"].min()), float(ends["max"].max())
    if len(rest) > 1:
        near = float(rest["min"].min()), float(rest["max"].max())
        if 0 < 2 * (near[1] - near[0]) < high - low:
            return near
    return low, max(high, low + 1e-9)


_WHAT = {
    1: ("logistic", REAL, PREDICTION, "Logistic regression with an l1 penalty, by ε"),
    2: ("SVM", REAL, PREDICTION, "Huberized SVM with an l1 penalty, by ε"),
    3: ("logistic", ("simulated",), PREDICTION, "Simulated data: prediction, by ε"),
    4: ("logistic", ("simulated",), SELECTION, "Simulated data: columns found, by ε"),
}

for _number, (_loss, _datasets, _values, _title) in _WHAT.items():
    register(
        Study(
            name=f"admm-figure{_number}",
            title=f"{_title}: ADMM methods and ours",
            source=f"{SOURCE}, figure {_number}{STAND_IN if _datasets == REAL else ''}",
            cells=partial(_cells, _loss, _datasets),
            run=trial,
            table=partial(_table, _values),
            figure=partial(_figure, _values, _title),
            datasets=_datasets if _datasets == REAL else (),
            version=2,
            grid=f"admm-{_loss.lower()}" if _datasets == REAL else "admm-simulated",
            repetition=("fold",),
        )
    )
