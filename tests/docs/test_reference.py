"""The API reference of the site has all that the packages export."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "confide"
ELSEWHERE = {"cli", "data.schema.columns", "data.schema.terms", "studies.book.printed"}
"""Packages whose names are exported by another room, or are no library."""


@pytest.fixture(scope="module")
def reference():
    pytest.importorskip("sphinx")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs" / "site")
        import reference

        yield reference
    for name in ("reference", "docstrings", "theorems"):
        sys.modules.pop(name, None)


def test_every_room_that_exports_names_is_in_the_reference(reference):
    rooms = {
        ".".join(path.parent.relative_to(SOURCE).parts)
        for path in SOURCE.rglob("__init__.py")
        if path.parent != SOURCE and "__all__ = " in path.read_text("utf-8")
    }
    assert rooms - ELSEWHERE == set(reference.ROOMS) - {"errors"}


def test_every_name_has_a_page_or_an_entry(reference, tmp_path):
    reference.Reference(tmp_path).write()
    pages = {path.stem for path in tmp_path.glob("*.rst")}
    for room in reference.ROOMS:
        text = (tmp_path / f"confide.{room}.rst").read_text("utf-8")
        module = reference.importlib.import_module(f"confide.{room}")
        for name in reference.exported(module):
            assert re.search(rf"(:py:obj:`|py:data:: ){name}\b", text), (room, name)
    linked = re.findall(r":py:obj:`\w+ <([\w.]+)>`", (tmp_path / "index.rst").read_text())
    assert linked
    assert set(linked) <= pages


def test_theorems_of_mechanisms_are_links(reference, tmp_path):
    reference.Reference(tmp_path).write()
    table = (tmp_path / "theorems.rst").read_text("utf-8")
    assert "objective-perturbation.md#objective-logistic-exact" in table
    assert "ObjectivePerturbation" in table


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("|x| <= 1 and 2*3", r"\|x\| <= 1 and 2\*3"),
        ("``|x|`` and `a*b`", "``|x|`` and `a*b`"),
        ("Noise        Gaussian on |x|", r":Noise: Gaussian on \|x\|"),
        (">>> 2**3 | 1", ">>> 2**3 | 1"),
    ],
)
def test_docstrings_are_read_as_text(reference, line, wanted):
    assert sys.modules["docstrings"].adapt([line]) == [wanted]
