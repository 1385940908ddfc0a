"""What one record holds decides how it is read, and nothing about any other record."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from confide import __version__
from support.locality import SOURCES, is_one_more, tally

pytest.importorskip("pyarrow")
pytest.importorskip("polars")
pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.filterwarnings("ignore")

RECORD = Path(__file__).parents[2] / "docs" / "campaigns" / "locality.json"


def check(name, pairs, seed):
    counts = tally(name, pairs, seed)
    assert counts["read"] >= pairs / 2, "too few pairs were read for this to mean anything"
    return counts


@pytest.mark.parametrize("name", SOURCES)
def test_one_record_does_not_change_how_others_are_read(name):
    check(name, 60, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_one_record_does_not_change_how_others_are_read_at_length(name):
    check(name, 3000, seed=1)


@pytest.mark.campaign
@pytest.mark.parametrize("name", SOURCES)
def test_one_record_does_not_change_how_others_are_read_in_100_000_pairs(name):
    pairs = int(os.environ.get("CONFIDE_PAIRS", "100000"))
    counts = check(name, pairs, seed=2)
    RECORD.parent.mkdir(exist_ok=True)
    with RECORD.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        record = json.loads(file.read() or "{}")
        record[name] = {"version": __version__, **dict(sorted(counts.items()))}
        file.truncate(0)
        file.write(json.dumps(record, indent=1, sort_keys=True) + "\n")


def test_a_changed_row_would_be_noticed():
    rows = [b"a", b"b", b"c"]
    assert is_one_more(rows, rows)
    assert is_one_more(rows, [b"a", b"b", b"x", b"c"])
    assert is_one_more(rows, [b"x", *rows])
    assert is_one_more(rows, [*rows, b"x"])
    assert not is_one_more(rows, [b"a", b"x", b"c"])
    assert not is_one_more(rows, [b"a", b"x", b"y", b"c"])
    assert not is_one_more(rows, [b"a", b"c"])
