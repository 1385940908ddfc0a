"""The built site in a real browser: within its width, readable by all, alone."""

import os
import shutil
from pathlib import Path

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no real browser here: install chromium"),
    pytest.mark.skipif(not SITE.is_dir(), reason="no site here: make docs"),
]
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
PARTS = 4
"""The pages are divided among so many tests, which may run side by side."""
SAMPLE = (
    "index.html",
    "start/first-report.html",
    "start/guarantee.html",
    "guide.html",
    "intervals.html",
    "comparison.html",
    "explorer.html",
    "gallery/index.html",
    "gallery/plot_income_logistic.html",
    "gallery/plot_first_table.html",
    "benchmarks.html",
    "defaults.html",
    "coverage.html",
    "attacks.html",
    "proofs/objective-perturbation.html",
    "proofs/output-perturbation.html",
    "reproduction/README.html",
    "reproduction/private-regression.html",
    "reference/index.html",
    "reference/confide.estimators.LogisticRegression.html",
    "changelog.html",
    "search.html",
)
"""A page of each kind, and those with wide tables and formulas."""
CUT = """() => [...document.querySelectorAll(".bd-article-container")]
  .filter(e => e.scrollWidth > e.clientWidth + 1).length"""
"""Articles that scroll sideways: the page keeps its width, and lines are cut off."""
WIDE = """() => [...document.querySelectorAll("body *")]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(
    "pre, table, .highlight, [style*=overflow], .pst-scrollable-table-container"))
  .slice(0, 3).map(e => e.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser, request):
    width, scheme = getattr(request, "param", (1280, "light"))
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    page = context.new_page()
    page.asked = []
    page.on("request", lambda asked: page.asked.append(asked.url))
    yield page
    context.close()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("tab", [(1280, "light"), (400, "light")], indirect=True)
def test_no_page_is_wider_than_its_window(tab, part):
    wide = {}
    for name in PAGES[part::PARTS]:
        tab.goto((SITE / name).as_uri(), wait_until="load")
        needed, given = tab.evaluate(
            "() => [document.documentElement.scrollWidth, innerWidth]"
        )
        if needed > given or tab.evaluate(CUT):
            wide[name] = (needed, given, tab.evaluate(WIDE))
    assert wide == {}
    assert {url.split(":")[0] for url in tab.asked} <= {"file", "data"}


@pytest.mark.parametrize(
    "tab", [(1280, "light"), (1280, "dark"), (400, "light")], indirect=True
)
@pytest.mark.parametrize("name", [name for name in SAMPLE if name in PAGES])
def test_nobody_is_shut_out(tab, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab.goto((SITE / name).as_uri(), wait_until="load")
    found = axe.run(tab).response["violations"]
    serious = {
        violation["id"]: [node["html"][:160] for node in violation["nodes"][:3]]
        for violation in found
        if violation["impact"] in {"serious", "critical"}
    }
    assert serious == {}


def test_the_figure_of_beliefs_follows_the_keyboard(tab):
    tab.goto((SITE / "start/guarantee.html").as_uri())
    tab.focus("#belief-before")
    said = tab.text_content("#belief-said")
    assert "10 % sure" in said
    assert "at most 23 %" in said
    tab.keyboard.press("End")
    assert "99 % sure" in tab.text_content("#belief-said")
    tab.focus("#belief-epsilon")
    tab.keyboard.press("Home")
    assert "ε = 0.01" in tab.text_content("#belief-said")
