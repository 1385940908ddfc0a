"""`confide score`: private evaluation of a released model on a table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import confide
from confide.cli.charge import announce_charge, relation_for
from confide.cli.delivery import Delivery
from confide.cli.fit import SCORE_ROOM, open_to_pay
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    ModelFile,
    Rho,
    console,
    print_charge,
    print_guarantee,
    print_json,
    print_score,
    read_budget,
    shown_place,
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
from confide.errors import Described, InvalidParameter

if TYPE_CHECKING:
    from confide.evaluation import ModelScore


def score(
    model: ModelFile,
    table: TableName,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Second model file: release the difference between the two scores."
        ),
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="Neighbour relation: add-remove or replace-one (default: as in the "
            "ledger, else as in the model)."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger to charge: a file or a database.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Score file to write (JSON).")] = None,
    html: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed for a repeatable result, which is NOT private.")
    ] = None,
    stream: Streamed = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model privately on rows that it was not fitted to.

    For a classifier, the score consists of accuracy, ROC curve, calibration and losses;
    for a linear regression, of R² and residuals; for a model of counts, of deviance and
    dispersion. Every figure has an interval. Scores on the rows used for fitting are too
    optimistic. confide fit --holdout scores on held-out rows within the same budget.

    Example: [bold]confide score model.json test.csv --epsilon 0.2 --ledger book.db
    --out score.json[/bold]
    """
    check_table(table)
    way = ReadMode(stream, workers, cluster)
    budget = read_budget(epsilon, delta, rho)
    estimator = confide.load_model(model)
    public = schema_of(estimator, model)
    other = None if against is None else confide.load_model(against)
    book = None if ledger is None else open_to_pay(ledger, public, model)
    goods = Delivery(ledger, book)
    usual = str(estimator.release_.guarantee.neighbours)
    relation = relation_for(book, public.name, neighbours) or usual
    settings: dict[str, Any] = {
        "neighbours": relation,
        "ledger": goods.noted(out),
        "random_state": seed,
        "level": level,
    }
    released: list[ModelScore] = []
    with goods.guarded(lambda: bool(released)):
        for option, path in (("--out", out), ("--html", html)):
            if path is not None:
                goods.reserve(option, path, SCORE_ROOM)
        announce_charge(book, public.name, budget, relation)
        with open_for_fit(table, public, way) as rows, warn_of_claims():
            if other is None:
                found = estimator.private_score(rows, budget, **settings)
            else:
                found = confide.estimators.compare_models(
                    estimator, other, rows, budget, **settings
                )
        released.append(found)
        content = confide.evaluation.score_content(found)
        if out is not None:
            out = goods.write("--out", content)
        if html is not None:
            html = goods.write("--html", _page(found, public.name))
        with goods.printed(lambda: content, out):
            _print_released(
                found, goods, model, {"out": out, "html": html}, as_json=as_json
            )


def _print_released(
    found: ModelScore,
    goods: Delivery,
    model: Path,
    files: dict[str, Path | None],
    *,
    as_json: bool,
) -> None:
    """Print the guarantee, the score, and the names of the written files."""
    if as_json:
        written = {name: None if at is None else str(at) for name, at in files.items()}
        print_json({**confide.evaluation.score_record(found), **written})
        return
    print_guarantee(found.guarantee)
    print_score(found)
    if goods.book is None:
        console.print("[dim]No --ledger was given: this spending was not recorded.[/dim]")
    else:
        paid = goods.receipts[-1]
        print_charge(found.guarantee, goods.book.account(paid.dataset), paid.anchor)
    out = files["out"]
    if out is not None:
        words = f"{shlex.quote(str(model))} --score {shlex.quote(str(out))}"
        if goods.place is not None:
            words += f" --ledger {shlex.quote(shown_place(goods.place))}"
        told = f"Written to {out}. Next: confide report {words}"
        console.print(told, markup=False, soft_wrap=True)


def schema_of(estimator: Any, model: Path) -> confide.Schema:
    """Return the schema of a model; raise an error if the model has none."""
    if estimator.schema_ is None:
        raise InvalidParameter(
            "the model",
            "fitted with a schema, which defines how a table is read",
            Described(f"{model}, which has none"),
            "In Python: model.private_score(X, budget, y=y).",
        )
    public: confide.Schema = estimator.schema_
    return public


def _page(found: ModelScore, dataset: str) -> bytes:
    """Return a score as an HTML page."""
    page = confide.reporting.score_page(
        confide.evaluation.section_of(found), dataset=dataset, version=confide.__version__
    )
    return page.encode()
