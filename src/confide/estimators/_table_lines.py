"""Columns and terms of a table of coefficients, with the widths of their ranges."""

import math
from typing import Any

from confide.data import INTERCEPT, Display, Schema
from confide.data.schema.terms.kinds import Interaction, PolynomialTerm, SplineTerm, text_of
from confide.data.schema.terms.text import read_term
from confide.errors import InvalidParameter
from confide.inference import TableLines, TermLines

FOUR_FIFTHS = 2.5631
"""Width of the central 80 % of a normal distribution, in standard deviations."""


def effect_amounts(effect: Any) -> tuple[tuple[float, ...], float]:
    """Return range widths for the coefficients of an effect, and a standard deviation.

    The standard deviation is approximate, and given as a share of the range. There is one
    width per displayed coefficient. Levels, Boolean columns and splines have width 1. For a
    power of a number, the width of its range is raised to that power. An interaction has
    the width of the product of its numbers, each measured from the middle of its range.
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
    """Return an approximate standard deviation as a share of the range."""
    typical, (lower, upper) = column.typical_ends, column.ends
    if typical is None or not typical[0] < typical[1]:
        return 1 / math.sqrt(12)
    return float(typical[1] - typical[0]) / (upper - lower) / FOUR_FIFTHS


def levels_of(effect: Any) -> int:
    """Return the number of levels of a category, 0 for other effects.

    A missing value is counted as a level if there is only one other level.
    """
    if not effect.coded:
        return 0
    count = len(effect.features)
    return count + (count == 1 and getattr(effect, "missing", "refuse") != "refuse")


def unit_of(effect: Any) -> str:
    """Return the unit of a date or an untransformed number; empty for other effects."""
    plain = not effect.coded and getattr(effect, "transform", "none") == "none"
    unit: str = getattr(effect, "unit", "")
    return unit if plain else ""


def term_name(schema: Schema | None, asked: Any) -> Any:
    """Return the name of the term that a text describes, or the argument unchanged."""
    if schema is None or not schema.terms or not isinstance(asked, str):
        return asked
    try:
        term = read_term(asked, {column.name: column for column in schema.columns})
    except InvalidParameter:
        return asked
    same = [one for one in schema.effects if _factors(one) == _factors(term)]
    return same[0].name if same else asked


def _factors(term: Any) -> list[str]:
    """Return the factors of a term in sorted order, so that equal terms compare equal."""
    return sorted(map(text_of, getattr(term, "parts", (term,))))


def table_lines(schema: Schema | None, display: Display) -> TableLines:
    """Return the columns and terms of a model, with positions of their coefficients."""
    lines = display.names
    if schema is None:
        alone = (
            TermLines(name, (place,))
            for place, name in enumerate(lines)
            if name != INTERCEPT
        )
        return TableLines(lines, tuple(alone))
    found, place = [], 0
    for effect in schema.effects:
        spans, deviation = effect_amounts(effect)
        own: list[tuple[int, float]] = []
        features = set(effect.features)
        zero = set(features) if effect.coded else set()
        for number, name in enumerate(effect.lines().names):
            if place == len(lines) or lines[place] != name:
                continue
            zero.discard(name)
            if not effect.coded or name in features:
                own.append((place, spans[number]))
            place += 1
        found.append(
            TermLines(
                effect.name,
                tuple(where for where, _ in own),
                effect.coded,
                levels_of(effect),
                tuple(span for _, span in own),
                deviation,
                unit_of(effect),
                tuple(name for name in effect.features if name in zero),
            )
        )
    return TableLines(lines, tuple(found), display.rare)
