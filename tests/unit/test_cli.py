import json

import pytest
from typer.testing import CliRunner

from confide import cli
from confide.mechanisms import MECHANISMS
from confide.objectives import LOSSES

runner = CliRunner()


def test_demo_prints_the_guarantee_first():
    result = runner.invoke(cli.app, ["demo", "--seed", "1"])
    assert result.exit_code == 0
    assert result.output.index("Guarantee") < result.output.index("coefficient")
    assert "NOT PRIVATE" in result.output
    assert "no privacy" in result.output


def test_demo_as_json_is_complete():
    result = runner.invoke(cli.app, ["demo", "--json", "--epsilon", "4", "--seed", "3"])
    content = json.loads(result.output)
    assert content["guarantee"]["budget"] == "ε = 4"
    assert content["guarantee"]["private"] is False
    assert 0.7 < content["accuracy"] <= 1
    assert content["without_privacy"] > 0.9
    rising = [entry["accuracy"] for entry in content["by_epsilon"]]
    assert rising[-1] > rising[0]


@pytest.mark.parametrize(
    ("kind", "registry"), [("mechanisms", MECHANISMS), ("losses", LOSSES)]
)
def test_list_shows_every_registered_name(kind, registry):
    content = json.loads(runner.invoke(cli.app, ["list", kind, "--json"]).output)
    assert {line[0] for line in content[kind]} == set(registry)
    assert all(name in runner.invoke(cli.app, ["list"]).output for name in registry)


def test_wrong_use_ends_in_a_sentence_not_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["confide", "demo", "--epsilon", "-1"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    text = capsys.readouterr()
    assert "must be greater than 0" in text.err
    assert "Traceback" not in text.err + text.out


def test_unknown_list_is_refused_with_the_choices():
    result = runner.invoke(cli.app, ["list", "nonsense"])
    assert result.exit_code == 2
    assert "mechanisms" in result.output


def test_help_teaches_with_an_example():
    for command in ("demo", "list"):
        assert "Example" in runner.invoke(cli.app, [command, "--help"]).output
