"""Whether delimited text is well formed, seen in one pass over its bytes.

A quote opens a field right after a separator or the beginning of a line, and closes it
right before one or the end; inside, it is doubled. Then the number of quotes before a
place, odd or even, says whether it is inside of one, and a file in which a record leaves a
quote open has an odd number of them and is refused. Two files that are both read, and
differ in one record, are cut into the same fields everywhere else.
"""

from collections.abc import Iterator
from typing import IO

import numpy as np

from confide._types import AnyArray
from confide.errors import InvalidData

CHUNK_BYTES = 2**20
QUOTE, SPACE, TAB = ord('"'), ord(" "), ord("\t")
MARK = b"\xef\xbb\xbf"


def _among(signs: str) -> AnyArray:
    """Return for every byte whether it is one of these."""
    return np.isin(np.arange(256), list(signs.encode()))


LINE_ENDS = _among("\r\n")


def check_quotes(stream: IO[bytes], separator: str) -> bool:
    """Refuse quotes that are not well formed; tell whether a field begins with a space.

    A line that begins with a tab is refused too, unless tabs separate fields: the parser
    of pandas drops it where one of its buffers happens to end.
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
    """Yield bytes with what stands around them, and where in the file they begin.

    Those to look at go from start to stop. Before them there is a byte that is no space,
    and after them one byte more.
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
    """Return for every place the last byte before it that is no space."""
    found = text[places - 1]
    if not (found == SPACE).any():
        return found
    solid = np.where(text != SPACE, np.arange(len(text)), 0)
    return text[np.maximum.accumulate(solid)[places - 1]]


def _line(stream: IO[bytes], place: int) -> int:
    """Return the number of the line in which a byte stands."""
    stream.seek(0)
    line = 1
    while place > 0 and (piece := stream.read(min(CHUNK_BYTES, place))):
        line, place = line + piece.count(b"\n"), place - len(piece)
    return line


def _open_quote(line: int) -> InvalidData:
    return InvalidData(
        "every quote must open or close a whole field, or be doubled inside of one; line "
        f"{line} has one that does not, or that is never closed. Correct that line, or "
        "write the table again with a program that quotes fields."
    )


def _tab(line: int) -> InvalidData:
    return InvalidData(
        f"no line may begin with a tab unless tabs separate the fields; line {line} does. "
        "Remove the tab, or quote the field."
    )
