"""Search for the smallest budget or number of rows that suffices."""

import math
from collections.abc import Callable

from confide.errors import InvalidParameter, UnmetNeeds
from confide.privacy import Approx, Budget, Pure, Zcdp

FINE_STEP = 1.05
"""A search ends if a sufficient and an insufficient size differ by at most this factor."""


def smallest(
    enough: Callable[[float], bool], start: float, least: float, most: float
) -> float | None:
    """Return approximately the smallest sufficient size; None if there is none.

    The search begins at ``start`` and does not go below ``least`` or above ``most``. A size
    is also insufficient if ``enough`` raises `InvalidParameter` or `UnmetNeeds`.
    """

    def holds(size: float) -> bool:
        try:
            return enough(size)
        except (InvalidParameter, UnmetNeeds):
            return False

    low = high = start
    if holds(start):
        while low > least and holds(low):
            low, high = max(low / 4, least), low
        if low == high or holds(low):
            return low
    else:
        while not holds(high):
            low, high = high, 4 * high
            if high > most:
                return None
    while high / low > FINE_STEP:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def size_of(budget: Budget) -> float:
    """Return the number that a search varies: rho for zCDP budgets, otherwise epsilon."""
    return float(budget.rho if isinstance(budget, Zcdp) else budget.epsilon)


def resized(budget: Budget, size: float) -> Budget:
    """Return a budget of the same type with a new epsilon or rho, to three digits."""
    short = f"{size:.3g}"
    match budget:
        case Approx():
            return Approx(short, budget.delta)
        case Zcdp():
            return Zcdp(short)
        case _:
            return Pure(short)
