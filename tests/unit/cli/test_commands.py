import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from confide import MultiResponseRegression, Number, Schema, Target, load_model
from confide.accounting import multiplier_for
from confide.cli import reproduce, schema
from confide.cli.list import by_package
from confide.data import UNKNOWN
from confide.estimators import ESTIMATORS
from confide.ledger import Ledger
from confide.mechanisms import MECHANISMS, MpAdmm
from confide.noise import Entropy
from confide.objectives import LOSSES, MODELS
from confide.privacy import Approx, Neighbours, Pure
from confide.studies import FOLDER, STUDIES
from support.commands import SCHEMA, run, run_main


def test_from_a_table_to_a_report_in_five_commands(folder):
    assert run("schema", "check", "loans.toml").exit_code == 0
    limit = ("budget", "book.db", "--dataset", "loans", "--epsilon", "5")
    assert run(*limit).exit_code == 0
    fitted = run(
        *("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "4"),
        *("--ledger", "book.db", "--out", "model.json"),
    )
    assert fitted.exit_code == 0, fitted.output
    assert fitted.output.index("Guarantee") < fitted.output.index("coefficient")
    listed = json.loads(run("budget", "book.db", "--entries", "--json").output)
    assert listed["entries"][1]["what"] == "LogisticRegression for model.json"
    guessed = run("predict", "model.json", "loans.csv", "--out", "guesses.csv")
    assert guessed.exit_code == 0, guessed.output
    guesses = pd.read_csv("guesses.csv")
    truth = pd.read_csv("loans.csv")["defaulted"]
    assert np.mean(guesses["prediction"] == truth) > 0.65
    told = run("report", "model.json", "--ledger", "book.db", "--card", "card.md")
    assert told.exit_code == 0, told.output
    assert "<html" in (folder / "report.html").read_text("utf-8")
    assert "loans" in (folder / "card.md").read_text("utf-8")


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_model_of_every_kind_has_a_report(folder, name):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"a": rng.random(300), "b": rng.random(300)})
    table["y"] = (table["a"] > table["b"]).astype(int)
    entry = ESTIMATORS[name]
    schema = Schema(
        (Number("a", 0, 1), Number("b", 0, 1)),
        Target("y", labels=(0, 1)) if entry.labelled else Target("y", lower=0, upper=1),
    )
    settings = {"slope_bound": 1.0} if name == "PoissonRegression" else {}
    if name == "MultiResponseRegression":
        pytest.skip("a schema has one target")
    if name == "SparseLinearRegression":
        settings = {"size": 1}
    entry.kind(Pure(5), schema=schema, **settings).fit(table).save("kind.json")
    told = run("report", "kind.json", "--out", "kind.html")
    assert told.exit_code == 0, told.output
    assert entry.title in (folder / "kind.html").read_text("utf-8")


def test_the_ledger_refuses_what_is_over_the_limit(folder, monkeypatch, capsys):
    run("budget", "book.db", "--dataset", "loans", "--epsilon", "1")
    fit = ("fit", "loans.csv", "--schema", "loans.toml", "--ledger", "book.db")
    assert run(*fit, "--epsilon", "0.6").exit_code == 0
    code, text = run_main(monkeypatch, capsys, *fit, "--epsilon", "0.6", "--out", "no.json")
    assert code == 3
    assert "refused" in text.err
    assert not (folder / "no.json").exists()
    book = json.loads(run("budget", "book.db", "--entries", "--verify", "--json").output)
    assert book["accounts"][0]["spent"] == "ε = 0.6"
    assert [entry["kind"] for entry in book["entries"]] == ["limit", "charge", "release"]
    assert book["verified"] == 3


