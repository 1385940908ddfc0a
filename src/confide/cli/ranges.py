"""`confide ranges`: private estimates of the ranges of numeric columns."""

from __future__ import annotations

import shlex
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


def ranges(
    table: TableName,
    schema: Annotated[
        Path, typer.Option(help="Schema file (TOML).", exists=True, dir_okay=False)
    ],
    out: Annotated[
        Path, typer.Option(help="File for the schema with the estimated ranges.")
    ],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="Neighbour relation: add-remove or replace-one (default: as in the "
            "ledger, else add-remove)."
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option("--intervals", help="Narrower ranges, suited to fits with intervals."),
    ] = False,
    tail: Annotated[
        float | None,
        typer.Option(
            help="Share of values below the range, and again above it (default 0.01; 0.05 "
            "with --intervals)."
        ),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger to charge: a file or a database.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed for a repeatable result, which is NOT private.")
    ] = None,
    stream: Streamed = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the ranges of numeric columns privately, once for all later fits.

    The command writes a schema with the estimated ranges. Fits that use this schema pay
    nothing more for ranges, and their guarantees name the origin of the ranges.

    Example: [bold]confide ranges people.csv --schema people.toml --epsilon 0.1
    --ledger book.db --out people-ranges.toml[/bold]
    """
    check_table(table)
    way = ReadMode(stream, workers, cluster)
    budget = read_budget(epsilon, delta, rho)
    public = confide.Schema.from_toml(schema)
    book = None if ledger is None else open_to_pay(ledger, public, schema)
    relation = relation_for(book, public.name, neighbours)
    goods = Delivery(ledger, book)
    bought: list[confide.estimators.BoughtRanges] = []
    with goods.guarded(lambda: bool(bought)):
        goods.reserve("--out", out, 2**16 + 4 * schema.stat().st_size)
        announce_charge(book, public.name, budget, relation)
        with open_for_fit(table, public, way) as rows, warn_of_claims():
            bought.append(
                confide.buy_ranges(
                    rows,
                    public,
                    budget,
                    neighbours=relation,
                    tail=tail,
                    intervals=intervals,
                    ledger=goods.noted(out),
                    random_state=seed,
                )
            )
        found = bought[0]
        content = found.schema.to_toml().encode()
        written = goods.write("--out", content)
        with goods.printed(lambda: content, written):
            _print_bought(found, goods, table, written, as_json=as_json)


def _print_bought(
    found: confide.estimators.BoughtRanges,
    goods: Delivery,
    table: str,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print the guarantee, the ranges, and the name of the new schema file."""
    if as_json:
        record = confide.reporting.guarantee_record(found.guarantee, str)
        ends = dict(found.schema.bought[-1].facts)
        hidden = list(found.release.hidden)
        written = None if out is None else str(out)
        print_json({"guarantee": record, "ranges": ends, "hidden": hidden, "out": written})
        return
    print_guarantee(found.guarantee)
    console.print()
    print_table(("column", "lower", "upper"), found.lines)
    if found.caution:
        console.print(f"\nHidden: {found.caution}.", markup=False, soft_wrap=True)
    if goods.book is None:
        console.print("\n[dim]No --ledger was given: this spending was not recorded.[/dim]")
    else:
        console.print()
        paid = goods.receipts[-1]
        print_charge(found.guarantee, goods.book.account(paid.dataset), paid.anchor)
    if out is not None:
        named = f"{shlex.quote(table)} --schema {shlex.quote(str(out))}"
        line = f"\nWritten to {out}. Next: confide fit {named} ..."
        console.print(line, markup=False, soft_wrap=True)
