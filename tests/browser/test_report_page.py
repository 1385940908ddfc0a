"""The report as a real browser shows it: drawn, in order, alone, and within its width."""

import json
import math
import re
import shutil
import struct
import subprocess
import zlib
from html import escape, unescape

import numpy as np
import pytest

from confide import Schema
from confide.inference import Coefficient, Summary
from confide.privacy import Approx, Guarantee, Neighbours, Pure, Status
from confide.reporting import ReleasedPlot, report_page

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no real browser here: apt-get install chromium"
    ),
]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
DARK = "--blink-settings=preferredColorScheme=0"
DESKTOP, PHONE = 1100, 360
PROBE = """
<pre id="probe"></pre><script>
addEventListener("load", () => {
  const root = document.documentElement;
  const seen = s => getComputedStyle(document.querySelector(s));
  document.getElementById("probe").textContent = JSON.stringify({
    width: innerWidth, needed: root.scrollWidth,
    fetched: performance.getEntriesByType("resource").map(e => e.name),
    wide: seen("svg.wide").display, narrow: seen("svg.narrow").display,
    overlaps: [...document.querySelectorAll("svg.plot")].flatMap(svg => {
      const boxes = [...svg.querySelectorAll("text")].map(t => t.getBoundingClientRect())
        .filter(b => b.width > 0);
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 &&
        b.top < a.bottom - 3)).map(b => b.top);
    }),
    behind: [...document.querySelectorAll(".scroll")]
      .filter(e => e.scrollWidth > e.clientWidth + 1)
      .map(e => e.querySelector("caption").textContent),
    cut: [...document.querySelectorAll("svg.plot")].flatMap(svg => {
      const frame = svg.getBoundingClientRect();
      return [...svg.querySelectorAll("text")].map(t => [t, t.getBoundingClientRect()])
        .filter(([t, b]) => b.width > 0 && (b.left < frame.left || b.right > frame.right))
        .map(([t, b]) => t.textContent);
    }),
    bars: [...document.querySelectorAll("svg.plot .core")].map(core => {
      const whole = core.parentNode.querySelector(".bar").getBoundingClientRect();
      const inner = core.getBoundingClientRect();
      const thick = s => parseFloat(getComputedStyle(s).strokeWidth);
      return [whole.left, inner.left, inner.right, whole.right, thick(core) /
        thick(core.parentNode.querySelector(".bar"))];
    }).filter(b => b[3] > b[0]),
    names: [...document.querySelectorAll("tbody th")]
      .map(t => t.getBoundingClientRect().width),
    points: [...document.querySelectorAll("td .tail")]
      .map(s => s.getBoundingClientRect().left)
  });
});
</script></body>"""
ADD = Neighbours.ADD_REMOVE
PURE = Guarantee(Pure(1), ADD, Status.PROVED, "objective-perturbation.md#objective-pure")
APPROX = Guarantee(
    Approx(1, "1e-6"), ADD, Status.PROVED, "objective-perturbation.md#objective-logistic"
)
FACTS = (("Noise", "Gaussian 3.14 on the linear term"), ("Ridge", "l2 = 12.5"))
FEW = tuple(
    Coefficient(name, value)
    for name, value in (("age", 0.031), ("income", -1.2e-5), ("region=north", 12.5))
)
BOUNDED = tuple(
    Coefficient(
        f"a rather long name of a column, number {k}", 2.0 * k, 2.0 * k - 3, 2.0 * k + 3
    )
    for k in range(-3, 4)
)
PARTS = tuple(
    Coefficient(f"region=a level, number {k}", k, k - 3.3e-3 * 10**k, k + 3.3e-3 * 10**k, k)
    for k in range(1, 6)
)
WHOLE = (
    Coefficient(
        "age (per year)", 0.0481, 0.0424, 0.0537, 2e-3, -2.13e-3, True, 2.87e-3, 0.0
    ),
    Coefficient(
        "income (per EUR)", -8.7e-6, -1.4e-5, -3.2e-6, 4e-6, 5.6e-7, True, 2.8e-6, 0.1
    ),
    Coefficient("region=east", 0.1001, pull=-0.0032, identified=False),
)
APART = tuple(
    Coefficient(
        f"workclass=a level, number {k}", x, -x, 3 * x, 0.7 * x, -x / 7, True, x / 9, 0.01
    )
    for k, x in enumerate((-0.1234567e-7, 0.00012345, -0.4155, -1234.5, 12345.67))
)
ADULT = tuple(
    Coefficient(name, math.sin(k) * 10.0 ** (k % 7 - 3))
    for k, name in enumerate((*Schema.bundled("adult").features, "(intercept)"))
)
CURVE = ((0.0, 0.0), (0.3, 0.8), (1.0, 1.0))


