"""Orders: fits with fixed settings, each of which can be confirmed and charged only once.

An order runs the command ``confide fit`` in a process of its own, which reserves its files,
charges the ledger and writes the model. What was charged and released is looked up in the
ledger alone, by the name of the model file. The page therefore agrees with the ledger even
if the server or the fit is killed.
"""

import fcntl
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO

import confide
from confide._files import ReservedFile, write_file
from confide.errors import BUG, ConfideError, Described, InvalidParameter
from confide.web.fits import FitSettings
from confide.web.workspace import (
    IDENTIFIER,
    PRIVATE,
    Workspace,
    new_identifier,
    read_record,
    write_record,
)

COMMAND = (sys.executable, "-P", "-m", "confide")
"""The command that runs confide; -P keeps local files from shadowing its modules."""
ERROR = "error: "
TOLD = (ERROR, "refused:", f"{BUG}:", "Stopped", "Charge ", "The release")
"""Beginnings of the output lines that the page shows; other lines are not stored."""


class State(StrEnum):
    """The state of an order."""

    DRAFT = "draft"
    PENDING = "pending"
    CHARGED = "charged"
    RELEASED = "released"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of an order, its charge in the ledger, and the last message of its fit."""

    state: State
    charge: int | None = None
    anchor: str = ""
    words: str = ""

    @property
    def over(self) -> bool:
        """Whether the order is finished."""
        return self.state in (State.RELEASED, State.FAILED)


@dataclass(frozen=True, slots=True)
class Order:
    """Fit with fixed settings, which can be charged only once."""

    folder: Path
    table: Path
    ledger: str
    dataset: str
    settings: FitSettings
    project: str

    @property
    def identifier(self) -> str:
        """The name of the folder of the order."""
        return self.folder.name

    @property
    def model(self) -> Path:
        """The path of the model file."""
        return self.folder / "model.json"

    @property
    def schema_file(self) -> Path:
        """The path of a copy of the schema, made when the order was created."""
        return self.folder / "schema.toml"

    @property
    def confirmed(self) -> bool:
        """Whether the order was confirmed."""
        return (self.folder / "confirmed").exists()

    def words(self) -> list[str]:
        """Return the arguments of the command that carries out the order."""
        return self._words(self.ledger, str(self.model))

    def shown_words(self) -> list[str]:
        """Return the arguments to display, without passwords or the model file's folder."""
        return self._words(str(confide.ledger.redacted(self.ledger)), self.model.name)

    def _words(self, ledger: str, out: str) -> list[str]:
        return [
            *("fit", str(self.table), "--schema", str(self.schema_file)),
            *self.settings.options(),
            *("--ledger", ledger, "--out", out),
        ]

    def same_as(self, other: "Order") -> bool:
        """Return whether another order has the same table, schema and settings."""
        here = replace(other, folder=self.folder)
        texts = [one.schema_file.read_bytes() for one in (self, other)]
        return here == self and texts[0] == texts[1]


