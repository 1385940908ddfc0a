"""A table held against its schema: everything that is not as declared is counted."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from confide import Category, Number, Schema, Target, cli
from confide.data import Boolean, Date, compare_table

SCHEMA = Schema(
    (
        Number("age", 18, 90),
        Category("region", ("north", "south")),
        Category("rooms", (1, 2), other=True),
        Date("joined", "2020-01-01", "2021-01-01"),
        Boolean("smoker", missing="refuse"),
    ),
    Target("ill", labels=("no", "yes"), missing="drop"),
    "clinic",
)
GOOD = """\
age,region,rooms,joined,smoker,ill
18,north,1,2020-05-05,yes,no
90.0,south,2,2020-12-31,0,yes
"""
BAD = """\
age,region,rooms,joined,smoker,ill,id
12,nort,1,2020-05-05,yes,no,7
1e9,South,3,2020-13-05,no,Yes,8
old,[x],2.0,2022-01-01,perhaps,yes,9
,,02,,,,10
NA,nort,1,2020-05-05,1,no,11
"""


@pytest.fixture
def held(tmp_path):
    """Write a table and its schema; return how to compare them."""
    (tmp_path / "clinic.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")

    def write(text):
        path = tmp_path / "clinic.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def by_column(found):
    return {finding.column: finding for finding in found.findings}


def test_a_table_as_declared_is_fine(held):
    found = compare_table(SCHEMA, held(GOOD))
    assert found.rows == 2
    assert (found.absent, found.extra, found.refused) == ((), (), False)
    assert all(finding.fine for finding in found.findings)


def test_whatever_is_not_as_declared_is_counted(held):
    found = compare_table(SCHEMA, held(BAD))
    columns = by_column(found)
    counts = {
        name: (f.missing, f.unreadable, f.outside, f.undeclared)
        for name, f in columns.items()
    }
    assert counts == {
        "age": (2, 1, 2, 0),
        "region": (1, 0, 0, 4),
        "rooms": (0, 0, 0, 1),
        "joined": (1, 1, 1, 0),
        "smoker": (1, 1, 0, 0),
        "ill": (1, 0, 0, 1),
    }
    assert found.extra == ("id",)
    refused = {name for name, finding in columns.items() if finding.refused}
    assert refused == {"age", "joined", "smoker"}
    assert found.refused


def test_undeclared_values_are_named_with_the_nearest_declared_one(held):
    columns = by_column(compare_table(SCHEMA, held(BAD)))
    named = [(one.value, one.rows, one.nearest) for one in columns["region"].named]
    assert named[0] == ("nort", 2, "north")
    assert set(named[1:]) == {("South", 1, "south"), ("[x]", 1, None)}
    assert [one.nearest for one in columns["ill"].named] == ["yes"]


def test_a_column_that_is_not_there_is_looked_for(held):
    found = compare_table(SCHEMA, held(GOOD.replace("region", "regoin")))
    assert found.absent == (("region", "regoin"),)
    assert found.extra == ("regoin",)
    assert found.refused
    strangers = compare_table(SCHEMA, held("a,b\n1,2\n"))
    assert len(strangers.absent) == 6
    assert strangers.findings == ()


def test_a_numeric_target_has_a_range(held):
    schema = Schema((Number("age", 18, 90),), Target("dose", lower=0, upper=100))
    (finding,) = compare_table(schema, held("age,dose\n20,101\n20,5\n")).findings[1:]
    assert (finding.kind, finding.outside, finding.refused) == ("target", 1, False)


def test_parquet_is_compared_in_its_own_types(tmp_path):
    table = pd.DataFrame(
        {
            "age": [20, 200],
            "region": pd.Categorical(["north", "wset"]),
            "rooms": ["1", "2"],
            "joined": pd.to_datetime(["2020-05-05", "2030-01-01"]),
            "smoker": [True, False],
            "ill": ["no", "yes"],
        }
    )
    table.to_parquet(tmp_path / "clinic.parquet")
    columns = by_column(compare_table(SCHEMA, tmp_path / "clinic.parquet"))
    assert columns["age"].outside == columns["joined"].outside == 1
    assert columns["region"].undeclared == 1
    assert columns["rooms"].undeclared == 2
    assert columns["smoker"].fine
    pd.DataFrame({"age": table["joined"]}).to_parquet(tmp_path / "dates.parquet")
    columns = by_column(compare_table(SCHEMA, tmp_path / "dates.parquet"))
    assert columns["age"].unreadable == 2
    pd.DataFrame({"age": [[1], [2]]}).to_parquet(tmp_path / "lists.parquet")
    columns = by_column(compare_table(SCHEMA, tmp_path / "lists.parquet"))
    assert columns["age"].unreadable == 2


def check(path, *words):
    schema = str(path.with_suffix(".toml"))
    return CliRunner().invoke(
        cli.app, ["schema", "check", schema, "--table", str(path), *words]
    )


def test_the_command_says_first_that_this_is_not_private(held):
    done = check(held(GOOD))
    assert done.exit_code == 0
    assert done.output.startswith("NOT PRIVATE")
    assert "Do not publish" in " ".join(done.output.split())
    assert "6 of 6 columns agree fully with the schema" in done.output


def test_the_command_lists_what_a_fit_would_do(held):
    done = check(held(BAD))
    assert done.exit_code == 2
    for words in ("nort", "'[x]'", "'north'", "clamped", "would reject", "id", '"other"'):
        assert words in done.output
    record = json.loads(check(held(BAD), "--json").output)
    assert record["notice"].startswith("NOT PRIVATE")
    assert record["refused"] is True
    assert record["findings"][1]["named"][0]["nearest"] == "north"
