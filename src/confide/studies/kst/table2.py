"""Table 2 of Kifer, Smith and Thakurta: rows needed to find the support, by s and p.

Exp-mech samples a support with a probability that depends on its loss, and needs on
the order of s³·log p rows. Samp-Agg divides n rows into √n blocks, which vote for columns,
and needs on the order of s²·log²p rows. This study searches for the smallest n at which the
published algorithms find the right support with probability 0.9. Nonzero coefficients are
±½, and ε = 1 is spent on the selection alone.
"""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import lasso_path

from confide._types import AnyArray, Array
from confide.noise import Generator, generator
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.kst.support_bounds import (
    largest_loss,
    support_rows,
    vote_failure_exact,
    vote_rows,
)
from confide.studies.kst.table1 import COLOURS, SOURCE

SWEEPS = 500
NEAR = 1e-9
"""Coordinate descent stops if no coordinate moves by more than this (the box is ±1)."""


def all_supports(columns: int, size: int) -> AnyArray:
    """Return all sets of ``size`` columns, one set per row."""
    return np.array(list(combinations(range(columns), size)), dtype=np.intp)


def least_losses(features: Array, target: Array, supports: AnyArray) -> Array:
    """Return the minimum of Σ½(y − ⟨x,θ⟩)² over |θⱼ| <= 1 for each support."""
    gram, pull = features.T @ features, features.T @ target
    squares = gram[supports[:, :, None], supports[:, None, :]]
    pulls = pull[supports]
    diagonal = np.diagonal(squares, axis1=1, axis2=2)
    theta = np.clip(np.linalg.solve(squares, pulls[:, :, None])[:, :, 0], -1.0, 1.0)
    for _ in range(SWEEPS):
        before = theta.copy()
        for j in range(theta.shape[1]):
            slope = np.einsum("ij,ij->i", squares[:, j], theta) - pulls[:, j]
            theta[:, j] = np.clip(theta[:, j] - slope / diagonal[:, j], -1.0, 1.0)
        if np.abs(theta - before).max() <= NEAR:
            break
    product = np.einsum("ijk,ik->ij", squares, theta)
    inner = np.einsum("ij,ij->i", theta, product / 2 - pulls)
    return np.asarray(inner + float(target @ target) / 2)


def chance_of_best(losses: Array, place: int, temperature: float) -> float:
    """Return the probability of drawing the support with index ``place``.

    The probability of a support is proportional to exp(−loss/temperature).
    """
    weights = np.exp(-(losses - losses.min()) / temperature)
    return float(weights[place] / weights.sum())


ERROR = 0.25
"""The standard deviation σ of the errors."""


def draw_votes(
    rows: int, columns: int, size: int, rng: Generator, least: float = 1.0
) -> tuple[Array, Array, AnyArray]:
    """Simulate features ±1 and targets within ±s; return both, and the true support."""
    support = np.sort(rng.permutation(columns)[:size])
    signs = np.where(rng.integers(2, size=size) > 0, least, -least)
    bits = rng.integers(0, 2, size=(rows, columns), dtype=np.int8)
    features = 2.0 * bits.astype(np.float64) - 1.0
    target = features[:, support] @ signs + ERROR * rng.normal(size=rows)
    return features, np.clip(target, -size, size), support


def ballot(features: Array, target: Array, size: int) -> AnyArray:
    """Return a block's vote: the columns of the (at most s) largest lasso coefficients."""
    rows, columns = features.shape
    strength = 4 * ERROR * math.sqrt(math.log(columns) / rows)
    _, path, _ = lasso_path(features, target, alphas=[strength])
    found = np.abs(path[:, 0])
    top = np.argsort(-found, kind="stable")[:size]
    return np.sort(top[found[top] > 0])


def votes(
    features: Array, target: Array, size: int, blocks: int
) -> tuple[Array, list[AnyArray]]:
    """Return the share of blocks that vote for each column, and the votes of each block."""
    parts = np.array_split(np.arange(len(target)), blocks)
    ballots = [ballot(features[part], target[part], size) for part in parts]
    counts = np.bincount(np.concatenate(ballots), minlength=features.shape[1])
    return counts / blocks, ballots


def winners(shares: Array, size: int, scale: float, draws: int, rng: Generator) -> AnyArray:
    """Return the s columns with the most votes after adding noise, one row per draw."""
    noise = rng.laplace(scale=scale, size=(draws, len(shares)))
    lead = np.argpartition(-(shares + noise), size - 1, axis=1)[:, :size]
    return np.sort(lead, axis=1)


EPSILON = 1.0
LEAST = 0.5
"""Absolute value of the nonzero coefficients."""
WANTED = 0.9
HALVINGS = 7
WIDEST = 64.0
"""Ratio of upper to lower end of the search range.

The upper end is twice the number of rows that the theorems require.
"""
WIDTHS = (10, 20, 40, 80, 160)
GRID: dict[str, dict[int, tuple[int, ...]]] = {
    "exponential": {1: WIDTHS[:4], 2: WIDTHS[:4], 3: WIDTHS[:3], 4: WIDTHS[:2]},
    "votes": dict.fromkeys((1, 2, 4, 8), WIDTHS),
}


PARTS, TABLES = 3, 30
"""Number of searches per setting, and of tables drawn for each number of rows tried."""


def _cells(quick: bool) -> list[Cell]:
    return [
        {
            "algorithm": name,
            "size": size,
            "columns": columns,
            "part": part,
            "tables": TABLES,
        }
        for name, sizes in GRID.items()
        for size, widths in sizes.items()
        for columns in (widths[:3:2] if quick else widths)
        if not (quick and size > 3)
        for part in range(1 if quick else PARTS)
    ]


