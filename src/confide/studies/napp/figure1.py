"""Figure 1 of the NAPP paper: the realised penalty and its strong convexity.

The paper shows the penalty wθ² that one reweighting realises at the coefficient θ from
which the weight is computed. Here w is the larger of R(θ)/θ² and Λ₀, where R is the target
penalty, and the paper assumes that the modulus of strong convexity is 2w. At the fixed
point of the iterations, however, the penalty is a function r with r′ = 2wθ. Its modulus is
r″, which is 0 wherever a lasso target determines w. Without MOOR, w is the sum
R(θ)/θ² + Λ₀, and the modulus is at least 2Λ₀ for convex targets. The study is
deterministic.
"""

from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.integrate import cumulative_trapezoid

from confide.mechanisms.published import NappTarget
from confide.mechanisms.published.napp.weights import Weighting
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.napp.panels import SOURCE, legend

STRENGTH, FLOOR = 1.0, 1.0
TARGETS: Final = {
    "lasso": NappTarget("lasso", STRENGTH),
    "elastic net": NappTarget("elastic-net", STRENGTH),
    "l₀.₅": NappTarget("bridge", STRENGTH, gamma=1.5),
}
FINE: Final = 4000
SHOWN: Final = 40
LINES: Final = {
    "target": ("target", {"color": "black", "ls": ":"}),
    "one iteration": ("one iteration", {"color": "#b2182b"}),
    "fixed point": ("fixed point", {"color": "#2166ac", "ls": "--"}),
    "without MOOR": ("without MOOR (modulus at the fixed point)", {"color": "#e08214"}),
}


def _cells(quick: bool) -> list[Cell]:
    return [{"target": name} for name in (list(TARGETS)[:1] if quick else TARGETS)]


def trial(cell: Cell, seed: int) -> list[Row]:
    """Return penalties and moduli at Λ = Λ₀ = 1 for θ > 0; all are even functions of θ."""
    del seed
    target = TARGETS[str(cell["target"])]
    theta = np.linspace(1e-4, 2.0, FINE + 1)
    weight = Weighting(target, FLOOR).after(theta)
    slope = 2 * weight * theta
    rest = weight[0] * theta[0] ** 2 + cumulative_trapezoid(slope, theta, initial=0)
    bend = np.gradient(slope, theta)
    apart = Weighting(target, FLOOR, moor=False).after(theta)
    bend_apart = np.gradient(2 * apart * theta, theta)
    return [
        {
            "theta": round(float(theta[k]), 4),
            "penalty, target": float(target.at(theta[k : k + 1])[0] * theta[k] ** 2),
            "penalty, one iteration": float(weight[k] * theta[k] ** 2),
            "penalty, fixed point": float(rest[k]),
            "penalty, without MOOR": float(apart[k] * theta[k] ** 2),
            "modulus, one iteration": float(2 * weight[k]),
            "modulus, fixed point": float(bend[k]),
            "modulus, without MOOR": float(bend_apart[k]),
        }
        for k in range(FINE // SHOWN, FINE + 1, FINE // SHOWN)
    ]


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the results of every target at five values of θ."""
    wanted = rows.groupby("target", sort=False).cumcount().add(1).mod(SHOWN // 5).eq(0)
    return rows[wanted].rename(columns={"theta": "θ"}).reset_index(drop=True).round(3)


def _figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(rows["target"]))
    figure = Figure(figsize=(3.4 * len(names) + 0.6, 6.2), layout="constrained")
    grid = figure.subplots(2, len(names), squeeze=False)
    for place, name in enumerate(names):
        here = rows[rows["target"] == name]
        for axes, what in zip(grid[:, place], ("penalty", "modulus"), strict=True):
            for line, (label, style) in LINES.items():
                if f"{what}, {line}" in here:
                    axes.plot(here["theta"], here[f"{what}, {line}"], label=label, **style)
            axes.set_title(f"{name}: {what}", fontsize=9)
            axes.set_xlabel("θ")
            axes.grid(visible=True, alpha=0.3)
        grid[1][place].set_ylim(-4, 12)
    legend(figure, 2)
    figure.suptitle("Penalties realised by NAPP and their moduli, Λ = Λ₀ = 1", fontsize=11)
    return figure


register(
    Study(
        name="napp-figure1",
        title="The penalty that NAPP realises, and its strong convexity",
        source=f"{SOURCE}, figure 1",
        cells=_cells,
        run=trial,
        table=_table,
        figure=_figure,
    )
)
