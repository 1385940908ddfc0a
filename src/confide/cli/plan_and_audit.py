"""`confide plan` and `confide audit`: what a budget buys, and whether a claim holds."""

from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.progress import Progress

from confide.attacks import black_box_finding, exact_finding
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    Level,
    Rho,
    WithIntervals,
    check_picture,
    console,
    print_json,
    print_note,
    print_table,
    read_budget,
    read_intervals,
)
from confide.cli.plan_steps import StepsPlan, plan_steps
from confide.data import Schema
from confide.errors import InvalidParameter, did_you_mean
from confide.mechanisms import MECHANISMS
from confide.objectives import (
    Clipped,
    HuberizedHinge,
    Logistic,
    Objective,
    Poisson,
    Squared,
)
from confide.planning import (
    MOSTLY_NOISE,
    ColumnPlan,
    Plan,
    budget_to_be_useful,
    compare_mechanisms,
    left_for_coefficients,
    noise_ratio,
    plan_columns,
    plot_plan,
    rows_to_be_useful,
)
from confide.privacy import Budget, Neighbours, Zcdp, row_budget
from confide.reporting import guarantee_record

LOSSES: dict[str, tuple[Any, float | None]] = {
    "logistic": (Logistic(), None),
    "svm": (HuberizedHinge(), None),
    "linear": (Clipped(Squared(), 1.0), 1.0),
    "poisson": (Clipped(Poisson(), 3.0), 3.0),
}
UNSTEADY = 1.5
"""How far the upper quartile of widths may be from their median without a remark."""
Model = Annotated[str, typer.Option(help="logistic, svm, linear or poisson")]


def plan(
    rows: Annotated[int | None, typer.Option(help="Planned number of rows.")] = None,
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
    intervals: WithIntervals = None,
    level: Level = None,
    width: Annotated[
        float | None, typer.Option(help="Wished width of an interval.")
    ] = None,
    target_bound: Annotated[float | None, typer.Option(help="Bound of the target.")] = None,
    slope_bound: Annotated[float | None, typer.Option(help="Bound of the slope.")] = None,
    steps: Annotated[
        int | None, typer.Option(help="Plan so many noisy gradients instead of a fit.")
    ] = None,
    rate: Annotated[
        str, typer.Option(help="Part of the rows in every one of those steps.")
    ] = "1",
    plot: Annotated[Path | None, typer.Option(help="Picture to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a budget buys before anything is spent; no data are read.

    Example: [bold]confide plan --rows 30000 --columns 40 --epsilon 1 --delta 1e-6
    --intervals auto[/bold]
    """
    budget = read_budget(epsilon, delta, rho)
    wish = read_intervals(intervals, level)
    if plot is not None:
        check_picture(plot)
    if steps is not None:
        relation = neighbours or str(Neighbours.ADD_REMOVE)
        plan_steps(StepsPlan.of(budget, steps, rate, relation), plot, as_json=as_json)
        return
    count = _rows(rows)
    public = None if schema is None else Schema.from_toml(schema)
    features = _columns(columns, public)
    if public is not None:
        model = model or ("linear" if public.target.labels is None else "logistic")
        target_bound = target_bound or _reach(public, model)
    crowd = 1 if public is None else public.rows_per_person

    def plans(whole: Budget, **settings: Any) -> tuple[Plan, ...]:
        return compare_mechanisms(
            count,
            features,
            row_budget(whole, crowd),
            model=cast("Any", model or "logistic"),
            target_bound=target_bound,
            slope_bound=slope_bound,
            **settings,
        )

    found = plans(budget, neighbours=neighbours, intervals=wish)
    best = found[0]
    wished = None if width is None else best.smallest_rows(width)
    by_column: tuple[ColumnPlan, ...] = ()
    advice = ""
    if public is not None:
        by_column = plan_columns(best, public)
        advice = _advice(found, public, budget, plans)
    if plot is not None:
        plot_plan(best).figure.savefig(plot, dpi=150)
    if as_json:
        print_json(
            {
                "plans": [p.records() for p in found],
                "guarantees": [guarantee_record(p.guarantee) for p in found],
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
        ("mechanism", "expected error", "status"),
        [(p.mechanism, f"{p.total_error:.4g}", str(p.guarantee.status)) for p in found],
    )
    _print_remarks(best, by_column, plot)
    _print_wish(width, wished)
    if advice:
        console.print(f"\n[bold red]Warning:[/bold red] {advice}")


def _rows(count: int | None) -> int:
    if count is None:
        raise InvalidParameter(
            "--rows", "given, or --steps instead to plan noisy gradients", None
        )
    return count


def _print_wish(width: float | None, rows: int | None) -> None:
    if width is not None and rows is not None:
        console.print(f"\nAn interval of width {width:g} needs about {rows:,} rows.")


def _columns(count: int, public: Schema | None) -> int | Schema:
    """Return the schema, or the number of features without one."""
    if public is not None:
        return public
    if count < 1:
        raise InvalidParameter("--columns", "1 or more, or a --schema given instead", count)
    return count


def _print_remarks(plan: Plan, columns: tuple[ColumnPlan, ...], plot: Path | None) -> None:
    """Print what widths mean, whether they can be relied on, and where a picture is."""
    blurred = [c.column for c in columns if c.width > 2 * c.typical]
    unsteady = [c for c in columns if c.wide > UNSTEADY * c.width]
    if plan.intervals is None:
        print_note("\nA fit shows such widths with --intervals only, and pays for them.")
    elif unsteady:
        worst = max(unsteady, key=lambda c: c.wide / c.width)
        console.print(
            "\nWidths will vary from fit to fit, for noise hides what they are computed "
            f"from: in one of four fits that of {worst.column} exceeds {worst.wide:.2g}.",
            markup=False,
        )
    if plan.intervals is not None and blurred:
        console.print(
            f"\nToo wide to tell a typical effect from none: {', '.join(blurred)}. More "
            "rows, a larger budget, or fewer columns and levels would help.",
            markup=False,
        )
    if plot is not None:
        console.print(f"\nPicture written to {plot}.", markup=False)


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
    plans: tuple[Plan, ...],
    public: Schema,
    budget: Budget,
    replan: Callable[..., tuple[Plan, ...]],
) -> str:
    """Say that a plan is not worth its budget, and what would be; or nothing."""
    plan, part = plans[0], Fraction(1)
    if noise_ratio(plan_columns(plan, public)) < MOSTLY_NOISE:
        return ""

    if plan.intervals is not None:
        part = plan.intervals.split[0]
    bare = [replace(one, intervals=None) for one in plans]

    def with_rows(count: int) -> Plan:
        grown = [one.with_rows(count) for one in bare]
        return min(grown, key=lambda one: one.total_error)

    def with_budget(whole: Budget) -> Plan:
        alone = whole if part == 1 else left_for_coefficients(whole, part)
        return replan(alone, neighbours=plan.neighbours)[0]

    rows = rows_to_be_useful(plan.rows, public, with_rows)
    more = budget_to_be_useful(budget, public, with_budget)
    needs = [] if rows is None else [f"about {rows:,} rows"]
    needs += [] if more is None else [f"a budget of about {more}"]
    needs += ["fewer columns and levels"]
    return (
        "at this budget the model will be mostly noise. An error of half a typical effect "
        f"takes {' or '.join(needs)}."
    )


def audit(
    context: typer.Context,
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
    if context.invoked_subcommand is not None:
        return
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
            found = black_box_finding(calibration, runs, lambda: bar.advance(task))
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
