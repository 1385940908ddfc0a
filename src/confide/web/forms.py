"""What forms send: bounded, as text, one value for every name."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

import confide
from confide.errors import InvalidParameter
from confide.privacy import Budget

MOST_BYTES = 2**20
MOST_FIELDS = 4000
TYPE = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; reject anything that our pages do not send."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != TYPE:
        raise InvalidParameter("form", "sent by a page of this server", "another kind")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            must = f"at most {MOST_BYTES:,} bytes long"
            raise InvalidParameter("form", must, "a longer one")
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except ValueError:
        must = f"text in UTF-8, with at most {MOST_FIELDS} fields"
        raise InvalidParameter("form", must, "something else") from None
    return {name: value.strip() for name, value in pairs}


def read_number(text: str) -> int | float | str:
    """Return a number where a text is one, and else the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_whole(fields: Mapping[str, Any], name: str, what: str) -> int:
    """Return a field that must be a whole number above zero."""
    text = str(fields.get(name, "")).replace(",", "")
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 13 and int(text)):
        raise InvalidParameter(what, "a whole number above 0", text or "nothing")
    return int(text)


def read_share(fields: Mapping[str, Any], name: str, what: str) -> float:
    """Return a field that must be a number between 0 and 1."""
    number = read_number(str(fields.get(name, "")))
    if isinstance(number, str) or not 0 < number < 1:
        raise InvalidParameter(what, "a number between 0 and 1", fields.get(name, ""))
    return float(number)


def read_epsilon(fields: Mapping[str, Any]) -> Budget:
    """Return the budget that two fields name; without a delta it is pure."""
    epsilon = str(fields.get("epsilon", ""))
    delta = str(fields.get("delta", ""))
    if not epsilon:
        must = "given: 1 is a usual choice, smaller ones protect more"
        raise InvalidParameter("epsilon", must, "nothing")
    return confide.Approx(epsilon, delta) if delta else confide.Pure(epsilon)
