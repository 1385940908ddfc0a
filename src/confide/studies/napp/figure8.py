"""Figure 8 of the NAPP paper: one round of recycling, in linear regression."""

from functools import partial
from typing import Any

import pandas as pd

from confide.studies.engine.study import Study, register
from confide.studies.napp.panels import (
    PANEL,
    SOURCE,
    STYLES,
    area,
    averaged,
    cells,
    curve,
    cut_off,
    legend,
)
from confide.studies.napp.population import DELTA
from confide.studies.napp.trial import LASSO, LOOKS, RECYCLED, SOUND, trial

FAMILIES = ("VS+ MOOR", "VS MOOR", "ERM MOOR")
OTHERS = (SOUND, LOOKS, LASSO)


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate areas under ROC curves and lowest test errors without and with recycling."""
    found = []
    for panel, part in averaged(rows).groupby(PANEL, sort=False):
        groups = dict(list(part.groupby("method", sort=False)))
        for name in (*FAMILIES, *OTHERS):
            line: dict[str, Any] = dict(zip(PANEL, panel, strict=True))
            line |= {"method": name, "AUC": area(groups[name])}
            line["MSE"] = float(groups[name]["error"].min())
            again = groups.get(name + RECYCLED)
            line["AUC recycled"] = None if again is None else area(again)
            line["MSE recycled"] = None if again is None else float(again["error"].min())
            found.append(line)
    order = [*PANEL, "method", "AUC", "AUC recycled", "MSE", "MSE recycled"]
    return pd.DataFrame(found)[order].round(4)


def _figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    means = averaged(rows)
    epsilons, sizes = (sorted(means[name].unique()) for name in ("epsilon", "rows"))
    size = (2.9 * len(epsilons) + 0.6, 4.9 * len(sizes) + 1.2)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(2 * len(sizes), len(epsilons), squeeze=False)
    for j, epsilon in enumerate(epsilons):
        for i, count in enumerate(sizes):
            here = means[means["epsilon"].eq(epsilon) & means["rows"].eq(count)]
            upper, lower = grid[i][j], grid[len(sizes) + i][j]
            _draw(upper, lower, here)
            for axes in (upper, lower):
                axes.set_title(f"n = {count}, ε = {epsilon:g}", fontsize=9)
                axes.tick_params(labelsize=8)
                axes.grid(visible=True, alpha=0.3)
            upper.set_xlabel("false positive rate", fontsize=9)
            lower.set_xlabel("Λ (penalty 2Λ|θ|)", fontsize=9)
            if j == 0:
                upper.set_ylabel("true positive rate", fontsize=9)
                lower.set_ylabel("mean square error", fontsize=9)
    legend(figure, 4 if len(epsilons) > 2 else 2)
    figure.suptitle(
        "Linear regression without and with one round of recycling", fontsize=11
    )
    return figure


def _draw(upper: Any, lower: Any, here: pd.DataFrame) -> None:
    """Draw ROC curves above and test errors below; dashed lines are with recycling."""
    upper.plot([0, 1], [0, 1], color="0.8", lw=0.8)
    lower.set_xscale("log")
    for name in (*FAMILIES, *OTHERS):
        for suffix, extra in (("", {}), (RECYCLED, {"ls": "--"})):
            line = here[here["method"] == name + suffix].sort_values("strength")
            if not len(line):
                continue
            style = {"lw": 1.1, **STYLES[name], **extra}
            style["label"] = STYLES[name]["label"] + suffix
            upper.plot(*curve(line), **style)
            lower.plot(line["strength"], line["error"], **style)
    cut_off(lower, here)


for _name, _delta in (("8", DELTA), ("s4", 0)):
    register(
        Study(
            name=f"napp-figure{_name}",
            title="Selection and prediction with one round of budget recycling, "
            + ("δ = 0" if not _delta else f"δ = {_delta:g}"),
            source=f"{SOURCE}, figure {_name.upper().replace('S', 'S.')}",
            cells=partial(cells, "recycled", _delta),
            run=trial,
            table=_table,
            figure=_figure,
            version=2,
            repetition=("part",),
        )
    )
