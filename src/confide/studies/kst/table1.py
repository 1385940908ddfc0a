"""Table 1 of Kifer, Smith and Thakurta: excess risk of objective perturbation as p grows.

The paper's bounds on the excess risk of linear regression are of order p³/n with noise from
the Gamma density, p^2.5/n with Gaussian noise, and p²/n with Gaussian noise if the loss on
the data is strongly convex. Here the bounds are compared with simulations that use the
constants of the paper's Algorithm 1.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from confide._types import Array
from confide.mechanisms import ObjectivePerturbation
from confide.noise import Entropy, Generator, generator
from confide.privacy import Approx, Neighbours, Pure
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.kst.risk_bounds import (
    balanced_ridge,
    least_ridge,
    linear_regression,
    perturbed_risk,
    quadratic_risk,
)

SPREADS = {"even": 0.0, "uneven": 4.0}
"""Base-10 logarithm of the ratio of the largest to the smallest column variance."""
ERROR = 0.5
"""Standard deviation of the errors, relative to that of ⟨x,θ⟩."""
CHUNK = 2**15
STEPS = 40


@dataclass(frozen=True, slots=True)
class Sums:
    """Eigenvalues and eigenvectors of Σxxᵀ, and coordinates of Σyx in the eigenbasis."""

    spectrum: Array
    basis: Array
    pull: Array

    @classmethod
    def of(cls, gram: Array, pull: Array) -> "Sums":
        """Decompose Σxxᵀ and rotate Σyx into the basis of its eigenvectors."""
        spectrum, basis = np.linalg.eigh(gram)
        return cls(spectrum, basis, basis.T @ pull)

    def fits(self, linear: Array, ridge: float, radius: float) -> Array:
        """Return the minimisers of Σ½(⟨x,θ⟩ − y)² + ⟨b,θ⟩ + ½Λ‖θ‖² within a ball.

        Each row of ``linear`` is a vector b, and the same row of the result is its
        minimiser. Both are given by their coordinates in the eigenbasis of Σxxᵀ.
        """
        drawn = self.pull - linear
        weights = np.broadcast_to(self.spectrum + ridge, drawn.shape)
        more = np.zeros((len(drawn), 1))
        for _ in range(STEPS):  # Newton's method for 1/‖θ‖ = 1/radius, nearly linear
            theta = drawn / (weights + more)
            square = np.sum(theta**2, axis=1, keepdims=True)
            length = np.sqrt(square)
            decrease = np.sum(theta**2 / (weights + more), axis=1, keepdims=True)
            with np.errstate(invalid="ignore"):
                step = np.nan_to_num(square / decrease * (length - radius) / radius)
            more = np.maximum(more + step, 0.0)
        return drawn / (weights + more)

    def excess(self, theta: Array, best: Array) -> Array:
        """Return Σ½(⟨x,θ⟩ − y)² at each row of ``theta`` minus its value at ``best``."""
        free = self.pull / self.spectrum
        loss = np.sum(self.spectrum * (theta - free) ** 2, axis=-1) / 2
        least = np.sum(self.spectrum * (best - free) ** 2, axis=-1) / 2
        return np.asarray(loss - least)


def simulated(rows: int, size: int, design: str, rng: Generator) -> tuple[Array, Array]:
    """Simulate a table in chunks of rows, and return its sums Σxxᵀ and Σyx.

    The entries of a column are plus or minus a constant, and all coefficients are ±1, so
    rows and coefficients have norm √p. Targets are clipped to [−p, p].
    """
    heights = np.logspace(0, -SPREADS[design] / 2, size)
    heights *= math.sqrt(size / float(heights @ heights))
    truth = np.where(rng.integers(2, size=size) > 0, 1.0, -1.0)
    gram, pull = np.zeros((size, size)), np.zeros(size)
    spread = ERROR * math.sqrt(size)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        bits = rng.integers(0, 2, size=(count, size), dtype=np.int8)
        signs = bits.astype(np.float32) * 2 - 1
        target = signs @ (heights * truth).astype(np.float32)
        target = np.clip(target + spread * rng.normal(size=count), -size, size)
        gram += signs.T @ signs  # integers below 2²⁴, exact in single precision
        pull += signs.T.astype(np.float64) @ target
    return gram * np.outer(heights, heights), pull * heights


SOURCE = (
    "Kifer, Smith and Thakurta: Private Convex Empirical Risk Minimization and "
    "High-dimensional Regression"
)
SIZES = (4, 8, 16, 32, 64, 128, 256)
ROWS = (10_000, 100_000, 1_000_000)
METHODS = ("gamma", "gaussian", "gaussian, least ridge")
PURE, APPROX = Pure(1), Approx(1, "1e-6")
COLOURS = ("#b2182b", "#2166ac", "#1b7837")
KEYS = ["design", "rows", "columns"]
PARTS, DRAWS = 5, 200
"""Number of tables per setting, and of noise draws per table."""


def _cells(quick: bool) -> list[Cell]:
    return [
        {
            "design": design,
            "rows": rows,
            "columns": columns,
            "part": part,
            "draws": DRAWS,
        }
        for design in SPREADS
        for rows in (ROWS[:2] if quick else ROWS)
        for columns in (SIZES[:-2:2] if quick else SIZES)
        for part in range(1 if quick else PARTS)
    ]


def trial(cell: Cell, seed: int) -> list[Row]:
    """Fit a simulated table by every method with many noise draws; return mean risks."""
    rng, entropy = generator(seed), Entropy.seeded(seed)
    rows, size, draws = int(cell["rows"]), int(cell["columns"]), int(cell["draws"])
    sums = Sums.of(*simulated(rows, size, str(cell["design"]), rng))
    return [_one(name, sums, rows, draws, entropy) for name in METHODS]


def _one(name: str, sums: Sums, rows: int, draws: int, entropy: Entropy) -> Row:
    size = len(sums.pull)
    radius = math.sqrt(size)
    objective, mechanism = linear_regression(size), ObjectivePerturbation("kst")
    budget = PURE if name == "gamma" else APPROX
    main = budget.share(1 - mechanism.precision_share)
    if name == "gaussian, least ridge":
        ridge = least_ridge(objective, main)
    else:
        ridge = balanced_ridge(objective, main, radius)
    plan = mechanism.calibrate(objective.with_l2(ridge), budget, Neighbours.ADD_REMOVE)
    noise = np.stack([plan.noise.draw(size, entropy) for _ in range(draws)])
    best = sums.fits(np.zeros((1, size)), 0.0, radius)[0]
    risks = sums.excess(sums.fits(noise @ sums.basis, ridge, radius), best) / rows
    exact = quadratic_risk(sums.spectrum, best, objective, main, rows, ridge=ridge)
    curvature, norm = float(sums.spectrum[0]), float(np.linalg.norm(best))
    return {
        "method": name,
        "risk": float(np.mean(risks)),
        "error": float(np.std(risks) / math.sqrt(draws)),
        "without_ball": exact,
        "theorem4": perturbed_risk(objective, main, rows, norm=norm, ridge=ridge),
        "theorem5": perturbed_risk(
            objective, main, rows, norm=norm, ridge=ridge, curvature=curvature
        ),
        "ridge": ridge,
    }


def _joined(rows: pd.DataFrame) -> pd.DataFrame:
    """Average the results of each setting over its simulated tables."""
    keys = [*KEYS, "method"]
    return rows.groupby(keys, sort=False).mean(numeric_only=True).reset_index()


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    wide = rows.pivot_table(index=KEYS, columns="method", sort=False)
    shown = pd.DataFrame(index=wide.index)
    for name in METHODS:
        if ("risk", name) in wide:
            shown[name] = wide["risk", name]
    for column, head in (("risk", "ratio"), ("theorem4", "ratio of bounds")):
        shown[head] = wide[column, "gamma"] / wide[column, "gaussian"]
    return shown.reset_index()


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate excess risks, their ratio (Gamma to Gaussian noise), and its growth in p."""
    rows = _joined(rows)
    shown = _wide(rows)
    groups = shown.groupby(["design", "rows"], sort=False)
    for head in ("ratio", "ratio of bounds"):
        rise = groups[head].transform(lambda values: np.log(values).diff())
        step = groups["columns"].transform(lambda values: np.log(values).diff())
        shown[f"slope of {head}"] = (rise / step).round(2)
    bounds = rows.groupby(KEYS, sort=False)[["risk", "theorem5"]]
    share = bounds.apply(lambda part: float((part["risk"] / part["theorem5"]).max()))
    shown["largest share of a bound"] = share.to_numpy()
    return shown


