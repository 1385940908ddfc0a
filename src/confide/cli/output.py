"""Consoles, options that commands share, and error messages that name options."""

from __future__ import annotations

import io
import json
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

import confide
from confide._files import ReservedFile
from confide.cli.screen import Screen, visible
from confide.errors import (
    ClaimedGuarantee,
    ConfideError,
    InvalidParameter,
    LooseBudget,
    NoiseChanged,
    UnrecordedRelease,
)

_SAME = (
    *("epsilon", "delta", "rho", "l1", "l2", "seed", "out", "model", "mechanism"),
    *("neighbours", "earlier", "rows", "columns", "width", "runs", "dimension", "rate"),
    *("steps", "intervals", "level", "attribute", "scale", "slope_bound"),
    *("target_bound", "workers", "ranges", "tail", "label", "per"),
)
OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in _SAME},
    "random_state": "--seed",
    "address": "--cluster",
    "budget": "the budget",
    "place": "the ledger",
}
"""The command-line option that sets each parameter, keyed by parameter name."""
_PHRASES = (
    (r"Leave it at 'auto', or try", "Leave it out, or try"),
    (r"\b(mechanism|model|neighbours|earlier)='([\w-]+)'", r"--\1 \2"),
    (r" or coef_norm\b|, coef_norm\b|, or set classes\b", ""),
    (r"set target_bound \([^)]*\), or declare", "declare"),
    (r"\b(slope|target)_bound\b", r"--\1-bound"),
    (r"\bRaise l2\b", "Raise --l2"),
    (r"\bintervals=True, or a share of the budget such as", "--intervals auto, or"),
    (r"intervals=Intervals\(of='plain'\)", "--intervals auto --intervals-of plain"),
    (r"'earlier': neighbours is", "--earlier: --neighbours is"),
    (r"\bread the whole table(?: into memory)?(?=\.)", "\\g<0> (--no-stream)"),
    (r", or in Python [^)]*\)\)", ""),
)


def name_options(error: Exception) -> str:
    """Return the message of an error, with option names instead of parameter names."""
    text = str(error)
    if isinstance(error, InvalidParameter) and error.name in OPTIONS:
        text = OPTIONS[error.name] + text.removeprefix(error.name)
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    return text


