"""`confide fit` and `confide report`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from confide import __version__
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    Level,
    ModelFile,
    Rho,
    WithIntervals,
    check_new_file,
    check_picture,
    claims_said,
    console,
    limit_command,
    open_existing,
    print_coefficients,
    print_guarantee,
    print_json,
    print_note,
    read_budget,
    read_intervals,
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
from confide.data import UNNAMED, Schema
from confide.errors import InvalidParameter, did_you_mean
from confide.estimators import ESTIMATORS, load_model
from confide.inference import Summary
from confide.ledger import Account, Amount, Ledger
from confide.mechanisms.intervals.moments import PAGE
from confide.privacy import Approx, Budget, Guarantee, shortfall
from confide.reporting import model_card, report_page, summary_record

MODELS = {entry.command: entry for entry in ESTIMATORS.values() if entry.command}


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
        typer.Option(help="logistic, svm, linear or poisson; from the target if absent"),
    ] = "",
    mechanism: Annotated[
        str, typer.Option(help="See confide list mechanisms.")
    ] = "objective",
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="add-remove or replace-one; replace-one with intervals, else add-remove"
        ),
    ] = None,
    intervals: WithIntervals = None,
    level: Level = None,
    l2: Annotated[float | None, typer.Option(help="Ridge; automatic if absent.")] = None,
    l1: Annotated[float, typer.Option(help="Weight of an l1 penalty.")] = 0.0,
    slope_bound: Annotated[
        float | None, typer.Option(help="Where the slope of the loss is cut off.")
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
    "visits/*.parquet" are read anew in every sweep, or held by workers.
    How many sweeps there are depends on the data: they are shown on
    standard error to whoever holds the data, and kept nowhere.

    Example: [bold]confide fit adult.csv --schema adult.toml --epsilon 1 --delta 1e-6
    --intervals auto --ledger budget.db --out model.json[/bold]
    """
    check_table(table)
    way = ReadMode(stream, workers, cluster)
    budget = read_budget(epsilon, delta, rho)
    wish = read_intervals(intervals, level)
    public = Schema.from_toml(schema)
    kind = _kind(model, public)
    book = None if ledger is None else _open_to_pay(ledger, public, schema)
    if out is not None:
        check_new_file(out)
    if plot is not None:
        check_picture(plot)
        check_new_file(plot, "--plot")
    settings: dict[str, Any] = {
        "schema": public,
        "mechanism": mechanism,
        "neighbours": neighbours,
        "intervals": wish,
        "l2": "auto" if l2 is None else l2,
        "l1": l1,
        "ledger": book if book is None or out is None else book.noting(str(out)),
        "random_state": seed,
    }
    if slope_bound is not None:
        settings["slope_bound"] = slope_bound
    estimator = kind(budget, **settings)
    with open_for_fit(table, public, way) as rows, claims_said():
        estimator.fit(rows)
    if out is not None:
        estimator.save(out)
    summary = estimator.summary()
    if plot is not None:
        summary.plot().figure.savefig(plot, dpi=150)
    if as_json:
        files = {"out": out, "plot": plot}
        written = {name: None if at is None else str(at) for name, at in files.items()}
        print_json({**summary_record(summary), **written})
        return
    payable = wish is None and estimator.offers_intervals()
    _print_release(summary, public, plot, payable=payable)
    quoted = "" if ledger is None else f" --ledger {ledger}"
    if book is None:
        console.print("[dim]No ledger was given: this spending is booked nowhere.[/dim]")
    else:
        account = book.account(public.name)
        _print_charge(summary.guarantee, account)
    if out is None:
        console.print("[dim]No --out was given: the model is on this screen only.[/dim]")
    else:
        console.print(f"Written to {out}. Next: confide report {out}{quoted}")


def _print_charge(guarantee: Guarantee, account: Account) -> None:
    """Say what was paid and what is left, and for which neighbours."""
    proved_for, under = guarantee.neighbours, account.neighbours
    paid = f"Charged {guarantee.budget} to {account.dataset}"
    if proved_for is not under:
        paid += f", counted for {under}: a removal and an addition"
    console.print(f"{paid}; left: {account.left}, {under} neighbours.", markup=False)


