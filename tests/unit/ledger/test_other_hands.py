"""Books that were forked, edited, cut off or restored; and passwords."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from confide.errors import ConfideError, InvalidParameter, TamperedLedger
from confide.ledger import Ledger, redacted
from confide.ledger.address import without_secrets
from confide.ledger.balance import check_none_removed
from confide.ledger.contents import kept_charges
from confide.ledger.storage import store_at
from confide.privacy import Approx, Pure, Zcdp
from support.ledger_books import book, tampered


def test_a_book_with_two_names_is_refused_and_not_spent_twice(file_ledger, tmp_path):
    book(file_ledger)
    os.link(file_ledger.place, tmp_path / "twin.db")
    for place in (file_ledger.place, tmp_path / "twin.db"):
        with pytest.raises(InvalidParameter, match="a file with one name"):
            Ledger.open(place).charge("adult", Pure(0.1))
    (tmp_path / "twin.db").unlink()
    assert file_ledger.charge("adult", Pure(0.1)).left.epsilon == Fraction(3, 10)


def test_a_link_made_while_the_book_is_open_is_noticed(file_ledger, tmp_path):
    book(file_ledger)
    file_ledger.account("adult")
    os.link(file_ledger.place, tmp_path / "twin.db")
    with pytest.raises(InvalidParameter, match="hard link"):
        file_ledger.charge("adult", Pure(0.1))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE confide_entries SET spent = replace(spent, '3/5', '-1000/1')",
        "UPDATE confide_entries SET spent = replace(spent, '3/5', '1/5')",
        "UPDATE confide_entries SET budget = replace(budget, '1/1', '9/1')",
        "UPDATE confide_entries SET dataset = 'other' WHERE number = 5",
        "UPDATE confide_entries SET digest = 'no' WHERE number = 5",
        "UPDATE confide_entries SET who = 'eve' WHERE number = 5",
    ],
)
def test_a_charge_does_not_believe_an_edited_book(ledger, statement):
    book(ledger)
    tampered(ledger, statement)
    with pytest.raises(TamperedLedger, match="Nothing was spent"):
        ledger.charge("adult", Pure(0.1))
    with store_at(ledger.place).reading() as run:
        assert run("SELECT count(*) FROM confide_entries", ()) == [(5,)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE confide_entries SET dataset = 'other' WHERE number = 5",
        "UPDATE confide_entries SET kind = 'release' WHERE number = 5",
        "UPDATE confide_entries SET dataset = 'other' WHERE number = 3",
    ],
)
def test_a_charge_or_limit_that_was_given_to_another_dataset_still_counts(
    ledger, statement
):
    ledger.set_limit("adult", Pure(9))
    ledger.charge("adult", Pure(0.2))
    ledger.set_limit("adult", Pure(1))
    ledger.charge("adult", Pure(0.1))
    ledger.charge("adult", Pure(0.7))
    ledger.set_limit("bank", Pure(1))
    ledger.charge("bank", Pure(0.1))
    tampered(ledger, statement)
    with pytest.raises(
        TamperedLedger, match=r"entry [35] or .* was changed.*Nothing was spent"
    ):
        ledger.charge("adult", Pure(0.5))


def test_a_removal_is_told_at_once_however_far_the_numbers_go(ledger):
    book(ledger)
    ledger.set_limit("bank", Pure(1))
    far = 2**62 if ledger.place.endswith(".db") else 2**30
    tampered(ledger, f"UPDATE confide_entries SET number = {far} WHERE number = 6")  # noqa: S608
    with pytest.raises(TamperedLedger, match=r"missing: 6, 7, .*, …\."):
        ledger.charge("adult", Pure(0.1))


def test_a_charge_names_entries_that_were_removed(ledger):
    book(ledger)
    ledger.set_limit("bank", Pure(1))
    ledger.charge("bank", Pure(0.1))
    tampered(ledger, "DELETE FROM confide_entries WHERE number = 5")
    with pytest.raises(TamperedLedger, match=r"missing: 5\. .*Nothing was spent"):
        ledger.charge("adult", Pure(0.1))


def test_an_index_without_its_entries_is_told_plainly():
    def damaged(statement, _):
        return [(0, None)] if "count" in statement else []

    with pytest.raises(TamperedLedger, match="missing: 4"):
        check_none_removed(damaged, 4)


def test_a_charge_looks_at_as_many_entries_in_a_long_book_as_in_a_short_one(
    file_ledger, monkeypatch
):
    file_ledger.set_limit("adult", Pure(100))

    def looks():
        found, run = [], store_at(file_ledger.place)._run
        with monkeypatch.context() as then:
            then.setattr(
                store_at(file_ledger.place),
                "_run",
                lambda *words: (found.append(words[0]), run(*words))[1],
            )
            file_ledger.charge("adult", Pure(0.1))
        return len(found)

    for _ in range(3):
        file_ledger.charge("adult", Pure(0.1))
    few = looks()
    for _ in range(60):
        file_ledger.charge("adult", Pure(0.1))
    assert looks() == few


def test_a_release_of_no_known_charge_is_told_plainly():
    with pytest.raises(TamperedLedger, match="without the charge that paid for it"):
        kept_charges(lambda *_: [(3,), (None,)])


def test_amounts_below_nothing_are_not_read(file_ledger):
    book(file_ledger)
    tampered(file_ledger, "UPDATE confide_entries SET counted = spent WHERE number = 4")
    with pytest.raises(TamperedLedger):
        file_ledger.verify()


@pytest.mark.parametrize("number", ["1e1000000000", "9" * 7000, "1e-1000000000", "1/0"])
def test_numbers_of_a_billion_digits_are_refused_at_once(ledger, number):
    for budget in (Pure, Zcdp, lambda x: Approx(x, "1e-6"), lambda x: Approx(1, x)):
        with pytest.raises(InvalidParameter):
            budget(number)
    book(ledger)
    tampered(
        ledger,
        f"UPDATE confide_entries SET spent = replace(spent, '3/5', '{number}')",  # noqa: S608
    )
    for use in (ledger.entries, ledger.verify, lambda: ledger.account("adult")):
        with pytest.raises(TamperedLedger):
            use()


def test_the_file_alone_is_the_whole_book_while_it_is_open(file_ledger, tmp_path):
    book(file_ledger)
    shutil.copy(file_ledger.place, tmp_path / "copy.db")
    twin = Ledger.open(tmp_path / "copy.db")
    assert twin.digest() == file_ledger.digest()
    twin.close()


def test_a_backup_is_whole_checked_and_for_its_owner(file_ledger, tmp_path):
    book(file_ledger)
    with closing(sqlite3.connect(file_ledger.place)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM confide_entries").fetchall()
        file_ledger.charge("adult", Pure(0.1))
        anchor = file_ledger.backup(tmp_path / "copy.db")
    assert anchor == file_ledger.anchor()
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert Ledger.open(tmp_path / "copy.db").verify() == 6
    with pytest.raises(InvalidParameter, match="a new file"):
        file_ledger.backup(tmp_path / "copy.db")


def test_a_database_is_copied_by_its_own_programs(postgres, tmp_path):
    with pytest.raises(InvalidParameter, match="pg_dump"):
        Ledger.open(postgres("public")).backup(tmp_path / "copy.db")


def test_an_anchor_shows_a_book_that_lost_its_end_or_went_another_way(ledger):
    book(ledger)
    early, late = ledger.anchor(), None
    ledger.charge("adult", Pure(0.1), what="fourth")
    late = ledger.anchor()
    assert [entry.what for entry in ledger.since(early)] == ["fourth"]
    assert ledger.since(late) == ()
    assert len(ledger.since("0:" + "0" * 16)) == 6
    tampered(ledger, "DELETE FROM confide_entries WHERE number = 6")
    assert ledger.since(early) == ()
    with pytest.raises(TamperedLedger, match="restored from an older copy"):
        ledger.since(late)
    ledger.charge("adult", Pure(0.2), what="again")
    with pytest.raises(TamperedLedger, match="differs from the anchor"):
        ledger.since(late)
    for wrong in ("", "6", "6:xyz", "-1:" + "0" * 16, None):
        with pytest.raises(InvalidParameter, match="anchor must be copied"):
            ledger.since(wrong)


def test_a_receipt_holds_its_anchor_and_is_listed_when_it_is_on_disk(ledger):
    ledger.set_limit("adult", Pure(1))
    receipts = []
    paid = ledger.with_receipts(receipts).charge("adult", Pure(0.5))
    assert receipts == [paid]
    assert paid.anchor == ledger.anchor()


def test_kept_content_is_what_was_booked_or_an_alarm(ledger):
    ledger.set_limit("adult", Pure(1))
    paid = ledger.charge("adult", Pure(0.5))
    ledger.record(paid, "cafe", "ε of Köln")
    assert ledger.content(paid.number) == "ε of Köln"
    assert ledger.kept() == (paid.number,)
    tampered(ledger, "UPDATE confide_releases SET content = 'eJwDAAAAAAE='")
    with pytest.raises(TamperedLedger, match="differs from what was recorded"):
        ledger.content(paid.number)
    tampered(ledger, "UPDATE confide_releases SET content = '***'")
    with pytest.raises(TamperedLedger, match="differs from what was recorded"):
        ledger.content(paid.number)


@pytest.mark.slow
def test_a_book_in_a_database_without_an_encoding_is_no_false_alarm(postgres):
    import psycopg

    with psycopg.connect(postgres("public"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS plain")
        connection.execute(
            "CREATE DATABASE plain ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' "
            "TEMPLATE template0"
        )
    place = postgres("public").replace("/postgres?", "/plain?")
    ledger = Ledger.open(place)
    ledger.set_limit("Köln", Pure(1))
    ledger.record(ledger.charge("Köln", Pure(0.5), what="für ε"), "cafe", "ε")
    ledger.close()
    assert ledger.verify() == 3
    assert ledger.account("Köln").left.epsilon == Fraction(1, 2)
    assert ledger.content(2) == "ε"
    ledger.close()


@pytest.mark.parametrize(
    ("place", "secrets"),
    [
        ("postgresql://ada:secret@host/db", ["secret"]),
        ("postgresql://ada:se@cr/et@host/db?x=1", ["se@cr/et", "cr/et", "et@"]),
        ("postgresql://host/db?user=a&password=secret&x=1", ["secret"]),
        ("postgresql://host/db?pass%77ord=secret&sslpassword=hidden", ["secret", "hidden"]),
    ],
)
def test_no_part_of_a_password_is_shown(place, secrets):
    said = 'invalid integer value "secret", "cr", "hidden" or "et@host" for option "port"'
    for text in (redacted(place), repr(Ledger(place)), without_secrets(said, place)):
        assert not [secret for secret in secrets if secret in text]


def test_a_wrong_address_does_not_quote_its_password():
    pytest.importorskip("psycopg", reason="no psycopg here")
    for place in (
        "postgresql://u:hunter2/x@host/db",
        "postgresql://u:hunter2@/db?host=/no",
    ):
        with pytest.raises(ConfideError) as wrong:
            Ledger.open(place)
        assert "hunter2" not in str(wrong.value)
    with pytest.raises(InvalidParameter) as wrong:
        Ledger.open("mysql://u:hunter2@host/db")
    assert "hunter2" not in str(wrong.value)


def test_devices_and_pipes_are_no_ledgers(tmp_path):
    os.mkfifo(tmp_path / "pipe.db")
    for place in (tmp_path / "pipe.db", Path("/dev/zero")):
        with pytest.raises(InvalidParameter, match="an ordinary file"):
            Ledger.open(place)


def test_the_settings_of_a_driver_are_no_address_and_show_no_password():
    for secret in ("hunter2", "'hunter 2'"):
        shown = redacted(f"host=office password={secret} dbname=budgets")
        assert shown == "host=office password=*** dbname=budgets"
