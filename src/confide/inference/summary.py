"""Summary of a fitted model: the guarantee, the coefficients, and a plot of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, Protocol

from confide.errors import ConfideError
from confide.privacy import Guarantee

SAMPLING, PRIVACY, DOT = "#2166ac", "#b2182b", "#222222"


class Line(Protocol):
    """What a picture needs to know of a coefficient."""

    @property
    def name(self) -> str:
        """How it is called."""
        ...

    @property
    def estimate(self) -> float:
        """Its value."""
        ...

    @property
    def lower(self) -> float | None:
        """Where its interval begins."""
        ...

    @property
    def upper(self) -> float | None:
        """Where its interval ends."""
        ...

    @property
    def sampling(self) -> float | None:
        """Half the length without privacy noise."""
        ...


def plot_coefficients(rows: Sequence[Line], level: float | None, *, ax: Any = None) -> Any:
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
    axes.plot([row.estimate for row in rows], places, "o", color=DOT, ms=4, ls="", zorder=4)
    axes.axvline(0.0, color="0.6", lw=1, zorder=1)
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


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One line of the table; bounds are None where no interval was paid for.

    ``sampling`` is half the length that the interval would have without privacy noise.
    """

    name: str
    estimate: float
    lower: float | None = None
    upper: float | None = None
    sampling: float | None = None

    @property
    def widened_by(self) -> Literal["privacy", "sampling"] | None:
        """Which of the two widens the interval more; their variances add up."""
        if self.lower is None or self.upper is None or self.sampling is None:
            return None
        half = (self.upper - self.lower) / 2
        return "sampling" if self.sampling**2 >= half**2 / 2 else "privacy"

    @property
    def reliable(self) -> bool:
        """Whether the interval leaves out zero: the sign can be trusted at its level."""
        return (
            self.lower is not None
            and self.upper is not None
            and (self.lower > 0 or self.upper < 0)
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """A frozen table that holds no data and knows what may be said about it.

    ``about`` says what the model is of, ``facts`` how it was released, ``level`` how
    often intervals are meant to hold what they estimate, ``caution`` why they may not.
    """

    title: str
    guarantee: Guarantee
    rows: tuple[Coefficient, ...]
    facts: tuple[tuple[str, str], ...]
    about: tuple[tuple[str, str], ...] = ()
    level: float | None = None
    caution: str = ""

    def records(self) -> list[dict[str, Any]]:
        """Return the table as a list of plain dictionaries."""
        if self.level is not None:
            return interval_records(self.rows, self.level)
        keys = ("name", "estimate", "lower", "upper")
        return [{key: getattr(row, key) for key in keys} for row in self.rows]

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the coefficients with their intervals; return matplotlib axes."""
        return plot_coefficients(self.rows, self.level, ax=ax)

    def __str__(self) -> str:
        facts = [f"{name:<12} {value}" for name, value in (*self.facts, *self.about)]
        table = table_text(self.rows)
        return "\n".join([self.title, str(self.guarantee), *facts, "", table])

    def _repr_html_(self) -> str:
        promise = [line.split("  ", 1) for line in str(self.guarantee).splitlines()]
        facts = _lines([*promise, *self.facts, *self.about], "th", "left")
        title = f"<p><b>{escape(self.title)}</b></p>"
        return f"{title}<table>{facts}</table>{table_html(self.rows)}"


def interval_records(rows: Iterable[Coefficient], level: float) -> list[dict[str, Any]]:
    """Return coefficients with intervals as a list of plain dictionaries."""
    keys = ("name", "estimate", "lower", "upper", "sampling", "widened_by")
    return [{**{key: getattr(row, key) for key in keys}, "level": level} for row in rows]


def table_text(rows: Sequence[Coefficient]) -> str:
    """Return a heading, a rule and a line for every coefficient."""
    cells = _cells(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    table = [
        "  ".join(
            [
                f"{name:<{widths[0]}}",
                *(f"{c:>{max(w, 12)}}" for c, w in zip(rest, widths[1:], strict=True)),
            ]
        )
        for name, *rest in cells
    ]
    head, *body = table
    return "\n".join([head, "-" * len(head), *body])


def table_html(rows: Sequence[Coefficient]) -> str:
    """Return the coefficients as an HTML table."""
    return f"<table>{_lines(_cells(rows), 'td', 'right')}</table>"


def _cells(rows: Sequence[Coefficient]) -> list[list[str]]:
    """Return a heading and a line for every coefficient, as text."""
    bounded = any(row.lower is not None for row in rows)
    keys = ("estimate", "lower", "upper", "widened_by") if bounded else ("estimate",)
    lines = [[row.name, *(_text(getattr(row, key)) for key in keys)] for row in rows]
    return [["coefficient", *(key.replace("_", " ") for key in keys)], *lines]


def _text(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else f"{value:.5g}"


def _lines(table: Iterable[Iterable[str]], first: str, align: str) -> str:
    """Return the rows of an HTML table; nothing in them is taken for markup."""
    lines = []
    for name, *cells in table:
        parts = "".join(f"<td align='{align}'>{escape(c.strip())}</td>" for c in cells)
        lines.append(f"<tr><{first} align='left'>{escape(name)}</{first}>{parts}</tr>")
    return "".join(lines)


@dataclass(frozen=True, slots=True)
class IntervalTable:
    """Coefficients with their intervals: a frozen table that holds no data."""

    rows: tuple[Coefficient, ...]
    level: float

    def records(self) -> list[dict[str, Any]]:
        """Return the table as a list of plain dictionaries."""
        return interval_records(self.rows, self.level)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the intervals; return matplotlib axes."""
        return plot_coefficients(self.rows, self.level, ax=ax)

    def __str__(self) -> str:
        return table_text(self.rows)

    def _repr_html_(self) -> str:
        return table_html(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Coefficient]:
        return iter(self.rows)
