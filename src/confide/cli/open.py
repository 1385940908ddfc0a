"""`confide open`: the pages in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import confide
from confide.cli.output import console
from confide.errors import ConfideError

PACKAGES = {"starlette", "uvicorn"}


def open_page(
    folder: Annotated[
        Path, typer.Argument(help="Folder with the tables; results are written to it.")
    ] = Path(),
    ledger: Annotated[
        str | None,
        typer.Option(
            help="Ledger to charge: a file or a database (default: book.db in the folder)."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port on this machine (0: any free port).", min=0, max=65535)
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser.")
    ] = True,
) -> None:
    """Open browser pages that lead from a table to a published model and its score.

    The steps are schema, plan, confirmation and result; another page shows the ledger. The
    pages come from this machine and can be seen in one browser only. Nothing is uploaded.

    Example: [bold]confide open studies[/bold]
    """
    try:
        serve = confide.web.serve
    except ModuleNotFoundError as absent:
        if absent.name not in PACKAGES:
            raise
        raise ConfideError(
            f"confide open needs {absent.name}, which is not installed: run pip install "
            "'confide[web]'."
        ) from None
    serve(folder, port=port, ledger=ledger, browser=browser, say=_say)


def _say(text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
