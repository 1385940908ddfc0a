"""Draw the pictures of a report in the README: `python docs/report_picture.py`.

The table is the made-up one of docs/start/first-report.md. The fit is not seeded, so that
coefficients differ a little from one picture to the next.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from confide import Approx, LogisticRegression, Schema

DOCS = Path(__file__).parent
PICTURES = DOCS / "_static" / "pictures"
PAGE = (DOCS / "start" / "first-report.md").read_text("utf-8")
WIDTHS = {"report.png": 830, "report-narrow.png": 400}
"""The second is for telephones: the labels of the first would be too small there."""
SCALE, COLOURS = 2, 96
SHORTEN = """
  const promise = document.querySelector(".promise");
  const end = [...promise.querySelectorAll("p:not(.budget)")][1];
  end.insertAdjacentText("beforeend", " …");
  while (end.nextElementSibling) end.nextElementSibling.remove();
  document.querySelector("main").style.paddingTop = "1.25rem";
  document.querySelector("main").style.paddingBottom = "0";
"""
"""Keep the first two paragraphs of the guarantee, and mark that it goes on."""
LEGEND = """
  Math.max(...[...document.querySelectorAll("svg.key")]
    .map((key) => key.parentElement.getBoundingClientRect().bottom))
"""


def block(language: str) -> str:
    """Return the first block of a language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    if found is None:
        raise ValueError(f"first-report.md must have a block of {language}, has none")
    return found[1]


def report() -> str:
    """Fit the table of the page, and return its report."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(block("python"), {})  # noqa: S102
        Path("visits.toml").write_text(block("toml"), "utf-8")
        schema = Schema.from_toml("visits.toml")
        model = LogisticRegression(Approx("0.4", 1e-6), schema=schema, intervals=True)
        model.fit("visits.csv").save("model.json")
        command = [sys.executable, "-m", "confide", "report", "model.json"]
        subprocess.run([*command, "--out", "report.html"], check=True)  # noqa: S603
        return Path("report.html").read_text("utf-8")


def photograph(page: str, path: Path, width: int) -> None:
    """Write a picture of a report from its headline to the end of its coefficients."""
    browser_path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox"]
        )
        tab = browser.new_page(
            viewport={"width": width, "height": 1400}, device_scale_factor=SCALE
        )
        tab.set_content(page)
        tab.evaluate(f"() => {{ {SHORTEN} }}")
        height = tab.evaluate(LEGEND)
        clip = {"x": 0, "y": 0, "width": width, "height": height + 4}
        tab.screenshot(path=path, clip=clip)
        browser.close()
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    page = report()
    for name, width in WIDTHS.items():
        photograph(page, PICTURES / name, width)
