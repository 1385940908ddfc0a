"""`confide plan` and `confide audit`: what a budget buys, and whether a claim holds."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.progress import Progress

from confide.attacks import black_box_finding, exact_finding
from confide.cli.console import (
    AsJson,
    Delta,
    Epsilon,
    Rho,
    console,
    print_json,
    print_table,
    read_budget,
)
from confide.data import Schema
from confide.errors import InvalidParameter, did_you_mean
from confide.inference import (
    MOSTLY_NOISE,
    ColumnPlan,
    Plan,
    budget_to_be_useful,
    compare_mechanisms,
    noise_ratio,
    plan_columns,
    plot_plan,
    rows_to_be_useful,
)
from confide.mechanisms import MECHANISMS
from confide.objectives import (
    Clipped,
    HuberizedHinge,
    Logistic,
    Objective,
    Poisson,
    Squared,
)
from confide.privacy import Budget, Neighbours, Zcdp, row_budget

LOSSES: dict[str, tuple[Any, float | None]] = {
    "logistic": (Logistic(), None),
    "svm": (HuberizedHinge(), None),
    "linear": (Clipped(Squared(), 1.0), 1.0),
    "poisson": (Clipped(Poisson(), 3.0), 3.0),
}
Model = Annotated[str, typer.Option(help="logistic, svm, linear or poisson")]


def plan(
    rows: Annotated[int, typer.Option(help="Planned number of rows.")],
    columns: Annotated[int, typer.Option(help="Number of feature columns.")] = 0,
    schema: Annotated[
        Path | None, typer.Option(help="Schema file: gives the columns.", exists=True)
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    model: Annotated[
        str,
        typer.Option(help="logistic, svm, linear or poisson; from the schema if absent"),
    ] = "",
    neighbours: Annotated[
        str | None, typer.Option(help="add-remove or replace-one")
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Wished width of an interval.")
    ] = None,
    target_bound: Annotated[float | None, typer.Option(help="Bound of the target.")] = None,
    slope_bound: Annotated[float | None, typer.Option(help="Bound of the slope.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a budget buys before anything is spent; no data are read.

    Example: [bold]confide plan --rows 30000 --columns 40 --epsilon 1 --delta 1e-6[/bold]
    """
    budget = read_budget(epsilon, delta, rho)
    public = None if schema is None else Schema.from_toml(schema)
    if public is not None:
        columns = len(public.features)
        model = model or ("linear" if public.target.labels is None else "logistic")
        target_bound = target_bound or _reach(public, model)
    if columns < 1:
        raise InvalidParameter(
            "--columns", "1 or more, or a --schema given instead", columns
        )
    crowd = 1 if public is None else public.rows_per_person

    def plans(whole: Budget, count: int = rows) -> tuple[Plan, ...]:
        return compare_mechanisms(
            count,
            columns,
            row_budget(whole, crowd),
            model=cast("Any", model or "logistic"),
            neighbours=neighbours,
            target_bound=target_bound,
            slope_bound=slope_bound,
        )

    best, *others = plans(budget)
    wished = None if width is None else best.smallest_rows(width)
    by_column = () if public is None else plan_columns(best, public)
    advice = "" if public is None else _advice(best, public, budget, plans)
    if plot is not None:
        plot_plan(best).figure.savefig(plot, dpi=150)
    if as_json:
        print_json(
            {
                "plans": [p.records() for p in (best, *others)],
                "rows_for_width": wished,
                "columns": [asdict(column) for column in by_column],
                "warning": advice,
            }
        )
        return
    console.print(str(best), markup=False)
    if public is not None:
        _print_columns(by_column, best, public, budget)
    console.print()
    print_table(
        ("mechanism", "expected error"),
        [(p.mechanism, f"{p.total_error:.4g}") for p in (best, *others)],
    )
    if wished is not None:
        console.print(f"\nAn interval of width {width:g} needs about {wished:,} rows.")
    if plot is not None:
        console.print(f"\nPicture written to {plot}.")
    if advice:
        console.print(f"\n[bold red]Warning:[/bold red] {advice}")


