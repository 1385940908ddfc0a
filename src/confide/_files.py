"""Safe files: atomic writes, owner-only permissions, and reads with size limits.

Disk space for an output file is reserved before anything is charged. The file has no name
until it is complete, so nothing is left of it if the process is killed. On systems without
anonymous files, it has a random temporary name until then.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from confide.errors import Described, InvalidParameter

MODE_VARIABLE = "CONFIDE_FILE_MODE"
SIZE_VARIABLE = "CONFIDE_MOST_BYTES"
USUAL_MODE = 0o600
MOST_BYTES = 2**28
"""Size limit in bytes of schema and model files; `SIZE_VARIABLE` overrides it."""
MOST_UNPACKED = 2**30
"""Size in bytes to which any compressed file may expand; `SIZE_VARIABLE` overrides it."""
MOST_RATIO = 100
"""Largest expansion factor of a compressed file that expands beyond `MOST_UNPACKED`."""
MOST_IN_MEMORY = 2**35
"""Size limit in bytes of a table that is read into memory."""


def file_mode() -> int:
    """Return the permissions of new files: owner only, unless configured otherwise."""
    text = os.environ.get(MODE_VARIABLE)
    if not text:
        return USUAL_MODE
    try:
        mode = int(text, 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= 0o777 or not mode & stat.S_IWUSR:
        must = "octal permissions that let the owner write, such as 600 or 640"
        raise InvalidParameter(MODE_VARIABLE, must, text)
    return mode


def size_limit(usual: int) -> int:
    """Return the configured size limit for reading, or ``usual`` if none is configured."""
    text = os.environ.get(SIZE_VARIABLE)
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InvalidParameter(SIZE_VARIABLE, "a whole number of bytes", text)
    return int(text)


def unpacked_limit(path: Path) -> int:
    """Return the size limit of a compressed file after expansion."""
    return size_limit(max(MOST_UNPACKED, MOST_RATIO * path.stat().st_size))


def too_large(path: Path, most: int) -> InvalidParameter:
    """Return the error for a file that exceeds the size limit."""
    return InvalidParameter(
        "file",
        f"at most {most:,} bytes long after decompression",
        Described(f"{path}, which is longer"),
        f"If this is intended, raise the limit: {SIZE_VARIABLE}={16 * most} confide ...",
    )


def check_regular(path: Path, name: str) -> None:
    """Raise if a path is not an ordinary file; reading a device or pipe may never end."""
    try:
        kind = path.stat().st_mode
    except OSError as error:
        reason = Described(f"{path} ({error.strerror})")
        raise InvalidParameter(name, "a file that can be read", reason) from None
    if not stat.S_ISREG(kind):
        raise InvalidParameter(
            name, "an ordinary file", str(path), "It is a folder, a pipe or a device."
        )


def read_limited(path: Path, name: str) -> bytes:
    """Return the content of an ordinary file within the size limit."""
    check_regular(path, name)
    most = size_limit(MOST_BYTES)
    try:
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        reason = Described(f"{path} ({error.strerror})")
        raise InvalidParameter(name, "a file that can be read", reason) from None
    if len(content) > most:
        raise too_large(path, most)
    return content


class ReservedFile:
    """A file that is reserved on disk before its content is known.

    Parameters
    ----------
    path
        Path of the file.
    name
        Name of the parameter or option that error messages refer to.
    room
        Number of bytes to reserve. More may be written if there is space on the disk.
    replaces
        Whether an existing file may be replaced. The new file gets the permissions of the
        old one.
    """

    def __init__(
        self, path: Path, *, name: str, room: int = 0, replaces: bool = False
    ) -> None:
        self.path, self.replaces, self._name = path, replaces, name
        self._temporary: Path | None = None
        mode = self._checked_mode()
        try:
            self._handle = self._opened()
        except OSError as error:
            raise self._cannot("in a folder that can be written to", error) from None
        try:
            os.fchmod(self._handle, mode)
            if room:
                _reserve(self._handle, room)
        except OSError as error:
            self.discard()
            raise self._cannot(f"on a disk with {room:,} bytes free", error) from None

    def _checked_mode(self) -> int:
        """Check that the file may be written, and return the permissions for it."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return file_mode()
        except (OSError, ValueError) as error:
            raise self._cannot("a file name that the disk accepts", error) from None
        if not self.replaces:
            raise InvalidParameter(
                self._name, "a new file", str(self.path), "It exists; remove it first."
            )
        if not stat.S_ISREG(found.st_mode):
            link = stat.S_ISLNK(found.st_mode)
            raise InvalidParameter(
                self._name,
                "the name of a new or an ordinary file",
                str(self.path),
                "It is a link: name the file itself."
                if link
                else "It is a folder, a pipe or a device.",
            )
        return stat.S_IMODE(found.st_mode)

    def _opened(self) -> int:
        folder = self.path.parent
        if hasattr(os, "O_TMPFILE"):
            with suppress(OSError):
                return os.open(folder, os.O_TMPFILE | os.O_RDWR, USUAL_MODE)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".confide-")
        self._temporary = Path(name)
        return handle

    def write(self, content: bytes) -> None:
        """Write the file and flush it to disk; only then give the file its name."""
        with self.stream() as stream:
            stream.write(content)

    @contextmanager
    def stream(self) -> Iterator[IO[bytes]]:
        """Yield a stream for writing; at the end flush the file and give it its name.

        If the body of the ``with`` statement fails, no file is left.
        """
        try:
            with os.fdopen(os.dup(self._handle), "wb") as stream:
                yield stream
                stream.flush()
                os.ftruncate(self._handle, stream.tell())
            os.fsync(self._handle)
            self._publish()
            _flush_folder(self.path.parent)
        except OSError as error:
            raise self._cannot("a file that can be written", error) from None
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the reserved file, unless it has been written."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None

    def _publish(self) -> None:
        if self._temporary is None and not self.replaces:
            _link(self._handle, self.path)
            return
        if self._temporary is None:
            name = Path(tempfile.mktemp(dir=self.path.parent, prefix=".confide-"))  # noqa: S306 - linking never replaces
            _link(self._handle, name)
            self._temporary = name
        if self.replaces:
            self._temporary.replace(self.path)
        else:
            os.link(self._temporary, self.path)

    def _cannot(self, must: str, error: Exception) -> InvalidParameter:
        reason = getattr(error, "strerror", None) or str(error)
        return InvalidParameter(self._name, must, Described(f"{self.path} ({reason})"))


