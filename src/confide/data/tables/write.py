"""Writer of tables in blocks; the file appears only when it is complete."""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import pandas as pd

from confide._files import ReservedFile
from confide.data.tables.delimited import PACKED, PARQUET
from confide.errors import InvalidParameter

GROUP_ROWS = 2**18
"""Smallest number of rows per row group of a Parquet file, except for the last."""
Write: TypeAlias = Callable[[pd.DataFrame], None]


@contextmanager
def table_writer(out: Path) -> Iterator[Write]:
    """Write a CSV or Parquet file in blocks, replacing any older file when complete.

    Parameters
    ----------
    out : Path
        File to write.

    Yields
    ------
    callable
        Function that appends a data frame to the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pandas as pd
    >>> from confide.data import table_writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = pathlib.Path(folder, "found.csv")
    ...     with table_writer(out) as add:
    ...         add(pd.DataFrame({"age": [30]}))
    ...         add(pd.DataFrame({"age": [40]}))
    ...     print(out.read_text().split())
    ['age', '30', '40']
    """
    kind = _parquet if out.suffix.lower() in PARQUET else _delimited
    file = ReservedFile(out, name="out", replaces=True)
    with file.stream() as stream, kind(stream, out.suffix.lower()) as write:
        yield write


@contextmanager
def _delimited(target: IO[bytes], suffix: str) -> Iterator[Write]:
    separator = "\t" if suffix in (".tsv", ".tab") else ","
    started = False
    with ExitStack() as stack:
        if suffix in PACKED:
            target = stack.enter_context(PACKED[suffix](target, "wb"))
        stream = io.TextIOWrapper(target, encoding="utf-8", newline="")
        stack.callback(stream.detach)
        stack.callback(stream.flush)

        def write(piece: pd.DataFrame) -> None:
            nonlocal started
            piece.to_csv(stream, index=False, header=not started, sep=separator)
            started = True

        yield write


@contextmanager
def _parquet(target: IO[bytes], suffix: str) -> Iterator[Write]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InvalidParameter(
            "out",
            "a CSV file unless pyarrow is installed",
            suffix,
            "Install it with: pip install 'confide[parquet]'",
        ) from None
    waiting: list[Any] = []
    writer: Any = None

    def flush() -> None:
        nonlocal writer
        group = pa.concat_tables(waiting)
        waiting.clear()
        writer = writer or parquet.ParquetWriter(target, group.schema)
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
