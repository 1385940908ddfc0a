"""Write the table of a study as Markdown and CSV, and its figure as PNG or SVG."""

import importlib.util
import io
import math
import os
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from confide._version import __version__
from confide.errors import InvalidParameter
from confide.studies.engine.outcome import Failure
from confide.studies.engine.study import Study

ABSENT = "–"


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table as text: column headings and rows.

    Parameters
    ----------
    heads : tuple of str
        Column headings.
    numeric : tuple of bool
        Whether each column is numeric; numeric columns are aligned to the right.
    lines : tuple of tuple of str
        Entries of the table, row by row.

    Examples
    --------
    >>> from confide.studies import TableLayout
    >>> layout = TableLayout(("n", "error"), (True, True), (("100", "0.2"),))
    >>> print(layout.markdown(), end="")
    | n | error |
    | ---: | ---: |
    | 100 | 0.2 |
    """

    heads: tuple[str, ...]
    numeric: tuple[bool, ...]
    lines: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, table: pd.DataFrame) -> "TableLayout":
        """Lay out a data frame, with one-line headings and rounded numbers.

        Numbers are rounded to four significant digits or, from 10,000 to below 10⁹, to
        whole numbers.

        Parameters
        ----------
        table : DataFrame
            The table.

        Returns
        -------
        TableLayout
            The table as text.
        """
        flat = flattened(table)
        return cls(
            tuple(str(name) for name in flat.columns),
            tuple(pd.api.types.is_numeric_dtype(kind) for kind in flat.dtypes),
            tuple(
                tuple(_shown(value) for value in line)
                for line in flat.itertuples(index=False, name=None)
            ),
        )

    def markdown(self) -> str:
        """Return the table in GitHub's Markdown.

        Returns
        -------
        str
            The table.
        """
        rule = ["---:" if number else "---" for number in self.numeric]
        lines = [self.heads, rule, *self.lines]
        return "".join(f"| {' | '.join(map(_escaped, line))} |\n" for line in lines)


def flattened(table: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the default index and one-line column headings.

    Any other index becomes ordinary columns.
    """
    flat = table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
    return flat.set_axis([_one_line(name) for name in flat.columns], axis="columns")


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Convert a table to plain values for JSON; non-finite numbers become None.

    Parameters
    ----------
    table : DataFrame
        The table.

    Returns
    -------
    list of dict
        One dictionary per row.

    Examples
    --------
    >>> import pandas as pd
    >>> from confide.studies import records
    >>> records(pd.DataFrame({"n": [100], "error": [float("inf")]}))
    [{'n': 100, 'error': None}]
    """
    lines = flattened(table).to_dict("records")
    return [{str(name): _finite(value) for name, value in line.items()} for line in lines]


def _finite(value: Any) -> Any:
    bare = value.item() if isinstance(value, np.generic) else value
    if bare is pd.NA or (isinstance(bare, float) and not math.isfinite(bare)):
        return None
    return bare


def _one_line(name: Any) -> str:
    parts = name if isinstance(name, tuple) else (name,)
    return " ".join(str(part) for part in parts if str(part))


def _shown(value: Any) -> str:
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return ABSENT
        return f"{number:.0f}" if 1e4 <= abs(number) < 1e9 else f"{number:.4g}"
    return ABSENT if value is None or value is pd.NA else str(value)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


NO_MATPLOTLIB = (
    "The figure was not drawn: it needs matplotlib, which is not installed. Run "
    "pip install 'confide[plots]' and then the study again; finished cells are reused."
)
DOTS_PER_INCH = 150


@dataclass(frozen=True, slots=True)
class Published:
    """Result of `publish`: table, files written, failures, and notes for the user."""

    table: pd.DataFrame
    files: tuple[Path, ...]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]


def publish(
    study: Study,
    quick: bool,
    rows: pd.DataFrame,
    missing: tuple[Failure, ...],
    folder: Path,
) -> Published:
    """Write a study's table and figure; the Markdown page also lists the failed cells."""
    if rows.empty:
        return Published(rows, (), missing, ("No rows, so no table was written.",))
    failures = list(missing)
    try:
        table = study.table(rows.copy())
    except Exception as error:  # noqa: BLE001
        failures.append(_failure("the table (all rows are shown instead)", error))
        table = rows
    stem = study.stem(quick)
    page, sheet = folder / f"{stem}.md", folder / f"{stem}.csv"
    write_file(page, _page(study, quick, table, failures).encode())
    write_file(sheet, flattened(table).to_csv(index=False).encode())
    files, notes = [page, sheet], []
    if study.figure is not None and importlib.util.find_spec("matplotlib") is None:
        notes.append(NO_MATPLOTLIB)
    elif study.figure is not None:
        try:
            picture = io.BytesIO()
            figure = study.figure(rows.copy())
            figure.savefig(picture, format="png", dpi=DOTS_PER_INCH)
        except Exception as error:  # noqa: BLE001
            failures.append(_failure("the figure", error))
        else:
            files.append(folder / f"{stem}.png")
            write_file(files[-1], picture.getvalue())
    return Published(table, tuple(files), tuple(failures), tuple(notes))


def draw_svg(study: Study, rows: pd.DataFrame) -> bytes:
    """Draw the figure of a study as SVG; identical rows give identical bytes."""
    import matplotlib as mpl

    if study.figure is None:
        raise InvalidParameter("study", "one with a figure", study.name)
    picture = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": study.name}):
        study.figure(rows).savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()


def _failure(where: str, error: Exception) -> Failure:
    trace = "".join(traceback.format_exception(error))
    return Failure(where, f"{type(error).__name__}: {error}", trace)


def _page(study: Study, quick: bool, table: pd.DataFrame, missing: list[Failure]) -> str:
    parts = [f"# {study.title}\n", f"Source: {study.source}\n"]
    if quick:
        parts.append("**Quick run on part of the grid, not the whole study.**\n")
    parts.append(TableLayout.of(table).markdown())
    if missing:
        gaps = "".join(f"- {one.where}: {one.error.splitlines()[0]}\n" for one in missing)
        parts.append(f"**Missing**\n\n{gaps}")
    command = f"confide reproduce {study.name}{' --quick' if quick else ''}"
    parts.append(
        f"Made by `{command}`, confide {__version__}, study version {study.version}.\n"
    )
    return "\n".join(parts)


def write_file(target: Path, content: bytes) -> Path:
    """Write a file atomically, so that it is never incomplete, even after a crash."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        partial.chmod(0o644)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
