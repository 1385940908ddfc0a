"""The pages under Start here run as they stand, from top to bottom, as a reader would."""

import re
import shlex
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from confide import cli

START = Path(__file__).parents[2] / "docs" / "start"
BLOCK = re.compile(r"^```(python|bash|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXIT_CODE = re.compile(r"# exit code (\d)$")
FIRST = "first-report"
PAGES = sorted(
    page.stem for page in START.glob("*.md") if page.stem not in {"README", FIRST}
)
pytestmark = pytest.mark.slow


def run_page(name):
    """Run the blocks of a page in the working folder; Python blocks share their names."""
    shared, printed = {}, []
    for language, text in BLOCK.findall((START / f"{name}.md").read_text("utf-8")):
        if language == "python":
            exec(compile(text, f"{name}.md", "exec"), shared)  # noqa: S102
        elif language == "toml":
            Path(text.split()[1]).write_text(text, "utf-8")
        else:
            printed += [run_command(line) for line in text.splitlines()]
    return "".join(printed)


def run_command(line):
    wanted = EXIT_CODE.search(line)
    words = shlex.split(line, comments=True)
    assert words[0] == "confide", f"only confide runs here: {line}"
    out = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as stop:
            cli.main()
    code = int(stop.value.code or 0)
    assert code == int(wanted[1] if wanted else 0), f"{line}\n{out.getvalue()}"
    return out.getvalue()


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Return the folder that the first page leaves behind, and what it printed."""
    folder = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        printed = run_page(FIRST)
    return folder, printed


def test_the_first_page_ends_with_a_report(first):
    folder, printed = first
    assert "PROVED" in (folder / "report.html").read_text("utf-8")
    assert "ε = 1.2, δ = 1e-06" in printed
    assert "compared with medicine" in " ".join(printed.split())


@pytest.mark.parametrize("name", PAGES)
def test_page_runs(name, first, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(first[0], tmp_path / "page"))
    run_page(name)


@pytest.mark.parametrize("name", ["README", FIRST, *PAGES])
def test_every_page_is_listed(name):
    listed = (START / "README.md").read_text("utf-8")
    assert name == "README" or (f"({name}.md)" in listed and f"\n{name}\n" in listed)
