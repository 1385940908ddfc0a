"""Why a ledger refuses, and what to do about it."""

import json
import shlex

from confide.errors import did_you_mean
from confide.ledger.amounts import Amount
from confide.ledger.balance import Balance
from confide.ledger.storage.base import redacted
from confide.privacy import Neighbours


def no_limit(place: str, dataset: str, known: tuple[str, ...]) -> str:
    """Say how to set the limit that a dataset lacks."""
    listed = f" It has limits for {', '.join(map(repr, known[:12]))}." if known else ""
    hint = did_you_mean(dataset, known)
    return (
        f"{dataset!r} has no limit in this ledger, so nothing may be spent on it."
        f"{listed}{' ' + hint if hint else ''} Set one: confide budget "
        f"{shlex.quote(redacted(place))} --dataset {shlex.quote(dataset)} --epsilon 3 "
        f"--delta 1e-5, or in Python ledger.set_limit({json.dumps(dataset)}, "
        "Approx(3, 1e-5)). Nothing was spent."
    )


def over_limit(dataset: str, counted: Amount, spent: Amount, cap: Amount) -> str:
    """Name the parts of the limit that do not suffice, and those only."""
    left = cap - spent
    over = [name for name in cap.kind.fields if left.part(name) < counted.part(name)]
    excess, asked, rest, whole = (
        amount.text(over) for amount in (counted.excess(left), counted, left, cap)
    )
    gone = all(left.part(name) == 0 for name in over)
    return (
        f"the limit of {dataset!r} would be exceeded by {excess}: asked {asked}, left "
        f"{rest}, of a limit of {whole}. Nothing was spent. "
        + ("It is used up." if gone else "Ask for at most what is left.")
    )


def relation_mismatch(
    place: str, dataset: str, before: Balance, proved_for: Neighbours | None
) -> str:
    """Say why a charge does not fit beside the others, and which ways out there are."""
    if before.neighbours is None:
        return (
            f"earlier charges of {dataset!r} do not record for which neighbours they were "
            f"proved, so one for {proved_for} cannot be added to them. Nothing was spent. "
            f"Say which the limit is for: {_command(place, dataset, 'replace-one')} counts "
            "each of them as a removal and an addition; if you know that they were proved "
            f"for {proved_for}, {_command(place, dataset, str(proved_for))} --earlier "
            f"{proved_for} counts them as what they are."
        )
    if proved_for is None:
        return (
            f"what is spent on {dataset!r} is counted for add-remove neighbours, and a "
            "charge that does not say for which neighbours it was proved may say nothing "
            "about them. Nothing was spent. Pass neighbours='add-remove' if it was proved "
            "for these."
        )
    return (
        f"what is spent on {dataset!r} is counted for add-remove neighbours, and a charge "
        "for replace-one says nothing about them: it may give away the number of rows. "
        "Nothing was spent. Fit with neighbours='add-remove'; or, if the number of rows is "
        f"public, set the limit for replace-one: {_command(place, dataset, 'replace-one')} "
        "counts every earlier charge as a removal and an addition."
    )


def relation_unavailable(dataset: str, neighbours: Neighbours) -> str:
    """Say why a limit cannot be for a relation."""
    return (
        f"the limit of {dataset!r} cannot be for {neighbours} neighbours: a charge was "
        "proved for replace-one, or does not record for what, and so may give away the "
        "number of rows. Set it for replace-one, or, if you know that the charges without "
        "a record were proved for add-remove, say so by earlier='add-remove'."
    )


def _command(place: str, dataset: str, neighbours: str) -> str:
    where = f"{shlex.quote(redacted(place))} --dataset {shlex.quote(dataset)}"
    return f"confide budget {where} --neighbours {neighbours}"
