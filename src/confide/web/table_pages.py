"""Pages for a table: choice of the file, schema, and the check by the data holder."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import confide
from confide.data import COLUMNS
from confide.errors import ConfideError, InvalidData
from confide.web.forms import read_form
from confide.web.orders import Order, OrderBook, Standing
from confide.web.pages import page
from confide.web.schema_faults import form_faults
from confide.web.schema_form import (
    MOST_COLUMNS,
    first_answers,
    form_of,
    moved,
    read_header,
    schema_from,
    schema_text,
    wanted_columns,
)
from confide.web.workspace import Project, Workspace, dataset_of

NO_FAULTS: Final[Mapping[str, str]] = MappingProxyType({})
SEE_OTHER = 303
UNPROCESSABLE = 422
SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".gz", ".parquet", ".pq")
MOST_LISTED = 100
MISSING_RULES = {
    "refuse": "missing values make a fit reject the table",
    "drop": "rows without a value are left out of the fit",
    "midpoint": "missing values are replaced by the middle of the range",
    "category": "missing values are treated as belonging to none of the levels",
}
"""How a fit treats missing values."""


def home(request: Request) -> Response:
    """Show previous tables and orders, and files to choose from."""
    return _home(request)


def _home(request: Request, error: str = "", path: str = "") -> Response:
    workspace: Workspace = request.app.state.workspace
    orders: OrderBook = request.app.state.orders
    shown = [(order, _standing(orders, order)) for order in orders.all()[:MOST_LISTED]]
    content = {
        "projects": workspace.projects()[:MOST_LISTED],
        "orders": shown,
        "files": _files(workspace.folder),
        "folder": workspace.folder,
        "error": error,
        "path": path,
    }
    return page(request, "home.jinja", content, UNPROCESSABLE if error else 200)


def _standing(orders: OrderBook, order: Order) -> Standing | None:
    """Return the state of an order; None if its ledger is missing."""
    try:
        return orders.standing(order)
    except ConfideError:
        return None


def _files(folder: Path) -> list[Path]:
    found = (p for p in sorted(folder.iterdir()) if p.suffix.lower() in SUFFIXES)
    return [path for path in found if path.is_file()][:MOST_LISTED]


async def choose(request: Request) -> Response:
    """Accept the path of a table, and redirect to its schema form."""
    fields = await read_form(request)
    return await run_in_threadpool(_choose, request, fields.get("path", ""))


def _choose(request: Request, text: str) -> Response:
    workspace: Workspace = request.app.state.workspace
    try:
        path = workspace.file(text)
        if len(read_header(path)) == 1:
            raise InvalidData(
                f"{path} must have at least two columns, one of them to predict; its first "
                "line names only one. Separate names by commas, semicolons or tabs."
            )
    except ConfideError as error:
        return _home(request, str(error), text)
    project = workspace.choose(path)
    return _to(request, f"/projects/{project.identifier}/schema")


def _to(request: Request, place: str) -> Response:
    return RedirectResponse(f"{request.app.state.base}{place}", SEE_OTHER)


def project_of(request: Request) -> Project:
    """Return the project that the address of a request names."""
    workspace: Workspace = request.app.state.workspace
    return workspace.project(request.path_params["project"])


def schema(request: Request) -> Response:
    """Show the schema form; only the header of the table is read."""
    project = project_of(request)
    answers = project.answers or first_answers(project.table)
    if "columns" in request.query_params:
        answers |= {"columns": request.query_params["columns"]}
    return _schema(request, project, answers)


def _schema(
    request: Request,
    project: Project,
    answers: dict[str, str],
    error: str = "",
    faults: Mapping[str, str] = NO_FAULTS,
) -> Response:
    held, names, wide = read_header(project.table), [], False
    try:
        names = wanted_columns(held, answers)
    except ConfideError as refusal:
        wide, error = True, error or str(refusal) * bool(answers.get("columns"))
    answers = moved(names, answers)
    content = {
        "project": project,
        "table": project.table,
        "answers": answers,
        "names": names,
        "lines": form_of(names, answers),
        "kinds": list(COLUMNS),
        "count": len(held),
        "most": MOST_COLUMNS,
        "error": error,
        "faults": faults,
    }
    template = "wide.jinja" if wide else "schema.jinja"
    return page(request, template, content, UNPROCESSABLE if error or faults else 200)


async def declare(request: Request) -> Response:
    """Check a declared schema and save it."""
    fields = await read_form(request)
    return await run_in_threadpool(_declare, request, fields)


def _declare(request: Request, fields: dict[str, str]) -> Response:
    project = project_of(request)
    try:
        names = wanted_columns(read_header(project.table), fields)
        fields = moved(names, fields)
        faults = form_faults(names, fields)
        if faults:
            return _schema(request, project, fields, faults=faults)
        found = schema_from(names, fields)
        dataset_of(found)
        project.declare(fields, schema_text(found, names, fields))
    except ConfideError as error:
        return _schema(request, project, fields, str(error))
    return _to(request, f"/projects/{project.identifier}/declared")


def declared(request: Request) -> Response:
    """Show the features that follow from a schema; no data are read."""
    project = project_of(request)
    found = project.schema
    if found is None:
        return _to(request, f"/projects/{project.identifier}/schema")
    content = {
        "project": project,
        "table": project.table,
        "schema": found,
        "shares": list(zip(found.features, found.weights.tolist(), strict=True)),
        "text": project.schema_text,
    }
    return page(request, "declared.jinja", content)


async def check(request: Request) -> Response:
    """Compare the table with its schema, for the data holder only."""
    await read_form(request)
    return await run_in_threadpool(_check, request)


def _check(request: Request) -> Response:
    project = project_of(request)
    public: Any = project.schema
    if public is None:
        return _to(request, f"/projects/{project.identifier}/schema")
    content: dict[str, Any] = {"project": project, "table": project.table, "error": ""}
    found = None
    try:
        found = confide.data.compare_table(public, project.table)
    except ConfideError as error:
        content["error"] = str(error)
    amiss = () if found is None else [one for one in found.findings if not one.fine]
    content |= {"found": found, "amiss": amiss}
    content["rules"] = {
        name: MISSING_RULES[part.missing] for name, part in public.parts.items()
    }
    return page(request, "check.jinja", content)
