"""Tables 2 to 6 of Wang, Kifer and Lee (2018), and one table of ours against theirs."""

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


PLACES = (("adult", 30_162), ("bank", 45_211), ("kddcup99", 50_000), ("kddcup99", 450_000))
KEYS = ["dataset", "rows", "privacy", "method", "loss"]


def _summary_cells(quick: bool) -> list[Cell]:
    base: dict[str, Any] = {
        "columns": 10,
        "e1": 0.5,
        "e2": 0.25,
        "e3": 0.25,
        "replicates": 50 if quick else 300,
        "variability": 0 if quick else 1000,
        "schemes": "DP+zCDP obj+output published+tight+chosen+add-remove",
    }
    places = PLACES[:2] if quick else PLACES
    return [
        {**base, "dataset": dataset, "rows": rows, "draw": draw}
        for dataset, rows in places
        for draw in range(2 if quick else DRAWS)
    ]


def _summary_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over draws of columns: coverages, and lengths relative to three others."""
    rows = rows.assign(per_variability=rows["length"] / rows["variability_length"])
    means = rows.groupby([*KEYS, "variant"]).mean(numeric_only=True)
    lines = []
    for key in dict.fromkeys(index[:-1] for index in means.index):
        by_variant = means.loc[key]
        published, tight = by_variant.loc["published"], by_variant.loc["tight"]
        chosen, whole = by_variant.loc["chosen"], by_variant.loc["add-remove"]
        plain = published["plain_length"]
        line: dict[str, Any] = dict(zip(KEYS, key, strict=True))
        line |= {
            "paper": _paper(*key),
            "published": published["coverage"],
            "tight": tight["coverage"],
            "tight/VI": tight["per_variability"],
            "published/VI": published["per_variability"],
            "chosen": chosen["coverage"],
            "chosen/published": chosen["length"] / published["length"],
            "chosen/plain": chosen["length"] / plain,
            "published/plain": published["length"] / plain,
            "add-remove": whole["coverage"],
            "add-remove/plain": whole["length"] / plain,
        }
        lines.append(line)
    return pd.DataFrame(lines).round(4)


def _paper(dataset: str, rows: int, privacy: str, method: str, loss: str) -> float | None:
    """Return the printed coverage at ten columns and the common budgets."""
    common = {"columns": 10, "e1": 0.5, "rows": rows}
    for printed in PRINTED:
        if printed.dataset == dataset and printed.varied in common:
            place = printed.settings.index(common[printed.varied])
            return printed.coverage[privacy, method, loss][place]
    return None


register(
    Study(
        name="ci-summary",
        title="Coverage and length of private intervals, published, tight and chosen",
        source=f"{SOURCE}, tables 2 to 4 at ten columns",
        cells=_summary_cells,
        run=trial,
        table=_summary_table,
        datasets=("adult", "bank", "kddcup99"),
    )
)
