"""`confide audit`: audits of mechanisms, and of what models reveal about attributes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.progress import Progress

import confide
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    ModelFile,
    Rho,
    console,
    either,
    print_json,
    print_note,
    print_table,
    read_budget,
)
from confide.cli.tables import TableName, check_table
from confide.errors import InvalidParameter
from confide.estimators.catalogue import model_names

audits = typer.Typer(invoke_without_command=True, rich_markup_mode="rich")
NOT_PRIVATE = (
    "For the data holder only: these figures are computed from true values without any "
    "noise and are NOT PRIVATE."
)


@audits.callback()
def audit(
    context: typer.Context,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    model: Annotated[
        str, typer.Option(help=f"Model: {either(model_names())}.")
    ] = "logistic",
    mechanism: Annotated[
        str,
        typer.Option(help="Mechanism ([bold]confide list mechanisms[/bold] lists all)."),
    ] = "objective",
    neighbours: Annotated[
        str, typer.Option(help="Neighbour relation: add-remove or replace-one.")
    ] = "add-remove",
    dimension: Annotated[
        int, typer.Option(help="Number of coefficients in the black-box audit.")
    ] = 20,
    runs: Annotated[
        int, typer.Option(help="Releases per dataset in the black-box audit (0: skip it).")
    ] = 2000,
    as_json: AsJson = False,
) -> None:
    """Test the privacy claim of a mechanism.

    For objective perturbation, the exact privacy loss is computed in one dimension. Any
    mechanism is then attacked as a black box, in the chosen dimension.

    Example: [bold]confide audit --epsilon 1 --delta 1e-6 --model svm[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    budget = read_budget(epsilon, delta, rho)
    loss = confide.objectives.MODELS.find(model)()
    if isinstance(budget, confide.Zcdp):
        must = "given by --epsilon, with or without --delta, in an audit"
        raise InvalidParameter("the budget", must, "--rho")
    relation = confide.Neighbours.of(neighbours)
    result: dict[str, Any] = {"claim": str(budget), "neighbours": str(relation)}
    if mechanism == "objective":
        line = _objective(loss, 1)
        with console.status("Integrating exact densities ..."):
            finding = confide.attacks.exact_finding(line, budget, relation)
        result["exact_share_of_claim"] = finding.share_of_claim
        result["exact_pairs"] = finding.pairs
    if runs:
        attacked = confide.mechanisms.MECHANISMS.find(mechanism)()
        calibration = attacked.calibrate(_objective(loss, dimension), budget, relation)
        with Progress(console=console, transient=True, disable=as_json) as bar:
            task = bar.add_task("Releasing with and without one record", total=2 * runs)
            found = confide.attacks.black_box_finding(
                calibration, runs, lambda: bar.advance(task)
            )
        result["black_box_epsilon_at_least"] = max(found.epsilon, 0.0)
        result["black_box_confidence"] = 1 - found.error
    refuted = result.get("exact_share_of_claim", 0.0) > 1.01 or result.get(
        "black_box_epsilon_at_least", 0.0
    ) > float(budget.epsilon)
    result["refuted"] = refuted
    if as_json:
        print_json(result)
    else:
        lines = [(name.replace("_", " "), _figure(value)) for name, value in result.items()]
        print_table(("", ""), lines)
    if refuted:
        raise typer.Exit(3)


def _objective(loss: Any, dimension: int) -> confide.objectives.Objective:
    """Return the objective to audit; clip the loss if it needs bounded targets."""
    bound = loss.family.trial_bound
    if bound is not None:
        loss = confide.objectives.Clipped(loss, bound)
    return confide.objectives.Objective(loss, dimension, target_bound=bound)


def _figure(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


@audits.command()
def inversion(
    model: ModelFile,
    table: TableName,
    attribute: Annotated[
        str, typer.Option(help="Categorical or yes-or-no column to guess.")
    ],
    scale: Annotated[
        float | None,
        typer.Option(
            help="Residual standard deviation that the attacker assumes "
            "(default: computed from TABLE)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Guess an attribute of every row from a model, the outcome and all other columns.

    Example: [bold]confide audit inversion model.json patients.csv --attribute
    genotype[/bold]
    """
    check_table(table)
    released = confide.load_model(model)
    rows = confide.data.read_files(table, released.schema)
    found = confide.attacks.evaluate_inversion(released, rows, attribute, scale=scale)
    if as_json:
        computed = {"advantage": found.advantage, "standard_error": found.standard_error}
        print_json({**asdict(found), **computed, "private": False})
        return
    console.print(f"[bold red]{NOT_PRIVATE}[/bold red]\n")
    print_table(
        (f"guesses of {attribute}", "correct"),
        [
            ("from the model, the outcome and all other columns", f"{found.attack:.1%}"),
            ("from the outcome alone", f"{found.without_model:.1%}"),
            ("always guessing the most common level", f"{found.constant:.1%}"),
        ],
    )
    print_note(
        f"\n{found.rows:,} rows; standard error {found.standard_error:.1%}. Advantage "
        f"from the model: {100 * found.advantage:+.1f} percentage points."
    )
