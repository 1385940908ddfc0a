"""The budget book: what it admits, refuses, keeps and notices, on both databases."""

import copy
import getpass
import importlib.util
import itertools
import math
import os
import pickle
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from confide.accounting import (
    Amount,
    ApproxEvent,
    GaussianEvent,
    Ledger,
    PureEvent,
    ZcdpEvent,
    entries,
    store,
)
from confide.accounting.databases import SqliteStore, store_at
from confide.errors import (
    BudgetExceeded,
    ConfideError,
    InvalidParameter,
    MixedBudgets,
    PrivacyLeak,
    TamperedLedger,
)
from confide.privacy import Approx, Pure, Status, Zcdp, zcdp_to_approx

PURE = (PureEvent(Fraction(1, 2)), PureEvent(Fraction(1, 4)))
fresh = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """A real server on a socket in a temporary folder, run by an unprivileged user."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not found:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("no psycopg here: pip install 'confide[postgres]'")
    folder = Path(tempfile.mkdtemp(prefix="confide-pg-"))
    user = None
    if os.geteuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
        shutil.chown(folder, user)

    def tool(name, *arguments):
        subprocess.run(  # noqa: S603
            [found[-1].with_name(name), "-D", folder / "data", *arguments],
            check=True,
            cwd=folder,
            user=user,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    tool("initdb", "-A", "trust", "-U", "confide", "-N")
    setting = f"-c listen_addresses='' -c unix_socket_directories={folder}"
    tool("pg_ctl", "-w", "-o", setting, "-l", folder / "log", "start")
    yield (
        lambda schema: (
            f"postgresql://confide@/postgres?host={folder}&options=-csearch_path%3D{schema}"
        )
    )
    tool("pg_ctl", "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "budget.db")
        store_at(str(tmp_path / "budget.db")).disconnect()
        return
    server = request.getfixturevalue("postgres")
    import psycopg

    name = f"ledger{next(fresh)}"
    with psycopg.connect(server("public")) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    yield server(name)
    store_at(server(name)).disconnect()


@pytest.fixture
def ledger(place):
    return Ledger.open(place)


@pytest.fixture
def file_ledger(tmp_path):
    ledger = Ledger.open(tmp_path / "budget.db")
    yield ledger
    ledger.close()


def tampered(ledger, *statements):
    """Change rows behind the ledger's back, with its triggers out of the way."""
    postgres = ledger.place.startswith("postgresql://")
    names = ("confide_no_update", "confide_no_delete", "confide_no_replace")
    off = [f"DROP TRIGGER {name}" for name in names]
    if postgres:
        off = ["ALTER TABLE confide_entries DISABLE TRIGGER ALL"]
    with store_at(ledger.place).writing() as run:
        for statement in (*off, *statements):
            run(statement, ())


def test_ten_times_a_tenth_fills_one_and_not_a_hair_more(ledger):
    ledger.set_limit("adult", Pure(1))
    for tenths in range(1, 11):
        charge = ledger.charge("adult", Pure(0.1))
        assert charge.counted == Amount.of(Pure(0.1))
        assert charge.left.epsilon == 1 - Fraction(tenths, 10)
    assert ledger.account("adult").spent == Amount.of(Pure(1))
    assert charge.left.as_budget() is None
    with pytest.raises(BudgetExceeded, match="It is used up"):
        ledger.charge("adult", Pure(1e-12))
    assert ledger.account("adult").charges == 10


def test_a_request_just_above_the_rest_is_not_rounded(ledger):
    ledger.set_limit("adult", Approx(1, 1e-5))
    ledger.charge("adult", Approx("0.7", 1e-6))
    with pytest.raises(BudgetExceeded, match="exceeded by ε = 1e-12"):
        ledger.charge("adult", Approx("0.300000000001", 1e-6))
    with pytest.raises(BudgetExceeded):
        ledger.charge("adult", Approx("0.3", "9.00000000001e-6"))
    assert ledger.charge("adult", Approx("0.3", 9e-6)).left == Amount.nothing(Approx)


