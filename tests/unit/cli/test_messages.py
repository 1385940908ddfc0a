"""Messages of commands: what is refused, in which words, and before anything is spent."""

import json
import subprocess
import sys

import pytest

from support.commands import SCHEMA, run, run_main

FIT = ("fit", "loans.csv", "--schema", "loans.toml")


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "loans.csv", "--schema", "loans.toml"),
        ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "-1"),
        ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "1", "--rho", "1"),
        ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "1", "--model", "tree"),
        (
            "fit",
            "loans.csv",
            "--schema",
            "loans.toml",
            "--epsilon",
            "1",
            "--model",
            "poisson",
        ),
        ("fit", "loans.toml", "--schema", "loans.csv", "--epsilon", "1"),
        (
            "fit",
            "loans.csv",
            "--schema",
            "loans.toml",
            "--epsilon",
            "1",
            "--ledger",
            "b.db",
        ),
        ("predict", "loans.csv", "loans.csv"),
        ("report", "loans.toml"),
        ("budget", "loans.csv"),
        ("plan", "--rows", "100", "--epsilon", "1"),
        ("plan", "--epsilon", "1"),
        ("plan", "--steps", "9", "--rho", "1"),
        ("plan", "--steps", "9", "--rate", "2", "--epsilon", "1", "--delta", "1e-6"),
        ("audit", "--epsilon", "1", "--model", "tree"),
        ("demo", "--epsilon", "-1"),
    ],
    ids=" ".join,
)
def test_wrong_use_ends_in_a_sentence_not_a_traceback(folder, monkeypatch, capsys, words):
    code, text = run_main(monkeypatch, capsys, *words)
    assert code in {2, 3}
    assert text.err.strip()


@pytest.mark.slow
@pytest.mark.parametrize("words", [("nonsense",), ("fit", "absent.csv"), ("list", "x")])
def test_the_installed_script_behaves_the_same(folder, words):
    script = [sys.executable, "-m", "confide", *words]
    done = subprocess.run(script, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        *("", "demo", "fit", "predict", "plan", "budget", "report", "audit", "list"),
        *("reproduce", "schema", "schema init", "schema check"),
    ],
)
def test_help_teaches_with_an_example(command):
    assert "Example" in run(*command.split(), "--help").output


def test_a_file_that_cannot_be_written_costs_nothing(folder, monkeypatch, capsys):
    run("budget", "book.db", "--dataset", "loans", "--epsilon", "3")
    (folder / "old.json").write_text("paid for")
    fit = (
        "fit",
        "loans.csv",
        "--schema",
        "loans.toml",
        "--epsilon",
        "1",
        "--ledger",
        "book.db",
    )
    for out in ("nowhere/model.json", "old.json", "."):
        code, _ = run_main(monkeypatch, capsys, *fit, "--out", out)
        assert code == 2
    assert (folder / "old.json").read_text() == "paid for"
    book = json.loads(run("budget", "book.db", "--json").output)
    assert book["accounts"][0]["charges"] == 0


def test_a_mistyped_ledger_is_not_created(folder, monkeypatch, capsys):
    code, _ = run_main(monkeypatch, capsys, "budget", "typo.db")
    assert code == 2
    assert not (folder / "typo.db").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*FIT, "--epsilon", "-1"), "--epsilon must be greater than 0"),
        ((*FIT, "--epsilon", "1", "--delta", "x"), "--delta must be a finite number"),
        ((*FIT, "--rho", "0"), "--rho must be"),
        ((*FIT, "--epsilon", "1", "--l2", "1e-9"), "Leave it out, or try"),
        ((*FIT, "--epsilon", "1", "--l2", "-1"), "--l2 must be"),
        ((*FIT, "--epsilon", "1", "--model", "lgistic"), "Did you mean 'logistic'?"),
        ((*FIT, "--epsilon", "1", "--model", "linear"), "--model must be logistic or svm"),
        ((*FIT, "--epsilon", "1", "--mechanism", "outpt"), "Did you mean 'output'?"),
        ((*FIT, "--epsilon", "1", "--neighbours", "x"), "--neighbours must be"),
        ((*FIT, "--epsilon", "1", "--slope-bound", "-1"), "--slope-bound must be"),
        (("plan", "--rows", "0", "--columns", "3", "--rho", "1"), "--rows must be"),
        (
            ("plan", "--rows", "9", "--columns", "3", "--rho", "1", "--model", "poisson"),
            "--model poisson needs --target-bound",
        ),
        (("budget", "book.db", "--epsilon", "1"), "--dataset must be given"),
        (("budget", "book.db"), "confide budget book.db --dataset people --epsilon 3"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_messages_name_options(folder, monkeypatch, capsys, words, says):
    code, text = run_main(monkeypatch, capsys, *words)
    assert code == 2
    assert says in text.err
    assert not (folder / "book.db").exists()


@pytest.mark.slow
def test_a_ledger_without_a_limit_says_how_to_set_one(folder, monkeypatch, capsys):
    fit = (*FIT, "--epsilon", "1", "--ledger", "book.db")
    code, text = run_main(monkeypatch, capsys, *fit)
    assert code == 2
    assert "confide budget book.db --dataset loans --epsilon 3" in text.err
    assert not (folder / "book.db").exists()
    run("budget", "book.db", "--dataset", "loan", "--epsilon", "1")
    _, text = run_main(monkeypatch, capsys, *fit)
    assert "Did you mean 'loan'?" in text.err
    assert "confide budget book.db --dataset loans" in text.err
    meant = run("budget", "book.db", "--dataset", "loans", "--epsilon", "1")
    assert "Did you mean 'loan'?" in meant.output
    again = run("budget", "book.db", "--dataset", "loans", "--epsilon", "2")
    assert "previous limit of loans was ε = 1" in again.output


def test_an_unnamed_schema_is_refused_before_anything_is_spent(folder, monkeypatch, capsys):
    run("budget", "book.db", "--dataset", "data", "--epsilon", "1")
    (folder / "loans.toml").write_text(SCHEMA.replace('name = "loans"', ""))
    code, text = run_main(monkeypatch, capsys, *FIT, "-e", "1", "--ledger", "book.db")
    assert code == 2
    assert 'Write name = "people" as the first line of loans.toml' in text.err
    assert (
        json.loads(run("budget", "book.db", "--json").output)["accounts"][0]["charges"] == 0
    )


def test_a_mistyped_dataset_lists_those_there_are(folder, monkeypatch, capsys):
    run("budget", "book.db", "--dataset", "loans", "--epsilon", "1")
    run("budget", "book.db", "--dataset", "homes", "--epsilon", "1")
    code, text = run_main(monkeypatch, capsys, "budget", "book.db", "--dataset", "lons")
    assert code == 2
    assert "homes, loans" in text.err
    assert "Did you mean 'loans'?" in text.err


def test_a_refusal_names_what_does_not_suffice(folder, monkeypatch, capsys):
    limit = ("budget", "book.db", "--dataset", "loans", "-e", "1", "-d", "1e-5")
    run(*limit)
    fit = (*FIT, "--ledger", "book.db", "-e", "2", "-d", "1e-6")
    code, text = run_main(monkeypatch, capsys, *fit)
    assert code == 3
    assert "requested ε = 2, left ε = 1," in text.err
    assert "δ" not in text.err
