"""Facts that a description adds to a schema: rows, shares of levels, typical ranges.

Plans use these facts, and fits use them to decide whether private ranges are worth their
cost.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from confide.data import Schema
from confide.description.estimates import LevelFigures, NumberFigures
from confide.description.value import Description

DIGITS = 4
STEPS = 10**DIGITS


def with_typical_facts(
    schema: Schema, found: Description
) -> tuple[Schema, Mapping[str, Any]]:
    """Return the schema with the estimated facts, and the facts by column."""
    figures = {one.name: one for one in found.figures}
    rows = max(1, round(found.rows.value))
    facts: dict[str, Any] = {"rows of the table": rows}
    columns = []
    for column in schema.columns:
        told, fact = _told(column, figures[column.name])
        columns.append(told)
        facts |= {} if fact is None else {column.name: fact}
    target, fact = _told(schema.target, figures[schema.target.name])
    facts |= {} if fact is None else {schema.target.name: fact}
    known = replace(schema, columns=tuple(columns), target=target, rows=rows)
    return known, facts


def _told(part: Any, one: LevelFigures | NumberFigures) -> tuple[Any, Any]:
    if isinstance(one, NumberFigures):
        return _with_typical(part, one)
    # Undeclared values have a share of their own if the column has a level for them.
    count = one.levels + bool(getattr(part, "other", False))
    shares = [max(line.share.value, 0.0) for line in one.lines[:count]]
    excess = max(sum(shares), 1.0)
    if not part.levels:
        yes = round(shares[1] / (sum(shares) or 1.0), DIGITS)
        return replace(part, share=yes), yes
    # Shares are rounded down, so that their sum is at most 1.
    shares = [math.floor(share / excess * STEPS) / STEPS for share in shares]
    return replace(part, share=tuple(shares)), tuple(shares)


def _with_typical(part: Any, one: NumberFigures) -> tuple[Any, Any]:
    """Set a column's typical range to its 10 % and 90 % quantiles, within its limits."""
    if not hasattr(part, "typical"):
        return part, None
    held = {share: found.value for share, found in one.quantiles}
    ends = part.lower, part.upper
    if None in ends:
        ends = part.ends
    low, high = (min(max(held[share], ends[0]), ends[1]) for share in (0.1, 0.9))
    typical = (low, max(low, high))
    return replace(part, typical=typical), typical
