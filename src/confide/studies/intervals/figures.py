"""Figures 1 to 4 of Wang, Kifer and Lee (2018): lengths of private intervals."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from confide.studies.engine.study import Cell, Study, register
from confide.studies.intervals.printed_values import PRINTED, Printed
from confide.studies.intervals.tables import BASE, GRID, PARTS, SOURCE, STAND_IN, grid
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
"""The nine panels of each figure: the printed table with the settings, and the loss."""
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
VARIABILITY = 10_000
"""Number of replicates for computing the variability of estimates, as in the paper."""
COLOURS = ("#b2182b", "#2166ac")
LINES = {
    "published": {"ls": "-", "marker": "o", "label": "interval as published"},
    "tight": {"ls": "--", "marker": "s", "label": "tight interval"},
}
LABELS = {"rows": "records", "columns": "columns", "e1": "ε₁", "e2": "ε₂", "e3": "ε₃"}


def _cells(quick: bool) -> list[Cell]:
    """Return the grid cells for the intervals, and those for the variability of estimates.

    The variability does not depend on the budget of the intervals.
    """
    found: dict[str, Cell] = {}
    for panel, _ in PANELS:
        settings = panel.settings[-1:] if quick else panel.settings
        for cell in grid(panel, settings, 1 if quick else PARTS):
            spent = {"e2": BASE["e2"], "e3": BASE["e3"], "replicates": 0}
            alone = {**cell, **spent, "variability": VARIABILITY // PARTS}
            found |= {repr(one): one for one in (cell, alone)}
    return list(found.values())


def _table(number: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the mean interval lengths and the variability of estimates in each panel.

    If the number of columns varies, only the first coefficient is included.
    """
    keys = ["dataset", "varied", "setting", "loss", FIGURES[number][2], "variant"]
    shown = ["shown", "shown_deviation", "shown_variability"]
    parts = []
    for printed, loss in PANELS:
        here = _of_panel(rows, number, printed, loss).assign(varied=printed.varied)
        parts.append(here.groupby(keys)[shown].mean().reset_index())
    names = dict(zip(shown, ("length", "deviation", "variability"), strict=True))
    return pd.concat(parts, ignore_index=True).rename(columns=names).round(5)


def _of_panel(rows: pd.DataFrame, number: int, printed: Printed, loss: str) -> pd.DataFrame:
    """Return the interval lengths of a panel and the variability of its estimates.

    If the number of columns varies, both are those of the first coefficient, the only one
    that occurs in all settings.
    """
    privacies, methods, _ = FIGURES[number]
    fixed = {"rows": printed.rows, **BASE}
    del fixed[printed.varied]
    here = rows[rows["dataset"].eq(printed.dataset) & rows["loss"].eq(loss)]
    here = here[here["privacy"].isin(privacies.split("+"))]
    here = here[here["method"].isin(methods.split("+"))]
    keys = ["rows", "columns", "e1", "privacy", "method", "variant"]
    found = here[here["replicates"].gt(0) & here[printed.varied].isin(printed.settings)]
    for name, value in fixed.items():
        found = found[found[name] == value]
    varying = ["variability_length", "first_variability"]
    alone = here[here["replicates"] == 0].groupby(keys)[varying].mean().reset_index()
    found = found.drop(columns=varying, errors="ignore").merge(alone, on=keys, how="left")
    prefix = "first_" if printed.varied == "columns" else ""
    return found.assign(
        setting=found[printed.varied],
        shown=found[f"{prefix}length"],
        shown_deviation=found[f"{prefix}deviation"],
        shown_variability=found[varying[1 if prefix else 0]],
    )


def _figure(number: int, rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    compared = FIGURES[number][2]
    figure = Figure(figsize=(11, 10), layout="constrained")
    for axes, (printed, loss) in zip(figure.subplots(3, 3).flat, PANELS, strict=True):
        here = _of_panel(rows, number, printed, loss)
        _panel(axes, here, compared)
        axes.set_title(f"{printed.dataset}, {loss}", fontsize="medium")
        axes.set_xlabel(LABELS[printed.varied])
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("length")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"Length of 95 % intervals: {TITLES[number]}")
    return figure


def _panel(axes: Any, rows: pd.DataFrame, compared: str) -> None:
    """Draw mean interval lengths ± one standard deviation, and the variability."""
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


for _number in FIGURES:
    register(
        Study(
            name=f"ci-figure{_number}",
            title=f"Length of 95 % intervals: {TITLES[_number]}",
            source=f"{SOURCE}, figure {_number}{STAND_IN}",
            cells=_cells,
            run=trial,
            table=partial(_table, _number),
            figure=partial(_figure, _number),
            datasets=("kddcup99", "adult", "bank", "acs"),
            version=3,
            grid=GRID,
            repetition=("part",),
        )
    )