def test_a_refused_charge_leaves_nothing_and_says_what_does_not_suffice(ledger):
    ledger.set_limit("adult", Approx(3, 1e-5))
    ledger.charge("adult", Approx(2.5, 1e-6))
    before = ledger.entries(), ledger.digest()
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge("adult", Approx(1, 1e-6))
    for words in (
        "exceeded by ε = 0.5:",
        "asked ε = 1,",
        "left ε = 0.5,",
        "a limit of ε = 3.",
        "Nothing was spent",
    ):
        assert words in str(refused.value)
    assert "δ" not in str(refused.value)
    with pytest.raises(BudgetExceeded, match=r"left ε = 0.5, δ = 9e-06"):
        ledger.charge("adult", Approx(1, 1e-4))
    assert (ledger.entries(), ledger.digest()) == before


def test_no_limit_no_charge_and_the_message_teaches(ledger):
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge("adult", Pure(1))
    assert 'ledger.set_limit("adult", Approx(3, 1e-5))' in str(refused.value)
    assert "--dataset adult --epsilon 3 --delta 1e-5" in str(refused.value)
    with pytest.raises(InvalidParameter, match="no limit"):
        ledger.account("adult")
    assert ledger.entries() == ()
    ledger.set_limit("adults", Pure(1))
    with pytest.raises(BudgetExceeded, match=r"limits for 'adults'. Did you mean 'adults'"):
        ledger.charge("adult", Pure(1))


def test_refuted_is_always_refused_and_claimed_and_seeded_are_on_record(ledger):
    ledger.set_limit("adult", Pure(1))
    with pytest.raises(PrivacyLeak, match="REFUTED"):
        ledger.charge("adult", Pure(0.1), status=Status.REFUTED)
    ledger.charge("adult", Pure(0.1), status=Status.CLAIMED, private=False)
    assert ledger.account("adult").spent.epsilon == Fraction(1, 10)
    entry = ledger.entries()[-1]
    assert (entry.status, entry.private) == (Status.CLAIMED, False)


@pytest.mark.parametrize(
    ("limit", "budget", "events", "counted"),
    [
        (Approx(3, 1e-5), Pure("0.5"), (), Amount(Approx, (Fraction(1, 2), Fraction(0)))),
        (Zcdp(3), Pure("0.5"), (), Amount(Zcdp, (Fraction(1, 8),))),
        (Approx(3, 1e-5), Zcdp(0.01), (), Amount.of(zcdp_to_approx(Zcdp(0.01), 1e-6))),
        (Pure(3), Approx(1, 1e-6), PURE, Amount.of(Pure("0.75"))),
        (Pure(3), Zcdp(1), PURE, Amount.of(Pure("0.75"))),
    ],
)
def test_another_kind_is_converted_where_a_theorem_allows(
    file_ledger, limit, budget, events, counted
):
    file_ledger.set_limit("adult", limit)
    assert file_ledger.charge("adult", budget, events).counted == counted
    assert file_ledger.account("adult").spent == counted


def test_approximate_counts_as_zcdp_by_its_events(file_ledger):
    file_ledger.set_limit("adult", Zcdp(3))
    events = (GaussianEvent(1.0), ZcdpEvent(Fraction(1, 4)), PureEvent(Fraction(1)))
    charge = file_ledger.charge("adult", Approx(5, 1e-6), events)
    assert float(charge.counted.rho) == pytest.approx(1.25, rel=1e-11)
    assert charge.counted.rho >= Fraction(5, 4)


