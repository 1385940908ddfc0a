"""How many units the range of a column or a term has, for effects that compare."""

import math
from typing import Any

from confide.data.schema.terms.kinds import Interaction, PolynomialTerm, SplineTerm

FOUR_FIFTHS = 2.5631
"""So many standard deviations four fifths of normal values lie within."""


def effect_amounts(effect: Any) -> tuple[tuple[float, ...], float]:
    """Return the range in units of every line, and a deviation as a part of it.

    Levels, yes and no, and curves are as they are. Powers of a number have those of its
    range, and products what a change of all their numbers by half a range makes.
    """
    count = len(effect.lines().names)
    if isinstance(effect, PolynomialTerm):
        span = _width(effect.column)
        return tuple(span**power for power in range(1, count + 1)), 1.0
    if isinstance(effect, Interaction):
        factors = effect.units()[0].tolist()
        return tuple(1.0 if one == 1 else 2 / one for one in factors), 1.0
    if isinstance(effect, SplineTerm) or effect.coded or effect.possible:
        return (1.0,) * count, 1.0
    return (_width(effect),), _deviation(effect)


def _width(column: Any) -> float:
    return 2 / float(column.units()[0][0])


def _deviation(column: Any) -> float:
    """Return about a standard deviation, as a part of the range, from public facts."""
    typical, (lower, upper) = column.typical_ends, column.ends
    if typical is None or not typical[0] < typical[1]:
        return 1 / math.sqrt(12)
    return float(typical[1] - typical[0]) / (upper - lower) / FOUR_FIFTHS


def levels_of(effect: Any) -> int:
    """Return how many kinds of rows a factor tells apart."""
    if not effect.coded:
        return 0
    count = len(effect.features)
    return count + (count == 1 and getattr(effect, "missing", "refuse") != "refuse")


def unit_of(effect: Any) -> str:
    """Return the unit of a number that is taken as it is."""
    plain = not effect.coded and getattr(effect, "transform", "none") == "none"
    unit: str = getattr(effect, "unit", "")
    return unit if plain else ""
