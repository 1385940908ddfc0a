"""Links of Markdown files lead to files; the check of the site finds dead ones."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = {ROOT / "docs" / "reference", ROOT / "docs" / "gallery", ROOT / "docs" / "_build"}
"""Folders that the build of the site makes."""
PAGES = [
    *ROOT.glob("*.md"),
    *(p for p in ROOT.glob("docs/**/*.md") if not MADE & set(p.parents)),
]
LINK = re.compile(r"\]\(([^)\s:#]+)(?:#[^)]*)?\)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_to_files(page):
    text = CODE.sub("", page.read_text("utf-8"))
    targets = {(page.parent / link).resolve(): link for link in LINK.findall(text)}
    dead = [
        link
        for target, link in targets.items()
        if not target.exists() and not MADE & {target, *target.parents}
    ]
    assert dead == []


@pytest.fixture
def check():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs" / "site")
        import check

        yield check.check
    sys.modules.pop("check", None)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="gone.html">x</a>', "not there"),
        ('<a href="#gone">x</a>', "without that anchor"),
        ('<a href="other.html#gone">x</a>', "without that anchor"),
        ('<a href="http:/wrong">x</a>', "no address"),
        ('<script src="https://example.org/x.js"></script>', "fetches"),
        ('<img src="https://example.org/x.png">', "fetches"),
    ],
)
def test_dead_links_are_found(check, tmp_path, body, fault):
    (tmp_path / "index.html").write_text(body)
    (tmp_path / "other.html").write_text('<p id="here">')
    (found,) = check(tmp_path)
    assert fault in found


def test_live_links_are_no_faults(check, tmp_path):
    links = (
        "other.html",
        "other.html#here",
        "https://example.org/a",
        "#own",
        "mailto:a@b.c",
    )
    body = "".join(f'<a href="{link}">x</a>' for link in links)
    (tmp_path / "index.html").write_text('<p id="own">' + body)
    (tmp_path / "other.html").write_text('<p id="here">')
    assert check(tmp_path) == []
