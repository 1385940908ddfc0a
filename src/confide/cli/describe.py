"""`confide describe`: private descriptive statistics of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import confide
from confide.cli.charge import announce_charge, relation_for
from confide.cli.delivery import Delivery
from confide.cli.fit import open_to_pay
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    Rho,
    console,
    print_charge,
    print_guarantee,
    print_json,
    print_note,
    print_table,
    read_budget,
    warn_of_claims,
)
from confide.cli.tables import (
    ClusterAddress,
    ReadMode,
    Streamed,
    TableName,
    Workers,
    check_table,
    open_for_fit,
)
from confide.errors import InvalidParameter

KINDS = (".html", ".json")
ROOM = 2**20


def describe(
    table: TableName,
    schema: Annotated[
        Path, typer.Option(help="Schema file (TOML).", exists=True, dir_okay=False)
    ],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(help="Two columns to cross-tabulate, such as age,region; repeatable."),
    ] = None,
    ranges: Annotated[
        str,
        typer.Option(
            help="Ranges of numeric columns: private (estimated first, with part of the "
            "budget) or public (from the schema)."
        ),
    ] = "private",
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="Neighbour relation: add-remove or replace-one (default: as in the "
            "ledger, else add-remove)."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of each interval.")] = 0.95,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger to charge: a file or a database.")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(help="Report (.html) or results (.json) to write; repeatable."),
    ] = None,
    schema_out: Annotated[
        Path | None,
        typer.Option(help="Schema file to write, with the ranges found, for later fits."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed for a repeatable result, which is NOT private.")
    ] = None,
    stream: Streamed = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Release descriptive statistics of a table, for a single charge.

    The statistics are counts of rows, levels and missing values, means, standard
    deviations, quantiles, histograms and chosen cross-tabulations, each with an interval.
    Later fits can use the privately estimated ranges at no further cost: see --schema-out.

    Example: [bold]confide describe people.csv --schema people.toml --epsilon 0.5
    --ledger book.db --out description.html --schema-out people-ranges.toml[/bold]
    """
    check_table(table)
    way = ReadMode(stream, workers, cluster)
    budget = read_budget(epsilon, delta, rho)
    public = confide.Schema.from_toml(schema)
    together = [_pair(one) for one in pairs or ()]
    book = None if ledger is None else open_to_pay(ledger, public, schema)
    relation = relation_for(book, public.name, neighbours)
    files = [*(out or ()), *(() if schema_out is None else (schema_out,))]
    for file in out or ():
        if file.suffix.lower() not in KINDS:
            raise InvalidParameter("--out", "a .html or a .json file", str(file))
    goods = Delivery(ledger, book)
    released: list[confide.Description] = []
    with goods.guarded(lambda: bool(released)):
        for file in files:
            goods.reserve(_option(file, schema_out), file, ROOM)
        announce_charge(book, public.name, budget, relation)
        with open_for_fit(table, public, way) as rows, warn_of_claims():
            found = confide.describe(
                rows,
                public,
                budget,
                pairs=together,
                ranges=ranges,  # type: ignore[arg-type]
                neighbours=relation,
                level=level,
                ledger=goods.noted(files[0] if files else None),
                random_state=seed,
            )
        released.append(found)
        written = [
            goods.write(_option(file, schema_out), _content(found, file, schema_out))
            for file in files
        ]
        figures = _figures(found)
        with goods.printed(lambda: figures, next(iter(written), None)):
            if as_json:
                print_json({**found.record(), "out": [str(file) for file in written]})
                return
            _print(found)
            _print_whereabouts(found, goods, [file for file in written if file is not None])
            if schema_out is not None:
                console.print(
                    f"Next: confide fit {table} --schema {schema_out} ...",
                    markup=False,
                    soft_wrap=True,
                )


def _option(file: Path, schema_out: Path | None) -> str:
    return "--schema-out" if file == schema_out else f"--out {file}"


def _print_whereabouts(
    found: confide.Description, goods: Delivery, files: list[Path]
) -> None:
    """Print the charge, if a ledger recorded it, and the names of the output files."""
    if goods.book is None:
        console.print("\n[dim]No --ledger was given: this spending was not recorded.[/dim]")
    else:
        console.print()
        paid = goods.receipts[-1]
        print_charge(found.guarantee, goods.book.account(paid.dataset), paid.anchor)
    for file in files:
        console.print(f"Written to {file}.", markup=False, soft_wrap=True)


def _pair(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if len(names) != 2:
        raise InvalidParameter("--pairs", "two columns, such as age,region", text)
    return names


def _content(found: confide.Description, file: Path, schema_out: Path | None) -> bytes:
    """Return the content of an output file."""
    if file == schema_out:
        return found.schema.to_toml().encode()
    return found.to_html().encode() if file.suffix.lower() == ".html" else _figures(found)


def _figures(found: confide.Description) -> bytes:
    return (json.dumps(found.record(), indent=2, ensure_ascii=False) + "\n").encode()


def _print(found: confide.Description) -> None:
    text = confide.description.text
    print_guarantee(found.guarantee)
    console.print()
    rows = text.rows_line(found)
    lines = [(rows.label, rows.value, rows.interval)]
    for group in text.groups(found):
        lines.append((group.name, "", group.note))
        lines += [(f"  {one.label}", one.value, one.interval) for one in group.lines]
    print_table(("column", "estimate", f"{found.level:.0%} interval"), lines)
    for pair in map(text.shown_pair, found.pairs):
        console.print()
        cells = [
            (name, *(f"{value} ({interval})" for value, interval in row))
            for name, row in pair.lines
        ]
        print_table(("", *pair.heads), cells, f"{pair.title}, in % of all rows")
    console.print()
    print_note(text.ABOUT_INTERVALS)
    print_note(text.ABOUT_NUMBERS)