def _print_columns(
    columns: tuple[ColumnPlan, ...], plan: Plan, public: Schema, budget: Budget
) -> None:
    """Print what to expect of every column in its own unit."""
    if public.rows_per_person > 1:
        console.print(f"\nThe budget above is what {budget} leaves per row of a person.")
    target = public.target
    log = "logarithm of the expected count" if plan.model == "poisson" else "log-odds"
    of = target.unit or target.column if plan.model == "linear" else log
    console.print()
    print_table(
        ("column", "per", "typical effect", "expected error", "width of interval"),
        [
            (c.column, c.per, *(f"{x:.2g}" for x in (c.typical, c.error, c.width)))
            for c in columns
        ],
        f"What to expect, in {of}",
    )
    console.print(
        "[dim]Supposing that columns are unrelated and equally telling, numbers spread "
        "evenly over their range and levels are equally frequent.[/dim]"
    )


def _advice(
    plan: Plan,
    public: Schema,
    budget: Budget,
    replan: Callable[..., tuple[Plan, ...]],
) -> str:
    """Say that a plan is not worth its budget, and what would be; or nothing."""
    if noise_ratio(plan_columns(plan, public)) < MOSTLY_NOISE:
        return ""
    rows = rows_to_be_useful(plan.rows, public, lambda n: replan(budget, n)[0])
    more = budget_to_be_useful(budget, public, lambda whole: replan(whole)[0])
    needs = [] if rows is None else [f"about {rows:,} rows"]
    needs += [] if more is None else [f"a budget of about {more}"]
    needs += ["fewer columns and levels"]
    return (
        "at this budget the model will be mostly noise. An error of half a typical effect "
        f"takes {' or '.join(needs)}."
    )


def audit(
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    model: Model = "logistic",
    mechanism: Annotated[
        str, typer.Option(help="See confide list mechanisms.")
    ] = "objective",
    neighbours: Annotated[
        str, typer.Option(help="add-remove or replace-one")
    ] = "add-remove",
    dimension: Annotated[
        int, typer.Option(help="Coefficients in the black-box audit.")
    ] = 20,
    runs: Annotated[
        int, typer.Option(help="Releases per dataset; 0 leaves it out.")
    ] = 2000,
    as_json: AsJson = False,
) -> None:
    """Attack a mechanism: exact privacy loss on a line, then a black-box audit.

    Example: [bold]confide audit --epsilon 1 --delta 1e-6 --model svm[/bold]
    """
    budget = read_budget(epsilon, delta, rho)
    if model not in LOSSES:
        must, hint = f"one of {', '.join(LOSSES)}", did_you_mean(model, LOSSES)
        raise InvalidParameter("--model", must, model, hint)
    if isinstance(budget, Zcdp):
        raise InvalidParameter("the budget", "pure or approximate for an audit", "zCDP")
    loss, bound = LOSSES[model]
    relation = Neighbours.of(neighbours)
    result: dict[str, Any] = {"claim": str(budget), "neighbours": str(relation)}
    if mechanism == "objective":
        line = Objective(loss, 1, target_bound=bound)
        with console.status("Integrating exact densities ..."):
            finding = exact_finding(line, budget, relation)
        result["exact_share_of_claim"] = finding.share_of_claim
        result["exact_pairs"] = finding.pairs
    if runs:
        attacked = MECHANISMS.find(mechanism)()
        space = Objective(loss, dimension, target_bound=bound)
        calibration = attacked.calibrate(space, budget, relation)
        with Progress(console=console, transient=True, disable=as_json) as bar:
            task = bar.add_task("Releasing with and without one record", total=2 * runs)
            found = black_box_finding(
                attacked, calibration, runs, lambda: bar.advance(task)
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


def _reach(schema: Schema, model: str) -> float | None:
    """Return how far the target reaches: from 0 for counts, else from its middle."""
    ends = schema.target.ends
    if ends is None:
        return None
    return ends[1] if model == "poisson" else (ends[1] - ends[0]) / 2


def _figure(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