@pytest.mark.parametrize(
    ("limit", "budget", "events", "why"),
    [
        (Pure(3), Approx(1, 1e-6), (), "without events"),
        (Pure(3), Approx(1, 1e-6), (GaussianEvent(0.1),), "its events are GaussianEvent"),
        (Pure(3), Zcdp(0.1), (PURE[0], ZcdpEvent(Fraction(1, 9))), "PureEvent, ZcdpEvent"),
        (Zcdp(3), Approx(1, 1e-6), (), "without events"),
        (
            Zcdp(3),
            Approx(1, 1e-6),
            (PURE[0], ApproxEvent(Fraction(1), Fraction(1, 9))),
            "ApproxEvent, PureEvent",
        ),
    ],
)
def test_another_kind_is_refused_where_no_theorem_speaks(
    file_ledger, limit, budget, events, why
):
    file_ledger.set_limit("adult", limit)
    with pytest.raises(MixedBudgets, match=why):
        file_ledger.charge("adult", budget, events)
    assert file_ledger.account("adult").charges == 0


def test_ten_zcdp_charges_use_up_an_approximate_delta(file_ledger):
    file_ledger.set_limit("adult", Approx(1000, 1e-5))
    for _ in range(10):
        charge = file_ledger.charge("adult", Zcdp(1e-4))
    assert charge.left.delta == 0
    file_ledger.charge("adult", Pure(1))
    with pytest.raises(BudgetExceeded):
        file_ledger.charge("adult", Zcdp(1e-4))


def test_a_limit_may_move_but_not_below_what_is_spent_nor_to_another_kind(ledger):
    ledger.set_limit("adult", Zcdp(1))
    ledger.set_limit("adult", Approx(1, 1e-5))
    ledger.charge("adult", Approx("0.5", 1e-6))
    with pytest.raises(InvalidParameter, match="at least what is spent"):
        ledger.set_limit("adult", Approx(0.4, 1e-5))
    with pytest.raises(InvalidParameter, match="at least what is spent"):
        ledger.set_limit("adult", Approx(1, 1e-7))
    with pytest.raises(MixedBudgets, match="must stay of kind Approx"):
        ledger.set_limit("adult", Zcdp(100))
    ledger.set_limit("adult", Approx("0.5", 1e-6))
    with pytest.raises(BudgetExceeded):
        ledger.charge("adult", Pure(1e-9))
    ledger.set_limit("adult", Approx(2, 1e-5))
    ledger.charge("adult", Pure(1))
    assert ledger.account("adult").left.epsilon == Fraction(1, 2)
    assert ledger.verify() == 6


def test_datasets_do_not_share_a_limit(ledger):
    ledger.set_limit("b", Pure(1))
    ledger.set_limit("a", Zcdp(1))
    ledger.charge("b", Pure(1))
    assert ledger.charge("a", Zcdp(1)).number == 4
    assert ledger.datasets() == ("a", "b")
    assert [entry.number for entry in ledger.entries("a")] == [2, 4]
    with pytest.raises(BudgetExceeded):
        ledger.charge("a", Zcdp(1))


def test_a_release_follows_its_own_charge_once(ledger):
    ledger.set_limit("adult", Pure(1))
    charge = ledger.charge("adult", Pure("0.3"), what="fit")
    ledger.record(charge, "cafe")
    with pytest.raises(InvalidParameter, match="not on record yet"):
        ledger.record(charge, "cafe")
    unknown, limit = replace(charge, number=99), replace(charge, number=1)
    for wrong in (unknown, limit, replace(charge, dataset="bank")):
        with pytest.raises(InvalidParameter, match="that this ledger made"):
            ledger.record(wrong, "cafe")
    with pytest.raises(InvalidParameter, match="release_hash"):
        ledger.record(ledger.charge("adult", Pure("0.3")), "")
    assert [(e.kind, e.charge, e.release_hash) for e in ledger.entries()] == [
        ("limit", None, None),
        ("charge", None, None),
        ("release", 2, "cafe"),
        ("charge", None, None),
    ]
    assert ledger.verify() == 4


