"""The commands and their exit codes.

Exit codes: 0 done; 1 a defect of confide, or a study with gaps; 2 wrong use or bad
input; 3 a ledger refused; 130 a fit or a study was interrupted.
"""

import sys
from typing import Annotated, NoReturn

import typer
from rich.markup import escape

from confide import __version__
from confide.cli.audit import audits
from confide.cli.budget import budget
from confide.cli.demo import demo
from confide.cli.fit import fit
from confide.cli.list import list_parts
from confide.cli.output import console, err_console, name_options
from confide.cli.plan import plan
from confide.cli.predict import predict
from confide.cli.ranges import ranges
from confide.cli.report import report
from confide.cli.reproduce import reproduce_study
from confide.cli.schema import schemas
from confide.errors import (
    BudgetExceeded,
    ClaimedGuarantee,
    ConfideError,
    MixedNeighbours,
    NotSolved,
    TamperedLedger,
)

app = typer.Typer(
    help="Private linear models with error bars.",
    epilog="Example to begin with: [bold]confide demo[/bold]\n\n"
    "Exit codes: 0 done, 1 a defect of confide or a study with gaps, 2 wrong use "
    "or bad input, 3 a ledger refused, 130 a fit or a study was interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (demo, ranges, fit, predict, plan, budget, report):
    app.command()(command)
app.add_typer(audits, name="audit")
app.command("reproduce")(reproduce_study)
app.command("list")(list_parts)
app.add_typer(schemas, name="schema")


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


def main() -> None:
    """Run the command line; errors of use end in one sentence, never in a traceback."""
    try:
        app(prog_name="confide")
    except (BudgetExceeded, MixedNeighbours, TamperedLedger) as error:
        _complain("refused", error, 3)
    except NotSolved as error:
        _complain("defect, please report it", error, 1)
    except (ConfideError, ClaimedGuarantee, OSError) as error:
        _complain("error", error, 2)


def _complain(kind: str, error: Exception, code: int) -> NoReturn:
    err_console.print(f"[red]{kind}:[/red] {escape(name_options(error))}", soft_wrap=True)
    sys.exit(code)
