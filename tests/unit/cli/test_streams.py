"""Tables larger than memory on the command line: streamed, held by workers, in pieces."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from confide import cli, load_model
from confide.cli import predict as predictions
from confide.cli import progress
from confide.data.tables import files, write

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
levels = ["north", "south", "east"]
"""
FIT = ("--schema", "loans.toml", "--epsilon", "2", "--seed", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table in a file, and the same rows in three Parquet files and in three of text."""
    rng = np.random.default_rng(5)
    age = rng.uniform(18, 90, 900).round(1)
    region = rng.choice(["north", "south", "east"], 900)
    late = np.where(age + rng.normal(0, 15, 900) > 55, "no", "yes")
    table = pd.DataFrame({"age": age, "region": region, "defaulted": late})
    table.to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "visits").mkdir()
    for place in range(3):
        part = table[300 * place : 300 * (place + 1)]
        part.to_parquet(tmp_path / "visits" / f"{place}.parquet")
        part.to_csv(tmp_path / f"part{place}.csv", index=False)
    (tmp_path / "loans.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "PIECE_ROWS", 100)
    monkeypatch.setattr(files, "TEXT_ROWS", 100)
    return tmp_path


def run(*words):
    return CliRunner().invoke(cli.app, list(words))


def done(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def fitted(table, *words):
    """Fit; return what JSON says, and what was said beside it."""
    result = done("fit", table, *FIT, "--json", *words)
    return json.loads(result.stdout), result.stderr


def alike(one, other):
    """Whether two records say the same, numbers up to what a solver leaves open."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6)
    return one == other


@pytest.mark.parametrize("table", ["visits", "visits/*.parquet", "part?.csv"])
def test_many_files_stream_and_give_what_one_file_gives(folder, table):
    whole, silence = fitted("loans.csv")
    assert silence == ""
    streamed, said = fitted(table)
    assert "every pass over the data (sweep)" in said
    assert alike(streamed, whole)
    held, silence = fitted(table, "--no-stream")
    assert silence == ""
    assert held == whole


@pytest.mark.slow
def test_a_large_file_streams_by_itself(folder, monkeypatch):
    assert "sweep" in fitted("loans.csv", "--stream")[1]
    monkeypatch.setattr(files, "STREAM_THRESHOLD_BYTES", 1000)
    assert "sweep" in fitted("loans.csv")[1]
    assert "sweep" not in fitted("loans.csv", "--no-stream")[1]


def test_sweeps_are_shown_and_kept_nowhere(folder, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    shown, said = fitted("visits", "--out", "streamed.json")
    assert "sweep 2: " in said
    assert "of 900 rows" in said
    plain, _ = fitted("loans.csv", "--out", "whole.json")
    assert alike({**shown, "out": ""}, {**plain, "out": ""})
    records = [
        (folder / f"{name}.json").read_text("utf-8") for name in ("streamed", "whole")
    ]
    assert alike(*map(json.loads, records))
    assert "sweep" not in records[0] + json.dumps(shown)


@pytest.mark.slow
def test_workers_read_the_files_and_hold_the_rows(folder, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    held, said = fitted("visits", "--workers", "2")
    assert "2 workers on this machine read visits and hold its rows" in said
    assert "sweep 1: 900 rows" in said
    assert alike(held, fitted("loans.csv")[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("visits", "--workers", "2", "--cluster", "tcp://host:1"), "--workers must"),
        (("visits", "--workers", "2", "--no-stream"), "when --workers is given"),
        (("visits", "--cluster", "tcp://host:1", "--no-stream"), "when --cluster is given"),
        (("visits", "--workers", "0"), "workers must be between"),
        (("visits", "--cluster", "host"), "tcp://host:port"),
        (("nothing.csv",), "does not exist"),
        (("nothing*.csv",), "matches none"),
        (("visits", "--delta", "1e-6", "--mechanism", "sgd"), "that is streamed"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_paid(folder, words, wrong):
    done("budget", "book.db", "--dataset", "loans", "--epsilon", "5", "--delta", "1e-5")
    result = run("fit", *words, *FIT, "--ledger", "book.db")
    assert wrong in str(result.exception)
    book = json.loads(done("budget", "book.db", "--entries", "--json").stdout)
    assert len(book["entries"]) == 1


def test_a_line_with_too_many_fields_is_refused_whether_streamed_or_not(folder):
    text = (folder / "part2.csv").read_text("utf-8").replace("north", "north,north")
    (folder / "part2.csv").write_text(text, encoding="utf-8")
    for words in (("part?.csv",), ("part2.csv", "--no-stream")):
        assert "must be a table" in str(run("fit", *words, *FIT).exception)


def test_a_fit_that_is_stopped_says_what_that_means(folder, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(progress.SweepBar, "watch", stop)
    stopped = run("fit", "visits", *FIT, "--out", "model.json")
    assert stopped.exit_code == 130
    assert "Nothing was released" in stopped.stderr
    assert not (folder / "model.json").exists()


# --------------------------------------------------------------------------- predictions


@pytest.fixture
def model(folder):
    """A model file."""
    fitted("loans.csv", "--out", "model.json")
    return "model.json"


@pytest.mark.slow
def test_predictions_of_many_files_are_those_of_the_whole(folder, model, monkeypatch):
    sizes = []
    guess = predictions.predictions_for

    def noted(estimator, rows):
        sizes.append(len(rows))
        return guess(estimator, rows)

    whole = guess(load_model(model), pd.read_csv("loans.csv"))
    expected = whole.to_csv(index=False)
    monkeypatch.setattr(predictions, "predictions_for", noted)
    done("predict", model, "visits", "--out", "out.csv")
    assert (folder / "out.csv").read_text("utf-8") == expected
    assert max(sizes) == 100
    assert done("predict", model, "part*.csv").stdout == expected
    done("predict", model, "loans.csv", "--out", "out.csv.gz")
    pd.testing.assert_frame_equal(pd.read_csv("out.csv.gz"), whole)
    shown = json.loads(done("predict", model, "visits", "--json").stdout)
    assert shown == whole.to_dict(orient="list")


def test_predictions_become_parquet_in_few_row_groups(folder, model, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(write, "GROUP_ROWS", 400)
    told = done("predict", model, "visits", "--out", "out.parquet", "--json")
    assert json.loads(told.stdout) == {"rows": 900, "out": "out.parquet"}
    assert parquet.ParquetFile("out.parquet").metadata.num_row_groups == 3
    whole = predictions.predictions_for(load_model(model), pd.read_csv("loans.csv"))
    pd.testing.assert_frame_equal(pd.read_parquet("out.parquet"), whole)


def test_a_table_that_breaks_off_leaves_the_old_predictions(folder, model):
    (folder / "out.csv").write_text("as before")
    before = sorted(folder.iterdir())
    ages = pd.read_csv("part2.csv").astype({"age": object})
    ages.loc[250, "age"] = "old"
    ages.to_csv("part2.csv", index=False)
    broken = run("predict", model, "part?.csv", "--out", "out.csv")
    assert "column 'age'" in str(broken.exception)
    assert (folder / "out.csv").read_text("utf-8") == "as before"
    assert sorted(folder.iterdir()) == before
    nowhere = run("predict", model, "loans.csv", "--out", "nowhere/out.csv")
    assert "in a folder that can be written to" in str(nowhere.exception)
    pd.DataFrame({"age": [], "region": []}).to_csv("nobody.csv", index=False)
    assert "empty" in str(run("predict", model, "nobody.csv").exception)


# --------------------------------------------------------------------------- schemas


def test_many_files_are_checked_as_one(folder):
    spoil = {"age": [200.0] * 3 + [50.0], "region": ["nort", "nort", "west", None]}
    extra = pd.DataFrame({**spoil, "defaulted": ["no", "Yes", "no", "no"]})
    pd.concat([pd.read_csv("loans.csv"), extra]).to_csv("loans.csv", index=False)
    extra.to_parquet("visits/3.parquet")
    words = ("schema", "check", "loans.toml", "--json", "--table")
    one, many = (
        json.loads(done(*words, table).stdout) for table in ("loans.csv", "visits")
    )
    assert one == many
    assert one["rows"] == 904
    counts = {found["column"]: found for found in one["findings"]}
    assert counts["age"]["outside"] == 3
    assert counts["region"]["missing"] == 1
    named = counts["region"]["named"]
    assert named[0] == {"value": "nort", "rows": 2, "nearest": "north"}
    assert counts["defaulted"]["undeclared"] == 1


def test_a_template_comes_from_the_first_of_many_files(folder):
    alone = done("schema", "init", "loans.csv").stdout
    for table in ("visits", "visits/*.parquet"):
        many = done("schema", "init", table).stdout
        assert many == alone.replace('name = "loans"', 'name = "visits"')
    told = done("schema", "init", "visits/*.parquet", "--out", "new.toml").stdout
    assert "--table 'visits/*.parquet'" in told


# --------------------------------------------------------------------------- suggestions


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ((), True),
        (("--mechanism", "output"), True),
        (("--l1", "3"), False),
        (("--mechanism", "momentum", "--delta", "1e-6"), False),
    ],
)
def test_error_bars_are_suggested_only_where_they_can_be_had(folder, words, offered):
    plain = done("fit", "loans.csv", *FIT, *words)
    assert ("Add --intervals auto" in plain.stdout) is offered
    asked = run("fit", "loans.csv", *FIT, *words, "--intervals", "auto")
    assert (asked.exit_code == 0) is offered
