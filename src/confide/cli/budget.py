"""`confide budget`: the spending and the limits in a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import confide
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    Rho,
    console,
    limit_command,
    open_ledger,
    print_anchor,
    print_json,
    print_table,
    read_budget,
)
from confide.errors import InvalidParameter, did_you_mean

UNRECORDED = "not recorded"


def budget(
    ledger: Annotated[str, typer.Argument(help="Ledger: a file or a database.")],
    dataset: Annotated[
        str,
        typer.Option(
            help="Name of the dataset in its schema: show only this dataset, or set its "
            "limit."
        ),
    ] = "",
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="Neighbour relation of the limit: add-remove or replace-one (default: "
            "that of the first charge). Earlier charges are recounted under it."
        ),
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option(
            help="Neighbour relation to assume for earlier charges that recorded none."
        ),
    ] = None,
    entries: Annotated[bool, typer.Option(help="Show every entry.")] = False,
    verify: Annotated[
        bool, typer.Option(help="Verify the hash chain of the entries.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            help="Anchor printed earlier, or a model file that contains one: check that no "
            "entry has been lost since, and show later entries."
        ),
    ] = None,
    backup: Annotated[
        Path | None,
        typer.Option(help="Write a complete, verified copy of the ledger to a new file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the budget spent on each dataset, or set the limit of a dataset.

    Example: [bold]confide budget budget.db --dataset adult --epsilon 3 --delta 1e-5[/bold]
    """
    book = _opened(
        ledger, dataset, (epsilon, delta, rho), neighbours, earlier, quiet=as_json
    )
    checked = book.verify() if verify else None
    later = None if since is None else book.since(_anchor(since))
    copied = None if backup is None else book.backup(backup)
    names = (dataset,) if dataset else book.datasets()
    accounts = [book.account(name) for name in names]
    listed = book.entries(dataset or None) if entries else later or ()
    if as_json:
        print_json(
            {
                "accounts": [_account_record(account) for account in accounts],
                "entries": [_entry_record(entry) for entry in listed],
                "verified": checked,
                "anchor": book.anchor(),
                "since": None if later is None else len(later),
                "backup": None if backup is None else str(backup),
            }
        )
        return
    if not accounts:
        console.print(
            f"No dataset has a limit yet. Set one: {limit_command(ledger, 'people')}",
            markup=False,
            soft_wrap=True,
        )
    else:
        print_table(
            ("dataset", "limit", "neighbours", "spent", "left", "charges"),
            [
                (
                    a.dataset,
                    str(a.limit),
                    _relation(a),
                    _amount(a.spent),
                    _amount(a.left),
                    str(a.charges),
                )
                for a in accounts
            ],
        )
    if listed:
        console.print()
        print_table(
            ("entry", "when", "who", "what", "budget", "neighbours", "status when charged"),
            [
                (
                    f"{e.number} {e.kind} {e.dataset}",
                    e.at[:16].replace("T", " "),
                    e.who,
                    e.what or (f"charge {e.charge}" if e.charge else ""),
                    _amount(e.budget),
                    _relation_of_entry(e),
                    _status(e),
                )
                for e in listed
            ],
        )
    if checked is not None:
        console.print(f"\n{checked} entries verified.")
    if later is not None:
        console.print(f"\nNo entry has been lost since then; later entries: {len(later)}.")
    if copied is not None:
        console.print(f"\nCopied to {backup}. Do not charge the copy.", markup=False)
    console.print()
    print_anchor(book.anchor())


def _opened(
    ledger: str,
    dataset: str,
    limit_parts: tuple[str | None, str | None, str | None],
    neighbours: str | None,
    earlier: str | None,
    *,
    quiet: bool,
) -> confide.Ledger:
    """Open the ledger, and set the limit of a dataset if one is given."""
    numbers = any(part is not None for part in limit_parts)
    setting = numbers or neighbours is not None or earlier is not None
    if setting and not dataset:
        raise InvalidParameter(
            "--dataset",
            "given when a limit or its neighbour relation is set",
            dataset,
            "Use the name on the first line of the schema.",
        )
    new = read_budget(*limit_parts) if numbers else None
    book = confide.Ledger.open(ledger) if numbers else open_ledger(ledger)
    if new is None and dataset and dataset not in book.datasets():
        raise _unknown(ledger, dataset, book.datasets())
    if setting:
        others = book.datasets()
        before = book.account(dataset).limit if dataset in others else None
        limit = book.account(dataset).limit if new is None else new
        book.set_limit(dataset, limit, neighbours=neighbours, earlier=earlier)
        if not quiet:
            _mention(dataset, limit, before, others)
    return book


def _anchor(text: str) -> str:
    """Return the anchor, which is given as text or by the model file that contains it."""
    if not Path(text).exists():
        return text
    anchor = getattr(confide.load_model(text), "anchor_", None)
    if anchor is None:
        must = "an anchor, or the file of a model that was charged to a ledger"
        raise InvalidParameter("--since", must, text)
    return str(anchor)


def _mention(
    dataset: str,
    limit: confide.privacy.Budget,
    before: confide.privacy.Budget | None,
    others: tuple[str, ...],
) -> None:
    """Print the previous limit or, for a new dataset, the name of a similar one."""
    hint = did_you_mean(dataset, others)
    if before is None and hint:
        console.print(f"{dataset} is new in this ledger. {hint}", markup=False)
    elif before is not None and before != limit:
        console.print(f"The previous limit of {dataset} was {before}.", markup=False)


def _unknown(ledger: str, dataset: str, known: tuple[str, ...]) -> InvalidParameter:
    hint = did_you_mean(dataset, known)
    return InvalidParameter(
        "--dataset",
        f"a dataset in this ledger ({', '.join(known) or 'which has none yet'})",
        dataset,
        hint or f"To give it a limit: {limit_command(ledger, dataset)}.",
    )


def _amount(budget: Any) -> str:
    return "" if budget is None else str(budget)


def _relation(account: confide.ledger.Account) -> str:
    if account.neighbours is not None:
        return str(account.neighbours)
    return UNRECORDED if account.charges else "set by the first charge"


def _relation_of_entry(entry: confide.ledger.Entry) -> str:
    if entry.earlier is not None:
        return f"{entry.neighbours} (earlier ones: {entry.earlier})"
    if entry.neighbours is not None:
        return str(entry.neighbours)
    return UNRECORDED if entry.kind == "charge" else ""


def _status(entry: confide.ledger.Entry) -> str:
    """Return the proof status of a guarantee at the time of its charge."""
    return "" if entry.status is None else str(entry.status)


def _name(neighbours: confide.Neighbours | None) -> str | None:
    return None if neighbours is None else str(neighbours)


def _account_record(account: confide.ledger.Account) -> dict[str, Any]:
    return {
        "dataset": account.dataset,
        "limit": str(account.limit),
        "neighbours": _name(account.neighbours),
        "spent": _amount(account.spent),
        "left": _amount(account.left),
        "charges": account.charges,
    }


def _entry_record(entry: confide.ledger.Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "kind": entry.kind,
        "dataset": entry.dataset,
        "at": entry.at,
        "who": entry.who,
        "what": entry.what,
        "budget": _amount(entry.budget),
        "neighbours": _name(entry.neighbours),
        "earlier": _name(entry.earlier),
        "counted": _amount(entry.counted),
        "status_then": _status(entry) or None,
        "release": entry.release_hash,
        "digest": entry.digest,
    }
