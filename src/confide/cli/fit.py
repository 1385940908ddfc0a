"""`confide fit`: a private model of a table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import confide
from confide.cli.charge import announce_charge, relation_for
from confide.cli.delivery import Delivery
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    IntervalsOf,
    Level,
    Rho,
    WithIntervals,
    check_plot_file,
    console,
    either,
    limit_command,
    open_ledger,
    picture,
    print_charge,
    print_coefficients,
    print_guarantee,
    print_json,
    print_note,
    print_score,
    read_budget,
    read_intervals,
    shown_place,
    warn_of_claims,
)
from confide.cli.screen import in_one_line
from confide.cli.tables import (
    ClusterAddress,
    Formula,
    ReadMode,
    Streamed,
    TableName,
    Workers,
    check_table,
    open_for_fit,
    read_schema,
)
from confide.errors import InvalidParameter, did_you_mean
from confide.estimators.catalogue import ESTIMATORS, model_names

PICTURE_ROOM = SCORE_ROOM = 2**20
"""Bytes of disk space reserved for a plot, and the same again for a score."""
SCORE_FILE = "the score file"


def fit(
    table: TableName,
    schema: Annotated[
        Path, typer.Option(help="Schema file (TOML).", exists=True, dir_okay=False)
    ],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    formula: Formula = None,
    model: Annotated[
        str,
        typer.Option(
            help=f"Model: {either(model_names())} (default: depends on the target)."
        ),
    ] = "",
    mechanism: Annotated[
        str,
        typer.Option(help="Mechanism ([bold]confide list mechanisms[/bold] lists all)."),
    ] = "objective",
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="Neighbour relation: add-remove or replace-one (default: as in the "
            "ledger, else add-remove)."
        ),
    ] = None,
    intervals: WithIntervals = None,
    level: Level = None,
    intervals_of: IntervalsOf = None,
    ranges: Annotated[
        str,
        typer.Option(
            help="Ranges of numeric columns: private (estimated with part of the budget), "
            "public (from the schema), or auto."
        ),
    ] = "auto",
    l2: Annotated[
        float | None, typer.Option(help="Ridge penalty (default: automatic).")
    ] = None,
    l1: Annotated[float, typer.Option(help="Weight of the L1 penalty.")] = 0.0,
    slope_bound: Annotated[
        float | None,
        typer.Option(help="Bound on the slope of the loss; steeper slopes are clipped."),
    ] = None,
    multi_class: Annotated[
        str | None,
        typer.Option(help="Method for three or more labels: multinomial or one-vs-rest."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger to charge: a file or a database.")
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Share of the rows to hold out for a score of the model, at no extra cost."
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column that identifies persons, so that --holdout keeps the rows of each "
            "person together."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Model file to write.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="File for a plot of the coefficients, such as coefficients.png."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed for a repeatable result, which is NOT private.")
    ] = None,
    stream: Streamed = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a table and release it under differential privacy.

    The table need not fit in memory: large files, folders and patterns such as
    "visits/*.parquet" are read once in every pass over the data (a sweep), or held by
    worker processes. The number of sweeps depends on the data, so it is shown only on
    standard error, for the data holder, and is never recorded.

    Example: [bold]confide fit adult.csv --schema adult.toml --epsilon 1 --delta 1e-6
    --intervals auto --ledger budget.db --out model.json[/bold]
    """
    check_table(table)
    way = ReadMode(stream, workers, cluster)
    budget = read_budget(epsilon, delta, rho)
    error_bars = read_intervals(intervals, level, intervals_of)
    public, constant = read_schema(schema, formula)
    kind = fitting_kind(model, public)
    book = None if ledger is None else open_to_pay(ledger, public, schema)
    relation = relation_for(book, public.name, neighbours)
    held = _held_out(holdout, person)
    if plot is not None:
        check_plot_file(plot)
    beside = None if out is None or holdout is None else out.with_suffix(".score.json")
    goods = Delivery(ledger, book)
    settings: dict[str, Any] = {
        "schema": public,
        "mechanism": mechanism,
        "neighbours": relation,
        "intervals": error_bars,
        "ranges": ranges,
        "l2": "auto" if l2 is None else l2,
        "l1": l1,
        "fit_intercept": constant,
        "ledger": goods.noted(out),
        "random_state": seed,
    }
    settings |= _own_settings(kind, slope_bound, multi_class)
    estimator = kind(budget, **settings)

    def released() -> bool:
        return hasattr(estimator, "release_")

    with goods.guarded(released):
        for option, path, room in (
            ("--out", out, _room(public, schema, error_bars)),
            ("--plot", plot, PICTURE_ROOM),
            (SCORE_FILE, beside, SCORE_ROOM),
        ):
            if path is not None:
                goods.reserve(option, path, room)
        announce_charge(book, public.name, budget, relation)
        with (
            goods.fitting(released),
            open_for_fit(table, public, way, person) as rows,
            warn_of_claims(),
        ):
            estimator.fit(rows, holdout=held)
        written = scored = None
        if out is not None:
            written = goods.write("--out", estimator.file_content())
        if beside is not None and hasattr(estimator, "holdout_score_"):
            found = confide.evaluation.score_content(estimator.holdout_score_)
            scored = goods.write(SCORE_FILE, found)
        with goods.printed(estimator.file_content, written):
            summary = estimator.summary()
            if plot is not None:
                drawn = picture(summary.plot().figure, plot)
                plot = goods.write("--plot", drawn)
            if as_json:
                paths = {"out": written, "plot": plot}
                told = {name: None if at is None else str(at) for name, at in paths.items()}
                record = confide.reporting.summary_record(summary)
                record |= _score_records(estimator)
                print_json({**record, **told, "anchor": estimator.anchor_})
                return
            payable = error_bars is None and estimator.offers_intervals()
            _print_release(summary, public, plot, payable=payable)
            _print_holdout(estimator)
            _print_whereabouts(goods, summary, estimator.anchor_, (written, scored))


