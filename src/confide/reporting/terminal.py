"""Display of summaries on a terminal, with rich."""

from collections.abc import Iterable, Iterator, Sequence

from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from confide.privacy import Guarantee, Status
from confide.reporting.summary import MARK, CoefficientTable, Summary


def guarantee_panel(guarantee: Guarantee) -> Panel:
    """Return a guarantee in a frame; a green frame means that it is private and PROVED."""
    colour = "green" if guarantee.private else "red"
    if guarantee.private and guarantee.status is not Status.PROVED:
        colour = "yellow"
    text = Text(str(guarantee))
    return Panel(text, title="Guarantee", expand=False, border_style=colour)


def plain_table(
    heads: Iterable[str], lines: Iterable[Iterable[str]], title: str | None = None
) -> Table:
    """Return a table without rules; its first column is aligned left, the others right."""
    named = None if title is None else escape(title)
    table = Table(title=named, title_justify="left", box=None, pad_edge=False)
    for i, head in enumerate(heads):
        table.add_column(
            escape(head), justify="left" if i == 0 else "right", overflow="fold"
        )
    for line in lines:
        # a name with a line break could imitate a line of output
        table.add_row(*(escape(cell.replace("\n", "\\x0a")) for cell in line))
    return table


def coefficient_table(
    table: CoefficientTable, beside: tuple[str, Sequence[float]] | None = None
) -> Table:
    """Return the table of coefficients, with an optional extra column."""
    heads, *lines = table.cells(4)
    for row, line in zip(table.rows, lines, strict=True):
        line[0] += f" {MARK}" if row.reliable else ""
    if beside is not None:
        heads.append(beside[0])
        for line, value in zip(lines, beside[1], strict=True):
            line.append(f"{value:.4g}")
    return plain_table(heads, lines)


def coefficient_notes(summary: Summary) -> Iterator[Text]:
    """Yield the warning about the intervals, if any, and notes on how to read them."""
    if summary.caution:
        yield Text(f"\nWarning: {summary.caution}.", style="bold red")
    notes = summary.table.notes
    if notes:
        yield Text()
    yield from (Text(note, style="dim") for note in notes)
