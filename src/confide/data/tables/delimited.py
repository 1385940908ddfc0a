"""Reader for delimited text files (CSV).

With a schema, the type of a column is determined by its declaration, not inferred from
the file. The meaning of a row therefore does not depend on other rows.
"""

import bz2
import csv
import gzip
import lzma
import threading
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from pandas.errors import DtypeWarning, ParserError, ParserWarning

from confide._files import check_regular, too_large, unpacked_limit
from confide._types import AnyArray
from confide.data.schema.declared import declared_columns
from confide.data.schema.parse_values import (
    BEYOND_DOUBLES,
    are_numbers,
    not_a_number,
    not_numbers,
    parsed,
)
from confide.data.schema.schema import Schema
from confide.errors import Described, InvalidData, InvalidParameter
from confide.parallel.workers import threads_to_use

CHUNK_BYTES = 2**20
QUOTE, SPACE, TAB = ord('"'), ord(" "), ord("\t")
MARK = b"\xef\xbb\xbf"


def _among(signs: str) -> AnyArray:
    """Return a Boolean array that marks the given characters among the 256 bytes."""
    return np.isin(np.arange(256), list(signs.encode()))


LINE_ENDS = _among("\r\n")


def check_quotes(stream: IO[bytes], separator: str) -> bool:
    """Reject malformed quotes; return whether any field begins with a space.

    Lines that begin with a tab are rejected as well, unless tabs separate fields, because
    the pandas parser drops such a tab if it follows the end of an internal buffer.
    """
    ends = _among(f"{separator}\r\n")
    around = _among(f'{separator}\r\n"')
    padded, quotes, opened = False, 0, 0
    for window, start, stop, origin in _windows(stream):
        text = np.frombuffer(window, np.uint8)
        if not padded and b" " in window:
            spaces = np.flatnonzero(text[start:stop] == SPACE) + start
            padded = bool(ends[text[spaces - 1]].any())
        marks = np.empty(0, np.intp)
        if b'"' in window:
            marks = np.flatnonzero(text[start:stop] == QUOTE) + start
            opens = (np.arange(len(marks)) + quotes) % 2 == 0
            ahead = ends[_before(text, marks)] | (text[marks - 1] == QUOTE)
            wrong = ~np.where(opens, ahead, around[text[marks + 1]])
            if wrong.any():
                first = int(wrong.argmax())
                began = opens[: first + 1].nonzero()[0]
                place = origin + int(marks[began[-1]]) if began.size else opened
                raise _open_quote(_line(stream, place))
            if opens.any():
                opened = origin + int(marks[opens][-1])
        if separator != "\t" and b"\t" in window:
            tabs = np.flatnonzero(text[start:stop] == TAB) + start
            tabs = tabs[LINE_ENDS[_before(text, tabs)]]
            outside = (np.searchsorted(marks, tabs) + quotes) % 2 == 0
            if outside.any():
                raise _tab(_line(stream, origin + int(tabs[outside.argmax()])))
        quotes += len(marks)
    if quotes % 2:
        raise _open_quote(_line(stream, opened))
    return padded