def _print_whereabouts(
    goods: Delivery,
    summary: confide.inference.Summary,
    anchor: str | None,
    files: tuple[Path | None, Path | None],
) -> None:
    """Print the charge, if a ledger recorded it, and the names of the written files."""
    quoted, (written, scored) = "", files
    if goods.book is None:
        console.print("[dim]No --ledger was given: this spending was not recorded.[/dim]")
    else:
        paid = goods.receipts[-1]
        print_charge(summary.guarantee, goods.book.account(paid.dataset), anchor)
        quoted = f" --ledger {shlex.quote(shown_place(goods.place))}"
    if scored is not None:
        quoted = f" --score {shlex.quote(str(scored))}{quoted}"
    if written is not None:
        at = shlex.quote(str(written))
        line = f"Written to {written}. Next: confide report {at}{quoted}"
        console.print(line, markup=False, soft_wrap=True)
    elif not goods.lost:
        kept = "" if goods.book is None else ", except in the ledger (confide recover)"
        print_note(f"No --out was given: the model was printed but not saved{kept}.")


def _score_records(estimator: Any) -> dict[str, Any]:
    """Return the score on held-out rows for JSON; empty if no rows were held out."""
    found = getattr(estimator, "holdout_score_", None)
    return {} if found is None else {"score": confide.evaluation.score_record(found)}


def _print_holdout(estimator: Any) -> None:
    """Print the score on held-out rows, if rows were held out."""
    found = getattr(estimator, "holdout_score_", None)
    if found is not None:
        console.print("\nScore on the held-out rows, at no extra cost:")
        print_score(found)


def _held_out(share: float | None, person: str | None) -> confide.Holdout | None:
    """Return the settings of the holdout; None without `--holdout`."""
    if share is not None:
        return confide.Holdout(share, person)
    if person is not None:
        raise InvalidParameter("--person", "given together with --holdout", person)
    return None


