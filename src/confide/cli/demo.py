"""`confide demo`: a private fit to public data."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import confide
from confide.cli.output import (
    AsJson,
    console,
    print_coefficients,
    print_guarantee,
    print_json,
    print_note,
    print_table,
    warn_of_claims,
)


def demo(
    epsilon: Annotated[
        float, typer.Option(help="Budget (epsilon) of the displayed fit.")
    ] = 4.0,
    seed: Annotated[
        int | None, typer.Option(help="Seed for a repeatable result, which is NOT private.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a private model with intervals to real data and show the cost of privacy.

    Example: [bold]confide demo --epsilon 8[/bold]
    """
    with warn_of_claims():
        if as_json:
            print_json(_record(confide.demo.run_demo(epsilon, seed)))
            return
        with console.status("Fitting on the breast-cancer data of scikit-learn ..."):
            shown = confide.demo.run_demo(epsilon, seed)
    print_guarantee(shown.summary.guarantee)
    facts = "; ".join(f"{name}: {value}" for name, value in shown.summary.facts)
    console.print(
        f"Logistic regression of diagnosis on {len(shown.summary.rows) - 1} measurements, "
        f"{shown.rows} patients.\n[dim]{facts}[/dim]\n"
    )
    print_coefficients(shown.summary, ("no noise, no ridge", shown.noise_free))
    console.print(f"\n{_in_words(shown)}\n", markup=False)
    lines = [(f"{e:g}", f"{m:.1%}", f"± {s:.1%}") for e, m, s in shown.by_epsilon]
    lines.append(("no privacy", f"{shown.without_privacy:.1%}", ""))
    print_table(
        ("ε", "test accuracy", "standard deviation"), lines, "Accuracy for several budgets"
    )
    print_note(
        f"\nFor this table, models without intervals were fitted to {shown.columns} "
        "measurements of one half of the patients and tested on the other half. The "
        "accuracies and the column without noise can be shown because these data are "
        "public; on your own data, releasing them would cost budget too."
    )


def _in_words(shown: confide.demo.Demo) -> str:
    """Describe the intervals in words.

    The text names the measurements whose intervals exclude 0. It counts the intervals that
    privacy noise widens most, and those that contain the estimate without noise.
    """
    rows = shown.summary.rows
    sure = [row.name for row in rows[:-1] if row.reliable]
    held = sum(
        row.lower <= value <= row.upper
        for row, value in zip(rows, shown.noise_free, strict=True)
        if row.lower is not None and row.upper is not None
    )
    wide = sum(row.widened_by == "privacy" for row in rows)
    signs = "no measurement, because the table is small"
    return (
        f"At this budget the interval excludes 0 for {', '.join(sure) or signs}. "
        f"Privacy noise widens {wide} of {len(rows)} intervals more than sampling error "
        f"does. {held} of the intervals contain the estimate of the same model without "
        "noise or ridge penalty."
    )


def _record(shown: confide.demo.Demo) -> dict[str, Any]:
    return {
        **confide.reporting.summary_record(shown.summary),
        "rows": shown.rows,
        "noise_free": list(shown.noise_free),
        "by_epsilon": [
            {"epsilon": e, "accuracy": mean, "spread": spread}
            for e, mean, spread in shown.by_epsilon
        ],
        "without_privacy": shown.without_privacy,
    }
