"""`confide score`, `fit --holdout` and `report --score`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from confide import Approx, Ledger, load_score
from confide.cli.tables import ReadMode, open_for_fit
from support.clinic import SCHEMA, clinic
from support.commands import run


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = clinic(900)
    table[:600].to_csv("table.csv", index=False)
    table[600:].to_csv("test.csv", index=False)
    (tmp_path / "table.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    Ledger.open("book.db").set_limit("clinic", Approx(3, "1e-5"))
    return tmp_path


def fit(*more):
    words = ("fit", "table.csv", "--schema", "table.toml", "--epsilon", "1")
    done = run(*words, "--delta", "1e-6", "--ledger", "book.db", *more)
    assert done.exit_code == 0, done.output
    return done.stdout


def spent():
    return str(Ledger.open("book.db").account("clinic").spent)


@pytest.mark.slow
def test_a_model_is_scored_and_reported(files):
    fit("--out", "model.json")
    words = ("score", "model.json", "test.csv", "--epsilon", "0.5", "--ledger", "book.db")
    done = run(*words, "--out", "score.json", "--html", "score.html")
    assert done.exit_code == 0, done.output
    assert "area under the ROC curve" in done.output
    assert "ε = 1.5" in spent()
    page = (files / "score.html").read_text("utf-8")
    assert "ROC curve" in page
    assert "<script" not in page
    again = run("report", "model.json", "--score", "score.json", "--out", "report.html")
    assert again.exit_code == 0, again.output
    report = (files / "report.html").read_text("utf-8")
    assert "How good the model is" in report
    assert report.count("<svg") == 2 + len(load_score("score.json").curves)


def test_a_holdout_costs_what_the_fit_does(files):
    said = fit("--out", "model.json", "--holdout", "0.3")
    assert "Score on the held-out rows, at no extra cost" in said
    assert "--score model.score.json" in said
    assert spent() == "ε = 1, δ = 1e-06"
    assert load_score("model.score.json")["accuracy"].value is not None


def test_json_has_all_that_was_released(files):
    whole = json.loads(fit("--holdout", "0.3", "--json"))
    assert whole["score"]["guarantee"]["theorem"] == "evaluation.md#holdout-exact"
    fit("--out", "model.json")
    done = run("score", "model.json", "test.csv", "--rho", "0.01", "--json")
    found = json.loads(done.stdout)
    assert {"estimates", "curves", "guarantee", "out"} <= found.keys()


@pytest.mark.slow
def test_two_models_are_compared(files):
    fit("--out", "model.json")
    fit("--out", "other.json")
    words = ("score", "model.json", "test.csv", "--epsilon", "1", "--against", "other.json")
    done = run(*words, "--stream")
    assert done.exit_code == 0, done.output
    assert "favours the first model" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("score", "model.json", "none.csv", "--epsilon", "1"), "does not exist"),
        (("score", "model.json", "test.csv"), "epsilon"),
        (("score", "model.json", "other.csv", "--epsilon", "1"), "age"),
        (("score", "model.json", "test.csv", "--epsilon", "1", "--level", "95"), "level"),
        (("report", "model.json", "--score", "model.json"), "score file"),
    ],
)
def test_wrong_use_is_explained_and_costs_nothing(files, words, told):
    fit("--out", "model.json")
    before = spent()
    clinic(50).drop(columns="age").to_csv("other.csv", index=False)
    more = ("--ledger", "book.db") if words[0] == "score" else ()
    done = run(*words, *more)
    assert done.exit_code != 0
    assert told in f"{done.output}{done.exception}"
    assert spent() == before


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_rows_of_a_person_stay_together(files, name):
    table = clinic(900).assign(patient=[f"0{k % 300}" for k in range(900)])
    table.to_csv("table.csv", index=False)
    table.to_parquet("table.parquet")
    with open_for_fit(name, SCHEMA, ReadMode(None, None, None), "patient") as rows:
        assert list(rows["patient"]) == list(table["patient"]), "text, as it stands there"
    several = replace(SCHEMA, rows_per_person=3)
    (files / "table.toml").write_text(several.to_toml(), encoding="utf-8")
    words = ("fit", name, "--schema", "table.toml", "--epsilon", "1")
    assert "optimistic" in run(*words, "--holdout", "0.3").output
    done = run(*words, "--holdout", "0.3", "--person", "patient")
    assert done.exit_code == 0, done.output
    assert "Score on the held-out rows" in done.output
    assert "optimistic" not in done.output
    alone = run(*words, "--person", "patient")
    assert "given together with --holdout" in f"{alone.output}{alone.exception}"


def test_a_holdout_that_is_none_is_refused(files):
    words = ("fit", "table.csv", "--schema", "table.toml", "--epsilon", "1")
    done = run(*words, "--holdout", "1.5", "--ledger", "book.db")
    assert "holdout" in f"{done.output}{done.exception}"
    assert spent() == "ε = 0, δ = 0"


def test_a_report_shows_only_scores_of_its_model(files):
    fit("--out", "model.json")
    fit("--out", "other.json")
    budget = ("--epsilon", "1", "--out", "score.json")
    done = run("score", "model.json", "test.csv", *budget)
    assert "Next: confide report model.json --score score.json" in " ".join(
        done.output.split()
    )
    refused = run("report", "other.json", "--score", "score.json")
    assert "score of the model in the report" in str(refused.exception)
    assert not Path("report.html").exists()
    made = run("report", "model.json", "--score", "score.json")
    assert made.exit_code == 0, made.output
    again = run("report", "model.json", "--score", "score.json")
    assert "in place of an earlier file" in again.output


def test_a_score_of_an_earlier_version_names_no_model(files):
    fit("--out", "model.json")
    run("score", "model.json", "test.csv", "--epsilon", "1", "--out", "score.json")
    record = json.loads(Path("score.json").read_text("utf-8"))
    assert len(record.pop("model")) == 64
    Path("score.json").write_text(json.dumps(record), "utf-8")
    assert run("report", "model.json", "--score", "score.json").exit_code == 0
