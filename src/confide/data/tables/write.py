"""Write a table piece by piece; the file appears when all of it is written."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from confide.data.tables.delimited import PACKED, PARQUET
from confide.errors import InvalidParameter

GROUP_ROWS = 2**18
"""Rows of a row group of a Parquet file."""
Write: TypeAlias = Callable[[pd.DataFrame], None]


@contextmanager
def table_writer(out: Path) -> Iterator[Write]:
    """Yield what adds a piece to a CSV or Parquet file, which replaces an older one."""
    if out.is_dir() or not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise InvalidParameter("out", "a file in a folder that can be written to", str(out))
    unfinished = out.with_name(f".{out.name}.unfinished")
    kind = _parquet if out.suffix.lower() in PARQUET else _delimited
    try:
        with kind(unfinished, out.suffix.lower()) as write:
            yield write
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _delimited(path: Path, suffix: str) -> Iterator[Write]:
    separator = "\t" if suffix in (".tsv", ".tab") else ","
    started = False
    packer = PACKED.get(suffix, open)
    with packer(path, "wt", encoding="utf-8", newline="") as stream:

        def write(piece: pd.DataFrame) -> None:
            nonlocal started
            piece.to_csv(stream, index=False, header=not started, sep=separator)
            started = True

        yield write


@contextmanager
def _parquet(path: Path, _suffix: str) -> Iterator[Write]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InvalidParameter(
            "out",
            "CSV, because Parquet needs pyarrow",
            str(path.name),
            "Install it by: pip install 'confide[parquet]'",
        ) from None
    waiting: list[Any] = []
    writer: Any = None

    def flush() -> None:
        nonlocal writer
        group = pa.concat_tables(waiting)
        waiting.clear()
        writer = writer or parquet.ParquetWriter(path, group.schema)
        writer.write_table(group)

    def write(piece: pd.DataFrame) -> None:
        waiting.append(pa.Table.from_pandas(piece, preserve_index=False))
        if sum(map(len, waiting)) >= GROUP_ROWS:
            flush()

    try:
        yield write
        if waiting:
            flush()
    finally:
        if writer is not None:
            writer.close()
