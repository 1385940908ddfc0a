"""`confide audit inversion`: how well a model betrays an attribute."""

from dataclasses import asdict
from typing import Annotated

import typer

from confide.attacks import evaluate_inversion
from confide.cli.output import (
    AsJson,
    ModelFile,
    console,
    print_json,
    print_note,
    print_table,
)
from confide.cli.tables import TableName, check_table, read_files
from confide.estimators import load_model

NOT_PRIVATE = (
    "For the holder of the table: these figures are computed from true values without any "
    "noise and are NOT PRIVATE."
)


def inversion(
    model: ModelFile,
    table: TableName,
    attribute: Annotated[
        str, typer.Option(help="Column to guess: a category, or yes or no.")
    ],
    scale: Annotated[
        float | None,
        typer.Option(help="Typical error that the attacker knows; from TABLE if absent."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Guess an attribute of every row from a model, the outcome and all else.

    Example: [bold]confide audit inversion model.json patients.csv --attribute
    genotype[/bold]
    """
    check_table(table)
    released = load_model(model)
    rows = read_files(table, released.schema)
    found = evaluate_inversion(released, rows, attribute, scale=scale)
    if as_json:
        computed = {"advantage": found.advantage, "standard_error": found.standard_error}
        print_json({**asdict(found), **computed, "private": False})
        return
    console.print(f"[bold red]{NOT_PRIVATE}[/bold red]\n")
    print_table(
        (f"guessing {attribute}", "right"),
        [
            ("by the model, the outcome and all other columns", f"{found.attack:.1%}"),
            ("by the outcome alone", f"{found.without_model:.1%}"),
            ("always the commonest level", f"{found.constant:.1%}"),
        ],
    )
    print_note(
        f"\n{found.rows:,} rows; standard error {found.standard_error:.1%}. What the model "
        f"adds: {100 * found.advantage:+.1f} percentage points."
    )
