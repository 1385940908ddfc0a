"""The explorer shows what plans say, in a page that works without a network."""

import itertools
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from bench.explorer_tables import AXES, FIELDS, FILE, ROWS, area, cell, read

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "explorer.md").read_text("utf-8")
SETTINGS = [
    (10, 0.2, 1e-6, 1.0, 10_000),
    (2, 0.5, 1e-5, 0.1, 1_000_000),
    (5, 0.05, 1e-8, 5.0, 50_000),
]


@pytest.fixture(scope="module")
def tables():
    return read()


def field(tables, name):
    """Return a field as an array with an axis for every slider; NaN for none."""
    shape = [len(values) for values in AXES.values()]
    return np.array(tables[name], dtype=float).reshape(shape)


def test_the_tables_are_complete_and_small(tables):
    assert FILE.stat().st_size < 300_000
    assert tables["axes"] == {name: list(values) for name, values in AXES.items()}
    places = [*itertools.product(*AXES.values())]
    assert {len(tables[name]) for name in FIELDS} == {len(places)}
    assert len(tables["noise"]) == len(places) / len(ROWS)


@pytest.mark.parametrize("place", SETTINGS, ids=str)
def test_a_cell_is_what_a_plan_says_now(tables, place):
    indices = tuple(list(AXES[name]).index(x) for name, x in zip(AXES, place, strict=True))
    found = cell(place)
    for name in FIELDS:
        assert field(tables, name)[indices] == pytest.approx(found[name], rel=0.03), name
    noise = np.array(tables["noise"]).reshape([len(x) for x in AXES.values()][:-1])
    assert noise[indices[:-1]] == pytest.approx(found["noise"], rel=0.03)


def test_a_larger_budget_means_less_noise(tables):
    noise = np.array(tables["noise"]).reshape(-1, len(AXES["epsilon"]))
    assert (np.diff(noise, axis=1) < 0).all()


def test_more_rows_and_more_budget_never_hurt_much(tables):
    """A tenth is left to chance: a plan is a median over tables that are drawn."""
    width = field(tables, "width")
    axes = list(AXES)
    for axis in ("rows", "epsilon"):
        along = np.moveaxis(width, axes.index(axis), 0)
        with np.errstate(invalid="ignore"):
            worse = along[1:] > 1.1 * along[:-1]
        assert worse.mean() < 0.01, axis
        lost = np.isnan(along[1:]) & ~np.isnan(along[:-1])
        assert lost.mean() < 0.01, axis


def test_the_area_of_a_predictor():
    assert area(0.5, 1e3) == pytest.approx(0.5, abs=0.01)
    assert area(0.5, 0.0) > area(0.5, 0.5) > area(0.5, 2.0)
    rng = np.random.default_rng(0)
    odds = 2.0 * rng.standard_normal(200_000)
    labels = rng.logistic(size=odds.size) < odds
    seen = odds + rng.standard_normal(odds.size)
    order = seen.argsort().argsort() + 1.0
    count = labels.sum()
    ranks = (order[labels].mean() - (count + 1) / 2) / (odds.size - count)
    assert area(0.5, 0.5) == pytest.approx(ranks, abs=0.005)


def test_every_slider_has_a_label_and_an_output():
    for axis in AXES:
        name = f"explorer-{axis}"
        assert f'<label for="{name}">' in PAGE
        assert f'<input id="{name}" type="range">' in PAGE
        assert f'<output for="{name}">' in PAGE
    assert 'aria-live="polite"' in PAGE


def test_nothing_is_fetched_from_elsewhere():
    for name in ("explorer.js", "explorer.css"):
        assert "http" not in (DOCS / "explorer" / name).read_text("utf-8")
    assert re.findall(r'(?:src|href)="([^"]+)"', PAGE) == [
        "_static/explorer.css",
        "_static/tables.js",
        "_static/explorer.js",
    ]


# ---------------------------------------------------------------------- in a real browser

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")


@pytest.fixture
def page(tmp_path):
    """Open the page's own part in a browser, as the site embeds it."""
    if CHROMIUM is None:
        pytest.skip("no real browser here: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    shutil.copytree(DOCS / "explorer", tmp_path / "_static")
    part = PAGE[PAGE.index("<link rel") : PAGE.index("## How to read it")]
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title>'
    (tmp_path / "page.html").write_text(f"{head}<body><h1>x</h1>{part}</body>", "utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 400, "height": 900})
        faults = []
        opened.on("pageerror", lambda error: faults.append(str(error)))
        opened.goto((tmp_path / "page.html").as_uri())
        yield opened
        assert not faults
        browser.close()


@pytest.mark.slow
def test_the_page_answers_the_keyboard(page, tables):
    slider = page.locator("#explorer-epsilon")
    slider.focus()
    before = page.locator("#explorer-answer").inner_text()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.locator("#explorer-epsilon ~ output").inner_text() == "10"
    assert slider.get_attribute("aria-valuetext") == "10"
    after = page.locator("#explorer-answer").inner_text()
    assert after != before
    place = tuple(
        list(AXES[name]).index(x)
        for name, x in zip(AXES, (10, 0.2, 1e-6, 10.0, 10_000), strict=True)
    )
    width = float(field(tables, "width")[place])
    assert f"{float(f'{width:.2g}'):g}" in after
    assert page.locator("#explorer-table tbody tr").count() == len(ROWS)


@pytest.mark.slow
def test_the_page_fits_a_phone_and_has_no_serious_fault(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    serious = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, json.dumps(found, indent=1)[:2000]
