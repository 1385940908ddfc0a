"""A fitted model on one page: the guarantee first, then the coefficients."""

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
    """A frozen table that holds no data and knows what may be said about it."""

    title: str
    guarantee: Guarantee
    rows: tuple[Coefficient, ...]
    facts: tuple[tuple[str, str], ...]

    def records(self) -> list[dict[str, Any]]:
        """Return the table as a list of plain dictionaries."""
        keys = ("name", "estimate", "lower", "upper")
        return [{key: getattr(row, key) for key in keys} for row in self.rows]

    def __str__(self) -> str:
        width = max([len(row.name) for row in self.rows] + [len("coefficient")])
        facts = "\n".join(f"{name:<12} {value}" for name, value in self.facts)
        bounded = any(row.lower is not None for row in self.rows)
        head = f"{'coefficient':<{width}}  {'estimate':>12}"
        head += f"  {'lower':>12}  {'upper':>12}" if bounded else ""
        lines = [self.title, str(self.guarantee), facts, "", head, "-" * len(head)]
        for row in self.rows:
            line = f"{row.name:<{width}}  {row.estimate:>12.5g}"
            if row.lower is not None and row.upper is not None:
                line += f"  {row.lower:>12.5g}  {row.upper:>12.5g}"
            lines.append(line)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = [
            ("Guarantee", f"{self.guarantee.budget}, {self.guarantee.neighbours}"),
            ("Status", f"{self.guarantee.status} ({self.guarantee.theorem})"),
            ("Assuming", "; ".join(self.guarantee.assumptions)),
            *self.facts,
        ]
        if not self.guarantee.private:
            facts.insert(0, ("NOT PRIVATE", "a seed was used"))
        top = "".join(
            f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>"
            for k, v in facts
        )
        keys = ("estimate", "lower", "upper")
        body = "".join(
            f"<tr><td>{escape(row.name)}</td>"
            + "".join(f"<td style='text-align:right'>{_cell(row, k)}</td>" for k in keys)
            + "</tr>"
            for row in self.rows
        )
        head = "".join(f"<th>{k}</th>" for k in ("coefficient", *keys))
        return (
            f"<p><b>{escape(self.title)}</b></p><table>{top}</table>"
            f"<table><tr>{head}</tr>{body}</table>"
        )


def _cell(row: Coefficient, key: str) -> str:
    value = getattr(row, key)
    return "" if value is None else f"{value:.5g}"
