"""`confide ranges`, and fits that follow it."""

import json

from confide import Schema, load_model
from confide.errors import InvalidParameter
from support.commands import run

WIDE = """name = "loans"
rows = 600

[target]
column = "defaulted"
labels = ["no", "yes"]

[columns.age]
kind = "number"

[columns.region]
kind = "category"
levels = ["north", "south", "east", "west"]
"""


def test_ranges_are_bought_written_and_used(folder):
    (folder / "wide.toml").write_text(WIDE, encoding="utf-8")
    run("budget", "book.db", "--dataset", "loans", "--epsilon", "10", "--delta", "1e-4")
    words = ("ranges", "loans.csv", "--schema", "wide.toml", "--ledger", "book.db")
    result = run(*words, "--epsilon", "3", "--out", "narrow.toml", "--seed", "1")
    assert result.exit_code == 0, result.output
    assert "PROVED" in result.output
    narrow = Schema.from_toml(folder / "narrow.toml")
    assert narrow.columns[0].lower <= 30
    assert 64 <= narrow.columns[0].upper <= 128
    assert narrow.bought[0].entry
    fit = ("fit", "loans.csv", "--schema", "narrow.toml", "--ledger", "book.db")
    result = run(*fit, "--epsilon", "2", "--delta", "1e-6", "--out", "model.json")
    assert result.exit_code == 0, result.output
    model = load_model(folder / "model.json")
    assert model.release_.ranges is None
    assert any("released before" in line for line in model.release_.guarantee.assumptions)
    spent = json.loads(run("budget", "book.db", "--dataset", "loans", "--json").output)
    assert "5" in str(spent)


def test_a_fit_says_which_ranges_it_has_and_which_noise_hides(folder):
    (folder / "wide.toml").write_text(WIDE, encoding="utf-8")
    fit = ("fit", "loans.csv", "--epsilon", "0.01", "--seed", "1")
    found = " ".join(run(*fit, "--schema", "wide.toml").output.split())
    assert "Estimated with 10% of the budget; effects hold inside" in found
    assert "Hidden: age: no range could be found above the noise" in found


def test_ranges_as_json(folder):
    (folder / "wide.toml").write_text(WIDE, encoding="utf-8")
    words = ("ranges", "loans.csv", "--schema", "wide.toml", "--epsilon", "3")
    content = json.loads(run(*words, "--out", "narrow.toml", "--json").output)
    assert content["guarantee"]["status"] == "PROVED"
    assert list(content["ranges"]) == ["age"]


def test_ranges_for_intervals_say_so(folder):
    (folder / "wide.toml").write_text(WIDE, encoding="utf-8")
    words = (
        "ranges",
        "loans.csv",
        "--schema",
        "wide.toml",
        "--epsilon",
        "3",
        "--intervals",
    )
    assert run(*words, "--out", "narrow.toml").exit_code == 0
    assert Schema.from_toml(folder / "narrow.toml").bought[0].use == "plain intervals"


def test_a_fit_says_which_ranges_it_bought(folder):
    (folder / "wide.toml").write_text(WIDE, encoding="utf-8")
    budget = ("--epsilon", "3", "--delta", "1e-6")
    words = ("fit", "loans.csv", "--schema", "wide.toml", *budget)
    assert "Estimated with 10% of the budget" in run(*words, "--json").output
    refused = run(*words, "--ranges", "public")
    assert isinstance(refused.exception, InvalidParameter)
    assert "no limits" in str(refused.exception)