def test_entries_come_back_as_they_went_in(ledger):
    events = (
        *PURE,
        GaussianEvent(0.1),
        ZcdpEvent(Fraction(1, 3)),
        ApproxEvent(Fraction(1, 7), Fraction(1, 10**9)),
    )
    ledger.set_limit("Ünï 'quoted' ?", Approx(3, 1e-5), who="ada")
    ledger.charge(
        "Ünï 'quoted' ?", Approx("1/3", "1e-300"), events, who="bob", what="100 %s; ?"
    )
    limit, charge = ledger.entries()
    assert (limit.who, limit.budget, limit.status) == ("ada", Approx(3, 1e-5), None)
    assert (charge.who, charge.what) == ("bob", "100 %s; ?")
    assert charge.budget == Approx("1/3", "1e-300")
    assert charge.counted == charge.spent == Amount.of(charge.budget)
    assert charge.events == events
    assert charge.at.endswith("+00:00")
    assert charge.digest == ledger.digest()


def test_handles_are_one_however_they_are_copied(ledger):
    class Model(BaseEstimator):
        def __init__(self, ledger=None):
            self.ledger = ledger

    ledger.set_limit("adult", Pure(1))
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy([ledger])[0] is ledger
    assert clone(Model(ledger)).ledger is ledger
    twin = pickle.loads(pickle.dumps(ledger))  # noqa: S301
    assert twin == ledger
    assert hash(twin) == hash(ledger)
    assert ledger.place.encode() in pickle.dumps(ledger)
    twin.charge("adult", Pure(1))
    with pytest.raises(BudgetExceeded):
        ledger.charge("adult", Pure(1))
    with pytest.raises(AttributeError):
        ledger.place = "elsewhere"


def test_a_closed_ledger_opens_again_and_a_closed_file_stands_alone(ledger, tmp_path):
    ledger.set_limit("adult", Pure(1))
    ledger.close()
    ledger.close()
    if not ledger.place.startswith("postgresql://"):
        assert [path.name for path in tmp_path.iterdir()] == ["budget.db"]
    assert ledger.charge("adult", Pure(1)).left == Amount.nothing(Pure)


def test_threads_share_one_limit(ledger):
    ledger.set_limit("adult", Pure(4))
    start = threading.Barrier(8)

    def spend(_):
        start.wait()
        admitted = 0
        for _ in range(10):
            with suppress(BudgetExceeded):
                ledger.charge("adult", Pure(0.1))
                admitted += 1
        return admitted

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 40
    assert ledger.account("adult").spent == Amount.of(Pure(4))
    assert ledger.verify() == 41


EIGHT_PROCESSES = """
import os, sys
from confide.accounting import Ledger
from confide.errors import BudgetExceeded
from confide.privacy import Pure

ledger = Ledger.open(sys.argv[1])
ledger.set_limit("adult", Pure(80))
ends = []
for _ in range(8):
    inlet, outlet = os.pipe()
    if os.fork() == 0:
        admitted = 0
        for _ in range(200):
            try:
                ledger.charge("adult", Pure(0.1))
                admitted += 1
            except BudgetExceeded:
                pass
        os.write(outlet, str(admitted).encode())
        os._exit(0)
    os.close(outlet)
    ends.append(inlet)
assert ledger.account("adult").limit == Pure(80)
print(sum(int(os.read(end, 9)) for end in ends))
"""


FORKS_BESIDE_A_THREAD = """
import os, sys, threading
from confide.accounting import Ledger
from confide.privacy import Pure

ledger = Ledger.open(sys.argv[1])
ledger.set_limit("adult", Pure(1000))
over = threading.Event()


def spend():
    while not over.is_set():
        ledger.charge("adult", Pure(0.1))


thread = threading.Thread(target=spend)
thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        ledger.charge("adult", Pure(0.1), what="child")
        os._exit(0)
    ledger.close()
    assert os.waitpid(child, 0)[1] == 0
assert thread.is_alive()
over.set()
thread.join()
print(sum(entry.what == "child" for entry in ledger.entries()))
"""

ALL_AT_ONCE = """
import os, sys
from confide.accounting import Ledger
from confide.privacy import Pure

children = []
for name in "abcdefgh":
    children.append(os.fork())
    if children[-1] == 0:
        Ledger.open(sys.argv[1]).set_limit(name, Pure(1))
        os._exit(0)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
print(*Ledger.open(sys.argv[1]).datasets())
"""


