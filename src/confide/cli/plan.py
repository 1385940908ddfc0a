"""`confide plan`: expected accuracy for a budget, before any of it is spent."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import confide
from confide.cli.fit import fitting_kind
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
    print_guarantee,
    print_json,
    print_note,
    print_table,
    read_budget,
    read_intervals,
)
from confide.cli.tables import Formula, read_schema
from confide.errors import ConfideError, InvalidParameter, UnmetNeeds
from confide.estimators.catalogue import model_names

USUAL_MECHANISMS = ("objective", "output")
"""Mechanisms that are compared by default."""
OFTEN_IDENTIFIED = 0.75
"""Share of the simulated tables in which a column should have an interval.

Columns with a smaller share are reported as hidden by noise.
"""
WITHOUT_INTERVALS = (
    "\nIntervals are computed only with --intervals, and use part of the budget."
)

POINTS, DRAWN = 7, 13
"""Number of rows in the printed table, and number of points in the plot."""
METHODS = {
    "gaussian": "exact",
    "pld": "loss distribution",
    "renyi": "Rényi, tight",
    "renyi-general": "Rényi bound, any mechanism",
}


def plan(
    rows: Annotated[int | None, typer.Option(help="Planned number of rows.")] = None,
    columns: Annotated[int, typer.Option(help="Number of feature columns.")] = 0,
    schema: Annotated[
        Path | None,
        typer.Option(help="Schema file that declares the columns.", exists=True),
    ] = None,
    formula: Formula = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    model: Annotated[
        str,
        typer.Option(
            help=f"Model: {either(model_names())} (default: depends on the target)."
        ),
    ] = "",
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="Mechanism, as in confide fit (default: compare objective and output)."
        ),
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="Neighbour relation: add-remove or replace-one.")
    ] = None,
    intervals: WithIntervals = None,
    level: Level = None,
    intervals_of: IntervalsOf = None,
    l2: Annotated[
        float | None, typer.Option(help="Ridge penalty (default: automatic).")
    ] = None,
    ranges: Annotated[
        str, typer.Option(help="Ranges of numeric columns, as in confide fit.")
    ] = "auto",
    width: Annotated[
        str | None,
        typer.Option(
            help="Desired width of an interval, such as 0.1, or age=0.1 with a schema."
        ),
    ] = None,
    target_bound: Annotated[
        float | None, typer.Option(help="Bound on the absolute value of the target.")
    ] = None,
    slope_bound: Annotated[
        float | None, typer.Option(help="Bound on the slope of the loss.")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Plan this number of steps of gradient descent with noise, instead of a "
            "fit."
        ),
    ] = None,
    rate: Annotated[
        str, typer.Option(help="Sampling rate: share of the rows in each step.")
    ] = "1",
    buy_ranges: Annotated[
        bool,
        typer.Option(
            "--buy-ranges",
            help="Plan the estimation of ranges (confide ranges) instead of a fit.",
        ),
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Plot to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the expected accuracy for a budget, before spending it; no data are read.

    Example: [bold]confide plan --schema people.toml --rows 30000 --epsilon 1
    --delta 1e-6 --intervals auto --width age=0.1[/bold]
    """
    budget = read_budget(epsilon, delta, rho)
    error_bars = read_intervals(intervals, level, intervals_of)
    if plot is not None:
        check_plot_file(plot)
    if steps is not None:
        relation = neighbours or str(confide.Neighbours.ADD_REMOVE)
        planned = confide.planning.StepsPlan.of(budget, steps, rate, relation)
        _print_steps(planned, plot, as_json=as_json)
        return
    count = _rows(rows)
    if schema is None:
        _refuse_without_schema(
            mechanism=mechanism, buy_ranges=buy_ranges or None, formula=formula, l2=l2
        )
        found = confide.planning.compare_mechanisms(
            count,
            _columns(columns),
            budget,
            model=model or model_names()[0],
            neighbours=neighbours,
            target_bound=target_bound,
            slope_bound=slope_bound,
            intervals=error_bars,
        )
        _print_arrays(found, width, plot, as_json=as_json)
        return
    public, constant = read_schema(schema, formula)
    if buy_ranges:
        bought = confide.planning.plan_ranges(
            public, count, budget, neighbours=neighbours, intervals=error_bars is not None
        )
        _print_ranges(bought, as_json=as_json)
        return
    settings: dict[str, Any] = {
        "schema": public,
        "fit_intercept": constant,
        "neighbours": neighbours,
        "intervals": error_bars,
        "ranges": ranges,
        "l2": "auto" if l2 is None else l2,
    }
    bounds = {"target_bound": target_bound, "slope_bound": slope_bound}
    settings |= {name: value for name, value in bounds.items() if value is not None}
    kind = fitting_kind(model, public)
    names = USUAL_MECHANISMS if mechanism is None else (mechanism,)
    models = [kind(budget, mechanism=name, **settings) for name in names]
    plans = _fit_plans(models, count)
    aims = () if width is None else _aims(plans[0], width)
    _print_fit(plans, aims, plot, as_json=as_json)


