"""The tests: chapters of a bearable length that look at confide from outside."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("*.py"))
LEAST_FUNCTIONS = 1350
"""A floor: tests are not lost when files are moved or merged."""
INSIDE = {
    "attacks/test_scores.py": {"_score"},
    "support/bounded_rows.py": {"_bounding", "_readings"},
    "support/locality.py": {"_bounding"},
    "unit/estimators/test_holdout.py": {"_holdout"},
    "unit/estimators/test_estimators.py": {"_spec"},
}
"""Private modules of estimators that a test needs, for what no public name shows."""


def private_modules(path):
    """Yield the private modules of estimators from which a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            inner = (n.split(".")[2] for n in names if n.startswith("confide.estimators."))
            yield from (name for name in inner if name.startswith("_"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(TESTS).as_posix())
def test_files_stay_readable(path):
    lines = path.read_text("utf-8").count("\n")
    assert lines <= 500, f"{lines} lines: is this still one topic?"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(TESTS).as_posix())
def test_estimators_are_tested_from_outside(path):
    assert {*private_modules(path)} == INSIDE.get(path.relative_to(TESTS).as_posix(), set())


def test_the_suite_did_not_shrink():
    functions = sum(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
    )
    assert functions >= LEAST_FUNCTIONS
