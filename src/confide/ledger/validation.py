"""What a ledger is asked: its place, names, lines of text, events and statuses."""

import getpass
import math
from collections.abc import Sequence
from dataclasses import astuple
from fractions import Fraction
from pathlib import Path
from typing import Any

from confide.accounting.events import SAMPLINGS, Event, SubsampledGaussianEvent
from confide.accounting.noise_multiplier import sampling_for
from confide.errors import InvalidParameter, PrivacyLeak
from confide.privacy import Neighbours, Status


def relation(neighbours: Any) -> Neighbours | None:
    """Return the relation of that name; None stays None."""
    return None if neighbours is None else Neighbours.of(neighbours)


def normalise_location(place: Any) -> str:
    """Return the place in full: one place, one book."""
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return "postgresql://" + place.partition("://")[2]
    wrong = not isinstance(place, str | Path) or not str(place).isprintable()
    if wrong or not str(place) or "://" in str(place):
        raise InvalidParameter(
            "place", "a path or a URL like postgresql://host/database", place
        )
    path = Path(place).resolve()
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidParameter("place", "a file in a folder that exists", str(place))
    return str(path)


def checked_name(dataset: Any) -> str:
    """Return the name of a dataset, or say what is wrong with it."""
    name = one_line(dataset, "dataset")
    if not name or name != name.strip():
        raise InvalidParameter("dataset", "a name without spaces around it", dataset)
    return name


def one_line(value: Any, name: str) -> str:
    """Return a text that fits on a line of the book."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
        raise InvalidParameter(name, "one line of text", value)
    return value


def current_user(who: Any) -> str:
    """Return who asks: by default the login name."""
    if who is not None:
        return one_line(who, "who")
    try:
        login = getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"
    return login if login.isprintable() else "unknown"


def checked_events(events: Any, neighbours: Neighbours | None) -> tuple[Event, ...]:
    """Return events that a release for these neighbours can consist of."""
    if not isinstance(events, Sequence):
        raise InvalidParameter("events", "a sequence of events", events)
    for event in events:
        if not isinstance(event, Event) or not all(map(_is_size, astuple(event))):
            raise InvalidParameter("events", "events of confide.accounting", event)
        if neighbours is not None:
            _check_sampling(event, neighbours)
    return tuple(events)


def _check_sampling(event: Event, neighbours: Neighbours) -> None:
    if not isinstance(event, SubsampledGaussianEvent) or event.rate == 1:
        return
    proved = sampling_for(neighbours)
    if event.sampling != proved:
        raise InvalidParameter(
            "events", f"{proved} batches in a charge for {neighbours}", event.sampling
        )


def _is_size(value: Any) -> bool:
    if isinstance(value, str):
        return value in SAMPLINGS
    return isinstance(value, Fraction | int | float) and 0 <= value < math.inf


def checked_status(status: Any) -> Status:
    """Return a status that a ledger pays for."""
    if not isinstance(status, Status):
        raise InvalidParameter("status", "a Status such as Status.PROVED", status)
    if status is Status.REFUTED:
        raise PrivacyLeak(
            "a ledger pays only for guarantees that hold; this mechanism's was REFUTED, so "
            "no budget covers its release. Use a PROVED mechanism."
        )
    return status
