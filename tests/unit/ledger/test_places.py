"""Where a book lies, what else may lie there, and who is in the way."""

import os
import pickle
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from confide.errors import (
    ConfideError,
    InvalidParameter,
)
from confide.ledger import Amount, Ledger
from confide.ledger import storage as store
from confide.ledger.storage import store_at
from confide.privacy import Pure
from support.ledger_books import book


def test_a_commit_is_flushed_to_disk(file_ledger):
    with store_at(file_ledger.place).reading() as run:
        assert run("PRAGMA journal_mode", ()) == [("wal",)]
        assert run("PRAGMA synchronous", ()) == [(2,)]


def test_other_content_is_refused_and_left_alone(tmp_path):
    noise, other = tmp_path / "noise.db", tmp_path / "other.db"
    noise.write_bytes(bytes(range(1, 256)) * 40)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE patients (name TEXT)")
    for path in (noise, other):
        before = path.read_bytes()
        with pytest.raises(InvalidParameter, match="must be a ledger or a new file"):
            Ledger.open(path)
        assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InvalidParameter, match="a file in a folder that exists"):
        Ledger.open(tmp_path / "none" / "budget.db")
    with pytest.raises(InvalidParameter, match="a file in a folder that exists"):
        Ledger.open(tmp_path)
    with pytest.raises(InvalidParameter, match="a path or a URL"):
        Ledger.open("mysql://host/database")
    with pytest.raises(InvalidParameter, match="a path or a URL"):
        Ledger.open(3)
    folder = Path("/proc/self") if os.geteuid() == 0 else tmp_path
    if os.geteuid() != 0:
        folder.chmod(0o555)
    with pytest.raises(ConfideError, match="existing folder with write permission"):
        Ledger.open(folder / "budget.db")
    tmp_path.chmod(0o755)


def test_a_ledger_that_was_moved_away_is_missed_not_replaced(file_ledger, tmp_path):
    book(file_ledger)
    file_ledger.close()
    file_ledger.verify()
    Path(file_ledger.place).rename(tmp_path / "elsewhere.db")
    with pytest.raises(ConfideError, match="no longer exists"):
        file_ledger.charge("adult", Pure(0.1))
    assert not Path(file_ledger.place).exists()
    Path(file_ledger.place).touch()
    with pytest.raises(InvalidParameter, match=r"Create one with Ledger\.open"):
        file_ledger.charge("adult", Pure(0.1))


def test_waiting_for_another_process_is_mentioned_and_ends(
    file_ledger, monkeypatch, caplog
):
    file_ledger.set_limit("adult", Pure(1))
    file_ledger.close()
    monkeypatch.setattr(store, "FIRST_WORD", 0.02)
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.2)
    with closing(sqlite3.connect(file_ledger.place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConfideError, match="locked by another process"):
            file_ledger.charge("adult", Pure(1))
        other.execute("COMMIT")
    assert "another process is writing" in caplog.text
    file_ledger.charge("adult", Pure(1))


def test_postgres_without_its_driver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfideError, match=r"pip install 'confide\[postgres\]'"):
        Ledger.open("postgresql://nowhere/none")


def test_a_server_that_is_not_there_is_told_plainly():
    pytest.importorskip("psycopg", reason="no psycopg here")
    place = "postgresql://confide@/postgres?host=/nonexistent"
    with pytest.raises(ConfideError, match="cannot be used"):
        Ledger.open(place)


def test_a_broken_connection_is_opened_anew(postgres):
    import psycopg

    ledger = Ledger.open(postgres("public"))
    ledger.set_limit("adult", Pure(1))
    with psycopg.connect(postgres("public"), autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    assert ledger.charge("adult", Pure(1)).left == Amount.nothing(Pure)
    ledger.close()


@pytest.mark.parametrize(
    "place",
    ["postgresql://ada:secret@host/db", "postgresql://host/db?user=a&password=secret&x=1"],
)
def test_a_password_is_not_shown(place):
    assert "secret" not in repr(Ledger(place))
    assert "***" in repr(Ledger(place))
    assert pickle.loads(pickle.dumps(Ledger(place))).place == place  # noqa: S301
