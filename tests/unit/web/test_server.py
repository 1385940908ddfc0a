"""The start of a server: ports, browsers, folders, packages."""

import os
import re
import socket
import stat
import subprocess
import sys
import threading
import webbrowser
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from urllib.parse import unquote, urlparse

import httpx
import pytest
import uvicorn
from packaging.requirements import Requirement

from confide.errors import ConfideError, InvalidParameter
from confide.web import serve
from confide.web.server import STATIC, bind
from confide.web.workspace import FOLDER
from support.commands import run_main
from support.journeys import Server
from support.pages import Visitor, book_of, write_table

ABSENT = """
import sys
sys.modules["uvicorn"] = None
from confide import cli
sys.argv = ["confide", "open"]
cli.main()
"""

DEFECT = """
import sys
from confide import cli
from confide.web.workspace import Workspace

def fail(self):
    raise RuntimeError("a value of a record")

Workspace.projects = fail
sys.argv = ["confide", "open", "--no-browser", sys.argv[-1]]
cli.main()
"""
CLOSED = "Closed. A fit that is under way continues; you will find it when you return."


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Serve a folder without serving it, and return what was said."""

    def run(opened=True, **settings):
        said = []
        monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
        monkeypatch.setattr(
            webbrowser, "open", opened if callable(opened) else lambda _: opened
        )
        serve(tmp_path, say=said.append, **settings)
        return "\n".join(said)

    return run


def test_the_first_address_is_on_this_machine_and_told(start):
    assert re.search(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}\n", start())


def test_without_a_browser_the_address_is_to_be_opened_by_hand(start):
    said = start(opened=False)
    assert "No browser could be opened." in said
    assert "/?token=" in said
    assert "No browser" not in start(browser=False)


def test_a_browser_that_stays_in_front_is_served_meanwhile(start, monkeypatch):
    closed = threading.Event()
    monkeypatch.setattr("confide.web.server.PATIENCE", 0.01)
    try:
        said = start(opened=lambda _: closed.wait(60))
        assert not closed.is_set()
        assert "/?token=" in said
        assert "No browser" not in said
    finally:
        closed.set()


@pytest.mark.slow
def test_the_terminal_is_told_nothing_of_what_a_defect_says(tmp_path):
    """An unexpected error may quote a record."""
    server = Server(tmp_path, (sys.executable, "-c", DEFECT))
    with httpx.Client(trust_env=False) as client:
        first = client.get(server.address).text
        place = re.search(r"url=([^\"]*)", first)[1]
        answer = client.get(f"{server.origin}{place}")
    code, rest = server.end()
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert (code, rest.strip()) == (0, CLOSED)


def test_no_other_account_sees_the_token_among_the_words_of_a_command(start, tmp_path):
    seen = {}

    def opened(address):
        file = Path(unquote(urlparse(address).path))
        seen["mode"] = stat.S_IMODE(file.stat().st_mode)
        seen["text"] = file.read_text()
        assert "token" not in address
        return True

    start(opened=opened)
    assert seen["mode"] == 0o600
    assert "/?token=" in seen["text"]
    assert not [*(tmp_path / FOLDER).glob("start*")]


def test_a_port_in_use_is_told(tmp_path, monkeypatch, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InvalidParameter, match="a port that is free") as refused:
            bind(port)
        assert "Without --port" in str(refused.value)
        words = ("open", str(tmp_path), "--port", str(port), "--no-browser")
        code, text = run_main(monkeypatch, capsys, *words)
    assert code == 2
    assert "a port that is free" in text.err


def test_a_folder_that_is_none_is_told(tmp_path, monkeypatch, capsys):
    code, text = run_main(monkeypatch, capsys, "open", str(tmp_path / "nowhere"))
    assert code == 2
    assert "an existing folder on this machine" in text.err


@pytest.mark.parametrize("name", ["two\nlines", os.fsdecode(b"\xff")])
def test_a_folder_that_the_ledger_cannot_record_is_told(start, tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    with pytest.raises(InvalidParameter, match="Rename it first"):
        serve(folder, browser=False)
    assert not [*folder.iterdir()]


def test_a_folder_that_is_open_already_is_told(start):
    refused = []

    def again(address):
        try:
            start(browser=False)
        except ConfideError as error:
            refused.append(str(error))
        return True

    start(opened=again)
    assert "already open" in refused[0]


def test_absent_packages_are_told():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", ABSENT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.returncode == 2
    assert "pip install 'confide[web]'" in done.stderr


def needed(names, found):
    """Return packages with all that they need."""
    for name in names:
        known = name.casefold().replace("_", "-")
        if known in found:
            continue
        found.add(known)
        try:
            lines = [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:
            continue
        here = [r for r in lines if r.marker is None or r.marker.evaluate({"extra": ""})]
        needed([r.name for r in here], found)
    return found


def test_the_extra_adds_at_most_ten_packages():
    lines = [Requirement(line) for line in requires("confide")]
    base = needed([r.name for r in lines if r.marker is None], set())
    extra = [r.name for r in lines if r.marker and r.marker.evaluate({"extra": "web"})]
    added = needed(extra, set(base)) - base
    assert {"starlette", "uvicorn"} <= added
    assert len(added) <= 10


def test_all_that_a_page_fetches_is_ours(tmp_path):
    visitor = Visitor(tmp_path)
    for name in STATIC:
        answer = visitor.get(f"/static/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(STATIC[name])
    style = visitor.get("/static/page.css").text
    assert "url(" not in style
    assert "@import" not in style
    links = re.findall(r'(?:href|src|action)="([^"]*)"', visitor.get().text)
    assert all(link.startswith((visitor.entry.path, "#")) for link in links)


def test_a_ledger_that_is_gone_is_not_replaced(tmp_path):
    write_table(tmp_path / "t.csv", 60)
    visitor = Visitor(tmp_path)
    book = book_of(tmp_path)
    order = visitor.draft(visitor.declare(tmp_path / "t.csv"))
    (visitor.inner.orders.all()[0].folder / "confirmed").touch()
    book.close()
    for file in visitor.workspace.home.glob("book.db*"):
        file.unlink()
    assert "its ledger is missing" in visitor.get().text
    for place in (order, "/ledger"):
        answer = visitor.get(place)
        assert answer.status_code == 422
        assert "at the path where it was when this fit was charged" in answer.text
    assert not [*visitor.workspace.home.glob("book.db")]