def slope(part: pd.DataFrame, head: str) -> float:
    """Return the slope of a line fitted to the log of a column against log p."""
    found = np.polyfit(np.log(part["columns"]), np.log(part[head]), 1)
    return float(found[0])


def _figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    rows = _joined(rows)
    counts = sorted(rows["rows"].unique())
    designs = list(dict.fromkeys(rows["design"]))
    across = len(counts) + 1
    figure = Figure(figsize=(3.3 * across, 3.3 * len(designs) + 1), layout="constrained")
    grid = figure.subplots(len(designs), across, squeeze=False)
    for line, design in zip(grid, designs, strict=True):
        for axes, count in zip(line, counts, strict=False):
            here = rows[rows["design"].eq(design) & rows["rows"].eq(count)]
            _risks(axes, here)
            axes.set_title(f"{design} columns, n = {count:,}", fontsize=9)
        _ratios(line[-1], _wide(rows[rows["design"] == design]), counts)
        line[-1].set_title(f"{design} columns: Gamma over Gaussian", fontsize=9)
        line[0].set_ylabel("excess risk per record")
        line[-1].set_ylabel("ratio")
    for axes in grid[-1]:
        axes.set_xlabel("columns p")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Linear regression at ε = 1, δ = 1e-6: simulation and Theorems 4 and 5")
    return figure


