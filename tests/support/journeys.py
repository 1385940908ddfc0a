"""A server in a process of its own, and a real browser in front of it."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

from confide import Ledger
from confide.web.workspace import Workspace
from support.pages import PLANNED

CHROMIUM = "/usr/bin/chromium"
ONLY_HERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
FLAGS = ("--no-sandbox", "--disable-gpu", ONLY_HERE)
DESKTOP, PHONE = 1280, 400
PATIENCE = 300_000
"""Milliseconds until something is taken to be absent: machines may be slow."""
FIRST = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
COMMAND = (sys.executable, "-P", "-m", "confide", "open", "--no-browser")


HOLD = """
import os, sys, time
while "fit" in sys.orig_argv and os.path.exists({gate!r}):
    time.sleep(0.01)
"""
"""What Python does before anything else: a fit waits behind a gate."""


def gate_of(folder):
    """Return a file that keeps the fits of a server from their work while it exists."""
    return folder / "hold" / "gate"


def _environment(folder):
    gate = gate_of(folder)
    gate.parent.mkdir(exist_ok=True)
    (gate.parent / "sitecustomize.py").write_text(HOLD.format(gate=str(gate)))
    paths = [str(gate.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


class Server:
    """`confide open` on a folder, from its start to its end."""

    def __init__(self, folder, command=COMMAND):
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            [*command, str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=_environment(folder),
        )
        said = ""
        for line in self.process.stdout:
            said += line
            found = FIRST.search(line)
            if found:
                self.address = found[0]
                return
        raise AssertionError(said)

    @property
    def origin(self):
        """Where its pages are."""
        return self.address.partition("/?")[0]

    def kill(self):
        """End it as a power cut would."""
        self.end(signal.SIGKILL)

    def end(self, number=signal.SIGINT):
        """End it, and return what it said after its first words."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        rest = self.process.communicate(timeout=60)[0]
        return self.process.returncode, rest


@contextmanager
def served(folder):
    """Serve a folder for a while."""
    server = Server(folder)
    try:
        yield server
    finally:
        server.end(signal.SIGKILL)


def new_page(browser, **settings):
    """Open a page in a profile of its own, which waits as long as it takes."""
    context = browser.new_context(**settings)
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def fill_schema(page):
    """Declare the table of loans in the form, as a person would."""
    page.get_by_label("Name", exact=True).fill("loans")
    page.get_by_label("Approximate number of rows (if publicly known)").fill("3000")
    page.get_by_label("Column", exact=True).select_option(label="defaulted")
    page.get_by_label("Labels, separated by commas").fill("no, yes")
    age = page.get_by_role("group", name="age", exact=True)
    age.get_by_label("number").check()
    age.get_by_label("Lowest").fill("18")
    age.get_by_label("Highest").fill("90")
    age.get_by_label("Unit").fill("year")
    age.get_by_label("How do you know?").fill("loans are given to adults")
    region = page.get_by_role("group", name="region", exact=True)
    region.get_by_label("category").check()
    region.get_by_label("Levels").fill("north, south, east, west")
    page.get_by_role("button", name="Save and check").click()


def choose_and_declare(page, table="t.csv"):
    """Choose a table and declare it, up to what a model will see."""
    page.get_by_label("Path of the file").fill(table)
    page.get_by_role("button", name="Choose this file").click()
    fill_schema(page)
    page.get_by_role("heading", name="What a model will see").wait_for()


def plan(page, epsilon=PLANNED["epsilon"]):
    """Go on to the plan, and ask for one."""
    page.get_by_role("link", name="Go on to the plan").click()
    page.get_by_label("Epsilon", exact=True).first.fill(epsilon)
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_role("heading", name="What to expect").wait_for()
    page.wait_for_load_state()


def confirm(page):
    """Set a limit where there is none, and go on to the confirmation."""
    if page.get_by_role("button", name="Set this limit").count():
        page.get_by_role("button", name="Set this limit").click()
    page.get_by_role("button", name="Go on to confirm").click()
    page.get_by_role("heading", name="Confirm the fit").wait_for()


def pay(page):
    """Press the one button, and wait for the result."""
    page.get_by_role("button", name="Pay ").click()
    page.get_by_role("heading", name="Coefficients").wait_for()


def charges(folder):
    book = Ledger.open(str(Workspace.at(folder).ledger))
    found = [entry for entry in book.entries() if entry.kind == "charge"]
    book.verify()
    book.close()
    return found


def overflow(page):
    page.wait_for_load_state()
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def to_confirmation(page, epsilon="1"):
    choose_and_declare(page)
    plan(page, epsilon)
    confirm(page)
