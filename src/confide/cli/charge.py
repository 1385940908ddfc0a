"""Announcement of a charge before it is made, and the choice of its neighbour relation."""

from __future__ import annotations

from rich.text import Text

import confide
from confide.cli.output import err_console
from confide.errors import ConfideError


def relation_for(
    book: confide.Ledger | None, dataset: str, asked: str | None
) -> str | None:
    """Return the requested neighbour relation; by default, that of the dataset's account.

    A charge under any other relation would be counted twice, or refused.
    """
    if asked is not None or book is None:
        return asked
    kept = book.account(dataset).neighbours
    return None if kept is None else kept.value


def announce_charge(
    book: confide.Ledger | None,
    dataset: str,
    budget: confide.privacy.Budget,
    neighbours: str | None,
) -> None:
    """Print on standard error what will be charged, and what will be left of the budget."""
    if book is None:
        return
    relation = "add-remove" if neighbours is None else neighbours
    try:
        left = book.forecast(dataset, budget, neighbours=relation)
    except ConfideError:
        # the charge itself will raise this error
        return
    text = f"About to charge {budget} to {dataset}, {relation} neighbours; {left} will be "
    err_console.print(Text(text + "left.", style="dim"), soft_wrap=True)
