"""Tables 2 to 6 of Wang, Kifer and Lee (2018), and a comparison with our intervals."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from confide.studies.engine.study import Cell, Study, register
from confide.studies.intervals.printed_values import PRINTED, Printed
from confide.studies.intervals.trial import trial

SOURCE = "Wang, Kifer and Lee, Differentially private confidence intervals for ERM (2018)"
STAND_IN = "; the American Community Survey 2018 replaces the census extract"
REPLICATES, PARTS = 1000, 4
"""Number of replicates per setting, as in the paper, and of cells that share them.

All cells use one random draw of columns, because the paper does not name its columns."""
GRID = "ci-coverage"
BASE: Cell = {"columns": 10, "e1": 0.5, "e2": 0.25, "e3": 0.25}


def grid(printed: Printed, settings: Sequence[float], parts: int) -> list[Cell]:
    """Return grid cells for ``settings`` of the varied parameter, ``parts`` for each."""
    return [
        {
            "dataset": printed.dataset,
            "rows": printed.rows,
            **BASE,
            printed.varied: setting,
            "variants": "published+tight",
            "draw": 0,
            "part": part,
            "replicates": REPLICATES // PARTS,
            "variability": 0,
        }
        for setting in settings
        for part in range(parts)
    ]


def _cells(printed: Printed, quick: bool) -> list[Cell]:
    if quick:
        return grid(printed, (printed.settings[0], printed.settings[-1]), 1)
    return grid(printed, printed.settings, PARTS)


def _table(printed: Printed, rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the paper's coverage, and ours for published and for tight intervals."""
    keys = ["privacy", "method", "loss", printed.varied, "variant"]
    means = rows.groupby(keys)["coverage"].mean().to_dict()
    lines = []
    for key, coverage in printed.coverage.items():
        for setting, paper in zip(printed.settings, coverage, strict=True):
            if (*key, setting, "published") in means:
                ours, tight = (means[*key, setting, one] for one in ("published", "tight"))
                lines.append((*key, setting, paper, ours, ours - paper, tight))
    heads = ["paper", "published", "difference", "tight"]
    return pd.DataFrame(lines, columns=[*keys[:-1], *heads]).round(4)


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
            version=3,
            grid=GRID,
            repetition=("part",),
        )
    )


for _printed in PRINTED:
    _register(_printed)


PLACES = (("adult", 30_162), ("bank", 45_211), ("kddcup99", 50_000), ("kddcup99", 450_000))
KEYS = ["dataset", "rows", "privacy", "method", "loss"]


SUMMARY_DRAWS = 20


def _summary_cells(quick: bool) -> list[Cell]:
    return [
        {
            "dataset": dataset,
            "rows": rows,
            **BASE,
            "variants": "published+tight+chosen+add-remove",
            "draw": draw,
            "replicates": 300,
            "variability": 1000,
        }
        for dataset, rows in (PLACES[:2] if quick else PLACES)
        for draw in range(2 if quick else SUMMARY_DRAWS)
    ]


def _summary_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate coverages and relative lengths, averaged over random draws of columns."""
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
    """Return the coverage printed for ten columns and default budgets, or None."""
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
        version=3,
        repetition=("draw",),
    )
)
