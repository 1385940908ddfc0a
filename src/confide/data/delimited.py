"""Delimited text (CSV): its header line, and the columns that a schema declares.

With a schema every column is read by its declared kind, never by what the file seems to
hold: a row means the same whatever stands in the others.
"""

import bz2
import csv
import gzip
import lzma
import threading
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.errors import DtypeWarning, ParserWarning

from confide.data.columns import Category
from confide.data.schema import Schema, declared_columns
from confide.data.values import as_numbers
from confide.errors import InvalidData, InvalidParameter

SEPARATORS = (",", ";", "\t")
LONGEST_HEADER = 2**20
PIECE = 2**20
MISSING = frozenset(
    ("", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)
"""Text that stands for a missing value, unless it is a declared level."""
PARQUET = (".parquet", ".pq")
PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_CANNOT_UNPACK = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)


def read_header(path: Path) -> tuple[list[str], str]:
    """Return the column names of a CSV file and its separator, from the first line only.

    The separator is the one among comma, semicolon and tab that gives most columns.
    """
    with explained(path):
        with PACKED.get(path.suffix.lower(), open)(path, "rb") as stream:
            line = stream.readline(LONGEST_HEADER)
        text = line.decode("utf-8-sig").rstrip("\r\n")
        if not text.strip() or len(line) == LONGEST_HEADER:
            raise InvalidData(f"the first line of {path} must hold the column names.")
        try:
            splits = [
                (next(csv.reader([text], delimiter=sep, skipinitialspace=True)), sep)
                for sep in SEPARATORS
            ]
        except csv.Error:
            raise InvalidData(
                f"the first line of {path} must hold the column names, quoted rightly."
            ) from None
    return max(splits, key=lambda split: len(split[0]))


def read_delimited(path: Path, schema: Schema | None, *, target: bool) -> pd.DataFrame:
    """Read a CSV file; with a schema only what it declares, as it declares it."""
    names, separator = read_header(path)
    if schema is None:
        with explained(path):
            return pd.read_csv(
                path,
                sep=separator,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
            )
    wanted = declared_columns(schema, names, target=target)
    missing = {name: sorted(MISSING - _levels(schema, name)) for name in wanted}
    padded = _may_be_padded(path, separator)

    def read(columns: list[str] | None, dtype: Any) -> pd.DataFrame:
        frame: pd.DataFrame = pd.read_csv(
            path,
            sep=separator,
            header=0,
            names=_distinct_names(names),
            index_col=False,
            usecols=columns,
            dtype=dtype,
            keep_default_na=False,
            na_values=missing,
            skipinitialspace=padded,
        )
        return frame

    with explained(path):
        frame = read(None if len(wanted) == len(names) else wanted, None)
        unsure = [name for name in wanted if not _is_sure(schema, name, frame[name].dtype)]
        if unsure:
            texts = read(unsure, str)
            frame = frame.assign(**{name: texts[name] for name in unsure})
    return _as_declared(frame, schema, wanted)


def _as_declared(frame: pd.DataFrame, schema: Schema, wanted: list[str]) -> pd.DataFrame:
    """Turn text into the numbers and levels that it denotes."""
    for name in wanted:
        levels = _levels(schema, name)
        if frame[name].dtype.kind in "iuf":
            continue
        if not all(isinstance(level, str) for level in levels):
            frame[name] = _as_levels(frame[name].astype("str"), levels)
        elif _kind(schema, name) == "number":
            frame[name] = as_numbers(frame[name], name)
    return frame


def read_pieces(
    path: Path, schema: Schema | None, *, target: bool, rows: int
) -> Iterator[pd.DataFrame]:
    """Yield what `read_delimited` returns, so many rows at a time; one piece at least."""
    names, separator = read_header(path)
    wanted, settings = _settings_for(path, names, separator, schema, target=target)
    with explained(path):
        pieces = pd.read_csv(path, chunksize=rows, **settings)
    with pieces:
        frame = _next_piece(path, pieces)
        if frame is None:
            yield pd.DataFrame({name: [] for name in wanted})
        while frame is not None:
            yield frame if schema is None else _as_declared(frame, schema, wanted)
            frame = _next_piece(path, pieces)


def _settings_for(
    path: Path, names: list[str], separator: str, schema: Schema | None, *, target: bool
) -> tuple[list[str], dict[str, Any]]:
    """Return the columns to read from a file, and how to read them piece by piece."""
    settings: dict[str, Any] = {"sep": separator, "index_col": False}
    # A piece has one type: else a word makes text of the numbers near it, and of no others.
    settings["low_memory"] = False
    if schema is None:
        return names, settings | {"skipinitialspace": True}
    wanted = declared_columns(schema, names, target=target)
    return wanted, settings | {
        "header": 0,
        "names": _distinct_names(names),
        "usecols": None if len(wanted) == len(names) else wanted,
        "dtype": {name: str for name in wanted if not _is_free(schema, name)},
        "keep_default_na": False,
        "na_values": {name: sorted(MISSING - _levels(schema, name)) for name in wanted},
        "skipinitialspace": _may_be_padded(path, separator),
    }


