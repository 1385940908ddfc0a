"""Malformed tables and schemas end in one sentence: no traceback, no hang, no spend."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from confide import Ledger, Pure, cli
from confide.errors import ConfideError
from support.examples import some

GOOD_SCHEMA = """name = "fuzz"
[target]
column = "y"
labels = ["no", "yes"]
[columns.a]
kind = "number"
lower = 0
upper = 1
[columns.b]
kind = "category"
levels = ["p", "q"]
"""
GOOD_TABLE = "a,b,y\n0.1,p,no\n0.9,q,yes\n0.5,p,yes\n"
junk = st.text(max_size=30)


@st.composite
def spoiled(draw, text):
    """Cut, repeat or overwrite a piece of a good file."""
    start = draw(st.integers(0, len(text)))
    stop = draw(st.integers(start, len(text)))
    return text[:start] + draw(junk) + text[stop:]


files = st.tuples(
    st.one_of(spoiled(GOOD_TABLE), junk, st.just(GOOD_TABLE)),
    st.one_of(spoiled(GOOD_SCHEMA), junk, st.just(GOOD_SCHEMA)),
)


def words(folder):
    return [
        *("fit", str(folder / "t.csv"), "--schema", str(folder / "s.toml")),
        *("--epsilon", "1", "--ledger", str(folder / "book.db")),
    ]


def write(folder, table, schema):
    (folder / "t.csv").write_bytes(table.encode("utf-8", "surrogatepass"))
    (folder / "s.toml").write_bytes(schema.encode("utf-8", "surrogatepass"))


def attempt(folder, table, schema):
    """Fit; return whether it worked. Anything but a ConfideError is a defect."""
    write(folder, table, schema)
    book = Ledger.open(folder / "book.db")
    before = len(book.entries())
    result = CliRunner().invoke(cli.app, words(folder))
    error = result.exception
    fine = error is None or isinstance(error, ConfideError | SystemExit)
    assert fine, repr(error)
    if error is not None:
        assert len(book.entries()) == before
    return error is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("fuzz")
    Ledger.open(place / "book.db").set_limit("fuzz", Pure(10**6))
    return place


QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@pytest.mark.slow
@settings(max_examples=some(60), suppress_health_check=QUIET)
@given(pair=files)
def test_malformed_files_end_in_a_sentence(folder, pair):
    attempt(folder, *pair)


@pytest.mark.slow
@settings(max_examples=2000, suppress_health_check=QUIET)
@given(pair=files)
def test_two_thousand_malformed_files_end_in_a_sentence(folder, pair):
    attempt(folder, *pair)


def test_the_good_files_are_good(folder):
    assert attempt(folder, GOOD_TABLE, GOOD_SCHEMA)


@pytest.mark.slow
def test_twenty_real_processes_print_no_traceback(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(20):
        table, schema = list(GOOD_TABLE), list(GOOD_SCHEMA)
        for text in (table, schema):
            for place in rng.integers(0, len(text), 3):
                text[place] = chr(rng.integers(1, 0x2FF))
        write(tmp_path, "".join(table), "".join(schema))
        script = "from confide.cli import main; main()"
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", script, *words(tmp_path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode in {0, 2, 3}, done.stderr
        assert "Traceback" not in done.stderr
