"""`confide plan`: what a budget buys, before any of it is spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

import confide
from confide.cli.output import (
    AsJson,
    Delta,
    Epsilon,
    Level,
    Rho,
    WithIntervals,
    check_plot_file,
    console,
    either,
    print_json,
    print_note,
    print_table,
    read_budget,
    read_intervals,
)
from confide.errors import InvalidParameter
from confide.estimators.catalogue import model_names

UNSTEADY_RATIO = 1.5
"""How far the upper quartile of widths may be from their median without a remark."""
POINTS, DRAWN = 7, 13
"""Numbers of steps in a table and in a picture."""
METHODS = {
    "gaussian": "exact",
    "pld": "loss distribution",
    "renyi": "Renyi, tight",
    "renyi-general": "Renyi, any mechanism",
}


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
        typer.Option(help=f"{either(model_names())}; from the schema if absent"),
    ] = "",
    neighbours: Annotated[
        str | None, typer.Option(help="add-remove or replace-one")
    ] = None,
    intervals: WithIntervals = None,
    level: Level = None,
    width: Annotated[
        float | None, typer.Option(help="Desired width of an interval.")
    ] = None,
    target_bound: Annotated[float | None, typer.Option(help="Bound of the target.")] = None,
    slope_bound: Annotated[float | None, typer.Option(help="Bound of the slope.")] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Plan this number of noisy gradients instead of a fit."),
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
    error_bars = read_intervals(intervals, level)
    if plot is not None:
        check_plot_file(plot)
    if steps is not None:
        relation = neighbours or str(confide.Neighbours.ADD_REMOVE)
        planned = confide.planning.StepsPlan.of(budget, steps, rate, relation)
        _print_steps(planned, plot, as_json=as_json)
        return
    count = _rows(rows)
    public = None if schema is None else confide.Schema.from_toml(schema)
    features = _columns(columns, public)
    if public is not None:
        model = model or model_names(labelled=public.target.labels is not None)[0]
        target_bound = target_bound or _bound(public, model)
    rows_per_person = 1 if public is None else public.rows_per_person

    def plans(
        whole: confide.privacy.Budget, **settings: Any
    ) -> tuple[confide.planning.Plan, ...]:
        return confide.planning.compare_mechanisms(
            count,
            features,
            confide.privacy.row_budget(whole, rows_per_person),
            model=model or model_names()[0],
            target_bound=target_bound,
            slope_bound=slope_bound,
            **settings,
        )

    found = plans(budget, neighbours=neighbours, intervals=error_bars)
    best = found[0]
    needed = None if width is None else best.smallest_rows(width)
    by_column: tuple[confide.planning.ColumnPlan, ...] = ()
    advice = ""
    if public is not None:
        by_column = confide.planning.plan_columns(best, public)
        advice = _advice(found, public, budget, plans)
    if plot is not None:
        confide.planning.plot_plan(best).figure.savefig(plot, dpi=150)
    if as_json:
        print_json(
            {
                "plans": [p.records() for p in found],
                "guarantees": [
                    confide.reporting.guarantee_record(p.guarantee) for p in found
                ],
                "rows_for_width": needed,
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
    _print_needed(width, needed)
    if advice:
        console.print(f"\n[bold red]Warning:[/bold red] {advice}")


def _rows(count: int | None) -> int:
    if count is None:
        raise InvalidParameter(
            "--rows", "given, or --steps instead to plan noisy gradients", None
        )
    return count


def _print_needed(width: float | None, rows: int | None) -> None:
    if width is not None and rows is not None:
        console.print(f"\nAn interval of width {width:g} needs about {rows:,} rows.")


def _columns(count: int, public: confide.Schema | None) -> int | confide.Schema:
    """Return the schema, or the number of features without one."""
    if public is not None:
        return public
    if count < 1:
        raise InvalidParameter("--columns", "1 or more, or a --schema given instead", count)
    return count


def _print_remarks(
    plan: confide.planning.Plan,
    columns: tuple[confide.planning.ColumnPlan, ...],
    plot: Path | None,
) -> None:
    """Print what widths mean, whether they can be relied on, and where a picture is."""
    too_wide = [c.column for c in columns if c.width > 2 * c.typical]
    unsteady = [c for c in columns if c.wide > UNSTEADY_RATIO * c.width]
    if plan.intervals is None:
        print_note("\nA fit shows such widths with --intervals only, and pays for them.")
    elif unsteady:
        worst = max(unsteady, key=lambda c: c.wide / c.width)
        console.print(
            "\nWidths will vary from fit to fit, for noise hides what they are computed "
            f"from: in one of four fits that of {worst.column} exceeds {worst.wide:.2g}.",
            markup=False,
        )
    if plan.intervals is not None and too_wide:
        console.print(
            f"\nToo wide to tell a typical effect from none: {', '.join(too_wide)}. More "
            "rows, a larger budget, or fewer columns and levels would help.",
            markup=False,
        )
    if plot is not None:
        console.print(f"\nPicture written to {plot}.", markup=False)


def _print_columns(
    columns: tuple[confide.planning.ColumnPlan, ...],
    plan: confide.planning.Plan,
    public: confide.Schema,
    budget: confide.privacy.Budget,
) -> None:
    """Print what to expect of every column in its own unit."""
    if public.rows_per_person > 1:
        console.print(f"\nThe budget above is what {budget} leaves per row of a person.")
    target = public.target
    of = plan.family.predictor or target.unit or target.column
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
    plans: tuple[confide.planning.Plan, ...],
    public: confide.Schema,
    budget: confide.privacy.Budget,
    replan: Callable[..., tuple[confide.planning.Plan, ...]],
) -> str:
    """Say that a plan is not worth its budget, and what would be; or nothing."""
    plan, part = plans[0], Fraction(1)
    columns = confide.planning.plan_columns(plan, public)
    if confide.planning.noise_ratio(columns) < confide.planning.MOSTLY_NOISE:
        return ""
    if plan.intervals is not None:
        part = plan.intervals.split[0]
    bare = [replace(one, intervals=None) for one in plans]

    def with_rows(count: int) -> confide.planning.Plan:
        grown = [one.with_rows(count) for one in bare]
        return min(grown, key=lambda one: one.total_error)

    def with_budget(whole: confide.privacy.Budget) -> confide.planning.Plan:
        alone = whole
        if part != 1:
            alone = confide.planning.left_for_coefficients(whole, part, plan.noise_kind)
        return replan(alone, neighbours=plan.neighbours)[0]

    rows = confide.planning.rows_to_be_useful(plan.rows, public, with_rows)
    more = confide.planning.budget_to_be_useful(budget, public, with_budget)
    needs = [] if rows is None else [f"about {rows:,} rows"]
    needs += [] if more is None else [f"a budget of about {more}"]
    needs += ["fewer columns and levels"]
    return (
        "at this budget the model will be mostly noise. An error of half a typical effect "
        f"takes {' or '.join(needs)}."
    )


def _bound(schema: confide.Schema, model: str) -> float | None:
    """Return how far the target reaches: from 0 for counts, else from its middle."""
    ends = schema.target.ends
    if ends is None:
        return None
    bound: float = confide.objectives.MODELS.find(model).family.bound(*ends)
    return bound


# -------------------------------------------------------------------------------- steps


def _print_steps(
    plan: confide.planning.StepsPlan, plot: Path | None, *, as_json: bool
) -> None:
    """Print the multiplier and a table of epsilon against steps; draw it with --plot."""
    table = [(count, plan.epsilon(count, "best")) for count in plan.grid(POINTS)]
    if plot is not None:
        _draw(plan, plot)
    if as_json:
        print_json(
            {
                "multiplier": plan.multiplier,
                "sampling": confide.accounting.sampling_for(plan.neighbours),
                "guarantee": confide.reporting.guarantee_record(plan.guarantee),
                "epsilon_by_steps": [
                    {"steps": count, "epsilon": epsilon} for count, epsilon in table
                ],
            }
        )
        return
    console.print(_words(plan), markup=False)
    console.print(f"\nThe same noise, at δ = {float(plan.budget.delta):g}:\n")
    print_table(
        ("steps", "ε"), [(f"{count:,}", f"{epsilon:.4g}") for count, epsilon in table]
    )
    if plot is not None:
        console.print(f"\nPicture written to {plot}.", markup=False)


def _words(plan: confide.planning.StepsPlan) -> str:
    records = "twice " if plan.neighbours is confide.Neighbours.REPLACE_ONE else ""
    each = "sums over all rows"
    if plan.rate < 1:
        sampling = confide.accounting.sampling_for(plan.neighbours)
        drawn = sampling.replace("poisson", "Poisson")
        each = f"batches of {float(plan.rate):.4g} of the rows ({drawn})"
    return (
        f"{plan.guarantee}\n"
        f"Steps        {plan.steps:,}, {each}\n"
        f"Noise        {plan.multiplier:.6g} times {records}the longest gradient, on every "
        "sum"
    )


def _draw(plan: confide.planning.StepsPlan, plot: Path) -> None:
    counts = plan.grid(DRAWN)
    curves = {
        METHODS[method]: [plan.epsilon(count, method) for count in counts]
        for method in plan.methods()
    }
    title = (
        f"noise {plan.multiplier:.4g}, rate {float(plan.rate):.4g}, "
        f"δ = {float(plan.budget.delta):g}, {plan.neighbours} neighbours"
    )
    axes = confide.planning.plot_steps(counts, curves, planned=plan.steps, title=title)
    axes.axhline(float(plan.budget.epsilon), color="0.5", lw=1, ls=":")
    axes.figure.savefig(plot, dpi=150)