def _next_piece(path: Path, pieces: Any) -> pd.DataFrame | None:
    with explained(path):
        return next(pieces, None)


def _may_be_padded(path: Path, separator: str) -> bool:
    """Whether a field may begin with a space: looking costs far less than skipping."""
    if path.suffix.lower() in PACKED:
        return True
    begins = np.frombuffer(f"{separator}\r\n".encode(), np.uint8)
    before = b"\n"
    with in_words(path), path.open("rb", buffering=0) as stream:
        while piece := stream.read(PIECE):
            if b" " in piece:
                text = np.frombuffer(before + piece, np.uint8)
                if np.isin(text[np.flatnonzero(text[1:] == ord(" "))], begins).any():
                    return True
            before = piece[-1:]
    return False


def _is_sure(schema: Schema, name: str, dtype: Any) -> bool:
    """Whether pandas' guess of a type kept what every row says, whatever the others say.

    It reads fastest when it may guess. Text is kept as it is; a column of mere numbers
    may have lost leading zeros, which matter where a level is text.
    """
    if isinstance(dtype, pd.StringDtype):
        return True
    return _is_free(schema, name) and dtype.kind in "iuf"


def _is_free(schema: Schema, name: str) -> bool:
    """Whether a column means the same whether pandas reads numbers in it or text."""
    levels = _levels(schema, name)
    spelled = any(isinstance(level, str | bool) for level in levels)
    return _kind(schema, name) in ("number", "boolean") or bool(levels and not spelled)


def _distinct_names(names: list[str]) -> list[str]:
    """Rename what repeats, which nobody declared, so that nothing else is renamed."""
    times = Counter(names)
    return [
        name if name and times[name] == 1 else f"\0{place}"
        for place, name in enumerate(names)
    ]


_explaining = threading.RLock()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn whatever reading a file can raise into words without a value.

    One thread at a time: warnings are turned into errors for all threads.
    """
    try:
        with _explaining, warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            warnings.simplefilter("ignore", DtypeWarning)
            with in_words(path):
                yield
    except ParserWarning:
        raise _no_table(path) from None


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Do what `explained` does about errors alone; threads may do so side by side."""
    try:
        yield
    except (InvalidData, InvalidParameter):
        raise
    except _CANNOT_UNPACK:
        raise InvalidData(f"{path} must be packed as its name says; it is not.") from None
    except OSError as error:
        reason = f"{path} ({error.strerror or type(error).__name__})"
        raise InvalidParameter("table", "a file to be read", reason) from None
    except UnicodeError:
        raise InvalidData(f"{path} must be text in UTF-8; convert it first.") from None
    except (ValueError, OverflowError):
        raise _no_table(path) from None


def _no_table(path: Path) -> InvalidData:
    if path.suffix.lower() in PARQUET:
        return InvalidData(
            f"{path} must be a whole Parquet file, with columns of the same types as in "
            "other files of the table; it is not. Write it again."
        )
    return InvalidData(
        f"{path} must be a table: a line of column names, then in every line as many "
        "fields, quoted rightly. A line holds more, or a quote does not end."
    )


def _levels(schema: Schema, name: str) -> frozenset[Any]:
    """Return the public values of a column; none for numbers, dates and booleans."""
    if name == schema.target.column:
        return frozenset(schema.target.labels or ())
    column = next(column for column in schema.columns if column.name == name)
    return frozenset(column.levels if isinstance(column, Category) else ())


def _kind(schema: Schema, name: str) -> str:
    if name == schema.target.column:
        return "number" if schema.target.labels is None else "category"
    return next(column.kind for column in schema.columns if column.name == name)


def _as_levels(column: Any, levels: frozenset[Any]) -> Any:
    """Return text as the numbers or truth values among the levels that it denotes."""
    by_text = {str(level).lower(): level for level in levels if isinstance(level, bool)}
    by_number = {float(level): level for level in levels if not isinstance(level, str)}

    def meaning(text: str) -> Any:
        key = text.strip().lower()
        if text in levels or key in by_text:
            return by_text.get(key, text)
        try:
            return text if "_" in text else by_number.get(float(text), text)
        except ValueError:
            return text

    codes, found = pd.factorize(column)
    meanings = np.array([*(meaning(str(text)) for text in found), None], dtype=object)
    return pd.Series(meanings[codes], index=column.index, dtype=object)
