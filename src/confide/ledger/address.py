"""Addresses of ledgers: normalisation, and removal of passwords."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from confide.errors import InvalidParameter

_SETTING = re.compile(r"""password=('(?:[^'\\]|\\.)*'|\S+)""", re.IGNORECASE)
"""Pattern of a password in a libpq connection string, which may be passed by mistake."""


def normalise_location(place: Any) -> str:
    """Return the absolute path or the URL of a ledger; raise if ``place`` is neither."""
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return "postgresql://" + place.partition("://")[2]
    wrong = not isinstance(place, str | Path) or not str(place).isprintable()
    if wrong or not str(place) or "://" in str(place):
        raise InvalidParameter(
            "place", "a path or a URL such as postgresql://host/database", redacted(place)
        )
    path = Path(place).resolve()
    if path.is_dir() or not path.parent.is_dir():
        must = "a file in a folder that exists"
        raise InvalidParameter("place", must, redacted(str(place)))
    return str(path)


def redacted(place: Any) -> Any:
    """Return an address with any passwords removed.

    Parameters
    ----------
    place : object
        A path or a URL; anything but a string is returned unchanged.

    Returns
    -------
    object
        The address with *** in place of passwords.

    Examples
    --------
    >>> from confide.ledger import redacted
    >>> redacted("postgresql://clerk:secret@office/budgets")
    'postgresql://clerk:***@office/budgets'
    """
    if not isinstance(place, str):
        return place
    shown = place
    for secret in _secrets(place):
        shown = shown.replace(f":{secret}@", ":***@").replace(f"={secret}", "=***")
    return shown


def without_secrets(message: str, place: str) -> str:
    """Return a driver's message, or a neutral one if the message quotes part of a password.

    If a password contains an unescaped @ or slash, drivers may mistake part of the password
    for a port number and quote that part.
    """
    pieces = {piece for one in _secrets(place) for piece in re.split(r"[@:/?#&]", one)}
    pieces |= {unquote(piece) for piece in pieces}
    if any(piece and piece in message for piece in pieces):
        return "the address is not valid: in a password write @ : / as %40 %3A %2F"
    return message


def _secrets(place: str) -> list[str]:
    """Return the passwords in an address, without decoding escaped characters.

    A password in front of the host is assumed to extend to the last @, because an @ in a
    password is often left unescaped.
    """
    _, scheme, rest = place.partition("://")
    if not scheme:
        return _SETTING.findall(place)
    login, at, _ = rest.rpartition("@")
    found = [login.partition(":")[2]] if at and ":" in login else []
    for setting in rest.partition("?")[2].split("&"):
        name, _, value = setting.partition("=")
        if "password" in unquote(name).casefold():
            found.append(value)
    return [one for one in found if one]
