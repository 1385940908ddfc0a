"""Delivery of releases: files are reserved before the charge, and written afterwards.

If a signal, a full disk or a bug ends the command after the charge, the release is saved
elsewhere, and the last message states what was charged and where the release is.
"""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from rich.text import Text

import confide
from confide._files import ReservedFile, same_place
from confide._interrupts import SIGNALS
from confide.cli.output import err_console, shown_place
from confide.cli.screen import in_one_line, silence
from confide.errors import BudgetExceeded, ConfideError, InvalidParameter

ELSEWHERE = 4
"""Exit code: a release was charged but could not be written to the requested file."""
LONGEST_NOTE = 500
BESIDE_A_LEDGER = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite writes next to a database."""


class Delivery:
    """The output files of a release, and the charge for it."""

    def __init__(self, ledger: str | None, book: confide.Ledger | None) -> None:
        self.receipts: list[confide.ledger.Charge] = []
        self.place = ledger
        self.book = None if book is None else book.with_receipts(self.receipts)
        self.lost = False
        self._files: dict[str, ReservedFile] = {}
        self._signal: int | None = None
        self._failure: Exception | None = None

    def noted(self, out: Path | None) -> confide.Ledger | None:
        """Return the ledger, set to record the name of the output file with each charge."""
        if self.book is None or out is None:
            return self.book
        return self.book.with_note(_short_name(str(out)))

    def reserve(self, option: str, path: Path, room: int) -> None:
        """Reserve a file name and disk space; never replace an existing file."""
        others = {name: file.path for name, file in self._files.items()}
        if self.place is not None and "://" not in self.place:
            file = os.path.realpath(self.place)
            ends = ("", *BESIDE_A_LEDGER)
            others |= {f"the ledger{end}": Path(file + end) for end in ends}
        for name, other in others.items():
            if same_place(path, other):
                raise InvalidParameter(option, f"a file other than {name}", str(path))
        self._files[option] = ReservedFile(path, name=option, room=room)

    def release_places(self) -> None:
        """Remove every reserved file that was not written."""
        for file in self._files.values():
            file.discard()

    @contextmanager
    def guarded(self, released: Callable[[], bool]) -> Iterator[None]:
        """Context manager that reports what was charged and released if its body fails.

        A signal before the release ends the body at once. After the release, the files
        are written before the signal takes effect.
        """

        def stop(number: int, _frame: FrameType | None) -> None:
            self._signal = number
            if not released():
                raise KeyboardInterrupt

        try:
            with _handling(stop):
                yield
                self._end()
        except KeyboardInterrupt:
            _say(f"Stopped. {self._standing()}")
            raise typer.Exit(self._exit_code()) from None
        except typer.Exit:
            raise
        except BaseException as error:
            # the message of a refused charge is enough
            if self.place is not None and not isinstance(error, BudgetExceeded):
                _say(self._standing())
            raise
        finally:
            self.release_places()

    def _end(self) -> None:
        """Raise a postponed error, or exit with a code after a signal or a lost file."""
        if self._failure is not None:
            raise self._failure
        if self._signal is not None:
            _say("Stopped; the release that was charged has been written.")
            raise typer.Exit(self._exit_code())
        if self.lost:
            raise typer.Exit(ELSEWHERE)

    @contextmanager
    def fitting(self, released: Callable[[], bool]) -> Iterator[None]:
        """Context manager that postpones errors until a release is written to its files."""
        try:
            yield
        except Exception as error:
            if not released():
                raise
            self._failure = error

    def _exit_code(self) -> int:
        return 128 + (self._signal or signal.SIGINT)

    def _standing(self) -> str:
        """Describe what was charged, and whether its release can be recovered."""
        if not self.receipts:
            nothing = "Nothing was charged, and nothing was released."
            return "Nothing was released." if self.place is None else nothing
        paid = self.receipts[-1]
        remains = (
            f"Charge {paid.number} remains in the ledger ({paid.budget}, dataset "
            f"{paid.dataset})."
        )
        if self._is_on_record(paid.number):
            return f"{remains} {self._way_back(paid.number)}"
        return f"{remains} Nothing was released for it."

    def _is_on_record(self, charge: int) -> bool:
        if self.book is None:
            return False
        try:
            self.book.content(charge)
        except ConfideError:
            return False
        return True

    def _way_back(self, charge: int) -> str:
        words = f"confide recover {shlex.quote(shown_place(self.place))} --charge {charge}"
        return f"Its release is in the ledger: {words} --out FILE"

    def write(self, option: str, content: bytes) -> Path | None:
        """Write a reserved file; if that fails, save it elsewhere and report where."""
        file = self._files[option]
        try:
            file.write(content)
        except ConfideError as error:
            self._say_where(f"{error}", self.rescue(content, file.path.suffix))
            return None
        return file.path

    def rescue(self, content: bytes, suffix: str) -> str:
        """Save a release in the first writable folder, or print it if there is none.

        The current folder, the home folder and the temporary folder are tried in turn.
        Return a description of where the release is; empty if the release is lost.
        """
        self.lost = True
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        for folder in (Path.cwd, Path.home, lambda: Path(tempfile.gettempdir())):
            with suppress(ConfideError, OSError, RuntimeError):
                path = folder() / f"confide-rescue-{stamp}-{os.getpid()}{suffix}"
                ReservedFile(path, name="rescue").write(content)
                return str(path)
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
            return "the text printed on standard output"
        return ""

    def _say_where(self, reason: str, where: str) -> None:
        words = [reason]
        if self.receipts:
            paid = self.receipts[-1]
            words.append(
                f"Charge {paid.number} remains in the ledger ({paid.budget}, dataset "
                f"{paid.dataset})."
            )
        words.append(f"The release is in {where}." if where else "The release is lost.")
        if self.receipts and self._is_on_record(self.receipts[-1].number):
            words.append(self._way_back(self.receipts[-1].number))
        _say(" ".join(words))

    @contextmanager
    def printed(self, content: Callable[[], bytes], written: Path | None) -> Iterator[None]:
        """Context manager for printing a release, which is saved if printing fails."""
        try:
            yield
            _flush_stdout()
        except Exception as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            cannot_print = isinstance(error, OSError | ValueError)
            self.lost = True
            if cannot_print:
                silence(sys.stdout)
            where = str(written) if written else self.rescue(content(), ".json")
            self._say_where(f"The summary could not be printed ({reason}).", where)
            if not cannot_print or isinstance(error, ConfideError):
                raise


def _short_name(text: str) -> str:
    """Return a file name shortened for a ledger entry."""
    shown = in_one_line(text)
    return shown if len(shown) <= LONGEST_NOTE else f"...{shown[-LONGEST_NOTE:]}"


def _flush_stdout() -> None:
    """Flush standard output; raise an error if it is closed."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    sys.stdout.flush()


@contextmanager
def _handling(stop: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Context manager that calls ``stop`` if a signal arrives while its body runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}
    try:
        for number in SIGNALS:
            if signal.getsignal(number) not in (None, signal.SIG_IGN):
                before[number] = signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        err_console.print(Text(text, style="yellow"), soft_wrap=True)
