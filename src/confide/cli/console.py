"""What the commands share: where they print, budgets from options, errors in a sentence."""

import json
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from confide.accounting import Ledger
from confide.errors import InvalidParameter
from confide.inference import Summary
from confide.privacy import Approx, Budget, Guarantee, Pure, Zcdp

console = Console(highlight=False)
complaints = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Epsilon = Annotated[
    str | None, typer.Option("--epsilon", "-e", help="Budget: epsilon, like 1 or 0.5.")
]
Delta = Annotated[
    str | None,
    typer.Option("--delta", "-d", help="Budget: delta, like 1e-6; none is pure."),
]
Rho = Annotated[str | None, typer.Option("--rho", help="Budget: rho of zCDP instead.")]


def read_budget(epsilon: str | None, delta: str | None, rho: str | None) -> Budget:
    """Turn options into a budget; exactly one kind must be named."""
    if rho is not None and epsilon is None and delta is None:
        return Zcdp(rho)
    if rho is None and epsilon is not None:
        return Pure(epsilon) if delta is None else Approx(epsilon, delta)
    raise InvalidParameter(
        "the budget",
        "given by --epsilon, by --epsilon and --delta, or by --rho alone",
        {"epsilon": epsilon, "delta": delta, "rho": rho},
        "Try --epsilon 1 --delta 1e-6.",
    )


def check_new_file(out: Path) -> None:
    """Refuse, before anything is spent, a file that could not or must not be written."""
    if out.exists():
        raise InvalidParameter(
            "--out", "a new file", str(out), "It exists; remove it first."
        )
    if not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise InvalidParameter("--out", "in a folder that can be written to", str(out))


def open_existing(ledger: str, dataset: str = "people") -> Ledger:
    """Open a ledger to use it; a mistyped name must not become an empty book."""
    if "://" not in ledger and not Path(ledger).exists():
        raise InvalidParameter(
            "the ledger",
            "a file that exists",
            ledger,
            "Setting a limit makes one: "
            f"{limit_command(ledger, dataset)} (choose your own numbers).",
        )
    return Ledger.open(ledger)


def limit_command(ledger: str, dataset: str) -> str:
    """Return the command that sets the limit of a dataset."""
    name = f"--dataset {shlex.quote(dataset)}"
    return f"confide budget {shlex.quote(ledger)} {name} --epsilon 3 --delta 1e-5"


def print_json(content: Any) -> None:
    """Print JSON and nothing else."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def print_guarantee(guarantee: Guarantee) -> None:
    """Print what is promised, first and in a frame."""
    colour = "green" if guarantee.private else "red"
    console.print(
        Panel(str(guarantee), title="What is promised", expand=False, border_style=colour)
    )


def print_table(
    heads: Iterable[str], lines: Iterable[Iterable[str]], title: str | None = None
) -> None:
    """Print a table without lines; the first column is text, the others are figures."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i == 0 else "right", overflow="fold")
    for line in lines:
        table.add_row(*map(escape, line))
    console.print(table)


def print_coefficients(summary: Summary) -> None:
    """Print the coefficients, with their intervals where there are any."""
    bounded = any(row.lower is not None for row in summary.rows)
    heads = ("coefficient", "estimate", *(("lower", "upper") if bounded else ()))
    lines = []
    for row in summary.rows:
        bounds = (row.lower, row.upper) if bounded else ()
        figures = [row.estimate, *bounds]
        lines.append([row.name, *("" if f is None else f"{f:.4g}" for f in figures)])
    print_table(heads, lines)


def guarantee_record(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as plain values."""
    return {
        "budget": None if guarantee.budget is None else str(guarantee.budget),
        "neighbours": str(guarantee.neighbours),
        "status": str(guarantee.status),
        "theorem": guarantee.theorem,
        "assumptions": list(guarantee.assumptions),
        "private": guarantee.private,
    }


def summary_record(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain values."""
    return {
        "model": summary.title,
        "guarantee": guarantee_record(summary.guarantee),
        "coefficients": summary.records(),
        **{name.lower(): value for name, value in (*summary.about, *summary.facts)},
    }
