"""Released coefficients, what is shown of each, and a plot of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from confide.errors import ConfideError

NOT_IDENTIFIED: Final = "not identified"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One line of the table; bounds are None where no interval was paid for.

    ``sampling`` is half the length that the interval would have without privacy noise.
    ``pull`` is how far the ridge moved the coefficient from the estimate. Where a plain
    coefficient is not ``identified`` the estimate is the penalised one.
    """

    name: str
    estimate: float
    lower: float | None = None
    upper: float | None = None
    sampling: float | None = None
    pull: float | None = None
    identified: bool = True

    @property
    def widened_by(self) -> Literal["privacy", "sampling"] | None:
        """Which of the two widens the interval more; their variances add up."""
        if self.lower is None or self.upper is None or self.sampling is None:
            return None
        half = (self.upper - self.lower) / 2
        return "sampling" if self.sampling**2 >= half**2 / 2 else "privacy"

    @property
    def remark(self) -> str | None:
        """What widens the interval more, or that there is none to tell."""
        return self.widened_by if self.identified else NOT_IDENTIFIED

    @property
    def reliable(self) -> bool:
        """Whether the interval excludes zero: the sign can be trusted at its level."""
        return (
            self.lower is not None
            and self.upper is not None
            and (self.lower > 0 or self.upper < 0)
        )


@dataclass(frozen=True, slots=True)
class TableColumn:
    """What a table shows of every coefficient: an attribute of it, under a heading."""

    key: str
    head: str
    numeric: bool = True


COLUMNS: Final = (
    TableColumn("estimate", "estimate"),
    TableColumn("lower", "lower"),
    TableColumn("upper", "upper"),
    TableColumn("pull", "ridge pull"),
    TableColumn("remark", "widened by", numeric=False),
)


def shown_columns(rows: Sequence[Coefficient]) -> tuple[TableColumn, ...]:
    """Return the columns that say something; an estimate does in any case."""
    return COLUMNS[:1] + tuple(
        column
        for column in COLUMNS[1:]
        if any(getattr(row, column.key) is not None for row in rows)
    )


SAMPLING, PRIVACY, DOT = "#2166ac", "#b2182b", "#222222"


def plot_coefficients(
    rows: Sequence[Coefficient], level: float | None, *, ax: Any = None
) -> Any:
    """Draw a dot for every coefficient and, where there is one, its interval.

    The inner, thick part of a bar is what sampling alone would give; the outer, thin part
    is what privacy noise adds.
    """
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
    axes.set_xlabel("coefficient")
    axes.grid(visible=True, axis="x", alpha=0.3)
    if level is not None:
        axes.set_title(f"{100 * level:g} % intervals", fontsize="medium")
        _legend(axes)
    return axes


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
