"""The folder in which a page keeps what it writes: tables, schemas, orders and the ledger.

Files are for their owner alone and hold no record of any table. One server at a time
works in a folder; a killed one leaves no lock behind.
"""

import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide._files import read_limited, write_file
from confide.data import UNKNOWN, UNNAMED, Schema
from confide.errors import ConfideError, InvalidParameter

FOLDER = "confide-files"
BOOK = "book.db"
PRIVATE = 0o700
IDENTIFIER = re.compile(r"[0-9a-f]{16}")


def new_identifier() -> str:
    """Return a name for a folder that cannot be guessed."""
    return secrets.token_hex(8)


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write plain values to a file, whole or not at all, and on the disk."""
    text = json.dumps(record, indent=1, ensure_ascii=False)
    write_file(path, text.encode("utf-8", "surrogateescape"), "file of the page")


def read_record(path: Path) -> dict[str, Any]:
    """Return the plain values of a file."""
    text = read_limited(path, "file of the page").decode("utf-8", "surrogateescape")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidParameter("file of the page", "as the page wrote it", str(path))
    return found


@dataclass(frozen=True, slots=True)
class Project:
    """A table that was chosen, and what has been declared of it."""

    folder: Path

    @property
    def identifier(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def table(self) -> Path:
        """Where the table lies."""
        return Path(str(self._record["table"]))

    @property
    def answers(self) -> dict[str, str]:
        """What was filled in the form of the schema."""
        found = self._record.get("answers", {})
        return {str(name): str(text) for name, text in found.items()}

    @property
    def schema_file(self) -> Path:
        """Where the schema is written."""
        return self.folder / "schema.toml"

    @property
    def schema(self) -> Schema | None:
        """The schema, once there is one."""
        return Schema.from_toml(self.schema_file) if self.schema_file.exists() else None

    @property
    def schema_text(self) -> str:
        """The schema as it is written."""
        if not self.schema_file.exists():
            raise ConfideError(
                f"{self.table.name} must have a schema before this: fill in its form first."
            )
        return self.schema_file.read_text("utf-8")

    @property
    def _record(self) -> dict[str, Any]:
        return read_record(self.folder / "project.json")

    def declare(self, answers: Mapping[str, str], text: str) -> None:
        """Keep a schema, and the answers that it was made from."""
        write_file(self.schema_file, text.encode(), "schema")
        record = {"table": str(self.table), "answers": dict(answers)}
        write_record(self.folder / "project.json", record)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder of tables, with a folder for the files of the page inside it."""

    folder: Path
    ledger: str

    @classmethod
    def at(cls, folder: Path, ledger: str | None = None) -> "Workspace":
        """Make the folders, for their owner alone."""
        if not folder.is_dir():
            must = "a folder on this machine"
            raise InvalidParameter("the folder", must, str(folder))
        whole = folder.absolute()
        if not str(whole).isprintable():
            must = "one whose path can be printed on a line, as the ledger records it"
            raise InvalidParameter("the folder", must, str(whole), "Rename it first.")
        home = whole / FOLDER
        try:
            for path in (home, home / "projects", home / "orders"):
                path.mkdir(mode=PRIVATE, exist_ok=True)
            home.chmod(PRIVATE)
        except OSError as error:
            must = "one that can be written to"
            raise InvalidParameter(
                "the folder", must, f"{whole} ({error.strerror})"
            ) from None
        return cls(whole, ledger or str(home / BOOK))

    @property
    def home(self) -> Path:
        """The folder of the page."""
        return self.folder / FOLDER

    def file(self, text: str) -> Path:
        """Return the path of a file that a form names: in the folder, or a whole one."""
        if not text:
            must = "filled in, for example visits.csv"
            raise InvalidParameter("path of the file", must, "nothing")
        try:
            return self.folder / Path(text).expanduser()
        except RuntimeError:
            must = "one of a known account where it begins with ~"
            raise InvalidParameter("path of the file", must, text) from None

    def lock(self) -> int:
        """Lock the folder against other servers until this process ends."""
        handle = os.open(self.home / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise ConfideError(
                f"{self.folder} can be open in only one page at a time, and it is already "
                "open. Use that page, or end it with Ctrl-C where it was started."
            ) from None
        return handle

    def projects(self) -> list[Project]:
        """Return all projects, the latest first."""
        files = (self.home / "projects").glob("*/project.json")
        found = sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)
        return [Project(path.parent) for path in found]

    def project(self, identifier: str) -> Project:
        """Return a project by the name of its folder."""
        folder = self.home / "projects" / identifier
        known = IDENTIFIER.fullmatch(identifier) and (folder / "project.json").exists()
        if not known:
            raise InvalidParameter("project", "one of this folder", identifier)
        return Project(folder)

    def choose(self, table: Path) -> Project:
        """Return the project of a table; it is made where there is none.

        Its folder is named after the path of the table: two clicks make one project.
        """
        name = hashlib.sha256(os.fsencode(table)).hexdigest()[:16]
        folder = self.home / "projects" / name
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        if not (folder / "project.json").exists():
            write_record(folder / "project.json", {"table": str(table)})
        return Project(folder)


def dataset_of(schema: Schema) -> str:
    """Return the name of the dataset in the ledger, which must be given."""
    if schema.name in (UNNAMED, UNKNOWN) or not schema.name.isprintable():
        raise InvalidParameter(
            "name of the dataset",
            "given: the ledger records spending on the table under it",
            schema.name,
        )
    return schema.name