class OrderBook:
    """All orders of a workspace; only one thread at a time can start an order."""

    def __init__(self, workspace: Workspace, command: Sequence[str] = COMMAND) -> None:
        self.workspace, self.command = workspace, command
        self.folder = workspace.home / "orders"
        self._turn = threading.Lock()
        self._running: set[str] = set()

    def draft(
        self, table: Path, schema: Path, settings: FitSettings, project: str
    ) -> Order:
        """Store an unconfirmed order, unless an identical one exists; return the order."""
        public = confide.Schema.from_toml(schema)
        folder = self.folder / new_identifier()
        order = Order(folder, table, self.workspace.ledger, public.name, settings, project)
        with self._turn:
            folder.mkdir(mode=PRIVATE)
            write_file(order.schema_file, schema.read_bytes(), "schema")
            known = [one for one in self.like(order) if not one.confirmed]
            if known:
                order.schema_file.unlink()
                folder.rmdir()
                return known[0]
            record = {**asdict(order), "folder": "", "table": str(table)}
            write_record(folder / "order.json", record)
        return order

    def like(self, order: Order) -> list[Order]:
        """Return other orders with the same table, schema and settings."""
        return [
            one for one in self.all() if one.folder != order.folder and one.same_as(order)
        ]

    def all(self) -> list[Order]:
        """Return all orders, the latest first."""
        files = self.folder.glob("*/order.json")
        found = sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)
        return [self.order(path.parent.name) for path in found]

    def order(self, identifier: str) -> Order:
        """Return an order by the name of its folder."""
        folder = self.folder / identifier
        if not (IDENTIFIER.fullmatch(identifier) and (folder / "order.json").exists()):
            raise InvalidParameter("fit", "one of the fits of this folder", identifier)
        record = read_record(folder / "order.json")
        return Order(
            folder,
            Path(record["table"]),
            record["ledger"],
            record["dataset"],
            FitSettings(**record["settings"]),
            record["project"],
        )

    def book(self) -> confide.Ledger:
        """Open the ledger of the workspace; create it if no order has been confirmed."""
        return open_book(
            self.workspace.ledger, new=not any(one.confirmed for one in self.all())
        )

    def start(self, order: Order) -> bool:
        """Start the fit unless it was started before; return whether it was started now."""
        with self._turn:
            lock = os.open(order.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not _mark(order.folder / "confirmed"):
                    return False
                self._running.add(order.identifier)
                self._run(order, lock)
            except BlockingIOError:
                return False
            finally:
                os.close(lock)
        return True

    def _run(self, order: Order, lock: int) -> None:
        """Start the fit, which holds the lock until it ends, even if the server dies."""
        # an unnamed file, so that messages about the progress are not kept
        said = tempfile.TemporaryFile()  # noqa: SIM115 - the thread closes it
        try:
            process = subprocess.Popen(  # noqa: S603 - our own command, without a shell
                [*self.command, *order.words()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=order.folder,
                start_new_session=True,
                pass_fds=(lock,),
            )
        except OSError:
            said.close()
            self._running.discard(order.identifier)
            raise
        watch = threading.Thread(target=self._watch, args=(order, process, said))
        watch.daemon = True
        watch.start()

    def _watch(
        self, order: Order, process: "subprocess.Popen[bytes]", said: IO[bytes]
    ) -> None:
        """Wait for the end of a fit, and store its last message."""
        try:
            code = process.wait()
            said.seek(0)
            lines = said.read(2**16).decode("utf-8", "replace").splitlines()
            told = [line for line in lines if line.startswith(TOLD)]
            words = " ".join(line.removeprefix(ERROR) for line in told)
            write_record(order.folder / "end.json", {"code": code, "words": words})
        finally:
            said.close()
            with self._turn:
                self._running.discard(order.identifier)

    def running(self) -> list[Order]:
        """Return the orders whose fits are under way."""
        return [one for one in self.all() if one.confirmed and self._is_running(one)]

    def _is_running(self, order: Order) -> bool:
        with self._turn:
            if order.identifier in self._running:
                return True
            lock = os.open(order.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            finally:
                os.close(lock)
        return False

    def standing(self, order: Order) -> Standing:
        """Return the state of an order, derived from the ledger and from its process."""
        if not order.confirmed:
            return Standing(State.DRAFT)
        # checked before the ledger is read, because a finished fit charges nothing more
        running = self._is_running(order)
        charge, anchor, released = _booked(order)
        words = "" if running else _last_words(order)
        if running:
            state = State.PENDING if charge is None else State.CHARGED
        else:
            state = State.RELEASED if released else State.FAILED
        return Standing(state, charge, anchor, words)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Context manager that lets only one thread at a time change orders."""
        with self._turn:
            yield

    def released(self, order: Order) -> Path:
        """Return the model file of an order, restored from the ledger if it is lost."""
        charge, _, released = _booked(order)
        if charge is None or not released:
            raise InvalidParameter("fit", "one that has released a model", order.identifier)
        with self.turn():
            if not order.model.exists():
                kept = json.loads(open_book(order.ledger).content(charge))
                content = confide.estimators.file_content(kept)
                ReservedFile(order.model, name="model file").write(content)
        return order.model


def open_book(ledger: str, *, new: bool = False) -> confide.Ledger:
    """Open a ledger; unless ``new``, raise an error if its file is missing."""
    if not (new or "://" in ledger or Path(ledger).exists()):
        raise InvalidParameter(
            "the ledger",
            "at the path where it was when this fit was charged",
            Described(f"{ledger}, which does not exist"),
            "Restore it from a backup: a new ledger would not contain what was spent.",
        )
    return confide.Ledger.open(ledger)


def command_text(order: Order) -> str:
    """Return the command of an order, quoted for a shell."""
    return shlex.join(["confide", *order.shown_words()])


def _booked(order: Order) -> tuple[int | None, str, bool]:
    """Return the charge of an order, its anchor, and whether a release was recorded.

    The charge is found by the path of the model file, which differs between orders.
    """
    book = open_book(order.ledger)
    file = f"{order.identifier}/{order.model.name}"
    entries = book.entries(order.dataset)
    paid = [e for e in entries if e.kind == "charge" and e.what.endswith(file)]
    if not paid:
        return None, "", False
    number = paid[0].number
    released = any(e.kind == "release" and e.charge == number for e in entries)
    return number, f"{number}:{paid[0].digest[:32]}", released


def _last_words(order: Order) -> str:
    """Return the last message of the fit, if the server received one."""
    try:
        return str(read_record(order.folder / "end.json").get("words", ""))
    except ConfideError:
        return ""


def _mark(path: Path) -> bool:
    """Create an empty file on disk; return False if it already existed."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    os.fsync(handle)
    os.close(handle)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return True
