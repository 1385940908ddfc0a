"""Summaries and guarantees as plain values, for JSON."""

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
"""Stands behind the names of coefficients whose interval excludes zero."""


@dataclass(frozen=True, slots=True)
class CoefficientTable:
    """Coefficients, with their intervals where there are any; it holds no data.

    ``heading`` is what the estimates are, where they are something else.
    """

    rows: tuple[Coefficient, ...]
    level: float | None = None
    of: str = "penalised"
    heading: str = ""

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """What is shown of every coefficient."""
        first, *others = shown_columns(self.rows)
        return (replace(first, head=self.heading) if self.heading else first, *others)

    @property
    def bounded(self) -> bool:
        """Whether any coefficient has an interval."""
        return any(row.lower is not None or row.upper is not None for row in self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read the table; nothing where there are no intervals."""
        if self.level is None:
            return ()
        sure = (
            f"{MARK} the interval excludes zero: the sign holds at {100 * self.level:g} "
            "% (each line by itself)."
        )
        unsure = "No interval excludes zero: not even a sign is certain."
        legend = sure if any(row.reliable for row in self.rows) else unsure
        if not any(row.identified for row in self.rows):
            legend = "No coefficient is identified: there are no intervals."
        return legend, *self.explanations

    @property
    def explanations(self) -> tuple[str, ...]:
        """What the intervals mean, and what it means that one is missing."""
        if self.level is None:
            return ()
        marks = [row.identified for row in self.rows]
        told = about_intervals(self.level, self.of) if any(marks) else ()
        return told if all(marks) else (*told, about_unidentified())

    def cells(self, digits: int) -> list[list[str]]:
        """Return a line of headings and one for every coefficient, as text."""
        heads = ["coefficient", *(column.head for column in self.columns)]
        lines = [
            [row.name, *(_text(getattr(row, c.key), digits) for c in self.columns)]
            for row in self.rows
        ]
        return [heads, *lines]

    def records(self) -> list[dict[str, Any]]:
        """Return the table as a list of plain dictionaries."""
        keys = ["name", "estimate", "lower", "upper"]
        if self.level is None:
            return [{key: getattr(row, key) for key in keys} for row in self.rows]
        keys += ["std_error", "z", "p_value"]
        keys += ["sampling", "widened_by", "pull", "identified"]
        about = {"level": self.level, "of": self.of}
        return [{**{key: getattr(row, key) for key in keys}, **about} for row in self.rows]

    def to_frame(self) -> Any:
        """Return the table as a DataFrame, a row for every name."""
        import pandas as pd

        return pd.DataFrame(self.records()).set_index("name")

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the coefficients with their intervals; return matplotlib axes."""
        return plot_coefficients(self.rows, self.level, ax=ax)

    def __getitem__(self, name: str) -> Coefficient:
        """Return a line by its name; the unit of a number may be left out."""
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
    """A frozen table that holds no data and knows what may be said about it.

    ``about`` says what the model is of, ``facts`` how it was released, ``level`` how
    often intervals are meant to hold what they estimate, ``caution`` why they may not.
    ``of`` says what intervals are about: "plain" or "penalised" coefficients. ``scale``
    is what effects are measured in, ``ratios`` what they multiply over the range of a
    column, ``tests`` are of whole columns.
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
        """The coefficients alone."""
        return CoefficientTable(self.rows, self.level, self.of)

    def records(self) -> list[dict[str, Any]]:
        """Return the table as a list of plain dictionaries."""
        return self.table.records()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the coefficients with their intervals; return matplotlib axes."""
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
    """Return lines of text with a rule under the first: names to the left, others right."""
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
    """Return a guarantee as plain values; ``write_budget`` makes one of its budget."""
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
    """Return a summary as plain values."""
    return {
        "model": summary.title,
        "guarantee": guarantee_record(summary.guarantee),
        "coefficients": summary.records(),
        **({"tests": [one.record() for one in summary.tests]} if summary.tests else {}),
        **{name.lower(): value for name, value in (*summary.about, *summary.facts)},
    }
