"""`confide report`: a report on a released model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import confide
from confide._files import check_apart, same_place, write_file
from confide.cli.output import AsJson, ModelFile, console, open_ledger, print_json
from confide.errors import Described, InvalidParameter
from confide.estimators.catalogue import ESTIMATORS


def report(
    model: ModelFile,
    out: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("report.html"),
    card: Annotated[
        Path | None, typer.Option(help="Model card to write (Markdown).")
    ] = None,
    score: Annotated[
        list[Path] | None,
        typer.Option(help="Score file to include, written by confide score."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger whose spending the report shows.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report that explains a released model and its guarantee.

    Example: [bold]confide report model.json --ledger budget.db --out report.html[/bold]
    """
    read = {"the model": model, **{f"the score {one}": one for one in score or ()}}
    if ledger is not None and "://" not in ledger:
        read["the ledger"] = Path(ledger)
    for option, place in (("--out", out), ("--card", card)):
        if place is not None:
            check_apart(option, place, read)
    estimator = confide.load_model(model)
    if card is not None and same_place(out, card):
        raise InvalidParameter("--card", "a file other than --out", str(card))
    if ledger is not None:
        confide.estimators.check_booked(model, open_ledger(ledger))
    summary = estimator.summary()
    dataset = "" if estimator.schema is None else estimator.schema.name
    account = _account(ledger, dataset)
    spent = None if account is None else _as_budget(account.spent)
    limit = None if account is None else account.limit
    under = None if account is None else account.neighbours
    page = confide.reporting.report_page(
        summary,
        title=_title(estimator),
        dataset=dataset,
        spent=spent,
        limit=limit,
        counted_for=under,
        version=confide.__version__,
        scores=tuple(_section(path, estimator) for path in score or ()),
    )
    existed = out.exists()
    write_file(out, page.encode(), "--out")
    if card is not None:
        text = confide.reporting.model_card(
            summary,
            dataset=dataset,
            spent=spent,
            limit=limit,
            counted_for=under,
            version=confide.__version__,
        )
        write_file(card, text.encode(), "--card")
    if as_json:
        print_json({"page": str(out), "card": None if card is None else str(card)})
    else:
        earlier = ", in place of an earlier file" if existed else ""
        line = f"Report written to {out}{earlier}." + (f" Card: {card}." if card else "")
        console.print(line, markup=False, soft_wrap=True)


def _section(path: Path, estimator: Any) -> confide.reporting.ScoreSection:
    """Read the score of a model; raise an error if it is the score of another model."""
    score = confide.load_score(path)
    if score.model and score.model != confide.estimators.coefficients_hash(
        estimator.release_
    ):
        raise InvalidParameter(
            "--score",
            "a score of the model in the report",
            Described(f"{path}, which is the score of another model"),
        )
    return confide.evaluation.section_of(score)


def _title(estimator: Any) -> str:
    """Return the title of a report: the model and its target."""
    if estimator.schema is None:
        return ""
    entry = ESTIMATORS[type(estimator).__name__]
    return f"{entry.title} of {estimator.schema.target.column}"


def _account(ledger: str | None, dataset: str) -> confide.ledger.Account | None:
    if ledger is None:
        return None
    book = open_ledger(ledger)
    return book.account(dataset) if dataset in book.datasets() else None


def _as_budget(spent: confide.ledger.Amount) -> confide.privacy.Budget | None:
    """Return the amount spent as a budget; an (epsilon, 0) amount gets delta = 1e-300."""
    if spent.kind is confide.Approx and spent.epsilon > 0 and spent.delta == 0:
        return confide.Approx(spent.epsilon, "1e-300")
    return spent.as_budget()
