"""Pages from templates, in which the text of users is always escaped."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from confide._version import __version__
from confide.reporting.coefficients import Coefficient, TableColumn
from confide.reporting.format import one_line, short
from confide.reporting.markup import Cell, aligned_rows


def page(
    request: Request, template: str, content: dict[str, Any], status: int = 200
) -> HTMLResponse:
    """Render a template as an HTML response."""
    common = {"base": request.app.state.base, "version": __version__}
    text = _environment().get_template(template).render({**common, **content})
    return HTMLResponse(text, status_code=status)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("confide.web"), PackageLoader("confide.reporting")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else one_line(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["aligned_rows"] = plain_rows
    environment.filters["in_lines"] = in_lines
    environment.filters["exact"] = lambda text: escape(str(text))
    environment.filters["short"] = short
    return environment


def plain_rows(
    rows: Sequence[Coefficient], columns: Sequence[TableColumn], digits: int
) -> list[tuple[Coefficient, list[Cell]]]:
    """Return table cells without widths, because our pages forbid inline styles."""
    return [
        (row, [replace(one, front=one.front + one.tail, width=0) for one in cells])
        for row, cells in aligned_rows(rows, columns, digits)
    ]


def in_lines(text: str) -> Markup:
    """Escape a text of several lines, but keep its line breaks and indentation."""
    lines = text.split("\n")
    blanks = [" " * (len(line) - len(line.lstrip(" "))) for line in lines]
    pairs = zip(blanks, lines, strict=True)
    return Markup("\n").join(blank + escape(one_line(line)) for blank, line in pairs)