def _risks(axes: Any, rows: pd.DataFrame) -> None:
    for colour, name in zip(COLOURS, METHODS, strict=True):
        line = rows[rows["method"] == name]
        axes.loglog(line["columns"], line["risk"], "o-", ms=3, color=colour, label=name)
        bound, number = ("theorem5", 5) if "least" in name else ("theorem4", 4)
        axes.loglog(
            line["columns"],
            line[bound],
            ls=":",
            color=colour,
            label=f"bound, Theorem {number}",
        )
    _label_axes(axes, rows)


def _ratios(axes: Any, rows: pd.DataFrame, counts: list[int]) -> None:
    shades = ("#9ecae1", "#4292c6", "#084594")[-len(counts) :]
    for shade, count in zip(shades, counts, strict=True):
        part = rows[rows["rows"] == count]
        words = f"n = {count:,}: slope {slope(part, 'ratio'):.2f}"
        axes.loglog(part["columns"], part["ratio"], "o-", ms=3, color=shade, label=words)
    words = f"bounds: slope {slope(part, 'ratio of bounds'):.2f}"
    axes.loglog(part["columns"], part["ratio of bounds"], "k:", label=words)
    axes.axhline(1, color="0.7", lw=0.8)
    _label_axes(axes, rows)
    axes.legend(fontsize=7)


def _label_axes(axes: Any, rows: pd.DataFrame) -> None:
    sizes = sorted(rows["columns"].unique())
    axes.set_xticks(sizes, [str(size) for size in sizes], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.tick_params(axis="y", which="both", labelsize=8)
    axes.grid(visible=True, alpha=0.3)


register(
    Study(
        name="kst-table1",
        title="Excess risk of objective perturbation by p: Gamma and Gaussian noise",
        source=f"{SOURCE}, Table 1 and Theorems 4 and 5",
        cells=_cells,
        run=trial,
        table=_table,
        figure=_figure,
        version=2,
        repetition=("part",),
    )
)