def told(story, place):
    """Run a script that forks, in a process of its own; return what it printed."""
    quiet = ("-W", "ignore::DeprecationWarning")
    done = subprocess.run(  # noqa: S603
        [sys.executable, *quiet, "-c", story, place],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_eight_processes_forked_from_an_open_ledger_get_exactly_the_limit(ledger):
    assert told(EIGHT_PROCESSES, ledger.place) == "800"
    account = ledger.account("adult")
    assert account.spent == Amount.of(Pure(80))
    assert account.charges == 800
    assert ledger.verify() == 801


@pytest.mark.slow
def test_a_fork_in_the_middle_of_charges_harms_neither_side(ledger):
    assert told(FORKS_BESIDE_A_THREAD, ledger.place) == "20"
    assert ledger.verify() == ledger.account("adult").charges + 1


@pytest.mark.slow
def test_a_new_place_opened_by_many_at_once_becomes_one_book(place):
    assert told(ALL_AT_ONCE, place) == "a b c d e f g h"
    assert Ledger.open(place).verify() == 8


def book(ledger):
    """Limit, charge, release, charge, charge."""
    ledger.set_limit("adult", Pure(1))
    ledger.record(ledger.charge("adult", Pure(0.1), what="first"), "cafe")
    ledger.charge("adult", Pure(0.2), what="second")
    ledger.charge("adult", Pure(0.3), what="third")
    assert ledger.verify() == 5


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
    ("number", "column", "value", "wrong"),
    [
        (5, 11, '{"kind":"Pure","epsilon":"1/10"}', "wrong running total"),
        (5, 2, "bank", "without a limit"),
        (3, 12, 1, "release without its charge"),
        (1, 8, '{"kind":"Pure","epsilon":"1/20"}', "goes over the limit"),
    ],
)
def test_a_forger_who_can_hash_must_also_add_up(ledger, number, column, value, wrong):
    book(ledger)
    with store_at(ledger.place).reading() as run:
        rows = entries.all_rows(run)
    previous, forged = entries.BEGINNING, []
    for row in rows:
        parts = list(row[:-1])
        if row[0] == number:
            parts[column] = value
        previous = entries.digest_of(previous, tuple(parts))
        forged.append((*parts, previous))
    tampered(ledger, "DELETE FROM confide_entries")
    with store_at(ledger.place).writing() as run:
        for row in forged:
            entries.insert(run, row)
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
        assert run("SELECT version FROM confide_meta ORDER BY version", ()) == [(1,), (2,), (3,)]
        assert run("SELECT * FROM confide_extra", ()) == []


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


@settings(max_examples=60)
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
    with pytest.raises(ConfideError, match="folder that exists and that you may write to"):
        Ledger.open(folder / "budget.db")
    tmp_path.chmod(0o755)


def test_a_ledger_that_was_moved_away_is_missed_not_replaced(file_ledger, tmp_path):
    book(file_ledger)
    file_ledger.close()
    file_ledger.verify()
    Path(file_ledger.place).rename(tmp_path / "elsewhere.db")
    with pytest.raises(ConfideError, match="is gone"):
        file_ledger.charge("adult", Pure(0.1))
    assert not Path(file_ledger.place).exists()
    Path(file_ledger.place).touch()
    with pytest.raises(InvalidParameter, match=r"Make one with Ledger\.open"):
        file_ledger.charge("adult", Pure(0.1))


