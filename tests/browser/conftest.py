"""A real browser, a folder with a table, and a server in front of it."""

import re
from pathlib import Path

import pytest

from support.journeys import CHROMIUM, DESKTOP, FLAGS, PATIENCE, served
from support.pages import write_table

REFUSED = re.compile("status of 4|Status Error Code 4")
"""What a browser and htmx say of an answer that refuses."""


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright here")
    if not Path(CHROMIUM).exists():
        pytest.skip("no real browser here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        own = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield own
        own.close()


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "t.csv", 3000)
    return tmp_path


@pytest.fixture
def server(folder):
    with served(folder) as running:
        yield running


class Watch:
    """What a page said to its console, and what it asked for."""

    def __init__(self, page, origin):
        self.said, self.elsewhere = [], []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda asked: self._take(asked.url, origin))

    def _take(self, url, origin):
        if not url.startswith(f"{origin}/"):
            self.elsewhere.append(url)


@pytest.fixture
def context(browser):
    own = browser.new_context(viewport={"width": DESKTOP, "height": 900})
    own.set_default_timeout(PATIENCE)
    yield own
    own.close()


@pytest.fixture
def page(context, server):
    own = context.new_page()
    watch = Watch(own, server.origin)
    own.goto(server.address)
    own.get_by_role("heading", name="Tables", exact=True).wait_for()
    yield own
    assert watch.elsewhere == []
    assert [text for text in watch.said if not REFUSED.search(text)] == []
