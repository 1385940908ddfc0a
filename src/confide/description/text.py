"""A description as lines of text, for terminals and pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confide.description.estimates import LevelFigures, NumberFigures, PairFigures
from confide.description.intervals import IntervalEstimate
from confide.reporting.format import short

if TYPE_CHECKING:
    from confide.description.value import Description

ABOUT_INTERVALS = (
    "Intervals of counts, and of the number of rows, are for this table and cover the "
    "noise only. All others are for the population, cover noise and sampling error, and "
    "assume that the rows were drawn from it independently."
)
ABOUT_NUMBERS = (
    "Means and standard deviations are those of values clamped to the range; quantiles "
    "and histograms come from the same noisy counts."
)
NAMES = {0.1: "10 % quantile", 0.25: "25 % quantile", 0.5: "median"}
NAMES |= {0.75: "75 % quantile", 0.9: "90 % quantile"}


@dataclass(frozen=True, slots=True)
class ShownLine:
    """Line of a printed table: label, value, interval, and a share to draw as a bar."""

    label: str
    value: str
    interval: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Name, note and printed lines of one column, and the bars of its histogram."""

    name: str
    note: str
    lines: tuple[ShownLine, ...]
    bars: tuple[tuple[str, float], ...] = ()


def percent(value: float) -> str:
    """Format a share in percent, with one decimal."""
    return f"{100 * value:.1f} %"


def whole(value: float) -> str:
    """Format a count as text."""
    return f"{value:,.0f}"


def rows_line(found: Description) -> ShownLine:
    """Return the line for the number of rows."""
    rows = found.rows
    if rows.lower == rows.upper:
        return ShownLine("Rows", whole(rows.value), "a public number")
    return ShownLine("Rows", whole(rows.value), _between(rows, whole))


def groups(found: Description) -> Iterator[Group]:
    """Yield the lines of every column in the order of the schema."""
    for one in found.figures:
        if isinstance(one, LevelFigures):
            yield Group(one.name, "", tuple(_level_lines(one)))
        else:
            yield _number_group(one, found)


def _level_lines(one: LevelFigures) -> Iterator[ShownLine]:
    for place, line in enumerate(one.lines):
        if place >= one.levels and line.share.lower == 0:
            continue
        value = f"{percent(line.share.value)} ({whole(line.count.value)})"
        yield ShownLine(line.label, value, _between(line.share, percent), line.share.value)


def _number_group(one: NumberFigures, found: Description) -> Group:
    cells = one.cells
    edges = cells.shown_edges
    ends = float(edges[0]), float(edges[-1])
    if cells.whole:
        ends = math.ceil(ends[0]), math.floor(ends[1])
    low, high = map(cells.show, ends)
    note = f"bins from {low} to {high}"
    if one.name in found.hidden:
        note += (
            "; the column's range could not be estimated, because the noise is too large"
        )
    elif one.name in found.ranges:
        note += ", a privately estimated range"
    show = cells.show if cells.column.finest else short
    spread, days = one.deviation, " days" if cells.column.finest else ""
    lines = [
        ShownLine("mean", show(one.mean.value), _between(one.mean, show)),
        ShownLine(
            "standard deviation", short(spread.value) + days, _between(spread, short)
        ),
    ]
    lines += [
        ShownLine(NAMES[share], cells.show(q.value), _between(q, cells.show))
        for share, q in one.quantiles
    ]
    for label, share in (("beyond the range", one.beyond), ("missing", one.missing)):
        if share.lower > 0:
            lines.append(ShownLine(label, percent(share.value), _between(share, percent)))
    bars = tuple((line.label, max(line.share.value, 0.0)) for line in one.histogram)
    return Group(one.name, note, tuple(lines), bars)


def _between(estimate: IntervalEstimate, show: Callable[[float], str]) -> str:
    return f"{show(estimate.lower)} to {show(estimate.upper)}"


@dataclass(frozen=True, slots=True)
class ShownPair:
    """Printed cross-tabulation in % of all rows, without empty rows and columns."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def shown_pair(pair: PairFigures) -> ShownPair:
    """Return the shares of a cross-tabulation as text, each with its interval."""
    kept_columns = [
        j
        for j, _ in enumerate(pair.columns)
        if any(row[j].share.lower > 0 for row in pair.lines)
    ]
    lines = tuple(
        (
            pair.rows[i],
            tuple(
                (percent(row[j].share.value), _between(row[j].share, percent))
                for j in kept_columns
            ),
        )
        for i, row in enumerate(pair.lines)
        if any(cell.share.lower > 0 for cell in row)
    )
    heads = tuple(pair.columns[j] for j in kept_columns)
    return ShownPair(f"{pair.names[0]} by {pair.names[1]}", heads, lines)


def description_text(found: Description) -> str:
    """Return the guarantee and the estimates as text."""
    every = [rows_line(found)]
    for group in groups(found):
        every.append(ShownLine(group.name, "", group.note))
        every += [
            ShownLine(f"  {line.label}", line.value, line.interval) for line in group.lines
        ]
    width = max(len(line.label) for line in every)
    wide = max(len(line.value) for line in every)
    body = [f"{one.label:<{width}}  {one.value:>{wide}}  {one.interval}" for one in every]
    for pair in found.pairs:
        shown = shown_pair(pair)
        body += ["", f"{shown.title}, in % of all rows"]
        for name, cells in shown.lines:
            parts = (
                f"{head}: {value} ({interval})"
                for head, (value, interval) in zip(shown.heads, cells, strict=True)
            )
            body.append(f"  {name}: " + "; ".join(parts))
    head = f"Description of {found.schema.name}"
    level = f"Each interval has confidence level {found.level:.0%}."
    notes = (level, ABOUT_INTERVALS, ABOUT_NUMBERS)
    return "\n".join([head, str(found.guarantee), "", *body, "", *notes])
