"""`confide schema`: write a schema, check it, and compare it with a table."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import confide
from confide.cli.output import (
    AsJson,
    console,
    err_console,
    print_json,
    print_table,
    write_new_file,
)
from confide.cli.progress import SweepBar
from confide.cli.tables import TableName, check_table

schemas = typer.Typer(
    help="Write and check schemas, the public description of a table.",
    epilog="Example: [bold]confide schema init adult.csv --target income --out adult.toml"
    "[/bold]",
)
UNKNOWN = "?"
NOT_PRIVATE = (
    "NOT PRIVATE: these counts come from the records of the table and are for the data "
    "holder only. Do not publish any of them. No budget is spent."
)
ADVICE = (
    "Use these counts to correct misspelt names. Ranges and levels should still come from "
    "public knowledge, because values chosen by looking at the records reveal something "
    "about them."
)
MOST_LISTED = 12
COUNTS = ("missing", "unreadable", "outside", "undeclared")


@schemas.command("init")
def schema_init(
    table: TableName,
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: print).")
    ] = None,
    target: Annotated[str, typer.Option(help="Column to predict.")] = UNKNOWN,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Column to predict it from; repeatable (default: all others)."),
    ] = None,
) -> None:
    """Write a schema template, to be filled in, for the columns of a table.

    Only the names of the columns are read. Ranges and levels must come from public
    knowledge: taken from the data, they would reveal something about the records.

    Example: [bold]confide schema init adult.csv --target income --out adult.toml[/bold]
    """
    check_table(table)
    text = confide.data.schema_template(table, target, column or ())
    if out is None:
        print(text, end="")
        return
    write_new_file(out, text)
    console.print(
        f"Written to {out}. Fill in kinds and ranges with an editor, then:\n"
        f"confide schema check {out} --table {shlex.quote(table)}",
        markup=False,
        soft_wrap=True,
    )


@schemas.command("check")
def schema_check(
    schema: Annotated[
        Path, typer.Argument(help="Schema file (TOML).", exists=True, dir_okay=False)
    ],
    table: Annotated[
        str | None,
        typer.Option(
            help="Compare the schema with this table (a file, a folder, or a pattern in "
            "quotes). For the data holder only: not private."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a schema and show its features; with --table, compare it with a table.

    Without --table only the schema is read, and the output is public. With --table the
    values are read and counted, and the output is NOT private. Exit code 2 means that a
    fit would reject the table, or that a declaration matches no value: a label, a range, or
    all levels of a column.

    Example: [bold]confide schema check adult.toml --table adult.csv[/bold]
    """
    public = confide.Schema.from_toml(schema)
    if table is None:
        _print_features(public, as_json=as_json)
        return
    check_table(table)
    bar = SweepBar(err_console, f"opening {Path(table).name}", once="checking")
    with bar.shown():
        found = confide.data.compare_table(public, table)
    if as_json:
        record = {**asdict(found), "refused": found.refused, "failed": found.failed}
        print_json({"notice": NOT_PRIVATE, "schema": public.name, **record})
    else:
        _print_comparison(found, public, table)
    if found.failed:
        raise typer.Exit(2)


def _print_features(public: confide.Schema, *, as_json: bool) -> None:
    weights = dict(zip(public.features, public.weights.tolist(), strict=True))
    if as_json:
        print_json({"name": public.name, "features": weights})
        return
    console.print(
        f"{public.name}: {len(public.predictors)} columns become {len(weights)} features; "
        f"target {public.target.column}.\n",
        markup=False,
    )
    for line in _beside(public):
        console.print(line, markup=False)
    lines = [(name, f"{weight:.3f}") for name, weight in weights.items()]
    print_table(("feature", "share of row norm"), lines)


def _beside(public: confide.Schema) -> list[str]:
    """Return lines of text that describe the case weights and the offset."""
    lines, weights, offset = [], public.case_weights, public.offset
    if weights is not None and weights.column:
        lines.append(f"Weights: {weights.column}, at most {weights.cap:g}.")
    if weights is not None and weights.classes:
        each = ", ".join(f"{label} {one:g}" for label, one in weights.classes.items())
        lines.append(f"Weights of labels: {each}.")
    if offset is not None:
        lower, upper = offset.ends
        lines.append(f"Offset: {offset.features[0]}, from {lower:g} to {upper:g}.")
    return [*lines, ""] if lines else lines