def test_waiting_for_another_process_is_mentioned_and_ends(
    file_ledger, monkeypatch, caplog
):
    file_ledger.set_limit("adult", Pure(1))
    file_ledger.close()
    monkeypatch.setattr(store, "FIRST_WORD", 0.02)
    monkeypatch.setattr(store, "PATIENCE", 0.2)
    with closing(sqlite3.connect(file_ledger.place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConfideError, match="held by another process"):
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


def test_who_is_the_login_name_or_unknown(file_ledger, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "grace")
    file_ledger.set_limit("adult", Pure(1))

    def nobody():
        raise OSError

    monkeypatch.setattr(getpass, "getuser", nobody)
    file_ledger.charge("adult", Pure(1))
    assert [entry.who for entry in file_ledger.entries()] == ["grace", "unknown"]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("dataset", lambda book: book.charge("", Pure(1))),
        ("dataset", lambda book: book.charge(" adult", Pure(1))),
        ("dataset", lambda book: book.charge("a\0", Pure(1))),
        ("dataset", lambda book: book.set_limit(3, Pure(1))),
        ("dataset", lambda book: book.account("\ud800")),
        ("budget", lambda book: book.charge("adult", 1.0)),
        ("budget", lambda book: book.set_limit("adult", 1.0)),
        ("budget", lambda book: book.charge("adult", Pure(Fraction(1, 3**9000) + 1))),
        ("events", lambda book: book.charge("adult", Pure(1), ("x",))),
        ("events", lambda book: book.charge("adult", Pure(1), PureEvent(Fraction(1)))),
        ("events", lambda book: book.charge("adult", Pure(1), [PureEvent(Fraction(-1))])),
        ("events", lambda book: book.charge("adult", Pure(1), [GaussianEvent(math.nan)])),
        ("status", lambda book: book.charge("adult", Pure(1), status="PROVED")),
        ("charge", lambda book: book.record(2, "cafe")),
        ("what", lambda book: book.charge("adult", Pure(1), what="two\nlines")),
        ("who", lambda book: book.charge("adult", Pure(1), who=7)),
    ],
)
def test_wrong_arguments_are_named_and_spend_nothing(file_ledger, name, call):
    file_ledger.set_limit("adult", Pure(9))
    with pytest.raises(InvalidParameter) as refused:
        call(file_ledger)
    assert refused.value.name == name
    assert len(file_ledger.entries()) == 1


def test_amounts_do_not_mix_and_know_their_parts():
    spent = Amount.of(Approx(1, 1e-5))
    assert str(spent) == "ε = 1, δ = 1e-05"
    assert spent.as_budget() == Approx(1, 1e-5)
    assert Amount(Pure, (Fraction(1, 10**15),)).as_budget() is None
    assert str(Amount.nothing(Zcdp)) == "ρ = 0 (zCDP)"
    with pytest.raises(AttributeError, match="has no rho"):
        _ = spent.rho
    with pytest.raises(MixedBudgets):
        _ = spent + Amount.of(Pure(1))


sizes = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
budgets = st.one_of(
    st.builds(Pure, sizes),
    st.builds(Zcdp, sizes),
    st.builds(Approx, sizes, sizes.map(lambda size: size / 10**6)),
)
events = st.lists(
    st.one_of(st.builds(PureEvent, sizes), st.builds(GaussianEvent, st.floats(0.01, 2))),
    max_size=2,
)


@settings(max_examples=50)
@given(limit=budgets, asked=st.lists(st.tuples(budgets, events), max_size=12))
def test_any_sequence_of_charges_stays_within_the_limit_and_adds_up(limit, asked):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "budget.db")
        ledger.set_limit("adult", limit)
        spent = [Fraction(0)] * len(limit.fields)
        cap = [getattr(limit, name) for name in limit.fields]
        for budget, parts in asked:
            try:
                charge = ledger.charge("adult", budget, parts)
            except MixedBudgets:
                assert type(budget) is not type(limit)
                continue
            except BudgetExceeded:
                if type(budget) is type(limit):
                    wish = [getattr(budget, name) for name in limit.fields]
                    after = [a + b for a, b in zip(spent, wish, strict=True)]
                    assert any(a > b for a, b in zip(after, cap, strict=True))
                continue
            spent = [a + b for a, b in zip(spent, charge.counted.parts, strict=True)]
            left = [a - b for a, b in zip(cap, spent, strict=True)]
            assert list(charge.left.parts) == left
            assert min(left) >= 0
        account = ledger.account("adult")
        assert list(account.spent.parts) == spent
        assert ledger.verify() == account.charges + 1
        ledger.close()
