"""Whoever changes a book is noticed, and damage is told plainly."""

import sqlite3
import tempfile
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import (
    ConfideError,
    TamperedLedger,
)
from confide.ledger import Ledger
from confide.ledger.storage import store_at
from confide.privacy import Pure
from support.examples import some
from support.ledger_books import book, forged, tampered


@pytest.mark.parametrize(
    ("statements", "first_bad"),
    [
        (["UPDATE confide_entries SET what = 'other' WHERE number = 2"], 2),
        (["UPDATE confide_entries SET who = 'eve' WHERE number = 1"], 1),
        (["UPDATE confide_entries SET budget = replace(budget, '1/1', '9/1')"], 1),
        (["UPDATE confide_entries SET spent = counted WHERE number = 5"], 5),
        (["UPDATE confide_entries SET spent = 'no json' WHERE number = 4"], 4),
        (["DELETE FROM confide_entries WHERE number = 4"], 4),
        (["DELETE FROM confide_entries WHERE number = 1"], 1),
        (
            [
                "DELETE FROM confide_entries WHERE number = 4",
                "UPDATE confide_entries SET number = 4 WHERE number = 5",
            ],
            4,
        ),
        (
            [
                "UPDATE confide_entries SET number = 99 WHERE number = 4",
                "UPDATE confide_entries SET number = 4 WHERE number = 5",
                "UPDATE confide_entries SET number = 5 WHERE number = 99",
            ],
            4,
        ),
    ],
)
def test_a_changed_book_is_noticed_at_the_first_bad_entry(ledger, statements, first_bad):
    book(ledger)
    tampered(ledger, *statements)
    with pytest.raises(TamperedLedger, match=f"^entry {first_bad} "):
        ledger.verify()


@pytest.mark.parametrize(
    ("number", "changes", "wrong"),
    [
        (5, {"spent": '{"kind":"Pure","epsilon":"1/10"}'}, "wrong running total"),
        (5, {"dataset": "bank"}, "without a limit"),
        (3, {"charge": 1}, "release without its charge"),
        (1, {"budget": '{"kind":"Pure","epsilon":"1/20"}'}, "exceeds the limit"),
    ],
)
def test_a_forger_who_can_hash_must_also_add_up(ledger, number, changes, wrong):
    book(ledger)
    forged(ledger, number, changes)
    with pytest.raises(TamperedLedger, match=wrong):
        ledger.verify()


def test_an_index_that_hides_a_charge_is_noticed(file_ledger):
    book(file_ledger)
    file_ledger.close()
    with closing(sqlite3.connect(file_ledger.place, isolation_level=None)) as connection:
        whole = "ON confide_entries (dataset, kind, number)"
        connection.execute("DROP INDEX confide_latest")
        connection.execute(f"CREATE INDEX confide_latest {whole} WHERE number < 5")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = ? WHERE name = 'confide_latest'",
            (f"CREATE INDEX confide_latest {whole}",),
        )
    assert file_ledger.account("adult").spent.epsilon == Fraction(3, 10)
    with pytest.raises(TamperedLedger, match="index of 'adult'"):
        file_ledger.verify()


def test_a_lost_tail_shows_only_against_a_digest_written_down(ledger):
    book(ledger)
    known = ledger.digest()
    tampered(ledger, "DELETE FROM confide_entries WHERE number = 5")
    assert ledger.verify() == 4
    assert known not in [entry.digest for entry in ledger.entries()]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE confide_entries SET what = 'other'",
        "DELETE FROM confide_entries",
        "REPLACE INTO confide_entries SELECT * FROM confide_entries WHERE number = 1",
        "TRUNCATE confide_entries",
    ],
)
def test_the_database_itself_refuses_to_change_a_line(ledger, statement):
    dialect = "REPLACE" if ledger.place.startswith("postgresql://") else "TRUNCATE"
    if statement.startswith(dialect):
        return
    book(ledger)
    with (
        pytest.raises(ConfideError, match="append-only"),
        store_at(ledger.place).writing() as run,
    ):
        run(statement, ())
    assert ledger.verify() == 5


@pytest.mark.slow
@settings(max_examples=some(60))
@given(
    where=st.lists(st.integers(0, 32767), min_size=1, max_size=40),
    what=st.binary(min_size=1, max_size=64),
)
def test_a_damaged_file_never_shows_a_traceback(where, what):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "budget.db")
        book(ledger)
        ledger.close()
        content = bytearray(Path(ledger.place).read_bytes())
        for start in where:
            place = start % len(content)
            content[place : place + len(what)] = what
        Path(ledger.place).write_bytes(content)
        for use in (
            lambda: Ledger.open(ledger.place),
            ledger.verify,
            ledger.entries,
            ledger.datasets,
            ledger.digest,
            lambda: ledger.account("adult"),
            lambda: ledger.charge("adult", Pure(0.1)),
            lambda: ledger.set_limit("adult", Pure(2)),
        ):
            with suppress(ConfideError):
                use()
        ledger.close()
