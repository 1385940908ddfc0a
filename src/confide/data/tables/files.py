"""Tables in one or more files, read in parts: Parquet row groups or whole text files."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from confide.data.partitioned.dask_collections import is_dask
from confide.data.partitioned.division import Division, divided
from confide.data.partitioned.progress import PassCounter
from confide.data.partitioned.stream import Source, ahead
from confide.data.schema.arrow_columns import (
    ARROW_FAULTS,
    CANNOT_HAND_OVER,
    coded_schema,
    row_groups,
    with_codes,
)
from confide.data.schema.declared import check_columns, declared_columns
from confide.data.schema.schema import Schema
from confide.data.tables.batches import BatchSource
from confide.data.tables.delimited import (
    PACKED,
    read_delimited,
    read_header,
    read_pieces,
    translate_read_errors,
    translate_read_errors_locked,
)
from confide.data.tables.parsed_text import ParsedText
from confide.data.tables.read import arrow_dataset, is_parquet, local_path, read_table
from confide.errors import ConfideError, Described, InvalidData, InvalidParameter
from confide.parallel.workers import one_blas_thread, threads_to_use

T = TypeVar("T")


def walk(
    sources: Sequence[Source], work: Callable[[Any], T], about: int | None
) -> Iterator[T]:
    """Apply ``work`` to all blocks of all parts in threads; yield the results in order.

    ``about`` is the expected number of rows, for progress displays.
    """
    meter = PassCounter.start(about)

    def done(piece: Any) -> tuple[T, int]:
        table = piece[0] if isinstance(piece, tuple) else piece
        return work(piece), int(table.shape[0])

    threads = threads_to_use()
    with ThreadPoolExecutor(threads) as pool:
        for source in sources:
            with one_blas_thread():
                for result, rows in ahead(pool, done, source.read(), 2 * threads):
                    meter.add(rows)
                    yield result
    meter.stop()


def as_frame(piece: Any) -> pd.DataFrame:
    """Return a block as a data frame, with the same types as when reading a whole file."""
    if isinstance(piece, pd.DataFrame):
        return piece
    try:
        frame: pd.DataFrame = piece.to_pandas(ignore_metadata=True)
    except ARROW_FAULTS:
        raise InvalidData(CANNOT_HAND_OVER) from None
    return frame


PIECE_ROWS = 2**16
"""Rows per block; with fewer rows, threads spend most of their time waiting."""
TEXT_ROWS = 2**16
STREAM_THRESHOLD_BYTES = 2**28
"""Smallest size in bytes for which a file is read in blocks."""
UNPACKED_RATIO = 4
"""Typical ratio of decompressed to compressed size of text."""
LOOKED_AT = 2**16


@dataclass(frozen=True, slots=True)
class FileFingerprint:
    """Size and modification time of a file, to detect changes during a fit."""

    path: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> "FileFingerprint":
        """Return the current fingerprint of a file."""
        with translate_read_errors(path):
            found = path.stat()
        return cls(path, found.st_size, found.st_mtime_ns)

    def check(self) -> None:
        """Raise an error if the file has changed."""
        if FileFingerprint.of(self.path) != self:
            raise ConfideError(
                f"{self.path} must not change while a model is fitted, but it did. Fit "
                "again, on a copy that nobody writes to."
            )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RowGroup:
    """A row group of a Parquet file."""

    fragment: Any
    arrow_schema: Any
    names: tuple[str, ...]
    stamp: FileFingerprint

    def read(self) -> Iterator[Any]:
        """Yield Arrow record batches."""
        from pyarrow.dataset import ParquetFragmentScanOptions

        found = False
        self.stamp.check()
        with translate_read_errors(Path(self.fragment.path)):
            for batch in self.fragment.to_batches(
                schema=self.arrow_schema,
                columns=list(self.names),
                batch_size=PIECE_ROWS,
                use_threads=False,
                batch_readahead=0,
                fragment_readahead=0,
                fragment_scan_options=ParquetFragmentScanOptions(pre_buffer=False),
            ):
                if batch.num_rows:
                    found = True
                    yield batch
        if not found:
            yield self.whole()

    def whole(self) -> Any:
        """Return all rows as one Arrow table."""
        self.stamp.check()
        with translate_read_errors(Path(self.fragment.path)):
            return self.fragment.to_table(
                schema=self.arrow_schema, columns=list(self.names), use_threads=False
            )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TextFile:
    """A delimited text file, read as one part of a table.

    Without a schema, the columns in ``numbers`` are read as numbers. ``parsed`` caches
    parsed blocks for later passes over the table.
    """

    schema: Schema | None
    target: bool
    stamp: FileFingerprint
    numbers: tuple[str, ...] = ()
    parsed: ParsedText | None = None

    def read(self) -> Iterator[Any]:
        """Yield data frames."""
        self.stamp.check()
        pieces = read_pieces(
            self.stamp.path,
            self.schema,
            target=self.target,
            rows=TEXT_ROWS,
            numbers=self.numbers,
        )
        if self.parsed is not None:
            pieces = self.parsed.pieces((self.stamp, self._types), pieces)
        yield from pieces

    @property
    def _types(self) -> tuple[Any, ...]:
        """Cache key for the interpretation of the text: columns, types and levels."""
        if self.schema is None:
            return self.numbers
        declared = self.schema.parts.items()
        kinds = tuple((name, part.dtype, *part.levels) for name, part in declared)
        return self.target, *kinds

    def whole(self) -> Any:
        """Return all rows as one data frame, in which every column has one type."""
        self.stamp.check()
        return read_delimited(
            self.stamp.path, self.schema, target=self.target, numbers=self.numbers
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FileTable:
    """A table in files, which is read in blocks; use `open_table` to create one.

    ``cluster`` is a Dask client whose workers read the files and hold their rows. If it is
    None, this process reads the files in every pass over the table. ``numbers`` are the
    columns of text files that are read as numbers if there is no schema. With a
    ``division``, only one side of it is read.
    """

    names: tuple[str, ...]
    expected: int
    cluster: Any
    _dataset: Any
    _paths: tuple[Path, ...]
    numbers: tuple[str, ...] = ()
    parsed: ParsedText | None = None
    division: Division | None = None

    def keep_parsed(self) -> "FileTable":
        """Return the table with a cache, so that text is parsed only in the first pass."""
        if self._dataset is not None or self.cluster is not None:
            return self
        return replace(self, parsed=self.parsed or ParsedText())

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)

    def sources(
        self,
        schema: Schema | None,
        *,
        target: bool = True,
        only: str | Sequence[str] | None = None,
    ) -> tuple[Source, ...]:
        """Return the parts, with the columns of ``schema`` or ``only`` (by default all).

        Parts of text files have all columns if there is no schema.
        """
        return divided(self._whole_parts(schema, target, only), self.division)

    def _whole_parts(
        self, schema: Schema | None, target: bool, only: str | Sequence[str] | None
    ) -> tuple[Source, ...]:
        wanted = names = list(self.names)
        if only is not None:
            wanted = [only] if isinstance(only, str) else list(only)
            check_columns(names, wanted)
        if schema is not None:
            wanted = declared_columns(schema, names, target=target)
        if self._dataset is None:
            stamps = map(FileFingerprint.of, self._paths)
            numbers = () if schema is not None else self.numbers
            own = (numbers, self.parsed)
            return tuple(TextFile(schema, target, stamp, *own) for stamp in stamps)
        coded = [] if schema is None else _text_categories(schema, self._dataset.schema)
        schema_read = coded_schema(self._dataset.schema, coded)
        return tuple(
            RowGroup(group, schema_read, tuple(wanted), stamp)
            for fragment in self._dataset.get_fragments()
            for stamp in (FileFingerprint.of(Path(fragment.path)),)
            for group in row_groups(with_codes(fragment, coded))
        )

    def __repr__(self) -> str:
        return f"<table in parts, {len(self.names)} columns>"


def open_table(source: str | Path, *, cluster: Any = None) -> FileTable:
    r"""Open a table that need not fit in memory, for ``fit``.

    Parameters
    ----------
    source : str or Path
        A Parquet or CSV file, a folder of such files, or a pattern such as
        "visits/*.parquet". All files must have the same columns.
    cluster : distributed.Client, optional
        Dask client whose workers read the files once and hold their rows. The workers need
        access to the same files. By default, this process reads the files in blocks in
        every pass over the table.

    Returns
    -------
    FileTable
        The table, to be passed to ``fit``.

    Raises
    ------
    InvalidParameter
        There is no such file, or its format is unknown.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from confide.data import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "people.csv").write_text("age,ill\n30,no\n")
    ...     print(open_table(f"{folder}/*.csv").width)
    2
    """
    paths = _expanded(source)
    kinds = {is_parquet(path) for path in paths}
    if len(kinds) > 1:
        raise InvalidParameter(
            "table",
            "a set of files of one format",
            Described("Parquet and text files"),
            "Select one format by a pattern, such as 'visits/*.parquet'.",
        )
    if kinds == {False}:
        return _text_table(paths, cluster)
    dataset = arrow_dataset(paths, _folder(source))
    rows, first = 0, None
    for fragment in dataset.get_fragments():
        with translate_read_errors(Path(fragment.path)):
            rows += fragment.metadata.num_rows
            held = {*fragment.physical_schema.names}
        first = held if first is None else first
        if held != first:
            _refuse_other_columns(held ^ first)
    names = tuple(str(name) for name in dataset.schema.names)
    return FileTable(names, rows, cluster, dataset, tuple(paths))


def is_in_parts(source: Any) -> bool:
    """Return whether a table consists of several files or is too large to read at once.

    Parameters
    ----------
    source : object
        The table, in any supported form.

    Returns
    -------
    bool
        Whether the table is read in parts.

    Examples
    --------
    >>> import pandas as pd
    >>> from confide.data import is_in_parts
    >>> is_in_parts(pd.DataFrame({"age": [30]}))
    False
    """
    if not isinstance(source, str | Path):
        return isinstance(source, FileTable | BatchSource) or is_dask(source)
    path = local_path(source)
    if path.is_file():
        return path.stat().st_size >= STREAM_THRESHOLD_BYTES
    return path.is_dir() or has_magic(str(source))


def read_files(source: str | Path, schema: Schema | None) -> pd.DataFrame:
    r"""Read all files of a table into memory.

    Parameters
    ----------
    source : str or Path
        File, folder or pattern.
    schema : Schema or None
        Schema whose columns are read; None reads all columns.

    Returns
    -------
    DataFrame
        The rows of all files.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from confide.data import read_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for month in ("01", "02"):
    ...         _ = pathlib.Path(folder, f"{month}.csv").write_text("age\n30\n40\n")
    ...     print(len(read_files(folder, None)))
    4
    """
    if local_path(source).is_file():
        return read_table(source, schema)
    parts = open_table(source).sources(schema)
    return pd.concat([as_frame(part.whole()) for part in parts], ignore_index=True)


def _text_categories(schema: Schema, arrow_schema: Any) -> list[str]:
    """Return the categorical columns that files store as text; they are read as codes."""
    names = [column.name for column in schema.columns if column.coded]
    held = [name for name in (*names, schema.target.column) if name in arrow_schema.names]
    return [name for name in held if str(arrow_schema.field(name).type) == "string"]


def column_names(source: str | Path) -> list[str]:
    """Return the column names from the metadata or first line of the first file."""
    paths = _expanded(source)
    if not is_parquet(paths[0]):
        return read_header(paths[0])[0]
    dataset = arrow_dataset(paths[:1], _folder(source))
    return [str(name) for name in dataset.schema.names]


def name_of(source: str | Path) -> str:
    """Return a default name for a table: that of its file or folder, without suffix."""
    path = Path(source)
    while has_magic(path.name):
        path = path.parent
    return path.name.split(".")[0]


def _folder(source: str | Path) -> Path | None:
    path = local_path(source)
    return path if path.is_dir() else None


def _expanded(source: str | Path) -> list[Path]:
    """Return the sorted files of a path, folder or pattern."""
    folder = _folder(source)
    if folder is not None:
        found = [path for path in sorted(folder.rglob("*")) if _is_shown(path, folder)]
    elif has_magic(str(source)) and not Path(source).exists():
        names = sorted(glob(str(source), recursive=True))  # noqa: PTH207
        found = [Path(name) for name in names]
    else:
        return [Path(source)]
    if not found:
        raise InvalidParameter(
            "table",
            "a path or a pattern that matches at least one file",
            Described(f"{source}, which {'matches' if folder is None else 'has'} none"),
            "Files whose names begin with a dot or an underscore are ignored.",
        )
    return found


def _is_shown(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return path.is_file() and not any(part.startswith((".", "_")) for part in parts)


def _text_table(paths: Sequence[Path], cluster: Any) -> FileTable:
    heads = [read_header(path) for path in paths]
    if any(head != heads[0] for head in heads):
        names = {*heads[0][0]}
        differ = set().union(*(names ^ {*head[0]} for head in heads))
        _refuse_other_columns(differ)
    rows = sum(map(_about_rows, paths))
    return FileTable(tuple(heads[0][0]), rows, cluster, None, tuple(paths))


def _refuse_other_columns(differ: set[str]) -> None:
    found = (
        f"some lack {sorted(differ)}"
        if differ
        else "the order of the columns or the separator differs"
    )
    raise InvalidData(
        f"all files of a table must hold the same columns; {found}. Make the columns "
        "equal, or fit on the files that agree."
    )


def _about_rows(path: Path) -> int:
    """Estimate the number of lines of a text file from its first lines and its size."""
    packed = path.suffix.lower() in PACKED
    with (
        translate_read_errors_locked(path),
        PACKED.get(path.suffix.lower(), open)(path, "rb") as stream,
    ):
        head = stream.read(LOOKED_AT)
    size = path.stat().st_size * (UNPACKED_RATIO if packed else 1)
    return max(1, size * max(1, head.count(b"\n")) // max(1, len(head)))
