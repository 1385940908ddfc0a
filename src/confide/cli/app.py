"""The commands and their exit codes.

Exit codes: 0 success; 1 a bug in confide, or an incomplete study; 2 wrong usage or invalid
input; 3 the ledger refused the charge; 4 a release was charged but could not be written to
the requested file; 130 and 143 the command was interrupted.
"""

import os
import sys
import traceback
from inspect import cleandoc
from typing import Annotated, NoReturn

import typer
from rich.markup import escape

from confide._version import __version__
from confide.cli.audit import audits
from confide.cli.budget import budget
from confide.cli.demo import demo
from confide.cli.describe import describe
from confide.cli.fit import fit
from confide.cli.infer import infer
from confide.cli.list import list_parts
from confide.cli.open import open_page
from confide.cli.output import console, err_console, name_options
from confide.cli.plan import plan
from confide.cli.predict import predict
from confide.cli.ranges import ranges
from confide.cli.recover import recover
from confide.cli.report import report
from confide.cli.reproduce import reproduce_study
from confide.cli.schema import schemas
from confide.cli.score import score
from confide.cli.screen import spell_what_cannot_be_printed
from confide.errors import (
    BUG,
    BudgetExceeded,
    ClaimedGuarantee,
    ConfideError,
    LooseBudget,
    MixedNeighbours,
    NotSolved,
    TamperedLedger,
)

app = typer.Typer(
    help="Differentially private regression with confidence intervals.",
    epilog="Example: [bold]confide demo[/bold]\n\n"
    "Exit codes: 0 success, 1 a bug in confide or an incomplete study, 2 wrong usage or "
    "invalid input, 3 the ledger refused the charge, 4 a release was charged but could not "
    "be written to the requested file, 130 or 143 the command was interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
COMMANDS = (demo, ranges, describe, fit, infer, predict, score, plan, budget, recover)
for command in (*COMMANDS, report):
    app.command()(command)
app.command("open")(open_page)
app.add_typer(audits, name="audit")
app.command("reproduce")(reproduce_study)
app.command("list")(list_parts)
app.add_typer(schemas, name="schema")
for group in (app, audits, schemas):
    for entry in (*group.registered_commands, group.registered_callback):
        if entry is not None:
            # typer would print the line breaks inside the paragraphs of a docstring
            paragraphs = cleandoc(entry.callback.__doc__ or "").split("\n\n")
            entry.help = "\n\n".join(" ".join(one.split()) for one in paragraphs) or None


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"confide {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the requested command; report an error in one sentence, without a traceback."""
    spell_what_cannot_be_printed()
    try:
        app(prog_name="confide")
    except (BudgetExceeded, MixedNeighbours, TamperedLedger) as error:
        _complain("refused", error, 3)
    except NotSolved as error:
        _complain(BUG, error, 1)
    except (ConfideError, ClaimedGuarantee, LooseBudget, OSError) as error:
        _complain("error", error, 2)
    except MemoryError:
        _complain("error", ConfideError("not enough memory."), 2)
    except Exception as error:  # noqa: BLE001 - its message may quote a record
        _complain(BUG, ConfideError(_place_of(error)), 1)


def _place_of(error: Exception) -> str:
    """Describe an error by its type and its line of code.

    The message of the error is left out, because it may quote data.
    """
    if os.environ.get("CONFIDE_TRACEBACK"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    kind, place = type(error).__name__, f"{os.path.basename(last.filename)}:{last.lineno}"  # noqa: PTH119
    return (
        f"{kind} at {place}. Set CONFIDE_TRACEBACK=1 to see the full traceback; it may "
        "contain values of records."
    )


def _complain(kind: str, error: Exception, code: int) -> NoReturn:
    err_console.print(f"[red]{kind}:[/red] {escape(name_options(error))}", soft_wrap=True)
    sys.exit(code)
