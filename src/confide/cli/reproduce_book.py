"""`confide reproduce all` and `confide reproduce check`: the results of all studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

import confide
from confide.cli.output import console, err_console
from confide.cli.progress import StudyBar, format_duration
from confide.errors import InvalidParameter

PAGE = "README.md"
"""File name of the front page; a folder without this file contains only results."""


def chosen_studies(beginning: str) -> list[confide.studies.Study]:
    """Return the studies whose names begin with a prefix; all if the prefix is empty."""
    found = [
        study
        for name, study in confide.studies.STUDIES.items()
        if name.startswith(beginning)
    ]
    if not found:
        raise InvalidParameter(
            "the second name", "the beginning of a study's name", beginning
        )
    return found


def make_book(
    studies: Sequence[confide.studies.Study],
    jobs: int | None,
    cluster: str | None,
    *,
    out: Path,
    book: Path,
) -> None:
    """Run studies and store their results in ``book``; a stopped run can be continued."""
    _print_estimates(confide.studies.estimates(studies, folder=out, book=book), jobs)
    progress = StudyBar(err_console)
    failed = []
    try:
        with (
            confide.parallel.dask_cluster.connected(address=cluster) as client,
            progress.bar,
        ):
            for result, files in confide.studies.reproduce_book(
                studies,
                jobs=jobs,
                cluster=client,
                folder=out,
                book=book,
                progress=progress.watch,
            ):
                words = f"{result.study.name}: {result.computed} cells computed"
                console.print(
                    Text(f"{words}; {', '.join(map(str, files))}"), soft_wrap=True
                )
                for one in result.failures:
                    failed.append(result.study.name)
                    err_console.print(Text(f"failed: {one}", style="red"), soft_wrap=True)
    except KeyboardInterrupt:
        err_console.print(
            "Stopped; finished cells are kept. Run the same command again to continue."
        )
        raise typer.Exit(130) from None
    if (book / PAGE).exists():
        confide.studies.write_book(book)
        console.print(Text(f"The pages of {book} were rewritten."), soft_wrap=True)
    if failed:
        names = ", ".join(dict.fromkeys(failed))
        err_console.print(f"Incomplete: {names}. Run the same command to try again.")
        raise typer.Exit(1)


def _print_estimates(
    plans: Sequence[confide.studies.StudyEstimate], jobs: int | None
) -> None:
    """Print the estimated processor time that each study still needs."""
    table = Table(box=None, pad_edge=False)
    table.add_column("study")
    for head in ("cells", "left", "processor time left"):
        table.add_column(head, justify="right")
    for plan in plans:
        known = "not known yet" if plan.seconds is None else format_duration(plan.seconds)
        table.add_row(plan.study.name, str(plan.cells), str(plan.open_cells), known)
    console.print(table)
    seconds = [plan.seconds for plan in plans if plan.seconds is not None]
    unknown = len(plans) - len(seconds)
    more = f", plus {unknown} studies whose time is not known" if unknown else ""
    count = confide.studies.job_count(jobs)
    where = f"{count} idle cores" if count > 1 else "an idle core"
    words = f"{format_duration(sum(seconds) / count)} on {where}{more}."
    console.print(f"\nAbout {words}\n")


def check_book(
    studies: Sequence[confide.studies.Study], book: Path, jobs: int | None
) -> None:
    """Compare committed results with fresh quick runs; exit with 1 if they disagree."""
    wrong = []
    for study in studies:
        progress = StudyBar(err_console)
        with progress.bar:
            report = confide.studies.check(
                study, book=book, jobs=jobs, progress=progress.watch
            )
        console.print(
            Text(
                f"{study.name}: {report.cells} cells, {report.exact} of {report.numbers} "
                f"numbers equal to the committed ones, {len(report.disagreements)} "
                "differ by more than noise"
            ),
            soft_wrap=True,
        )
        for one in report.disagreements:
            err_console.print(Text(f"  {one}", style="red"), soft_wrap=True)
        if report.disagreements:
            wrong.append(study.name)
    rate = confide.studies.FALSE_ALARMS
    console.print(f"Probability of a false alarm: at most {rate:g} for each study.")
    if wrong:
        err_console.print(
            Text(f"Different from the committed results: {', '.join(wrong)}", style="red")
        )
        raise typer.Exit(1)