def a_page(rows, guarantee=PURE, facts=FACTS):
    level = None if rows[0].sampling is None else 0.95
    summary = Summary("LogisticRegression", guarantee, rows, facts, level=level)
    paid = ReleasedPlot("ROC", CURVE, guarantee, "false", "true")
    return report_page(
        summary, dataset="clinic", spent=Pure("1.5"), limit=Pure(4), paid_plots=(paid,)
    )


PAGES = {
    "plain": a_page(FEW),
    "intervals": a_page(BOUNDED, APPROX),
    "parts": a_page(PARTS, APPROX),
    "whole": a_page(WHOLE, APPROX),
    "sizes far apart": a_page(APART, APPROX),
    "many": a_page(ADULT),
    "seeded": a_page(BOUNDED, APPROX.seeded()),
    "unbroken name": a_page((Coefficient("<script>" + "W" * 300, 1.0), *FEW)),
    "unbroken fact": a_page(FEW, facts=(("Ranges", f"{'W' * 300} 0 to 1"), *FACTS)),
}


@pytest.fixture
def browse(tmp_path):
    """Open a page in a browser that has never been used before, and return what it said."""

    def run(html, *flags):
        page = tmp_path / "page.html"
        page.write_text(html, "utf-8")
        profile = tmp_path / "profile"
        shutil.rmtree(profile, ignore_errors=True)
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
        done = subprocess.run(  # noqa: S603 - the browser that the system installed
            command, capture_output=True, check=True, timeout=120
        )
        return done.stdout.decode("utf-8")

    return run


@pytest.fixture
def shoot(browse, tmp_path):
    def run(html, width, *flags):
        file = tmp_path / "page.png"
        browse(html, f"--window-size={width},900", f"--screenshot={file}", *flags)
        return pixels(file.read_bytes())

    return run


@pytest.fixture
def measure(browse):
    """Measure a copy of the page inside a frame of that width, scripts let in."""

    def run(html, width):
        inside = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
        assert inside != html
        inside = inside.replace("<details>", "<details open>").replace("</body>", PROBE)
        frame = (
            f'<!DOCTYPE html><iframe style="width:{width}px;height:900px;border:0" '
            f'srcdoc="{escape(inside)}"></iframe><pre id="answer"></pre><script>'
            'onload = () => { document.getElementById("answer").textContent ='
            ' document.querySelector("iframe").contentDocument.getElementById("probe")'
            ".textContent; };</script>"
        )
        dom = browse(frame, "--window-size=1400,1000", "--dump-dom")
        return json.loads(
            unescape(re.search(r'<pre id="answer">(.*?)</pre>', dom, re.DOTALL)[1])
        )

    return run


