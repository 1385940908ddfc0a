"""A page to work in, as a browser and its person see it."""

import re
import time
import warnings
from html import unescape
from pathlib import Path

import numpy as np

from confide import Ledger
from confide.privacy import Approx
from confide.web.access import HOST, Admission
from confide.web.forms import TYPE
from confide.web.server import application
from confide.web.workspace import Workspace

with warnings.catch_warnings():
    # it would rather have a newer client
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

PORT = 8765
DECLARED = {
    "name": "loans",
    "rows_per_person": "1",
    "rows": "800",
    "target": "3",
    "target-kind": "labels",
    "target-labels": "no, yes",
    "kind-0": "number",
    "lower-0": "18",
    "upper-0": "90",
    "unit-0": "year",
    "reason-0": "loans are given to adults",
    "kind-1": "category",
    "levels-1": "north, south, east, west",
    "kind-2": "",
    "kind-3": "",
}
PLANNED = {
    "rows": "800",
    "epsilon": "1",
    "delta": "1e-6",
    "model": "logistic",
    "intervals": "yes",
    "level": "0.95",
    "holdout": "0.2",
}
LIMIT = Approx(3, "1e-5")


def write_table(path, rows=800):
    """Write a table of loans."""
    rng = np.random.default_rng(5)
    age = rng.uniform(18, 90, rows)
    region = rng.choice(["north", "south", "east", "west"], rows)
    income = rng.uniform(0, 90_000, rows)
    bad = np.where(rng.random(rows) < 1 / (1 + np.exp((50 - age) / 10)), "yes", "no")
    columns = zip(age.round(1), region, income.round(), bad, strict=True)
    lines = [",".join(map(str, line)) for line in columns]
    path.write_text("age,region,income,defaulted\n" + "\n".join(lines) + "\n")


class Visitor:
    """A browser that was let in; places are without the secret path."""

    def __init__(self, folder, *, enter=True, orders=None):
        self.workspace = Workspace.at(Path(folder))
        self.entry = Admission(PORT)
        self.app = application(self.workspace, self.entry)
        self.inner = self.app.app.state
        if orders is not None:
            self.inner.orders = orders
        self.client = TestClient(
            self.app,
            base_url=f"http://{HOST}:{PORT}",
            follow_redirects=False,
            raise_server_exceptions=False,
        )
        if enter:
            self.client.get(f"/?token={self.entry.token}")

    def get(self, place="/", **headers):
        """Open a page."""
        return self.client.get(f"{self.entry.path}{place}", headers=headers)

    def post(self, place, fields=None, **headers):
        """Send a form from one of the pages."""
        own = {"origin": self.entry.origin, "content-type": TYPE, **headers}
        return self.client.post(f"{self.entry.path}{place}", data=fields or {}, headers=own)

    def to(self, answer):
        """Return where an answer leads, without the secret path."""
        assert answer.status_code == 303, words(answer)
        return answer.headers["location"].removeprefix(self.entry.path)

    def project(self, table):
        """Choose a table; return the place of its project."""
        return self.to(self.post("/tables", {"path": str(table)})).removesuffix("/schema")

    def declare(self, table, **changed):
        """Choose a table and declare it; return the place of its project."""
        project = self.project(table)
        self.to(self.post(f"{project}/schema", {**DECLARED, **changed}))
        return project

    def draft(self, project, **changed):
        """Write an order down; return its place."""
        return self.to(self.post(f"{project}/orders", {**PLANNED, **changed}))

    def pay(self, order, **changed):
        """Confirm an order as its page asks."""
        page = self.get(order).text
        anchor = re.search(r'name="anchor" value="([^"]*)"', page)
        fields = {} if anchor is None else {"anchor": unescape(anchor[1])}
        return self.post(f"{order}/pay", {**fields, **changed})

    def wait(self, order, seconds=120):
        """Wait until nothing more will happen to an order; return how it stands."""
        orders = self.inner.orders
        found = orders.order(order.rsplit("/", 1)[1])
        for _ in range(10 * seconds):
            standing = orders.standing(found)
            if standing.over:
                return standing
            time.sleep(0.1)
        raise AssertionError("the fit does not end")


def book_of(folder, limit=LIMIT):
    """Return the ledger of a folder, with a limit for the loans."""
    workspace = Workspace.at(Path(folder))
    book = Ledger.open(workspace.ledger)
    if "loans" not in book.datasets():
        book.set_limit("loans", limit)
    return book


def words(answer):
    """Return the words of a page, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())
