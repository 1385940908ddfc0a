"""Summaries of releases, tables of coefficients, and their records for JSON."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confide.errors import InvalidParameter, did_you_mean
from confide.privacy import Budget, Guarantee
from confide.reporting.coefficients import (
    Coefficient,
    TableColumn,
    plot_coefficients,
    shown_columns,
    without_unit,
)
from confide.reporting.effect_scale import EffectScale
from confide.reporting.markup import render
from confide.reporting.text import about_intervals, about_unidentified
from confide.reporting.wald import WaldTest

MARK = "*"
"""Mark after the name of a coefficient whose interval excludes zero."""


@dataclass(frozen=True, slots=True)
class CoefficientTable:
    """Table of released coefficients, with their intervals if there are any.

    Parameters
    ----------
    rows : tuple of Coefficient
        The coefficients. ``table[name]`` returns one of them.
    level : float, optional
        Confidence level of the intervals; None without intervals.
    of : {"plain", "penalised"}, default="penalised"
        Whether the intervals are for the plain coefficients, without the ridge penalty, or
        for the penalised ones.
    heading : str, default=""
        Heading of the column of estimates, if these are not coefficients.

    Examples
    --------
    >>> from confide.reporting import Coefficient, CoefficientTable
    >>> rows = (Coefficient("age", 0.5, 0.3, 0.7), Coefficient("income", 0.1, -0.2, 0.4))
    >>> table = CoefficientTable(rows, level=0.95)
    >>> [row.name for row in table if row.reliable]
    ['age']

    The interval of age excludes zero, so the sign of its effect can be trusted.
    """

    rows: tuple[Coefficient, ...]
    level: float | None = None
    of: str = "penalised"
    heading: str = ""

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of the table, except for the one with the names."""
        first, *others = shown_columns(self.rows)
        return (replace(first, head=self.heading) if self.heading else first, *others)

    @property
    def bounded(self) -> bool:
        """Whether any coefficient has an interval."""
        return any(row.lower is not None or row.upper is not None for row in self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how to read the table; empty without intervals."""
        if self.level is None:
            return ()
        sure = (
            f"{MARK} the interval excludes zero at level {100 * self.level:g} % "
            "(each line separately)."
        )
        unsure = "No interval excludes zero: no sign is certain."
        legend = sure if any(row.reliable for row in self.rows) else unsure
        if not any(row.identified for row in self.rows):
            legend = "No coefficient is identified: there are no intervals."
        return legend, *self.explanations

    @property
    def explanations(self) -> tuple[str, ...]:
        """Paragraphs on what the intervals mean, and why some may be missing."""
        if self.level is None:
            return ()
        marks = [row.identified for row in self.rows]
        told = about_intervals(self.level, self.of) if any(marks) else ()
        return told if all(marks) else (*told, about_unidentified())

    def cells(self, digits: int) -> list[list[str]]:
        """Return the cells of the table as text.

        Parameters
        ----------
        digits : int
            Number of significant digits.

        Returns
        -------
        list of list of str
            The headings, followed by one list of cells per coefficient.
        """
        shown = self.columns
        heads = ["coefficient", *(column.head for column in shown)]
        lines = [
            [row.name, *(_text(getattr(row, c.key), digits) for c in shown)]
            for row in self.rows
        ]
        return [heads, *lines]

    def records(self) -> list[dict[str, Any]]:
        """Return the table as dictionaries of plain values.

        Returns
        -------
        list of dict
            One dictionary per coefficient.
        """
        keys = ["name", "estimate", "lower", "upper"]
        if self.level is None:
            return [{key: getattr(row, key) for key in keys} for row in self.rows]
        keys += ["std_error", "z", "p_value"]
        keys += ["sampling", "widened_by", "pull", "identified"]
        about = {"level": self.level, "of": self.of}
        return [{**{key: getattr(row, key) for key in keys}, **about} for row in self.rows]

    def to_frame(self) -> Any:
        """Return the table as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per coefficient, indexed by name.
        """
        import pandas as pd

        return pd.DataFrame(self.records()).set_index("name")

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the coefficients with their intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return plot_coefficients(self.rows, self.level, ax=ax)

    def __getitem__(self, name: str) -> Coefficient:
        """Return a coefficient by its name, with or without its unit."""
        found = [row for row in self.rows if row.name == name]
        found = found or [row for row in self.rows if without_unit(row.name) == name]
        if not found:
            known = [row.name for row in self.rows]
            raise InvalidParameter(
                "name of a coefficient", f"one of {known}", name, did_you_mean(name, known)
            )
        return found[0]

    def __str__(self) -> str:
        return _ruled(self.cells(5))

    def _repr_html_(self) -> str:
        return render("notebook.html.jinja", {"title": "", "facts": (), "table": self})

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Coefficient]:
        return iter(self.rows)


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a released model: guarantee, facts and coefficients; it holds no data.

    Parameters
    ----------
    title : str
        Kind of model.
    guarantee : Guarantee
        Guarantee of the release.
    rows : tuple of Coefficient
        The released coefficients.
    facts : tuple of (str, str)
        Names and values of facts about the release.
    about : tuple of (str, str), default=()
        Names and values of facts about the fitted model.
    level : float, optional
        Confidence level of the intervals; None without intervals.
    caution : str, default=""
        Reason why the intervals may not hold, if there is one.
    of : {"plain", "penalised"}, default="penalised"
        Whether the intervals are for the plain coefficients, without the ridge penalty, or
        for the penalised ones.
    scale : EffectScale, optional
        Scale of the effects.
    ratios : CoefficientTable, optional
        Odds or rate ratios for changes over the whole ranges of columns.
    tests : tuple of WaldTest, default=()
        Wald tests, each of all coefficients of a column.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import Coefficient, Summary
    >>> theorem = "objective-perturbation.md#objective-pure-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> rows = (Coefficient("age", 0.5, 0.3, 0.7),)
    >>> print(Summary("Linear regression", promise, rows, (), level=0.95).table)
    coefficient    estimate       lower       upper
    -----------------------------------------------
    age                 0.5         0.3         0.7

    The interval excludes zero. ``print(summary)`` shows the guarantee above this table.
    """

    title: str
    guarantee: Guarantee
    rows: tuple[Coefficient, ...]
    facts: tuple[tuple[str, str], ...]
    about: tuple[tuple[str, str], ...] = ()
    level: float | None = None
    caution: str = ""
    of: str = "penalised"
    scale: EffectScale | None = None
    ratios: CoefficientTable | None = None
    tests: tuple[WaldTest, ...] = ()

    @property
    def table(self) -> CoefficientTable:
        """The coefficients as a table, without the other contents of the summary."""
        return CoefficientTable(self.rows, self.level, self.of)

    def records(self) -> list[dict[str, Any]]:
        """Return the coefficients as dictionaries of plain values.

        Returns
        -------
        list of dict
            One dictionary per coefficient.
        """
        return self.table.records()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the coefficients with their intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return plot_coefficients(self.rows, self.level, ax=ax, scale=self.scale)

    def __str__(self) -> str:
        facts = [f"{name:<12} {value}" for name, value in (*self.facts, *self.about)]
        return "\n".join([self.title, str(self.guarantee), *facts, "", str(self.table)])

    def _repr_html_(self) -> str:
        facts = (*self.guarantee.facts, *self.facts, *self.about)
        content = {"title": self.title, "facts": facts, "table": self.table}
        return render("notebook.html.jinja", content)


def _text(value: float | str | None, digits: int) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else f"{value:.{digits}g}"


def _ruled(cells: Sequence[Sequence[str]]) -> str:
    """Format a table as text: names aligned left, numbers right, headings underlined."""
    first, *others = (max(map(len, column)) for column in zip(*cells, strict=True))
    widths = [max(width, 10) for width in others]
    lines = [
        "  ".join(
            [
                f"{name:<{first}}",
                *(f"{cell:>{width}}" for cell, width in zip(rest, widths, strict=True)),
            ]
        )
        for name, *rest in cells
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def guarantee_record(
    guarantee: Guarantee, write_budget: Callable[[Budget], Any] = str
) -> dict[str, Any]:
    """Return a guarantee as plain values.

    Parameters
    ----------
    guarantee : Guarantee
        Guarantee of a release.
    write_budget : callable, default=str
        Function that turns a budget into a plain value.

    Returns
    -------
    dict
        Plain values by name, for JSON.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import guarantee_record
    >>> theorem = "objective-perturbation.md#objective-pure-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> found = guarantee_record(promise)
    >>> found["budget"], found["status"]
    ('ε = 1', 'PROVED')

    The budget and the status are given as text.
    """
    budget = guarantee.budget
    return {
        "budget": None if budget is None else write_budget(budget),
        "neighbours": str(guarantee.neighbours),
        "status": str(guarantee.status),
        "theorem": guarantee.theorem,
        "assumptions": list(guarantee.assumptions),
        "private": guarantee.private,
        "reason": guarantee.reason,
    }


def summary_record(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain values.

    Parameters
    ----------
    summary : Summary
        Summary of a released model.

    Returns
    -------
    dict
        Plain values for JSON: model, guarantee, coefficients, tests and facts.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import Coefficient, Summary, summary_record
    >>> theorem = "objective-perturbation.md#objective-pure-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> summary = Summary("Linear regression", promise, (Coefficient("age", 0.5),), ())
    >>> summary_record(summary)["coefficients"]
    [{'name': 'age', 'estimate': 0.5, 'lower': None, 'upper': None}]

    Without intervals, ``lower`` and ``upper`` are None.
    """
    return {
        "model": summary.title,
        "guarantee": guarantee_record(summary.guarantee),
        "coefficients": summary.records(),
        **({"tests": [one.record() for one in summary.tests]} if summary.tests else {}),
        **{name.lower(): value for name, value in (*summary.about, *summary.facts)},
    }