def trial(cell: Cell, seed: int) -> list[Row]:
    """Search for the required number of rows by bisection on a logarithmic scale."""
    name, size, columns = str(cell["algorithm"]), int(cell["size"]), int(cell["columns"])
    chance = by_sampling if name == "exponential" else by_votes
    bound = rows_by_theorem(name, columns, size)
    high = math.log(2 * bound)
    low = high - math.log(WIDEST)
    for step in range(HALVINGS):
        middle = (low + high) / 2
        rng = generator(seed + step)
        rows = max(math.ceil(math.exp(middle)), size + 1)
        found = np.mean(
            [chance(rows, columns, size, rng) for _ in range(int(cell["tables"]))]
        )
        low, high = (low, middle) if found >= WANTED else (middle, high)
    sharp = rows_by_law(name, columns, size)
    return [{"needed": math.exp((low + high) / 2), "sharp": sharp, "bound": bound}]


def rows_by_theorem(name: str, columns: int, size: int) -> float:
    """Return the number of rows that the theorems require for the private selection.

    The rows that the lasso of a block needs are not included. A support that misses a
    column has an excess loss of ½Φ² per record, where Φ is the size of a nonzero
    coefficient, because columns are uncorrelated.
    """
    failure = 1 - WANTED
    if name == "exponential":
        gap, most = LEAST**2 / 2, largest_loss(size)
        return support_rows(columns, size, EPSILON, most=most, gap=gap, failure=failure)
    return vote_rows(columns, size, EPSILON, block_rows=1, failure=failure)


def rows_by_law(name: str, columns: int, size: int) -> float:
    """Return the required number of rows by bounds sharper than those of the theorems."""
    failure = 1 - WANTED
    if name == "exponential":
        gap, most = LEAST**2 / 2, largest_loss(size)
        return support_rows(
            columns, size, EPSILON, most=most, gap=gap, failure=failure, additive=True
        )
    blocks = 1
    while vote_failure_exact(columns, size, EPSILON, blocks) > failure:
        blocks += 1
    return float(blocks**2)


def by_sampling(rows: int, columns: int, size: int, rng: Generator) -> float:
    """Simulate a table; return the probability that Exp-mech draws the right support."""
    features, target, support = draw_votes(rows, columns, size, rng, LEAST)
    supports = all_supports(columns, size)
    losses = least_losses(features, target, supports)
    place = int(np.flatnonzero((supports == support).all(axis=1))[0])
    return chance_of_best(losses, place, 2 * largest_loss(size) / EPSILON)


def by_votes(rows: int, columns: int, size: int, rng: Generator) -> float:
    """Simulate a table; return the share of noise draws that select the right support."""
    blocks = math.isqrt(rows)
    features, target, support = draw_votes(rows, columns, size, rng, LEAST)
    shares, _ = votes(features, target, size, blocks)
    chosen = winners(shares, size, 2 * size / (blocks * EPSILON), 200, rng)
    return float(np.mean((chosen == support).all(axis=1)))


def _joined(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric means of the results of all searches of each setting."""
    values = ["needed", "sharp", "bound"]
    logs = rows.assign(**{name: np.log(rows[name]) for name in values})
    means = logs.groupby(["algorithm", "size", "columns"], sort=False)[values].mean()
    return means.apply(np.exp).reset_index()


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the rows needed in simulation and by theorem, and how both grow."""
    shown = _joined(rows)
    shown["needed / sharp"] = shown["needed"] / shown["sharp"]
    shown["needed / bound"] = shown["needed"] / shown["bound"]
    for by, other in (("size", "columns"), ("columns", "size")):
        for head in ("needed", "bound"):
            shown[f"slope of {head} by {by}"] = _slopes(shown, head, by, other)
    return shown.reset_index(drop=True)


def _slopes(shown: pd.DataFrame, head: str, by: str, other: str) -> pd.Series:
    """Return slopes of log ``head`` in log s or log log p between adjacent settings."""
    place = np.log(shown[by]) if by == "size" else np.log(np.log(shown[by]))
    logs = pd.DataFrame({"at": place, "value": np.log(shown[head])})
    groups = logs.groupby([shown["algorithm"], shown[other]])
    steps = groups.diff()
    return (steps["value"] / steps["at"]).round(2)


def _figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    rows = _joined(rows)
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), GRID, strict=True):
        here = rows[rows["algorithm"] == name]
        widths = sorted(here["columns"].unique())
        for i, columns in enumerate(widths):
            part = here[here["columns"] == columns].sort_values("size")
            colour = (*COLOURS, "#762a83", "#e08214")[i]
            label = f"p = {columns}"
            axes.loglog(part["size"], part["needed"], "o", ms=4, color=colour, label=label)
            axes.loglog(part["size"], part["sharp"], color=colour, lw=0.8)
            axes.loglog(part["size"], part["bound"], ":", color=colour)
        sizes = sorted(here["size"].unique())
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("relevant columns, s")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=8)
        words = "Exp-mech" if name == "exponential" else "Samp-Agg"
        axes.set_title(f"{words} (lines: sharper bound, dotted: theorem)", fontsize=10)
    figure.axes[0].set_ylabel("rows for the right support in 9 of 10 runs")
    return figure


register(
    Study(
        name="kst-table2",
        title="Rows needed to find the support, by sampling and by votes",
        source=f"{SOURCE}, Table 2",
        cells=_cells,
        run=trial,
        table=_table,
        figure=_figure,
        version=2,
        repetition=("part",),
    )
)
