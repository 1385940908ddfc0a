"""Error bars on the command line: asked for, printed, marked, drawn, refused."""

import json
import sys

import numpy as np
import pandas as pd
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

[columns.savings]
kind = "number"
lower = 0
upper = 1
"""
FIT = ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "8", "--delta", "1e-6")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table in which age tells much and savings tell nothing."""
    rng = np.random.default_rng(5)
    age = rng.uniform(18, 90, 3000)
    late = np.where(age + rng.normal(0, 15, 3000) > 55, "no", "yes")
    columns = {"age": age.round(1), "savings": rng.random(3000), "defaulted": late}
    pd.DataFrame(columns).to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "loans.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


def run(*words):
    return runner.invoke(cli.app, list(words))


def refusal(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["confide", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    return capsys.readouterr().err


def line_of(name, text):
    return next(line for line in text.splitlines() if line.startswith(name)).split()


def test_a_fit_with_intervals_prints_bounds_and_marks_what_leaves_out_zero(folder):
    shown = run(*FIT, "--intervals", "0.3", "--seed", "1")
    assert shown.exit_code == 0, shown.output
    heads = line_of("coefficient", shown.output)
    assert heads == [
        *("coefficient", "estimate", "std.", "error", "lower", "upper", "p"),
        *("ridge", "pull", "widened", "by"),
    ]
    name, mark, *figures, cause = line_of("age", shown.output)
    estimate, error, lower, upper = map(float, figures[:4])
    assert 0 < error < (upper - lower) / 3
    assert figures[4] == "<0.001"
    assert (name, mark) == ("age", "*")
    assert lower < estimate < upper < 0
    assert cause in {"privacy", "sampling"}
    assert line_of("savings", shown.output)[1] != "*"
    assert "* the interval excludes zero" in shown.output
    assert "add-remove neighbours" in shown.output
    assert "--intervals auto" not in shown.output


def test_a_fit_that_is_sure_of_nothing_says_so(folder):
    words = ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "0.01")
    shown = run(*words, "--intervals", "auto", "--seed", "1").output
    assert "No coefficient is identified: there are no intervals." in shown
    assert " * " not in shown


def test_a_fit_without_intervals_hints_at_them_in_one_line(folder):
    shown = run(*FIT).output
    assert shown.count("--intervals auto") == 1
    assert "lower" not in shown


@pytest.mark.slow
def test_json_holds_intervals_and_the_level_is_chosen(folder):
    words = (*FIT, "--intervals", "auto", "--seed", "1", "--json")
    lengths = []
    for level in ("0.5", "0.95", "0.99"):
        content = json.loads(run(*words, "--level", level).output)
        first = content["coefficients"][0]
        assert first["level"] == float(level)
        assert first["widened_by"] in {"privacy", "sampling"}
        lengths.append(first["upper"] - first["lower"])
    assert lengths == sorted(lengths)
    assert "for the plain coefficients" in content["intervals"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--intervals", "often"), "--intervals must be auto, or the share"),
        (("--intervals", "1"), "--intervals must be auto, or the share"),
        (("--intervals", "-0.2"), "--intervals must be auto, or the share"),
        (
            ("--intervals", "0.2", "--level", "95"),
            "--level must be at least 0.5 and below 1",
        ),
        (("--level", "0.9"), "Add --intervals auto"),
        (("--intervals", "auto", "--l1", "2"), "needs a smooth penalty"),
        (("--plot", "picture.xyz"), "--plot must be a picture"),
        (("--plot", "nowhere/a.png"), "--plot must be in a folder"),
        (("--plot", "loans.csv"), "--plot must be a picture"),
    ],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)
def test_nonsense_is_refused_before_anything_is_spent(
    folder, monkeypatch, capsys, words, says
):
    run("budget", "book.db", "--dataset", "loans", "-e", "9", "-d", "1e-5")
    fit = (*FIT, "--ledger", "book.db", "--out", "model.json")
    assert says in refusal(monkeypatch, capsys, *fit, *words)
    account = json.loads(run("budget", "book.db", "--json").output)["accounts"][0]
    assert account["charges"] == 0
    assert not (folder / "model.json").exists()


@pytest.mark.slow
def test_a_picture_is_drawn_and_never_overwritten(folder, monkeypatch, capsys):
    words = (*FIT, "--intervals", "auto", "--plot", "coefficients.png")
    shown = run(*words)
    assert "Picture written to coefficients.png" in shown.output
    assert (folder / "coefficients.png").read_bytes().startswith(b"\x89PNG")
    assert "--plot must be a new file" in refusal(monkeypatch, capsys, *words)
    json_words = (*FIT, "--plot", "bare.svg", "--json")
    assert json.loads(run(*json_words).output)["plot"] == "bare.svg"


def test_without_matplotlib_a_picture_costs_nothing(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    run("budget", "book.db", "--dataset", "loans", "-e", "9", "-d", "1e-5")
    fit = (*FIT, "--ledger", "book.db", "--plot", "a.png")
    assert "pip install 'confide[plots]'" in refusal(monkeypatch, capsys, *fit)
    account = json.loads(run("budget", "book.db", "--json").output)["accounts"][0]
    assert account["charges"] == 0


def test_the_model_file_keeps_intervals_for_the_report(folder):
    run(*FIT, "--intervals", "auto", "--out", "model.json")
    told = run("report", "model.json", "--card", "card.md")
    assert told.exit_code == 0, told.output
    assert "widened by" in (folder / "report.html").read_text("utf-8")
    assert "## Intervals" in (folder / "card.md").read_text("utf-8")