def pixels(content):
    """Read a PNG of eight bits a channel into rows of pixels."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, kind = struct.unpack(">IIBB", content[16:26])
    assert depth == 8
    channels = {2: 3, 6: 4}[kind]
    at, packed = 8, b""
    while at < len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        if content[at + 4 : at + 8] == b"IDAT":
            packed += content[at + 8 : at + 8 + size]
        at += size + 12
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, -1)
    image = np.zeros((height, width, channels), np.uint8)
    above = np.zeros((width, channels), np.uint8)
    for k, line in enumerate(lines):
        above = image[k] = unfiltered(line[0], line[1:].reshape(width, channels), above)
    return image[:, :, :3]


def unfiltered(kind, raw, above):
    """Undo one of the five filters of a PNG line."""
    if kind == 0:
        return raw
    if kind == 1:
        return np.cumsum(raw, axis=0, dtype=np.uint8)
    if kind == 2:
        return raw + above
    left, corner = np.zeros(raw.shape[1], int), np.zeros(raw.shape[1], int)
    line, top, given = np.empty_like(raw), above.astype(int), raw.astype(int)
    for k in range(len(raw)):
        up = top[k]
        guess = (left + up) // 2 if kind == 3 else paeth(left, up, corner)
        left, corner = (given[k] + guess) & 255, up
        line[k] = left
    return line


def paeth(left, up, corner):
    guess = left + up - corner
    far = abs(guess - left), abs(guess - up), abs(guess - corner)
    first = (far[0] <= far[1]) & (far[0] <= far[2])
    return np.where(first, left, np.where(far[1] <= far[2], up, corner))


def share_near(image, colour):
    return np.mean(np.abs(image.astype(int) - colour).max(axis=2) < 12)


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_page_is_drawn(shoot, width):
    image = shoot(PAGES["intervals"], width)
    assert image.shape == (900, width, 3)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 50
    assert (image.std(axis=(1, 2)) > 1).mean() > 0.3, "most of the page is blank"
    assert share_near(image, (0x17, 0x66, 0x3A)) > 1e-4, "no green badge"


@pytest.mark.slow
def test_a_seeded_page_shows_red_and_no_green(shoot):
    image = shoot(PAGES["seeded"], DESKTOP)
    assert share_near(image, (0xB3, 0x19, 0x1F)) > 5e-3
    assert share_near(image, (0x17, 0x66, 0x3A)) < 1e-4
    assert share_near(shoot(PAGES["intervals"], DESKTOP), (0xB3, 0x19, 0x1F)) < 1e-4


@pytest.mark.slow
def test_dark_readers_get_a_dark_page(shoot):
    light, dark = (shoot(PAGES["plain"], DESKTOP, *f) for f in ((), (DARK,)))
    assert np.median(light) > 230
    assert np.median(dark) < 40
    assert dark.max() > 200, "dark text on dark paper"


@pytest.mark.parametrize("name", PAGES)
def test_the_guarantee_stands_before_the_numbers(browse, name):
    dom = browse(PAGES[name], "--dump-dom")
    order = [dom.index(text) for text in ("What is guaranteed", "2.72", "<svg", "<table")]
    assert order == sorted(order)
    assert "<script" not in dom


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_everything_fits_and_nothing_is_fetched(measure, name, width):
    seen = measure(PAGES[name], width)
    assert seen["width"] == width
    assert seen["needed"] <= width
    assert seen["fetched"] == []
    assert seen["overlaps"] == []
    assert seen["cut"] == []
    assert seen["behind"] == []
    shown = "wide" if width == DESKTOP else "narrow"
    assert [kind for kind in ("wide", "narrow") if seen[kind] != "none"] == [shown]


def test_decimal_points_stand_under_each_other(measure):
    points = measure(PAGES["plain"], DESKTOP)["points"]
    assert len(points) == len(FEW)
    assert max(points) - min(points) < 0.5


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_sampling_is_thick_inside_the_interval_and_names_have_room(measure, width):
    seen = measure(PAGES["parts"], width)
    assert len(seen["bars"]) == len(PARTS)
    for left, inner_left, inner_right, right, thicker in seen["bars"]:
        assert left - 1 <= inner_left < inner_right <= right + 1
        assert thicker > 3
    assert min(seen["names"][: len(PARTS)]) > 120


def test_the_measure_would_notice(measure):
    spoiled = PAGES["plain"].replace(
        "<main>",
        '<main><img src="http://127.0.0.1:9/x.png"><div style="width:2000px">wide</div>',
    )
    seen = measure(spoiled, PHONE)
    assert seen["needed"] >= 2000
    assert seen["fetched"] == ["http://127.0.0.1:9/x.png"]
