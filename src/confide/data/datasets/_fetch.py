"""Search for a public data file, download it if necessary, and verify its content.

A file is searched for in this order:

1. in the folder given by the environment variable ``CONFIDE_DATA``,
2. in the cache folder, ``$XDG_CACHE_HOME/confide`` or ``~/.cache/confide``,
3. at its public URL, if it has one; downloads are stored in the cache.

The decompressed content of every file is checked against a pinned checksum. Files may be
uncompressed or in one of the formats ``.gz``, ``.xz`` and ``.zip``.
"""

import gzip
import hashlib
import http.client
import io
import lzma
import os
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from confide.errors import DataNotFound, InvalidData, InvalidParameter

FOLDER_VARIABLE = "CONFIDE_DATA"
TIMEOUT_SECONDS = 60.0
_PACKED = (".gz", ".xz", ".zip")
_CANNOT_UNPACK = (
    EOFError,
    KeyError,
    OSError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a dataset, with its checksum.

    Parameters
    ----------
    path
        Path relative to the data folder, such as ``"adult/adult.data.xz"``.
    sha256
        Checksum of the decompressed content, in hexadecimal.
    split
        Name of the split in this file, such as "train"; None for the file that is
        read by default.
    url
        Public URL of the file, compressed or not; None if there is no such URL.
    member
        Name of the file inside a zip archive.
    """

    path: str
    sha256: str
    split: str | None = None
    url: str | None = None
    member: str | None = None

    def __post_init__(self) -> None:
        if self.url is not None and urlsplit(self.url).scheme not in ("http", "https"):
            raise InvalidParameter("url", "an http or https address", self.url)


def cache_folder() -> Path:
    """Return the folder for downloaded files, which may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "confide"


def read(file: DataFile, source: str) -> bytes:
    """Return the decompressed, verified content of a file, downloading it if necessary."""
    path = find(file, source)
    return _unpack(path.read_bytes(), path.name, file.member)


def find(file: DataFile, source: str) -> Path:
    """Return the path of a file with verified content, downloading it if necessary.

    Parameters
    ----------
    file
        The file to search for.
    source
        Description of the source of the data, for error messages.

    Raises
    ------
    DataNotFound
        The file is not on this machine, and it has no URL or the download failed.
    InvalidData
        The file or the download does not have the pinned checksum.
    """
    folders = _folders()
    for folder in folders:
        for path in (folder / file.path, folder / _plain(file.path)):
            if path.is_file():
                stat = path.stat()
                _verify(path, stat.st_mtime_ns, stat.st_size, file.sha256, file.member)
                return path
    if file.url is None:
        looked = " and ".join(map(str, folders))
        raise DataNotFound(
            f"{file.path} must be on this machine, because no address is known from which "
            f"it can be downloaded; it is not in {looked}. {_advice(file, source)}"
        )
    return _download(file, file.url, source)


def _folders() -> tuple[Path, ...]:
    chosen = os.environ.get(FOLDER_VARIABLE)
    return (Path(chosen), cache_folder()) if chosen else (cache_folder(),)


def _plain(path: str) -> str:
    pure = PurePosixPath(path)
    return str(pure.with_suffix("")) if pure.suffix in _PACKED else path


def _advice(file: DataFile, source: str) -> str:
    return (
        f"Set {FOLDER_VARIABLE} to a folder that holds {file.path}. "
        f"The data come from: {source}"
    )


def _unpack(packed: bytes, name: str, member: str | None) -> bytes:
    match PurePosixPath(name).suffix:
        case ".gz":
            return gzip.decompress(packed)
        case ".xz":
            return lzma.decompress(packed)
        case ".zip":
            with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                return archive.read(member or "")
        case _:
            return packed


def _has_content(packed: bytes, name: str, member: str | None, sha256: str) -> bool:
    try:
        content = _unpack(packed, name, member)
    except _CANNOT_UNPACK:
        return False
    return hashlib.sha256(content).hexdigest() == sha256


@lru_cache(maxsize=64)
def _verify(path: Path, mtime_ns: int, size: int, sha256: str, member: str | None) -> None:
    """Verify the checksum of a file, unless it was verified and has not changed since."""
    del mtime_ns, size
    if not _has_content(path.read_bytes(), path.name, member, sha256):
        raise InvalidData(
            f"{path} must have the sha256 {sha256}, but has a different one. Remove it or "
            "replace it with the original, then load again."
        )


def _download(file: DataFile, url: str, source: str) -> Path:
    packed = _get(file, url, source)
    name = urlsplit(url).path
    if not _has_content(packed, name, file.member, file.sha256):
        raise InvalidData(
            f"{url} must deliver content with sha256 {file.sha256}, but delivered "
            f"different content; nothing was kept. {_advice(file, source)}"
        )
    target = cache_folder() / _plain(file.path)
    _write_at_once(target, _unpack(packed, name, file.member))
    return target


def _get(file: DataFile, url: str, source: str) -> bytes:
    try:
        with _web().open(url, timeout=TIMEOUT_SECONDS) as response:
            packed: bytes = response.read()
            return packed
    except (OSError, http.client.HTTPException) as failure:
        if isinstance(failure, urllib.error.HTTPError):
            failure.close()
        raise DataNotFound(
            f"{file.path} is not on this machine, and its download from {url} failed: "
            f"{failure or type(failure).__name__}. "
            f"Try again later, or: {_advice(file, source)}"
        ) from failure


def _web() -> urllib.request.OpenerDirector:
    """Return a URL opener that allows only http and https, also in redirections."""
    web = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        web.add_handler(handler)
    return web


def _write_at_once(target: Path, content: bytes) -> None:
    """Write a file atomically."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
