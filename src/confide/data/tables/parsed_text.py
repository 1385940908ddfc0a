"""Cache of parsed text in an unnamed temporary file.

In a pass over a table, parsing a row of text takes ten times as long as all other work.
The file is removed from its folder before anything is written to it, so that no data remain
on the disk however the process ends.
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
"""The cache leaves at least a tenth of the disk, and at least 1 GiB, free."""
ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of a block in the file: its first byte and the sizes of its buffers."""

    start: int
    sizes: tuple[int, ...]

    @property
    def offsets(self) -> list[int]:
        """Offset of the start of every buffer in the block, and of the end of the last."""
        found = [0]
        for size in self.sizes:
            found.append(found[-1] + _rounded(size, ALIGNMENT))
        return found

    @property
    def length(self) -> int:
        """Size of the block in bytes, rounded up to whole pages."""
        return _rounded(self.offsets[-1], mmap.ALLOCATIONGRANULARITY)


class ParsedText:
    """Parsed blocks of files, cached for later passes as long as the disk has space."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0
        self._full = False
        self._lock = threading.Lock()
        self._kept: dict[Hashable, list[_Place]] = {}

    def pieces(self, key: Hashable, parse: Iterable[Any]) -> Iterator[Any]:
        """Yield the blocks of a file, from the cache if possible, else by parsing."""
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
        """Append a block; stop caching permanently if the disk has no space."""
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
        """Reserve space at the end of the file; return its descriptor and the position."""
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
        """Return a block whose arrays are views of the memory-mapped file."""
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
    """Write a whole buffer, with several system calls if necessary."""
    while buffer.nbytes:
        written = os.pwrite(file, buffer, start)
        buffer, start = buffer[written:], start + written
