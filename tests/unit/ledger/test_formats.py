"""Older books are brought up to date, and newer ones refused."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from confide.errors import InvalidParameter, MixedNeighbours
from confide.ledger import Ledger
from confide.ledger import balance as entries
from confide.ledger import storage as store
from confide.ledger.storage import SqliteStore, store_at
from confide.privacy import Neighbours, Pure
from support.ledger_books import book

FORMAT_1 = json.loads(Path(__file__).with_name("format_1.json").read_text("utf-8"))
"""Rows as the code wrote them that knew no relations: two datasets, three charges."""
FORMAT_2 = json.loads(Path(__file__).with_name("format_2.json").read_text("utf-8"))
"""Rows as the code wrote them that kept no releases: two datasets, three charges."""


@pytest.fixture
def old_book(place, monkeypatch):
    """A place of format 1 with those rows in it."""
    with monkeypatch.context() as then:
        then.setattr(store, "VERSION", 1)
        Ledger.open(place)
        with store_at(place).writing() as run:
            for row in FORMAT_1:
                marks = ", ".join("?" * len(row))
                run(f"INSERT INTO confide_entries VALUES ({marks})", row)  # noqa: S608
        store_at(place).disconnect()
    return Ledger(place)


def test_a_book_of_format_1_opens_with_its_numbers_and_digests(old_book):
    assert old_book.digest() == FORMAT_1[-1][-1]
    assert old_book.verify() == len(FORMAT_1)
    account = old_book.account("people")
    assert account.spent.parts == (Fraction(3, 4), Fraction(1, 10**6))
    assert (account.neighbours, account.charges) == (None, 2)
    assert {entry.neighbours for entry in old_book.entries()} == {None}
    with store_at(old_book.place).reading() as run:
        found = run("SELECT version FROM confide_meta ORDER BY version", ())
    assert found == [(step + 1,) for step in range(store.VERSION)]


@pytest.fixture
def second_book(place, monkeypatch):
    """A place of format 2 with rows that know their relations, and a release."""
    with monkeypatch.context() as then:
        then.setattr(store, "VERSION", 2)
        Ledger.open(place)
        columns = ", ".join((*entries.FORMAT_2, "digest"))
        with store_at(place).writing() as run:
            for row in FORMAT_2:
                marks = ", ".join("?" * len(row))
                run(f"INSERT INTO confide_entries ({columns}) VALUES ({marks})", row)  # noqa: S608
        store_at(place).disconnect()
    return Ledger(place)


def test_a_book_of_format_2_opens_and_goes_on(second_book):
    assert second_book.digest() == FORMAT_2[-1][-1]
    assert second_book.verify() == len(FORMAT_2)
    account = second_book.account("people")
    assert account.spent.epsilon == Fraction(5, 2)
    assert account.neighbours is Neighbours.REPLACE_ONE
    assert second_book.kept() == ()
    assert second_book.release(2).release_hash == "ab" * 32
    with pytest.raises(InvalidParameter, match="earlier version"):
        second_book.content(2)
    anchor = second_book.anchor()
    paid = second_book.charge("homes", Pure(0.5), neighbours="add-remove")
    second_book.record(paid, "cafe", "what was released")
    assert second_book.content(paid.number) == "what was released"
    assert second_book.verify() == len(FORMAT_2) + 2
    assert [entry.kind for entry in second_book.since(anchor)] == ["charge", "release"]


def test_an_old_charge_counts_as_a_removal_and_an_addition(old_book):
    """2·(0.5 + 0.25), and (1 + √e)·10⁻⁶ for the one with a delta; 4·0.1 in zCDP."""
    people, homes = (old_book.account(name).limit for name in ("people", "homes"))
    with pytest.raises(MixedNeighbours, match="do not record"):
        old_book.charge("people", Pure(1), neighbours="replace-one")
    old_book.set_limit("people", people, neighbours="replace-one")
    old_book.set_limit("homes", homes, neighbours="replace-one")
    spent = old_book.account("people").spent
    assert spent.epsilon == Fraction(3, 2)
    assert float(spent.delta) == pytest.approx(2.6487212707001282e-6, rel=1e-14)
    assert old_book.account("homes").spent.rho == Fraction(2, 5)
    assert old_book.charge("people", Pure(1), neighbours="replace-one").left.epsilon == 0.5
    assert old_book.verify() == len(FORMAT_1) + 3


def test_an_old_book_goes_on_as_before_once_its_holder_has_spoken(old_book):
    limit, add = old_book.account("people").limit, Neighbours.ADD_REMOVE
    old_book.set_limit("people", limit, neighbours=add, earlier=add)
    old_book.charge("people", Pure(1), neighbours=add)
    account = old_book.account("people")
    assert account.spent.parts == (Fraction(7, 4), Fraction(1, 10**6))
    assert account.neighbours is add
    assert old_book.entries()[-2].earlier is add
    assert old_book.verify() == len(FORMAT_1) + 2


def test_a_newer_format_is_refused(ledger):
    with store_at(ledger.place).writing() as run:
        run("INSERT INTO confide_meta VALUES (99, 'tomorrow')", ())
    with pytest.raises(InvalidParameter, match=r"format 99.*upgrade confide"):
        Ledger.open(ledger.place)
    with pytest.raises(InvalidParameter, match="upgrade confide"):
        ledger.charge("adult", Pure(1))


def test_an_older_format_is_brought_up_to_date(file_ledger, monkeypatch):
    book(file_ledger)
    step = ("CREATE TABLE confide_extra (x INTEGER)",)
    monkeypatch.setattr(SqliteStore, "migrations", (*SqliteStore.migrations, step))
    monkeypatch.setattr(store, "VERSION", store.VERSION + 1)
    file_ledger.close()
    assert file_ledger.verify() == 5
    with store_at(file_ledger.place).reading() as run:
        found = run("SELECT version FROM confide_meta ORDER BY version", ())
        assert found == [(step + 1,) for step in range(store.VERSION)]
        assert run("SELECT * FROM confide_extra", ()) == []
