"""Pages from templates, in which nothing that a user wrote becomes markup."""

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from confide._version import __version__
from confide.reporting.format import one_line, short


def page(
    request: Request, template: str, content: dict[str, Any], status: int = 200
) -> HTMLResponse:
    """Return a page as an answer."""
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
    environment.filters["in_lines"] = in_lines
    environment.filters["exact"] = lambda text: escape(str(text))
    environment.filters["short"] = short
    return environment


def in_lines(text: str) -> Markup:
    """Return a text of several lines, each of them harmless."""
    lines = text.split("\n")
    blanks = [" " * (len(line) - len(line.lstrip(" "))) for line in lines]
    pairs = zip(blanks, lines, strict=True)
    return Markup("\n").join(blank + escape(one_line(line)) for blank, line in pairs)