def _room(public: confide.Schema, schema: Path, intervals: confide.Intervals | None) -> int:
    """Return an upper bound on the size of the model file, in bytes, from public facts."""
    labels = public.target.labels or ()
    lines = (len(public.features) + 1) * (len(labels) if len(labels) > 2 else 1)
    laws = 0 if intervals is None else 100 * lines * (len(public.features) + 1)
    return 2**16 + 8 * schema.stat().st_size + 64 * lines + laws


def _own_settings(
    kind: type[Any], slope_bound: float | None, multi_class: str | None
) -> dict[str, Any]:
    """Return the given settings that only some models accept."""
    if multi_class is not None and kind is not confide.LogisticRegression:
        must = "given only with --model logistic"
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
    """Print the guarantee, the coefficients, and how to read them.

    ``payable`` is true if the same budget could also have paid for intervals.
    """
    print_guarantee(summary.guarantee)
    print_coefficients(summary)
    facts = dict(summary.facts)
    for name in ("Ranges", "Hidden"):
        if name in facts:
            print_note(f"\n{name}: {in_one_line(facts[name])}.")
    selected = facts.get("Selected")
    if selected is not None:
        console.print(f"\nSelected {escape(selected)}.")
    console.print(f"\n[dim]{_footnote(public, summary)}[/dim]")
    if summary.level is None and payable:
        theorem = confide.mechanisms.WithIntervals.theorems[0]
        less = confide.privacy.shortfall((theorem,))
        print_note(
            "No confidence intervals were computed. Add --intervals auto to compute them "
            "from the same budget" + ("; the guarantee is then CLAIMED." if less else ".")
        )
    if plot is not None:
        console.print(f"Picture written to {plot}.", markup=False, soft_wrap=True)


def _footnote(public: confide.Schema, summary: confide.inference.Summary) -> str:
    """Return notes on the scale of the effects and on values that are not declared."""
    notes = []
    against = dict(summary.about).get("Categories")
    if against is not None:
        notes.append(
            f"Categories: {against}; an undeclared level is treated as belonging to none "
            "of the levels."
        )
    if "Classes" in dict(summary.facts):
        notes.append("A row with an undeclared label is ignored.")
    elif public.target.labels is not None:
        several = " for every class" if len(public.target.labels) > 2 else ""
        notes.append(f"A row with an undeclared label is treated as negative{several}.")
    elif summary.scale is not None:
        notes.append(summary.scale.meaning)
    notes.append("To find misspelt levels and labels, use confide schema check --table.")
    return escape(" ".join(notes))


def open_to_pay(ledger: str, public: confide.Schema, path: Path) -> confide.Ledger:
    """Open the ledger to charge, and check that it has a limit for the dataset."""
    if public.name == confide.data.UNNAMED:
        raise InvalidParameter(
            "name of the schema",
            "given when a ledger is used, because all unnamed tables would share one "
            "budget",
            public.name,
            f'Write name = "people" as the first line of {path}.',
        )
    book = open_ledger(ledger, public.name)
    if public.name not in book.datasets():
        raise InvalidParameter(
            "name of the schema",
            f"a dataset with a limit in {shown_place(ledger)}: one of "
            f"{list(book.datasets())}",
            public.name,
            f"{did_you_mean(public.name, book.datasets())} Set a limit with "
            f"{limit_command(ledger, public.name)} (choose your own numbers).".lstrip(),
        )
    return book


def fitting_kind(name: str, schema: confide.Schema) -> type[Any]:
    """Return the class of the requested model; by default, one that suits the target."""
    labelled = schema.target.labels is not None
    fitting = model_names(labelled=labelled)
    chosen = name or fitting[0]
    confide.objectives.MODELS.find(chosen)
    if chosen not in fitting:
        target = "has labels" if labelled else "is a number"
        must = f"{' or '.join(fitting)}, because the target in the schema {target}"
        raise InvalidParameter("--model", must, chosen)
    return next(entry.kind for entry in ESTIMATORS.values() if entry.model == chosen)
