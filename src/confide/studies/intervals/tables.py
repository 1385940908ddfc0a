"""Tables 2 to 6 of Wang, Kifer and Lee (2018): coverage of private intervals."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from confide.studies.engine.study import Cell, Study, register
from confide.studies.intervals.printed_values import PRINTED, Printed
from confide.studies.intervals.trial import trial

SOURCE = "Wang, Kifer and Lee, Differentially private confidence intervals for ERM (2018)"
STAND_IN = "; the American Community Survey 2018 stands in for the census extract"
DRAWS = 20
"""The paper does not name its columns: the mean over so many draws of them is shown."""


def grid(
    printed: Printed, settings: Sequence[float], draws: int, sizes: dict[str, int]
) -> list[Cell]:
    """Return a cell for every value of what varies and every draw of columns.

    ``sizes`` says how many replicates get intervals, and how many show variability.
    """
    base: dict[str, Any] = {
        "dataset": printed.dataset,
        "rows": printed.rows,
        "columns": 10,
        "e1": 0.5,
        "e2": 0.25,
        "e3": 0.25,
        **sizes,
        "schemes": "DP+zCDP obj+output published+tight",
    }
    return [
        {**base, printed.varied: setting, "draw": draw}
        for setting in settings
        for draw in range(draws)
    ]


def _cells(printed: Printed, quick: bool) -> list[Cell]:
    if quick:
        ends = (printed.settings[0], printed.settings[-1])
        return grid(printed, ends, 2, {"replicates": 50, "variability": 0})
    sizes = {"replicates": 1000, "variability": 0}
    return grid(printed, printed.settings, DRAWS, sizes)


def _table(printed: Printed, rows: pd.DataFrame) -> pd.DataFrame:
    """Print the paper's coverage, ours as published, and ours tight, side by side."""
    keys = ["privacy", "method", "loss", printed.varied, "variant"]
    means = rows.groupby(keys)["coverage"].mean().to_dict()
    lines = []
    for key, coverage in printed.coverage.items():
        for setting, paper in zip(printed.settings, coverage, strict=True):
            ours = [means.get((*key, setting, one)) for one in ("published", "tight")]
            if None not in ours:
                lines.append((*key, setting, paper, *ours))
    return pd.DataFrame(lines, columns=[*keys[:-1], "paper", "published", "tight"]).round(4)


def _register(printed: Printed) -> None:
    note = STAND_IN if printed.dataset == "acs" else ""
    register(
        Study(
            name=f"ci-table{printed.number}",
            title=f"Coverage of 95 % intervals on {printed.dataset}, by {printed.varied}",
            source=f"{SOURCE}, table {printed.number}{note}",
            cells=partial(_cells, printed),
            run=trial,
            table=partial(_table, printed),
            datasets=(printed.dataset,),
        )
    )


for _printed in PRINTED:
    _register(_printed)