def _print_columns(found: confide.data.Comparison) -> None:
    """Print the declared columns that the table lacks, and its undeclared columns."""
    for name, near in found.absent:
        hint = "" if near is None else f" Is it {near!r}?"
        console.print(f"The table lacks the declared column {name!r}.{hint}", markup=False)
    if found.separator is not None:
        console.print(
            f"The only column has {found.separator_name} in its name. Is that the "
            "separator? Commas, semicolons and tabs are recognised; write the table with "
            "one of these."
        )
    if found.extra:
        console.print(
            f"Ignored, because they are not in the schema: {_listed(found.extra)}."
        )


def _print_comparison(
    found: confide.data.Comparison, public: confide.Schema, table: str
) -> None:
    console.print(NOT_PRIVATE, style="bold red")
    if found.findings:
        console.print(f"\n{table} holds {found.rows:,} rows.", markup=False)
    _print_columns(found)
    amiss = [finding for finding in found.findings if not finding.fine]
    if amiss:
        console.print()
        lines = [
            (f.column, f.kind, *(f"{getattr(f, count) or ''}" for count in COUNTS))
            for f in amiss
        ]
        print_table(("column", "kind", *COUNTS), lines)
    for finding in amiss:
        _print_undeclared(finding)
    console.print()
    for finding in amiss:
        _print_unmatched(finding)
    effects: dict[str, list[str]] = {}
    for finding in amiss:
        for effect in _effects(finding, public):
            effects.setdefault(effect, []).append(finding.column)
    for effect, columns in effects.items():
        console.print(f"- {effect}: {_listed(columns)}")
    if found.refused:
        console.print("\nA fit would reject this table.", style="bold")
        return
    if found.failed:
        console.print(
            "\nA fit would accept this table, but a declared value that never occurs "
            "would have no effect.",
            style="bold",
        )
        return
    fine = len(found.findings) - len(amiss)
    effect = (
        "; a fit would accept the others too, and treat them as described above"
        if amiss
        else ""
    )
    console.print(
        f"{fine} of {len(found.findings)} columns agree fully with the schema{effect}."
    )
    console.print(f"\n[dim]{ADVICE}[/dim]")


def _print_undeclared(finding: confide.data.Finding) -> None:
    if not finding.named:
        return
    lines = [(repr(one.value), f"{one.rows:,}", _suggestion(one)) for one in finding.named]
    console.print()
    print_table((f"undeclared in {finding.column}", "rows", "did you mean"), lines)


def _suggestion(one: confide.data.Undeclared) -> str:
    if one.nearest is None:
        return ""
    differs = f" ({one.difference} differs)" if one.difference else ""
    return f"{one.nearest!r}{differs}"


def _print_unmatched(finding: confide.data.Finding) -> None:
    """Print the declared values that never occur in a column, and possible causes."""
    if not finding.unmatched:
        return
    what = _listed(list(finding.unmatched))
    hints = sorted({one.difference for one in finding.named} - {""})
    cause = f" Look at {' and '.join(hints)}." if hints else ""
    console.print(
        f"No value in {escape(finding.column)} matches {what}.{cause}", style="bold red"
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_LISTED
    tail = f" and {more} more" if more > 0 else ""
    return escape(", ".join(names[:MOST_LISTED]) + tail)


def _effects(finding: confide.data.Finding, public: confide.Schema) -> list[str]:
    """Describe how a fit treats values that differ from the schema."""
    part: Any = public.parts[finding.column]
    words = []
    if finding.unreadable:
        words.append("values that cannot be read as declared make a fit reject the table")
    if finding.missing:
        words.append(MISSING_RULES[part.missing])
    if finding.outside:
        words.append("values outside the range are clamped to it")
    if finding.undeclared:
        kept = getattr(part, "other", False)
        level = ("undeclared values ") + (
            'become "other"' if kept else "are treated as belonging to none of the levels"
        )
        label = "rows with undeclared labels are treated as negative"
        words.append(label if part is public.target else level)
    return words


MISSING_RULES = {
    "refuse": 'missing values make a fit reject the table (missing = "refuse")',
    "drop": "rows without a target are dropped",
    "midpoint": "missing values are replaced by the middle of the range",
    "category": "missing values are treated as belonging to none of the levels",
}
