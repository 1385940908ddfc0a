"""The reproduction book: pages follow from committed results, and every link leads on."""

import ast
import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from confide.errors import InvalidParameter
from confide.studies import STUDIES
from confide.studies.book.markdown import (
    comparison_table,
    coverage_table,
    differences,
    frame_table,
    length_ratios,
    shown,
)
from confide.studies.book.pages import FRONT, Page, make_pages
from confide.studies.book.results import committed_table
from confide.studies.book.systems import SYSTEMS
from confide.studies.engine.cells import cell_tasks
from confide.studies.engine.study import Study

ROOT = Path(__file__).parents[3]
BOOK = ROOT / "docs" / "reproduction"
LINK = re.compile(r"\]\(([^)\s]+)\)")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@cache
def book():
    return make_pages(BOOK)


def sections():
    return book()[1]


def slug(heading):
    """Return the anchor that GitHub gives to a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@cache
def anchors(path):
    text = path.read_text("utf-8")
    return {*ANCHOR.findall(text), *map(slug, HEADING.findall(text))}


@pytest.mark.slow
def test_pages_are_what_the_generator_makes_of_committed_results():
    for name, text in book()[0].items():
        written = (BOOK / f"{name}.md").read_text("utf-8")
        assert written == text, f"run python -m confide.studies.book: {name}.md differs"


def test_every_study_has_a_section():
    named = {study for section in sections() for study in section.studies}
    ours = {
        name for name, one in STUDIES.items() if one.run.__module__.startswith("confide.")
    }
    assert named == ours


def test_every_link_leads_to_a_file_and_an_anchor():
    for name, text in book()[0].items():
        for target in LINK.findall(text):
            path, _, anchor = target.partition("#")
            file = (BOOK / path).resolve() if path else BOOK / f"{name}.md"
            assert file.exists(), f"{name}.md: {target}"
            if anchor:
                assert anchor in anchors(file), f"{name}.md: {target}"


def test_anchors_are_unique_on_a_page():
    for name, text in book()[0].items():
        found = ANCHOR.findall(text)
        assert len(found) == len(set(found)), name


@pytest.mark.slow
def test_every_test_that_is_named_exists_and_refutations_name_one():
    for section in sections():
        for test in section.tests:
            path, _, name = test.partition("::")
            tree = ast.parse((ROOT / path).read_text("utf-8"))
            functions = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
            assert name in functions, test
        if section.verdict == "refuted":
            assert section.tests, f"{section.link} needs an executable counterexample"


def test_the_front_page_has_27_systems_that_are_there():
    assert len({system.name for system in SYSTEMS}) == len(SYSTEMS) == 27
    for system in SYSTEMS:
        for module in system.modules:
            assert (ROOT / "src" / "confide" / module).exists(), module
        assert system.sections
        assert not system.status or system.status.startswith(
            ("PROVED", "CLAIMED", "REFUTED")
        )


def test_every_section_is_one_click_from_the_front_page():
    front = book()[0][FRONT]
    for section in sections():
        assert f"]({section.link})" in front


def squares(cell, seed):
    del seed
    return [{"square": cell["x"] ** 2}]


SMALL = Study(
    "small",
    "Squares",
    "nobody",
    lambda quick: [{"x": x, "part": 0} for x in ((1, 3) if quick else (1, 2, 3))],
    squares,
    table=lambda rows: rows,
    repetition=("part",),
)


def commit_cells(folder, quick):
    lines = [
        {"confide": "1", "version": 1, "seed": task.seed, "seconds": 2.0}
        | dict(task.cell)
        | squares(task.cell, 0)[0]
        for task in cell_tasks(SMALL, quick=quick)
    ]
    (folder / "results").mkdir(exist_ok=True)
    pd.DataFrame(lines).to_csv(folder / "results" / "small.csv", index=False)


def test_a_table_is_whole_or_quick_or_nothing(tmp_path):
    nothing = committed_table(SMALL, tmp_path)
    assert (nothing.cells, nothing.total, nothing.whole) == (0, 3, False)
    assert nothing.value({"x": 1}, "square") is None
    commit_cells(tmp_path, quick=True)
    quick = committed_table(SMALL, tmp_path)
    assert (quick.cells, quick.total, quick.whole) == (2, 3, False)
    commit_cells(tmp_path, quick=False)
    whole = committed_table(SMALL, tmp_path)
    assert whole.whole
    assert whole.seconds == 6
    assert whole.library == ("1",)
    assert whole.value({"x": 3}, "square") == 9
    assert whole.value({"x": 4}, "square") is None
    assert whole.value({"y": 4}, "square") is None
    assert whole.value({}, "square") is None


def test_a_verdict_is_one_of_those_that_are_explained(tmp_path):
    page = Page("some", tmp_path)
    with pytest.raises(InvalidParameter, match="verdict"):
        page.section("here", "Title", "doubtful")
    text = page.section("here", "Title", "not reproduced", "of this")
    assert "**Verdict: not reproduced** because of this." in text
    assert '<a id="here"></a>' in text
    assert page.sections[0].link == "some.md#here"


def test_numbers_are_shown_to_some_digits():
    assert [shown(one) for one in (None, 0.0, 1.2345, 123456.0, 2e-9)] == [
        *("–", "0", "1.23", "123,456", "2e-09"),
    ]
    table = comparison_table([("error", 1.82, 7.8), ("other", None, 1.0)])
    assert "| error | 1.82 | 7.8 | +5.98 |" in table
    assert "| other | – | 1 | – |" in table


def test_tables_beside_the_papers():
    frame = pd.DataFrame(
        {
            "privacy": "DP",
            "method": "obj",
            "loss": "LR",
            "columns": [1, 2],
            "paper": [0.95, 0.96],
            "published": [0.94, 0.961],
            "difference": [-0.01, 0.001],
        }
    )
    assert "| DP obj LR | paper | 0.9500 | 0.9600 |" in coverage_table(frame, "columns")
    assert "| | difference | −0.0100 | +0.0010 |" in coverage_table(frame, "columns")
    assert "2 coverages differ from the printed ones by at most 0.0100, and 0.0055" in (
        differences(frame)
    )
    some = frame_table(frame, {"columns": 2}, ["columns", "paper", "absent"])
    assert some.splitlines()[0] == "| paper |"
    lengths = pd.DataFrame(
        {"privacy": "DP", "variant": "tight", "length": [2.0, 6.0], "variability": [2, 2]}
    )
    assert "| DP | tight | 1 | 2 | 3 |" in length_ratios(lengths, "privacy")
