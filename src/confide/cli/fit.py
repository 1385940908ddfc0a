"""`confide fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import confide
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    IntervalsOf,
    Level,
    Rho,
    WithIntervals,
    check_new_file,
    check_plot_file,
    console,
    either,
    limit_command,
    open_ledger,
    print_charge,
    print_coefficients,
    print_guarantee,
    print_json,
    print_note,
    read_budget,
    read_intervals,
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
from confide.errors import InvalidParameter, did_you_mean
from confide.estimators.catalogue import ESTIMATORS, model_names


def fit(
    table: TableName,
    schema: Annotated[
        Path, typer.Option(help="Schema file (TOML).", exists=True, dir_okay=False)
    ],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    model: Annotated[
        str,
        typer.Option(help=f"{either(model_names())}; from the target if absent"),
    ] = "",
    mechanism: Annotated[
        str, typer.Option(help="See confide list mechanisms.")
    ] = "objective",
    neighbours: Annotated[
        str | None,
        typer.Option(help="add-remove (default) or replace-one."),
    ] = None,
    intervals: WithIntervals = None,
    level: Level = None,
    intervals_of: IntervalsOf = None,
    ranges: Annotated[
        str,
        typer.Option(
            help="Ranges of numbers: private (bought from the budget), public (those of "
            "the schema), or auto."
        ),
    ] = "auto",
    l2: Annotated[float | None, typer.Option(help="Ridge; automatic if absent.")] = None,
    l1: Annotated[float, typer.Option(help="Weight of an l1 penalty.")] = 0.0,
    slope_bound: Annotated[
        float | None, typer.Option(help="Where the slope of the loss is cut off.")
    ] = None,
    multi_class: Annotated[
        str | None,
        typer.Option(help="multinomial or one-vs-rest, for three labels or more."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Budget book to charge: a file or a database.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the model file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Picture of the coefficients to write.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Repeatable, and not private.")] = None,
    stream: Streamed = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model on a table and release it under differential privacy.

    A table need not fit in memory: large files, folders and patterns like
    "visits/*.parquet" are read again in every sweep, or held by workers.
    How many sweeps there are depends on the data: they are shown on
    standard error, to the data holder alone, and kept nowhere.

    Example: [bold]confide fit adult.csv --schema adult.toml --epsilon 1 --delta 1e-6
    --intervals auto --ledger budget.db --out model.json[/bold]
    """
    check_table(table)
    way = ReadMode(stream, workers, cluster)
    budget = read_budget(epsilon, delta, rho)
    error_bars = read_intervals(intervals, level, intervals_of)
    public = confide.Schema.from_toml(schema)
    kind = fitting_kind(model, public)
    book = None if ledger is None else open_to_pay(ledger, public, schema)
    if out is not None:
        check_new_file(out)
    if plot is not None:
        check_plot_file(plot)
        check_new_file(plot, "--plot")
    settings: dict[str, Any] = {
        "schema": public,
        "mechanism": mechanism,
        "neighbours": neighbours,
        "intervals": error_bars,
        "ranges": ranges,
        "l2": "auto" if l2 is None else l2,
        "l1": l1,
        "ledger": book if book is None or out is None else book.with_note(str(out)),
        "random_state": seed,
    }
    settings |= _own_settings(kind, slope_bound, multi_class)
    estimator = kind(budget, **settings)
    with open_for_fit(table, public, way) as rows, warn_of_claims():
        estimator.fit(rows)
    if out is not None:
        estimator.save(out)
    summary = estimator.summary()
    if plot is not None:
        summary.plot().figure.savefig(plot, dpi=150)
    if as_json:
        files = {"out": out, "plot": plot}
        written = {name: None if at is None else str(at) for name, at in files.items()}
        print_json({**confide.reporting.summary_record(summary), **written})
        return
    payable = error_bars is None and estimator.offers_intervals()
    _print_release(summary, public, plot, payable=payable)
    quoted = "" if ledger is None else f" --ledger {ledger}"
    if book is None:
        console.print("[dim]No ledger was given: this spending is booked nowhere.[/dim]")
    else:
        account = book.account(public.name)
        print_charge(summary.guarantee, account)
    if out is None:
        console.print("[dim]No --out was given: the model is on this screen only.[/dim]")
    else:
        console.print(f"Written to {out}. Next: confide report {out}{quoted}")


