"""Tables of the reproduction book, formatted in GitHub's Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from confide.studies.admm.methods import STYLES
from confide.studies.book.results import CommittedTable
from confide.studies.engine.publish import ABSENT, TableLayout

Line = tuple[str, float | None, float | None]
"""Description of a quantity, its value printed in the paper, and our value."""


def shown(value: float | None, digits: int = 3) -> str:
    """Format a number with ``digits`` significant digits; a missing one becomes a dash."""
    if value is None or pd.isna(value):
        return ABSENT
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e6:
        text = f"{value:.{digits}g}"
        return text if "e" not in text else f"{value:,.0f}"
    return f"{value:.{digits}g}"


def frame_table(
    table: pd.DataFrame,
    where: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
) -> str:
    """Format selected rows and columns of a data frame.

    Empty columns, columns that ``where`` restricts to a single value, and unknown names in
    ``columns`` are omitted.
    """
    here = pd.Series(data=True, index=table.index)
    for name, wanted in (where or {}).items():
        kept = wanted if isinstance(wanted, list | tuple) else [wanted]
        here &= table[name].isin(kept)
    fixed = [
        name for name, one in (where or {}).items() if not isinstance(one, list | tuple)
    ]
    found = table[here].drop(columns=fixed)
    if columns is not None:
        found = found[[name for name in columns if name in found]]
    found = found.dropna(axis="columns", how="all").rename(columns=dict(names or {}))
    return TableLayout.of(found.reset_index(drop=True)).markdown()


def comparison_table(lines: Sequence[Line], digits: int = 3) -> str:
    """Format a table of the paper's numbers, ours, and the differences."""
    body = []
    for what, paper, ours in lines:
        gap = None if paper is None or ours is None else ours - paper
        signed = ABSENT if gap is None else f"{gap:+.{digits}g}".replace("-", "−")
        body.append(
            f"| {what} | {shown(paper, digits)} | {shown(ours, digits)} | {signed} |"
        )
    head = "| | the paper | ours | difference |\n|---|---:|---:|---:|\n"
    return head + "\n".join(body) + "\n"


def coverage_table(table: pd.DataFrame, varied: str) -> str:
    """Format coverages in the paper's layout: the paper's, ours, and the difference."""
    settings = list(dict.fromkeys(table[varied]))
    heads = [f"{one:,.0f}" if one >= 10 else f"{one:g}" for one in settings]
    lines = [f"| | | {' | '.join(heads)} |\n|---|---|{'---:|' * len(settings)}"]
    for key, part in table.groupby(["privacy", "method", "loss"], sort=False):
        by_setting = part.set_index(varied)
        for name, label in (("paper", "paper"), ("published", "ours")):
            numbers = " | ".join(f"{by_setting[name][one]:.4f}" for one in settings)
            who = " ".join(map(str, key)) if label == "paper" else ""
            lines.append(f"| {who} | {label} | {numbers} |")
        gaps = by_setting["difference"]
        signed = " | ".join(f"{gaps[one]:+.4f}".replace("-", "−") for one in settings)
        lines.append(f"| | difference | {signed} |")
    return "\n".join(lines) + "\n"


def differences(table: pd.DataFrame) -> str:
    """Summarise the absolute differences from the printed coverages."""
    gaps = table["difference"].abs()
    words = f"at most {gaps.max():.4f}, and {gaps.mean():.4f} on average"
    return f"The {len(table)} coverages differ from the printed ones by {words}.\n"


def length_ratios(table: pd.DataFrame, by: str) -> str:
    """Format the range of the ratio of interval length to the variability of estimates.

    The variability is the distance between the 2.5 % and the 97.5 % quantile of the
    estimates over bootstrap replicates.
    """
    ratio = table["length"] / table["variability"]
    here = table.assign(ratio=ratio.where(table["variability"] > 0)).dropna(subset="ratio")
    lines = [f"| {by} | variant | minimum | median | maximum |\n|---|---|---:|---:|---:|"]
    for (kind, variant), part in here.groupby([by, "variant"], sort=False):
        numbers = (part["ratio"].min(), part["ratio"].median(), part["ratio"].max())
        words = " | ".join(shown(float(one)) for one in numbers)
        lines.append(f"| {kind} | {variant} | {words} |")
    return "\n".join(lines) + "\n"


PUBLISHED = ("ssADMM", "mpADMM", "DP-SGD", "DP-ADMM", "ADMM-objP")


def best_and_ours(table: pd.DataFrame) -> str:
    """Tabulate the best accuracy of published ADMM methods, and the accuracies of ours."""
    here = table[table["measure"].eq("accuracy")]
    theirs = here[[name for name in PUBLISHED if name in here]]
    others = [name for name in here.columns if name in STYLES and name not in PUBLISHED]
    found = here[["dataset", "λ", "ε"]].assign(
        **{"best published": theirs.max(axis=1), "published method": theirs.idxmax(axis=1)}
    )
    return frame_table(pd.concat([found, here[others]], axis=1))


def cost_table(found: Sequence[CommittedTable]) -> str:
    """Tabulate the processor time of each study, in total and per cell of its grid.

    Cells that several studies share are counted for each of them.
    """
    lines = ["| study | cells | minutes | seconds per cell |\n|---|---:|---:|---:|"]
    for one in found:
        minutes, each = shown(one.seconds / 60, 2), shown(one.seconds / one.cells, 2)
        kind = "" if one.whole else " (quick)"
        lines.append(f"| `{one.study.name}`{kind} | {one.cells} | {minutes} | {each} |")
    return "\n".join(lines) + "\n"
