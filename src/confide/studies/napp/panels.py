"""Grid cells, tables and figures that the NAPP studies have in common."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from confide._types import Array
from confide.studies.engine.study import Cell
from confide.studies.napp.population import (
    EPSILONS,
    REPEATS,
    SETTINGS,
)

SOURCE: Final = (
    "Li and Liu: Noise-Augmented Privacy-Preserving Empirical Risk Minimization with "
    "Dual-purpose Regularizer and Privacy Budget Retrieval and Recycling"
)
PARTS = 5
PANEL = ["regression", "rows", "epsilon"]
MOST_ERROR = 3.0
_RED, _GREEN, _BLUE = "#b2182b", "#1b7837", "#2166ac"
STYLES: Final[dict[str, dict[str, Any]]] = {
    "VS+ MOOR": {"color": _RED, "label": "NAPP-VS+ with MOOR"},
    "VS+": {"color": _RED, "ls": "--", "label": "NAPP-VS+ without"},
    "VS MOOR": {"color": _GREEN, "label": "NAPP-VS with MOOR"},
    "VS": {"color": _GREEN, "ls": "--", "label": "NAPP-VS without"},
    "ERM MOOR": {"color": _BLUE, "label": "NAPP-ERM with MOOR"},
    "DP-ERM": {"color": _BLUE, "ls": "--", "label": "DP-ERM"},
    "lasso": {"color": "black", "ls": ":", "label": "lasso, not private"},
    "sound": {"color": "#762a83", "lw": 2.2, "label": "sound: one look"},
    "two looks": {"color": "#e08214", "lw": 1.6, "label": "sound: two looks"},
}
"""Order, colours and labels of the methods; our private methods have thicker lines."""


def cells(methods: str, delta: float, quick: bool) -> list[Cell]:
    """Return the grid cells for table 4; a quick run has only the largest n and ε."""
    regressions = ("linear",) if methods == "recycled" else tuple(SETTINGS)
    return [
        {
            "regression": regression,
            "rows": rows,
            "epsilon": epsilon,
            "delta": delta,
            "methods": methods,
            "part": part,
            "repeats": REPEATS // PARTS,
        }
        for regression in regressions
        for rows in SETTINGS[regression].sizes[1 if quick else 0 :]
        for epsilon in EPSILONS[-1 if quick else 0 :]
        for part in range(1 if quick else PARTS)
    ]


def averaged(rows: pd.DataFrame) -> pd.DataFrame:
    """Average over repetitions, and add Λ as a multiple of the gradient bound L."""
    keys = [*PANEL, "method", "strength"]
    means = rows.groupby(keys, sort=False).mean(numeric_only=True).reset_index()
    unit = means["regression"].map(lambda name: SETTINGS[name].objective.lipschitz)
    return means.assign(multiple=(means["strength"] / unit).round(4))


def curve(line: pd.DataFrame) -> tuple[Array, Array]:
    """Return the ROC curve of one method, from the largest to the smallest Λ."""
    ordered = line.sort_values("strength", ascending=False)
    return (
        np.concatenate([[0.0], ordered["fpr"], [1.0]]),
        np.concatenate([[0.0], ordered["tpr"], [1.0]]),
    )


def area(line: pd.DataFrame) -> float:
    """Return the area under the ROC curve of one method."""
    wrong, hit = curve(line)
    return float(np.trapezoid(hit, wrong))


def by_method(
    rows: pd.DataFrame, value: Callable[[pd.DataFrame], float], *keys: str
) -> pd.DataFrame:
    """Tabulate a function of each method's results: rows are panels, columns methods."""
    lines = []
    for panel, part in averaged(rows).groupby([*PANEL, *keys], sort=False):
        groups = part.groupby("method", sort=False)
        line = dict(zip([*PANEL, *keys], panel, strict=True))
        lines.append(line | {str(name): value(group) for name, group in groups})
    return pd.DataFrame(lines)


def panels(
    rows: pd.DataFrame,
    draw: Callable[[Any, pd.DataFrame], None],
    title: str,
    axes_names: tuple[str, str],
) -> Any:
    """Draw all panels: one column per ε, one row per regression and number of rows."""
    from matplotlib.figure import Figure

    means = averaged(rows)
    places = list(dict.fromkeys(zip(means["regression"], means["rows"], strict=True)))
    epsilons = sorted(means["epsilon"].unique())
    size = (2.9 * len(epsilons) + 0.6, 2.45 * len(places) + 1.5)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(places), len(epsilons), squeeze=False)
    for i, (regression, count) in enumerate(places):
        for j, epsilon in enumerate(epsilons):
            axes = grid[i][j]
            here = means["regression"].eq(regression) & means["rows"].eq(count)
            draw(axes, means[here & means["epsilon"].eq(epsilon)])
            axes.set_title(f"{regression}, n = {count}, ε = {epsilon:g}", fontsize=9)
            axes.tick_params(labelsize=8)
            axes.grid(visible=True, alpha=0.3)
            if j == 0:
                axes.set_ylabel(axes_names[1], fontsize=9)
            if i == len(places) - 1:
                axes.set_xlabel(axes_names[0], fontsize=9)
    legend(figure, 3)
    figure.suptitle(title, fontsize=11)
    return figure


def legend(figure: Any, columns: int) -> None:
    """Add one legend below all panels, taken from the panel with the most entries."""
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    handles, labels = max(found, key=lambda pair: len(pair[0]))
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=9,
    )


def cut_off(axes: Any, rows: pd.DataFrame) -> None:
    """Limit the error axis to three times the error of all-zero coefficients."""
    if rows.empty:
        return
    top = MOST_ERROR * float(rows.sort_values("strength")["error"].iloc[-1])
    if axes.get_ylim()[1] > top:
        axes.set_ylim(0.8 * float(rows["error"].min()), top)


def lines(axes: Any, rows: pd.DataFrame, value: str, names: Sequence[str]) -> None:
    """Draw a value against Λ, with one line for each method in the results."""
    for name in names:
        line = rows[rows["method"] == name].sort_values("strength")
        if len(line):
            axes.plot(line["strength"], line[value], **{"lw": 1.1, **STYLES[name]})
    axes.set_xscale("log")