@pytest.mark.slow
def test_a_book_says_for_which_neighbours_it_counts(folder, monkeypatch, capsys):
    limit = ("budget", "book.db", "--dataset", "loans")
    assert "by the first charge" in run(*limit, "--epsilon", "8").output
    fit = (*FIT, "--ledger", "book.db", "--epsilon", "1")
    assert "left: ε = 7, add-remove neighbours" in run(*fit).output
    replaced = (*fit, "--neighbours", "replace-one")
    code, text = run_main(monkeypatch, capsys, *replaced)
    assert code == 3
    assert "Fit with --neighbours add-remove" in text.err
    assert run(*limit, "--neighbours", "replace-one").exit_code == 0
    assert run(*replaced).exit_code == 0
    counted = "Charged ε = 1 to loans, counted for replace-one at the cost of a removal"
    added = (*fit, "--neighbours", "add-remove", "--out", "model.json")
    assert counted in run(*added).output.replace("\n", " ")
    shown = json.loads(run("budget", "book.db", "--entries", "--verify", "--json").output)
    account = shown["accounts"][0]
    assert (account["neighbours"], account["spent"]) == ("replace-one", "ε = 5")
    charges = [e for e in shown["entries"] if e["kind"] == "charge"]
    assert [(e["neighbours"], e["counted"]) for e in charges] == [
        ("add-remove", "ε = 1"),
        ("replace-one", "ε = 1"),
        ("add-remove", "ε = 2"),
    ]
    assert shown["verified"] == 8
    run("report", "model.json", "--ledger", "book.db", "--card", "card.md")
    for name in ("report.html", "card.md"):
        text = (folder / name).read_text("utf-8")
        assert "spent ε = 5, counted for replace-one neighbours." in text


def test_charges_without_a_record_are_shown_and_spoken_for(folder, monkeypatch, capsys):
    book = Ledger.open("book.db")
    book.set_limit("loans", Pure(8))
    book.charge("loans", Pure(1))
    book.close()
    assert run("budget", "book.db", "--entries").output.count("not recorded") == 2
    fit = (*FIT, "--ledger", "book.db", "--epsilon", "1")
    code, text = run_main(monkeypatch, capsys, *fit)
    assert code == 3
    assert "--neighbours add-remove --earlier add-remove" in text.err
    limit = ("budget", "book.db", "--dataset", "loans", "--neighbours", "add-remove")
    code, text = run_main(monkeypatch, capsys, *limit)
    assert code == 3
    assert "pass --earlier add-remove" in text.err
    assert run(*limit, "--earlier", "add-remove").exit_code == 0
    assert run(*fit).exit_code == 0
    assert "earlier ones: add-remove" in run("budget", "book.db", "--entries").output
    code, text = run_main(monkeypatch, capsys, *limit[:2], "--neighbours", "add-remove")
    assert code == 2
    assert "--dataset must be given" in text.err


def test_a_template_holds_names_and_no_values(folder):
    made = run("schema", "init", "loans.csv", "--out", "new.toml")
    assert made.exit_code == 0
    text = (folder / "new.toml").read_text("utf-8")
    assert "region" in text
    assert "north" not in text
    chosen = ("--target", "defaulted", "--column", "age")
    text = run("schema", "init", "loans.csv", *chosen).output
    assert 'column = "defaulted"' in text
    assert "region" not in text


def test_fit_as_json_is_complete(folder):
    result = run("fit", "loans.csv", "--schema", "loans.toml", "--rho", "0.5", "--json")
    content = json.loads(result.output)
    assert content["guarantee"]["status"] == "PROVED"
    assert len(content["coefficients"]) == 7


@pytest.mark.parametrize("name", ["mpadmm", "dp-admm"])
def test_fit_by_steps_says_what_got_noise(folder, name):
    words = ("fit", "loans.csv", "--schema", "loans.toml", "--mechanism", name)
    words = (*words, "--ranges", "public")
    result = run(*words, "--epsilon", "1", "--delta", "1e-6", "--out", "steps.json")
    assert result.exit_code == 0
    assert "Status       PROVED" in result.output
    noise = load_model(folder / "steps.json").release_.noise
    assert [n.added_to[:14] for n in noise] == ["sum of clipped", "number of rows"]
    refused = run(*words, "--epsilon", "1")
    assert "Approx or Zcdp" in str(refused.exception)


