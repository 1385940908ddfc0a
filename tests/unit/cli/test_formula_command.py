"""`--formula`, terms, weights and offsets on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from support.commands import run

pytest.importorskip("formulaic")

SCHEMA = """
name = "trial"

[target]
column = "dose"
lower = 0
upper = 100

[case_weights]
column = "times"
cap = 3

[columns.age]
kind = "number"
lower = 18
upper = 90

[columns.weight]
kind = "number"
lower = 30
upper = 150

[columns.race]
kind = "category"
levels = ["a", "b"]

[columns.smoker]
kind = "boolean"
"""
FORMULA = "dose ~ age + bs(weight, 4) + race:smoker"
BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    rows = 800
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, rows),
            "weight": rng.normal(75, 12, rows),
            "race": rng.choice(["a", "b"], rows),
            "smoker": rng.choice(["yes", "no"], rows),
            "times": rng.choice([1, 2, 3, 8], rows),
        }
    )
    table["dose"] = 30 + table["weight"] / 3 + 5 * rng.normal(size=rows)
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.toml").write_text(SCHEMA, "utf-8")
    return str(tmp_path / "t.csv"), str(tmp_path / "t.toml"), tmp_path


def test_a_fit_by_formula_is_saved_and_predicts(files):
    table, schema, folder = files
    model, said = str(folder / "m.json"), str(folder / "said.csv")
    words = ("fit", table, "--schema", schema, *BUDGET, "--formula", FORMULA)
    done = run(*words, "--out", model, "--seed", "1", "--ranges", "public")
    assert done.exit_code == 0, done.output
    assert "weight at 30" in done.output
    assert "race=a:smoker" in done.output
    kept = json.loads((folder / "m.json").read_text("utf-8"))
    assert kept["schema"]["terms"] == ["age", "bs(weight, df=4)", "race:smoker"]
    assert kept["schema"]["case_weights"] == {"column": "times", "cap": 3.0}
    done = run("predict", model, table, "--out", said)
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(said)) == 800
    assert run("report", model, "--out", str(folder / "r.html")).exit_code == 0


@pytest.mark.slow
def test_splines_are_tested_by_their_names(files):
    table, schema, folder = files
    model = str(folder / "m.json")
    words = ("fit", table, "--schema", schema, "--epsilon", "50", "--delta", "1e-6")
    words += ("--formula", FORMULA, "--intervals", "auto", "--ranges", "public")
    assert run(*words, "--out", model, "--seed", "1").exit_code == 0
    several = "bs(weight, 4),smoker:race"
    done = run("infer", model, "--test", "bs(weight, df=4)", "--without", several, "--json")
    assert done.exit_code == 0, done.output
    names = [test["names"] for test in json.loads(done.output)["tests"]]
    assert names == [["bs(weight, df=4)"], ["bs(weight, df=4)", "race:smoker"]]
    done = run("infer", model, "--contrast", "10*age", "--simultaneous")
    assert "95 % simultaneous" in " ".join(done.output.split())
    for words, told in (
        (("--per", "age=10"), "--effects or --ratios"),
        (("--label", "yes"), "no labels"),
        (("--reference", "times=2"), "for one of ['race']"),
        (("--effects", "--per", "height=2"), "column in per"),
    ):
        done = run("infer", model, *words)
        assert done.exit_code != 0
        assert told in " ".join(str(done.exception).split() + done.output.split())


@pytest.mark.slow
def test_a_plan_by_formula_names_its_terms(files):
    _, schema, _ = files
    words = ("plan", "--schema", schema, "--rows", "5000", *BUDGET, "--formula", FORMULA)
    done = run(*words, "--intervals", "auto", "--mechanism", "objective")
    assert done.exit_code == 0, done.output
    assert "bs(weight, df=4)" in done.output
    assert "race:smoker" in done.output


def test_a_schema_shows_terms_weights_and_offset(files):
    table, schema, folder = files
    more = SCHEMA.replace(
        'name = "trial"', 'name = "trial"\nterms = ["age", "bs(weight, df=4)"]'
    )
    more += '\n[offset]\ncolumn = "days"\nlower = 1\nupper = 365\ntransform = "log"\n'
    path = folder / "terms.toml"
    path.write_text(more, "utf-8")
    done = run("schema", "check", str(path))
    assert done.exit_code == 0, done.output
    assert "Weights: times, at most 3." in done.output
    assert "Offset: log(days), from 0 to 5.8999." in done.output
    assert "bs(weight, df=4) 5/5" in done.output
    compared = run("schema", "check", schema, "--table", table)
    assert compared.exit_code == 0, compared.output
    assert "times" in compared.output
    assert "clamped" in compared.output


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("dose ~ height", "one of the declared columns"),
        ("dose ~ spline(weight)", "one of ['bs', 'poly']"),
        ("dose ~ bs(weight, knots=[10, 70])", "inside the declared range"),
        ("income ~ age", "that of the schema, 'dose'"),
        ("dose ~ age +", "must be like"),
    ],
)
def test_a_formula_that_means_nothing_is_refused_before_a_row_is_read(
    files, formula, words
):
    table, schema, _ = files
    done = run("fit", table, "--schema", schema, *BUDGET, "--formula", formula)
    assert done.exit_code != 0
    assert words in " ".join(str(done.exception).split() + done.output.split())
