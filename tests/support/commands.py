"""Run commands in this process, or as the installed script does."""

import pytest
from typer.testing import CliRunner

from confide import cli

runner = CliRunner()


SCHEMA = """
name = "loans"

[target]
column = "defaulted"
labels = ["no", "yes"]

[columns.age]
kind = "number"
lower = 18
upper = 90

[columns.region]
kind = "category"
levels = ["north", "south", "east", "west"]
"""


def run(*words):
    return runner.invoke(cli.app, list(words))


def run_main(monkeypatch, capsys, *words):
    """Run as the installed script does; return the exit code and what was printed."""
    monkeypatch.setattr("sys.argv", ["confide", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    text = capsys.readouterr()
    assert "Traceback" not in text.err + text.out
    return stop.value.code, text
