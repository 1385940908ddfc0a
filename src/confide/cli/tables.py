"""Tables given to commands: a file, a folder or a pattern.

A table is held in memory, read again in every pass, or held by worker processes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import confide
from confide._files import check_apart
from confide.cli.output import err_console
from confide.cli.progress import SweepBar
from confide.errors import Described, InvalidParameter

TableName = Annotated[
    str,
    typer.Argument(help="CSV or Parquet: a file, a folder, or a pattern in quotes."),
]
Streamed = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Read the table again in every sweep (pass over the data), or hold it in "
        "memory (default: depends on its size).",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Number of worker processes to start. They keep the rows in memory.",
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Dask scheduler whose workers keep the rows in memory, such as "
        "tcp://host:8786.",
    ),
]


Formula = Annotated[
    str | None,
    typer.Option(
        "--formula",
        help='Model formula, such as "dose ~ age + bs(weight, 4) + race:smoker" '
        "(default: every column of the schema).",
    ),
]


def read_schema(path: Path, formula: str | None) -> tuple[confide.Schema, bool]:
    """Read a schema and apply a formula to it; also return whether to fit an intercept."""
    public = confide.Schema.from_toml(path)
    if formula is None:
        return public, True
    return confide.data.schema_of_formula(public, formula)


def check_table(table: str) -> None:
    """Raise an error if a table does not exist; patterns are checked later."""
    if not confide.data.local_path(table).exists() and not has_magic(table):
        raise InvalidParameter(
            "the table",
            'a file, a folder, or a pattern in quotes such as "visits/*.parquet"',
            Described(f"{table}, which does not exist"),
        )


def check_apart_from_table(option: str, out: Path, table: str) -> None:
    """Raise an error if an output file would overwrite a file of the table."""
    place = confide.data.local_path(table)
    found = [place] if place.exists() else [Path(name) for name in glob(table)]  # noqa: PTH207 - a pattern may be absolute
    for one in found:
        check_apart(option, out, {"the table": one})
        if one.is_dir() and out.exists() and out.resolve().is_relative_to(one.resolve()):
            must = "a file that does not belong to the table"
            raise InvalidParameter(option, must, str(out))


@dataclass(frozen=True, slots=True)
class ReadMode:
    """Options for reading a table."""

    stream: bool | None
    workers: int | None
    address: str | None

    def __post_init__(self) -> None:
        if self.workers is not None and self.address is not None:
            raise InvalidParameter(
                "--workers", "left out when --cluster is given", self.workers
            )
        if self.stream is False and self.on_workers:
            option = "--cluster" if self.workers is None else "--workers"
            raise InvalidParameter(
                "--no-stream",
                f"left out when {option} is given: the workers keep the rows in memory",
                Described("both"),
            )

    @property
    def on_workers(self) -> bool:
        """Whether worker processes hold the rows."""
        return self.workers is not None or self.address is not None

    def streams(self, table: str) -> bool:
        """Return whether to read a table again in every pass (default: if it is large)."""
        return confide.data.is_in_parts(table) if self.stream is None else self.stream


@contextmanager
def open_for_fit(
    table: str, schema: confide.Schema, way: ReadMode, person: str | None = None
) -> Iterator[Any]:
    """Yield a table for a fit, and show progress on standard error.

    If ``person`` names a column that is not in the schema, a table in memory has this
    column too, as text.
    """
    if way.on_workers:
        with _on_workers(table, way) as held:
            yield held
    elif way.streams(table):
        parts = confide.data.open_table(table)
        _say(
            f"{table} is not held in memory: every pass over the data (sweep) reads it "
            "from beginning to end."
        )
        with SweepBar(err_console, "reading the table").shown():
            yield parts
    else:
        with err_console.status(Text(f"Reading {Path(table).name} ...")):
            rows = confide.data.read_files(table, schema)
            if person is not None and person not in schema.parts:
                # as a category, the column is read as text, whatever the other rows hold
                one = confide.Category(person, levels=("",))
                alone = confide.Schema((one,), schema.target)
                names = confide.data.read_files(table, alone)
                rows[person] = names[person].to_numpy()
        with err_console.status("Fitting ..."):
            yield rows


@contextmanager
def _on_workers(table: str, way: ReadMode) -> Iterator[Any]:
    with ExitStack() as stack:
        with err_console.status("Waiting for workers ..."):
            client: Any = stack.enter_context(
                confide.parallel.dask_cluster.connected(
                    workers=way.workers, address=way.address
                )
            )
        # remote workers have another working directory
        parts = confide.data.open_table(Path(table).absolute(), cluster=client)
        where = "on this machine" if way.address is None else f"at {way.address}"
        count = len(client.nthreads())
        who = f"{count} workers {where} read" if count > 1 else f"One worker {where} reads"
        holds = "hold" if count > 1 else "holds"
        _say(f"{who} {table} and {holds} its rows until the fit is finished.")
        stack.enter_context(SweepBar(err_console, "workers read the table").shown())
        try:
            yield parts
        except KeyboardInterrupt:
            # tasks waiting for the cluster would log errors when they are discarded
            logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
            raise


def _say(text: str) -> None:
    err_console.print(Text(text, style="dim"), soft_wrap=True)
