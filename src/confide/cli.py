"""The command line: `confide demo`, `confide list`.

Exit codes: 0 done, 1 a defect of confide, 2 wrong use or bad input.
"""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from confide import __version__
from confide.data import DATASETS
from confide.demo import Demo, run_demo
from confide.errors import ConfideError, NotSolved
from confide.inference import Summary
from confide.mechanisms import MECHANISMS
from confide.objectives import CONSTRAINTS, LOSSES, PENALTIES

app = typer.Typer(
    help="Private linear models with error bars.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
console = Console(highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"confide {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    epsilon: Annotated[float, typer.Option(help="Budget of the fit that is shown.")] = 2.0,
    seed: Annotated[int | None, typer.Option(help="Repeatable, and not private.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a private logistic regression on real data and show what it costs.

    Example: [bold]confide demo --epsilon 1[/bold]
    """
    if as_json:
        _print_json(_demo_record(run_demo(epsilon, seed)))
        return
    with console.status("Fitting on the breast-cancer data of scikit-learn ..."):
        shown = run_demo(epsilon, seed)
    _print_demo(shown)


@app.command("list")
def list_parts(
    what: Annotated[
        str, typer.Argument(help="mechanisms, losses, penalties, constraints or datasets")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List what confide is made of, with the status of every guarantee.

    Example: [bold]confide list mechanisms[/bold]
    """
    kinds: dict[str, list[tuple[str, ...]]] = {
        "mechanisms": [_mechanism_line(name) for name in MECHANISMS],
        "losses": [(name, _first_line(kind)) for name, kind in LOSSES.items()],
        "penalties": [(name, _first_line(kind)) for name, kind in PENALTIES.items()],
        "constraints": [(name, _first_line(kind)) for name, kind in CONSTRAINTS.items()],
        "datasets": [(name, entry.source) for name, entry in DATASETS.items()],
    }
    if what and what not in kinds:
        raise typer.BadParameter(f"choose one of {', '.join(kinds)}")
    chosen = {what: kinds[what]} if what else kinds
    if as_json:
        _print_json(
            {kind: [list(line) for line in lines] for kind, lines in chosen.items()}
        )
        return
    for kind, lines in chosen.items():
        table = Table(title=kind, title_justify="left", box=None, pad_edge=False)
        heads = (
            ("name", "status", "what it does")
            if kind == "mechanisms"
            else ("name", "what it is")
        )
        for head in heads:
            table.add_column(head, no_wrap=head != heads[-1], overflow="fold")
        for line in lines:
            table.add_row(*line)
        console.print(table)
        console.print()


def main() -> None:
    """Run the command line; errors of use end in one sentence, never in a traceback."""
    try:
        app()
    except NotSolved as error:
        Console(stderr=True).print(f"[red]defect:[/red] {error}; please report it.")
        sys.exit(1)
    except ConfideError as error:
        Console(stderr=True, highlight=False).print(f"[red]error:[/red] {error}")
        sys.exit(2)


def _mechanism_line(name: str) -> tuple[str, str, str]:
    kind = MECHANISMS[name]
    return name, "PROVED" if kind.theorems else "CLAIMED", _first_line(kind)


def _first_line(kind: type[Any]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _print_demo(shown: Demo) -> None:
    guarantee = shown.summary.guarantee
    console.print(Panel(str(guarantee), title="What is promised", expand=False))
    facts = "; ".join(f"{name}: {value}" for name, value in shown.summary.facts)
    console.print(
        f"Logistic regression of diagnosis on {len(shown.summary.rows) - 1} measurements, "
        f"{shown.rows} patients.\n[dim]{facts}[/dim]\n"
    )
    console.print(_coefficient_table(shown.summary))
    console.print(f"\nTest accuracy of this fit: [bold]{shown.accuracy:.1%}[/bold]\n")
    table = Table(
        title="What a budget buys", title_justify="left", box=None, pad_edge=False
    )
    for head in ("ε", "test accuracy", "spread", ""):
        table.add_column(head, justify="right" if head else "left")
    for epsilon, mean, spread in shown.by_epsilon:
        bar = "█" * round(40 * mean)
        table.add_row(f"{epsilon:g}", f"{mean:.1%}", f"± {spread:.1%}", bar)
    plain = shown.without_privacy
    table.add_row("no privacy", f"{plain:.1%}", "", "█" * round(40 * plain))
    console.print(table)
    console.print(
        "\n[dim]The test accuracies describe public data; on your own data each of them "
        "would cost budget too.[/dim]"
    )


def _coefficient_table(summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("coefficient")
    table.add_column("per unit", justify="right")
    for row in summary.rows:
        table.add_row(row.name, f"{row.estimate:.4g}")
    return table


def _demo_record(shown: Demo) -> dict[str, Any]:
    guarantee = shown.summary.guarantee
    return {
        "guarantee": {
            "budget": str(guarantee.budget),
            "neighbours": str(guarantee.neighbours),
            "status": str(guarantee.status),
            "theorem": guarantee.theorem,
            "assumptions": list(guarantee.assumptions),
            "private": guarantee.private,
        },
        "coefficients": shown.summary.records(),
        "accuracy": shown.accuracy,
        "by_epsilon": [
            {"epsilon": e, "accuracy": mean, "spread": spread}
            for e, mean, spread in shown.by_epsilon
        ],
        "without_privacy": shown.without_privacy,
    }


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
