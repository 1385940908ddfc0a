"""Typical ranges and proportions: public facts for plans, which fits do not use."""

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from confide.errors import InvalidParameter, did_you_mean

SHARE_ROUNDING = 1e-9
"""Tolerance by which proportions may sum to more than 1, because of rounding."""


def plain_typical(
    what: str, value: Any, limits: tuple[float | None, float | None]
) -> tuple[float, float] | None:
    """Check a typical range, and return it as two numbers; None stays None."""
    if value is None:
        return None
    lower, upper = (-math.inf if limits[0] is None else limits[0]), limits[1]
    upper = math.inf if upper is None else upper
    pair = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if (
        len(pair) != 2
        or not all(_is_real(one) for one in pair)
        or not lower <= pair[0] <= pair[1] <= upper
    ):
        raise InvalidParameter(
            f"typical of {what}",
            "two numbers within its limits, the lower one first, with about four in five "
            "values between them (the same number twice if nearly all values equal it)",
            value,
            "Leave it out if that is not publicly known.",
        )
    low, high = (one if type(one) is int else float(one) for one in pair)
    return low, high


def inside(
    typical: tuple[float, float], ends: tuple[float, float]
) -> tuple[float, float] | None:
    """Return the part of a typical range between two ends; None if it is empty."""
    low, high = max(typical[0], ends[0]), min(typical[1], ends[1])
    return (low, high) if low <= high else None


def plain_shares(what: str, value: Any, levels: Sequence[Any]) -> tuple[float, ...] | None:
    """Check proportions, and return them in the order of the levels; None stays None.

    A list contains one proportion per level. A mapping gives the proportions of some
    levels, and the rest is divided equally among the others. Proportions may sum to less
    than 1: the remaining records have none of the levels.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        value = _in_order(what, value, levels)
    found = (
        list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    )
    if (
        len(found) != len(levels)
        or not all(_is_real(one) and 0 <= one <= 1 for one in found)
        or math.fsum(found) > 1 + SHARE_ROUNDING
    ):
        raise _no_shares(what, value, "")
    return tuple(float(one) for one in found)


def plain_share(what: str, value: Any) -> float | None:
    """Check the proportion of "yes", and return it as a float; None stays None."""
    if value is None:
        return None
    if not _is_real(value) or not 0 <= value <= 1:
        raise InvalidParameter(f"share of {what}", "the share of yes, from 0 to 1", value)
    return float(value)


def _in_order(what: str, shares: Mapping[Any, Any], levels: Sequence[Any]) -> list[Any]:
    """Convert a mapping of levels to proportions to a list; compare levels as text."""
    names = {str(level): place for place, level in enumerate(levels)}
    strange = [key for key in shares if str(key) not in names]
    if strange:
        raise _no_shares(what, list(shares), did_you_mean(str(strange[0]), names))
    if not all(_is_real(one) and 0 <= one <= 1 for one in shares.values()):
        raise _no_shares(what, dict(shares), "")
    known = {str(key): one for key, one in shares.items()}
    others = len(levels) - len(known)
    left = max(0.0, 1 - math.fsum(known.values()))
    return [known.get(name, left / max(1, others)) for name in names]


def _no_shares(what: str, value: Any, hint: str) -> InvalidParameter:
    return InvalidParameter(
        f"share of {what}",
        "a proportion from 0 to 1 for every level, or for some levels by name, adding up "
        "to at most 1",
        value,
        hint,
    )


def _is_real(value: Any) -> bool:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return number and math.isfinite(value)
