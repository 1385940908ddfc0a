"""Pages for the ledger: spending, remaining budgets, limits, backups, verification."""

from datetime import UTC, datetime
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import confide
from confide.errors import ConfideError
from confide.web.forms import read_epsilon, read_form
from confide.web.pages import page
from confide.web.table_pages import SEE_OTHER, UNPROCESSABLE
from confide.web.workspace import IDENTIFIER, Workspace

MOST_ENTRIES = 500
"""Largest number of ledger entries that a page shows."""


def ledger(request: Request) -> Response:
    """Show the accounts and entries of the ledger."""
    return _ledger(request)


def _ledger(request: Request, told: str = "", error: str = "") -> Response:
    workspace: Workspace = request.app.state.workspace
    book = request.app.state.orders.book()
    entries = book.entries()
    content: dict[str, Any] = {
        "place": confide.ledger.redacted(workspace.ledger),
        "accounts": [book.account(name) for name in book.datasets()],
        "entries": entries[::-1][:MOST_ENTRIES],
        "count": len(entries),
        "anchor": book.anchor() if entries else "",
        "told": told,
        "error": error,
    }
    return page(request, "ledger.jinja", content, UNPROCESSABLE if error else 200)


async def change(request: Request) -> Response:
    """Set a limit, verify the ledger, or make a backup of it."""
    fields = await read_form(request)
    return await run_in_threadpool(_change, request, fields)


def _change(request: Request, fields: dict[str, str]) -> Response:
    workspace: Workspace = request.app.state.workspace
    book = request.app.state.orders.book()
    try:
        match request.path_params["action"]:
            case "limit":
                return _limit(request, book, fields)
            case "verify":
                count = book.verify()
                what = "entry" if count == 1 else "entries"
                told = f"{count} {what} verified: the ledger is intact."
            case "backup":
                told = _backup(workspace, book)
            case _:
                raise HTTPException(404)
    except ConfideError as error:
        return _ledger(request, error=str(error))
    return _ledger(request, told)


def _limit(request: Request, book: confide.Ledger, fields: dict[str, str]) -> Response:
    """Set a limit; redirect to the page of the form, which is the plan or the ledger."""
    book.set_limit(fields.get("dataset", ""), read_epsilon(fields))
    project, place = fields.get("project", ""), "/ledger"
    if IDENTIFIER.fullmatch(project):
        place = f"/projects/{project}/plan?{request.url.query}"
    return RedirectResponse(f"{request.app.state.base}{place}", SEE_OTHER)


def _backup(workspace: Workspace, book: confide.Ledger) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    copy = workspace.home / f"ledger-copy-{stamp}.db"
    anchor = book.backup(copy)
    return f"Copied to {copy}, anchor {anchor}. Never charge a copy."
