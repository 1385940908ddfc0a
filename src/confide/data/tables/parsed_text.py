"""Text that is parsed once: its pieces, in a temporary file without a name.

Parsing takes ten times as long as all else that a sweep does to a row of text. The file is
removed from its folder before anything is written to it, so that nothing is left when the
process ends, however it ends.
"""

import mmap
import os
import pickle
import tempfile
import threading
import weakref
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from confide.errors import PrivacyLeak

FREE_SHARE, FREE_BYTES = 10, 2**30
"""Bytes that stay free on the disk, in addition to a tenth of it."""
ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of a piece in the file: its first byte, and the lengths of its buffers."""

    start: int
    sizes: tuple[int, ...]

    @property
    def offsets(self) -> list[int]:
        """Where every buffer begins, and where the last one ends."""
        found = [0]
        for size in self.sizes:
            found.append(found[-1] + _rounded(size, ALIGNMENT))
        return found

    @property
    def length(self) -> int:
        """How many bytes there are, to the end of a page."""
        return _rounded(self.offsets[-1], mmap.ALLOCATIONGRANULARITY)


class ParsedText:
    """Pieces of parsed files, kept for later sweeps where the disk has room."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0
        self._full = False
        self._lock = threading.Lock()
        self._kept: dict[Hashable, list[_Place]] = {}

    def pieces(self, key: Hashable, parse: Iterable[Any]) -> Iterator[Any]:
        """Yield the pieces of a file: as they were kept, or else by parsing it."""
        kept = self._kept.get(key)
        if kept is not None:
            yield from map(self._read, kept)
            return
        written: list[_Place] = []
        for piece in parse:
            if not self._full:
                self._write(piece, written)
            yield piece
        if not self._full:
            self._kept[key] = written

    def _write(self, piece: Any, written: list[_Place]) -> None:
        """Append a piece; where the disk has no room, give up for good."""
        arrays: list[pickle.PickleBuffer] = []
        head = pickle.dumps(piece, protocol=5, buffer_callback=arrays.append)
        buffers = [memoryview(head), *(array.raw() for array in arrays)]
        try:
            file, place = self._reserve(tuple(buffer.nbytes for buffer in buffers))
            for offset, buffer in zip(place.offsets, buffers, strict=False):
                _write_at(file, buffer, place.start + offset)
        except OSError:
            self._full = True
        else:
            written.append(place)

    def _reserve(self, sizes: tuple[int, ...]) -> tuple[int, _Place]:
        """Return the file, and a place at its end."""
        with self._lock:
            if self._file is None:
                self._file = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            file, place = self._file.fileno(), _Place(self._end, sizes)
            disk = os.fstatvfs(file)
            free, whole = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
            if free - place.length < max(whole // FREE_SHARE, FREE_BYTES):
                raise OSError("the disk is full")
            self._end += place.length
            os.ftruncate(file, self._end)
        return file, place

    def _read(self, place: _Place) -> Any:
        """Return a piece whose arrays are views of the file."""
        assert self._file is not None, "kept pieces have a file"  # noqa: S101
        mapped = mmap.mmap(
            self._file.fileno(),
            place.length,
            access=mmap.ACCESS_READ,
            offset=place.start,
        )
        whole, starts = memoryview(mapped), place.offsets
        head, *arrays = (
            whole[start : start + size]
            for start, size in zip(starts, place.sizes, strict=False)
        )
        return pickle.loads(head, buffers=arrays)  # noqa: S301

    def __reduce__(self) -> tuple[Any, ...]:
        raise PrivacyLeak("private rows cannot be copied or stored")

    def __repr__(self) -> str:
        return "<private rows>"


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _write_at(file: int, buffer: memoryview, start: int) -> None:
    """Write all of a buffer, which may take several calls."""
    while buffer.nbytes:
        written = os.pwrite(file, buffer, start)
        buffer, start = buffer[written:], start + written
