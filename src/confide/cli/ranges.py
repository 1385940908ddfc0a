"""`confide ranges`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import confide
from confide.cli.fit import open_to_pay
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    Rho,
    check_new_file,
    console,
    print_charge,
    print_guarantee,
    print_json,
    print_table,
    read_budget,
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


def ranges(
    table: TableName,
    schema: Annotated[
        Path, typer.Option(help="Schema file (TOML).", exists=True, dir_okay=False)
    ],
    out: Annotated[Path, typer.Option(help="Where to write the schema with ranges.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    neighbours: Annotated[
        str | None, typer.Option(help="add-remove (if absent) or replace-one")
    ] = None,
    tail: Annotated[
        float, typer.Option(help="Share of values below a range, and above it.")
    ] = 0.01,
    ledger: Annotated[
        str | None, typer.Option(help="Budget book to charge: a file or a database.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Repeatable, and not private.")] = None,
    stream: Streamed = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Buy the ranges of number columns once, for all later fits on a table.

    Writes a schema whose limits are narrow. Fits that use it pay nothing more for
    ranges; their guarantees say where the ranges come from.

    Example: [bold]confide ranges people.csv --schema people.toml --epsilon 0.1
    --ledger book.db --out people-ranges.toml[/bold]
    """
    check_table(table)
    way = ReadMode(stream, workers, cluster)
    budget = read_budget(epsilon, delta, rho)
    public = confide.Schema.from_toml(schema)
    book = None if ledger is None else open_to_pay(ledger, public, schema)
    check_new_file(out)
    with open_for_fit(table, public, way) as rows:
        found = confide.buy_ranges(
            rows,
            public,
            budget,
            neighbours=neighbours,
            tail=tail,
            ledger=None if book is None else book.with_note(str(out)),
            random_state=seed,
        )
    out.write_text(found.schema.to_toml(), encoding="utf-8")
    if as_json:
        record = confide.reporting.guarantee_record(found.guarantee, str)
        ends = dict(found.schema.bought[-1].facts)
        hidden = list(found.release.hidden)
        print_json({"guarantee": record, "ranges": ends, "hidden": hidden, "out": str(out)})
        return
    print_guarantee(found.guarantee)
    console.print()
    print_table(("column", "lower", "upper"), found.lines)
    if found.caution:
        console.print(f"\nHidden: {found.caution}.", markup=False, soft_wrap=True)
    if book is None:
        console.print("\n[dim]No ledger was given: this spending is booked nowhere.[/dim]")
    else:
        console.print()
        print_charge(found.guarantee, book.account(public.name))
    console.print(
        f"\nWritten to {out}. Next: confide fit {table} --schema {out} ...",
        markup=False,
        soft_wrap=True,
    )
