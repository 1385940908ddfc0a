"""Checks of the arguments of ledger methods, and texts of error messages."""

import getpass
import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import astuple
from fractions import Fraction
from typing import Any

from confide.accounting.events import (
    EVENTS,
    SAMPLINGS,
    Event,
    check_sampling,
    known_event,
)
from confide.errors import InvalidParameter, PrivacyLeak, did_you_mean
from confide.ledger.address import redacted
from confide.ledger.amounts import Amount
from confide.ledger.balance import Balance
from confide.privacy import Neighbours, Status


def relation(neighbours: Any) -> Neighbours | None:
    """Return the neighbour relation with a given name; None stays None."""
    return None if neighbours is None else Neighbours.of(neighbours)


def checked_name(dataset: Any) -> str:
    """Return the name of a dataset, or raise if it is not valid."""
    name = one_line(dataset, "dataset")
    if not name or name != name.strip():
        raise InvalidParameter(
            "dataset", "a name, not empty and without spaces at its ends", dataset
        )
    return name


def one_line(value: Any, name: str) -> str:
    """Return a string, or raise if it is not one line of at most 1000 characters."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
        raise InvalidParameter(name, "one line of text of at most 1,000 characters", value)
    return value


def current_user(who: Any) -> str:
    """Return the user to record: by default the login name."""
    if who is not None:
        return one_line(who, "who")
    try:
        login = getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"
    return login if login.isprintable() else "unknown"


def checked_events(events: Any, neighbours: Neighbours | None) -> tuple[Event, ...]:
    """Return the events of a charge, or raise if its neighbour relation rules them out."""
    if not isinstance(events, Sequence):
        raise InvalidParameter("events", "a sequence of events", events)
    for event in events:
        registered = type(event) in EVENTS.values()
        if not registered or not all(map(_is_size, astuple(event))):
            raise InvalidParameter("events", "events of confide.accounting", event)
        if neighbours is not None:
            check_sampling(known_event(event), neighbours)
    return tuple(events)


def _is_size(value: Any) -> bool:
    if isinstance(value, str):
        return value in SAMPLINGS
    return isinstance(value, Fraction | int | float) and 0 <= value < math.inf


def checked_status(status: Any) -> Status:
    """Return the status of a charge, or raise if it is REFUTED."""
    if not isinstance(status, Status):
        raise InvalidParameter("status", "a Status such as Status.PROVED", status)
    if status is Status.REFUTED:
        raise PrivacyLeak(
            "only guarantees that hold can be charged; the guarantee of this mechanism was "
            "REFUTED, so no budget covers its release. Use a PROVED mechanism."
        )
    return status


def no_limit(place: str, dataset: str, known: tuple[str, ...]) -> str:
    """Return the error message for a dataset without a limit, with the remedy."""
    listed = f" Known datasets: {', '.join(map(repr, known[:12]))}." if known else ""
    hint = did_you_mean(dataset, known)
    return (
        f"{dataset!r} has no limit in this ledger, so nothing may be spent on it."
        f"{listed}{' ' + hint if hint else ''} Set a limit: confide budget "
        f"{shlex.quote(redacted(place))} --dataset {shlex.quote(dataset)} --epsilon 3 "
        f"--delta 1e-5, or in Python ledger.set_limit({json.dumps(dataset)}, "
        "Approx(3, 1e-5)). Nothing was spent."
    )


def over_limit(dataset: str, counted: Amount, spent: Amount, cap: Amount) -> str:
    """Return the error message for a charge that would exceed the limit."""
    left = cap - spent
    over = [name for name in cap.kind.fields if left.part(name) < counted.part(name)]
    excess, asked, rest, whole = (
        amount.text(over) for amount in (counted.excess(left), counted, left, cap)
    )
    gone = all(left.part(name) == 0 for name in over)
    return (
        f"the limit of {dataset!r} would be exceeded by {excess}: requested {asked}, left "
        f"{rest}, of a limit of {whole}. Nothing was spent. "
        + ("The limit is used up." if gone else "Request at most what is left.")
    )


def relation_mismatch(
    place: str, dataset: str, before: Balance, proved_for: Neighbours | None
) -> str:
    """Return the error message for a charge with an unsuitable neighbour relation."""
    if before.neighbours is None:
        return (
            f"earlier charges of {dataset!r} do not record their neighbour relation, "
            f"so a charge for {proved_for} cannot be added to them. Nothing was spent. "
            "Set the neighbour relation of the limit with one of two commands.\n"
            "To count earlier charges at the higher cost of a removal plus an addition:\n"
            f"  {_command(place, dataset, 'replace-one')}\n"
            "To keep their recorded cost, if you know that the guarantees of all of them "
            f"were proved for {proved_for} neighbours:\n"
            f"  {_command(place, dataset, str(proved_for))} --earlier {proved_for}"
        )
    if proved_for is None:
        return (
            f"spending on {dataset!r} is counted under add-remove neighbours, and this "
            "charge does not state its neighbour relation. Nothing was spent. Pass "
            "neighbours='add-remove' if its guarantee was proved for add-remove."
        )
    return (
        f"spending on {dataset!r} is counted under add-remove neighbours, and a charge "
        "under replace-one does not cover add-remove: it may reveal the number of rows. "
        "Nothing was spent. Fit with neighbours='add-remove'; or, if the number of rows is "
        "public, set the limit for replace-one with\n"
        f"  {_command(place, dataset, 'replace-one')}\n"
        "Earlier charges are then counted at a higher cost, because replacing a row is "
        "removing one and adding another."
    )


def relation_unavailable(dataset: str, neighbours: Neighbours) -> str:
    """Return the error message for a limit that earlier charges do not permit."""
    return (
        f"the limit of {dataset!r} cannot be for {neighbours} neighbours: the guarantee of "
        "an earlier charge was proved for replace-one, or the charge does not record its "
        "neighbour relation, so its release may reveal the number of rows. Set the limit "
        "for replace-one; or, if you know that the guarantees of the charges that do not "
        "record it were proved for add-remove, pass earlier='add-remove'."
    )


def _command(place: str, dataset: str, neighbours: str) -> str:
    where = f"{shlex.quote(redacted(place))} --dataset {shlex.quote(dataset)}"
    return f"confide budget {where} --neighbours {neighbours}"