def test_predict_has_a_column_for_every_target(folder):
    entropy = Entropy.seeded(1)
    features = pd.DataFrame(entropy.uniform(40).reshape(20, 2), columns=["a", "b"])
    model = MultiResponseRegression(
        Approx(1, 1e-6), mechanism=MpAdmm(3), target_bound=1.0, row_norm=1.0
    ).fit(features, features)
    model.save(folder / "two.json")
    (folder / "new.csv").write_text("a,b\n0.1,0.2\n0.3,0.4\n", encoding="utf-8")
    result = run("predict", "two.json", "new.csv", "--json")
    assert [len(column) for column in json.loads(result.stdout).values()] == [2, 2]


def test_fit_names_the_variables_that_two_looks_select(folder):
    words = ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "40")
    result = run(*words, "--l1", "5", "--mechanism", "adaptive")
    assert "Selected" in result.output
    assert "of 2 variables: age" in result.output


def test_plan_needs_no_data():
    words = (
        "plan",
        "--rows",
        "20000",
        "--columns",
        "10",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
    )
    shown = run(*words, "--width", "0.5")
    assert shown.exit_code == 0, shown.output
    assert "rows" in shown.output
    content = json.loads(run(*words, "--json").output)
    assert len(content["plans"]) >= 2


@pytest.mark.parametrize(
    "relation", ["add-remove", pytest.param("replace-one", marks=pytest.mark.slow)]
)
def test_plan_of_noisy_steps(folder, relation):
    words = ("plan", "--steps", "300", "--rate", "0.01", "--epsilon", "1", "--delta")
    words = (*words, "1e-8", "--neighbours", relation)
    content = json.loads(run(*words, "--json").output)
    budget = Approx(1, "1e-8")
    found = multiplier_for(budget, 300, rate="0.01", neighbours=relation)
    assert content["multiplier"] == found
    table = {row["steps"]: row["epsilon"] for row in content["epsilon_by_steps"]}
    assert list(table.values()) == sorted(table.values())
    assert table[300] == pytest.approx(1.0, rel=1e-3)
    assert max(table) == 3000
    pytest.importorskip("matplotlib")
    shown = run(*words, "--plot", "steps.png")
    assert shown.exit_code == 0, shown.output
    assert f"{found:.6g}" in shown.output
    assert Path("steps.png").stat().st_size > 10_000


@pytest.mark.slow
def test_audit_reports_a_share_of_the_claim():
    words = (
        "audit",
        "--epsilon",
        "1",
        "--delta",
        "1e-4",
        "--runs",
        "200",
        "--dimension",
        "3",
    )
    content = json.loads(run(*words, "--json").output)
    assert 0.9 < content["exact_share_of_claim"] <= 1.01
    assert content["refuted"] is False


def test_demo_prints_the_guarantee_first():
    result = run("demo", "--seed", "1")
    assert result.exit_code == 0
    assert result.output.index("Guarantee") < result.output.index("coefficient")
    assert "NOT PRIVATE" in result.output
    assert "widened by" in result.output
    assert "no noise" in result.output
    assert "no privacy" in result.output
    assert "warning" not in result.output


@pytest.mark.slow
def test_demo_as_json_is_complete():
    content = json.loads(run("demo", "--json", "--epsilon", "4", "--seed", "3").output)
    assert content["guarantee"]["budget"] == "ε = 4, δ = 1e-05"
    assert content["guarantee"]["private"] is False
    inside = [
        row["lower"] <= value <= row["upper"]
        for row, value in zip(content["coefficients"], content["noise_free"], strict=True)
        if row["identified"]
    ]
    assert sum(inside) >= 3
    widest = content["coefficients"][0]
    assert widest["lower"] < widest["estimate"] < widest["upper"]
    rising = [entry["accuracy"] for entry in content["by_epsilon"]]
    assert rising[-1] > rising[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "registry"), [("mechanisms", MECHANISMS), ("losses", LOSSES)]
)
def test_list_shows_every_registered_name(kind, registry):
    content = json.loads(run("list", kind, "--json").output)
    assert {line[0] for line in content[kind]} == set(registry)
    assert all(name in run("list").output for name in registry)


