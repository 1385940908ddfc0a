"""Older books are brought up to date, and newer ones refused."""

import pytest
from ledger_books import book

from confide.accounting import (
    Ledger,
    store,
)
from confide.accounting.databases import SqliteStore, store_at
from confide.errors import (
    InvalidParameter,
)
from confide.privacy import Pure


def test_a_newer_format_is_refused(ledger):
    with store_at(ledger.place).writing() as run:
        run("INSERT INTO confide_meta VALUES (3, 'tomorrow')", ())
    with pytest.raises(InvalidParameter, match=r"format 3.*upgrade confide"):
        Ledger.open(ledger.place)
    with pytest.raises(InvalidParameter, match="upgrade confide"):
        ledger.charge("adult", Pure(1))


def test_an_older_format_is_brought_up_to_date(file_ledger, monkeypatch):
    book(file_ledger)
    step = ("CREATE TABLE confide_extra (x INTEGER)",)
    monkeypatch.setattr(SqliteStore, "migrations", (*SqliteStore.migrations, step))
    monkeypatch.setattr(store, "VERSION", 3)
    file_ledger.close()
    assert file_ledger.verify() == 5
    with store_at(file_ledger.place).reading() as run:
        assert run("SELECT version FROM confide_meta ORDER BY version", ()) == [
            (1,),
            (2,),
            (3,),
        ]
        assert run("SELECT * FROM confide_extra", ()) == []