def _own_settings(
    kind: type[Any], slope_bound: float | None, multi_class: str | None
) -> dict[str, Any]:
    """Return what only some models have, where it was asked for."""
    if multi_class is not None and kind is not confide.LogisticRegression:
        must = "absent but for --model logistic"
        raise InvalidParameter("--multi-class", must, multi_class)
    asked = {"slope_bound": slope_bound, "multi_class": multi_class}
    return {name: value for name, value in asked.items() if value is not None}


def _print_release(
    summary: confide.inference.Summary,
    public: confide.Schema,
    plot: Path | None,
    *,
    payable: bool,
) -> None:
    """Print the promise, the coefficients, and how to read them.

    ``payable`` says whether intervals could have been had for the same budget.
    """
    print_guarantee(summary.guarantee)
    print_coefficients(summary)
    ranges = dict(summary.facts).get("Ranges")
    if ranges is not None:
        print_note(f"\nRanges: {ranges}.")
    selected = dict(summary.facts).get("Selected")
    if selected is not None:
        console.print(f"\nSelected {escape(selected)}.")
    console.print(f"\n[dim]{_footnote(public, summary)}[/dim]")
    if summary.level is None and payable:
        theorem = confide.mechanisms.WithIntervals.theorems[0]
        less = confide.privacy.shortfall((theorem,))
        print_note(
            "Without error bars: --intervals auto pays for them from the same budget"
            + ("; the guarantee is then CLAIMED." if less else ".")
        )
    if plot is not None:
        console.print(f"Picture written to {plot}.", markup=False, soft_wrap=True)


def _footnote(public: confide.Schema, summary: confide.inference.Summary) -> str:
    """Say how to read the table, and what a fit keeps to itself."""
    notes = []
    if any(column.coded for column in public.columns):
        notes.append(
            "A level of a category is shown against the average of its levels; an "
            "undeclared level counts as none."
        )
    if "Classes" in dict(summary.facts):
        notes.append("A row with an undeclared label counts for nothing.")
    elif public.target.labels is not None:
        notes.append("A row with an undeclared label counts against every positive one.")
    else:
        notes.append(_scale_of_effects(public, summary))
    notes.append("A fit reports no misspelling: see confide schema check --table.")
    return escape(" ".join(notes))


def _scale_of_effects(public: confide.Schema, summary: confide.inference.Summary) -> str:
    """Say what a coefficient is in, where the target is a number."""
    column, unit = public.target.column, public.target.unit
    if ESTIMATORS[summary.title].model == "poisson":
        return (
            f"Effects are on the logarithm of the expected {column}: 0.1 means about 10 % "
            "more."
        )
    return f"Effects are in {unit or 'units'} of {column}."


def open_to_pay(ledger: str, public: confide.Schema, path: Path) -> confide.Ledger:
    """Open the ledger of a fit, and see that it has a limit, before anything is read."""
    if public.name == confide.data.UNNAMED:
        raise InvalidParameter(
            "name of the schema",
            "given where a ledger is: all unnamed tables would share one budget",
            public.name,
            f'Write name = "people" as the first line of {path}.',
        )
    book = open_ledger(ledger, public.name)
    if public.name not in book.datasets():
        raise InvalidParameter(
            "name of the schema",
            f"a dataset with a limit in {ledger}, which has {list(book.datasets())}",
            public.name,
            f"{did_you_mean(public.name, book.datasets())} Set a limit by "
            f"{limit_command(ledger, public.name)} (choose your own numbers).".lstrip(),
        )
    return book


def fitting_kind(name: str, schema: confide.Schema) -> type[Any]:
    """Return the model that is asked for, or the usual one for the target."""
    labelled = schema.target.labels is not None
    fitting = model_names(labelled=labelled)
    chosen = name or fitting[0]
    confide.objectives.MODELS.find(chosen)
    if chosen not in fitting:
        target = "has labels" if labelled else "is a number"
        must = f"{' or '.join(fitting)}, for the target in the schema {target}"
        raise InvalidParameter("--model", must, chosen)
    return next(entry.kind for entry in ESTIMATORS.values() if entry.model == chosen)
