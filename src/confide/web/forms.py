"""Reading of form data, which are limited in size and have one text per field."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

import confide
from confide.data.matrix.sums import MAX_ROWS
from confide.errors import Described, InvalidParameter
from confide.privacy import Budget

MOST_BYTES = 2**20
MOST_FIELDS = 4000
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
"""Pattern of a number with commas as thousands separators."""
TYPE = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; reject requests that our pages would not send."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != TYPE:
        raise InvalidParameter(
            "form",
            "sent by a page of this server",
            Described("a request with another content type"),
        )
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            must = f"at most {MOST_BYTES:,} bytes long"
            raise InvalidParameter("form", must, Described("a longer one"))
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except ValueError:
        must = f"text in UTF-8, with at most {MOST_FIELDS} fields"
        raise InvalidParameter(
            "form", must, Described("other bytes or more fields")
        ) from None
    return {name: value.strip() for name, value in pairs}


def read_number(text: str) -> int | float | str:
    """Return a text such as 20,000 or −3 as a number, and any other text unchanged."""
    plain = text.replace("−", "-")
    plain = plain.replace(",", "") if THOUSANDS.fullmatch(plain) else plain
    for kind in (int, float):
        try:
            return kind(plain)
        except ValueError:
            continue
    return text


def read_rows(fields: Mapping[str, Any]) -> int:
    """Return the number of rows; raise an error if a fit would not accept it."""
    text = str(fields.get("rows", ""))
    number = read_number(text)
    if not (isinstance(number, int) and 0 < number <= MAX_ROWS):
        must = f"a whole number from 1 to {MAX_ROWS:,}"
        raise InvalidParameter("number of rows", must, text or Described("nothing"))
    return number


def read_share(fields: Mapping[str, Any], name: str, what: str) -> float:
    """Return the number in a field, which must be between 0 and 1."""
    number = read_number(str(fields.get(name, "")))
    if isinstance(number, str) or not 0 < number < 1:
        raise InvalidParameter(what, "a number between 0 and 1", fields.get(name, ""))
    return float(number)


def read_epsilon(fields: Mapping[str, Any]) -> Budget:
    """Return the budget in the fields epsilon and delta; it is pure if delta is empty."""
    epsilon = str(fields.get("epsilon", ""))
    delta = str(fields.get("delta", ""))
    if not epsilon:
        must = "given: 1 is a usual choice, and smaller values protect more"
        raise InvalidParameter("epsilon", must, Described("nothing"))
    return confide.Approx(epsilon, delta) if delta else confide.Pure(epsilon)
