"""Pages of a charged fit: progress, result, predictions and files to download."""

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

import confide
from confide.errors import ConfideError, InvalidParameter
from confide.web.forms import read_form
from confide.web.orders import Order, OrderBook, Standing, State, command_text
from confide.web.pages import page
from confide.web.predictions import predicted, row_fields
from confide.web.results import (
    coefficient_csv,
    prediction_file,
    predictions,
    report_page,
    result_of,
    score_command,
    score_file,
    script_text,
    shell_text,
)
from confide.web.schema_form import read_header

REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""Content policy of the report, which has inline styles and no scripts."""
KINDS = {
    "model.json": "application/json",
    "report.html": "text/html; charset=utf-8",
    "score.json": "application/json",
    "coefficients.csv": "text/csv; charset=utf-8",
    "command.sh": "text/plain; charset=utf-8",
    "script.py": "text/plain; charset=utf-8",
}


def order_of(request: Request) -> Order:
    """Return the order that the address of a request names."""
    orders: OrderBook = request.app.state.orders
    return orders.order(request.path_params["order"])


def show_outcome(
    request: Request,
    order: Order,
    standing: Standing,
    told: Mapping[str, Any] | None = None,
) -> Response:
    """Show the progress or the outcome of a confirmed order."""
    content: dict[str, Any] = {"order": order, "standing": standing}
    if standing.state is not State.RELEASED:
        template = "failed.jinja" if standing.over else "progress.jinja"
        return page(request, template, content)
    said = {"guesses": (), "values": {}, "error": "", "written": ""} | dict(told or {})
    found = result_of(request.app.state.orders, order)
    content |= {
        "result": found,
        "schema": found.model.schema_,
        "fields": row_fields(found.model.schema_),
        "files": [name for name in KINDS if name != "score.json" or found.score],
        "score_command": score_command(order),
        "command": command_text(order),
        "script": script_text(order),
        **said,
    }
    return page(request, "result.jinja", content)


def download(request: Request) -> Response:
    """Return one of the files of a release."""
    order, orders = order_of(request), request.app.state.orders
    name = request.path_params["name"]
    if name not in KINDS:
        raise InvalidParameter("file", f"one of {list(KINDS)}", name)
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(_content(orders, order, name), media_type=KINDS[name], headers=headers)


def _content(orders: OrderBook, order: Order, name: str) -> bytes | str:
    if name == "model.json":
        return orders.released(order).read_bytes()
    if name == "report.html":
        return report_page(orders, order)
    if name == "score.json":
        return score_file(order).read_bytes()
    if name == "coefficients.csv":
        return coefficient_csv(result_of(orders, order).summary)
    return shell_text(order) if name == "command.sh" else script_text(order)


def download_predictions(request: Request) -> Response:
    """Return a finished file of predictions."""
    name = request.path_params["name"]
    content = prediction_file(order_of(request), name).read_bytes()
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    kind = KINDS["coefficients.csv"]
    return Response(content, media_type=kind, headers=headers)


def report(request: Request) -> Response:
    """Show the report."""
    content = report_page(request.app.state.orders, order_of(request))
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(content, media_type=KINDS["report.html"], headers=headers)


async def predict(request: Request) -> Response:
    """Predict for a row entered in a form, or for a whole table; no budget is spent."""
    fields = await read_form(request)
    return await run_in_threadpool(_predict, request, fields)


def _predict(request: Request, fields: dict[str, str]) -> Response:
    order, orders = order_of(request), request.app.state.orders
    told: dict[str, Any] = {"values": fields}
    try:
        if "path" in fields:
            table = request.app.state.workspace.file(fields["path"])
            read_header(table)
            told["written"] = predictions(orders, order, table)
        else:
            model = confide.load_model(orders.released(order))
            told["guesses"] = tuple(predicted(model, model.schema_, fields))
    except ConfideError as error:
        told["error"] = str(error)
    return show_outcome(request, order, orders.standing(order), told)