def _rows(count: int | None) -> int:
    if count is None:
        raise InvalidParameter(
            "--rows",
            "given, or replaced by --steps to plan steps of gradient descent with noise",
            None,
        )
    return count


def _columns(count: int) -> int:
    if count < 1:
        raise InvalidParameter("--columns", "1 or more, or replaced by --schema", count)
    return count


def _refuse_without_schema(**settings: Any) -> None:
    """Reject options that require a schema."""
    for name, value in settings.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise InvalidParameter(
                option, "left out, or used together with --schema", value
            )


# -------------------------------------------------------------------------------- arrays


def _print_arrays(
    plans: tuple[confide.planning.Plan, ...],
    width: str | None,
    plot: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print plans that are based on a number of columns instead of a schema."""
    best = plans[0]
    needed = None if width is None else best.smallest_rows(_number(width))
    if plot is not None:
        confide.planning.plot_plan(best).figure.savefig(plot, dpi=150)
    if as_json:
        guarantees = [confide.reporting.guarantee_record(p.guarantee) for p in plans]
        print_json(
            {
                "plans": [p.records() for p in plans],
                "guarantees": guarantees,
                "rows_for_width": needed,
            }
        )
        return
    console.print(str(best), markup=False)
    console.print()
    print_table(
        ("mechanism", "expected error", "status"),
        [(p.mechanism, f"{p.total_error:.4g}", str(p.guarantee.status)) for p in plans],
    )
    if best.intervals is None:
        print_note(WITHOUT_INTERVALS)
    if plot is not None:
        console.print(f"\nPicture written to {plot}.", markup=False)
    if needed is not None:
        console.print(f"\nAn interval of width {width} needs about {needed:,} rows.")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidParameter("--width", "a positive number, such as 0.1", text) from None


# -------------------------------------------------------------------------- with a schema


def _fit_plans(models: list[Any], rows: int) -> tuple[confide.planning.FitPlan, ...]:
    """Return the plans of all models that can be planned, the least noisy first."""
    plans: list[confide.planning.FitPlan] = []
    refusals: list[ConfideError] = []
    for model in models:
        try:
            plans.append(confide.planning.plan_fit(model, rows))
        except (InvalidParameter, UnmetNeeds) as refusal:
            refusals.append(refusal)
    if not plans:
        raise refusals[0]
    return tuple(sorted(plans, key=lambda plan: plan.noise_ratio))


def _aims(plan: confide.planning.FitPlan, width: str) -> tuple[dict[str, Any], ...]:
    """Return the smallest number of rows and the smallest budget for a desired width.

    There are two answers: one that holds for half of the simulated tables, and one
    (``cautious``) that holds for three quarters of them.
    """
    name, _, text = width.rpartition("=")
    if not name:
        names = [column.name for column in plan.columns]
        must = f"a column name and a width, such as {names[0]}=0.1"
        raise InvalidParameter("--width", must, width)
    goal = _number(text)
    return tuple(
        {
            "name": name,
            "width": goal,
            "cautious": cautious,
            "rows": plan.smallest_rows(name, goal, cautious=cautious),
            "budget": plan.smallest_budget(name, goal, cautious=cautious),
        }
        for cautious in (False, True)
    )


def _print_fit(
    plans: tuple[confide.planning.FitPlan, ...],
    aims: tuple[dict[str, Any], ...],
    plot: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print the expected accuracy, and the rows or the budget for a desired width."""
    best, advice = plans[0], plans[0].advice()
    if plot is not None:
        confide.planning.plot_fit_plan(best).figure.savefig(plot, dpi=150)
    if as_json:
        guarantees = [confide.reporting.guarantee_record(p.guarantee) for p in plans]
        told = [{**one, "budget": _said(one["budget"])} for one in aims]
        print_json(
            {
                "plans": [plan.record() for plan in plans],
                "guarantees": guarantees,
                "widths": told,
                "warning": advice,
            }
        )
        return
    console.print(str(best), markup=False)
    _print_columns(best)
    if len(plans) > 1:
        console.print()
        print_table(
            ("mechanism", "error / effect", "status"),
            [
                (p.main.mechanism.name, f"{p.noise_ratio:.2g}", str(p.guarantee.status))
                for p in plans
            ],
        )
    if plot is not None:
        console.print(f"\nPicture written to {plot}.", markup=False)
    for one in aims:
        console.print(f"\n{_answer(one, best)}", markup=False)
    if advice:
        console.print(f"\n[bold red]Warning:[/bold red] {advice[0].lower()}{advice[1:]}")


def _print_columns(plan: confide.planning.FitPlan) -> None:
    """Print the expected accuracy of every coefficient in its own unit."""
    schema = plan.fit.spec.schema
    assert schema is not None  # noqa: S101
    target = schema.target
    of = confide.planning.family_of(plan.model).predictor or target.unit or target.column
    console.print()
    widths = ("width of interval", "quartiles") if plan.with_intervals else ()
    heads = ("column", "per", "typical effect", "expected error", *widths)
    print_table(
        heads, [_cells(plan, column) for column in plan.columns], f"What to expect, in {of}"
    )
    hidden = [one.name for one in plan.columns if one.identified < OFTEN_IDENTIFIED]
    if not plan.with_intervals:
        print_note(WITHOUT_INTERVALS)
    elif hidden:
        console.print(
            f"\nIn some simulated tables, noise hides these columns at this budget: "
            f"{', '.join(hidden)}. More rows, a "
            "larger budget, or fewer columns and levels would help.",
            markup=False,
        )
    if any(_is_wide(column) for column in plan.columns):
        wide = [column.name for column in plan.columns if _is_wide(column)]
        console.print(
            f"\nIntervals too wide to distinguish a typical effect from zero: "
            f"{', '.join(wide)}.",
            markup=False,
        )


def _is_wide(column: confide.planning.LinePlan) -> bool:
    return column.width > 2 * column.effect


def _cells(
    plan: confide.planning.FitPlan, column: confide.planning.LinePlan
) -> tuple[str, ...]:
    cells = (column.name, column.per, f"{column.effect:.2g}", f"{column.error:.2g}")
    if not plan.with_intervals:
        return cells
    if math.isnan(column.width):
        return (*cells, "not identified", "")
    return (*cells, f"{column.width:.2g}", f"{column.narrow:.2g} to {column.wide:.2g}")


def _answer(aim: dict[str, Any], plan: confide.planning.FitPlan) -> str:
    """Return a sentence on the number of rows or the budget that a desired width needs."""
    how = "in three of four simulated tables" if aim["cautious"] else "probably"
    rows, budget = aim["rows"], aim["budget"]
    needs = [] if rows is None else [f"about {rows:,} rows with this budget"]
    needs += [] if budget is None else [f"a budget of {budget} with {plan.rows:,} rows"]
    what = f"A width of {aim['width']:g} for the interval of {aim['name']} {how}"
    if not needs:
        return (
            f"{what} cannot be reached by changing only the budget or only the number of "
            "rows."
        )
    left_out = (
        ""
        if budget is not None
        else f" With {plan.rows:,} rows, no budget is large enough."
    )
    return f"{what} needs {', or '.join(needs)}.{left_out}"


def _said(budget: confide.privacy.Budget | None) -> str | None:
    return None if budget is None else str(budget)


# -------------------------------------------------------------------------------- ranges


def _print_ranges(plan: confide.planning.RangePlan, *, as_json: bool) -> None:
    """Print the expected accuracy of estimated ranges."""
    if as_json:
        record = confide.reporting.guarantee_record(plan.guarantee)
        lines = [asdict(line) for line in plan.lines]
        print_json({"guarantee": record, "noise": plan.noise, "columns": lines})
        return
    print_guarantee(plan.guarantee)
    console.print(
        f"\nNoise on counts: {plan.noise_kind}, {plan.noise:.3g} rows of {plan.rows:,}."
    )
    console.print()
    print_table(
        ("column", "found", "length / needed", "limits / needed", "cut off"),
        [
            (
                line.name,
                f"{line.found:.0%}",
                f"{line.length:.2g}",
                f"{line.declared:.2g}",
                f"{line.cut:.1%}",
            )
            for line in plan.lines
        ],
        "Expected accuracy of ranges",
    )
    console.print(
        "[dim]Found: share of simulated tables in which the estimated range is at most "
        "twice as wide as the distance between the quantiles that it estimates, with at "
        "most 5 % of the values outside.[/dim]"
    )


# -------------------------------------------------------------------------------- steps


def _print_steps(
    plan: confide.planning.StepsPlan, plot: Path | None, *, as_json: bool
) -> None:
    """Print the noise multiplier and a table of epsilon by number of steps."""
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
    console.print(f"\nWith the same noise, at δ = {float(plan.budget.delta):g}:\n")
    print_table(
        ("steps", "ε"), [(f"{count:,}", f"{epsilon:.4g}") for count, epsilon in table]
    )
    if plot is not None:
        console.print(f"\nPicture written to {plot}.", markup=False)


def _words(plan: confide.planning.StepsPlan) -> str:
    records = "twice " if plan.neighbours is confide.Neighbours.REPLACE_ONE else ""
    each = "each a sum over all rows"
    if plan.rate < 1:
        sampling = confide.accounting.sampling_for(plan.neighbours)
        drawn = sampling.replace("poisson", "Poisson")
        each = f"each on {float(plan.rate):.4g} of the rows ({drawn} sampling)"
    return (
        f"{plan.guarantee}\n"
        f"Steps        {plan.steps:,}, {each}\n"
        f"Noise        {plan.multiplier:.6g} times {records}the largest gradient norm, "
        "added to every sum"
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
