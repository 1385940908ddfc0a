"""Every example of the gallery has a title, a picture and a meaning, and runs."""

import ast
import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "docs" / "examples"
EXAMPLES = sorted(GALLERY.glob("plot_*.py"))
MAY_IMPORT = {
    "confide",
    "dask",
    "matplotlib",
    "numpy",
    "pandas",
    "sklearn",
    "scipy",
    "stand_in",
}
LONGEST = 500

each = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def imported(tree):
    """Return the packages that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            yield node.module.split(".")[0]


@each
def test_an_example_has_a_title_a_picture_and_a_meaning(path):
    source = path.read_text("utf-8")
    _, title, line, *_ = ast.get_docstring(ast.parse(source), clean=False).split("\n")
    assert set(line) == {"="}
    assert len(line) == len(title), "the line below a title is as long as the title"
    assert "\nplt.show()" in source
    assert "\n# What it means\n" in source
    assert len(source.splitlines()) <= LONGEST


def test_every_example_has_its_place():
    source = GALLERY.parent / "site" / "gallery_order.py"
    spec = importlib.util.spec_from_file_location("gallery_order", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    listed = [f"plot_{name}" for name in module.ORDER]
    assert sorted(listed) == [path.stem for path in EXAMPLES]
    key = module.GalleryOrder("examples")
    assert [key(f"{name}.py") for name in listed] == list(range(len(listed)))


@each
def test_an_example_imports_what_the_extras_install(path):
    packages = set(imported(ast.parse(path.read_text("utf-8"))))
    assert packages - set(sys.stdlib_module_names) <= MAY_IMPORT


@each
def test_an_example_says_that_its_table_is_synthetic(path):
    story = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert "synthetic" in story


@pytest.mark.slow
@each
def test_an_example_runs_and_draws(path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    monkeypatch.syspath_prepend(GALLERY)
    monkeypatch.chdir(GALLERY)
    plt.close("all")
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert plt.get_fignums()
    finally:
        plt.close("all")
