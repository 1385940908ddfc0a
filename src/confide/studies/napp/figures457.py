"""Figures 4, 5 and 7 of the NAPP paper: selection, prediction and retrieved budget.

Figures S.1 to S.3 of its supplement show the same under pure differential privacy. The
paper gives δ as 0.001 in table 4 and as 0.0001 elsewhere; the studies use the former.
"""

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
    by_method,
    cells,
    curve,
    cut_off,
    lines,
    panels,
)
from confide.studies.napp.population import DELTA
from confide.studies.napp.trial import trial

STRENGTH = "Λ (penalty 2Λ|θ|)"


AREA = "area under the ROC curve"
FALSE = "false positives at {:.3g} L"


def _selected(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate areas under the ROC curves, and false positive rates by Λ."""
    areas = by_method(rows, area)
    areas.insert(0, "measure", AREA)
    rates = by_method(rows, lambda line: float(line["fpr"].mean()), "multiple")
    rates.insert(0, "measure", [FALSE.format(one) for one in rates.pop("multiple")])
    return pd.concat([areas, rates], ignore_index=True).round(3)


def _rocs(rows: pd.DataFrame) -> Any:
    def draw(axes: Any, here: pd.DataFrame) -> None:
        axes.plot([0, 1], [0, 1], color="0.8", lw=0.8)
        for name, style in STYLES.items():
            line = here[here["method"] == name]
            if len(line):
                axes.plot(*curve(line), **{"lw": 1.1, **style})
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)

    return panels(
        rows,
        draw,
        "Selected columns, as Λ decreases from 40 L to L/10",
        ("false positive rate", "true positive rate"),
    )


def _least(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the smallest mean test error over the grid of Λ."""
    return by_method(rows, lambda line: float(line["error"].min())).round(4)


def _errors(rows: pd.DataFrame) -> Any:
    def draw(axes: Any, here: pd.DataFrame) -> None:
        lines(axes, here, "error", list(STYLES))
        cut_off(axes, here)

    return panels(
        rows,
        draw,
        "Test error: mean squared (linear, Poisson) or share misclassified (logistic)",
        (STRENGTH, "test error"),
    )


def _shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the retrieved budget share, with Λ in multiples of the gradient bound L."""
    means = averaged(rows)
    wide = means.pivot_table(
        index=[*PANEL, "method"], columns="multiple", values="retrieved", sort=False
    )
    wide = wide[sorted(wide.columns)]
    return wide.rename(columns=lambda multiple: f"{multiple:.3g} L").round(3)


def _retrieved(rows: pd.DataFrame) -> Any:
    def draw(axes: Any, here: pd.DataFrame) -> None:
        lines(axes, here, "retrieved", list(STYLES))
        axes.set_ylim(-0.03, 1.03)

    return panels(
        rows,
        draw,
        "Retrieved share of ε/2 for determinants; for sound: the share not needed",
        (STRENGTH, "retrieved share"),
    )


WHAT = {
    4: ("Selected columns of NAPP variants, by Λ, n and ε", _selected, _rocs),
    5: ("Test errors of NAPP variants, by Λ, n and ε", _least, _errors),
    7: ("Retrieved privacy budget, by Λ, n and ε", _shares, _retrieved),
}
SUPPLEMENT = {4: "s1", 5: "s2", 7: "s3"}

for _number, (_title, _table, _figure) in WHAT.items():
    for _name, _delta in ((str(_number), DELTA), (SUPPLEMENT[_number], 0)):
        register(
            Study(
                name=f"napp-figure{_name}",
                title=f"{_title}, {'δ = 0' if not _delta else f'δ = {_delta:g}'}",
                source=f"{SOURCE}, figure {_name.upper().replace('S', 'S.')}",
                cells=partial(cells, "all", _delta),
                run=trial,
                table=_table,
                figure=_figure,
                version=2,
                grid="napp-panels-pure" if not _delta else "napp-panels",
                repetition=("part",),
            )
        )
