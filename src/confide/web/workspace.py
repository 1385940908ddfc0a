"""The folder for the files of ``confide open``: projects, orders and the ledger.

The files can be read only by their owner, and hold no records of any table. One server at a
time can use a folder; a killed server leaves no lock behind.
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
from confide.errors import ConfideError, Described, InvalidParameter

FOLDER = "confide-files"
BOOK = "book.db"
PRIVATE = 0o700
IDENTIFIER = re.compile(r"[0-9a-f]{16}")
STATE_FILE = "state file of confide open"


def new_identifier() -> str:
    """Return a random folder name that cannot be guessed."""
    return secrets.token_hex(8)


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write plain values to a JSON file, completely or not at all."""
    text = json.dumps(record, indent=1, ensure_ascii=False)
    write_file(path, text.encode("utf-8", "surrogateescape"), STATE_FILE)


def read_record(path: Path) -> dict[str, Any]:
    """Return the plain values in a JSON file."""
    text = read_limited(path, STATE_FILE).decode("utf-8", "surrogateescape")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidParameter(
            STATE_FILE,
            "valid JSON, as written by confide",
            Described(f"{path}, which is damaged or was edited"),
            "Restore it from a backup; or move its folder elsewhere and start again from "
            "the first page. Releases that were charged stay in the ledger.",
        )
    return found


@dataclass(frozen=True, slots=True)
class Project:
    """A chosen table, with its declared schema."""

    folder: Path

    @property
    def identifier(self) -> str:
        """The name of the folder of the project."""
        return self.folder.name

    @property
    def table(self) -> Path:
        """The path of the table."""
        return Path(str(self._record["table"]))

    @property
    def answers(self) -> dict[str, str]:
        """The entries of the schema form, by field."""
        found = self._record.get("answers", {})
        return {str(name): str(text) for name, text in found.items()}

    @property
    def schema_file(self) -> Path:
        """The path of the schema file."""
        return self.folder / "schema.toml"

    @property
    def schema(self) -> Schema | None:
        """The schema; None before it is declared."""
        return Schema.from_toml(self.schema_file) if self.schema_file.exists() else None

    @property
    def schema_text(self) -> str:
        """The text of the schema file."""
        if not self.schema_file.exists():
            raise ConfideError(
                f"{self.table.name} has no schema yet: fill in the schema form first."
            )
        return self.schema_file.read_text("utf-8")

    @property
    def _record(self) -> dict[str, Any]:
        return read_record(self.folder / "project.json")

    def declare(self, answers: Mapping[str, str], text: str) -> None:
        """Save a schema, and the form entries from which it was made."""
        write_file(self.schema_file, text.encode(), "schema")
        record = {"table": str(self.table), "answers": dict(answers)}
        write_record(self.folder / "project.json", record)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Folder of tables, with a subfolder for the files of ``confide open``."""

    folder: Path
    ledger: str

    @classmethod
    def at(cls, folder: Path, ledger: str | None = None) -> "Workspace":
        """Return the workspace of a folder; create subfolders for the owner only."""
        if not folder.is_dir():
            must = "an existing folder on this machine"
            raise InvalidParameter("the folder", must, str(folder))
        whole = folder.absolute()
        if not str(whole).isprintable():
            must = (
                "one whose path can be printed on one line, because the ledger records it"
            )
            raise InvalidParameter("the folder", must, str(whole), "Rename it first.")
        home = whole / FOLDER
        try:
            for path in (home, home / "projects", home / "orders"):
                path.mkdir(mode=PRIVATE, exist_ok=True)
            home.chmod(PRIVATE)
        except OSError as error:
            must = "one that can be written to"
            raise InvalidParameter(
                "the folder", must, Described(f"{whole} ({error.strerror})")
            ) from None
        return cls(whole, ledger or str(home / BOOK))

    @property
    def home(self) -> Path:
        """The subfolder for the files of ``confide open``."""
        return self.folder / FOLDER

    def file(self, text: str) -> Path:
        """Return the path of a file named in a form; relative paths start at the folder."""
        if not text:
            must = "filled in, for example visits.csv"
            raise InvalidParameter("path of the file", must, Described("nothing"))
        try:
            return self.folder / Path(text).expanduser()
        except RuntimeError:
            must = "a path on this computer"
            hint = "After ~ there is no user account of that name. Write the full path."
            raise InvalidParameter("path of the file", must, text, hint) from None

    def lock(self) -> int:
        """Lock the folder against other servers until this process ends."""
        handle = os.open(self.home / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise ConfideError(
                f"{self.folder} is already open in another confide page. Use that page, or "
                "press Ctrl-C in the terminal where confide open was started."
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
            raise InvalidParameter(
                "project", "one of the projects of this folder", identifier
            )
        return Project(folder)

    def choose(self, table: Path) -> Project:
        """Return the project of a table; create it if there is none.

        The folder of a project is named by a hash of the path of the table, so that two
        clicks make only one project.
        """
        name = hashlib.sha256(os.fsencode(table)).hexdigest()[:16]
        folder = self.home / "projects" / name
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        if not (folder / "project.json").exists():
            write_record(folder / "project.json", {"table": str(table)})
        return Project(folder)


def dataset_of(schema: Schema) -> str:
    """Return the name of the dataset in the ledger; raise an error if it is not given."""
    if schema.name in (UNNAMED, UNKNOWN) or not schema.name.isprintable():
        raise InvalidParameter(
            "name of the dataset",
            "given, on one line, because the ledger records spending on the table under "
            "this name",
            schema.name,
        )
    return schema.name