def _windows(stream: IO[bytes]) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield windows of bytes, each with a start, a stop and the offset of the window.

    The bytes to examine are those from start to stop. The window also contains the last
    preceding byte that is not a space, and one following byte.
    """
    tail, start = b"\n", 1
    piece = stream.read(CHUNK_BYTES)
    origin = len(MARK) - 1 if piece.startswith(MARK) else -1
    piece = piece.removeprefix(MARK) or stream.read(CHUNK_BYTES)
    while piece:
        window = tail + piece
        stop = len(window) - 1
        yield window, start, stop, origin
        solid = len(window[:stop].rstrip(b" ")) - 1
        tail, start, origin = window[solid:], stop - solid, origin + solid
        piece = stream.read(CHUNK_BYTES)
    yield tail + b"\n", start, len(tail), origin


def _before(text: AnyArray, places: AnyArray) -> AnyArray:
    """Return for every position the last preceding byte that is not a space."""
    found = text[places - 1]
    if not (found == SPACE).any():
        return found
    solid = np.where(text != SPACE, np.arange(len(text)), 0)
    return text[np.maximum.accumulate(solid)[places - 1]]


def _line(stream: IO[bytes], place: int) -> int:
    """Return the number of the line that contains the byte at offset ``place``."""
    stream.seek(0)
    line = 1
    while place > 0 and (piece := stream.read(min(CHUNK_BYTES, place))):
        line, place = line + piece.count(b"\n"), place - len(piece)
    return line


def _open_quote(line: int) -> InvalidData:
    return InvalidData(
        "every quote must open or close a field, or be doubled inside a field; line "
        f"{line} has one that does not, or that is never closed. Correct that line, or "
        "write the table again with a program that quotes fields correctly."
    )


def _tab(line: int) -> InvalidData:
    return InvalidData(
        f"no line may begin with a tab unless tabs separate the fields; line {line} does. "
        "Remove the tab, or quote the field."
    )


SEPARATORS = (",", ";", "\t")
LONGEST_HEADER = 2**20
PIECE_ROWS = 2**16
MISSING = frozenset(
    ("", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)
"""Text that represents a missing value, unless it is a declared level."""
PARQUET = (".parquet", ".pq")
PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_CANNOT_UNPACK = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)


def read_header(path: Path) -> tuple[list[str], str]:
    """Return the column names and the separator of a CSV file, from its first line.

    The separator is the comma, semicolon or tab that gives the largest number of columns.
    """
    with translate_read_errors_locked(path):
        with _opened(path) as stream:
            line = stream.readline(LONGEST_HEADER)
        text = line.decode("utf-8-sig").rstrip("\r\n")
        if not text.strip() or len(line) == LONGEST_HEADER:
            fault = "longer than 1 MiB" if text.strip() else "empty"
            raise InvalidData(
                f"the first line of {path} must hold the column names; it is {fault}. Add "
                "a line of names."
            )
        if text.count('"') % 2:
            raise InvalidData(
                f"the first line of {path} must hold all column names, but a quote in it "
                "is not closed. Write names without line breaks, and double each quote."
            )
        try:
            splits = [
                (next(csv.reader([text], delimiter=sep, skipinitialspace=True)), sep)
                for sep in SEPARATORS
            ]
        except csv.Error:
            raise InvalidData(
                f"the first line of {path} must hold the column names, correctly quoted; "
                "it cannot be read as CSV. Check its quotes."
            ) from None
    names, separator = max(splits, key=lambda split: len(split[0]))
    return [name.rstrip(" ") for name in names], separator


def read_delimited(
    path: Path, schema: Schema | None, *, target: bool, numbers: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a CSV file.

    With a schema, only declared columns are read, in their declared types. Without a
    schema, the columns in ``numbers`` are read as numbers, and pandas infers the types of
    the others.
    """
    text = DelimitedText.of(path, schema, target=target, numbers=numbers)
    return text.declared(text.whole())


def read_pieces(
    path: Path,
    schema: Schema | None,
    *,
    target: bool,
    rows: int,
    numbers: Sequence[str] = (),
) -> Iterator[pd.DataFrame]:
    """Yield the table of `read_delimited` in one or more blocks of up to ``rows`` rows."""
    text = DelimitedText.of(path, schema, target=target, numbers=numbers)
    with text.pieces(rows) as pieces:
        frame = text.next_of(pieces)
        if frame is None:
            yield pd.DataFrame({name: [] for name in text.wanted})
        while frame is not None:
            yield text.declared(frame)
            frame = text.next_of(pieces)


