"""`confide describe`: one charge, a page, figures, and a schema for later fits."""

import json

import pytest

from confide import Schema
from support.commands import run, run_main

WORDS = ("describe", "loans.csv", "--schema", "loans.toml", "--epsilon", "2")


def test_a_description_is_written_and_serves_a_fit(folder):
    run("budget", "book.db", "--dataset", "loans", "--epsilon", "5")
    files = ("--out", "d.html", "--out", "d.json", "--schema-out", "bought.toml")
    told = run(*WORDS, "--pairs", "age,region", "--ledger", "book.db", *files)
    assert told.exit_code == 0, told.output
    assert told.output.index("Guarantee") < told.output.index("median")
    assert "left: ε = 3" in told.output
    assert "<html" in (folder / "d.html").read_text("utf-8")
    record = json.loads((folder / "d.json").read_text("utf-8"))
    assert {line["column"] for line in record["lines"]} >= {"age", "region", "defaulted"}
    known = Schema.from_toml(folder / "bought.toml")
    assert known.parts["age"].range == "public"
    fitted = run(
        *("fit", "loans.csv", "--schema", "bought.toml", "--epsilon", "1"),
        *("--ledger", "book.db"),
    )
    assert fitted.exit_code == 0, fitted.output
    listed = json.loads(run("budget", "book.db", "--entries", "--json").output)
    assert listed["entries"][1]["what"] == "description for d.html"


def test_json_and_nothing_else(folder):
    told = run(*WORDS, "--json")
    assert json.loads(told.output)["guarantee"]["status"] == "PROVED"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--out", "d.txt"), "--out must be"),
        (("--pairs", "age"), "--pairs must be"),
        (("--pairs", "age,height"), "pairs of different columns"),
        (("--out", "d.html", "--out", "d.html"), "a file other than"),
        (("--out", "loans.csv"), "--out must be"),
    ],
)
def test_what_cannot_be_done_is_refused_first(
    folder, monkeypatch, capsys, words, complaint
):
    code, text = run_main(monkeypatch, capsys, *WORDS, *words)
    assert code == 2
    assert complaint in text.err
