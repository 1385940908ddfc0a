"""Released coefficients, the columns of their table, and their plot."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from confide.errors import ConfideError
from confide.reporting.effect_scale import EffectScale

NOT_IDENTIFIED: Final = "not identified"
INTERCEPT: Final = "(intercept)"
UNIT: Final = re.compile(r" \(per [^)]*\)")
MOST_SHOWN: Final = 30
"""Largest number of coefficients in a plot."""


def without_unit(name: str) -> str:
    """Return the name of a coefficient without the unit in brackets after it."""
    return UNIT.sub("", name)


def p_text(value: float) -> str:
    """Format a p-value with three decimals, or as <0.001."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """Released coefficient, with its interval if there is one.

    Parameters
    ----------
    name : str
        Name of a column or level, or "(intercept)". It ends in "(per …)" if the coefficient
        is not per unit of its column.
    estimate : float
        The estimate. If the coefficient without the ridge penalty is not identified, it is
        the estimate with the penalty.
    lower : float, optional
        Lower end of the interval; None without intervals.
    upper : float, optional
        Upper end of the interval.
    sampling : float, optional
        Half the length that the interval would have without privacy noise.
    pull : float, optional
        Shift of the coefficient due to the ridge penalty; the estimate is corrected for it.
    identified : bool, default=True
        Whether the coefficient can be estimated at this budget.
    std_error : float, optional
        Standard error, which covers sampling error and privacy noise.
    p_value : float, optional
        Probability, if there is no effect, of an estimate at least as far from ``null``.
    span : float, default=1.0
        Width of the column's range, in the unit to which the coefficient refers.
    null : float, default=0.0
        Value of no effect: 0, or 1 for a ratio.

    Examples
    --------
    >>> from confide.reporting import Coefficient
    >>> age = Coefficient("age", 0.5, 0.3, 0.7, sampling=0.1)
    >>> age.reliable, age.widened_by
    (True, 'privacy')

    The interval excludes zero. Most of its length is due to privacy noise, so a larger
    budget would shorten it.
    """

    name: str
    estimate: float
    lower: float | None = None
    upper: float | None = None
    sampling: float | None = None
    pull: float | None = None
    identified: bool = True
    std_error: float | None = None
    p_value: float | None = None
    span: float = 1.0
    null: float = 0.0

    @property
    def z(self) -> float | None:
        """The estimate divided by its standard error."""
        return self.estimate / self.std_error if self.std_error else None

    @property
    def p_text(self) -> str | None:
        """The p-value with three decimals, or <0.001."""
        return None if self.p_value is None else p_text(self.p_value)

    @property
    def certainty(self) -> float:
        """The absolute estimate divided by half the interval length; 0 without interval."""
        if self.lower is None or self.upper is None or not self.identified:
            return 0.0
        half = (self.upper - self.lower) / 2
        return abs(self.estimate) / half if half > 0 else math.inf

    @property
    def over_range(self) -> "Coefficient":
        """The same coefficient, for a change over the whole range of its column."""
        size = self.span
        if size == 1:
            return self

        def times(value: float | None) -> float | None:
            return None if value is None else size * value

        return replace(
            self,
            name=without_unit(self.name),
            estimate=size * self.estimate,
            lower=times(self.lower),
            upper=times(self.upper),
            sampling=times(self.sampling),
            pull=times(self.pull),
            std_error=times(self.std_error),
            span=1.0,
        )

    @property
    def is_intercept(self) -> bool:
        """Whether this is the intercept."""
        return self.name.endswith(INTERCEPT)

    @property
    def widened_by(self) -> Literal["privacy", "sampling"] | None:
        """The larger component of the variance of the estimate: "privacy" or "sampling"."""
        if self.lower is None or self.upper is None or self.sampling is None:
            return None
        half = (self.upper - self.lower) / 2
        return "sampling" if self.sampling**2 >= half**2 / 2 else "privacy"

    @property
    def remark(self) -> str | None:
        """The larger source of the interval's width, or "not identified"."""
        return self.widened_by if self.identified else NOT_IDENTIFIED

    @property
    def reliable(self) -> bool:
        """Whether the interval excludes the value of no effect."""
        return (
            self.lower is not None
            and self.upper is not None
            and (self.lower > self.null or self.upper < self.null)
        )


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Column of a coefficient table: the attribute that it shows, and its heading."""

    key: str
    head: str
    numeric: bool = True


COLUMNS: Final = (
    TableColumn("estimate", "estimate"),
    TableColumn("std_error", "std. error"),
    TableColumn("lower", "lower"),
    TableColumn("upper", "upper"),
    TableColumn("p_text", "p", numeric=False),
    TableColumn("pull", "ridge pull"),
    TableColumn("remark", "widened by", numeric=False),
)


def shown_columns(rows: Sequence[Coefficient]) -> tuple[TableColumn, ...]:
    """Return the non-empty columns of a table of coefficients, including the estimates."""
    first, *others = COLUMNS
    found = [c for c in others if any(getattr(row, c.key) is not None for row in rows)]
    if not any(row.widened_by for row in rows):
        found = [replace(c, head="") if c.key == "remark" else c for c in found]
    return (first, *found)


SAMPLING, PRIVACY, DOT = "#2166ac", "#b2182b", "#222222"


def pictured_rows(rows: Sequence[Coefficient]) -> tuple[Coefficient, ...]:
    """Return the coefficients to plot, as effects over the ranges of their columns.

    If there are more than ``MOST_SHOWN``, only identified coefficients are plotted: those
    that are largest relative to the lengths of their intervals or, without intervals, those
    that are largest. They keep their order. The intercept is left out, because it would
    stretch the axis, unless it is the only coefficient.
    """
    finite = [k for k, row in enumerate(rows) if math.isfinite(row.estimate)]
    drawable = [k for k in finite if not rows[k].is_intercept] or finite
    if len(drawable) > MOST_SHOWN:
        drawable = [k for k in drawable if rows[k].identified] or drawable
    over = {k: rows[k].over_range for k in drawable}

    def rank(place: int) -> tuple[float, float]:
        return -rows[place].certainty, -abs(over[place].estimate)

    return tuple(over[k] for k in sorted(sorted(drawable, key=rank)[:MOST_SHOWN]))


def plot_coefficients(
    rows: Sequence[Coefficient],
    level: float | None,
    *,
    ax: Any = None,
    scale: EffectScale | None = None,
) -> Any:
    """Plot coefficients as dots, with bars for their intervals if there are any.

    The effect of a numeric column is plotted for a change over its whole range; the
    intercept is left out. The thick inner part of a bar is due to sampling error alone; the
    thin outer parts are added by privacy noise.
    """
    rows = pictured_rows(rows)
    axes = _new_axes(len(rows)) if ax is None else ax
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        if row.lower is None or row.upper is None:
            continue
        axes.plot([row.lower, row.upper], [place] * 2, color=PRIVACY, lw=1.5, zorder=2)
        inner = min(row.sampling or 0.0, (row.upper - row.lower) / 2)
        middle = (row.lower + row.upper) / 2
        ends = [middle - inner, middle + inner]
        axes.plot(ends, [place] * 2, color=SAMPLING, lw=5, solid_capstyle="butt", zorder=3)
    for place, row in zip(places, rows, strict=True):
        fill = DOT if row.identified else "white"
        axes.plot(row.estimate, place, "o", color=DOT, mfc=fill, ms=4, zorder=4)
    axes.axvline(0.0, color="0.6", lw=1, zorder=1)
    middle = sum(axes.get_xlim()) / 2
    for place, row in zip(places, rows, strict=True):
        if not row.identified:
            side = "right" if row.estimate > middle else "left"
            words = f"  {NOT_IDENTIFIED}  "
            axes.text(row.estimate, place, words, ha=side, va="center", color="0.4")
    axes.set_yticks(list(places), [row.name for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(_axis_label(rows, scale))
    axes.grid(visible=True, axis="x", alpha=0.3)
    if level is not None:
        axes.set_title(f"{100 * level:g} % intervals", fontsize="medium")
        _legend(axes)
    return axes


def _axis_label(rows: Sequence[Coefficient], scale: EffectScale | None) -> str:
    where = "" if scale is None else f" on the {scale.predictor}"
    change = "for numeric columns, of a change across the whole range"
    return f"effect{where};\n{change}" if rows else ""


def _legend(axes: Any) -> None:
    from matplotlib.lines import Line2D

    axes.figure.legend(
        handles=[
            Line2D([], [], color=SAMPLING, lw=5, label="sampling alone"),
            Line2D([], [], color=PRIVACY, lw=1.5, label="added by privacy noise"),
        ],
        loc="outside lower center",
        ncols=2,
        frameon=False,
    )


def _new_axes(count: int) -> Any:
    try:
        from matplotlib import pyplot as plt
    except ImportError as absent:
        raise ConfideError(
            "a plot needs matplotlib, which is not installed: run "
            "pip install 'confide[plots]', or print the summary instead."
        ) from absent
    height = 1.6 + 0.26 * count
    return plt.subplots(figsize=(7, height), layout="constrained")[1]