console = Screen(highlight=False)
err_console = Screen(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Epsilon = Annotated[
    str | None, typer.Option("--epsilon", "-e", help="Budget: epsilon, such as 1 or 0.5.")
]
Delta = Annotated[
    str | None,
    typer.Option(
        "--delta",
        "-d",
        help="Budget: delta, such as 1e-6; without it, delta is 0 (pure epsilon).",
    ),
]
Rho = Annotated[
    str | None, typer.Option("--rho", help="Budget: rho of zCDP, instead of epsilon.")
]
WithIntervals = Annotated[
    str | None,
    typer.Option(
        "--intervals",
        help="Share of the budget for confidence intervals: auto, or a number such as 0.2.",
    ),
]
Level = Annotated[
    float | None,
    typer.Option("--level", help="Confidence level (default 0.95)."),
]
IntervalsOf = Annotated[
    str | None,
    typer.Option(
        "--intervals-of",
        help="Coefficients that the intervals are for: plain (without the ridge penalty, "
        "the default) or penalised (as released).",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(help="Model file from a fit.", exists=True, dir_okay=False)
]
SHOWN_WARNINGS = (ClaimedGuarantee, NoiseChanged, LooseBudget, UnrecordedRelease)
NEEDS_LATEX = ("pgf",)
"""Picture formats that cannot be written without LaTeX."""
UNFOLDED = 4096
"""Width, in characters, of output that does not go to a terminal."""


def either(names: Sequence[str]) -> str:
    """Join alternatives with "or"."""
    *others, last = names
    return f"{', '.join(others)} or {last}"


def wide_console() -> Console:
    """Return a console that wraps wide tables only if it writes to a terminal."""
    return console if console.is_terminal else Screen(highlight=False, width=UNFOLDED)


def read_budget(
    epsilon: str | None, delta: str | None, rho: str | None
) -> confide.privacy.Budget:
    """Return the budget given by --epsilon, by --epsilon and --delta, or by --rho."""
    if rho is not None and epsilon is None and delta is None:
        return confide.Zcdp(rho)
    if rho is None and epsilon is not None:
        return confide.Pure(epsilon) if delta is None else confide.Approx(epsilon, delta)
    raise InvalidParameter(
        "the budget",
        "given by --epsilon, by --epsilon and --delta, or by --rho alone",
        {"epsilon": epsilon, "delta": delta, "rho": rho},
        "Try --epsilon 1 --delta 1e-6.",
    )


def write_new_file(out: Path, text: str, option: str = "--out") -> None:
    """Write a file that contains no release; never replace an existing file."""
    ReservedFile(out, name=option).write(text.encode())


def picture(figure: Any, path: Path) -> bytes:
    """Return a figure as bytes, in the format that the suffix of the file name implies."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # the warning quotes the missing character, which may be a control character
        warnings.filterwarnings("ignore", message="Glyph ")
        figure.savefig(buffer, dpi=150, format=path.suffix.lower().removeprefix("."))
    return buffer.getvalue()


def shown_place(ledger: str | None) -> str:
    """Return the location of a ledger without the password that it may contain."""
    return str(confide.ledger.redacted(ledger or ""))


def check_plot_file(plot: Path) -> None:
    """Raise an error if a plot cannot be drawn; called before any budget is spent."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as absent:
        raise ConfideError(
            "--plot needs matplotlib, which is not installed: run "
            "pip install 'confide[plots]', or leave --plot out."
        ) from absent
    kinds = FigureCanvasBase.get_supported_filetypes()
    kind = plot.suffix.lower().removeprefix(".")
    if kind not in kinds or kind in NEEDS_LATEX:
        must = "a picture file such as coefficients.png, .svg or .pdf"
        raise InvalidParameter("--plot", must, str(plot))


def read_intervals(
    share: str | None, level: float | None, of: str | None = None
) -> confide.Intervals | None:
    """Return the settings of the intervals from the options; None without --intervals."""
    if of not in {None, "plain", "penalised"}:
        raise InvalidParameter("--intervals-of", "plain or penalised", of)
    given = {"level": level, "of": of}
    settings: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
    if share is None:
        if not settings:
            return None
        option = "--level" if level is not None else "--intervals-of"
        raise InvalidParameter(
            option,
            "given together with --intervals",
            level if level is not None else of,
            "Add --intervals auto, or a share of the budget such as --intervals 0.2.",
        )
    if share.strip().casefold() == "auto":
        return confide.Intervals(**settings)
    try:
        part = confide.privacy.budgets.exact(share, "--intervals")
    except InvalidParameter:
        part = Fraction(0)
    if not 0 < part < 1:
        raise InvalidParameter(
            "--intervals",
            "auto, or the share of the budget for intervals, between 0 and 1",
            share,
            "Try --intervals auto or --intervals 0.2.",
        )
    return confide.Intervals(share=part, **settings)


def open_ledger(ledger: str, dataset: str = "people") -> confide.Ledger:
    """Open an existing ledger; a mistyped name must not create an empty one."""
    if "://" not in ledger and not Path(ledger).exists():
        raise InvalidParameter(
            "the ledger",
            "a file that exists",
            shown_place(ledger),
            "Create it by setting a limit: "
            f"{limit_command(ledger, dataset)} (choose your own numbers).",
        )
    return confide.Ledger.open(ledger)


def limit_command(ledger: str, dataset: str) -> str:
    """Return the command that sets the limit of a dataset."""
    name = f"--dataset {shlex.quote(dataset)}"
    place = shlex.quote(shown_place(ledger))
    return f"confide budget {place} {name} --epsilon 3 --delta 1e-5"


@contextmanager
def warn_of_claims() -> Iterator[None]:
    """Context manager that prints warnings of the types in ``SHOWN_WARNINGS``."""
    with warnings.catch_warnings():
        for kind in SHOWN_WARNINGS:
            warnings.filterwarnings("always", category=kind, append=True)
        # raised as an error, it would lose the release that it asks to save
        warnings.filterwarnings("always", category=UnrecordedRelease)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if isinstance(message, SHOWN_WARNINGS):
                said = Text(f"warning: {name_options(message)}", style="yellow")
                err_console.print(said, soft_wrap=True)
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def print_json(content: Any) -> None:
    """Print a value as JSON, with control characters escaped."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    print("".join(map(_json_sign, text)) if visible(text) != text else text)


def _json_sign(sign: str) -> str:
    return sign if visible(sign) == sign else json.dumps(sign)[1:-1]


def print_guarantee(guarantee: confide.Guarantee) -> None:
    """Print the guarantee in a frame."""
    console.print(confide.reporting.terminal.guarantee_panel(guarantee))


def print_table(
    heads: Iterable[str], lines: Iterable[Iterable[str]], title: str | None = None
) -> None:
    """Print a table without rules; align its first column left and the others right."""
    table = confide.reporting.terminal.plain_table(heads, lines, title)
    wide_console().print(table)


def print_coefficients(
    summary: confide.inference.Summary, beside: tuple[str, Sequence[float]] | None = None
) -> None:
    """Print the coefficients with their intervals, and an extra column if given."""
    terminal = confide.reporting.terminal
    wide_console().print(terminal.coefficient_table(summary.table, beside))
    for note in terminal.coefficient_notes(summary):
        console.print(note)


def print_charge(
    guarantee: confide.Guarantee, account: confide.ledger.Account, anchor: str | None
) -> None:
    """Print the charge, the budget that is left, and the neighbour relation."""
    proved_for, under = guarantee.neighbours, account.neighbours
    paid = f"Charged {guarantee.budget} to {account.dataset}"
    if proved_for is not under:
        paid += f", counted for {under} at the cost of a removal plus an addition"
    console.print(f"{paid}; left: {account.left}, {under} neighbours.", markup=False)
    if anchor is not None:
        print_anchor(anchor)


def print_anchor(anchor: str) -> None:
    """Print the anchor, which is needed to check later that no ledger entry was lost."""
    print_note(
        f"Anchor {anchor}: store it outside the ledger. With it, confide budget --since "
        "can check that no entry has been lost."
    )


def print_note(text: str) -> None:
    """Print a note in dim type."""
    console.print(text, style="dim", markup=False)


def print_score(found: confide.evaluation.ModelScore) -> None:
    """Print the estimates of a score, and their footnotes."""
    console.print()
    heads, *lines = found.cells()
    print_table(tuple(heads), lines)
    console.print()
    print_note(
        f"Each interval separately has confidence level {100 * found.level:g} % and "
        "accounts for sampling error and privacy noise. A dash means that noise hides the "
        "value."
    )
    for note in found.notes:
        print_note(note)
