"""Figures 1 to 4 of Wang, Kifer and Lee (2018): lengths of private intervals."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from confide.studies.engine.study import Cell, Study, register
from confide.studies.intervals.printed_values import PRINTED, Printed
from confide.studies.intervals.tables import SOURCE, STAND_IN, grid
from confide.studies.intervals.trial import trial

_KDD, _ADULT, _BANK, _US, _BR = PRINTED
_BR_BY_E1 = replace(_BR, varied="e1", settings=_BANK.settings)
PANELS: tuple[tuple[Printed, str], ...] = (
    (_KDD, "LR"),
    (_ADULT, "LR"),
    (_ADULT, "SVM"),
    (_BANK, "LR"),
    (_BANK, "SVM"),
    (_BR_BY_E1, "LR"),
    (_US, "LR"),
    (_US, "SVM"),
    (_BR, "SVM"),
)
"""The nine panels of figure 1; the other figures show the same."""
FIGURES = {
    1: ("DP+zCDP", "obj", "privacy"),
    2: ("DP+zCDP", "output", "privacy"),
    3: ("DP", "obj+output", "method"),
    4: ("zCDP", "obj+output", "method"),
}
TITLES = {
    1: "DP against zCDP with objective perturbation",
    2: "DP against zCDP with output perturbation",
    3: "objective against output perturbation under DP",
    4: "objective against output perturbation under zCDP",
}
DRAWS = 3
COLOURS = ("#b2182b", "#2166ac")
LINES = {
    "published": {"ls": "-", "marker": "o", "label": "interval as published"},
    "tight": {"ls": "--", "marker": "s", "label": "tight interval"},
}
LABELS = {"rows": "records", "columns": "columns", "e1": "ε₁", "e2": "ε₂", "e3": "ε₃"}


def _cells(number: int, quick: bool) -> list[Cell]:
    privacies, methods, _ = FIGURES[number]
    schemes = f"{privacies} {methods} published+tight"
    sizes = {"replicates": 20, "variability": 100}
    if not quick:
        sizes = {"replicates": 1000, "variability": 10_000}
    found: list[Cell] = []
    for printed in dict.fromkeys((one.number, one.varied) for one, _ in PANELS):
        panel = next(one for one, _ in PANELS if (one.number, one.varied) == printed)
        settings = panel.settings
        if quick:
            settings = (settings[0], settings[-1])
        cells = grid(panel, settings, 1 if quick else DRAWS, sizes)
        found += [{**cell, "schemes": schemes, "varied": panel.varied} for cell in cells]
    return found


def _table(number: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Mean lengths over draws; of the first coefficient where columns vary."""
    rows = _with_shown_lengths(rows)
    keys = ["dataset", "rows", "varied", "setting", "loss", FIGURES[number][2], "variant"]
    shown = ["shown", "shown_deviation", "shown_variability"]
    means = rows.groupby(keys)[shown].mean().reset_index()
    names = dict(zip(shown, ("length", "deviation", "variability"), strict=True))
    return means.rename(columns=names).round(5)


def _figure(number: int, rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    rows = _with_shown_lengths(rows)
    compared = FIGURES[number][2]
    figure = Figure(figsize=(11, 10), layout="constrained")
    for axes, (printed, loss) in zip(figure.subplots(3, 3).flat, PANELS, strict=True):
        here = rows[
            (rows["dataset"] == printed.dataset)
            & (rows["varied"] == printed.varied)
            & (rows["loss"] == loss)
        ]
        if printed.varied != "rows":
            here = here[here["rows"] == printed.rows]
        _panel(axes, here, compared)
        axes.set_title(f"{printed.dataset}, {loss}", fontsize="medium")
        axes.set_xlabel(LABELS[printed.varied])
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"Length of 95 % intervals: {TITLES[number]}")
    return figure


def _panel(axes: Any, rows: pd.DataFrame, compared: str) -> None:
    """Draw intervals of every kind with one standard deviation, and variability."""
    for colour, (name, group) in zip(COLOURS, rows.groupby(compared), strict=False):
        for variant, line in LINES.items():
            part = group[group["variant"] == variant].groupby("setting")
            means = part[["shown", "shown_deviation", "shown_variability"]].mean()
            label = f"{name}: {line['label']}"
            axes.errorbar(
                means.index,
                means["shown"],
                means["shown_deviation"],
                color=colour,
                ls=line["ls"],
                marker=line["marker"],
                ms=3,
                lw=1,
                capsize=2,
                label=label,
            )
            axes.plot(
                means.index,
                means["shown_variability"],
                color=colour,
                ls="",
                marker="_" if variant == "published" else "x",
                ms=8,
                label=f"{name}: variability, {variant}",
            )


def _with_shown_lengths(rows: pd.DataFrame) -> pd.DataFrame:
    """Where columns vary only the first coefficient keeps its meaning."""
    first = rows["varied"] == "columns"
    pairs = {
        "shown": ("first_length", "length"),
        "shown_deviation": ("first_deviation", "deviation"),
        "shown_variability": ("first_variability", "variability_length"),
    }
    shown = {name: np.where(first, rows[a], rows[b]) for name, (a, b) in pairs.items()}
    varied = [line[line["varied"]] for _, line in rows.iterrows()]
    return rows.assign(**shown, setting=varied)


for _number in FIGURES:
    register(
        Study(
            name=f"ci-figure{_number}",
            title=f"Length of 95 % intervals: {TITLES[_number]}",
            source=f"{SOURCE}, figure {_number}{STAND_IN}",
            cells=partial(_cells, _number),
            run=trial,
            table=partial(_table, _number),
            figure=partial(_figure, _number),
            datasets=("kddcup99", "adult", "bank", "acs"),
        )
    )
