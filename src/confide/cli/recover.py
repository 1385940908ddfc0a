"""`confide recover`: restore a lost release from the ledger that it was charged to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import confide
from confide._files import ReservedFile
from confide.cli.output import AsJson, console, open_ledger, print_json, print_table
from confide.cli.screen import visible
from confide.errors import Described, InvalidParameter

RANGES_FORMAT = "confide-ranges"


def recover(
    ledger: Annotated[str, typer.Argument(help="Ledger: a file or a database.")],
    charge: Annotated[
        int | None, typer.Option(help="Number of the charge (default: list releases).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: print).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Restore a model or ranges whose file was lost after the charge.

    A ledger stores every release and its hash, so no new noise is drawn and nothing is
    spent.

    Example: [bold]confide recover budget.db --charge 12 --out model.json[/bold]
    """
    book = open_ledger(ledger)
    if charge is None:
        _list(book, as_json=as_json)
        return
    content = _file_of(book.content(charge))
    if out is None:
        text = visible(content.decode()) if console.is_terminal else content
        typer.echo(text, nl=False)
        return
    ReservedFile(out, name="--out").write(content)
    if as_json:
        print_json({"charge": charge, "out": str(out)})
    else:
        console.print(f"Written to {out}.", markup=False, soft_wrap=True)


def _file_of(content: str) -> bytes:
    """Return a stored release as the content of a model file or a schema file."""
    try:
        record: Any = json.loads(content)
        if record["format"] == RANGES_FORMAT:
            return str(record["schema"]).encode()
    except (ValueError, TypeError, KeyError, RecursionError):
        must = "a charge whose release is a model or ranges"
        raise InvalidParameter(
            "--charge", must, Described("one whose release is neither")
        ) from None
    return confide.estimators.file_content(record)


def _list(book: confide.Ledger, *, as_json: bool) -> None:
    kept = set(book.kept())
    found = [entry for entry in book.entries() if entry.number in kept]
    if as_json:
        print_json(
            [{"charge": e.number, "dataset": e.dataset, "what": e.what} for e in found]
        )
        return
    if not found:
        console.print("This ledger stores no releases.")
        return
    print_table(
        ("charge", "dataset", "when", "what"),
        [(str(e.number), e.dataset, e.at[:16].replace("T", " "), e.what) for e in found],
    )
