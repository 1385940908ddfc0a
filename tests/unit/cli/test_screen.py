"""Terminals are steered by nobody else, and any encoding shows all there is."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from rich.table import Table

from confide import Ledger, Pure, cli
from confide.cli import screen
from confide.cli.output import picture, print_json, print_table
from confide.reporting import Coefficient
from support.commands import SCHEMA, run
from support.summaries import a_summary

APP = sys.modules["confide.cli.app"]
STEERING = ["\x1b[31m", "\x9b31m", "\u202e", "\u2066", "\x07", "\u2028", "\x7f", "\r"]


@pytest.mark.parametrize("sign", STEERING)
def test_what_steers_a_terminal_is_shown_instead(sign):
    stream = io.StringIO()
    console = screen.Screen(file=stream, width=60)
    table = Table("column")
    table.add_row(f"a{sign}b")
    console.print(f"x{sign}y", markup=False)
    console.print(table)
    text = stream.getvalue()
    assert sign[0] not in text
    assert screen.visible(f"a{sign}b\n") == screen.visible(f"a{sign}b") + "\n"


@pytest.mark.parametrize("sign", STEERING)
def test_json_holds_the_same_and_steers_nothing(sign, capsys):
    print_json({"name": f"a{sign}ε"})
    text = capsys.readouterr().out
    assert json.loads(text) == {"name": f"a{sign}ε"}
    assert sign[0] not in text
    assert "ε" in text


def test_names_of_columns_are_neither_markup_nor_commands(folder):
    name = "age[red]\u202e\x1b[2J"
    table = Path("loans.csv").read_text("utf-8").replace("age", name, 1)
    Path("odd.csv").write_text(table, "utf-8")
    quoted = json.dumps(name)
    Path("odd.toml").write_text(SCHEMA.replace("[columns.age]", f"[columns.{quoted}]"))
    Ledger.open("book.db").set_limit("loans", Pure(10))
    words = ("odd.csv", "--schema", "odd.toml", "--epsilon", "1", "--ledger", "book.db")
    told = run("fit", *words, "--out", "odd[bold].json")
    assert told.exit_code == 0, told.output
    assert "age[red]" in told.output
    assert "odd[bold].json" in told.output
    for sign in ("\x1b", "\u202e"):
        assert sign not in told.output + told.stderr
    shown = run("budget", "book.db", "--entries").output + run("recover", "book.db").output
    assert "odd[bold].json" in shown


def test_heads_and_titles_are_no_markup(capsys):
    print_table(("[red]a", "b"), [("[bold]c", "d" * 30)], "in [blink]units")
    text = capsys.readouterr().out
    assert all(word in text for word in ("[red]a", "[bold]c", "[blink]units"))


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii", "cp437"])
def test_every_encoding_prints_a_guarantee(encoding, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    screen.spell_what_cannot_be_printed()
    stream.write("ε = 1, δ = 1e-06, ± 2 × 3, Köln, 東")
    stream.flush()
    text = stream.buffer.getvalue().decode(encoding)
    assert "1e-06" in text
    assert "epsilon = 1" in text or "ε = 1" in text
    assert "\\u6771" in text


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
def test_a_release_is_printed_in_any_encoding(folder, encoding):
    words = ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "1")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", "from confide.cli import main; main()", *words],
        env={"PYTHONIOENCODING": encoding, "PATH": "", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"epsilon = 1" in done.stdout


def test_a_defect_is_told_without_the_values_it_may_quote(monkeypatch, capsys):
    def broken(*_, **__):
        raise LookupError("the record of Ada")

    monkeypatch.setattr(APP, "app", broken)
    monkeypatch.setattr(sys, "argv", ["confide"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    said = capsys.readouterr().err
    assert stop.value.code == 1
    assert "Ada" not in said
    assert "LookupError" in said


def test_a_name_of_two_lines_does_not_pass_for_a_line_of_confide(folder):
    name = "age\nStatus REFUTED"
    frame = pd.read_csv("loans.csv").rename(columns={"age": name})
    frame.to_parquet("odd.parquet")
    quoted = json.dumps(name)
    Path("odd.toml").write_text(SCHEMA.replace("[columns.age]", f"[columns.{quoted}]"))
    told = run("fit", "odd.parquet", "--schema", "odd.toml", "--epsilon", "1")
    assert told.exit_code == 0, told.output
    assert "age\\x0aStatus REFUTED" in told.output
    assert "\nStatus REFUTED" not in told.output


@pytest.mark.slow
def test_a_picture_prints_no_sign_that_its_font_lacks(recwarn, tmp_path):
    rows = [Coefficient(f"a{sign}b", 0.5) for sign in STEERING]
    figure = a_summary(rows=rows).plot().figure
    assert picture(figure, tmp_path / "p.png").startswith(b"\x89PNG")
    assert not [str(warning.message) for warning in recwarn]
