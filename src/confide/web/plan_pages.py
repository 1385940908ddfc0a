"""Pages for a fit: its plan, its confirmation, its progress and its result."""

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import confide
from confide.errors import ConfideError, Described, InvalidParameter
from confide.estimators.catalogue import model_names
from confide.planning import SUPPOSED
from confide.web.fits import USUAL, FitSettings
from confide.web.forms import read_form
from confide.web.orders import Order, OrderBook, Standing, State, open_book
from confide.web.pages import page
from confide.web.plans import (
    PlanView,
    answer,
    forecast,
    headline,
    neighbours_of,
    plan_of,
    promised,
    read_width,
    schema_of,
    view,
)
from confide.web.result_pages import order_of, show_outcome
from confide.web.table_pages import SEE_OTHER, UNPROCESSABLE, project_of
from confide.web.workspace import Project

CONFLICT = 409


def plan(request: Request) -> Response:
    """Show the expected accuracy for a budget; nothing is read from the table."""
    project = project_of(request)
    if project.schema is None:
        place = f"{request.app.state.base}/projects/{project.identifier}/schema"
        return RedirectResponse(place, SEE_OTHER)
    return _plan(request, project, dict(request.query_params))


def _plan(
    request: Request, project: Project, asked: Mapping[str, str], error: str = ""
) -> Response:
    text = project.schema_text
    public = schema_of(text)
    book = request.app.state.orders.book()
    answers = {**USUAL, "rows": str(public.rows or "")}
    found: PlanView | None = None
    settings, paid, desired = None, None, None
    if asked:
        answers |= {"intervals": "", "holdout": "", **asked}
        try:
            settings = FitSettings.of_form(asked, public)
            planned = plan_of(settings, text, neighbours_of(book, public.name))
            desired = read_width(planned, asked)
            found = view(planned, settings)
            paid = forecast(book, public.name, settings)
        except ConfideError as refusal:
            error = error or str(refusal)
    content = {
        "project": project,
        "table": project.table,
        "schema": public,
        "answers": answers,
        "models": model_names(labelled=public.target.labels is not None),
        "columns": [column.name for column in public.predictors],
        "plan": found,
        "desired": desired,
        "supposed": SUPPOSED,
        "settings": settings,
        "forecast": paid,
        "query": request.url.query,
        "error": error,
    }
    return page(request, "plan.jinja", content, UNPROCESSABLE if error else 200)


def width(request: Request) -> Response:
    """Show the number of rows or the budget that an interval of a desired width needs."""
    project, asked = project_of(request), request.query_params
    told = error = ""
    try:
        text = project.schema_text
        public, book = schema_of(text), request.app.state.orders.book()
        settings = FitSettings.of_form(asked, public)
        planned = plan_of(settings, text, neighbours_of(book, public.name))
        desired = read_width(planned, asked)
        if desired is None:
            raise InvalidParameter(
                "desired width", "given together with a column", Described("nothing")
            )
        told = answer(planned, settings, desired)
    except ConfideError as refusal:
        error = str(refusal)
    content = {"project": project, "told": told, "error": error}
    return page(request, "width.jinja", {**content, "query": request.url.query})


async def draft(request: Request) -> Response:
    """Store the requested fit as an order, and redirect to its confirmation page."""
    fields = await read_form(request)
    return await run_in_threadpool(_draft, request, fields)


def _draft(request: Request, fields: dict[str, str]) -> Response:
    project, orders = project_of(request), request.app.state.orders
    try:
        public = schema_of(project.schema_text)
        settings = FitSettings.of_form(fields, public)
        order = orders.draft(
            project.table, project.schema_file, settings, project.identifier
        )
    except ConfideError as error:
        return _plan(request, project, fields, str(error))
    return _to_order(request, order)


def _to_order(request: Request, order: Order) -> Response:
    place = f"{request.app.state.base}/orders/{order.identifier}"
    return RedirectResponse(place, SEE_OTHER)


def show(request: Request) -> Response:
    """Show an order by its state: to be confirmed, under way, released or failed."""
    order, orders = order_of(request), request.app.state.orders
    standing = orders.standing(order)
    if standing.state is State.DRAFT:
        return _confirmation(request, order)
    return show_outcome(request, order, standing)


def _confirmation(
    request: Request, order: Order, error: str = "", status: int = 200
) -> Response:
    orders: OrderBook = request.app.state.orders
    text = order.schema_file.read_text("utf-8")
    book = open_book(order.ledger)
    planned = plan_of(order.settings, text, neighbours_of(book, order.dataset))
    guarantee = promised(planned, order.settings)
    same = [one for one in orders.like(order) if one.confirmed]
    content = {
        "order": order,
        "settings": order.settings,
        "schema": schema_of(text),
        "guarantee": confide.reporting.text.describe(guarantee),
        "headline": headline(guarantee),
        "forecast": forecast(book, order.dataset, order.settings),
        "same": same,
        "error": error,
    }
    return page(request, "confirm.jinja", content, status)


async def pay(request: Request) -> Response:
    """Start the fit of an order, once; later requests lead to the same page."""
    fields = await read_form(request)
    return await run_in_threadpool(_pay, request, fields)


def _pay(request: Request, fields: dict[str, str]) -> Response:
    order, orders = order_of(request), request.app.state.orders
    if order.confirmed:
        return _to_order(request, order)
    book = open_book(order.ledger)
    seen = forecast(book, order.dataset, order.settings)
    if not seen.known or seen.refusal:
        return _confirmation(request, order, status=CONFLICT)
    if fields.get("anchor") != seen.anchor:
        moved = (
            "The ledger has changed since this page was shown: check its figures again. "
            "Nothing was charged."
        )
        return _confirmation(request, order, moved, CONFLICT)
    again = any(one.confirmed for one in orders.like(order))
    if again and fields.get("again") != "yes":
        asked = "Tick the box to pay for the same fit again."
        return _confirmation(request, order, asked, CONFLICT)
    orders.start(order)
    return _to_order(request, order)


def progress(request: Request) -> Response:
    """Return the state of an order, or an empty response if the page already shows it."""
    order, orders = order_of(request), request.app.state.orders
    standing: Standing = orders.standing(order)
    if standing.over:
        return Response(status_code=200, headers={"hx-refresh": "true"})
    if request.query_params.get("seen") == standing.state:
        return Response(status_code=204)
    content: dict[str, Any] = {"order": order, "standing": standing}
    return page(request, "progress_line.jinja", content)
