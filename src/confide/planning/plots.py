"""A plan as a picture: what privacy and sampling cost against the number of rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import ConfideError
from confide.planning.plan import MOST_ROWS, Plan

DECADES_AROUND = 1.5
"""How far the picture reaches to either side of the planned number of rows."""
CURVE_POINTS = 31


@dataclass(frozen=True, slots=True)
class PlanCurve:
    """Errors of a coefficient against the number of rows."""

    rows: tuple[int, ...]
    privacy: tuple[float, ...]
    sampling: tuple[float, ...]


def plan_curve(plan: Plan, rows: Iterable[int]) -> PlanCurve:
    """Return both parts of the error for every number of rows."""
    plans = [plan.with_rows(count) for count in rows]
    return PlanCurve(
        tuple(one.rows for one in plans),
        tuple(one.privacy_error for one in plans),
        tuple(one.sampling_error for one in plans),
    )


def plot_plan(plan: Plan, *, ax: Any = None) -> Any:
    """Draw both parts of the error around the planned number of rows; return the axes.

    ``ax`` are matplotlib axes to draw on; None makes a figure of its own.
    """
    axes = _new_axes() if ax is None else ax
    curve = plan_curve(plan, _rows_around(plan.rows))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(curve.rows, curve.privacy, color="#b2182b", label="privacy noise")
    axes.plot(curve.rows, curve.sampling, color="#2166ac", ls="--", label="sampling")
    axes.axvline(plan.rows, color="0.5", lw=1, ls=":", label=f"planned: {plan.rows:,} rows")
    axes.plot([plan.rows], [plan.privacy_error], "o", color="#b2182b")
    axes.plot([plan.rows], [plan.sampling_error], "s", color="#2166ac")
    axes.set_xlabel("number of rows")
    axes.set_ylabel("standard error of a coefficient")
    axes.set_title(
        f"{plan.model}, {plan.columns} columns, {plan.mechanism} perturbation\n"
        f"{plan.budget}, {plan.neighbours} neighbours",
        fontsize="medium",
    )
    axes.grid(visible=True, which="major", alpha=0.3)
    if ax is None:
        axes.figure.legend(loc="outside lower center", ncols=3, frameon=False)
    else:
        axes.legend(loc="best", fontsize="small")
    return axes


def plot_steps(
    steps: Sequence[int],
    epsilons: Mapping[str, Sequence[float]],
    *,
    planned: int,
    title: str,
    ax: Any = None,
) -> Any:
    """Draw epsilon against the number of steps, a line per method; return the axes."""
    axes = _new_axes() if ax is None else ax
    axes.set_xscale("log")
    axes.set_yscale("log")
    looks = zip(("#2166ac", "#b2182b", "#1b7837"), ("-", "--", "-."), strict=True)
    for (name, values), (colour, dashes) in zip(epsilons.items(), looks, strict=False):
        axes.plot(steps, values, color=colour, ls=dashes, label=name)
    axes.axvline(planned, color="0.5", lw=1, ls=":", label=f"planned: {planned:,} steps")
    axes.set_xlabel("number of steps")
    axes.set_ylabel("ε")
    axes.set_title(title, fontsize="medium")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(loc="best", fontsize="small")
    return axes


def _rows_around(rows: int) -> list[int]:
    """Return numbers of rows, even on a logarithmic scale, the planned one included."""
    reach = 10.0**DECADES_AROUND
    spread = np.geomspace(
        max(1.0, rows / reach), min(float(MOST_ROWS), rows * reach), CURVE_POINTS
    )
    return sorted({*(round(count) for count in spread), rows})


def _new_axes() -> Any:
    try:
        from matplotlib import pyplot as plt
    except ImportError as absent:
        raise ConfideError(
            "a plot needs matplotlib, which is not installed: run "
            "pip install 'confide[plots]', or print the plan instead."
        ) from absent
    return plt.subplots(figsize=(6.4, 4.8), layout="constrained")[1]
