"""`confide budget`."""

from typing import Annotated, Any

import typer

from confide.accounting import Account, Entry, Ledger
from confide.cli.console import (
    AsJson,
    Delta,
    Epsilon,
    Rho,
    console,
    limit_command,
    open_existing,
    print_json,
    print_table,
    read_budget,
)
from confide.errors import InvalidParameter, did_you_mean
from confide.privacy import Budget


def budget(
    ledger: Annotated[str, typer.Argument(help="Budget book: a file or a database.")],
    dataset: Annotated[
        str, typer.Option(help="The name in its schema: show it alone, or set its limit.")
    ] = "",
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    entries: Annotated[bool, typer.Option(help="Show every entry.")] = False,
    verify: Annotated[bool, typer.Option(help="Check the chain of entries.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what has been spent, by whom and on what; or set the limit of a dataset.

    Example: [bold]confide budget budget.db --dataset adult --epsilon 3 --delta 1e-5[/bold]
    """
    setting = any(part is not None for part in (epsilon, delta, rho))
    if setting and not dataset:
        raise InvalidParameter(
            "--dataset",
            "named when a limit is set",
            dataset,
            "It is the name at the beginning of the schema.",
        )
    book = Ledger.open(ledger) if setting else open_existing(ledger)
    if setting:
        _set_limit(book, dataset, read_budget(epsilon, delta, rho), quiet=as_json)
    elif dataset and dataset not in book.datasets():
        raise _unknown(ledger, dataset, book.datasets())
    checked = book.verify() if verify else None
    names = (dataset,) if dataset else book.datasets()
    accounts = [book.account(name) for name in names]
    listed = book.entries(dataset or None) if entries else ()
    if as_json:
        print_json(
            {
                "accounts": [_account_record(account) for account in accounts],
                "entries": [_entry_record(entry) for entry in listed],
                "verified": checked,
            }
        )
        return
    if not accounts:
        console.print(
            f"No dataset has a limit yet. Set one: {limit_command(ledger, 'people')}",
            soft_wrap=True,
        )
    else:
        print_table(
            ("dataset", "limit", "spent", "left", "charges"),
            [
                (a.dataset, str(a.limit), _amount(a.spent), _amount(a.left), str(a.charges))
                for a in accounts
            ],
        )
    if listed:
        console.print()
        print_table(
            ("entry", "when", "who", "what", "budget"),
            [
                (
                    f"{e.number} {e.kind} {e.dataset}",
                    e.at[:16].replace("T", " "),
                    e.who,
                    e.what or (f"charge {e.charge}" if e.charge else ""),
                    _amount(e.budget),
                )
                for e in listed
            ],
        )
    if checked is not None:
        console.print(f"\n{checked} entries verified.")


def _set_limit(book: Ledger, dataset: str, limit: Budget, *, quiet: bool) -> None:
    """Set a limit, and mention what it replaces or may have been meant instead."""
    others = book.datasets()
    before = book.account(dataset).limit if dataset in others else None
    book.set_limit(dataset, limit)
    if quiet:
        return
    if before is not None:
        console.print(f"The limit of {dataset} was {before} before.", markup=False)
    elif did_you_mean(dataset, others):
        hint = did_you_mean(dataset, others)
        console.print(f"{dataset} is new in this ledger. {hint}", markup=False)


def _unknown(ledger: str, dataset: str, known: tuple[str, ...]) -> InvalidParameter:
    hint = did_you_mean(dataset, known)
    return InvalidParameter(
        "--dataset",
        f"a dataset of this ledger ({', '.join(known) or 'there is none yet'})",
        dataset,
        hint or f"To give it a limit: {limit_command(ledger, dataset)}.",
    )


def _amount(budget: Any) -> str:
    return "" if budget is None else str(budget)


def _account_record(account: Account) -> dict[str, Any]:
    return {
        "dataset": account.dataset,
        "limit": str(account.limit),
        "spent": _amount(account.spent),
        "left": _amount(account.left),
        "charges": account.charges,
    }


def _entry_record(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "kind": entry.kind,
        "dataset": entry.dataset,
        "at": entry.at,
        "who": entry.who,
        "what": entry.what,
        "budget": _amount(entry.budget),
        "release": entry.release_hash,
        "digest": entry.digest,
    }
