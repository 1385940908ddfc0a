"""The server of ``confide open``, for one person, one machine and one folder."""

import os
import socket
import threading
import traceback
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from confide._files import ReservedFile
from confide.errors import ConfideError, Described, InvalidParameter
from confide.web import ledger_pages, plan_pages, result_pages, table_pages
from confide.web.access import HOST, Admission, Gate
from confide.web.orders import OrderBook
from confide.web.pages import page
from confide.web.workspace import Workspace

MOST_CONNECTIONS = 64
PATIENCE = 2.0
"""Seconds without an error after which the browser is assumed to have opened."""
STATIC = {
    "page.css": "text/css",
    "icon.svg": "image/svg+xml",
    "htmx.min.js": "text/javascript",
    "wait.js": "text/javascript",
}


def static(request: Request) -> Response:
    """Return a static file: the style sheet, the icon or a script."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    own = files("confide.web").joinpath("static", name).read_text("utf-8")
    if name == "page.css":
        shared = files("confide.reporting").joinpath("templates", "report.css")
        own = f"{shared.read_text('utf-8')}\n{own}"
    return Response(own, media_type=STATIC[name])


GET, POST = ["GET"], ["POST"]
ROUTES = [
    Route("/", table_pages.home, methods=GET),
    Route("/static/{name}", static, methods=GET),
    Route("/tables", table_pages.choose, methods=POST),
    Route("/projects/{project}/schema", table_pages.schema, methods=GET),
    Route("/projects/{project}/schema", table_pages.declare, methods=POST),
    Route("/projects/{project}/declared", table_pages.declared, methods=GET),
    Route("/projects/{project}/check", table_pages.check, methods=POST),
    Route("/projects/{project}/plan", plan_pages.plan, methods=GET),
    Route("/projects/{project}/width", plan_pages.width, methods=GET),
    Route("/projects/{project}/orders", plan_pages.draft, methods=POST),
    Route("/orders/{order}", plan_pages.show, methods=GET),
    Route("/orders/{order}/pay", plan_pages.pay, methods=POST),
    Route("/orders/{order}/progress", plan_pages.progress, methods=GET),
    Route("/orders/{order}/report", result_pages.report, methods=GET),
    Route("/orders/{order}/predict", result_pages.predict, methods=POST),
    Route("/orders/{order}/files/{name}", result_pages.download, methods=GET),
    Route(
        "/orders/{order}/predictions/{name}",
        result_pages.download_predictions,
        methods=GET,
    ),
    Route("/ledger", ledger_pages.ledger, methods=GET),
    Route("/ledger/{action}", ledger_pages.change, methods=POST),
]


def application(workspace: Workspace, entry: Admission) -> ASGIApp:
    """Return the application with all pages, behind access control."""
    app = Starlette(
        routes=ROUTES,
        exception_handlers={
            ConfideError: _refused,
            HTTPException: _missing,
            Exception: _defect,
        },
    )
    app.state.workspace = workspace
    app.state.orders = OrderBook(workspace)
    app.state.base = entry.path
    return Gate(app, entry)


def _refused(request: Request, error: Exception) -> Response:
    return page(request, "error.jinja", {"text": str(error), "title": "Refused"}, 422)


def _missing(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    text = "There is no such page. Go back, or go to the first page."
    return page(request, "error.jinja", {"text": text, "title": "Page not found"}, status)


def _defect(request: Request, error: Exception) -> Response:
    """Show the type of an unexpected error and its line of code.

    The message of the error is left out, because it may quote data.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
    text = f"This is a bug in confide, please report it: {place}."
    return page(request, "error.jinja", {"text": text, "title": "Unexpected error"}, 500)


def bind(port: int) -> socket.socket:
    """Bind a port of this machine; 0 chooses a free one."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind((HOST, port))
        own.listen(MOST_CONNECTIONS)
    except (OSError, OverflowError) as error:
        own.close()
        reason = getattr(error, "strerror", None) or "no port"
        raise InvalidParameter(
            "--port",
            "a port that is free",
            Described(f"{port} ({reason})"),
            "Without --port a free port is chosen.",
        ) from None
    return own


def serve(
    folder: Path,
    *,
    port: int = 0,
    ledger: str | None = None,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the pages of ``confide open`` for a folder until the process ends.

    Parameters
    ----------
    folder : Path
        Folder with tables. Files are written to a folder inside it.
    port : int, default 0
        A port of 127.0.0.1; 0 uses any free one.
    ledger : str or None, default None
        The ledger to charge; by default one in the folder.
    browser : bool, default True
        Whether to open a browser.
    say : callable, default print
        Function that is called with messages for the user.

    Raises
    ------
    ConfideError
        If another server is using the folder.
    InvalidParameter
        If the folder cannot be written to, or the port is taken.

    Examples
    --------
    >>> from pathlib import Path
    >>> from confide.web import serve
    >>> serve(Path("studies"), browser=False)  # doctest: +SKIP
    """
    workspace = Workspace.at(folder, ledger)
    lock = workspace.lock()
    with bind(port) as own:
        entry = Admission(own.getsockname()[1])
        config = uvicorn.Config(
            application(workspace, entry),
            log_config=None,
            backlog=MOST_CONNECTIONS,
            access_log=False,
            # its log of an unexpected error may quote a record
            log_level="critical",
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=3,
        )
        start = workspace.home / "start.html"
        say(f"confide is open for {workspace.folder}.")
        try:
            if browser and not _open(start, entry):
                say("No browser could be opened.")
            say(
                f"Open this address in a browser on this machine; it works once:\n"
                f"{entry.first_address}\nPress Ctrl-C to stop confide."
            )
            uvicorn.Server(config).run(sockets=[own])
        except KeyboardInterrupt:
            say(
                "Closed. A fit that is under way continues; you will find it when you "
                "return."
            )
        finally:
            start.unlink(missing_ok=True)
            os.close(lock)


def _open(start: Path, entry: Admission) -> bool:
    """Open the first address through a file that other accounts cannot read.

    The address itself must not be an argument of the browser command, because all accounts
    can see arguments. The browser is opened in a thread, because the call may block until
    the browser is closed, and the browser needs the server.
    """
    text = (
        '<!DOCTYPE html><meta charset="utf-8"><title>confide</title>'
        f'<meta http-equiv="refresh" content="0; url={entry.first_address}">'
    )
    start.unlink(missing_ok=True)
    ReservedFile(start, name="first page").write(text.encode())
    failed = threading.Event()

    def call() -> None:
        with suppress(webbrowser.Error, OSError):
            if webbrowser.open(start.as_uri()):
                return
        failed.set()

    opener = threading.Thread(target=call, daemon=True)
    opener.start()
    opener.join(PATIENCE)
    return not failed.is_set()