def _print_release(
    summary: Summary, public: Schema, plot: Path | None, *, payable: bool
) -> None:
    """Print the promise, the coefficients, and how to read them.

    ``payable`` says whether intervals could have been had for the same budget.
    """
    print_guarantee(summary.guarantee)
    print_coefficients(summary)
    selected = dict(summary.facts).get("Selected")
    if selected is not None:
        console.print(f"\nSelected {escape(selected)}.")
    console.print(f"\n[dim]{_footnote(public)}[/dim]")
    if summary.level is None and payable:
        less = shortfall((PAGE + "interval-release",))
        print_note(
            "Without error bars: --intervals auto pays for them from the same budget"
            + ("; the guarantee is then CLAIMED." if less else ".")
        )
    if plot is not None:
        console.print(f"Picture written to {plot}.", markup=False, soft_wrap=True)


def report(
    model: ModelFile,
    out: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("report.html"),
    card: Annotated[
        Path | None, typer.Option(help="Model card to write (Markdown).")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="Budget book to quote.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a page that explains a released model and its guarantee.

    Example: [bold]confide report model.json --ledger budget.db --out report.html[/bold]
    """
    estimator = load_model(model)
    summary = estimator.summary()
    dataset = "" if estimator.schema is None else estimator.schema.name
    account = _account(ledger, dataset)
    spent = None if account is None else _as_budget(account.spent)
    limit = None if account is None else account.limit
    under = None if account is None else account.neighbours
    page = report_page(
        summary,
        title=_title(estimator),
        dataset=dataset,
        spent=spent,
        limit=limit,
        counted_for=under,
        version=__version__,
    )
    out.write_text(page, encoding="utf-8")
    if card is not None:
        text = model_card(
            summary,
            dataset=dataset,
            spent=spent,
            limit=limit,
            counted_for=under,
            version=__version__,
        )
        card.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"page": str(out), "card": None if card is None else str(card)})
    else:
        console.print(f"Report written to {out}." + (f" Card: {card}." if card else ""))


def _title(estimator: Any) -> str:
    """Return the heading of a page: what is regressed, and how."""
    if estimator.schema is None:
        return ""
    entry = ESTIMATORS[type(estimator).__name__]
    return f"{entry.title} of {estimator.schema.target.column}"


def _account(ledger: str | None, dataset: str) -> Account | None:
    if ledger is None:
        return None
    book = open_existing(ledger)
    return book.account(dataset) if dataset in book.datasets() else None


def _as_budget(spent: Amount) -> Budget | None:
    """Return what was spent as a budget; a delta of 0 becomes the smallest there is."""
    if spent.kind is Approx and spent.epsilon > 0 and spent.delta == 0:
        return Approx(spent.epsilon, "1e-300")
    return spent.as_budget()


def _footnote(public: Schema) -> str:
    """Say how to read the table, and what a fit keeps to itself."""
    notes = []
    if any(column.coded for column in public.columns):
        notes.append(
            "A level of a category is shown against the average of its levels; an "
            "undeclared level counts as none."
        )
    if public.target.labels is not None:
        notes.append("A row with an undeclared label counts against every positive one.")
    else:
        unit = f" {public.target.unit}" if public.target.unit else ""
        notes.append(f"Effects are in{unit or ' units'} of {public.target.column}.")
    notes.append("A fit reports no misspelling: see confide schema check --table.")
    return escape(" ".join(notes))


def _open_to_pay(ledger: str, public: Schema, path: Path) -> Ledger:
    """Open the ledger of a fit, and see that it has a limit, before anything is read."""
    if public.name == UNNAMED:
        raise InvalidParameter(
            "name of the schema",
            "given where a ledger is: all unnamed tables would share one budget",
            public.name,
            f'Write name = "people" as the first line of {path}.',
        )
    book = open_existing(ledger, public.name)
    if public.name not in book.datasets():
        raise InvalidParameter(
            "name of the schema",
            f"a dataset with a limit in {ledger}, which has {list(book.datasets())}",
            public.name,
            f"{did_you_mean(public.name, book.datasets())} Set a limit by "
            f"{limit_command(ledger, public.name)} (choose your own numbers).".lstrip(),
        )
    return book


def _kind(name: str, schema: Schema) -> type[Any]:
    """Return the model that is asked for, or the usual one for the target."""
    labelled = schema.target.labels is not None
    fitting = [name for name, entry in MODELS.items() if entry.labelled is labelled]
    chosen = name or fitting[0]
    if chosen not in MODELS:
        must, hint = f"one of {', '.join(MODELS)}", did_you_mean(chosen, MODELS)
        raise InvalidParameter("--model", must, chosen, hint)
    if chosen not in fitting:
        target = "has labels" if labelled else "is a number"
        must = f"{' or '.join(fitting)}, for the target in the schema {target}"
        raise InvalidParameter("--model", must, chosen)
    return MODELS[chosen].kind
