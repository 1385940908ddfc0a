"""Figure 3 of the NAPP paper: distance of its noise-free iterations from the lasso.

For each of four ε, Λ₀ has the value that the paper prescribes, the largest curvature of a
record divided by ε. The lasso has the penalty 2Λ‖θ‖₁, to which a weight Λ/|θ| is
equivalent.
"""

from typing import Any

import numpy as np
import pandas as pd

from confide.data import bound_rows
from confide.noise import generator
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.napp.baselines import lasso
from confide.studies.napp.batch import BatchTable, Fits, together
from confide.studies.napp.panels import PARTS, SOURCE, averaged, legend
from confide.studies.napp.population import EPSILONS, REPEATS, SETTINGS

METHODS = {"MOOR": True, "no MOOR": False}
COLOURS = ("#08306b", "#2171b5", "#e6550d", "#a50f15")


def _cells(quick: bool) -> list[Cell]:
    return [
        {"regression": name, "rows": rows, "part": part, "repeats": REPEATS // PARTS}
        for name, setting in SETTINGS.items()
        for rows in (setting.sizes[1:] if quick else setting.sizes)
        for part in range(1 if quick else PARTS)
    ]


def trial(cell: Cell, seed: int) -> list[Row]:
    """Return mean distances from the lasso for every Λ₀ and Λ, with and without MOOR."""
    setting, rng = SETTINGS[str(cell["regression"])], generator(seed)
    objective, strengths = setting.objective, setting.strengths
    nothing = np.zeros(objective.dimension)
    keys = [(method, epsilon) for epsilon in EPSILONS for method in METHODS]
    fits = together(
        [
            Fits.of(
                strengths,
                objective.smoothness / epsilon,
                nothing,
                moor=METHODS[method],
                folded=False,
            )
            for method, epsilon in keys
        ]
    )
    found = []
    for _ in range(int(cell["repeats"])):
        x, y = setting.simulate(int(cell["rows"]), rng)
        rows = bound_rows(x, y, objective.row_norm, 0.0)
        plain = np.stack([lasso(objective, rows, strength) for strength in strengths])
        ends = BatchTable(setting.loss, x, y).follow(fits).theta
        gaps = ends.reshape(len(keys), *plain.shape) - plain
        found.append(np.linalg.norm(gaps, axis=2))
    distances = np.mean(found, axis=0)
    return [
        {
            "method": method,
            "epsilon": epsilon,
            "floor": objective.smoothness / epsilon,
            "strength": float(strength),
            "distance": float(distances[i, k]),
        }
        for i, (method, epsilon) in enumerate(keys)
        for k, strength in enumerate(strengths)
    ]


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate mean distances, with Λ in multiples of the gradient bound L."""
    means = averaged(rows)
    keys = ["regression", "rows", "floor", "method"]
    wide = means.pivot_table(index=keys, columns="multiple", values="distance", sort=False)
    wide = wide[sorted(wide.columns)]
    wide = wide.rename(columns=lambda multiple: f"{multiple:.3g} L")
    return wide.rename_axis(index={"floor": "Λ₀"}).round(4)


def _figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    means = averaged(rows)
    places = list(dict.fromkeys(zip(means["regression"], means["rows"], strict=True)))
    down = len(places) // len(SETTINGS)
    figure = Figure(figsize=(10.5, 3.1 * down + 1.2), layout="constrained")
    grid = figure.subplots(down, len(SETTINGS), squeeze=False)
    for i, (regression, count) in enumerate(places):
        axes = grid[i % down][i // down]
        here = means[means["regression"].eq(regression) & means["rows"].eq(count)]
        for colour, epsilon in zip(COLOURS, EPSILONS, strict=True):
            for method, moor in METHODS.items():
                line = here[here["epsilon"].eq(epsilon) & here["method"].eq(method)]
                axes.plot(
                    line["strength"],
                    line["distance"],
                    color=colour,
                    ls="-" if moor else "--",
                    lw=1.3,
                    label=f"Λ₀ = β/{epsilon:g}, {'with' if moor else 'without'} MOOR",
                )
        axes.set_xscale("log")
        axes.set_title(f"{regression}, n = {count}", fontsize=10)
        axes.set_xlabel("Λ (penalty 2Λ|θ|)")
        axes.grid(visible=True, alpha=0.3)
    for line in grid:
        line[0].set_ylabel("distance from the lasso")
    legend(figure, 4)
    figure.suptitle("Distance from the lasso without noise; β is the largest curvature")
    return figure


register(
    Study(
        name="napp-figure3",
        title="Distance of noise-free NAPP from the lasso, with and without MOOR",
        source=f"{SOURCE}, figure 3",
        cells=_cells,
        run=trial,
        table=_table,
        figure=_figure,
        repetition=("part",),
    )
)
