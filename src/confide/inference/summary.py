"""A fitted model on one page: the guarantee first, then the coefficients."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from confide.privacy import Guarantee


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One line of the table; bounds are None where no interval was paid for."""

    name: str
    estimate: float
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A frozen table that holds no data and knows what may be said about it.

    ``about`` says what the model is of, ``facts`` how it was released.
    """

    title: str
    guarantee: Guarantee
    rows: tuple[Coefficient, ...]
    facts: tuple[tuple[str, str], ...]
    about: tuple[tuple[str, str], ...] = ()

    def records(self) -> list[dict[str, Any]]:
        """Return the table as a list of plain dictionaries."""
        keys = ("name", "estimate", "lower", "upper")
        return [{key: getattr(row, key) for key in keys} for row in self.rows]

    def __str__(self) -> str:
        width = max(len(row[0]) for row in self._table())
        table = [
            "  ".join([f"{name:<{width}}", *(f"{cell:>12}" for cell in cells)])
            for name, *cells in self._table()
        ]
        facts = [f"{name:<12} {value}" for name, value in (*self.facts, *self.about)]
        head, *body = table
        rule = "-" * len(head)
        return "\n".join([self.title, str(self.guarantee), *facts, "", head, rule, *body])

    def _repr_html_(self) -> str:
        promise = [line.split("  ", 1) for line in str(self.guarantee).splitlines()]
        facts = _lines([*promise, *self.facts, *self.about], "th", "left")
        table = _lines(self._table(), "td", "right")
        title = f"<p><b>{escape(self.title)}</b></p>"
        return f"{title}<table>{facts}</table><table>{table}</table>"

    def _table(self) -> list[list[str]]:
        """Return a heading and a line for every coefficient, as text."""
        bounded = any(row.lower is not None for row in self.rows)
        keys = ("estimate", "lower", "upper") if bounded else ("estimate",)
        lines = [
            [row.name, *(_text(getattr(row, key)) for key in keys)] for row in self.rows
        ]
        return [["coefficient", *keys], *lines]


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def _lines(table: Iterable[Iterable[str]], first: str, align: str) -> str:
    """Return the rows of an HTML table; nothing in them is taken for markup."""
    lines = []
    for name, *cells in table:
        parts = "".join(f"<td align='{align}'>{escape(c.strip())}</td>" for c in cells)
        lines.append(f"<tr><{first} align='left'>{escape(name)}</{first}>{parts}</tr>")
    return "".join(lines)
