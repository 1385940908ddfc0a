"""What is imported when, in processes of their own."""

import subprocess
import sys

import pytest

from confide.mechanisms import MECHANISMS

HEAVY = ("numpy", "scipy", "pandas", "sklearn", "matplotlib", "pyarrow", "dask")
COMMANDS = ("demo", "describe", "fit", "predict", "score", "plan", "budget", "report")
COMMANDS += ("reproduce", "list")
WORDS = [
    "--version",
    "--help",
    *(f"{command} --help" for command in COMMANDS),
    *(f"audit {rest}--help" for rest in ("", "inversion ")),
    *(f"schema {rest}--help" for rest in ("", "init ", "check ")),
]
RUN = f"""
import sys
from confide.cli import app
for words in sys.argv[1:]:
    app(words.split(), prog_name="confide", standalone_mode=False)
    heavy = [name for name in {HEAVY} if name in sys.modules]
    assert not heavy, f"confide {{words}} imports {{heavy}}"
"""


def output(script, *words):
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("words", ["--version", "fit --help"])
def test_a_command_that_computes_nothing_imports_nothing_heavy(words):
    assert output(RUN, words)


def test_no_help_imports_anything_heavy():
    said = output(RUN, *WORDS)
    assert all(f"Usage: confide {command}" in said for command in COMMANDS)


def test_the_package_is_light_until_a_name_is_used():
    output(f"import sys, confide\nassert not {{*{HEAVY}}} & {{*sys.modules}}")
    output("import confide\nassert confide.planning.make_plan and confide.Schema")


@pytest.mark.parametrize("room", ["mechanisms", "selection", "objectives"])
def test_mechanisms_do_not_depend_on_what_was_imported_first(room):
    script = (
        f"import confide.{room}\n"
        "from confide.mechanisms.base import MECHANISMS\n"
        "print(*sorted(MECHANISMS))"
    )
    assert output(script).split() == sorted(MECHANISMS)
