"""`confide demo` and `confide list`."""

from typing import Annotated, Any

import typer

from confide.cli.output import (
    AsJson,
    claims_said,
    console,
    print_coefficients,
    print_guarantee,
    print_json,
    print_note,
    print_table,
)
from confide.data import DATASETS
from confide.demo import Demo, run_demo
from confide.mechanisms import MECHANISMS
from confide.objectives import CONSTRAINTS, LOSSES, PENALTIES
from confide.privacy import Status, shortfall
from confide.reporting import summary_record
from confide.selection import SELECTORS
from confide.studies import STUDIES

ABOUT_STATUS = (
    "CLAIMED: the theorem is proved for real numbers, and noise in double precision, added "
    "last, falls short of it: the last digits may give a row away. So it is with every fit "
    "that has intervals. PROVED assumes noise of real numbers too, but no such attack on "
    "it is known. docs/proofs/finite-precision.md"
)


def demo(
    epsilon: Annotated[float, typer.Option(help="Budget of the fit that is shown.")] = 4.0,
    seed: Annotated[int | None, typer.Option(help="Repeatable, and not private.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a private model with error bars on real data and show what it costs.

    Example: [bold]confide demo --epsilon 8[/bold]
    """
    with claims_said():
        if as_json:
            print_json(_record(run_demo(epsilon, seed)))
            return
        with console.status("Fitting on the breast-cancer data of scikit-learn ..."):
            shown = run_demo(epsilon, seed)
    print_guarantee(shown.summary.guarantee)
    facts = "; ".join(f"{name}: {value}" for name, value in shown.summary.facts)
    console.print(
        f"Logistic regression of diagnosis on {len(shown.summary.rows) - 1} measurements, "
        f"{shown.rows} patients.\n[dim]{facts}[/dim]\n"
    )
    print_coefficients(shown.summary, ("no noise", shown.noise_free))
    console.print(f"\n{_in_words(shown)}\n", markup=False)
    lines = [(f"{e:g}", f"{m:.1%}", f"± {s:.1%}") for e, m, s in shown.by_epsilon]
    lines.append(("no privacy", f"{shown.without_privacy:.1%}", ""))
    print_table(("ε", "test accuracy", "spread"), lines, "What a budget buys")
    print_note(
        f"\nAccuracy of models on {shown.columns} measurements of one half of the "
        "patients, tried on the other half, without intervals. Accuracies and the column "
        "without noise can be shown because these data are public; on your own data each "
        "of them would cost budget too."
    )


def _in_words(shown: Demo) -> str:
    """Say what is to be seen: what can be trusted, what widens it, that it holds."""
    rows = shown.summary.rows
    sure = [row.name for row in rows[:-1] if row.reliable]
    held = sum(
        row.lower <= value <= row.upper
        for row, value in zip(rows, shown.noise_free, strict=True)
        if row.lower is not None and row.upper is not None
    )
    wide = sum(row.widened_by == "privacy" for row in rows)
    signs = "no measurement at all: the table is small for this budget"
    return (
        f"At this budget the sign is certain enough of {', '.join(sure) or signs}. "
        f"Privacy noise is the larger part of {wide} of {len(rows)} intervals. "
        f"{held} of them hold what the same penalised model gives without noise."
    )


def list_parts(
    what: Annotated[
        str,
        typer.Argument(
            help="mechanisms, selectors, losses, penalties, constraints, datasets, studies"
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List what confide is made of, with the status of every guarantee.

    Example: [bold]confide list mechanisms[/bold]
    """
    kinds: dict[str, list[tuple[str, ...]]] = {
        "mechanisms": [_mechanism_line(name) for name in MECHANISMS],
        "selectors": [(name, _first_line(kind)) for name, kind in SELECTORS.items()],
        "losses": [(name, _first_line(kind)) for name, kind in LOSSES.items()],
        "penalties": [(name, _first_line(kind)) for name, kind in PENALTIES.items()],
        "constraints": [(name, _first_line(kind)) for name, kind in CONSTRAINTS.items()],
        "datasets": [(name, entry.source) for name, entry in DATASETS.items()],
        "studies": [(name, study.title) for name, study in STUDIES.items()],
    }
    if what and what not in kinds:
        raise typer.BadParameter(f"choose one of {', '.join(kinds)}")
    chosen = {what: kinds[what]} if what else kinds
    if as_json:
        print_json({kind: [list(line) for line in lines] for kind, lines in chosen.items()})
        return
    for kind, lines in chosen.items():
        console.print(f"[bold]{kind}[/bold]")
        width = max((len(line[0]) for line in lines), default=0)
        for name, *rest in lines:
            line = f"  {name:<{width}}  {'  '.join(rest)}"
            console.print(line, soft_wrap=True, markup=False)
        if kind == "mechanisms":
            print_note(f"\n{ABOUT_STATUS}")
        console.print()


def _mechanism_line(name: str) -> tuple[str, str, str]:
    kind = MECHANISMS[name]
    proved = kind.theorems and not shortfall(kind.theorems)
    return name, str(Status.PROVED if proved else Status.CLAIMED), _first_line(kind)


def _first_line(kind: type[Any]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _record(shown: Demo) -> dict[str, Any]:
    return {
        **summary_record(shown.summary),
        "rows": shown.rows,
        "noise_free": list(shown.noise_free),
        "by_epsilon": [
            {"epsilon": e, "accuracy": mean, "spread": spread}
            for e, mean, spread in shown.by_epsilon
        ],
        "without_privacy": shown.without_privacy,
    }
