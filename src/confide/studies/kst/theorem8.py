"""Theorem 8 of Kifer, Smith and Thakurta: how often noisy votes select wrong columns.

The theorem assumes that every block finds the right columns. In this study, blocks have
either enough rows to do so, or so few that they often fail and the theorem does not apply.
"""

from typing import Any

import numpy as np
import pandas as pd

from confide.noise import generator
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.kst.support_bounds import vote_failure, vote_failure_exact
from confide.studies.kst.table1 import COLOURS, SOURCE
from confide.studies.kst.table2 import draw_votes, votes, winners

COLUMNS = 50
ROWS_PER_COLUMN = {"ample": 20, "scarce": 5}
"""Number of rows in a block per relevant column."""
SIZES = (2, 4, 8)
BLOCKS = (10, 20, 40, 80, 160, 320)
EPSILONS = (0.5, 1.0, 2.0)
PARTS, TABLES, RUNS = 5, 8, 400
"""Number of repetitions per setting, and of tables and noise draws per repetition."""


def _cells(quick: bool) -> list[Cell]:
    return [
        {
            "blocks_have": having,
            "size": size,
            "blocks": blocks,
            "part": part,
            "tables": TABLES,
            "runs": RUNS,
        }
        for having in ROWS_PER_COLUMN
        for size in (SIZES[:2] if quick else SIZES)
        for blocks in (BLOCKS[1:4] if quick else BLOCKS)
        for part in range(1 if quick else PARTS)
    ]


def trial(cell: Cell, seed: int) -> list[Row]:
    """Simulate tables, let their blocks vote, and add noise to the votes many times."""
    rng = generator(seed)
    size, blocks, tables = int(cell["size"]), int(cell["blocks"]), int(cell["tables"])
    rows = blocks * size * ROWS_PER_COLUMN[str(cell["blocks_have"])]
    draws = int(cell["runs"]) // tables
    agreed, right = [], []
    wrong: dict[float, list[float]] = {epsilon: [] for epsilon in EPSILONS}
    for _ in range(tables):
        features, target, support = draw_votes(rows, COLUMNS, size, rng)
        shares, ballots = votes(features, target, size, blocks)
        hits = [np.array_equal(one, support) for one in ballots]
        agreed.append(all(hits))
        right.append(float(np.mean(hits)))
        for epsilon, found in wrong.items():
            scale = 2 * size / (blocks * epsilon)
            chosen = winners(shares, size, scale, draws, rng)
            found.append(float(np.mean((chosen != support).any(axis=1))))
    return [
        {
            "epsilon": epsilon,
            "right_blocks": float(np.mean(right)),
            "agreed": float(np.mean(agreed)),
            "failed": float(np.mean(found)),
            "failed_agreed": _mean(np.array(found)[agreed]),
            "exact": vote_failure_exact(COLUMNS, size, epsilon, blocks),
            "bound": vote_failure(COLUMNS, size, epsilon, blocks),
        }
        for epsilon, found in wrong.items()
    ]


def _mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _joined(rows: pd.DataFrame) -> pd.DataFrame:
    """Average the results of each setting over its repetitions.

    ``failed_agreed``, the failure rate in tables in which every block finds the right
    columns, is weighted by the share of these tables.
    """
    keys = ["blocks_have", "size", "epsilon", "blocks"]
    failed = pd.to_numeric(rows["failed_agreed"]).fillna(0.0) * rows["agreed"]
    groups = rows.assign(failed_agreed=failed).groupby(keys, sort=False)
    means = groups.mean(numeric_only=True).reset_index()
    return means.assign(failed_agreed=means["failed_agreed"] / means["agreed"])


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate observed and exact probabilities of a wrong column, and the bound."""
    rows = _joined(rows)
    keys = ["blocks_have", "size", "epsilon", "blocks"]
    shown = rows[[*keys, "right_blocks", "agreed", "failed", "failed_agreed"]].copy()
    shown["exact"], shown["bound"] = rows["exact"], rows["bound"]
    shown["observed / bound"] = shown["failed_agreed"] / shown["bound"]
    order = {name: place for place, name in enumerate(ROWS_PER_COLUMN)}
    shown = shown.sort_values(
        keys, key=lambda one: one.map(order) if one.name == "blocks_have" else one
    )
    return shown.reset_index(drop=True)


def _figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    rows = _joined(rows)
    sizes = sorted(rows["size"].unique())
    names = [name for name in ROWS_PER_COLUMN if name in set(rows["blocks_have"])]
    figure = Figure(figsize=(3.6 * len(sizes), 3 * len(names) + 1.1), layout="constrained")
    grid = figure.subplots(len(names), len(sizes), squeeze=False, sharey=True)
    for line, name in zip(grid, names, strict=True):
        for axes, size in zip(line, sizes, strict=True):
            here = rows[rows["blocks_have"].eq(name) & rows["size"].eq(size)]
            _panel(axes, here)
            per_block = size * ROWS_PER_COLUMN[name]
            share = float(here["right_blocks"].mean())
            title = f"s = {size}, {per_block} rows per block: {share:.1%} of blocks right"
            axes.set_title(title, fontsize=9)
        line[0].set_ylabel("probability of a wrong support")
    for axes in grid[-1]:
        axes.set_xlabel("blocks k")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"Noisy votes of blocks, p = {COLUMNS}: simulation and Theorem 8")
    return figure


def _panel(axes: Any, rows: pd.DataFrame) -> None:
    size, counts = int(rows["size"].iloc[0]), sorted(rows["blocks"].unique())
    many = np.unique(np.geomspace(counts[0], counts[-1], 60).astype(int)).tolist()
    for colour, epsilon in zip(COLOURS, EPSILONS, strict=True):
        part = rows[rows["epsilon"] == epsilon].sort_values("blocks")
        name = f"ε = {epsilon:g}"
        seen = part[part["failed"] > 0]
        axes.loglog(seen["blocks"], seen["failed"], "o", ms=4, color=colour, label=name)
        exact = [vote_failure_exact(COLUMNS, size, epsilon, count) for count in many]
        bound = [vote_failure(COLUMNS, size, epsilon, count) for count in many]
        axes.loglog(many, exact, color=colour, lw=1, label="exact, all blocks right")
        axes.loglog(many, bound, ":", color=colour, label="Theorem 8")
    axes.set_ylim(1e-4, 1.5)
    axes.set_xticks(counts, [str(count) for count in counts], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.grid(visible=True, alpha=0.3)


register(
    Study(
        name="kst-theorem8",
        title="Probability that noisy votes of blocks select a wrong column, and a bound",
        source=f"{SOURCE}, Theorem 8",
        cells=_cells,
        run=trial,
        table=_table,
        figure=_figure,
        version=2,
        repetition=("part",),
    )
)
