"""How the regression studies are drawn: a panel for every measure, one colour a method."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd

from confide.studies.napp.panels import legend
from confide.studies.regression.methods import METHODS, PLAIN

NAMES: Final = {
    "error": "error in (10 mg/week)²",
    "attack": "genotypes guessed right",
    "within": "within 20 % of the right dose",
    "below": "more than 20 % too low",
    "above": "more than 20 % too high",
}
LABELS: Final = {"epsilon": "ε", "share": "share of the patients to learn from"}
MOST_ERROR: Final = 40.0
"""Means beyond it leave a panel; a dose of 0 for everybody has about 12."""
GUESSES: Final = {
    "commonest": {"color": "0.6", "ls": ":", "lw": 1.0, "label": "commonest genotype"},
    "dose alone": {"color": "0.6", "ls": "-.", "lw": 1.0, "label": "dose, no model"},
}


def draw(rows: pd.DataFrame, values: Sequence[str], against: str, title: str) -> Any:
    """Draw measures over ε or a share; "utility" stands for points of attack and error."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    keys = [against, "method"]
    means = rows.groupby(keys, sort=False).mean(numeric_only=True).reset_index()
    layout = ConstrainedLayoutEngine(w_pad=0.12)
    figure = Figure(figsize=(max(6.6, 4.1 * len(values)), 5.0), layout=layout)
    panels = figure.subplots(1, len(values), squeeze=False)[0]
    for axes, value in zip(panels, values, strict=True):
        x, y = ("error", "attack") if value == "utility" else (against, value)
        _panel(axes, means.sort_values(against), x, y)
        if against == "epsilon" and x == against:
            ticks = sorted(means[against].unique())
            axes.set_xscale("log")
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
    legend(figure, 3)
    figure.suptitle(title, fontsize=11)
    return figure


def _panel(axes: Any, means: pd.DataFrame, x: str, y: str) -> None:
    from matplotlib.ticker import PercentFormatter

    for name, method in METHODS.items():
        line = means[means["method"] == name]
        style: dict[str, Any] = {"lw": 1.2, "ms": 4, "label": name, **method.style}
        if style.get("ls") == "--":
            style["mfc"] = "white"
        if x == "error":
            style |= {"ls": ""} | ({"marker": "*", "ms": 8} if name == PLAIN else {})
        if len(line):
            axes.plot(line[x], line[y], **style)
    if y == "attack":
        for name, style in GUESSES.items():
            axes.axhline(float(means[name].mean()), **style)
    if y != "error":
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for axis, value in ((axes.xaxis, x), (axes.yaxis, y)):
        if value == "error":
            _errors(axes, axis, float(means["error"].min()), float(means["error"].max()))
    axes.set_xlabel((NAMES | LABELS)[x], fontsize=9)
    axes.set_ylabel(NAMES[y], fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, alpha=0.3)


def _errors(axes: Any, axis: Any, least: float, largest: float) -> None:
    """Let an axis of errors be logarithmic, and end where they say nothing any more."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    across = axis is axes.xaxis
    (axes.set_xscale if across else axes.set_yscale)("log")
    ends = (0.9 * least, min(MOST_ERROR, 1.1 * largest))
    (axes.set_xlim if across else axes.set_ylim)(*ends)
    axis.set_major_locator(FixedLocator([1.5, 2, 3, 5, 10, 20, 40]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
