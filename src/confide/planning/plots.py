"""Plots of errors against the number of rows, and of the interval width of each column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.data.matrix.sums import MAX_ROWS
from confide.errors import ConfideError
from confide.planning.fit_plan import FitPlan
from confide.planning.line_plan import SELDOM
from confide.planning.plan import Plan

DECADES_AROUND = 1.5
"""Number of decades shown on either side of the planned number of rows."""
CURVE_POINTS = 31


@dataclass(frozen=True, slots=True)
class PlanCurve:
    """Errors of a coefficient for several numbers of rows.

    Parameters
    ----------
    rows : tuple of int
        Numbers of rows.
    privacy : tuple of float
        Error due to privacy noise, for each number of rows.
    sampling : tuple of float
        Error due to sampling, for each number of rows.

    Examples
    --------
    >>> from confide.planning import PlanCurve
    >>> PlanCurve((1000, 2000), (0.4, 0.2), (0.10, 0.07)).privacy
    (0.4, 0.2)
    """

    rows: tuple[int, ...]
    privacy: tuple[float, ...]
    sampling: tuple[float, ...]


def plan_curve(plan: Plan, rows: Iterable[int]) -> PlanCurve:
    """Return the privacy and sampling errors for several numbers of rows.

    Parameters
    ----------
    plan : Plan
        Plan from which all settings but the number of rows are taken.
    rows : iterable of int
        Numbers of rows.

    Returns
    -------
    PlanCurve
        The errors.

    Examples
    --------
    >>> from confide import Approx
    >>> from confide.planning import make_plan, plan_curve
    >>> curve = plan_curve(make_plan(20_000, 5, Approx(1, 1e-6)), [10_000, 40_000])
    >>> curve.privacy[0] > curve.privacy[1]
    True
    """
    plans = [plan.with_rows(count) for count in rows]
    return PlanCurve(
        tuple(one.rows for one in plans),
        tuple(one.privacy_error for one in plans),
        tuple(one.sampling_error for one in plans),
    )


def plot_plan(plan: Plan, *, ax: Any = None) -> Any:
    """Plot the privacy and sampling errors around the planned number of rows.

    Parameters
    ----------
    plan : Plan
        Plan of a fit to arrays.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default new axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> from confide import Approx
    >>> from confide.planning import make_plan, plot_plan
    >>> plot_plan(make_plan(20_000, 5, Approx(1, 1e-6))).get_xlabel()
    'number of rows'
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


def plot_fit_plan(plan: FitPlan, *, ax: Any = None) -> Any:
    """Plot the expected interval width or error of every column.

    If the fit has intervals, the plot shows the median and the quartiles of their width,
    otherwise the error. All values are multiples of the typical effect of the column.
    Columns that are unlikely to have an interval are marked.

    Parameters
    ----------
    plan : FitPlan
        Plan of a fit with a schema.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default new axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> from confide import Approx, LogisticRegression, Number, Schema, Target
    >>> from confide.planning import plan_fit, plot_fit_plan
    >>> schema = Schema((Number("age", 18, 90),), Target("ill", labels=("no", "yes")))
    >>> model = LogisticRegression(Approx(1, 1e-6), schema=schema, intervals=True)
    >>> axes = plot_fit_plan(plan_fit(model, rows=20_000))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['age']
    """
    axes = _new_axes(len(plan.columns)) if ax is None else ax
    wide = plan.with_intervals
    for place, column in enumerate(plan.columns):
        if wide and not column.identified >= SELDOM:
            text = "not identified at this budget"
            axes.text(1.0, place, text, va="center", ha="center", color="0.4", size="small")
            continue
        effect = column.effect or 1.0
        middle = (column.width if wide else column.error) / effect
        if wide:
            ends = [column.narrow / effect, column.wide / effect]
            axes.plot(ends, [place, place], color="#2166ac", lw=2, solid_capstyle="butt")
        axes.plot([middle], [place], "o", color="#b2182b")
    axes.axvline(1.0, color="0.5", lw=1, ls=":")
    axes.set_xscale("log")
    _label_log_axis(axes)
    axes.set_yticks(range(len(plan.columns)), [one.name for one in plan.columns])
    axes.set_ylim(len(plan.columns) - 0.5, -0.5)
    what = "interval width: median and quartiles" if wide else "expected error"
    axes.set_xlabel(f"{what} (1: a typical effect)")
    title = f"{plan.rows:,} rows, {plan.budget}, {plan.guarantee.neighbours} neighbours"
    axes.set_title(title, fontsize="medium")
    axes.grid(visible=True, axis="x", which="major", alpha=0.3)
    return axes


def plot_steps(
    steps: Sequence[int],
    epsilons: Mapping[str, Sequence[float]],
    *,
    planned: int,
    title: str,
    ax: Any = None,
) -> Any:
    """Plot epsilon against the number of steps, with a line for each method.

    Parameters
    ----------
    steps : sequence of int
        Numbers of steps.
    epsilons : mapping of str to sequence of float
        Epsilon for each number of steps, with the names of the methods as keys.
    planned : int
        Planned number of steps, marked in the plot.
    title : str
        Title of the plot.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default new axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> from confide.planning import plot_steps
    >>> lines = {"Gaussian": (0.5, 1.6)}
    >>> plot_steps((10, 100), lines, planned=50, title="noise 5").get_xlabel()
    'number of steps'
    """
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
    """Return numbers of rows, evenly spaced on a log scale, and the planned number."""
    reach = 10.0**DECADES_AROUND
    spread = np.geomspace(
        max(1.0, rows / reach), min(float(MAX_ROWS), rows * reach), CURVE_POINTS
    )
    return sorted({*(round(count) for count in spread), rows})


def _label_log_axis(axes: Any) -> None:
    """Label 1, 2 and 5 in every decade if the axis spans less than two decades."""
    from matplotlib.ticker import LogLocator

    low, high = axes.get_xlim()
    if high < 100 * low:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")


def _new_axes(lines: int = 0) -> Any:
    try:
        from matplotlib import pyplot as plt
    except ImportError as absent:
        raise ConfideError(
            "a plot needs matplotlib, which is not installed: run "
            "pip install 'confide[plots]', or print the plan instead."
        ) from absent
    height = max(4.8, 1.6 + 0.22 * lines)
    return plt.subplots(figsize=(6.4, height), layout="constrained")[1]
