"""HTML from templates, in which the text of users is always escaped."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from confide.reporting.coefficients import Coefficient, TableColumn
from confide.reporting.format import one_line, short

ROW_CHARACTERS = 66
"""Number of characters that fit into all numeric cells of a table row on a page."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of a table; a number is split so that decimal points can be aligned.

    ``front`` is the part before the decimal point, and ``tail`` is the rest. ``width`` is
    the number of characters in the longest tail of the column. ``exact`` is the number with
    all its digits; it is empty if there is no number.
    """

    front: str
    tail: str = ""
    width: int = 0
    exact: str = ""
    numeric: bool = True


def render(template: str, content: dict[str, Any]) -> str:
    """Fill in a template with the values of its variables."""
    page: str = _environment().get_template(template).render(content)
    return page


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("confide.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else one_line(value),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["aligned_rows"] = aligned_rows
    return environment


def aligned_rows(
    rows: Sequence[Coefficient], columns: Sequence[TableColumn], digits: int
) -> list[tuple[Coefficient, list[Cell]]]:
    """Return every coefficient with its table cells, aligned at the decimal point.

    A column that would then be too wide for a page is aligned to the right instead.
    """
    most = ROW_CHARACTERS // max(1, sum(column.numeric for column in columns))
    cells = [
        _cells([getattr(row, c.key) for row in rows], c, digits, most) for c in columns
    ]
    return [(row, [column[k] for column in cells]) for k, row in enumerate(rows)]


def _cells(
    values: Sequence[Any], column: TableColumn, digits: int, most: int
) -> list[Cell]:
    if not column.numeric:
        return [Cell(value or "", numeric=False) for value in values]
    texts = ["" if value is None else short(value, digits) for value in values]
    parts = [text.partition(".") for text in texts]
    width = max((len(point + tail) for _, point, tail in parts), default=0)
    if width + max((len(front) for front, _, _ in parts), default=0) > most:
        pairs = zip(values, texts, strict=True)
        return [Cell(text, exact=_exact(value)) for value, text in pairs]
    return [
        Cell(front, point + tail, width, _exact(value))
        for value, (front, point, tail) in zip(values, parts, strict=True)
    ]


def _exact(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else repr(value)