def test_mechanisms_are_listed_by_package_and_name():
    lines = json.loads(run("list", "mechanisms", "--json").output)["mechanisms"]
    packages = [MECHANISMS[line[0]].__module__.rpartition(".")[0] for line in lines]
    places = list(zip(packages, [line[0] for line in lines], strict=True))
    assert places == sorted(places)
    backwards = dict(reversed([*MECHANISMS.items()]))
    assert list(by_package(backwards)) == [name for _, name in places]


def test_studies_are_listed_by_name():
    listed = [
        line[0] for line in json.loads(run("list", "studies", "--json").output)["studies"]
    ]
    assert listed == sorted(STUDIES)
    assert [
        study["name"] for study in json.loads(run("reproduce", "--json").output)
    ] == listed


@pytest.mark.parametrize("command", ["fit", "plan", "audit"])
def test_help_names_every_model_and_relation(command):
    words = run(command, "--help").output.replace("│", " ").split()
    named = {word.strip(".,;") for word in words}
    assert {*MODELS, *map(str, Neighbours)} <= named


def test_defaults_are_those_of_the_rooms():
    assert reproduce.FOLDER == FOLDER
    assert schema.UNKNOWN == UNKNOWN


@pytest.mark.slow
def test_a_plan_reads_model_and_bound_from_the_schema(folder):
    text = SCHEMA.replace('labels = ["no", "yes"]', "bound = 10.0")
    (folder / "dose.toml").write_text(text)
    words = ("plan", "--rows", "9000", "--schema", "dose.toml", "--epsilon", "1", "--json")
    plans = json.loads(run(*words).output)["plans"]
    assert {plan["model"] for plan in plans} == {"LinearRegression"}
    ranged = text.replace("bound = 10.0", "lower = 0\nupper = 20")
    (folder / "dose.toml").write_text(ranged)
    for one, other in zip(json.loads(run(*words).output)["plans"], plans, strict=True):
        assert (one["noise"], one["l2"]) == (other["noise"], other["l2"])


def test_rows_without_a_target_are_dropped_by_rule(folder):
    table = pd.read_csv("loans.csv")
    table.loc[::5, "defaulted"] = None
    table.to_csv("gaps.csv", index=False)
    fit = ("fit", "gaps.csv", "--epsilon", "1", "--schema")
    assert run(*fit, "loans.toml").exit_code != 0
    ruled = SCHEMA.replace('"defaulted"\n', '"defaulted"\nmissing = "drop"\n')
    (folder / "ruled.toml").write_text(ruled)
    assert run(*fit, "ruled.toml").exit_code == 0


def test_a_large_budget_needs_no_other_setting(folder):
    fit = ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "5000")
    assert run(*fit).exit_code == 0


FIT = ("fit", "loans.csv", "--schema", "loans.toml")


def test_predictions_hold_no_more_digits_than_they_deserve(folder):
    run(*FIT, "--epsilon", "3", "--out", "model.json")
    run("predict", "model.json", "loans.csv", "--out", "guesses.csv")
    text = (folder / "guesses.csv").read_text("utf-8").splitlines()[1:]
    assert all(len(cell) <= 6 for line in text for cell in line.split(",")[1:])
    guesses = pd.read_csv("guesses.csv")
    chances = guesses.filter(like="probability")
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1.1e-4)


AGE = """
name = "loans"
[target]
column = "age"
lower = 0
upper = 1e6
[columns.region]
kind = "category"
levels = ["north", "south", "east", "west"]
"""


def test_predicted_numbers_are_rounded(folder):
    (folder / "age.toml").write_text(AGE)
    run("fit", "loans.csv", "--schema", "age.toml", "--epsilon", "3", "--out", "age.json")
    shown = run("predict", "age.json", "loans.csv").output.split()[1:]
    assert len(shown) == 600
    assert all(float(f"{float(cell):.5g}") == float(cell) for cell in shown)
