"""Content of a summary: public facts about a fitted model, and its coefficients."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data import Display, Schema, Target
from confide.inference import Coefficient
from confide.mechanisms import Release
from confide.privacy.guarantee import ONE_ROW
from confide.reporting.effect_scale import plural_unit

MOST_LABELS = 6
MOST_NAMES = 12
MOST_RANGES = 60
"""Largest number of ranges that a summary lists."""
ON_THE_BOUNDARY = (
    "the coefficients have reached the bound on their norm, so intervals are not valid; "
    "use a larger l2 or coef_norm"
)
SEVERAL_ROWS = (
    "rows of one person are treated as independent: if they are similar, intervals are "
    "too short"
)
INTERVALS_OF = {
    "plain": "the plain coefficients, without the ridge penalty",
    "penalised": "the penalised coefficients of the population",
}
Facts = tuple[tuple[str, str], ...]
"""Pairs of a name and a text, in the order in which they are printed."""


def head_facts(
    schema: Schema | None, columns: int, fitted_on: str | None, rows: Facts = ()
) -> Facts:
    """Describe the rows, target and columns of a table, and the date of the fit."""
    lines = (("Columns", str(columns)),) if schema is None else _of_schema(schema)
    lines = (*rows, *lines)
    return lines if fitted_on is None else (*lines, ("Fitted", fitted_on))


def release_facts(release: Release) -> Facts:
    """Describe noise, ridge and the weighting of records by norm."""
    noises = "; ".join(f"{n.kind} {n.scale:.4g} on {n.added_to}" for n in release.noise)
    facts = (("Noise", noises), ("Ridge", f"l2 = {release.l2:.6g}"))
    if release.record_norm is None:
        return facts
    norm = f"{release.record_norm:.3g}"
    text = f"a row of norm {norm} has weight 1; rows of larger norm have less"
    return (*facts, ("Records", text))


def range_facts(release: Release, schema: Schema) -> Facts:
    """Describe the estimated ranges and their consequences for the coefficients."""
    own = release.ranges
    parts: dict[str, Any] = dict(schema.parts)
    here = () if own is None else tuple(own.ranges)
    before = [
        name
        for purchase in schema.bought
        if purchase.kind == "ranges"
        for name in purchase.facts
        if name in parts and name not in here
    ]
    texts = []
    if own is not None:
        price = f"Estimated with {float(own.share):.0%} of the budget"
        texts.append(f"{_shown_ranges(parts, here)}. {price}")
    if before:
        texts.append(f"{_shown_ranges(parts, before)}. Estimated earlier")
    if not texts:
        return ()
    text = (
        ". ".join(texts)
        + "; effects hold inside these ranges, and values outside are clamped"
    )
    hidden = hidden_ranges(() if own is None else own.hidden)
    return (("Ranges", text), *((("Hidden", hidden),) if hidden else ()))


def _shown_ranges(parts: Mapping[str, Any], names: Sequence[str]) -> str:
    return _some(
        [
            f"{name} {show_end(parts[name].lower)} to {show_end(parts[name].upper)}"
            for name in names
        ],
        MOST_RANGES,
    )


def hidden_ranges(names: Sequence[str]) -> str:
    """Return a warning about columns whose range is hidden by noise; empty if none."""
    if not names:
        return ""
    return (
        f"{_some(names)}: no range could be found above the noise, so the declared "
        "limits are used, or an arbitrary range if none are declared"
    )


def show_end(end: float | str | date) -> str:
    """Return the lower or upper end of a range as text."""
    return str(end) if isinstance(end, str | date) else f"{end:.6g}"


def _some(names: Sequence[str], most: int = MOST_NAMES) -> str:
    more = len(names) - most
    return "; ".join(names[:most]) + (f"; and {more} more" if more > 0 else "")


def bounding_facts(release: Release) -> Facts:
    """Describe how the entries of rows were bounded."""
    if release.row_bounds is None:
        return ()
    entries = release.row_bounds.entries
    if entries.length is None:
        return (("Entries", f"at most {entries.most:g}; larger entries are clipped"),)
    text = (
        f"the {entries.few} largest entries of a row together have a norm of at most "
        f"{entries.length:.4g}"
    )
    return (("Entries", f"{text}; rows of larger norm are scaled down"),)


def selection_facts(names: Sequence[str], candidates: int) -> Facts:
    """Return the selected variables and the number of candidates."""
    shown = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    listed = f": {shown}{more}" if names else ""
    return (("Selected", f"{len(names)} of {candidates} variables{listed}"),)


def interval_facts(release: Release) -> Facts:
    """Describe how intervals were computed."""
    kept = release.intervals
    if kept is None:
        return ()
    text = (
        f"{100 * kept.level:g} % intervals for {INTERVALS_OF[kept.of]}; variant "
        f"{kept.variant!r}, computed with {float(1 - kept.split[0]):.0%} of the budget"
    )
    warning = interval_caution(release)
    return (("Intervals", f"{text}; {warning}" if warning else text),)


def interval_caution(release: Release) -> str:
    """Return the reason why intervals may be invalid; empty if they are valid."""
    if release.intervals is None:
        return ""
    if release.intervals.on_boundary:
        return ON_THE_BOUNDARY
    return "" if ONE_ROW in release.guarantee.assumptions else SEVERAL_ROWS


def coefficient_lines(
    release: Release, labels: Sequence[str], display: Display, spans: Array
) -> tuple[Coefficient, ...]:
    """Return the displayed coefficients of all sets, with intervals if released.

    The release must have no intervals, or intervals of variant "published".
    """
    lines: list[Coefficient] = []
    for k, (label, value) in enumerate(
        zip(labels, np.atleast_2d(release.value), strict=True)
    ):
        names = [label + name for name in display.names]
        shown = display.show(value)
        widths = spans.tolist()
        if release.intervals is None:
            lines += [
                Coefficient(name, float(x), span=span)
                for name, x, span in zip(names, shown, widths, strict=True)
            ]
            continue
        below, above, alone = release.intervals.offsets(k, display.matrix)
        for j, (name, x) in enumerate(zip(names, shown.tolist(), strict=True)):
            ends = (x + float(below[j]), x + float(above[j]), float(alone[j]))
            lines.append(Coefficient(name, x, *ends, span=widths[j]))
    return tuple(lines)


def display_of_release(release: Release, names: tuple[str, ...], factors: Array) -> Display:
    """Return the map from coefficients to those displayed (all, or the selected ones).

    ``factors`` convert coefficients to the user's units. ``names`` and ``factors`` have one
    entry per coefficient, including the intercept.
    """
    if release.support is None:
        return Display(names, sparse.diags_array(factors), np.zeros(len(names)))
    table = np.atleast_2d(release.value)
    kept = (table != 0).any(axis=0)
    kept[[j for support in release.support for j in support]] = True
    shown = np.flatnonzero(kept)
    matrix: Any = sparse.csr_array(
        (factors[shown], (np.arange(len(shown)), shown)), shape=(len(shown), len(names))
    )
    return Display(tuple(names[j] for j in shown), matrix, np.zeros(len(shown)))


def selected_names(
    used: AnyArray, schema: Schema | None, names: Sequence[str]
) -> tuple[str, ...]:
    """Return the names of the variables with at least one used feature.

    ``used`` and ``names`` have one entry per feature.
    """
    if schema is None:
        return tuple(name for name, kept in zip(names, used, strict=True) if kept)
    sizes = [len(effect.features) for effect in schema.effects]
    blocks = np.split(used, np.cumsum(sizes)[:-1])
    pairs = zip(schema.effects, blocks, strict=True)
    return tuple(effect.name for effect, block in pairs if block.any())


def _of_schema(schema: Schema) -> tuple[tuple[str, str], ...]:
    count, features = len(schema.predictors), len(schema.features)
    columns = f"{count}" if features == count else f"{count}, as {features} features"
    lines = (("Target", _target(schema.target)), ("Columns", columns), *_of_cases(schema))
    against = comparisons(schema)
    return (*lines, ("Categories", against)) if against else lines


def comparisons(schema: Schema) -> str:
    """Describe the baseline for the levels of categories; empty if there are none."""
    coded = [column for column in schema.predictors if len(column.baseline) > 1]
    kinds = {column.against for column in coded}
    if len(kinds) < 2:
        return f"each level compared with {kinds.pop()}" if kinds else ""
    return _some([f"{column.name} against {column.against}" for column in coded])


def row_facts(rows: int | None, schema: Schema | None) -> Facts:
    """Describe the number of rows, exact or approximate, if it is public."""
    if rows is not None:
        return (("Rows", f"{rows:,}"),)
    if schema is not None and schema.rows is not None:
        return (("Rows", f"about {schema.rows:,}, according to the schema"),)
    return ()


def _of_cases(schema: Schema) -> tuple[tuple[str, str], ...]:
    """Describe the terms, the case weights and the offset of a schema."""
    lines, weights, offset = [], schema.case_weights, schema.offset
    if schema.terms:
        lines.append(("Terms", ", ".join(schema.terms)))
    if weights is not None:
        words = [f"{weights.column}, at most {weights.cap:g}"] if weights.column else []
        words += [f"{label} has weight {one:g}" for label, one in weights.classes.items()]
        lines.append(("Weights", "; ".join(words)))
    if offset is not None:
        lower, upper = offset.ends
        lines.append(("Offset", f"{offset.features[0]}, from {lower:.3g} to {upper:.3g}"))
    return tuple(lines)


def _target(target: Target) -> str:
    """Describe the target: its name with its labels, or with its range and unit."""
    if target.labels is not None:
        shown = [str(label) for label in target.labels[:MOST_LABELS]]
        more = len(target.labels) - len(shown)
        listed = ", ".join(shown) + (f" and {more} more" if more else "")
        positive = f"; positive: {shown[1]}" if len(target.labels) == 2 else ""
        return f"{target.column}: {listed}{positive}"
    lower, upper = target.ends or (0.0, 0.0)
    unit = f" {plural_unit(target.unit)}" if target.unit else ""
    return f"{target.column}, from {lower:g} to {upper:g}{unit}"
