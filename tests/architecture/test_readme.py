"""The examples of README and of the pages below run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = README + "".join(
    (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    for page in ("intervals", "inference", "modelling", "sparse", "tuning")
)
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGES, flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number, capsys):
    exec(compile(EXAMPLES[number], f"README example {number + 1}", "exec"), {})  # noqa: S102
    assert "Guarantee" in capsys.readouterr().out


def test_there_are_examples_and_both_commands():
    assert len(EXAMPLES) >= 2
    assert "make demo" in README
    assert "make test" in README
