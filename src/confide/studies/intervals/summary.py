"""How good private intervals are, in one table: ours against the paper's."""

from typing import Any

import pandas as pd

from confide.studies.engine.study import Cell, Study, register
from confide.studies.intervals.printed_values import PRINTED
from confide.studies.intervals.tables import SOURCE
from confide.studies.intervals.trial import trial

PLACES = (("adult", 30_162), ("bank", 45_211), ("kddcup99", 50_000), ("kddcup99", 450_000))
DRAWS = 20
KEYS = ["dataset", "rows", "privacy", "method", "loss"]


def _cells(quick: bool) -> list[Cell]:
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


def _table(rows: pd.DataFrame) -> pd.DataFrame:
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
        cells=_cells,
        run=trial,
        table=_table,
        datasets=("adult", "bank", "kddcup99"),
    )
)
