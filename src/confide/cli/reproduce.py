"""`confide reproduce`: recompute the tables and figures of papers."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Task
from rich.table import Table
from rich.text import Text

import confide
from confide.cli.output import (
    AsJson,
    console,
    err_console,
    print_json,
    wide_console,
)
from confide.cli.progress import StudyBar
from confide.cli.reproduce_book import check_book, chosen_studies, make_book
from confide.errors import InvalidParameter

FOLDER = Path("confide-studies")
SHOWN_FAILURES = 10


def reproduce_study(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a study; [bold]all[/bold] runs every study, [bold]check[/bold] "
            "compares committed results with a quick run. Without a name the studies are "
            "listed."
        ),
    ] = "",
    only: Annotated[
        str,
        typer.Argument(
            help="After [bold]all[/bold] or [bold]check[/bold]: run only the studies whose "
            "names begin with this."
        ),
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Compute only a small part of each study.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes (default: one per CPU).")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Dask scheduler for the work, such as tcp://host:8786."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = FOLDER,
    book: Annotated[
        Path | None,
        typer.Option(
            help="Folder of committed results (default for all and check: "
            "docs/reproduction). For a single study, add its full run to this folder."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the table and figure of a study; a stopped run can be continued.

    Example: [bold]confide reproduce ci-table3 --quick --jobs 2[/bold]
    """
    if not name:
        _print_studies(as_json)
        return
    _check_options(name, only, out=out, jobs=jobs, cluster=cluster)
    if name in confide.studies.COMMANDS:
        if quick or as_json:
            wrong = "--quick" if quick else "--json"
            raise InvalidParameter(wrong, f"left out when {name} is given", True)
        place = book or confide.studies.BOOK
        if name == "check":
            check_book(chosen_studies(only), place, jobs)
        else:
            make_book(chosen_studies(only), jobs, cluster, out=out, book=place)
        return
    study = confide.studies.STUDIES.find(name)
    progress = StudyBar(err_console)
    try:
        connection = confide.parallel.dask_cluster.connected(address=cluster)
        with connection as client, progress.bar:
            result = confide.studies.reproduce(
                study,
                quick=quick,
                jobs=jobs,
                cluster=client,
                folder=out,
                seconds=confide.studies.committed_seconds(study, book) if book else None,
                progress=progress.watch,
            )
    except KeyboardInterrupt:
        _say_how_to_resume(progress.bar.task, name, quick, out, cluster)
        raise typer.Exit(130) from None
    if book is not None and not quick:
        files = confide.studies.commit(study, out, book)
        result = replace(result, files=(*result.files, *files))
    if as_json:
        print_json(_record(result))
    else:
        _print_result(result)
    if result.failures:
        raise typer.Exit(1)


def _check_options(
    name: str, only: str, *, out: Path, jobs: int | None, cluster: str | None
) -> None:
    if out.exists() and not out.is_dir():
        raise InvalidParameter(
            "--out", "a folder", str(out), "There is already a file of that name."
        )
    if jobs is not None and cluster is not None:
        raise InvalidParameter("--jobs", "left out when --cluster is given", jobs)
    if only and name not in confide.studies.COMMANDS:
        must = "left out after the name of a study"
        raise InvalidParameter("the second name", must, only)


def _say_how_to_resume(
    task: Task, name: str, quick: bool, out: Path, cluster: str | None
) -> None:
    words = ["confide", "reproduce", name, *(["--quick"] if quick else [])]
    words += ["--out", str(out)] if out != FOLDER else []
    words += ["--cluster", cluster] if cluster is not None else []
    err_console.print(
        Text(
            f"Stopped at {task.completed:.0f} of {task.total or 0:.0f} cells; finished "
            f"cells are kept. Continue with: {shlex.join(words)}"
        ),
        soft_wrap=True,
    )


def _print_studies(as_json: bool) -> None:
    studies = [study for _, study in sorted(confide.studies.STUDIES.items())]
    if as_json:
        keys = ("name", "title", "source")
        print_json([{key: getattr(study, key) for key in keys} for study in studies])
        return
    for study in studies:
        console.print(Text(study.name, style="bold"), Text(study.title), soft_wrap=True)
        console.print(Text(f"  {study.source}", style="dim"), soft_wrap=True)
    if not studies:
        console.print("No studies are installed.")


def _print_result(result: confide.studies.Reproduction) -> None:
    layout = confide.studies.TableLayout.of(result.table)
    console.print(Text(result.study.title, style="bold"), soft_wrap=True)
    kind = "a quick version, not the full study; " if result.quick else ""
    console.print(Text(f"{kind}{result.study.source}\n", style="dim"), soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for head, number in zip(layout.heads, layout.numeric, strict=True):
        table.add_column(Text(head), justify="right" if number else "left", overflow="fold")
    for line in layout.lines:
        table.add_row(*map(Text, line))
    wide_console().print(table)
    console.print(
        f"\n[dim]{result.computed} cells computed now, {result.stored} computed "
        "earlier.[/dim]"
    )
    for path in result.files:
        console.print(Text(f"Written: {path}"), soft_wrap=True)
    for note in result.notes:
        err_console.print(Text(note, style="yellow"), soft_wrap=True)
    _print_failures(result)


def _print_failures(result: confide.studies.Reproduction) -> None:
    for failure in result.failures[:SHOWN_FAILURES]:
        err_console.print(Text(f"\nfailed: {failure}", style="red"), soft_wrap=True)
        err_console.print(Text(failure.trace.rstrip(), style="dim"), soft_wrap=True)
    more = len(result.failures) - SHOWN_FAILURES
    if more > 0:
        err_console.print(f"\n... and {more} more")
    if result.failures:
        err_console.print("\nRun the same command again to repeat only what failed.")


def _record(result: confide.studies.Reproduction) -> dict[str, Any]:
    return {
        "study": result.study.name,
        "version": result.study.version,
        "quick": result.quick,
        "table": confide.studies.records(result.table),
        "failures": [{"where": one.where, "error": one.error} for one in result.failures],
        "notes": list(result.notes),
        "files": [str(path) for path in result.files],
    }