def write_file(path: Path, content: bytes, name: str) -> None:
    """Write a file atomically, replacing any older one."""
    ReservedFile(path, name=name, replaces=True).write(content)


def same_place(one: Path, other: Path) -> bool:
    """Return whether two paths refer to the same file, which need not exist."""
    folders = [os.path.realpath(path.parent) for path in (one, other)]
    names = [path.name.casefold() for path in (one, other)]
    return folders[0] == folders[1] and names[0] == names[1]


def check_apart(option: str, path: Path, read: Mapping[str, Path]) -> None:
    """Raise if an output file is one of the input files, even under another name."""
    for name, other in read.items():
        same = same_place(path, other)
        with suppress(OSError, ValueError):
            same = same or path.samefile(other)
        if same:
            raise InvalidParameter(option, f"a file other than {name}", str(path))


def _reserve(handle: int, room: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, room)
        return
    for _ in range(0, room, 2**20):
        _write_all(handle, bytes(2**20))
    os.lseek(handle, 0, os.SEEK_SET)


def _write_all(handle: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        written = os.write(handle, rest)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rest = rest[written:]


def _link(handle: int, path: Path) -> None:
    """Give an open anonymous file its name; raise if the name already exists."""
    folder = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(str(handle), path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _flush_folder(folder: Path) -> None:
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
