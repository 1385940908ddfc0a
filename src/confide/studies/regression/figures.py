"""Figures 1 to 7 of the paper on private regression: doses of warfarin.

Figure 3 has dose bands where the paper has risks: it prints no parameters of its clinical
simulation.
"""

from functools import partial
from typing import Any, Final

import pandas as pd

from confide.studies.engine.study import Cell, Study, register
from confide.studies.regression.figure_specs import (
    GROWING_EPSILON,
    PLANS,
    TUNED,
    FigureSpec,
)
from confide.studies.regression.methods import CHUNKS, METHODS
from confide.studies.regression.panels import GUESSES, NAMES, draw
from confide.studies.regression.trial import trial

SOURCE: Final = (
    "Wu, Fredrikson, Wu, Jha and Naughton: Revisiting Differentially Private Regression: "
    "Lessons From Learning Theory and their Consequences"
)
EPSILONS: Final = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
QUICK_EPSILONS: Final = (0.2, 1.0, 5.0)
SHARES: Final = tuple(k / 10 for k in range(1, 11))
QUICK_SHARES: Final = (0.1, 0.5, 1.0)
REPEATS, PARTS, QUICK_REPEATS = 100, 5, 4


def _cells(number: int, quick: bool) -> list[Cell]:
    plan = PLANS[number]
    parts, repeats = (1, QUICK_REPEATS) if quick else (PARTS, REPEATS // PARTS)
    if plan.against == "share":
        shares = QUICK_SHARES if quick else SHARES
        places = [(GROWING_EPSILON, share) for share in shares]
    else:
        places = [(epsilon, 1.0) for epsilon in (QUICK_EPSILONS if quick else EPSILONS)]
    return [
        {
            "figure": number,
            "epsilon": epsilon,
            "share": share,
            "first": part * repeats,
            "repeats": repeats,
        }
        for epsilon, share in places
        for part in range(parts)
    ]


def _table(plan: FigureSpec, rows: pd.DataFrame) -> pd.DataFrame:
    """Make a line for every measure and ε or share, and a column for every method."""
    values = list(dict.fromkeys("error" if v == "utility" else v for v in plan.shown))
    key = plan.against
    groups = rows.groupby([key, "method"], sort=False)
    parts = []
    for value in values:
        found = {NAMES[value]: groups[value].mean()}
        if value == "error":
            found[f"{NAMES[value]}, median"] = groups[value].median()
        found[f"{NAMES[value]}, standard error"] = groups[value].sem()
        for name, numbers in found.items():
            wide = numbers.unstack("method").reset_index()  # noqa: PD010
            wide.insert(0, "measure", name)
            parts.append(wide)
    table = pd.concat(parts, ignore_index=True).rename_axis(columns=None)
    present = [name for name in METHODS if name in table]
    table = table[["measure", key, *present]].round(4)
    if "attack" in values:
        about = table["measure"] == NAMES["attack"]
        guesses = rows.groupby(key)[list(GUESSES)].mean().round(4)
        for name in GUESSES:
            table[name] = table[key].map(guesses[name]).where(about)
    return table.rename(columns={"epsilon": "ε", "share": "share of patients"})


def _source(number: int, plan: FigureSpec) -> str:
    more = f"; tuning takes {CHUNKS} chunks" if set(TUNED) & set(plan.methods) else ""
    return f"{SOURCE}, figure {number}{more}"


def _figure(plan: FigureSpec, rows: pd.DataFrame) -> Any:
    return draw(rows, plan.shown, plan.against, plan.title)


for _number, _plan in PLANS.items():
    register(
        Study(
            name=f"reg-figure{_number}",
            title=_plan.title,
            source=_source(_number, _plan),
            cells=partial(_cells, _number),
            run=trial,
            table=partial(_table, _plan),
            figure=partial(_figure, _plan),
            datasets=("warfarin",),
        )
    )