@dataclass(frozen=True, slots=True)
class DelimitedText:
    """A delimited text file, with the types in which its columns are read.

    With a schema, types are determined by declarations, not inferred from the file: the
    columns in ``numbers`` are doubles, and all others are text.
    """

    path: Path
    schema: Schema | None
    wanted: tuple[str, ...]
    numbers: tuple[str, ...]
    settings: Mapping[str, Any]

    @classmethod
    def of(
        cls, path: Path, schema: Schema | None, *, target: bool, numbers: Sequence[str]
    ) -> "DelimitedText":
        """Read the header line, and check that the quotes of the file are well formed."""
        names, separator = read_header(path)
        with translate_read_errors(path), _opened(path) as stream:
            padded = check_quotes(_limited(stream, path), separator)
        settings: dict[str, Any] = {"sep": separator, "index_col": False}
        if schema is None:
            # low_memory infers types by chunks, so that a word in a column of numbers would
            # turn only the numbers in its chunk into text.
            settings |= {"skipinitialspace": True, "low_memory": False}
            if len({*names}) == len(names):
                settings |= {"header": 0, "names": names}
            return cls(path, schema, tuple(names), tuple(numbers), settings)
        wanted = declared_columns(schema, names, target=target)
        numbers = [name for name in wanted if schema.parts[name].dtype is float]
        settings |= {
            "header": 0,
            "names": _distinct_names(names),
            "usecols": None if len(wanted) == len(names) else wanted,
            "keep_default_na": False,
            "na_values": dict.fromkeys(numbers, sorted(MISSING)),
            "skipinitialspace": padded,
        }
        return cls(path, schema, tuple(wanted), tuple(numbers), settings)

    def whole(self) -> pd.DataFrame:
        """Return the whole table, with every column in its declared type.

        pandas is fastest when it infers types itself. Columns for which it infers another
        type than declared, even if only in some rows, are read again.
        """
        frame: pd.DataFrame = self._numeric(lambda: self._read(self._guessed))
        if self.schema is None:
            return frame
        wrong = {
            name: float if name in self.numbers else str
            for name in self.wanted
            if not (_is_exact if name in self.numbers else _is_text)(frame[name])
        }
        if not wrong:
            return frame
        again = self._numeric(lambda: self._read(wrong, usecols=list(wrong)))
        return frame.assign(**{name: again[name] for name in wrong})

    def pieces(self, rows: int) -> Any:
        """Return a pandas reader that iterates over blocks of rows."""
        texts = {} if self.schema is None else dict.fromkeys(self.wanted, str)
        types = {**texts, **dict.fromkeys(self.numbers, float)}
        return self._numeric(lambda: self._read(types, chunksize=rows))

    def next_of(self, pieces: Any) -> pd.DataFrame | None:
        """Return the next block, or None after the last one."""
        return self._numeric(lambda: next(pieces, None))

    def declared(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Convert text to levels and missing values; leave other text unchanged."""
        if self.schema is None:
            return frame
        texts = [name for name in self.wanted if name not in self.numbers]
        levels = [frozenset(self.schema.parts[name].levels) for name in texts]
        columns = [frame[name] for name in texts]
        with ThreadPoolExecutor(threads_to_use()) as pool:
            found = list(pool.map(_denoted, columns, levels))
        return frame.assign(**dict(zip(texts, found, strict=True)))

    @property
    def _guessed(self) -> dict[str, Any]:
        """The types for the first attempt to read the file."""
        return {} if self.schema is not None else dict.fromkeys(self.numbers, float)

    def _read(
        self,
        types: Mapping[str, Any],
        *,
        usecols: list[str] | None = None,
        chunksize: int | None = None,
    ) -> Any:
        settings = dict(self.settings)
        if usecols is not None:
            settings["usecols"] = usecols
        return pd.read_csv(self.path, dtype=types, chunksize=chunksize, **settings)

    def _numeric(self, read: Callable[[], Any]) -> Any:
        """Return ``read()``; if it fails, raise an error that names non-numeric columns."""
        with translate_read_errors_locked(self.path):
            try:
                return read()
            except (ParserError, UnicodeError):
                raise
            except ValueError:
                pass
            wrong = self._not_numbers()
            if wrong and self.schema is None:
                raise not_numbers(wrong)
            raise not_a_number(wrong[0]) if wrong else _no_table(self.path)

    def _not_numbers(self) -> list[str]:
        """Return the columns that should be numeric but are not."""
        wrong: set[str] = set()
        texts = dict.fromkeys(self.numbers, str)
        with self._read(texts, chunksize=PIECE_ROWS) as pieces:
            for frame in pieces:
                wrong |= {name for name in self.numbers if not are_numbers(frame[name])}
        return [name for name in self.numbers if name in wrong]


def _limited(stream: IO[bytes], path: Path) -> IO[bytes]:
    """Return a stream that fails if a compressed file expands beyond the limit."""
    if path.suffix.lower() not in PACKED:
        return stream
    return cast("IO[bytes]", _LimitedStream(stream, path, unpacked_limit(path)))


@dataclass
class _LimitedStream:
    stream: IO[bytes]
    path: Path
    most: int
    read_so_far: int = 0

    def read(self, count: int) -> bytes:
        piece = self.stream.read(count)
        self.read_so_far += len(piece)
        if self.read_so_far > self.most:
            raise too_large(self.path, self.most)
        return piece

    def seek(self, place: int) -> None:
        self.read_so_far = 0
        self.stream.seek(place)


def _opened(path: Path) -> Any:
    check_regular(path, "table")
    return PACKED.get(path.suffix.lower(), open)(path, "rb")


def _is_exact(column: pd.Series) -> bool:
    """Whether a numeric column has the same values when it is read as doubles."""
    return column.dtype.kind in "iuf" and bool(column.abs().max() < BEYOND_DOUBLES)


def _is_text(column: pd.Series) -> bool:
    """Whether a column contains only text; object columns may also contain Booleans."""
    if isinstance(column.dtype, pd.StringDtype):
        return True
    return column.dtype == object and infer_dtype(column, skipna=True) == "string"


def _distinct_names(names: list[str]) -> list[str]:
    """Replace empty and repeated names by unique ones, so that pandas renames nothing."""
    times = Counter(names)
    return [
        name if name and times[name] == 1 else f"\0{place}"
        for place, name in enumerate(names)
    ]


_explaining = threading.RLock()


@contextmanager
def translate_read_errors_locked(path: Path) -> Iterator[None]:
    """Replace errors and warnings from reading a file by messages without values.

    Only one thread at a time can be in this context, because warning filters affect all
    threads.
    """
    try:
        with _explaining, warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            warnings.simplefilter("ignore", DtypeWarning)
            with translate_read_errors(path):
                yield
    except ParserWarning:
        raise _no_table(path) from None


@contextmanager
def translate_read_errors(path: Path) -> Iterator[None]:
    """Replace errors from reading a file by messages without values; thread-safe."""
    try:
        yield
    except (InvalidData, InvalidParameter):
        raise
    except _CANNOT_UNPACK:
        raise InvalidData(
            f"{path} must be compressed in the format that its name implies; it is not."
        ) from None
    except OSError as error:
        reason = Described(f"{path} ({error.strerror or type(error).__name__})")
        raise InvalidParameter("table", "a file that can be read", reason) from None
    except UnicodeError:
        raise InvalidData(f"{path} must be text in UTF-8; convert it first.") from None
    except (ValueError, OverflowError):
        raise _no_table(path) from None


def _no_table(path: Path) -> InvalidData:
    if path.suffix.lower() in PARQUET:
        return InvalidData(
            f"{path} must be a complete Parquet file, with columns of the same types as "
            "in the other files of the table; it is not. Write it again."
        )
    return InvalidData(
        f"{path} must be a table: a line of column names, then lines with the same "
        "number of fields, correctly quoted. A line has more fields, or a quote is not "
        "closed."
    )


def _denoted(column: pd.Series, levels: frozenset[Any]) -> pd.Series:
    """Replace text by the levels that it represents; leave other text unchanged."""
    by_text = {str(level).lower(): level for level in levels if isinstance(level, bool)}
    by_number = {float(level): level for level in levels if not isinstance(level, str)}

    def meaning(text: str) -> Any:
        if text in levels:
            return text
        # Trailing blanks are ignored, like leading ones.
        text = text.rstrip(" ")
        if text in levels:
            return text
        if text in MISSING:
            return None
        key = text.strip().lower()
        if key in by_text:
            return by_text[key]
        number = parsed(text) if by_number else None
        return text if number is None else by_number.get(number, text)

    codes, found = cast("Any", pd.factorize)(column.array)
    meanings = np.array([*map(meaning, found.tolist()), None], dtype=object)
    places, known = pd.factorize(meanings)
    small = places.astype(np.min_scalar_type(-len(known) - 1))
    held = pd.Categorical.from_codes(
        small.take(codes), pd.Index(known, dtype=object), validate=False
    )
    return pd.Series(held, index=column.index)
